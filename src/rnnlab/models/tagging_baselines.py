"""Taggers that count: the most frequent tag of a word, and a hidden Markov model.

Both know of a word what the training rows say of it, and of an unknown one what they say of rare words that look or end
like it.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences
from rnnlab.models.baselines import Baseline, Choice, Inputs, Labelled, Learnt, Taught, baseline, share_right
from rnnlab.models.tag_features import AFFIX, SEGMENT, SHORT_SHAPE, SUFFIX, WORD, attributes_of

Counts = tuple[np.ndarray, np.ndarray]
"""Keys (K,) int64, ascending, and how often each has each tag, (K, C) float64."""
LITTLE = 1e-3  # of a tag that a word never had: another is always better
RARE = 10  # tokens at most of a word whose ending tells about unknown ones
WORTH = 1.0  # tokens that what is known of a shorter ending counts as, beside a longer one


class Tagger(Baseline):
    """One that reads the attributes of tokens."""

    inputs: ClassVar[Inputs] = "tokens"
    answers: ClassVar[Taught] = "tags"

    def rows(self, data: Sequences, side: Side) -> tuple[np.ndarray, np.ndarray]:
        return attributes_of(data, side), data.offsets


@baseline("frequent-tag")
class FrequentTag(Tagger):
    """Each word has its most frequent tag of the training rows; an unknown one that of the words seen once, among those
    of its shape if they are better on validation."""

    title: ClassVar[str] = "most frequent tag per word"

    by_shape: bool | None = Field(
        default=None,
        description="Whether an unknown word is taken for the words seen once that have its shape; chosen on "
        "validation unless set.",
    )

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        return self._fit(Labelled(values, offsets, targets), classes, bool(self.by_shape))

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int, by: Choice = share_right) -> Learnt:
        ways = [False, True] if self.by_shape is None else [self.by_shape]
        found = [self._fit(train, classes, way) for way in ways]
        right = [self._right(learnt, valid) for learnt in found]
        return found[int(np.argmax(right))]

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        counts = _looked_up((learnt["words"], learnt["counts"]), values[:, WORD])
        unknown = counts.sum(1) == 0
        guess = _looked_up((learnt["shapes"], learnt["shape_counts"]), values[unknown, _shape_column(values)])
        guess[guess.sum(1) == 0] = learnt["once"]
        counts[unknown] = guess
        return np.log(counts + LITTLE * (1 + learnt["share"])).astype(np.float32)  # of equals, the more frequent tag

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {"by_shape": "yes" if len(learnt["shapes"]) else "no"}

    def _right(self, learnt: Learnt, rows: Labelled) -> float:
        return float((self.logits(learnt, rows.values, rows.offsets).argmax(1) == rows.targets).sum())

    def _fit(self, train: Labelled, classes: int, by_shape: bool) -> Learnt:
        words, counts = _count(train.values[:, WORD], train.targets, classes)
        share = np.bincount(train.targets, minlength=classes) / len(train.targets)
        of_word = _looked_up((words, counts), train.values[:, WORD]).sum(1)
        single = of_word == 1
        shapes, shape_counts = _count(train.values[single, _shape_column(train.values)], train.targets[single], classes)
        if not by_shape:
            shapes, shape_counts = shapes[:0], shape_counts[:0]
        once = np.bincount(train.targets[single], minlength=classes) + share
        return {
            "words": words,
            "counts": counts.astype(np.float32),
            "shapes": shapes,
            "shape_counts": shape_counts.astype(np.float32),
            "once": once.astype(np.float32),
            "share": share.astype(np.float32),
        }


@baseline("hmm")
class Hmm(Tagger):
    """A hidden Markov model of pairs of tags; unknown words by their endings and shapes (Brants 2000, TnT)."""

    title: ClassVar[str] = "hidden Markov model"

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        words, counts = _count(values[:, WORD], targets, classes)
        tags = np.bincount(targets, minlength=classes).astype(np.float64)
        of_word = _looked_up((words, counts), values[:, WORD]).sum(1)
        rare = of_word <= RARE
        learnt = {
            "words": words,
            "counts": counts.astype(np.float32),
            "share": (tags / tags.sum()).astype(np.float32),
            "chain": _transitions(targets, offsets, classes),
        }
        own = np.bincount(targets[rare], minlength=classes) + tags / tags.sum()
        learnt["rare"] = (own / own.sum()).astype(np.float32)
        for level, key in enumerate(_endings(values[rare])):
            keys, of_key = _count(key, targets[rare], classes)
            learnt[f"keys_{level}"], learnt[f"counts_{level}"] = keys, of_key.astype(np.float32)
        return learnt

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """log p(word | tag), up to a constant per word: p(tag | word) / p(tag)."""
        counts = _looked_up((learnt["words"], learnt["counts"]), values[:, WORD])
        guess = np.tile(learnt["rare"].astype(np.float64), (len(values), 1))
        for level, key in enumerate(_endings(values)):  # the shortest first
            found = _looked_up((learnt[f"keys_{level}"], learnt[f"counts_{level}"]), key)
            guess = (found + WORTH * guess) / (found.sum(1, keepdims=True) + WORTH)
        shares = (counts + LITTLE * guess) / (counts.sum(1, keepdims=True) + LITTLE)  # of an unknown word, the guess
        return np.log(np.maximum(shares, 1e-12) / np.maximum(learnt["share"], 1e-12)).astype(np.float32)


def _shape_column(values: np.ndarray) -> int:
    return SHORT_SHAPE if values.shape[1] > SEGMENT + 1 else 1  # of characters, their kind


def _endings(values: np.ndarray) -> list[np.ndarray]:
    """What tells of an unknown word, from what is common to many to what is common to few."""
    if values.shape[1] <= SEGMENT + 1:
        return [values[:, 1], values[:, SEGMENT]]
    shape = values[:, SHORT_SHAPE].astype(np.uint64)
    return [values[:, SHORT_SHAPE], *(
        ((values[:, SUFFIX + length].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ shape).astype(np.int64)
        for length in range(1, AFFIX + 1)
    )]  # fmt: skip


def _transitions(targets: np.ndarray, offsets: np.ndarray, classes: int) -> np.ndarray:
    """(C + 2, C) log p(tag | the one before), a mixture of pairs and of single tags (Brants 2000); log p(start), and
    log p(end | tag)."""
    first, last = offsets[:-1], offsets[1:] - 1
    inside = np.ones(len(targets), bool)
    inside[first] = False
    here = np.flatnonzero(inside)
    pairs = np.zeros((classes, classes))
    np.add.at(pairs, (targets[here - 1], targets[here]), 1)
    begin, end = (np.bincount(targets[at], minlength=classes).astype(np.float64) for at in (first, last))
    single = np.bincount(targets, minlength=classes).astype(np.float64)
    without = (single - 1) / max(1, len(targets) - 1)  # each pair is judged by the rows without it
    before = np.maximum(pairs.sum(1, keepdims=True) - 1, 0)
    of_pair = np.divide(pairs - 1, before, out=np.zeros_like(pairs), where=before > 0)
    for_pairs = float(pairs[of_pair >= without].sum())
    weight = (for_pairs + 1) / (pairs.sum() + 2)
    share = (single + LITTLE) / (single + LITTLE).sum()
    follows = weight * pairs / np.maximum(pairs.sum(1, keepdims=True), 1) + (1 - weight) * share
    starts = (begin + share) / (begin + share).sum()
    ends = (end + share) / (single + 1)
    return np.log(np.vstack([follows, starts, ends])).astype(np.float32)


def _count(keys: np.ndarray, targets: np.ndarray, classes: int) -> Counts:
    known, number = np.unique(keys, return_inverse=True)
    counts = np.bincount(number * classes + targets, minlength=len(known) * classes)
    return known, counts.reshape(len(known), classes).astype(np.float64)


def _looked_up(counts: tuple[np.ndarray, np.ndarray], keys: np.ndarray) -> np.ndarray:
    """(N, C) float64; zeros for a key that isn't known."""
    known, table = counts
    if not len(known):
        return np.zeros((len(keys), table.shape[1]))
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where((known[at] == keys)[:, None], table[at].astype(np.float64), 0.0)
