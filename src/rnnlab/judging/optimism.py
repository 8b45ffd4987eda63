"""The winner's score is too high: it was picked for being high, by arms that were partly lucky. By how much?

The luck of seeds and of test rows, as fitted, is drawn again around plausible truths, the choice is made again, and the
luck of whoever is chosen is averaged. Plausible truths are the measured means, drawn together until they vary as much
as the truth does: measured means vary by the truth and by luck (empirical Bayes, with the spread kept).
"""

import numpy as np

from rnnlab.core.seeding import generator
from rnnlab.judging.decision import choose
from rnnlab.judging.pooling import Spreads

DRAWS = 4_000
IN_CONTENTION = 3.0  # standard errors behind the best, within which an arm might have been picked


def optimism(spreads: Spreads, labels: list[str], costs: np.ndarray, margin: float) -> float:
    """By how much the mean of what `choose` picks from ``labels`` exceeds its truth, on average; never negative."""
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
