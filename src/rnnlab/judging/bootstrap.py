"""How far a measured mean may lie from the truth: a crossed bootstrap over seeds and groups of test rows.

A score depends on two draws: which seeds were run, and which test groups were met. A crossed bootstrap draws both
again and looks at how the mean moves. ``resample`` does just that. Its spread, though, is known without drawing (it is
a sum of variances), and with two to five seeds it is wrong in two ways: too small by (S - 1) / S, and without the long
tails of a variance estimated from so few. So intervals and p values come from ``Spread``: the same two sources, each
with its unbiased variance and Student's tails. Reasons, and how well it holds: docs/decisions/0002-statistics.md.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import optimize, special, stats

from rnnlab.seeding import generator

DRAWS = 1_000
MOST_DRAWN = 5_000
POOL_SEEDS = 3  # with fewer seeds, or fewer arms, one unsteady arm can't be recognised: then nothing is pooled
POOL_ARMS = 4
ORDINARY = 0.6  # a seed variance with this chance, or more, of being exceeded is like the others'
POWER_Z = float(stats.norm.ppf(0.8))  # the seeds advised settle the question with a chance of 80 %
MOST_SEEDS = 100  # more than that is no advice
NEGLIGIBLE = 1e-20  # below this a variance of accuracies is rounding error
SCORES = np.linspace(-9.0, 9.0, 901)  # standard normal scores at which the groups' part is laid out
WEIGHTS = stats.norm.pdf(SCORES) / stats.norm.pdf(SCORES).sum()


@dataclass(frozen=True)
class Spread:
    """A mean over ``seeds`` runs (or a paired difference of two such means), and its two sources of chance."""

    mean: float
    seeds: int
    seed_variance: float  # between runs, of one run's mean; 0 when a single run leaves it unknown
    seed_df: float
    flips: (
        float  # the part of seed_variance that comes of groups flipping from seed to seed, without a whole-run effect
    )
    group_variance: float  # of the mean, by the choice of groups
    group_df: float

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt(self.seed_variance / self.seeds + self.group_variance))

    def tail(self, distance: float) -> float:
        """The chance that the mean lies ``distance`` or more from the truth: a two-sided p value."""
        seed_error, group_error = np.sqrt(self.seed_variance / self.seeds), np.sqrt(self.group_variance)
        if seed_error == 0:
            return float(min(1.0, 2 * stats.t.sf(distance / group_error, self.group_df)))
        rest = distance - group_error * _student_scores(self.group_df)
        return float(min(1.0, 2 * WEIGHTS @ special.stdtr(self.seed_df, -rest / seed_error)))

    def reach(self, alpha: float) -> float:
        """Half the width of the ``1 - alpha`` interval."""
        seed_error, group_error = np.sqrt(self.seed_variance / self.seeds), np.sqrt(self.group_variance)
        # Each source alone strays beyond its own quantile with chance alpha / 2: the sum of both is an upper bound.
        bound = seed_error * stats.t.isf(alpha / 4, self.seed_df) + group_error * stats.t.isf(alpha / 4, self.group_df)
        root = optimize.root_scalar(
            lambda distance: self.tail(distance) - alpha, bracket=(0.0, bound * 1.01), xtol=1e-6 * bound, rtol=1e-6
        )
        return float(root.root)

    def at_seeds(self, seeds: int) -> "Spread":
        """What to expect of another number of seeds, at least 2."""
        # A run can't vary less than its rows' own flipping makes it: that bounds an estimate that is low by luck.
        return replace(
            self,
            seeds=seeds,
            seed_variance=max(self.seed_variance, self.flips),
            seed_df=self.seed_df * (seeds - 1) / max(self.seeds - 1, 1),
        )


@dataclass(frozen=True, eq=False)
class Runs:
    """The finished runs of an arm: right answers by group, ``sums (S, G)``, a row for each of ``seeds``, ascending."""

    label: str
    seeds: tuple[int, ...]
    sums: np.ndarray


@dataclass(frozen=True)
class Spreads:
    """All that is compared: each arm and baseline by itself, every two arms, every arm with every baseline."""

    single: dict[str, Spread]
    pairs: dict[tuple[str, str], Spread]  # (a, b): a minus b

    def between(self, better: str, worse: str) -> Spread:
        """``better`` minus ``worse``."""
        if (better, worse) in self.pairs:
            return self.pairs[better, worse]
        spread = self.pairs[worse, better]
        return replace(spread, mean=-spread.mean)


def group_sums(correct: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``correct (S, N)`` summed within ``groups (N,)``: sums ``(S, G)`` and group sizes ``(G,)``, both float."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    sums = np.add.reduceat(correct[:, order], starts, axis=1, dtype=np.float64)
    return sums, np.diff(starts, append=len(groups)).astype(np.float64)


def measure(sums: np.ndarray, sizes: np.ndarray) -> Spread:
    """The spread of one arm's mean, or of a paired difference: ``sums (S, G)`` of it by group, ``sizes (G,)``.

    The mean is over rows. Its groups differ in size, so a group's deviation is its sum less size times mean.
    """
    seeds, groups = sums.shape
    rows = sizes.sum()
    run_means = sums.sum(axis=1) / rows  # (S,)
    deviation = sums - sizes * run_means[:, None]  # (S, G)
    lasting = deviation.mean(axis=0)  # (G,), what a group shows in every run
    unbiased = groups / max(groups - 1, 1) / rows**2
    seed_variance, flips = 0.0, 0.0
    if seeds > 1:
        seed_variance = _clean(run_means.var(ddof=1))
        flips = _clean(unbiased * ((deviation - lasting) ** 2).sum() / (seeds - 1))
    # The average over seeds still holds flips / seeds, which seed_variance counts already.
    group_variance = max(0.0, unbiased * (lasting**2).sum() - flips / seeds)
    effective_groups = rows**2 / (sizes**2).sum()
    return Spread(
        mean=float(run_means.mean()),
        seeds=seeds,
        seed_variance=seed_variance,
        seed_df=max(seeds - 1, 1),
        flips=flips,
        # Two rows more, one to either side (Bonett and Price): no test set is too alike or too small to err.
        group_variance=float(group_variance + 2 / (rows * effective_groups)),
        group_df=float(max(effective_groups - 1, 1)),
    )


def pool(spreads: Sequence[Spread], pooled_df: float) -> list[Spread]:
    """Let few seeds learn from the other arms how much runs vary.

    ``spreads`` are alike (all differences of two arms, or all single arms). How many times more their runs vary than
    their flips explain has a median. A spread takes the median's variance, or its own if that is larger, and up to
    ``pooled_df`` degrees of freedom: the fewer, the less its own variance looks like the others'.
    """
    known = [spread.seeds >= POOL_SEEDS and spread.flips > 0 for spread in spreads]
    if not any(known):
        return list(spreads)
    # A chi-square's median lies below its mean, by a factor that its degrees of freedom tell.
    excess = [_excess(spread) / _median_chance(spread.seed_df) for spread, ok in zip(spreads, known, strict=True) if ok]
    usual = max(1.0, float(np.median(excess)))
    return [_moderate(spread, usual, pooled_df) if ok else spread for spread, ok in zip(spreads, known, strict=True)]


def measure_all(arms: Sequence[Runs], baselines: Sequence[Runs], sizes: np.ndarray) -> Spreads:
    """Arms are paired by seed; a baseline is a single run, the same for every seed."""
    single = {runs.label: measure(runs.sums, sizes) for runs in (*arms, *baselines)}
    pairs = {(a.label, b.label): measure(_paired(a, b), sizes) for a, b in itertools.combinations(arms, 2)}
    pairs |= {(a.label, b.label): measure(a.sums - b.sums, sizes) for a in arms for b in baselines}
    return Spreads(single, pairs)


def pool_all(spreads: Spreads, arms: Sequence[Runs], baselines: Sequence[Runs]) -> Spreads:
    """``pool`` among the arms, among their differences, and among their differences from each baseline."""
    if len(arms) < POOL_ARMS:
        return spreads
    df = sum(len(runs.seeds) - 1 for runs in arms)
    labels = [runs.label for runs in arms]
    between_arms = list(itertools.combinations(labels, 2))
    # Two arms that get better and worse together say one thing, not two, about how much single arms vary.
    total = sum(spreads.single[a].seed_variance + spreads.single[b].seed_variance for a, b in between_arms)
    apart = sum(spreads.pairs[pair].seed_variance for pair in between_arms)
    shared = min(max(1 - apart / total, 0.0), 1.0) if total > 0 else 0.0
    single_df = df / (1 + (len(arms) - 1) * shared**2)
    single = dict(zip(labels, pool([spreads.single[label] for label in labels], single_df), strict=True))
    pairs = _pool_pairs(spreads, between_arms, df * (len(arms) - 1) / len(arms))
    for baseline in baselines:
        pairs |= _pool_pairs(spreads, [(label, baseline.label) for label in labels], single_df)
    return Spreads(spreads.single | single, pairs)


def resample(sums: np.ndarray, sizes: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    """Means ``(draws, A)`` of a crossed bootstrap of ``sums (A, S, G)``: every draw is of the same seeds and groups."""
    arms, seeds, groups = sums.shape
    by_group = np.concatenate([sums.reshape(arms * seeds, groups), sizes[None, :]])  # (A * S + 1, G)
    if groups > MOST_DRAWN:  # groups are independent, so bundles of them vary alike; drawing bundles is faster
        by_group = np.add.reduceat(by_group, np.arange(MOST_DRAWN) * groups // MOST_DRAWN, axis=1)
        groups = MOST_DRAWN
    random = generator(0, "bootstrap")
    drawn_seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), size=draws) / seeds  # (draws, S)
    totals = np.empty((draws, len(by_group)))
    for draw in range(draws):
        times = np.bincount(random.integers(0, groups, groups), minlength=groups)
        totals[draw] = by_group @ times
    run_means = (totals[:, :-1] / totals[:, -1:]).reshape(draws, arms, seeds)
    return np.einsum("das,ds->da", run_means, drawn_seeds)


def advise(
    questions: Sequence[Spread], rows: int, alpha: float, alpha_each: float, margin: float
) -> tuple[int | None, int | None]:
    """How many more seeds would settle all questions; or None, and how many test rows in all, if it is they that lack.

    A question is how much better another model is than the chosen one: it is settled when the two are told apart (at
    ``alpha_each``, corrected for all pairs), or when the other is seen to be no more than ``margin`` better.
    """
    seeds = [_seeds_needed(spread, alpha, alpha_each, margin) for spread in questions]
    if None not in seeds:
        return max((count for count in seeds if count is not None), default=0), None
    needed = [
        _rows_needed(spread, rows, alpha, alpha_each, margin)
        for spread, count in zip(questions, seeds, strict=True)
        if count is None
    ]
    return None, max((count for count in needed if count is not None), default=None)


def _seeds_needed(spread: Spread, alpha: float, alpha_each: float, margin: float) -> int | None:
    def settled(seeds: int) -> bool:
        later = spread.at_seeds(seeds)
        slack = POWER_Z * later.error
        told_apart = later.reach(alpha_each) + slack <= spread.mean
        return told_apart or spread.mean + later.reach(alpha) + slack <= margin

    low, high = spread.seeds, max(MOST_SEEDS, spread.seeds + 1)
    if not settled(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle, high)
    return high - spread.seeds


def _rows_needed(spread: Spread, rows: int, alpha: float, alpha_each: float, margin: float) -> int | None:
    """Test rows that leave at least half of the variance to the seeds; None if the rows aren't what is missing."""
    tell_apart = spread.mean / (stats.norm.isf(alpha_each / 2) + POWER_Z)
    rule_out = (margin - spread.mean) / (stats.norm.isf(alpha / 2) + POWER_Z)
    allowed = max(tell_apart, rule_out) ** 2 / 2
    if spread.group_variance <= allowed:
        return None
    needed = rows * spread.group_variance / allowed
    digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return math.ceil(needed / digits) * digits  # two digits: it is a rough figure


