"""How far a measured mean may lie from the truth: two sources of luck, each with its variance and Student's tails.

A score depends on two draws: which seeds were run, and which groups of test rows were met. A crossed bootstrap draws
both again and looks at how the mean moves. Its spread is known without drawing (it is a sum of variances), and with two
to five seeds it is wrong in two ways: too small by (S - 1) / S, and without the long tails of a variance estimated from
so few. So intervals and p values come from `Spread`: the same two sources, each with its unbiased variance and its own
tails. Reasons, and how well it holds: docs/decisions/0002-statistics.md.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import optimize, special

NEGLIGIBLE = 1e-20  # below this a variance of accuracies is rounding error
# Standard normal scores at which the groups' part is laid out: many where the seeds' part is narrow beside it.
COARSE, FINE = np.linspace(-9.0, 9.0, 181), np.linspace(-9.0, 9.0, 901)
NARROW = 0.3  # times the groups' error


@dataclass(frozen=True)
class Spread:
    """A mean over ``seeds`` runs, or a difference of two such means, and its two sources of luck.

    Runs of one arm differ by V (``seed_variance``). A part of that, F (``flips``), comes of single groups that are
    answered rightly in one run and wrongly in the next; whole runs that are lucky add to it. So V >= F in truth. F is
    known well, from many rows; V is known badly, from few runs. Wherever V counts, it counts as at least F.
    """

    mean: float
    seeds: float  # of a difference of unequal numbers of runs: their harmonic mean
    seed_variance: float  # V as measured; 0 when a single run leaves it unknown
    seed_df: float
    flips: float  # F
    group_variance: float  # of the mean, by the choice of groups
    group_df: float
    known: bool = True  # False: a single run doesn't tell how much runs differ
    alone: float | None = None  # V as measured, where ``seed_variance`` was raised by what other arms told

    @property
    def seed_error(self) -> float:
        return float(np.sqrt(max(self.seed_variance, self.flips) / self.seeds))

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.hypot(self.seed_error, np.sqrt(self.group_variance)))

    @property
    def square(self) -> float:
        """The squared error without caution, right on average: from the variance as measured, never below the flips."""
        own = self.seed_variance if self.alone is None else self.alone
        return max(own, self.flips) / self.seeds + self.group_variance

    @property
    def reversed(self) -> "Spread":
        """The same difference seen from the other side."""
        return replace(self, mean=-self.mean)

    def tail(self, distance: float) -> float:
        """The chance that the mean lies ``distance`` or more from the truth: a two-sided p value."""
        seed_error, group_error = self.seed_error, np.sqrt(self.group_variance)
        if seed_error == group_error == 0:
            return 1.0 if distance == 0 else 0.0
        if seed_error == 0:
            return float(min(1.0, 2 * special.stdtr(self.group_df, -distance / group_error)))
        scores, weights = _student_scores(self.group_df, fine=bool(seed_error < NARROW * group_error))
        rest = distance - group_error * scores
        return float(min(1.0, 2 * weights @ special.stdtr(self.seed_df, -rest / seed_error)))

    def above(self, threshold: float) -> float:
        """The chance that the truth lies above ``threshold``."""
        distance = threshold - self.mean
        return self.tail(distance) / 2 if distance >= 0 else 1 - self.tail(-distance) / 2

    def reach(self, alpha: float) -> float:
        """Half the width of the ``1 - alpha`` interval."""
        group_error = np.sqrt(self.group_variance)
        # Each source alone strays beyond its own quantile with chance alpha / 2: the sum of both is an upper bound.
        bound = self.seed_error * upper_quantile(alpha / 4, self.seed_df)
        bound += group_error * upper_quantile(alpha / 4, self.group_df)
        if bound == 0:
            return 0.0
        root = optimize.root_scalar(
            lambda distance: self.tail(distance) - alpha, bracket=(0.0, bound * 1.01), xtol=1e-6 * bound, rtol=1e-6
        )
        return float(root.root)


def group_sums(scores: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``scores (S, N)`` summed within ``groups (N,)``: sums ``(S, G)`` and group sizes ``(G,)``, both float."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    sums = np.add.reduceat(scores[:, order], starts, axis=1, dtype=np.float64)
    return sums, np.diff(starts, append=len(groups)).astype(np.float64)


def measure(sums: np.ndarray, sizes: np.ndarray, scale: float = 1.0) -> Spread:
    """The spread of one arm's mean, or of a paired difference: ``sums (S, G)`` of it by group, ``sizes (G,)``.

    The mean is over rows. Groups differ in size, so a group's deviation is its sum less size times mean. ``scale`` is
    by how much a single row may err.
    """
    return _spread(_components(sums, sizes), sizes, scale)


def measure_apart(one: np.ndarray, other: np.ndarray, sizes: np.ndarray, scale: float = 1.0) -> Spread:
    """``one (S, G)`` minus ``other (S', G)``, whose runs are not paired: Welch's way for the seeds, while the groups,
    which both were asked, stay paired."""
    a, b = _components(one, sizes), _components(other, sizes)
    seeds = 2 / (1 / a.seeds + 1 / b.seeds)
    both = _Components(
        mean=a.mean - b.mean,
        seeds=seeds,
        seed_variance=seeds * (a.seed_variance / a.seeds + b.seed_variance / b.seeds),
        flips=seeds * (a.flips / a.seeds + b.flips / b.seeds),
        lasting=a.lasting - b.lasting,
    )
    parts = [max(part.seed_variance, part.flips) / part.seeds for part in (a, b)]
    squares = sum(part**2 / max(of.seeds - 1, 1) for part, of in zip(parts, (a, b), strict=True))
    df = sum(parts) ** 2 / squares if squares > 0 else max(seeds - 1, 1)
    return replace(_spread(both, sizes, scale), seed_df=df, known=min(a.seeds, b.seeds) > 1)


@dataclass(frozen=True, eq=False)
class _Components:
    mean: float
    seeds: float
    seed_variance: float
    flips: float
    lasting: np.ndarray  # (G,), what a group shows in every run


def _components(sums: np.ndarray, sizes: np.ndarray) -> _Components:
    seeds, groups = sums.shape
    rows = sizes.sum()
    run_means = sums.sum(axis=1) / rows  # (S,)
    deviation = sums - sizes * run_means[:, None]  # (S, G)
    lasting = deviation.mean(axis=0)
    seed_variance, flips = 0.0, 0.0
    if seeds > 1:
        seed_variance = _clean(run_means.var(ddof=1))
        flips = _clean(_unbiased(groups, rows) * ((deviation - lasting) ** 2).sum() / (seeds - 1))
    return _Components(float(run_means.mean()), seeds, seed_variance, flips, lasting)


def _spread(parts: _Components, sizes: np.ndarray, scale: float) -> Spread:
    rows = sizes.sum()
    effective_groups = rows**2 / (sizes**2).sum()
    # The average over seeds still holds flips / seeds, which seed_variance counts already.
    by_groups = _unbiased(len(sizes), rows) * (parts.lasting**2).sum() - parts.flips / parts.seeds
    return Spread(
        mean=parts.mean,
        seeds=parts.seeds,
        seed_variance=parts.seed_variance,
        seed_df=max(parts.seeds - 1, 1),
        flips=parts.flips,
        # Two rows more, one to either side (Bonett and Price): no test set is too alike or too small to err.
        group_variance=float(max(0.0, by_groups) + 2 * scale**2 / (rows * effective_groups)),
        group_df=float(max(effective_groups - 1, 1)),
        known=parts.seeds > 1,
    )


def _unbiased(groups: int, rows: float) -> float:
    return groups / max(groups - 1, 1) / rows**2


def upper_quantile(tail: float, df: float) -> float:
    """What Student's t exceeds with this chance."""
    return -float(special.stdtrit(df, tail))


@lru_cache(maxsize=16)
def _student_scores(df: float, fine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Student's quantiles at the probabilities of normal scores, and their weights; by symmetry from the lower half,
    which keeps its digits."""
    scores = FINE if fine else COARSE
    density = np.exp(-(scores**2) / 2)
    lower = special.stdtrit(df, special.ndtr(-np.abs(scores)))
    return -np.sign(scores) * lower, density / density.sum()


def _clean(variance: float) -> float:
    return float(variance) if variance > NEGLIGIBLE else 0.0
