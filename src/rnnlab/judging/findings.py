"""What a comparison is judged on, and what the judgement holds: plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

CostUnit = Literal["seconds", "milliseconds", "parameters"]


@dataclass(frozen=True, eq=False)
class ArmScores:
    """The finished runs of an arm on the test set: ``correct (S, N)`` from 0 to 1, a row for each of ``seeds``."""

    label: str
    seeds: Sequence[int]
    correct: np.ndarray
    cost: float | None = None  # seconds an epoch, milliseconds an update, or parameters; None when unknown


@dataclass(frozen=True)
class Estimate:
    """A score and its interval, between 0 and 1."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """``better`` minus ``worse`` over their common seeds (where runs are missing, ``mean`` may be below 0).

    Interval and ``p`` are of this pair alone, ``p_holm`` is corrected. With a single common seed, or none, the interval
    comes from the test rows alone and both p are 1: nothing can be told apart.
    """

    better: str
    worse: str
    mean: float
    low: float
    high: float
    p: float
    p_holm: float
    distinguishable: bool
    seeds: int


@dataclass(frozen=True)
class Verdict:
    """What ``judge`` found. Lists of labels are in order of their means, the best first.

    ``enough_seeds`` means: no other model may still turn out better than the recommended one by more than ``margin``.
    For each of them the interval of (it minus the recommended) ends at or below the margin. Models with fewer than two
    finished runs can't be recommended and don't count here; ``seeds_unknown`` and ``unfinished`` name them.
    """

    recommended: str | None  # cheapest of the best group; a baseline that no model measurably beats; None at one seed
    best: str | None  # by mean
    best_group: list[str]  # the best, and all models that can't be told apart from it
    best_baseline: str | None
    enough_seeds: bool
    more_seeds: int | None  # 0 when there are enough, None when more seeds alone won't tell
    more_rows: int | None  # test rows needed in all, when it is they that are too few
    doubtful: list[str]  # models that may still turn out better than the recommended one
    sentence: str
    sentence_zh: str
    estimates: dict[str, Estimate]  # of every arm and baseline with a finished run
    differences: list[Difference]  # best against all others and the baselines; recommended against the best baseline
    first_places: dict[str, float]  # share of crossed bootstrap resamples that an arm leads: a description, no test
    seeds_unknown: list[str]  # arms with a single finished run: their intervals are from the test rows alone
    unfinished: list[str]  # arms and baselines without a finished run
    runs: dict[str, int]  # finished runs of each arm
    costs: dict[str, float | None]
    cost_unit: CostUnit
    seeds: int  # different seeds among all finished runs
    rows: int
    metric: str
    alpha: float
    margin: float