def _paired(a: Runs, b: Runs) -> np.ndarray:
    """Differences of sums over the common seeds ``(S, G)``; without any, of the two averages ``(1, G)``."""
    common = sorted(set(a.seeds) & set(b.seeds))
    if not common:
        return (a.sums.mean(axis=0) - b.sums.mean(axis=0))[None, :]
    return a.sums[np.isin(a.seeds, common)] - b.sums[np.isin(b.seeds, common)]


def _pool_pairs(spreads: Spreads, pairs: Sequence[tuple[str, str]], pooled_df: float) -> dict[tuple[str, str], Spread]:
    return dict(zip(pairs, pool([spreads.pairs[pair] for pair in pairs], pooled_df), strict=True))


def _moderate(spread: Spread, usual: float, pooled_df: float) -> Spread:
    excess, own_df = _excess(spread), spread.seed_df
    chance = stats.f.sf(excess / usual, own_df, max(pooled_df - own_df, 1))
    alike = min(1.0, float(chance) / ORDINARY) ** 2
    df = own_df + max(0.0, pooled_df - own_df) * alike
    return replace(spread, seed_variance=spread.flips * max(usual, excess), seed_df=df)


def _excess(spread: Spread) -> float:
    """How many times more the runs vary than their rows' flipping explains; about 1 without whole-run effects."""
    return spread.seed_variance / spread.flips


def _median_chance(df: float) -> float:
    return float(stats.chi2.median(df)) / df


@lru_cache(maxsize=8)
def _student_scores(df: float) -> np.ndarray:
    """Student's quantiles at the probabilities of SCORES; by symmetry from the lower half, which keeps its digits."""
    lower = stats.t.ppf(stats.norm.cdf(-np.abs(SCORES)), df)
    return -np.sign(SCORES) * lower


def _clean(variance: float) -> float:
    return float(variance) if variance > NEGLIGIBLE else 0.0
