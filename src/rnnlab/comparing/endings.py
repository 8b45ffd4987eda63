"""What ended runs; and those that a limit ended while they still improved, whose scores say what the limit allowed, not
what the model can.

A run is cut short if a limit ended it, not patience, and its validation score rose by more than the margin over its
last fifth. An arm is, if half of its runs are.
"""

from collections.abc import Sequence
from typing import Any

from rnnlab.answers.score import Score
from rnnlab.comparing.records import Record
from rnnlab.training.spec import Training

LIMITS = ("epochs", "steps", "minutes")
LAST = 0.2  # of the evaluations
LONGER = 3  # times the limit, to be tried next

Events = Sequence[dict[str, Any]]


def option_to_train_longer(runs: Sequence[Record], margin: float) -> str | None:
    """Of the finished runs of an arm: the option that would let them finish; None where most did."""
    limits = [limit_that_cut(run, margin) for run in runs]
    limit = next(filter(None, limits), None)
    if limit is None or 2 * limits.count(None) > len(runs):
        return None
    given = LONGER * getattr(runs[limits.index(limit)].spec.training, limit)
    return f"--set training.steps={given}" if limit == "steps" else f"--{limit} {given:g}"


def limit_that_cut(run: Record, margin: float) -> str | None:
    """The setting that ended a run too early; None where it came to its own end, or no longer improved."""
    training, by = run.spec.training, run.spec.task.answer.chosen
    if training is None:
        return None
    events = [event for event in run.events if event.get("event") == "epoch"]
    limit = ended_by(training, by, run.result, events)
    return limit if limit in LIMITS and _rise([event[f"valid_{by.name}"] for event in events], by) > margin else None


def _rise(scores: Sequence[float], by: Score) -> float:
    """Of the best score, over the last fifth of the evaluations; of a loss, the share by which it fell."""
    before = scores[: len(scores) - max(1, round(LAST * len(scores)))]
    if not by.lower_is_better and max(scores) >= 1:
        return 0.0  # all is right: there is nothing left to improve
    if not before:
        return float("inf")  # a single evaluation: nothing says that it was enough
    if by.lower_is_better:
        return 1 - min(scores) / min(before) if min(before) > 0 else 0.0
    return max(scores) - max(before)


def ended_by(training: Training, by: Score, result: dict[str, Any], events: Events) -> str | None:
    """Which setting ended a finished run. One from before runs recorded it is told by the limits that it reached: where
    these are several, by the one that says most, a score that was good enough or that no longer rose. None where the
    events are lost."""
    if result.get("ended_by"):
        return result["ended_by"]
    scores = [by.sign * event[f"valid_{by.name}"] for event in events if f"valid_{by.name}" in event]
    if training.until is not None and scores and max(scores) >= by.sign * training.until:
        return "until"
    if training.patience is not None and result["epochs"] - result["best_epoch"] >= training.patience:
        return "patience"
    if training.minutes is not None and seconds_of(events) >= training.minutes * 60:
        return "minutes"
    if training.steps is not None and events and events[-1].get("step") == training.steps:
        return "steps"
    return "epochs" if result["epochs"] == training.epochs else None


def seconds_of(events: Events) -> float:
    """Of training."""
    return sum((event.get("seconds", 0.0) for event in events), 0.0)
