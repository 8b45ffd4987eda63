"""Batches from flat arrays: no per-row Python objects, and as little padding as the order of the rows allows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rnnlab.data.sequences import IGNORE, Sequences

MOST_ROWS = 1024  # of a batch that is filled up with tokens


@dataclass(frozen=True)
class Batch:
    inputs: Tensor  # (B, T) or (B, T, K) int64 token ids, or (B, T, D) float32 features, right-padded with zero
    lengths: Tensor  # (B,) int64, each >= 1
    targets: Tensor  # (B,) int64 classes or float32 numbers; or (B, L) int64, IGNORE at padding

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> "Batch":
        if device.type == "cpu":
            return self
        return Batch(self.inputs.to(device), self.lengths.to(device), self.targets.to(device))


def collate(data: Sequences, rows: np.ndarray) -> Batch:
    """The given rows as one right-padded batch; T is the longest of them."""
    starts = data.starts[rows]
    lengths = data.ends[rows] - starts
    steps = np.arange(lengths.max())
    inside = steps < lengths[:, None]  # (B, T)
    at = np.where(inside, starts[:, None] + steps, 0)
    inputs = data.values[at]
    inputs[~inside] = 0
    if inputs.dtype.kind == "i":
        inputs = inputs.astype(np.int64)
    return Batch(torch.from_numpy(inputs), torch.from_numpy(lengths), torch.from_numpy(_targets(data, rows)))


def _targets(data: Sequences, rows: np.ndarray) -> np.ndarray:
    """(B,), or (B, L) with IGNORE behind the last one of a row and where nothing is counted."""
    truth = data.truth
    if truth.offsets is None:
        return truth.values[rows]
    starts = truth.offsets[rows]
    counts = truth.offsets[rows + 1] - starts
    number = np.arange(counts.max())
    there = number < counts[:, None]
    return np.where(there, truth.values[np.where(there, starts[:, None] + number, 0)], IGNORE)


def evaluation_batches(data: Sequences, max_tokens: int = 16384) -> Iterator[tuple[np.ndarray, Batch]]:
    """Every row once, sorted by length, with the row numbers: as many rows a batch as fit in ``max_tokens``."""
    order = np.argsort(data.lengths, kind="stable")
    for rows in _fill(order, data.lengths[order], max_tokens):
        yield rows, collate(data, rows)


def _fill(rows: np.ndarray, lengths: np.ndarray, max_tokens: int) -> Iterator[np.ndarray]:
    """Cuts rows, whose ``lengths`` ascend, into as few batches as hold ``max_tokens`` each, padding included, or one
    row, or `MOST_ROWS`."""
    start = 0
    while start < len(rows):
        padded = np.arange(1, min(MOST_ROWS, len(rows) - start) + 1) * lengths[start : start + MOST_ROWS]
        end = start + max(1, int(np.searchsorted(padded, max_tokens, side="right")))
        yield rows[start:end]
        start = end
