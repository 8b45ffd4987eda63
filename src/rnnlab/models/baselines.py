"""What a model has to beat: the most frequent class, and a bag of 1- and 2-grams with logistic regression.

A baseline is fitted on the same flat arrays as every model. What it learnt is a dictionary of arrays, so that a run
directory can hold it and `predict` can use it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import Field, field_validator

from rnnlab.core.config import Config
from rnnlab.core.registry import Registry
from rnnlab.data.joined import with_column_words
from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences, balanced_weights
from rnnlab.data.vocabulary import PADDING
from rnnlab.models.logistic import fit_logistic
from rnnlab.models.space import Between, Space

if TYPE_CHECKING:  # a network's answer need not wait for scipy
    from scipy import sparse

Learnt = dict[str, np.ndarray]
Inputs = Literal["any", "tokens", "features", "sound"]
"""Rows that a baseline reads: sound is features too, those of recordings."""
Choice = Callable[[np.ndarray, np.ndarray], float]
"""How good logits (rows, C) are for targets (rows,): the highest is chosen."""


class Labelled(NamedTuple):
    """Rows and their classes; or, where a row may have several labels, which it has."""

    values: np.ndarray  # (N,) ids, or (N, D) numbers, of all rows
    offsets: np.ndarray  # (rows + 1,)
    targets: np.ndarray  # (rows,), or (rows, C) uint8


def share_right(logits: np.ndarray, targets: np.ndarray) -> float:
    """Of rows (N,) of one label each; of several, (N, C), their micro-F1 at even odds."""
    if targets.ndim == 1:
        return float((logits.argmax(1) == targets).mean())
    answered = logits > 0
    return float(2 * (answered & (targets > 0)).sum() / max(1, answered.sum() + targets.sum(dtype=np.int64)))


Taught = Literal["row", "words", "tags", "next", "translation", "forecast"]


class Baseline(Config):
    """Fitted in one go: no epochs, no seed."""

    added: ClassVar[tuple[str, ...]] = ("lookup",)
    model_defaults: ClassVar[dict[str, Any]] = {}
    """Its settings in a comparison unless the user says otherwise; as in `Architecture`."""
    title: ClassVar[str] = ""
    inputs: ClassVar[Inputs] = "any"
    answers: ClassVar[Taught] = "row"
    """What it is taught and answers: a label per row, words in their order, a tag per token, or what comes next
    (`models.continuing`). Of words, targets are
    (rows, L), `IGNORE` behind the last one, and outputs (N, C + 1) of all steps, the last one for none; of tags, both
    are of all tokens, (N,) and (N, C)."""
    space: ClassVar[Space] = {}
    """What ``compare --tune`` may vary; none: it has nothing to tune."""
    extra: ClassVar[str] = ""
    """The extra of rnnlab that it needs. Such a baseline runs where that is installed and it is fitted soon, or where
    somebody asks for it."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Those of its extra without which it can't be fitted."""

    lookup: bool = Field(
        default=False, description="Rows that stand in the training rows are answered by their labels there."
    )

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        raise NotImplementedError

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int, by: Choice = share_right) -> Learnt:
        """As `fit`; what the settings leave open is chosen on the validation rows. Most leave nothing open."""
        return self.fit(*train, classes)

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        """What was chosen on the validation rows, by the name of the setting."""
        return {}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(rows, C), up to a constant a row; log odds where a row may have several labels."""
        raise NotImplementedError

    def rows(self, data: Sequences, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Values and offsets of these rows, for `fit` and `logits`."""
        if self.inputs != "tokens" or not side.text_columns:
            return data.tokens, data.offsets
        assert side.vocabulary is not None
        return with_column_words(data.tokens, data.offsets, len(side.text_columns), len(side.vocabulary))


BASELINES: Registry[Baseline] = Registry(
    "baseline",
    (
        "rnnlab.models.nbsvm",
        "rnnlab.models.mfcc",
        "rnnlab.models.segments",
        "rnnlab.models.tagging_baselines",
        "rnnlab.models.crf",
        "rnnlab.models.continuing",
        "rnnlab.models.translating",
        "rnnlab.models.forecasting",
        "rnnlab.models.classical_forecasting",
        "rnnlab.models.boosted_forecasting",
    ),
)
B = TypeVar("B", bound=Baseline)


