"""N-grams of tokens as further inputs: at each step, the number of the n-gram that ends there.

An n-gram is known by a key of 64 bits, made of its token ids. Those that the training rows hold at least `SEEN` times
have a number; every other one has none, and its input is that of padding, a vector of zeros: it says nothing, rather
than something that was learnt of another.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

SEEN = 2  # times in the training rows: what stood there once is mostly learnt by heart
SIZES = range(2, 6)
_FACTOR, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class Ngrams:
    """The n-grams that have a number: that of ``keys[i]`` is i."""

    sizes: tuple[int, ...]  # in tokens
    packed: bytes  # the keys, little-endian, ascending

    @classmethod
    def build(cls, ids: np.ndarray, offsets: np.ndarray, sizes: Sequence[int], most: int, learnt: int) -> Self:
        """Of the training rows: ``ids`` (N,) below ``learnt``. At most so many, the most frequent ones."""
        found = [keys[whole] for keys, whole in (_keys(ids, offsets, n, learnt) for n in sizes)]
        keys, counts = np.unique(np.concatenate(found), return_counts=True)
        keys, counts = keys[counts >= SEEN], counts[counts >= SEEN]
        keys = keys[np.lexsort((keys, -counts))[:most]]
        return cls(tuple(sizes), np.sort(keys).astype("<u8").tobytes())

    def __len__(self) -> int:
        return len(self.packed) // 8

    @cached_property
    def keys(self) -> np.ndarray:
        """(n-grams,) uint64."""
        return np.frombuffer(self.packed, "<u8")

    def numbers(self, ids: np.ndarray, offsets: np.ndarray, learnt: int) -> np.ndarray:
        """(N, sizes) int64: the number of the n-gram of each size that ends at each token, within its own row; -1 where
        there is none, or none that has a number. Ids from ``learnt`` on are of no n-gram of the training rows."""
        found = np.full((len(ids), len(self.sizes)), -1, np.int64)
        if not len(self):
            return found
        for column, n in enumerate(self.sizes):
            keys, whole = _keys(ids, offsets, n, learnt)
            at = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
            found[:, column] = np.where(whole & (self.keys[at] == keys), at, -1)
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"sizes": list(self.sizes), "keys": base64.b64encode(self.packed).decode()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        sizes, packed = tuple(values["sizes"]), base64.b64decode(values["keys"], validate=True)
        if not sizes or not all(type(n) is int and n in SIZES for n in sizes) or len(packed) % 8:
            raise ValueError("n-grams have sizes from 2 to 5 and keys of 8 bytes")
        found = cls(sizes, packed)
        if np.any(found.keys[1:] <= found.keys[:-1]):
            raise ValueError("the keys of n-grams must ascend")
        return found


def _keys(ids: np.ndarray, offsets: np.ndarray, n: int, learnt: int) -> tuple[np.ndarray, np.ndarray]:
    """(N,) uint64: a key for the n tokens that end at each token; and whether they stand in one row and are all words
    of the training rows, (N,) bool."""
    is_word = (ids > 1) & (ids < learnt)  # neither padding nor unknown
    whole = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets)) >= n - 1
    keys = np.full(len(ids), n, np.uint64)
    for back in range(n - 1, -1, -1):
        earlier = np.roll(ids, back)
        whole &= np.roll(is_word, back)
        keys = (keys ^ earlier.astype(np.uint64)) * _FACTOR  # wraps around at 64 bits
        keys = (keys ^ (keys >> np.uint64(29))) * _MIX
    return keys, whole
