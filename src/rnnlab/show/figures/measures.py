"""What models cost, and which of them nothing beats in both cost and score."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rnnlab.comparing.comparison import ArmSummary
from rnnlab.core.words import Both, both
from rnnlab.show.figures.chart_text import log_ticks
from rnnlab.show.figures.pieces import short

LOG_FROM = 8.0  # times the least: from there on the axis is logarithmic
MEASURES: dict[str, tuple[Both, Both, str]] = {  # axis, choice, format
    "epoch": (both("seconds per epoch"), both("training time"), ".3~g"),
    "update": (both("milliseconds per update"), both("training time"), ".3~g"),
    "parameters": (both("parameters"), both("parameters"), ".3~s"),
    "row": (both("milliseconds per row, predicting"), both("predicting"), ".3~g"),
}


@dataclass(frozen=True)
class Measure:
    """What a model costs, and where that stands on the axis: its logarithm where costs are far apart."""

    key: str
    costs: dict[str, float]

    @property
    def logarithmic(self) -> bool:
        return max(self.costs.values()) > LOG_FROM * min(self.costs.values())

    def place(self, cost: float) -> float:
        return math.log10(cost) if self.logarithmic else cost

    @property
    def domain(self) -> tuple[float, float]:
        low, high = (self.place(pick(self.costs.values())) for pick in (min, max))
        room = 0.14 * (high - low) or (0.2 if self.logarithmic else 0.5 * high)
        return (low - room if self.logarithmic else max(0.0, low - room)), high + room

    @property
    def ticks(self) -> list[float]:
        low, high = self.domain
        if self.logarithmic:
            return [short(self.place(tick)) or 0.0 for tick in log_ticks(10**low, 10**high)]
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= 7)
        return [short(number * step) or 0.0 for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def measures(arms: Sequence[ArmSummary]) -> list[Measure]:
    """Those that some arm has; an arm without a score or a cost has no place."""
    kinds: dict[str, Callable[[ArmSummary], float | None]] = {
        "epoch": lambda arm: arm.epoch_seconds,
        "update": lambda arm: None if arm.step_seconds is None else 1000 * arm.step_seconds,
        "parameters": lambda arm: arm.parameters,
        "row": lambda arm: None if arm.row_seconds is None else 1000 * arm.row_seconds,
    }
    scored = [arm for arm in arms if arm.score is not None]
    if any(arm.epoch_seconds for arm in scored):
        del kinds["update"]
    found = []
    for key, cost in kinds.items():
        costs = {arm.label: value for arm in scored if (value := cost(arm))}
        if costs:
            found.append(Measure(key, costs))
    return found


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """Of labels with (cost, score) those that nothing beats in both: the cheapest first, each better than all before.
    Of equals one is enough: the first."""
    front: list[str] = []
    best = -math.inf
    for label, (_, score) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if score > best:
            front.append(label)
            best = score
    return front
