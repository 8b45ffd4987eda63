"""A series by known rules: what a forecaster can at best achieve on it is a number, not a guess.

    value = trend + day + week + noise,  noise = CARRIED · the noise before it + a shock with heavy tails

In the first part trend and seasons are others than in the second, the regime in which it is tested. Shocks are as
often up as down, so that the median of a value, given all before its origin, is known: trend, day and week, and what
is left by then of the noise at the origin. No forecast has a smaller mean error than the median.
"""

from dataclasses import dataclass

import numpy as np

from rnnlab.core.seeding import generator
from rnnlab.data.calendar import HOUR, Spacing
from rnnlab.data.observations import Observations

VERSION = 1  # raised when the same settings would make other series
SPACING = Spacing(seconds=6 * HOUR)
DAY, WEEK = 4, 28  # steps
CARRIED = 0.4  # of the noise, from step to step
FREEDOM = 4  # degrees of freedom of the shocks' t distribution: of 1,000, the largest is ten times the median
SHOCK = 5.0  # their scale
CHANGES_AT = 0.4  # of the steps
FIRST = np.datetime64("2022-01-03T00:00:00")  # a Monday


@dataclass(frozen=True)
class Regime:
    level: float
    slope: float  # per week
    day: tuple[float, float]  # how large the first two harmonics of the season are
    week: tuple[float, float]


BEFORE = Regime(level=100.0, slope=0.10, day=(6.0, 2.0), week=(4.0, 1.5))
AFTER = Regime(level=112.0, slope=-0.05, day=(9.0, 3.0), week=(6.0, 2.25))


@dataclass(frozen=True)
class MadeSeries:
    observations: Observations  # one series, one channel
    rule: np.ndarray  # (N,) trend, day and week: what the values would be without noise

    def medians(self, origins: np.ndarray, horizon: int) -> np.ndarray:
        """(rows, horizon): of the values at and after each origin, given the rule and all that comes before it."""
        last = origins - 1
        noise = self.observations.values[last, 0] - self.rule[last]
        return self.rule[origins[:, None] + np.arange(horizon)] + noise[:, None] * CARRIED ** np.arange(1, horizon + 1)


def made_series(steps: int, seed: int) -> MadeSeries:
    """So many steps of six hours, drawn from a seed."""
    random = generator(seed, "data", 0)
    at = np.arange(steps)
    change = round(CHANGES_AT * steps)
    rule = np.where(at < change, _rule(BEFORE, at, 0), _rule(AFTER, at, change))
    noise = np.empty(steps)
    before = 0.0
    for step, shock in enumerate(SHOCK * random.standard_t(FREEDOM, steps)):
        before = noise[step] = CARRIED * before + shock
    dates = FIRST + (at * SPACING.seconds).astype("timedelta64[s]")
    values = (rule + noise)[:, None]
    offsets = np.array([0, steps], np.int64)
    return MadeSeries(Observations("made", values, offsets, ("",), ("value",), dates, SPACING, ()), rule)


def _rule(regime: Regime, at: np.ndarray, begin: int) -> np.ndarray:
    """(N,) of the steps ``at``; the trend of a regime has its level where it begins."""
    found = regime.level + regime.slope * (at - begin) / WEEK
    for period, sizes in ((DAY, regime.day), (WEEK, regime.week)):
        for harmonic, size in enumerate(sizes, 1):
            found = found + size * np.sin(2 * np.pi * harmonic * at / period + harmonic)
    return found
