"""Rows of one split as flat arrays: no per-row Python objects, and no torch."""

import itertools
from dataclasses import dataclass

import numpy as np

IGNORE = -100  # the target of a step that isn't asked for; torch's losses leave it out
BLOCK = 1 << 18  # values gathered at a time: their positions take more memory than they do


@dataclass(frozen=True)
class Sequences:
    """Rows of one split, laid end to end. Row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: np.ndarray  # (N,) or, several a step, (N, K) int32 token ids; or (N, D) float32 features
    offsets: np.ndarray  # (rows + 1,) int64
    targets: np.ndarray  # (rows,) int64 classes or float32 numbers; or (N,) int64, a class for each step
    groups: np.ndarray  # (rows,) int64: rows with the same number are not independent of each other
    tags: np.ndarray | None = None  # (rows,) int64, numbers into the task's tag names
    per_step: bool = False  # whether the targets are those of steps; IGNORE where a step has none

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> np.ndarray:
        """(N,): of several ids a step the first, which is the token's own; of a series all values, (N, D)."""
        several = self.values.ndim == 2 and self.values.dtype.kind == "i"
        return np.ascontiguousarray(self.values[:, 0]) if several else self.values

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where each row starts, and where the last one ends: (rows + 1,) int64."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def gather_rows(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, max_length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of flat ``values`` (N, …), in the given order, each cut to ``max_length``; with their own offsets."""
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    if max_length is not None:
        lengths = np.minimum(lengths, max_length)
    taken = offsets_of(lengths)
    gathered = np.empty((taken[-1], *values.shape[1:]), values.dtype)
    edges = np.searchsorted(taken, [*range(0, taken[-1], BLOCK), taken[-1]]).tolist()
    for first, last in itertools.pairwise(edges):
        block = slice(int(taken[first]), int(taken[last]))
        at = np.arange(block.start, block.stop)
        at += np.repeat(starts[first:last] - taken[first:last], lengths[first:last])
        gathered[block] = values[at]
    return gathered, taken
