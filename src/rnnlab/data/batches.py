"""Batches from flat arrays: no per-row Python objects, and as little padding as the order of the rows allows."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rnnlab.core.seeding import generator
from rnnlab.data.sequences import IGNORE, Sequences

MOST_ROWS = 1024  # of a batch that is filled up with tokens
POOL = 50  # batches sorted by length together: enough to leave little padding, few enough to keep them mixed


@dataclass(frozen=True)
class Batch:
    inputs: Tensor  # (B, T) or (B, T, K) int64 token ids, or (B, T, D) float32 features, right-padded with zero
    lengths: Tensor  # (B,) int64, each >= 1
    targets: (
        Tensor  # (B,) int64 classes or float32 numbers; (B, L) int64, IGNORE at padding; (B, C) uint8; or (B, H, C)
    )
    read: Tensor | None = None  # (B, L) int64, where a text is written: what is read in place of the true tokens before
    scales: Tensor | None = None  # (B, 3, C) float32, of windows of series: as `Sequences.scales`
    known: Tensor | None = None  # (B, H, F) float32, of windows: what is known of the steps ahead (the calendar)

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> "Batch":
        if device.type == "cpu":
            return self
        further = (None if part is None else part.to(device) for part in (self.read, self.scales, self.known))
        return Batch(self.inputs.to(device), self.lengths.to(device), self.targets.to(device), *further)


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
    scales = None if data.scales is None else torch.from_numpy(data.scales_of(rows))
    targets = data.ahead(rows) if data.horizon is not None else targets_of(data, rows)
    known = None
    if data.known_from is not None:
        known = torch.from_numpy(data.values[data.steps_ahead(rows)][:, :, data.known_from :])
    return Batch(torch.from_numpy(inputs), torch.from_numpy(lengths), torch.from_numpy(targets), None, scales, known)


def targets_of(data: Sequences, rows: np.ndarray) -> np.ndarray:
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


# In which order training meets its rows: pure functions of (seed, epoch), so a run can be taken up at any batch


def buckets(
    lengths: np.ndarray,
    batch_size: int,
    seed: int,
    epoch: int,
    batch_tokens: int | None = None,
    most: int | None = None,
) -> list[np.ndarray]:
    """Row numbers of every batch of an epoch: shuffled, sorted by length within pools, batches shuffled again. With
    ``batch_tokens`` a batch is about so many tokens, instead of ``batch_size`` rows. An epoch has at most ``most``
    rows, other ones each time: of windows that overlap there may be one per step."""
    rng = generator(seed, "shuffle", epoch)
    order = rng.permutation(len(lengths))[:most]
    pool = _pool_rows(lengths, batch_size, batch_tokens)
    pools = [order[i : i + pool] for i in range(0, len(order), pool)]
    if lengths.dtype.kind == "i" and lengths.max(initial=0) <= np.iinfo(np.uint16).max:
        lengths = lengths.astype(np.uint16)  # the same order in less time: short numbers are sorted by their digits
    pools = [p[np.argsort(lengths[p], kind="stable")] for p in pools]
    if batch_tokens is None:
        order = np.concatenate(pools)
        batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    else:
        mean = lengths.mean()
        batches = [rows for p in pools for rows in _cut(p, lengths[p], _batches_of(len(p), mean, batch_tokens))]
    return [batches[i] for i in rng.permutation(len(batches))]


def updates_of_an_epoch(
    lengths: np.ndarray, batch_size: int, batch_tokens: int | None = None, most: int | None = None
) -> int:
    """How many batches `buckets` makes, in every epoch."""
    rows = len(lengths) if most is None else min(most, len(lengths))
    if batch_tokens is None:
        return -(-rows // batch_size)
    pool, mean = _pool_rows(lengths, batch_size, batch_tokens), lengths.mean()
    return sum(_batches_of(min(pool, rows - i), mean, batch_tokens) for i in range(0, rows, pool))


def _pool_rows(lengths: np.ndarray, batch_size: int, batch_tokens: int | None) -> int:
    return POOL * (batch_size if batch_tokens is None else max(1, round(batch_tokens / lengths.mean())))


def _batches_of(rows: int, mean_length: float, batch_tokens: int) -> int:
    return min(rows, max(1, round(rows * mean_length / batch_tokens)))


def _cut(rows: np.ndarray, lengths: np.ndarray, count: int) -> list[np.ndarray]:
    """So many batches, none of them empty, of about as many tokens each."""
    tokens = np.cumsum(lengths, dtype=np.int64)
    number = np.arange(1, count)
    ends = np.searchsorted(tokens, tokens[-1] * number / count)
    ends = np.maximum.accumulate(np.maximum(ends, 1) - number) + number  # each a row further than the one before
    return np.split(rows, np.minimum(ends, len(rows) - count + number))


def streams(length: int, rows: int, steps: int, seed: int, epoch: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """One long text of ``length`` tokens, read by ``rows`` readers at a time, each its own part of it from beginning to
    end, up to ``steps`` tokens per update: ``(starts (rows,), ends (rows,))`` of every update. Row b of an update goes
    on where row b of the last one ended, so that its state can be carried. Where the parts begin, and so where updates
    cut the text, is drawn anew for every epoch; what lies before the first part is left to other epochs. Every epoch
    has as many updates, of nearly the same size."""
    if length < rows:
        raise ValueError(f"{length} tokens can't be read by {rows} readers")
    room = min(steps, length // rows, length - rows + 1)  # for the beginning
    part = (length - room + 1) // rows
    begins = int(generator(seed, "shuffle", epoch).integers(room)) + part * np.arange(rows)
    cuts = np.linspace(0, part, -(-part // steps) + 1).astype(np.int64)
    return [(begins + start, begins + end) for start, end in itertools.pairwise(cuts.tolist())]
