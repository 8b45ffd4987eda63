"""What a claim speaks of, as a number of each run: ``test.accuracy``, ``reached``, ``curve.valid_accuracy@10`` …

A quantity is written as a text. `parse_quantity` understands it, `read` finds its value in a run, and `answered_rows`
finds the single answers behind those that are a mean over test rows.
"""

import hashlib
import itertools
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rnnlab.comparing.studies import Repeat, Study, first_step
from rnnlab.core.errors import RunError, WrongValue, did_you_mean, known_are
from rnnlab.data import store
from rnnlab.runs.directory import RunDirectory
from rnnlab.training.record import Recorded

Unit = Literal["share", "seconds", "steps", "epochs", "megabytes", "parameters", "tokens", "number"]

SCORES = ("accuracy", "balanced_accuracy", "exact", "loss", "macro_f1")
PARTS = ("total", "trainable", "embedding", "encoder", "head")
EVENTS = ("train_loss", "train_accuracy", *(f"valid_{score}" for score in SCORES), "seconds")
PLAIN: dict[str, Unit] = {
    "epoch_seconds": "seconds",
    "step_seconds": "seconds",
    "tokens_per_second": "tokens",
    "best_epoch": "epochs",
    "epochs": "epochs",
    "peak_memory_mb": "megabytes",
}
KNOWN = (
    *(f"{split}.{score}" for split in ("test", "valid") for score in SCORES),
    *(f"parameters.{part}" for part in PARTS),
    *PLAIN,
    "reached",
    "arrived",
    "diverged",
)
PATTERNS = ("tag.NAME", "curve.EVENT@EPOCH", "curve.EVENT@step N", "best.EVENT", "epochs_to.SHARE")
PER_ROW = ("test.accuracy", "test.exact")


@dataclass(frozen=True)
class Quantity:
    """A parsed quantity. ``name`` is the path, event or tag; ``at`` the epoch or step; ``share`` that of the best."""

    text: str
    kind: Literal["result", "reached", "arrived", "diverged", "curve", "best", "epochs_to", "tag"]
    name: str = ""
    at: int | None = None
    at_unit: Literal["epoch", "step"] = "epoch"
    share: float = 1.0

    @property
    def per_row(self) -> bool:
        """Whether it is a mean over test rows, whose single answers are kept."""
        return self.kind == "tag" or self.text in PER_ROW

    @property
    def yes_or_no(self) -> bool:
        return self.kind in ("arrived", "diverged")

    @property
    def needs_target(self) -> bool:
        return self.kind in ("reached", "arrived")

    @property
    def exact(self) -> bool:
        """Whether every run of a setting has the same value by construction."""
        return self.kind == "result" and self.name.startswith("parameters.")

    @property
    def unit(self) -> Unit:
        if self.kind == "epochs_to":
            return "epochs"
        if self.kind == "reached":
            return "steps"
        if self.yes_or_no or self.kind == "tag" or self.name.endswith(("accuracy", "exact", "macro_f1")):
            return "share"
        if self.exact:
            return "parameters"
        return "seconds" if self.name == "seconds" else PLAIN.get(self.name, "number")


@dataclass(frozen=True)
class Reading:
    """The value of one run, known to within ``resolution``. ``capped``: the run never arrived, and the true value is
    larger than this one."""

    value: float
    resolution: float = 0.0
    capped: bool = False


@dataclass(frozen=True, eq=False)
class AnsweredRows:
    """The single answers of a run: numbers (N,) whose mean is the score (`Score.per_row`), and groups (N,)."""

    test_set: str  # the same for runs that were asked the same
    values: np.ndarray
    groups: np.ndarray


