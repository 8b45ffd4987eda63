"""How much luck is in every arm and in every pair of arms, with the luck of seeds pooled among them.

Two or three seeds say little about how much runs of one arm differ; eight arms with three seeds each say a lot about
how much runs differ here. So arms lend each other degrees of freedom, the more the less theirs looks different.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from rnnlab.judging.spread import Spread, measure, measure_apart

POOL_ARMS = 3  # two arms can't tell which of them is the unsteady one
MOST_LENT = 3.0  # times an arm's own degrees of freedom: what seems steady by luck may be unsteady by nature
FAR_OFF = 20.0  # times the median arm's excess: an arm beyond it (a seed failed, say) sets no measure for others
ORDINARY = 0.6  # a seed variance with this chance, or more, of being exceeded is like the others'
FEWEST_SPLITS = 5  # below which the luck of splits isn't known


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of an arm: scores summed by group, ``sums (S, G)``, a row for each of ``seeds``, ascending.

    A ``fixed`` arm (a baseline that is fitted in one way only) has one row and no luck of seeds.
    """

    label: str
    seeds: tuple[int, ...]
    sums: np.ndarray
    means: np.ndarray  # (S,) of each run
    fixed: bool = False


@dataclass(frozen=True)
class Spreads:
    """Each arm by itself, and every two."""

    single: dict[str, Spread]
    pairs: dict[tuple[str, str], Spread]  # (a, b): a minus b

    def between(self, one: str, other: str) -> Spread:
        """``one`` minus ``other``."""
        return self.pairs[one, other] if (one, other) in self.pairs else self.pairs[other, one].reversed

    @property
    def unknown(self) -> "Spreads":
        """The same where nothing can be told from them."""
        single = {label: replace(spread, known=False) for label, spread in self.single.items()}
        return Spreads(single, {pair: replace(spread, known=False) for pair, spread in self.pairs.items()})


def measure_all(arms: Sequence[Runs], sizes: np.ndarray, scale: float = 1.0) -> Spreads:
    """All arms and pairs, with the luck of seeds pooled. ``scale``: see `measure`."""
    single = {runs.label: _alone(runs, sizes, scale) for runs in arms}
    pairs = {(a.label, b.label): _difference(a, b, sizes, scale) for a, b in itertools.combinations(arms, 2)}
    drawn = [runs.label for runs in arms if not runs.fixed and len(runs.seeds) > 1]
    if len(drawn) < POOL_ARMS:
        return _with_loans(Spreads(single, pairs), arms)
    df = float(sum(single[label].seed_df for label in drawn))
    between = [pair for pair in pairs if pair[0] in drawn and pair[1] in drawn]
    # Two arms that get better and worse together say one thing, not two, about how much single arms vary.
    total = sum(single[a].seed_variance + single[b].seed_variance for a, b in between)
    apart = sum(pairs[pair].seed_variance for pair in between)
    shared = min(max(1 - apart / total, 0.0), 1.0) if total > 0 else 0.0
    single_df = df / (1 + (len(drawn) - 1) * shared**2)
    alike = _alike({label: single[label] for label in drawn})
    single = single | _pooled({label: single[label] for label in drawn}, single_df, alike)
    pairs = pairs | _pooled({pair: pairs[pair] for pair in between}, df * (len(drawn) - 1) / len(drawn), alike)
    for fixed in (runs.label for runs in arms if runs.fixed):
        with_fixed = {p: s for p, s in pairs.items() if fixed in p and set(p) & set(drawn)}
        pairs = pairs | _pooled(with_fixed, single_df, alike | {fixed})
    return _with_loans(Spreads(single, pairs), arms)


def pool(spreads: Sequence[Spread], pooled_df: float, measured: Sequence[bool] | None = None) -> list[Spread]:
    """Let few seeds learn from other arms how much runs vary.

    ``spreads`` are alike (all differences of two arms, or all single arms). How many times more their runs vary than
    their flips explain has a median. A spread takes the median's variance, or its own if that is larger, and up to
    ``pooled_df`` degrees of freedom: the fewer, the less its own variance looks like the others', and never more than
    a few times its own. The median is of those that are ``measured`` by, all unless given.
    """
    known = [spread.known and spread.flips > 0 for spread in spreads]
    if not any(known):
        return list(spreads)
    # A chi-square's median lies below its mean, by a factor that its degrees of freedom tell.
    counted = [ok and (measured is None or measured[n]) for n, ok in enumerate(known)]
    counted = counted if any(counted) else known
    excess = [_excess(s) / _median_chance(s.seed_df) for s, counts in zip(spreads, counted, strict=True) if counts]
    usual = max(1.0, float(np.median(excess)))
    return [_moderate(spread, usual, pooled_df) if ok else spread for spread, ok in zip(spreads, known, strict=True)]


def _pooled(spreads: dict[Any, Spread], df: float, alike: set[str]) -> dict[Any, Spread]:
    """``spreads`` by label or by pair of labels; those of arms that are ``alike`` set the measure."""
    measured = [{key} <= alike if isinstance(key, str) else set(key) <= alike for key in spreads]
    return dict(zip(spreads, pool(list(spreads.values()), df, measured), strict=True))


