"""Runs that a limit ended while they still improved: their scores say what the limit allowed, not what the model can.

A run is cut short if a limit ended it, not patience, and its validation score rose by more than the margin over its
last fifth. An arm is, if half of its runs are.
"""

from collections.abc import Sequence
from typing import Any

from rnnlab.runs.directory import RunDirectory
from rnnlab.tasks.base import Task
from rnnlab.training.spec import RunSpec, Training

LIMITS = ("epochs", "steps", "minutes")
LAST = 0.2  # of the evaluations
LONGER = 3  # times the limit, to be tried next


def option_to_train_longer(runs: Sequence[tuple[RunSpec, dict[str, Any], RunDirectory]], margin: float) -> str | None:
    """Of the finished runs of an arm, each with its result and directory: the option that would let them finish; None
    where most did."""
    cut = [(spec, limit) for spec, result, run in runs if (limit := limit_that_cut(spec, result, run, margin))]
    if not cut or 2 * len(cut) < len(runs):
        return None
    spec, limit = cut[0]
    assert spec.training is not None
    given = getattr(spec.training, limit)
    if limit == "steps":
        return f"--set training.steps={LONGER * given}"
    return f"--{limit} {LONGER * given:g}"


def limit_that_cut(spec: RunSpec, result: dict[str, Any], run: RunDirectory, margin: float) -> str | None:
    """The setting that ended a run too early; None where it came to its own end, or no longer improved."""
    if spec.training is None:
        return None
    limit = result.get("ended_by") or _limit_reached(spec.training, result)
    if limit not in LIMITS:
        return None
    scores = [event[f"valid_{spec.task.answer.chosen.name}"] for event in run.events() if event.get("event") == "epoch"]
    return limit if _rise(scores, spec.task) > margin else None


def _rise(scores: Sequence[float], task: Task) -> float:
    """Of the best score, over the last fifth of the evaluations; of a loss, the share by which it fell."""
    before = scores[: len(scores) - max(1, round(LAST * len(scores)))]
    if not task.answer.chosen.lower_is_better and max(scores) >= 1:
        return 0.0  # all is right: there is nothing left to improve
    if not before:
        return float("inf")  # a single evaluation: nothing says that it was enough
    if task.answer.chosen.lower_is_better:
        return 1 - min(scores) / min(before) if min(before) > 0 else 0.0
    return max(scores) - max(before)


def _limit_reached(training: Training, result: dict[str, Any]) -> str | None:
    """Of a run from before runs recorded what ended them."""
    if training.epochs is not None and result.get("epochs") == training.epochs:
        return "epochs"
    if training.patience is not None and result.get("epochs", 0) - result.get("best_epoch", 0) >= training.patience:
        return None
    return "minutes" if training.minutes is not None else "steps" if training.steps is not None else None