def parse_quantity(text: str) -> Quantity:
    """A ValueError says what is wrong, with the nearest name that exists."""
    if text in ("reached", "arrived", "diverged"):
        return Quantity(text, text)
    head, _, rest = text.partition(".")
    if head == "tag" and rest:
        return Quantity(text, "tag", rest)
    if head == "curve":
        found = re.fullmatch(r"(\w+)@(epoch |step )?(\d+)", rest)
        if not found:
            raise WrongValue(
                "{text!r}: write curve.EVENT@EPOCH or curve.EVENT@step N, as curve.valid_accuracy@10", text=text
            )
        unit = "step" if found[2] == "step " else "epoch"
        return Quantity(text, "curve", _event(text, found[1]), int(found[3]), unit)
    if head == "best" and rest:
        return Quantity(text, "best", _event(text, rest))
    if head == "epochs_to":
        share = float(rest) if re.fullmatch(r"[01](\.\d+)?", rest) else 0.0
        if not 0 < share <= 1:
            raise WrongValue(
                "{text!r}: write epochs_to.0.99 for the first epoch at 99 % of the run's own best", text=text
            )
        return Quantity(text, "epochs_to", share=share)
    if text in KNOWN or (head in ("test", "valid") and rest and not did_you_mean(rest, SCORES)):
        return Quantity(text, "result", text)  # a task may have scores of its own
    hint = did_you_mean(text, KNOWN) or known_are((*KNOWN, *PATTERNS))
    raise WrongValue("unknown quantity {text!r}{hint}", text=text, hint=hint)


def _event(text: str, name: str) -> str:
    hint = did_you_mean(name, EVENTS)
    if name in EVENTS or (name.startswith("valid_") and not did_you_mean(name.removeprefix("valid_"), SCORES)):
        return name
    raise WrongValue(
        "{text!r}: evaluations have no {name!r}{hint}",
        text=text,
        name=name,
        hint=hint or known_are(EVENTS),
    )


def read(quantity: Quantity, repeat: Repeat, study: Study) -> Reading | None:
    """The run's value; None where it has none. A failed or pruned run says nothing."""
    if repeat.status not in ("finished", "diverged"):
        return None
    match quantity.kind:
        case "diverged":
            return Reading(float(repeat.status == "diverged"))
        case "arrived":
            return Reading(float(_first(repeat, study) is not None)) if study.target else None
        case "reached":
            return _reached(repeat, study)
        case "curve":
            return _at(quantity, repeat)
        case "best":
            return _best(quantity.name, repeat)
        case "epochs_to":
            return _epochs_to(quantity.share, repeat, study)
        case "tag":
            return None  # only in the rows
    return _in_result(quantity.name, repeat.result)


def _first(repeat: Repeat, study: Study) -> int | None:
    if repeat.reached is not None or study.target is None:
        return repeat.reached
    return first_step(repeat.curve, study.target)


def _reached(repeat: Repeat, study: Study) -> Reading | None:
    if study.target is None:
        return None
    step, steps = _first(repeat, study), [event["step"] for event in repeat.curve]
    value = _never_before(repeat, steps, study.target.cap) if step is None else step
    return Reading(float(value), _spacing(steps), capped=step is None)


def _never_before(repeat: Repeat, steps: Sequence[int], cap: int) -> int:
    """The last step at which a run that never arrived was looked at: later ones may have been right. A run that
    diverged never arrives, so that the cap is below its value, too."""
    seen = [step for step in steps if step <= cap]
    return cap if repeat.status == "diverged" or not seen else seen[-1]


def _spacing(steps: Sequence[int]) -> float:
    """How far evaluations are apart: an arrival is seen only at the next one."""
    return float(statistics.median(b - a for a, b in itertools.pairwise([0, *steps]))) if steps else 0.0


def _at(quantity: Quantity, repeat: Repeat) -> Reading | None:
    """The last evaluation at or before; a run that diverged before that has none."""
    assert quantity.at is not None
    events = [e for e in repeat.curve if quantity.name in e and e[quantity.at_unit] <= quantity.at]
    cut_short = repeat.status == "diverged" and (not events or events[-1][quantity.at_unit] < quantity.at)
    if not events or cut_short:
        return None
    return Reading(float(events[-1][quantity.name]))


