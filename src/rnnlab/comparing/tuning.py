"""What `compare --tune` tried and chose, and the best validation score to expect from fewer trials.

The curve of an arm is that of Dodge et al. (2019, "Show Your Work"): the expected best score of n trials. The first
trial is always the default setting, so n trials are the default and n - 1 of the settings that were drawn. Their
expected best is estimated without replacement, which is unbiased (Tang et al. 2020): the mean over all ways to take
n - 1 of the trials that were made.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import TypeAdapter

from rnnlab.core.seeding import generator

RESAMPLES = 4000
LEVEL = 0.95
Status = Literal["finished", "stopped", "diverged", "failed"]


@dataclass(frozen=True)
class TrialResult:
    """One setting that was tried."""

    setting: dict[str, Any]  # what differs from the arm's default, by path; nothing in the first trial
    score: float | None  # the best on validation; of a trial that was stopped early, up to there
    status: Status
    evaluations: int
    digest: str


@dataclass(frozen=True)
class BestOf:
    """A point of the curve: what the best of so many trials scores."""

    trials: int
    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class TunedArm:
    label: str
    kind: str  # of the model
    baseline: bool
    searched: tuple[str, ...]  # axes, by path
    fixed: tuple[str, ...]  # axes that weren't searched, because the user had set them
    trials: tuple[TrialResult, ...]  # the first is the default
    chosen: int
    setting: dict[str, Any]  # the value of every searched axis in the chosen trial
    curve: tuple[BestOf, ...] = ()

    @property
    def tunable(self) -> bool:
        """Not so a baseline that has no settings: it is the same after any number of trials, and no rival."""
        return not self.baseline or bool(self.searched or self.fixed)

    @property
    def best(self) -> TrialResult:
        return self.trials[self.chosen]

    @property
    def default(self) -> TrialResult:
        return self.trials[0]


@dataclass(frozen=True)
class Lead:
    """From so many trials on, the interval of one arm lies above that of another."""

    better: str
    worse: str
    trials: int


@dataclass(frozen=True)
class Tuning:
    trials: int  # that every arm was to get
    metric: str
    lower_is_better: bool
    rows: int  # validation rows
    seed: int  # of all trials; no seed of the comparison
    arms: tuple[TunedArm, ...]
    leads: tuple[Lead, ...] = ()  # of the arm that is first after all trials

    @property
    def short(self) -> tuple[TunedArm, ...]:
        """Arms with fewer settings to try than trials."""
        return tuple(arm for arm in self.arms if len(arm.trials) < self.trials)

    @property
    def rivals(self) -> tuple[TunedArm, ...]:
        """Arms with a curve that says something."""
        return tuple(arm for arm in self.arms if arm.curve and arm.tunable)

    @property
    def leader(self) -> str | None:
        """The arm that is expected to be first after all trials; None where two are equal, or nothing has a score."""
        last = {arm.label: self._sign * arm.curve[-1].expected for arm in self.rivals}
        first = [label for label, value in last.items() if value == max(last.values())]
        return first[0] if len(first) == 1 else None

    @property
    def _sign(self) -> int:
        return -1 if self.lower_is_better else 1

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """What `to_dict` made, after a way through JSON."""
        return TypeAdapter(cls).validate_python(values)


def choose(scores: Sequence[float | None], lower_is_better: bool) -> int:
    """The number of the best trial; of equals the first, so that the default stays where nothing beats it. ``None`` is
    a trial that can't be chosen; if none can, the default is."""
    sign = -1 if lower_is_better else 1
    values = [-math.inf if score is None else sign * score for score in scores]
    return values.index(max(values))


def weights(trials: int) -> np.ndarray:
    """(trials, trials - 1): row n - 1 holds, for the drawn trials from the worst to the best, the chance that each is
    the best of n - 1 that are taken from them. The first row, of the default alone, is zero."""
    drawn = trials - 1
    found = np.zeros((trials, drawn))
    for taken in range(1, trials):
        for place in range(taken - 1, drawn):  # so many are worse
            found[taken, place] = math.comb(place, taken - 1) / math.comb(drawn, taken)
    return found


def expected_best(scores: Sequence[float]) -> np.ndarray:
    """(trials,): the expected best of 1, 2 … trials; more is better, and the first score is the default's."""
    first, drawn = scores[0], np.sort(np.asarray(scores[1:], float))
    expected = weights(len(scores)) @ np.maximum(drawn, first)
    expected[0] = first
    return expected


def curve(scores: Sequence[float | None], trials: int, lower_is_better: bool, rows: int | None) -> tuple[BestOf, ...]:
    """The curve up to ``trials``. A trial without a score counts as the worst one that has one; with fewer settings
    than trials, more trials add nothing.

    The interval counts two kinds of luck: which settings were drawn (a bootstrap of the drawn trials) and which
    ``rows`` validation happens to have (the standard error of a share of so many rows; None where the score is no
    share). The rows are the same for all trials, so their luck shifts the whole curve. No resample has a better trial
    than the best one that was seen, so the bootstrap alone would end there; the interval therefore reaches as far above
    the estimate as it does below, and the other way round."""
    sign = -1 if lower_is_better else 1
    known = [sign * score for score in scores if score is not None]
    if not known:
        return ()
    values = np.array([min(known) if score is None else sign * score for score in scores])
    expected = expected_best(values.tolist())
    rng = generator(0, "bootstrap", len(values))
    drawn = values[1:]
    again = np.sort(drawn[rng.integers(len(drawn), size=(RESAMPLES, len(drawn)))], axis=1) if len(drawn) else None
    best = np.full((RESAMPLES, len(values)), values[0])
    if again is not None:
        best[:, 1:] = (np.maximum(again, values[0]) @ weights(len(values)).T)[:, 1:]
    if rows is not None:
        share = float(np.clip(abs(expected[-1]), 0, 1))
        best += rng.normal(0, math.sqrt(share * (1 - share) / rows), size=(RESAMPLES, 1))
    low, high = np.quantile(best, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    low, high = np.minimum(low, 2 * expected - high), np.maximum(high, 2 * expected - low)
    points = []
    for number in range(1, trials + 1):
        at = min(number, len(values)) - 1
        ends = sorted((sign * float(low[at]), sign * float(high[at])))
        points.append(BestOf(number, sign * float(expected[at]), *ends))
    return tuple(points)


def leads(tuning: Tuning) -> tuple[Lead, ...]:
    """Where the arm that is first after all trials is ahead of another: the fewest trials from which on the intervals
    stay apart, to the last one. Nothing is said of arms that it isn't apart from in the end."""
    curves = {arm.label: arm.curve for arm in tuning.rivals}
    first = tuning.leader
    if first is None:
        return ()
    found = []
    for label, other in curves.items():
        if label == first:
            continue
        apart = [
            mine.high < theirs.low if tuning.lower_is_better else mine.low > theirs.high
            for mine, theirs in zip(curves[first], other, strict=True)
        ]
        together = [number for number, is_apart in enumerate(apart, 1) if not is_apart]
        if apart[-1]:
            found.append(Lead(first, label, max(together, default=0) + 1))
    return tuple(found)
