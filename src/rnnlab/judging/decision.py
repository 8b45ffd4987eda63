"""What to recommend, and whether that is firm: from the spreads of all pairs to one choice.

Candidates are the arms that are not measurably worse than any other. Recommended is the cheapest candidate whose mean
is within the margin of the best. It is firm when no other arm may still be better by more than the margin.
docs/decisions/0002-statistics.md says what following this costs, in simulations with a known truth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rnnlab.core.seeding import generator
from rnnlab.judging.luck import Spreads

COSTS_ALIKE = 1.05  # costs that differ by no more than this factor are equal
DOUBT = 0.05  # the chance, of being better by more than the margin, above which another arm stays in doubt
UNSTEADY = 0.2  # of the arms that never failed so far, the share, at first, that may fail in some seeds: our choice
DRAWS = 4_000  # of luck, for the optimism
IN_CONTENTION = 3.0  # standard errors behind the best, within which an arm might have been picked

Pair = tuple[str, str]


@dataclass(frozen=True)
class Corrected:
    """The p value of a pair, and Holm's correction of it: corrected = min(1, multiplier × p)."""

    p: float
    multiplier: float

    @property
    def p_holm(self) -> float:
        return min(1.0, self.multiplier * self.p)


@dataclass(frozen=True)
class Decision:
    ranking: list[str]  # by mean, the best first; of equals the cheaper, then by name
    tests: dict[Pair, Corrected]
    candidates: list[str]
    best_group: list[str]
    recommended: str | None

    @property
    def rest(self) -> list[str]:
        return [label for label in self.ranking if label != self.recommended]


def decide(
    spreads: Spreads,
    costs: Mapping[str, float],
    margin: float,
    alpha: float = 0.05,
    eligible: Sequence[str] | None = None,
) -> Decision:
    """``eligible`` arms may be recommended, all unless given; infinite costs are unknown ones."""
    ranking = sorted(spreads.single, key=lambda label: (-spreads.single[label].mean, costs[label], label))
    tests = pair_tests(spreads)
    worse = {_worse_of(pair, spreads) for pair, test in tests.items() if test.p_holm < alpha}
    candidates = [label for label in ranking if label not in worse]
    able = [label for label in candidates if eligible is None or label in eligible]
    if not able:
        return Decision(ranking, tests, candidates, [], None)
    means = np.array([spreads.single[label].mean for label in able])
    best_group = [label for label, mean in zip(able, means, strict=True) if mean >= means.max() - margin]
    recommended = able[choose(means[None, :], np.array([costs[label] for label in able]), margin)[0]]
    return Decision(ranking, tests, candidates, best_group, recommended)


def choose(means: np.ndarray, costs: np.ndarray, margin: float) -> np.ndarray:
    """For each row of ``means (D, A)`` the number of the cheapest arm within ``margin`` of the row's best; of those
    whose costs ``(A,)`` are alike, the one with the highest mean."""
    within = means >= means.max(axis=1, keepdims=True) - margin
    cheapest = np.where(within, costs, math.inf).min(axis=1, keepdims=True)
    alike = within & (costs <= cheapest * COSTS_ALIKE)
    return np.where(alike, means, -math.inf).argmax(axis=1)


def unseen_failures(runs: float, lead: float, margin: float, height: float) -> float:
    """The chance that an arm, none of whose ``runs`` failed to learn, still fails in so many seeds that it falls more
    than ``margin`` behind an arm over which it has this ``lead``. ``height`` is how much a failed run loses.

    Some arms never fail. Others, `UNSTEADY` of all, fail in a share of their seeds, any share being as likely as any
    other. Those whose share exceeds (lead + margin) / height fall behind; each run without a failure speaks against it.
    """
    if height <= 0:
        return 0.0
    enough = min(1.0, max(0.0, (lead + margin) / height))
    unsteady = UNSTEADY / (runs + 1)  # the chance to be unsteady and never to show it
    return unsteady * (1 - enough) ** (runs + 1) / (unsteady + 1 - UNSTEADY)


def pair_tests(spreads: Spreads) -> dict[Pair, Corrected]:
    """Every pair, with Holm's step-down correction over all of them: whichever arm comes first was picked by looking,
    so the pairs of the best alone would not do. Single runs leave the larger part of luck unknown: p = 1."""
    p = {pair: s.tail(abs(s.mean)) if s.known else 1.0 for pair, s in spreads.pairs.items()}
    return dict(zip(p, holm(list(p.values())), strict=True))


def holm(p_values: Sequence[float]) -> list[Corrected]:
    """The smallest of m times m, the next times m - 1 …, and a corrected value never falls below an earlier one."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.arange(len(p), 0, -1.0)
    corrected = np.maximum.accumulate(p[order] * steps)
    multipliers = np.empty(len(p))
    with np.errstate(divide="ignore", invalid="ignore"):
        multipliers[order] = np.where(p[order] > 0, corrected / p[order], steps)
    return [Corrected(float(one), float(times)) for one, times in zip(p, multipliers, strict=True)]


def _worse_of(pair: Pair, spreads: Spreads) -> str:
    return pair[1] if spreads.pairs[pair].mean > 0 else pair[0]


def optimism(spreads: Spreads, labels: list[str], costs: np.ndarray, margin: float) -> float:
    """By how much the mean of what `choose` picks from ``labels`` exceeds its truth, on average; never negative. The
    winner's score is too high: it was picked for being high, by arms that were partly lucky.

    The luck of seeds and of test rows, as fitted, is drawn again around plausible truths, the choice is made again, and
    the luck of whoever is chosen is averaged. Plausible truths are the measured means, drawn together until they vary
    as much as the truth does: measured means vary by the truth and by luck (empirical Bayes, with the spread kept)."""
    means = np.array([spreads.single[label].mean for label in labels])
    own = own_variances(spreads, labels)
    best = means.argmax()
    near = means[best] - means <= IN_CONTENTION * np.sqrt(own + own[best]) + margin
    if near.sum() < 2:
        return 0.0
    means, own, costs = means[near], own[near], costs[near]
    varied = means.var(ddof=1)
    true = max(0.0, varied - own.mean())
    truths = means.mean() + np.sqrt(true / varied) * (means - means.mean()) if varied > 0 else means
    luck = generator(0, "bootstrap", 2).standard_normal((DRAWS, len(means))) * np.sqrt(own)
    picked = choose(truths + luck, costs, margin)
    return max(0.0, float(np.take_along_axis(luck, picked[:, None], axis=1).mean()))


def own_variances(spreads: Spreads, labels: list[str]) -> np.ndarray:
    """The luck that each arm has for itself, (A,): what all arms share doesn't decide who is picked. The squared error
    of a difference is the sum of its two arms' own; with all pairs known, each arm's own follows by least squares."""
    count = len(labels)
    if count < 2:
        return np.zeros(count)
    square = np.zeros((count, count))
    for i, one in enumerate(labels):
        for j, other in enumerate(labels[:i]):
            square[i, j] = square[j, i] = spreads.between(one, other).square
    if count == 2:
        return np.full(2, square[0, 1] / 2)
    sums = square.sum(axis=1)
    own = (sums - sums.sum() / (2 * (count - 1))) / (count - 2)
    return np.maximum(own, 0.0)
