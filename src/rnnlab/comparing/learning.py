"""How the arms of a comparison learnt: mean and band of their runs at every evaluation, and where runs ended."""

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnlab.comparing.chapters import Curve, CurvePoint, Ending, Learning, Split
from rnnlab.comparing.records import Record, by_arm, why_no_score
from rnnlab.runs.directory import Diverged
from rnnlab.tasks.base import Task

MARKS = (1, *(number * 10**power for power in range(5) for number in (5, 10, 20)))  # epochs that a table has
MOST_POINTS = 100  # of a curve: more than that aren't told apart on a page
SPLITS: tuple[Split, ...] = ("train", "valid")


def learning(records: Sequence[Record], task: Task) -> Learning:
    """From the events in the run directories. Baselines, which learn in one go, have no curves; nor have runs that
    failed or were stopped, which aren't part of the comparison."""
    trained = [record for record in records if record.spec.training is not None and record.result]
    arms = {arm: [_read(record) for record in runs] for arm, runs in by_arm(trained).items()}
    names = _quantities([run for runs in arms.values() for run in runs], task)
    curves: list[Curve] = []
    endings: list[Ending] = []
    for arm, runs in arms.items():
        clock = _clock(runs)
        ended = _endings(arm, runs, clock)
        kept = _thinned(list(clock), _worth_keeping(runs, ended, task) | set(MARKS))
        for quantity, keys in names.items():
            for split, key in keys.items():
                points = _points(runs, key, clock, kept)
                curves += [Curve(arm, split, quantity, points)] if points else []
        endings += ended
    return Learning(tuple(names), task.answer.chosen.lower_is_better, task.rounds, tuple(curves), tuple(endings))


@dataclass(frozen=True)
class _Run:
    record: Record
    evaluations: dict[int, dict[str, Any]]  # events by epoch
    seconds: dict[int, float]  # of training up to the end of an epoch


Clock = Mapping[int, tuple[float, float]]
"""By epoch, in ascending order: its step and its second, the mean of the runs that got so far."""


def _read(record: Record) -> _Run:
    evaluations = {event["epoch"]: event for event in record.events if event.get("event") == "epoch"}
    seconds = itertools.accumulate(event["seconds"] for event in evaluations.values())
    return _Run(record, evaluations, dict(zip(evaluations, seconds, strict=True)))


def _quantities(runs: Sequence[_Run], task: Task) -> dict[str, dict[Split, str]]:
    """What there are curves of, and under which key of an event each split has it: the score that chooses epochs, the
    accuracy where that is something else, the loss."""
    events = [event for run in runs for event in run.evaluations.values()]
    present = {key for event in events for key in event}
    chosen, judged = task.answer.chosen.name, task.answer.judged.name
    names = dict.fromkeys([chosen, judged, "loss"])
    keys: dict[str, dict[Split, str]] = {
        name: {split: f"{split}_{name}" for split in SPLITS if f"{split}_{name}" in present} for name in names
    }
    same = all(f"valid_{chosen}" in e and e.get(f"valid_{judged}") == e[f"valid_{chosen}"] for e in events)
    if chosen != judged and same:
        # Two names of one score, as for sums, which are right as a whole: so is the accuracy in training.
        keys[chosen] = keys.pop(judged) | keys[chosen]
    return {name: found for name, found in keys.items() if found}


def _clock(runs: Sequence[_Run]) -> Clock:
    moments = {}
    for epoch in sorted({epoch for run in runs for epoch in run.evaluations}):
        there = [(run.evaluations[epoch]["step"], run.seconds[epoch]) for run in runs if epoch in run.evaluations]
        steps, seconds = zip(*there, strict=True)
        moments[epoch] = statistics.fmean(steps), statistics.fmean(seconds)
    return moments


def _points(runs: Sequence[_Run], key: str, clock: Clock, kept: Sequence[int]) -> tuple[CurvePoint, ...]:
    """Each point is of the runs that got so far, and says how many these are.

    Where runs stop by themselves, the mean jumps as they leave. It is shown so: to go on with the last value of a run
    that ended would draw what nobody measured, and to end the curve with the first of them would hide the epochs at
    which the others were at their best."""
    points = []
    for epoch in kept:
        values = [run.evaluations[epoch].get(key) for run in runs if epoch in run.evaluations]
        finite = [float(value) for value in values if value is not None and math.isfinite(value)]
        if finite:
            # The mean of equal values may lie beside them in the last digit; a band always holds its mean.
            mean = min(max(statistics.fmean(finite), min(finite)), max(finite))
            points.append(CurvePoint(epoch, *clock[epoch], len(finite), mean, min(finite), max(finite)))
    return tuple(points)


def _endings(arm: str, runs: Sequence[_Run], clock: Clock) -> list[Ending]:
    endings = []
    best = _median_best(runs)
    reached = [epoch for epoch in clock if best is not None and epoch <= best]
    if reached:
        endings.append(Ending(arm, "best", reached[-1], *clock[reached[-1]]))
    for run in runs:
        if isinstance(run.record.outcome, Diverged):
            last = max(run.evaluations, default=0)
            step = run.evaluations[last]["step"] if last else 0
            seed, reason = run.record.spec.seed, why_no_score(run.record.outcome)
            endings.append(Ending(arm, "diverged", last, step, run.seconds.get(last, 0.0), seed, reason))
    return endings


def _median_best(runs: Sequence[_Run]) -> float | None:
    epochs = [
        run.record.result["best_epoch"] for run in runs if run.record.finished and run.record.result["best_epoch"]
    ]
    return statistics.median(epochs) if epochs else None


def _worth_keeping(runs: Sequence[_Run], endings: Iterable[Ending], task: Task) -> set[int]:
    """Epochs that a thinned curve still has: where runs ended, and where the arm's mean is at its best."""
    sums: dict[int, list[float]] = {}
    for run in runs:
        for epoch, event in run.evaluations.items():
            sums.setdefault(epoch, []).append(event.get(f"valid_{task.answer.chosen.name}", math.nan))
    means = {epoch: task.answer.chosen.sign * statistics.fmean(values) for epoch, values in sums.items()}
    finite = {epoch: mean for epoch, mean in means.items() if math.isfinite(mean)}
    best = {max(finite, key=lambda epoch: (finite[epoch], -epoch))} if finite else set[int]()
    return best | {ending.epoch for ending in endings}


def marks(curves: Iterable[Curve]) -> list[int]:
    """The epochs of a table of these curves: 1, 5, 10, 20, 50 … as far as they go; of a few epochs, all."""
    longest = max((curve.points[-1].epoch for curve in curves), default=0)
    return list(range(1, longest + 1)) if longest < MARKS[1] else [epoch for epoch in MARKS if epoch <= longest]


def _thinned(epochs: Sequence[int], wanted: set[int]) -> list[int]:
    """All of a few; of many, evenly spaced ones from the first to the last, and those that are wanted."""
    if len(epochs) <= MOST_POINTS:
        return list(epochs)
    gap = (len(epochs) - 1) / (MOST_POINTS - 1)
    spaced = {epochs[round(number * gap)] for number in range(MOST_POINTS)}
    return [epoch for epoch in epochs if epoch in spaced or epoch in wanted]
