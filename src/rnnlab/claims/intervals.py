"""The 95 % intervals that decide claims: over seeds, over test rows and seeds, and of shares of runs.

Seeds are the repeats. Whatever a claim is about, each seed gives one number (a value, a difference, a logarithm of a
ratio, a rank correlation), averaged over the settings that the claim covers; Student's t says how far their mean may
lie from the truth. What is a mean over test rows has a second source of chance, the rows: see `judging.spread`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from rnnlab.claims.quantities import AnsweredRows
from rnnlab.core.seeding import generator
from rnnlab.judging import failures
from rnnlab.judging.spread import Spread, group_sums, measure

LEVEL = 0.95
DRAWS = 20_000
_OF_ONE = LEVEL  # of values rounded up to a grid: the error is even between 0 and 1 steps of it
_OF_TWO = 1 - math.sqrt(1 - LEVEL)  # of their differences: a triangle between -1 and 1


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


def student(values: Sequence[float], resolution: float = 0.0, of_two: bool = True) -> Interval | None:
    """Of the mean of one number a seed; None for a single seed, and where no spread can be seen.

    Arrivals are seen at evaluations only. If those are 50 steps apart, all seeds may show the same number, and t's
    interval has no width: it would claim to know what the evaluations never looked at. So the error of the grid is
    added, in squares, to t's: `resolution` times its own 95 % quantile, 0.95 for a number (an even distribution over
    one step) and 0.776 for a difference of two. It isn't divided by the number of seeds, since seeds that hardly vary
    share their rounding error. Simulated, with true values anywhere on the grid and seeds that vary by 0 to 2 steps,
    this holds the truth in 95 % and more from 3 seeds on (91 % and more for 2), where t alone goes down to 0 %, and
    t with resolution / √n added down to 53 %. The price is a little width when seeds vary by far more than a step.
    """
    numbers = np.asarray(values, np.float64)
    if len(numbers) < 2:
        return None
    mean, error = float(numbers.mean()), float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    by_chance = float(stats.t.isf((1 - LEVEL) / 2, len(numbers) - 1)) * error
    reach = math.hypot(by_chance, resolution * (_OF_TWO if of_two else _OF_ONE))
    if reach <= 1e-12 * abs(mean) or reach == 0:
        return None
    return Interval(mean, mean - reach, mean + reach)


def clopper_pearson(hits: int, runs: int) -> Interval:
    """Of a share of runs: exact, and so never too narrow."""
    return Interval(hits / runs, *failures.clopper_pearson(hits, runs, LEVEL))


def paired_shares(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Of a difference of two shares over paired runs, each 0 or 1: Bonett and Price's, with one pair more to either
    side, so that pairs that all agree don't make it certain."""
    only_a = (sum(x > y for x, y in zip(a, b, strict=True)) + 1) / (len(a) + 2)
    only_b = (sum(x < y for x, y in zip(a, b, strict=True)) + 1) / (len(a) + 2)
    middle = only_a - only_b
    error = math.sqrt((only_a + only_b - middle**2) / (len(a) + 2))
    reach = float(stats.norm.isf((1 - LEVEL) / 2)) * error
    mean = float(np.mean(a) - np.mean(b))
    return Interval(mean, max(-1.0, min(mean, middle - reach)), min(1.0, max(mean, middle + reach)))


Tally = tuple[int, int]  # how many of how many runs


def independent_shares(cells: Sequence[tuple[Tally, Tally]]) -> Interval:
    """Of a difference of two shares over runs that aren't paired, of which either side may have more: Agresti and
    Caffo's, with one run more of either outcome on each side, so that runs that all agree don't make it certain.

    There may be several ``cells`` that each hold runs of both sides; all cells count alike. The runs added are then
    divided among the cells, and of cells with few runs each the variance is the unbiased one.
    """
    more = 1 / len(cells)
    middle, variance = 0.0, 0.0
    for a, b in cells:
        for sign, (hits, runs) in ((1, a), (-1, b)):
            share = (hits + more) / (runs + 2 * more)
            middle += sign * share * more
            variance += share * (1 - share) / (runs - 1 + 3 * more) * more**2
    reach = float(stats.norm.isf((1 - LEVEL) / 2)) * math.sqrt(variance)
    mean = sum(a[0] / a[1] - b[0] / b[1] for a, b in cells) / len(cells)
    return Interval(mean, max(-1.0, min(mean, middle - reach)), min(1.0, max(mean, middle + reach)))


