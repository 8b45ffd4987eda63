"""A score is a function of sums over rows, so each row has an influence on it: one way of judging serves all scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Counts = Mapping[str, np.ndarray]
"""What is summed, by its name: (rows,), or (rows, k) of k alike, such as one for each class. Counts add up."""


@dataclass(frozen=True)
class Score:
    name: str  # as files and events have it
    title: str  # as people call it
    columns: tuple[str, ...]  # of the counts, of which it takes the totals
    value: Callable[[np.ndarray], float]  # totals (K,) -> score
    lower_is_better: bool = False
    margin: float = 0.01  # what a person would not care about, in the score's own unit
    unit: Literal["percent", "points", "number"] = "percent"  # points: from 0 to 1 too, and said from 0 to 100
    gradient: Callable[[np.ndarray], np.ndarray] | None = None  # totals (K,) -> (K,); computed where there is none
    metric: str = ""  # as --metric calls it, if not by its name
    least: float | None = None  # that it can be, where it is a number: no interval goes below

    @property
    def option(self) -> str:
        """As ``--metric`` calls it."""
        return self.metric or self.name.replace("_", "-")

    @property
    def sign(self) -> float:
        return -1.0 if self.lower_is_better else 1.0

    def of(self, counts: Counts) -> float:
        """The score of all rows together."""
        return self.value(self._matrix(counts).sum(0))

    def per_row(self, counts: Counts) -> np.ndarray:
        """(rows,): numbers whose mean is the score, and of which each shows by how much its row moves it: the score
        plus rows times the influence, the derivative by the totals along the row's own counts. For a share of right
        answers, whether the row is right."""
        matrix = self._matrix(counts)
        totals = matrix.sum(0)
        slope = self.gradient(totals) if self.gradient else numeric_gradient(self.value, totals)
        moved = matrix @ slope
        return self.value(totals) + len(matrix) * (moved - moved.mean())

    def _matrix(self, counts: Counts) -> np.ndarray:
        """(rows, K)."""
        return np.concatenate(
            [np.asarray(counts[name], np.float64).reshape(len(counts[name]), -1) for name in self.columns], axis=1
        )


def ratio(
    name: str,
    title: str,
    above: str,
    below: str,
    *,
    lower_is_better: bool = False,
    margin: float = 0.01,
    unit: Literal["percent", "points", "number"] = "percent",
    metric: str = "",
    least: float | None = None,
) -> Score:
    """One total per another: a share, or a mean."""
    return Score(
        name,
        title,
        (above, below),
        lambda totals: float(totals[0] / totals[1]),
        lower_is_better,
        margin,
        unit,
        lambda totals: np.array([1 / totals[1], -totals[0] / totals[1] ** 2]),
        metric,
        least,
    )


def numeric_gradient(value: Callable[[np.ndarray], float], totals: np.ndarray) -> np.ndarray:
    """Central differences; totals are counts, so a step of a hundredth of a row is small."""
    slope = np.empty(len(totals))
    for number, total in enumerate(totals):
        step = 1e-6 * max(1e4, abs(total))
        moved = [totals.copy(), totals.copy()]
        moved[0][number] += step
        moved[1][number] -= step
        slope[number] = (value(moved[0]) - value(moved[1])) / (2 * step)
    return slope
