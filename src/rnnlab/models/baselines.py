"""What a model has to beat: the most frequent class, and a bag of 1- and 2-grams with logistic regression.

A baseline is fitted on the same flat arrays as every model. What it learnt is a dictionary of arrays, so that a run
directory can hold it and `predict` can use it.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rnnlab.core.config import Config
from rnnlab.core.registry import Registry
from rnnlab.models.logistic import fit_logistic
from rnnlab.models.space import Between, Space

if TYPE_CHECKING:  # a network's answer need not wait for scipy
    from scipy import sparse

Learnt = dict[str, np.ndarray]


class Labelled(NamedTuple):
    """Rows and their classes."""

    values: np.ndarray  # (N,) ids, or (N, D) numbers, of all rows
    offsets: np.ndarray  # (rows + 1,)
    targets: np.ndarray  # (rows,)


class Baseline(Config):
    """Fitted in one go: no epochs, no seed."""

    added: ClassVar[tuple[str, ...]] = ("lookup",)
    model_defaults: ClassVar[dict[str, Any]] = {}
    """Its settings in a comparison unless the user says otherwise; as in `Architecture`."""
    title: ClassVar[str] = ""
    inputs: ClassVar[Literal["any", "tokens", "features"]] = "any"
    space: ClassVar[Space] = {}
    """What ``compare --tune`` may vary; none: it has nothing to tune."""

    lookup: bool = Field(
        default=False, description="Rows that stand in the training rows are answered by their labels there."
    )

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        raise NotImplementedError

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int) -> Learnt:
        """As `fit`; what the settings leave open is chosen on the validation rows. Most leave nothing open."""
        return self.fit(*train, classes)

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        """What was chosen on the validation rows, by the name of the setting."""
        return {}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(rows, C), up to a constant a row."""
        raise NotImplementedError


BASELINES: Registry[Baseline] = Registry("baseline", ("rnnlab.models.nbsvm",))
baseline = BASELINES.register


@baseline("majority")
class Majority(Baseline):
    """Always the most frequent class of the training rows."""

    title: ClassVar[str] = "majority class"

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        counts = np.bincount(targets, minlength=classes)
        return {"log_share": np.log((counts + 1e-3) / (counts + 1e-3).sum())}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.tile(learnt["log_share"], (len(offsets) - 1, 1)).astype(np.float32)


@baseline("lookup")
class LookedUp(Majority):
    """Rows that stand in the training rows are answered by their labels there, all others by the most frequent class:
    what learning the training rows by heart achieves."""

    title: ClassVar[str] = "exact match, else the majority class"

    lookup: bool = Field(default=True, description="What this baseline is for.")


@baseline("tfidf")
class TfIdf(Baseline):
    """TF-IDF of 1- and 2-grams with logistic regression: what many would reach for first, and rightly."""

    title: ClassVar[str] = "TF-IDF + logistic regression"
    inputs: ClassVar[Literal["any", "tokens", "features"]] = "tokens"

    space: ClassVar[Space] = {"model.C": Between(0.25, 64.0, log=True)}

    C: float = Field(default=4.0, gt=0, description="Inverse strength of the L2 penalty.")

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        keys, rows = _grams(values, offsets)
        known = np.unique(keys)
        counts = _count(keys, rows, known, len(offsets) - 1)
        seen = np.bincount(counts.indices, minlength=len(known))
        idf = np.log(len(offsets) / (1 + seen)) + 1  # smoothed: rows + 1 above, rows with the gram + 1 below
        coef, intercept = fit_logistic(_weigh(counts, idf), targets, classes, self.C)
        return {"grams": known, "idf": idf.astype(np.float32), "coef": coef, "intercept": intercept}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        keys, rows = _grams(values, offsets)
        features = _weigh(_count(keys, rows, learnt["grams"], len(offsets) - 1), learnt["idf"])
        return np.asarray(features @ learnt["coef"].T + learnt["intercept"], dtype=np.float32)


@baseline("statistics")
class Statistics(Baseline):
    """Mean, deviation, extremes, first and last value of every channel, and the length, with logistic regression."""

    title: ClassVar[str] = "channel statistics + logistic regression"
    inputs: ClassVar[Literal["any", "tokens", "features"]] = "features"

    space: ClassVar[Space] = {"model.C": Between(0.01, 100.0, log=True)}

    C: float = Field(default=1.0, gt=0, description="Inverse strength of the L2 penalty.")

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        features = _statistics(values, offsets)
        mean, scale = features.mean(0), np.maximum(features.std(0), 1e-6)
        coef, intercept = fit_logistic((features - mean) / scale, targets, classes, self.C)
        return {"mean": mean, "scale": scale, "coef": coef, "intercept": intercept}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        features = (_statistics(values, offsets) - learnt["mean"]) / learnt["scale"]
        return (features @ learnt["coef"].T + learnt["intercept"]).astype(np.float32)


def _grams(values: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A key for every 1-gram (its id) and 2-gram (both ids in one number), with the row that it stands in."""
    ids = values.astype(np.int64)
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    inside = row[:-1] == row[1:]  # a pair never spans two rows
    pairs = ((ids[:-1] + 1) << 32 | ids[1:])[inside]
    return np.concatenate([ids, pairs]), np.concatenate([row, row[:-1][inside]])


def _count(keys: np.ndarray, rows: np.ndarray, known: np.ndarray, height: int) -> "sparse.csr_array":
    """(height, len(known)) counts; grams that aren't known don't count."""
    from scipy import sparse

    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    hit = known[at] == keys
    ones = np.ones(hit.sum(), dtype=np.float32)
    counts = sparse.csr_array(sparse.coo_array((ones, (rows[hit], at[hit])), shape=(height, len(known))))
    counts.sum_duplicates()
    return counts


def _weigh(counts: "sparse.csr_array", idf: np.ndarray) -> "sparse.csr_array":
    """(1 + log count) × idf, every row to length 1."""
    weighed = counts.copy()
    weighed.data = (1 + np.log(weighed.data)) * idf[weighed.indices].astype(np.float32)
    squares = np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel()
    norms = np.sqrt(np.where(squares > 0, squares, 1)).astype(np.float32)
    weighed.data /= np.repeat(norms, np.diff(weighed.indptr))
    return weighed


def _statistics(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(rows, 6 D + 1)."""
    starts, lengths = offsets[:-1], np.diff(offsets)[:, None]
    mean = np.add.reduceat(values, starts) / lengths
    square = np.add.reduceat(values.astype(np.float64) ** 2, starts) / lengths
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    deviation = np.sqrt(np.maximum(square - mean.astype(np.float64) ** 2, 0))
    return np.hstack([mean, deviation, low, high, values[starts], values[offsets[1:] - 1], lengths]).astype(np.float64)
