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

    @classmethod
    def build(cls, train: Sequences, classes: int) -> Self:
        keys, row = np.unique(row_keys(train), return_inverse=True)
        counts = np.zeros((len(keys), classes), np.int32)
        np.add.at(counts, (row, train.targets), 1)
        return cls(keys, counts)

    def answer(self, logits: np.ndarray, data: Sequences) -> np.ndarray:
        """(rows, C) log probabilities where a row stands in the training rows: its labels there, among which the model,
        whose logits (rows, C) weigh as much as one training row, decides a tie. Elsewhere the logits as they are."""
        keys = row_keys(data)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        seen = np.flatnonzero(self.keys[at] == keys)
        wide = logits[seen].astype(np.float64)
        guessed = np.exp(wide - wide.max(1, keepdims=True))
        guessed /= guessed.sum(1, keepdims=True)
        counted = self.counts[at[seen]] + guessed
        answered = np.array(logits, np.float32)
        answered[seen] = np.log(np.maximum(counted / counted.sum(1, keepdims=True), 1e-30))
        return answered

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As they are kept among the weights of a model."""
        return {"lookup.keys": self.keys, "lookup.counts": self.counts}
