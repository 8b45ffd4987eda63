"""The two axes of accuracy against cost: what models cost, and which of their scores are in the picture."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.comparison import ArmSummary
from rnnlab.core.numbers import TimeUnit
from rnnlab.core.words import Both, both
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.bulk import FAR, far_behind

LOG_FROM = 8.0  # times the least: from there on the axis is logarithmic
LEAST = 2  # hundredths: a smaller range of shares isn't stretched over the whole height
MEASURES: dict[str, tuple[Both, Both, str]] = {  # axis, choice, format
    "epoch": (both("{unit} per epoch"), both("time per epoch"), ".3~g"),
    "update": (both("{unit} per update"), both("time per update"), ".3~g"),
    "total": (both("{unit} of training per run"), both("total time"), ".3~g"),
    "parameters": (both("parameters"), both("parameters"), ".3~s"),
    "row": (both("{unit} per row, predicting"), both("predicting"), ".3~g"),
}


@dataclass(frozen=True)
class Measure:
    """What a model costs, and where that stands on the axis: its logarithm where costs are far apart."""

    key: str
    costs: dict[str, float]  # in the unit
    unit: TimeUnit | None = None

    @property
    def title(self) -> Both:
        words = MEASURES[self.key][0]
        return words.format(unit=self.unit.words) if self.unit else words

    @property
    def logarithmic(self) -> bool:
        return max(self.costs.values()) > LOG_FROM * min(self.costs.values())

    def place(self, cost: float) -> float:
        return math.log10(cost) if self.logarithmic else cost

    @property
    def domain(self) -> tuple[float, float]:
        low, high = (self.place(pick(self.costs.values())) for pick in (min, max))
        room = 0.18 * (high - low) or (0.2 if self.logarithmic else 0.5 * high)
        return (low - room if self.logarithmic else max(0.0, low - room)), high + room

    @property
    def ticks(self) -> list[float]:
        low, high = self.domain
        if self.logarithmic:
            return [fig.short(self.place(tick)) or 0.0 for tick in fig.log_ticks(10**low, 10**high)]
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= 7)
        return [fig.short(number * step) or 0.0 for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def measures(arms: Sequence[ArmSummary]) -> list[Measure]:
    """Those that some arm has; an arm without a score or a cost has no place."""
    kinds: dict[str, Callable[[ArmSummary], float | None]] = {
        "epoch": lambda arm: arm.epoch_seconds,
        "update": lambda arm: arm.step_seconds,
        "total": lambda arm: arm.total_seconds,
        "parameters": lambda arm: arm.parameters,
        "row": lambda arm: arm.row_seconds,
    }
    scored = [arm for arm in arms if arm.score is not None]
    if any(arm.epoch_seconds for arm in scored):
        del kinds["update"]
    found = []
    for key, cost in kinds.items():
        costs = {arm.label: value for arm in scored if (value := cost(arm))}
        if costs and key == "parameters":
            found.append(Measure(key, costs))
        elif costs:
            unit = TimeUnit.of(costs.values())
            found.append(Measure(key, {label: seconds / unit.seconds for label, seconds in costs.items()}, unit))
    return found


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """Of labels with (cost, goodness) those that nothing beats in both: the cheapest first, each better than all
    before. Of equals one is enough: the first."""
    front: list[str] = []
    best = -math.inf
    for label, (_, score) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if score > best:
            front.append(label)
            best = score
    return front


@dataclass(frozen=True)
class Vertical:
    """The axis of scores; the better is always above."""

    low: float
    high: float
    lower_is_better: bool = False

    @property
    def worst(self) -> float:
        return self.high if self.lower_is_better else self.low

    def pixel(self, score: float) -> float:
        """From the upper edge."""
        share = (score - self.low) / (self.high - self.low)
        return fig.HEIGHT * (share if self.lower_is_better else 1 - share)

    def below(self, score: float) -> bool:
        """Beyond the lower edge of the chart."""
        return score > self.high if self.lower_is_better else score < self.low


def outside(chapter: Chapter) -> frozenset[str]:
    """Arms far below the others, unless a baseline below them has made room for them."""
    vertical, far = score_domain(chapter), _far_below(chapter)
    scored = {arm.label: arm.score.mean for arm in chapter.comparison.arms if arm.score}
    return frozenset(label for label in far if vertical.below(scored[label]))


def _far_below(chapter: Chapter) -> frozenset[str]:
    """Arms far below the others, and below a baseline that is ahead of them all; none where that is every arm."""
    lower = chapter.comparison.verdict.lower_is_better
    arms, baselines = (
        {arm.label: arm.score.mean for arm in group if arm.score}
        for group in (chapter.comparison.arms, chapter.comparison.baselines)
    )
    best = (min if lower else max)(arms.values(), default=0.0)
    ahead = {label: score for label, score in baselines.items() if (score < best if lower else score > best)}
    far = far_behind(arms | ahead, _least(chapter), lower) & arms.keys()
    return far if far != arms.keys() else frozenset()


def _least(chapter: Chapter) -> float:
    return LEAST if chapter.comparison.verdict.unit == "points" else LEAST / 100


def score_domain(chapter: Chapter) -> Vertical:
    """All arms that aren't far below the others, with their intervals, and the baselines that are near enough or ahead.
    The interval of an arm some of whose seeds failed may reach from 0 to 1 and press the others flat: it is cut off at
    the edge."""
    comparison, verdict = chapter.comparison, chapter.comparison.verdict
    far, failed = _far_below(chapter), {arm.label for arm in comparison.arms if arm.failed_seeds}
    scored = {arm.label: arm.score for arm in comparison.arms if arm.score and arm.label not in far}
    steady = [score for label, score in scored.items() if label not in failed] or list(scored.values())
    low = min([score.mean for score in scored.values()] + [score.low for score in steady])
    high = max([score.mean for score in scored.values()] + [score.high for score in steady])
    needed = max(high - low, _least(chapter))
    lines = sorted((arm.score.mean for arm in comparison.baselines if arm.score), reverse=not verdict.lower_is_better)
    for line in lines:
        ahead = line < low if verdict.lower_is_better else line > high
        if ahead or max(high, line) - min(low, line) <= FAR * needed:
            low, high = min(low, line), max(high, line)
    room = max(0.08 * (high - low), 0.25 * _least(chapter))
    top = fig.most(verdict.unit) + room / 2
    return Vertical(max(0.0, low - room), min(top, high + room), verdict.lower_is_better)
