"""The runs of a comparison as its run directories have them, and the test rows on which they are compared."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rnnlab.core.config import canonical_json
from rnnlab.core.words import note
from rnnlab.data.encoded import EncodedData
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, RunDirectory
from rnnlab.training.record import Recorded
from rnnlab.training.spec import RunSpec


@dataclass(frozen=True)
class Record:
    """One run: which arm, which seed, and what became of it."""

    label: str
    spec: RunSpec
    outcome: Outcome
    path: Path

    @property
    def finished(self) -> bool:
        return isinstance(self.outcome, Finished)

    @property
    def result(self) -> dict[str, Any]:
        """Its result.json; empty where it failed or was stopped."""
        return self.outcome.result if isinstance(self.outcome, Finished | Diverged) else {}

    @property
    def events(self) -> list[dict[str, Any]]:
        return RunDirectory(self.path).events()

    @property
    def answers(self) -> Recorded:
        """On validation and test rows; of a finished run."""
        return Recorded.of(RunDirectory(self.path), self.spec.task)


def why_no_score(outcome: Outcome) -> str | None:
    """In English, to be stored; None where there is a score."""
    if isinstance(outcome, Diverged):
        where = outcome.result["divergence"]
        return note("step {step}: {reason}", step=where["step"], reason=where["reason"])
    return outcome.reason if isinstance(outcome, Failed) else None


def by_arm(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The runs of each arm, in the order in which they appear."""
    arms: dict[str, list[Record]] = {}
    for record in records:
        arms.setdefault(record.label, []).append(record)
    return arms


def splits_vary(records: Iterable[Record]) -> bool:
    """Whether seeds have test rows of their own."""
    return len({canonical_json(record.spec.task.identity()) for record in records}) > 1


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What must be known of the test rows besides the answers."""

    groups: np.ndarray  # (N,)
    lengths: np.ndarray  # (N,)
    tags: np.ndarray | None  # (N,) numbers into the names
    tag_names: tuple[str, ...]

    @classmethod
    def of(cls, data: EncodedData) -> Self:
        test = data.test
        tags = None if test.tags is None else np.asarray(test.tags)
        return cls(np.asarray(test.groups), test.lengths, tags, data.tag_names)

    @classmethod
    def recorded(cls, run: RunDirectory) -> Self:
        """As a finished run has them."""
        saved = Recorded.of(run)
        return cls(saved.groups, saved.lengths, saved.tags, saved.tag_names)
