"""Length-bucketed batches from flat arrays: no per-row Python objects, hardly any padding, resumable anywhere."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.seeding import generator

POOL = 50  # batches sorted by length together: enough to leave little padding, few enough to keep them mixed


@dataclass(frozen=True)
class Batch:
    inputs: Tensor  # (B, T) or (B, T, K) int64 token ids, or (B, T, D) float32 features, right-padded with zero
    lengths: Tensor  # (B,) int64, each >= 1
    targets: Tensor  # (B,) int64 classes or float32 numbers; or (B, T) int64, IGNORE at padding

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> "Batch":
        if device.type == "cpu":
            return self
        return Batch(self.inputs.to(device), self.lengths.to(device), self.targets.to(device))


def collate(data: Sequences, rows: np.ndarray) -> Batch:
    """The given rows as one right-padded batch; T is the longest of them."""
    starts = data.offsets[rows]
    lengths = data.offsets[rows + 1] - starts
    steps = np.arange(lengths.max())
    inside = steps < lengths[:, None]  # (B, T)
    at = np.where(inside, starts[:, None] + steps, 0)
    inputs = data.values[at]
    inputs[~inside] = 0
    if inputs.dtype.kind == "i":
        inputs = inputs.astype(np.int64)
    targets = np.where(inside, data.targets[at], IGNORE) if data.per_step else data.targets[rows]
    return Batch(torch.from_numpy(inputs), torch.from_numpy(lengths), torch.from_numpy(targets))


def training_order(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Row numbers of every batch of an epoch: shuffled, sorted by length within pools, batches shuffled again.
    A function of its arguments alone, so a run can be taken up again at any batch."""
    rng = generator(seed, "shuffle", epoch)
    order = rng.permutation(len(lengths))
    pool = batch_size * POOL
    pools = [order[i : i + pool] for i in range(0, len(order), pool)]
    order = np.concatenate([p[np.argsort(lengths[p], kind="stable")] for p in pools])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def evaluation_batches(data: Sequences, max_tokens: int = 16384) -> Iterator[tuple[np.ndarray, Batch]]:
    """Every row once, sorted by length, with the row numbers: as many rows a batch as fit in ``max_tokens``."""
    order = np.argsort(data.lengths, kind="stable")
    lengths = data.lengths[order]
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[end] <= max_tokens and end - start < 1024:
            end += 1
        yield order[start:end], collate(data, order[start:end])
        start = end
