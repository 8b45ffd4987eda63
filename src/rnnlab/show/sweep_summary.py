"""What the repeats of a setting, or of several, come to: the figures that charts, page and terminal share."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rnnlab.comparing.studies import Arrival, Axis, Point, Repeat, Study, arrival
from rnnlab.core.errors import ConfigError, did_you_mean, known_are
from rnnlab.show.sweep_texts import step_text, value_text

MOST_VALUES = 24  # of an axis, for a heatmap that nobody asked for


@dataclass(frozen=True)
class Spread:
    """Some scores."""

    mean: float
    deviation: float | None  # of the sample; None for a single score
    least: float
    most: float
    count: int

    @classmethod
    def of(cls, scores: Sequence[float]) -> "Spread | None":
        if not scores:
            return None
        deviation = statistics.stdev(scores) if len(scores) > 1 else None
        return cls(statistics.fmean(scores), deviation, min(scores), max(scores), len(scores))


@dataclass(frozen=True)
class Summary:
    runs: int
    counted: int  # finished or diverged: those that say something
    diverged: int
    failed: int
    pruned: int
    arrival: Arrival | None  # where there is a target
    valid: Spread | None  # of the finished runs
    test: Spread | None
    step_seconds: float | None  # the median

    @property
    def never(self) -> int:
        """Runs that didn't diverge, and yet never arrived."""
        return 0 if self.arrival is None else self.counted - self.arrival.arrived - self.diverged


def summarise(study: Study, repeats: Sequence[Repeat]) -> Summary:
    finished = [repeat.result for repeat in repeats if repeat.status == "finished"]
    seconds = [s for repeat in repeats if (s := repeat.result.get("step_seconds")) is not None]
    diverged = sum(repeat.status == "diverged" for repeat in repeats)
    return Summary(
        runs=len(repeats),
        counted=len(finished) + diverged,
        diverged=diverged,
        failed=sum(repeat.status == "failed" for repeat in repeats),
        pruned=sum(repeat.status == "pruned" for repeat in repeats),
        arrival=arrival(repeats, study.target) if study.target else None,
        valid=Spread.of(_scores(finished, "valid", study.metric)),
        test=Spread.of(_scores(finished, "test", study.metric)),
        step_seconds=statistics.median(seconds) if seconds else None,
    )


def median_text(found: Summary) -> str:
    """The median first step: ``150``; ``500+``, at least that, when half of the runs or more never arrived and it rests
    on the cap; nothing when all diverged."""
    arrived = found.arrival
    if arrived is None or arrived.median is None or found.diverged == found.counted:
        return ""
    at_least = arrived.arrived < found.counted // 2 + 1
    return step_text(arrived.median) + ("+" if at_least else "")


def _scores(results: Sequence[dict], split: str, metric: str) -> list[float]:
    found = [result.get(split, {}).get(metric) for result in results]
    return [score for score in found if score is not None and math.isfinite(score)]


def best_score(study: Study, repeat: Repeat) -> float | None:
    """A run's best validation score; of one that left no result, the best it had reached."""
    known = repeat.result.get("valid", {}).get(study.metric)
    if known is not None:
        return known
    found = [event.get(f"valid_{study.metric}") for event in repeat.curve]
    scores = [score for score in found if score is not None and math.isfinite(score)]
    return (min if study.lower_is_better else max)(scores, default=None)


def ranked(study: Study) -> list[Point]:
    """Points that have something to show, the best first: those that arrive soonest, or with the best mean."""
    sign = 1 if study.lower_is_better else -1

    def key(found: Summary) -> tuple[float, ...]:
        score = sign * found.valid.mean if found.valid else math.inf
        if found.arrival is None:
            return (score,)
        if found.arrival.median is None or found.arrival.most is None:
            return (math.inf, math.inf, score)
        return (found.arrival.median, found.arrival.most, score)

    summaries = [(point, summarise(study, point.repeats)) for point in study.points]
    return [point for point, _ in sorted((p for p in summaries if p[1].counted), key=lambda p: key(p[1]))]


def best_point(study: Study) -> Point | None:
    """None when no point arrived, or none has a score."""
    for point in ranked(study)[:1]:
        found = summarise(study, point.repeats)
        if found.arrival.arrived if found.arrival else found.valid:
            return point
    return None


def seen_statuses(study: Study) -> list[str]:
    """The ways not to finish that occurred."""
    seen = {repeat.status for point in study.points for repeat in point.repeats}
    return [status for status in ("diverged", "failed", "pruned") if status in seen]


def find_axis(study: Study, name: str) -> Axis:
    for axis in study.axes:
        if axis.name == name:
            return axis
    known = [axis.name for axis in study.axes]
    hint = did_you_mean(name, known) or known_are(known)
    raise ConfigError("the sweep '{name}' has no axis '{name_2}'{hint}", name=study.name, name_2=name, hint=hint)


def value_labels(axis: Axis) -> list[str]:
    """The values as texts, each once: 1 and "1" of one axis must not share a place."""
    texts = [value_text(value) for value in axis.values]
    return texts if len(set(texts)) == len(texts) else [repr(value) for value in axis.values]


def repeats_at(study: Study, where: dict[str, Any]) -> list[Repeat]:
    return [repeat for point in study.points_at(where) for repeat in point.repeats]


def heatmap_pairs(study: Study) -> list[tuple[str, str]]:
    """(across, down) as asked for; otherwise the first two axes, unless they make a picture that is too large, or
    mostly empty as after a random search."""
    if study.heatmaps:
        return list(study.heatmaps)
    varied = [axis for axis in study.axes if len(axis.values) > 1][:2]
    if len(varied) < 2 or max(len(axis.values) for axis in varied) > MOST_VALUES:
        return []
    across, down = sorted(varied, key=lambda axis: -len(axis.values))
    filled = {(point.at.get(across.name), point.at.get(down.name)) for point in study.points}
    cells = len(across.values) * len(down.values)
    return [(across.name, down.name)] if 2 * len(filled) >= cells else []