def _alike(arms: dict[str, Spread]) -> set[str]:
    """The arms that vary like most: with three arms, one that fails in a seed is in two of three pairs, and the median
    pair would be one of its own."""
    excess = {label: _excess(spread) for label, spread in arms.items() if spread.flips > 0}
    if not excess:
        return set(arms)
    limit = FAR_OFF * max(1.0, float(np.median(list(excess.values()))))
    return {label for label in arms if excess.get(label, 0.0) <= limit}


def _moderate(spread: Spread, usual: float, pooled_df: float) -> Spread:
    excess, own_df = _excess(spread), spread.seed_df
    pooled_df = min(pooled_df, (1 + MOST_LENT) * own_df)
    chance = special.fdtrc(own_df, max(pooled_df - own_df, 1), excess / usual)  # of the F distribution
    alike = min(1.0, float(chance) / ORDINARY) ** 2
    df = own_df + max(0.0, pooled_df - own_df) * alike
    return replace(spread, seed_variance=spread.flips * max(usual, excess), seed_df=df, alone=spread.seed_variance)


def _excess(spread: Spread) -> float:
    """How many times more the runs vary than their rows' flipping explains; about 1 without whole-run effects."""
    return spread.seed_variance / spread.flips


def _median_chance(df: float) -> float:
    return float(2 * special.gammaincinv(df / 2, 0.5)) / df  # the median of chi-squared


def _alone(runs: Runs, sizes: np.ndarray, scale: float) -> Spread:
    spread = measure(runs.sums, sizes, scale)
    return replace(spread, known=True) if runs.fixed else spread


def _difference(a: Runs, b: Runs, sizes: np.ndarray, scale: float) -> Spread:
    if a.fixed or b.fixed:
        spread = measure(a.sums - b.sums, sizes, scale)
        return replace(spread, known=spread.known or (a.fixed and b.fixed))
    if a.seeds == b.seeds:
        return measure(a.sums - b.sums, sizes, scale)
    return measure_apart(a.sums, b.sums, sizes, scale)


def _with_loans(spreads: Spreads, arms: Sequence[Runs]) -> Spreads:
    """An arm with a single run can't say how much its runs differ. It takes the variance of the least steady arm, with
    one degree of freedom: enough to see that it is far behind, never enough to put it ahead."""
    lenders = [spreads.single[runs.label] for runs in arms if not runs.fixed and len(runs.seeds) > 1]
    borrowers = {runs.label for runs in arms if not runs.fixed and len(runs.seeds) == 1}
    if not lenders or not borrowers:
        return spreads
    loan = max(lenders, key=lambda spread: max(spread.seed_variance, spread.flips))

    def lent(spread: Spread, times: int) -> Spread:
        if not times:
            return spread
        own, more = spread.seed_error**2, times * max(loan.seed_variance, loan.flips)
        if own + more == 0:
            return spread
        return replace(
            spread,
            seed_variance=spread.seeds * (own + more),
            flips=spread.flips + spread.seeds * times * loan.flips,
            seed_df=(own + more) ** 2 / (own**2 / spread.seed_df + more**2),
        )

    single = {label: lent(spread, label in borrowers) for label, spread in spreads.single.items()}
    pairs = {pair: lent(spread, len(borrowers & set(pair))) for pair, spread in spreads.pairs.items()}
    return Spreads(single, pairs)


# Where every seed drew its own split


def measure_splits(arms: Sequence[Runs], test_per_train: float) -> Spreads:
    """Each arm over its seeds, and every two arms over their common ones. Rows aren't paired then, but the scores of
    one seed are.

    The luck of the seed, of the test rows, of the split and, in part, of the training set are all in the differences
    per seed. Training sets overlap from seed to seed, though, so these differences are less independent than they look:
    Nadeau and Bengio (2003) add test rows per training row to 1 / S. That is an approximation, and no use with fewer
    than five."""
    single = {runs.label: _corrected(runs.means, test_per_train) for runs in arms}
    pairs = {}
    for a, b in itertools.combinations(arms, 2):
        common = sorted(set(a.seeds) & set(b.seeds))
        both = a.means[np.isin(a.seeds, common)] - b.means[np.isin(b.seeds, common)]
        pairs[a.label, b.label] = _corrected(
            both if common else np.array([a.means.mean() - b.means.mean()]), test_per_train
        )
    return Spreads(single, pairs)


def _corrected(values: np.ndarray, test_per_train: float) -> Spread:
    """The spread of the mean of one number per split."""
    seeds = len(values)
    variance = float(values.var(ddof=1)) if seeds > 1 else 0.0
    return Spread(
        mean=float(values.mean()),
        seeds=seeds,
        seed_variance=variance * (1 + seeds * test_per_train),
        seed_df=max(seeds - 1, 1),
        flips=0.0,
        group_variance=0.0,
        group_df=1.0,
        known=seeds >= FEWEST_SPLITS,
    )