def _best(event: str, repeat: Repeat) -> Reading | None:
    values = [float(e[event]) for e in repeat.curve if e.get(event) is not None]
    if not values or repeat.status != "finished":
        return None
    lower = event.endswith(("loss", "seconds"))
    return Reading(min(values) if lower else max(values))


def score_grid(quantity: Quantity, repeats: Iterable[Repeat]) -> float:
    """A score on a curve moves in steps of one row. The smallest difference in all the curves shows how large they are;
    of a loss it is next to nothing."""
    if quantity.kind not in ("curve", "best"):
        return 0.0
    events = (event for repeat in repeats for event in repeat.curve)
    values = sorted({float(event[quantity.name]) for event in events if event.get(quantity.name) is not None})
    return min((b - a for a, b in itertools.pairwise(values) if b - a > 1e-12), default=0.0)


def _epochs_to(share: float, repeat: Repeat, study: Study) -> Reading | None:
    """The first epoch at this share of the run's own best; of a score that should be low, at best / share."""
    event = f"valid_{study.metric}"
    scored = [(int(e["epoch"]), float(e[event])) for e in repeat.curve if e.get(event) is not None]
    if not scored or repeat.status != "finished":
        return None
    values = [value for _, value in scored]
    if study.lower_is_better:
        epoch = next(epoch for epoch, value in scored if value <= min(values) / share)
    else:
        epoch = next(epoch for epoch, value in scored if value >= max(values) * share)
    return Reading(float(epoch), _spacing([epoch for epoch, _ in scored]))


def _in_result(path: str, result: Mapping[str, Any]) -> Reading | None:
    value: Any = result
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    counted_in_epochs = PLAIN.get(path) == "epochs"
    return Reading(float(value), 1.0 if counted_in_epochs else 0.0)


def answered_rows(quantity: Quantity, repeat: Repeat) -> AnsweredRows | None:
    """The answers behind a per-row quantity, or None for a run without; RunError if they can't be had."""
    if repeat.status != "finished":
        return None
    saved = Recorded.of(RunDirectory(repeat.path))
    asked = hashlib.sha256(saved.truth("test").values.tobytes() + saved.groups.tobytes() + saved.lengths.tobytes())
    chosen = _tagged(quantity.name, saved, repeat) if quantity.kind == "tag" else np.ones(len(saved), bool)
    counts = {name: column[chosen] for name, column in saved.counts.items()}
    score = next((s for s in saved.answer.scores if f"test.{s.name}" == quantity.text), saved.answer.judged)
    return AnsweredRows(asked.hexdigest()[:16], score.per_row(counts), saved.groups[chosen])


def _tagged(tag: str, saved: Recorded, repeat: Repeat) -> np.ndarray:
    """(N,) bool: the rows with this tag."""
    names = _tag_names(saved, repeat)
    if "test.tags" not in saved.arrays or not names:
        raise RunError("{path}: its test rows have no tags", path=repeat.path)
    if tag not in names:
        hint = did_you_mean(tag, names) or known_are(names)
        raise RunError("{path}: no test row has the tag '{tag}'{hint}", path=repeat.path, tag=tag, hint=hint)
    chosen = saved.arrays["test.tags"] == names.index(tag)
    if not chosen.any():
        raise RunError("{path}: no test row has the tag '{tag}'", path=repeat.path, tag=tag)
    return chosen


def _tag_names(saved: Recorded, repeat: Repeat) -> list[str]:
    """Kept with the predictions; runs of earlier versions left them in the encoded data alone."""
    if saved.tag_names:
        return list(saved.tag_names)
    fingerprint = RunDirectory(Path(repeat.path)).spec().get("task", {}).get("fingerprint")
    data = store.find(fingerprint) if fingerprint else None
    return list(data.tag_names) if data else []
