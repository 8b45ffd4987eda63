"""Rows that stand in the training rows: which they are, and what those say."""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from rnnlab.data.sequences import Sequences


def row_keys(data: Sequences) -> np.ndarray:
    """(rows,) int64, equal for rows of equal tokens (or numbers), and only for those: 64 bits of a hash."""
    values = np.ascontiguousarray(data.tokens)
    ends = (data.offsets * values.itemsize * (values.shape[1] if values.ndim == 2 else 1)).tolist()
    content = values.data.cast("B")
    keys = bytearray()
    for row in range(len(data)):
        keys += hashlib.blake2b(content[ends[row] : ends[row + 1]], digest_size=8).digest()
    return np.frombuffer(bytes(keys), np.dtype("<i8")).astype(np.int64)


def seen_rows(data: Sequences, train: Sequences) -> np.ndarray:
    """(rows,) bool: whether a row stands in the training rows."""
    return np.isin(row_keys(data), row_keys(train))


@dataclass(frozen=True, eq=False)
class Lookup:
    """The labels of the training rows, by their content."""

    keys: np.ndarray  # (R,) int64, ascending
    counts: np.ndarray  # (R, C) int32: training rows of each label
    rows: np.ndarray | None = None  # (R,) int32: all of them, where a row may have several labels or none

    @classmethod
    def build(cls, train: Sequences, classes: int) -> Self:
        keys, row = np.unique(row_keys(train), return_inverse=True)
        counts = np.zeros((len(keys), classes), np.int32)
        if train.targets.ndim == 2:
            np.add.at(counts, row, train.targets)
            return cls(keys, counts, np.bincount(row).astype(np.int32))
        np.add.at(counts, (row, train.targets), 1)
        return cls(keys, counts)

    def answer(self, logits: np.ndarray, data: Sequences) -> np.ndarray:
        """(rows, C) log probabilities where a row stands in the training rows: its labels there, among which the model,
        whose logits (rows, C) weigh as much as one training row, decides a tie. Elsewhere the logits as they are."""
        keys = row_keys(data)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        seen = np.flatnonzero(self.keys[at] == keys)
        answered = np.array(logits, np.float32)
        wide = logits[seen].astype(np.float64)
        if self.rows is not None:  # log odds of each label
            share = (self.counts[at[seen]] + 1 / (1 + np.exp(-wide))) / (self.rows[at[seen]] + 1)[:, None]
            answered[seen] = np.log(np.maximum(share, 1e-12)) - np.log(np.maximum(1 - share, 1e-12))
            return answered
        guessed = np.exp(wide - wide.max(1, keepdims=True))
        guessed /= guessed.sum(1, keepdims=True)
        counted = self.counts[at[seen]] + guessed
        answered[seen] = np.log(np.maximum(counted / counted.sum(1, keepdims=True), 1e-30))
        return answered

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As they are kept among the weights of a model."""
        arrays = {"lookup.keys": self.keys, "lookup.counts": self.counts}
        return arrays if self.rows is None else {**arrays, "lookup.rows": self.rows}
