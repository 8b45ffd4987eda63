"""What a comparison is judged on, and what the judgement holds: plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

CostUnit = Literal["seconds", "milliseconds", "parameters", "unnamed"]
Unit = Literal["percent", "points", "number"]  # a share, said in per cent; the same without the sign; any number
Call = Literal["better", "equal", "undecided"]


@dataclass(frozen=True, eq=False)
class ArmScores:
    """The runs of an arm on the test set: ``scores (S, N)``, a row for each of ``seeds``, a column per test row.

    A run that diverged has the scores of what it counts as, which is answering the majority class.
    """

    label: str
    seeds: Sequence[int]
    scores: np.ndarray
    cost: float | None = None  # seconds per epoch, milliseconds per update, or parameters; None when unknown
    baseline: bool = False  # a single run of a baseline is all there is to it: it has no luck of seeds
    diverged: Sequence[int] = ()  # those of its seeds that diverged
    longer: str | None = None  # set where runs were cut short while they still improved: the option that trains longer


@dataclass(frozen=True)
class Estimate:
    """A score and its interval, in the score's own unit."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """How much better ``better`` is than ``worse``, as measured; not negative, whatever direction the score has (but
    where splits vary and runs are missing: there only common seeds are compared).

    ``low`` and ``high`` are taken at alpha divided by ``multiplier``, that of Holm's correction for this pair, so that
    they exclude zero exactly when the pair is called better; ``plain_low`` and ``plain_high`` are of this pair alone.
    ``chances`` are those that ``better`` is truly better by more than the margin, that the two are within the margin,
    and that it is worse by more than the margin. Where a pair of single runs leaves the luck of seeds unknown
    (``known`` is False) intervals and chances come from the test rows alone, p is 1 and the call is "undecided".
    """

    better: str
    worse: str
    mean: float
    low: float
    high: float
    plain_low: float
    plain_high: float
    p: float
    p_holm: float
    multiplier: float
    chances: tuple[float, float, float]
    call: Call
    seeds: float
    known: bool


@dataclass(frozen=True)
class Failures:
    """Seeds of an arm that failed to learn: they diverged, ended at the majority class or below, or far below the
    arm's own best run. ``low`` and ``high``: Clopper and Pearson's 95 % interval of the share of such seeds."""

    failed: tuple[int, ...]
    diverged: tuple[int, ...]
    runs: int
    low: float
    high: float


@dataclass(frozen=True)
class Advice:
    """What would settle the recommendation. ``low`` and ``high`` more seeds per model, the 20 and 80 % points of what
    it may take; None stands for more than `advice.MOST_SEEDS`. ``rows`` test rows in all, when it is they that are too
    few. ``driver`` is the arm that takes the most."""

    driver: str
    low: int | None
    high: int | None
    rows: int | None


@dataclass(frozen=True)
class Verdict:
    """What `judge` found. Lists of labels are in order of their means, the best first, arms and baselines alike.

    ``firm``: no other arm has more than a 5 % chance of being better than the recommended one by more than the margin,
    counting what was measured and seeds of the recommended arm that may fail although none of its runs did; and no arm
    was cut short while it still improved (``cut_short``), since nobody knows where that would have ended.
    """

    recommended: str | None  # None while single runs don't tell, and where it is `too_short`
    firm: bool
    best: str | None  # by mean
    best_model: str | None  # by mean, baselines left out
    best_baseline: str | None
    candidates: list[str]  # not measurably worse than any other
    best_group: list[str]  # the candidates whose mean is within the margin of the best: one of them is recommended
    doubtful: list[str]  # more than a 5 % chance, as measured, of being better by more than the margin
    advice: Advice | None
    optimism: float | None  # by how much the recommended arm's score is too high because it was picked
    sentence: str
    sentence_zh: str
    estimates: dict[str, Estimate]  # of every arm with a run; that of the recommended one allows for the optimism
    differences: list[Difference]  # every pair, in the order of their means
    failures: dict[str, Failures]  # of arms with at least one failed seed
    cut_short: dict[str, str]  # arms that still improved when a limit ended them, and the option that trains longer
    scores: dict[str, dict[int, float]]  # of every run
    baselines: list[str]
    seeds_unknown: list[str]  # arms with a single run
    unfinished: list[str]  # arms without a run
    runs: dict[str, int]  # runs of each arm that is no baseline
    costs: dict[str, float | None]
    cost_unit: CostUnit
    seeds: int  # different seeds among all runs
    too_short: bool  # fewer groups than are needed: nothing is called better, equal or worse
    groups: int  # of test rows that belong together
    fewest_groups: int  # that are needed
    rows: int  # of the test; 1 where every seed drew its own split, since rows are not compared then
    luck: list[str]  # what the intervals count: "seeds", "rows", "split"
    metric: str
    unit: Unit
    lower_is_better: bool
    alpha: float
    look: int  # how many times seeds were added before this verdict, for each of which a part of alpha was spent
    margin: float

    def between(self, one: str, other: str) -> Difference:
        """The pair of two arms, whichever of them is the better."""
        return next(gap for gap in self.differences if {gap.better, gap.worse} == {one, other})
