"""What the runs of a sweep add up to: for every point of its axes, how each repeat went and when it reached the target.

A study is plain data: the terminal, the tables, the charts and the ledger of claims all take their figures from here.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pydantic import TypeAdapter

from rnnlab.core.errors import RunError

FORMAT = 1
AxisValue = str | int | float | bool


@dataclass(frozen=True)
class Axis:
    """What is varied: a field by its path (``training.lr``), or a name for several fields that change together."""

    name: str
    values: tuple[AxisValue, ...]


@dataclass(frozen=True)
class Target:
    """A validation score to reach, and after how many updates a run that hasn't is given up."""

    metric: str  # of the evaluations, without "valid_": "exact", "accuracy", "loss"
    value: float
    cap: int
    lower_is_better: bool = False

    def reached(self, score: float) -> bool:
        return score <= self.value if self.lower_is_better else score >= self.value


@dataclass(frozen=True)
class Repeat:
    """One run of a point."""

    seed: int
    digest: str
    path: str
    status: str  # finished, diverged, failed or pruned
    curve: tuple[dict[str, Any], ...]  # an evaluation each: step, epoch, train_loss, valid_…, seconds (of that stretch)
    reached: int | None  # the first step whose evaluation is at the target
    result: dict[str, Any]  # result.json; empty when the run left none
    reason: str | None = None  # why there is no score


@dataclass(frozen=True)
class Point:
    """One setting: a value of every axis, and its repeats, seed by seed."""

    at: dict[str, AxisValue]
    label: str  # "lr 0.01 · length 5"
    repeats: tuple[Repeat, ...]

    @property
    def finished(self) -> tuple[Repeat, ...]:
        return tuple(repeat for repeat in self.repeats if repeat.status == "finished")


@dataclass(frozen=True)
class Study:
    """A sweep, done."""

    name: str
    about: str
    metric: str  # by which validation chooses: "accuracy", "exact", "loss"
    lower_is_better: bool
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    target: Target | None = None
    heatmaps: tuple[tuple[str, str], ...] = ()  # pairs of axes (across, down)
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` made, after a way through JSON."""
        if values.get("format") != FORMAT:
            raise RunError(
                "this sweep has format {found!r}; this version of rnnlab reads {ours}",
                found=values.get("format"),
                ours=FORMAT,
            )
        return TypeAdapter(cls).validate_python(values)

    def points_at(self, where: Mapping[str, AxisValue]) -> list[Point]:
        """The points that have these values."""
        return [p for p in self.points if all(p.at.get(axis) == value for axis, value in where.items())]


@dataclass(frozen=True)
class Arrival:
    """When the repeats of one setting (or of several) reached the target. A run that never did counts with the cap."""

    runs: int
    arrived: int
    diverged: int
    failed: int
    median: float | None  # of the first steps at target, capped; None when there is no run to count
    least: int | None
    most: int | None


def arrival(repeats: Sequence[Repeat], target: Target) -> Arrival:
    """Diverged runs never arrive; failed and pruned ones say nothing and aren't counted in the median."""
    counted = [repeat for repeat in repeats if repeat.status in ("finished", "diverged")]
    steps = [target.cap if repeat.reached is None else repeat.reached for repeat in counted]
    return Arrival(
        runs=len(repeats),
        arrived=sum(repeat.reached is not None for repeat in counted),
        diverged=sum(repeat.status == "diverged" for repeat in repeats),
        failed=sum(repeat.status == "failed" for repeat in repeats),
        median=statistics.median(steps) if steps else None,
        least=min(steps, default=None),
        most=max(steps, default=None),
    )


def first_step(curve: Sequence[Mapping[str, Any]], target: Target) -> int | None:
    """The first evaluated step whose validation score is at the target, up to the cap."""
    for event in curve:
        score = event.get(f"valid_{target.metric}")
        if event["step"] <= target.cap and score is not None and target.reached(score):
            return int(event["step"])
    return None
