"""What to recommend, and whether that is firm: from the spreads of all pairs to one choice.

Candidates are the arms that are not measurably worse than any other. Recommended is the cheapest candidate whose mean
is within the margin of the best. It is firm when no other arm may still be better by more than the margin.
docs/decisions/0002-statistics.md says what following this costs, in simulations with a known truth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rnnlab.judging.pooling import Spreads

COSTS_ALIKE = 1.05  # costs that differ by no more than this factor are equal
DOUBT = 0.05  # the chance, of being better by more than the margin, above which another arm stays in doubt
UNSTEADY = 0.2  # of the arms that never failed so far, the share, at first, that may fail in some seeds: our choice

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
