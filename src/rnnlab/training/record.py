"""The answers of a run as its directory keeps them: written once, and read by all who judge, compare or describe it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import safetensors
import safetensors.numpy

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.score import Counts, Score
from rnnlab.core.files import write_atomically
from rnnlab.data.encoded import EncodedData
from rnnlab.data.lookup import seen_rows
from rnnlab.data.sequences import Targets, offsets_of
from rnnlab.runs.directory import RunDirectory
from rnnlab.tasks.base import TASKS, Task

FILE = "predictions.safetensors"
ROWS = (
    "targets",
    "target_offsets",
    "unseen",
    "characters",
    "groups",
    "lengths",
    "seen",
    "tags",
    "right",
)  # facts of rows, not answers


def record_answers(run: RunDirectory, task: Task, data: EncodedData, valid: Kept, test: Kept) -> dict[str, Any]:
    """Write all that a comparison needs, so that it never opens the data again; and return the scores."""
    arrays: dict[str, np.ndarray] = {}
    for part, kept, rows in (("valid", valid, data.valid), ("test", test, data.test)):
        arrays |= {f"{part}.{name}": array for name, array in kept.items()}
        if rows.horizon is not None:  # what they count is kept: windows overlap, and would be kept many times over
            arrays[f"{part}.targets"] = np.zeros((len(rows), 0), np.float32)
            continue
        arrays[f"{part}.targets"] = rows.truth.values
        if rows.truth.offsets is not None:
            arrays[f"{part}.target_offsets"] = rows.truth.offsets
        facts = {"unseen": rows.unseen, "characters": rows.characters}
        arrays |= {f"{part}.{name}": fact for name, fact in facts.items() if fact is not None}
    arrays |= {"test.groups": data.test.groups, "test.lengths": data.test.lengths}
    known_apart = task.answer.writes or data.test.horizon is not None  # pairs that share a side, and later times
    if not (task.fresh_batches or task.streams or known_apart):
        arrays["test.seen"] = seen_rows(data.test, data.train)
    if data.test.tags is not None:
        arrays["test.tags"] = data.test.tags
    arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    names = {"test.tag_names": json.dumps(data.tag_names, ensure_ascii=False)} if data.tag_names else None
    write_atomically(run / FILE, safetensors.numpy.save(arrays, names))
    signatures = task.answer.signatures(data.references.get("test", ()))
    return {
        "valid": task.answer.values(valid, data.valid.truth),
        "test": task.answer.values(test, data.test.truth) | task.details(test, data.test),
        **({"signatures": signatures} if signatures else {}),
    }


@dataclass(frozen=True, eq=False)
class Recorded:
    """What `record_answers` wrote, of this version or an earlier one."""

    answer: Answer
    arrays: Mapping[str, np.ndarray]
    tag_names: tuple[str, ...]

    @classmethod
    def of(cls, run: RunDirectory, task: Task | None = None) -> Self:
        """``task`` is that of the run, where a caller has it."""
        path = run.verified(FILE)
        with safetensors.safe_open(path, "numpy") as saved:
            arrays = {name: saved.get_tensor(name) for name in saved.keys()}  # noqa: SIM118 (not a dict)
            names = json.loads((saved.metadata() or {}).get("test.tag_names", "[]"))
        answer = (task or TASKS.parse(run.spec()["task"])).answer
        return cls(answer, arrays, tuple(names))

    def __len__(self) -> int:
        """Test rows."""
        return len(self.groups)

    def truth(self, part: str) -> Targets:
        offsets = self.arrays.get(f"{part}.target_offsets")
        lengths = self.arrays.get(f"{part}.lengths")
        if offsets is None and lengths is not None and self.answer.reads == "states":
            offsets = offsets_of(lengths)  # earlier versions had a target at every step
        facts = (self.arrays.get(f"{part}.{name}") for name in ("unseen", "characters"))
        return Targets(self.arrays[f"{part}.targets"], offsets, *facts)

    def kept(self, part: str) -> Kept:
        names = [name.removeprefix(f"{part}.") for name in self.arrays if name.startswith(f"{part}.")]
        kept = {name: self.arrays[f"{part}.{name}"] for name in names if name not in ROWS}
        return self.answer.upgrade(kept, self.truth(part))

    @cached_property
    def counts(self) -> Counts:
        """Of the test rows."""
        kept = self.kept("test")
        if not kept:  # earlier versions could keep a number from 0 to 1 per row instead
            right = self.arrays["test.right"]
            return dict(zip(self.answer.judged.columns, (right, np.ones(len(right))), strict=True))
        return self.answer.counts(kept, self.truth("test"))

    def per_row(self, score: Score | None = None) -> np.ndarray:
        """(test rows,): numbers whose mean is the score, the judged one by default: see `Score.per_row`."""
        return (score or self.answer.judged).per_row(self.counts)

    @property
    def groups(self) -> np.ndarray:
        return self.arrays["test.groups"]

    @property
    def lengths(self) -> np.ndarray:
        return self.arrays["test.lengths"]

    @property
    def tags(self) -> np.ndarray | None:
        """Numbers into `tag_names`; earlier versions kept them without names."""
        return self.arrays.get("test.tags") if self.tag_names else None

    @property
    def seen(self) -> np.ndarray | None:
        """(test rows,) bool, whether a row stands in the training rows; earlier versions didn't say."""
        return self.arrays.get("test.seen")
