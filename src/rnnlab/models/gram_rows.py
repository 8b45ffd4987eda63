"""Which n-grams the training rows have, and where they stand in others.

The n-grams of each length are a level. A gram of the first level is a token; one of a higher level is the number of the
gram before its last token, at the level below, and that token. So keys need 64 bits whatever n is, two grams never
share one, and since a gram is at most as frequent as its beginning, leaving rare ones out level by level is exact.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rnnlab.data.vocabulary import PADDING
from rnnlab.kernels import ops

if TYPE_CHECKING:  # a network's answer need not wait for scipy
    from scipy import sparse

Levels = list[np.ndarray]
"""Of each level, the keys of its grams, ascending."""


@dataclass(frozen=True, eq=False)
class GramRows:
    """X (rows, features): which grams stand in a row, each with the value 1 / √(how many there are). The features of a
    level follow those of the level below."""

    indices: np.ndarray  # int32, the grams of a row one after the other, level by level
    starts: np.ndarray  # (rows,) int64
    ends: np.ndarray  # (rows, levels) int64, where each level ends
    sizes: tuple[int, ...]  # features up to and with each level

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def features(self) -> int:
        return self.sizes[-1]

    @cached_property
    def scale(self) -> np.ndarray:
        """(rows,), the value of each gram of a row; a row without grams is zero whatever the value."""
        return (1 / np.sqrt(np.maximum(self.ends[:, -1] - self.starts, 1))).astype(np.float32)

    @cached_property
    def _last(self) -> np.ndarray:
        return np.ascontiguousarray(self.ends[:, -1])

    def up_to(self, level: int) -> Self:
        """The same rows, with the grams of the first levels alone."""
        return replace(self, ends=self.ends[:, :level], sizes=self.sizes[:level])

    def product(self, table: np.ndarray) -> np.ndarray:
        """X · table (features, width) → (rows, width)."""
        found = ops.gram_product(self.native, table)
        return self.matrix @ table if found is None else found

    def transposed(self, delta: np.ndarray) -> np.ndarray:
        """Xᵀ · delta (rows, width) → (features, width)."""
        found = ops.gram_transposed(self.native, delta, self.features)
        return self.matrix.T @ delta if found is None else found

    @cached_property
    def native(self) -> ops.GramRows:
        return self.indices, self.starts, self._last, self.scale

    @cached_property
    def matrix(self) -> "sparse.csr_array":
        from scipy import sparse

        counts = self._last - self.starts
        offsets = np.concatenate([[0], np.cumsum(counts)])
        there = np.repeat(self.starts - offsets[:-1], counts) + np.arange(offsets[-1])
        shape: Any = (len(self), self.features)
        return sparse.csr_array((np.repeat(self.scale, counts), self.indices[there], offsets), shape=shape)


def learn_grams(values: np.ndarray, offsets: np.ndarray, longest: int, fewest: int) -> Levels:
    """The 1-grams to ``longest``-grams of rows of ids (N,), offsets (rows + 1,). Of the 2-grams on, those that stand in
    at least ``fewest`` rows: what was seen in a single text hardly says anything of another."""
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    levels: Levels = []
    places: np.ndarray | None = None
    for n in range(1, longest + 1):
        keys = _keys(values, rows, places, n)
        found, counts = ops.count_grams(keys, rows)
        levels.append(np.sort(found[counts >= (fewest if n > 1 else 1)]))
        places = ops.find_grams(levels[-1], keys)
    return levels


def read_grams(levels: Levels, values: np.ndarray, offsets: np.ndarray) -> GramRows:
    """Which of the known grams stand in each row; those that aren't known don't count."""
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    sizes = tuple(np.cumsum([len(level) for level in levels]).tolist())
    places = np.full((len(levels), len(values)), -1, np.int32)
    before: np.ndarray | None = None
    for level, known in enumerate(levels):
        before = ops.find_grams(known, _keys(values, rows, before, level + 1))
        first = sizes[level] - len(known)
        places[level] = np.where(before >= 0, before + first, -1)
    indices, ends = ops.list_grams(places, np.ascontiguousarray(offsets, np.int64), sizes[-1])
    starts = np.concatenate([[0], ends[:-1, -1]]).astype(np.int64)
    return GramRows(indices, starts, ends, sizes)


def spelled_out(levels: Levels) -> list[np.ndarray]:
    """Of each level, the ids of its grams, (grams, n)."""
    found: list[np.ndarray] = []
    for level in levels:
        ids = (level & 0xFFFFFFFF)[:, None]
        found.append(np.hstack([found[-1][(level >> 32) - 1], ids]) if found else ids)
    return found


def _keys(values: np.ndarray, rows: np.ndarray, places: np.ndarray | None, n: int) -> np.ndarray:
    """(N,): the key of the n-gram that ends at each token, -1 where there is none. ``places`` (N,) are those of the
    grams one token shorter."""
    ids = values.astype(np.int64)
    if places is None:
        return np.where(ids == PADDING, -1, ids)  # which is in no gram
    before = places[:-1].astype(np.int64)
    inside = (rows[1:] == rows[:-1]) & (before >= 0) & (ids[1:] != PADDING)  # a gram never spans two rows
    keys = np.full(len(ids), -1, np.int64)
    keys[1:] = np.where(inside, (before + 1) << 32 | ids[1:], -1)
    return keys
