"""Where every seed drew its own split: rows aren't paired then, but the scores of one seed are.

The luck of the seed, of the test rows, of the split and, in part, of the training set are all in the differences per
seed. Training sets overlap from seed to seed, though, so these differences are less independent than they look: Nadeau
and Bengio (2003) add test rows per training row to 1 / S. That is an approximation, and no use with fewer than five.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from rnnlab.judging.pooling import Runs, Spreads
from rnnlab.judging.spread import Spread

FEWEST_SEEDS = 5


def measure_splits(arms: Sequence[Runs], test_per_train: float) -> Spreads:
    """Each arm over its seeds, and every two arms over their common ones."""
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
        known=seeds >= FEWEST_SEEDS,
    )