def baseline(name: str) -> Callable[[type[B]], type[B]]:
    """Class decorator: ``@baseline("majority")`` gives a subclass of `Baseline` its name."""
    return BASELINES.register(name)


class Balancing(Baseline):
    """One in whose loss rows of rare classes may count more."""

    added: ClassVar[tuple[str, ...]] = ("class_weights",)

    class_weights: Literal["balanced"] | None = Field(
        default=None,
        description="balanced: rows of rare classes count more, so that all classes count the same in all; none: every "
        "row counts the same. As training.class_weights says, unless set.",
    )

    @field_validator("class_weights", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value == "none" else value  # TOML has no null

    def weights_of(self, targets: np.ndarray, classes: int) -> np.ndarray | None:
        """(rows,) float32: what each row counts; None: all alike."""
        if self.class_weights is None or targets.ndim == 2:
            return None
        return balanced_weights(targets, classes)[targets].astype(np.float32)


@baseline("majority")
class Majority(Baseline):
    """Always the most frequent class of the training rows; of several labels, always the same that are best."""

    title: ClassVar[str] = "majority class"

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        if targets.ndim == 2:
            shares = (targets.sum(0, dtype=np.float64) + 1e-3) / (len(targets) + 2e-3)
            return {"log_share": np.log(shares) - np.log1p(-shares)}  # log odds
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
class TfIdf(Balancing):
    """TF-IDF of 1- and 2-grams with logistic regression: what many would reach for first, and rightly."""

    title: ClassVar[str] = "TF-IDF + logistic regression"
    inputs: ClassVar[Inputs] = "tokens"

    space: ClassVar[Space] = {"model.C": Between(0.25, 64.0, log=True)}

    C: float = Field(default=4.0, gt=0, description="Inverse strength of the L2 penalty.")

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        keys, rows = _grams(values, offsets)
        known = np.unique(keys)
        counts = _count(keys, rows, known, len(offsets) - 1)
        seen = np.bincount(counts.indices, minlength=len(known))
        idf = np.log(len(offsets) / (1 + seen)) + 1  # smoothed: rows + 1 above, rows with the gram + 1 below
        weights = self.weights_of(targets, classes)
        coef, intercept = fit_logistic(_weigh(counts, idf), targets, classes, self.C, weights)
        return {"grams": known, "idf": idf.astype(np.float32), "coef": coef, "intercept": intercept}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        keys, rows = _grams(values, offsets)
        features = _weigh(_count(keys, rows, learnt["grams"], len(offsets) - 1), learnt["idf"])
        return np.asarray(features @ learnt["coef"].T + learnt["intercept"], dtype=np.float32)


@baseline("statistics")
class Statistics(Balancing):
    """Mean, deviation, extremes, first and last value of every channel, and the length, with logistic regression."""

    title: ClassVar[str] = "channel statistics + logistic regression"
    inputs: ClassVar[Inputs] = "features"

    space: ClassVar[Space] = {"model.C": Between(0.01, 100.0, log=True)}

    C: float = Field(default=1.0, gt=0, description="Inverse strength of the L2 penalty.")

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        features = _statistics(values, offsets)
        mean, scale = features.mean(0), np.maximum(features.std(0), 1e-6)
        weights = self.weights_of(targets, classes)
        coef, intercept = fit_logistic((features - mean) / scale, targets, classes, self.C, weights)
        return {"mean": mean, "scale": scale, "coef": coef, "intercept": intercept}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        features = (_statistics(values, offsets) - learnt["mean"]) / learnt["scale"]
        return (features @ learnt["coef"].T + learnt["intercept"]).astype(np.float32)


def _grams(values: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A key for every 1-gram (its id) and 2-gram (both ids in one number), with the row that it stands in."""
    ids = values.astype(np.int64)
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    real = ids != PADDING  # which stands between what a row says and what its columns say
    inside = (row[:-1] == row[1:]) & real[:-1] & real[1:]  # a pair never spans two rows
    pairs = ((ids[:-1] + 1) << 32 | ids[1:])[inside]
    return np.concatenate([ids[real], pairs]), np.concatenate([row[real], row[:-1][inside]])


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