@dataclass(frozen=True, eq=False)
class Share:
    """The answers of one setting, seed by seed, and by how much its mean counts in what is measured."""

    coefficient: float
    rows: Sequence[AnsweredRows]


def crossed(shares: Sequence[Share]) -> Spread:
    """The spread of a weighted sum of accuracies: 1 for a value, 1 and -1 for a difference.

    Settings that were asked the same test rows are paired row by row. Other test sets are further draws, independent
    of the first: the variances by their groups add up, with Welch's degrees of freedom.
    """
    by_test_set: dict[str, list[Share]] = {}
    for share in shares:
        by_test_set.setdefault(share.rows[0].test_set, []).append(share)
    runs, spreads = zip(*(_on_one_set(group) for group in by_test_set.values()), strict=True)
    if len(spreads) == 1:
        return spreads[0]
    totals = np.sum(runs, axis=0)  # (S,)
    variances = np.array([spread.group_variance for spread in spreads])
    return Spread(
        mean=float(totals.mean()),
        seeds=len(totals),
        seed_variance=float(totals.var(ddof=1)) if len(totals) > 1 else 0.0,
        seed_df=max(len(totals) - 1, 1),
        flips=sum(spread.flips for spread in spreads),
        group_variance=float(variances.sum()),
        group_df=float(variances.sum() ** 2 / sum(s.group_variance**2 / s.group_df for s in spreads)),
    )


def _on_one_set(shares: Sequence[Share]) -> tuple[np.ndarray, Spread]:
    """The sum for each seed, and its spread."""
    first = shares[0].rows[0]
    # `measure` allows for a row that errs by 1; here, a row errs by what coefficients of one sign add up to.
    positive = sum(share.coefficient for share in shares if share.coefficient > 0)
    scale = max(positive, positive - sum(share.coefficient for share in shares))
    values = sum(share.coefficient / scale * np.stack([rows.values for rows in share.rows]) for share in shares)
    sums, sizes = group_sums(np.asarray(values), first.groups)  # (S, G) and (G,)
    spread = measure(sums, sizes)
    run_sums = scale * sums.sum(axis=1) / sizes.sum()
    return run_sums, replace(
        spread,
        mean=scale * spread.mean,
        seed_variance=scale**2 * spread.seed_variance,
        flips=scale**2 * spread.flips,
        group_variance=scale**2 * spread.group_variance,
    )


def reach_of(spread: Spread) -> Interval:
    reach = spread.reach(1 - LEVEL)
    return Interval(spread.mean, spread.mean - reach, spread.mean + reach)


def first_places(
    values: Mapping[str, Sequence[float]], lowest: bool, resolution: float = 0.0, endless: Collection[str] = ()
) -> dict[str, float]:
    """How often each comes first when the seeds are drawn again: ``values`` holds one number per seed for each.

    Means are drawn as Student's t would have it rather than by taking seeds twice: with 2 to 5 seeds a plain bootstrap
    is too sure of itself (docs/decisions/0002-statistics.md). The same draw of seeds serves all, which keeps them
    paired; each has its own rounding error of up to half a ``resolution``. Equals share a first place. Those that are
    ``endless`` are taken as infinitely large.
    """
    table = np.array([values[name] for name in values], np.float64).T  # (S, K)
    seeds = len(table)
    random = generator(0, "bootstrap")
    deviation = table - table.mean(axis=0)
    normal = random.standard_normal((DRAWS, seeds))
    scale = np.sqrt(random.chisquare(seeds - 1, DRAWS) / (seeds - 1))
    means = table.mean(axis=0) + normal @ deviation / math.sqrt(seeds * (seeds - 1)) / scale[:, None]  # (DRAWS, K)
    means += resolution * (random.random(means.shape) - 0.5)
    means[:, [name in endless for name in values]] = math.inf
    ahead = -means if lowest else means
    first = ahead >= ahead.max(axis=1, keepdims=True) - 1e-12
    shares = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return {name: float(share) for name, share in zip(values, shares, strict=True)}
