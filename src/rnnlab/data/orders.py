"""In which order training meets its rows: pure functions of (seed, epoch), so a run can be taken up at any batch."""

import numpy as np

from rnnlab.core.seeding import generator

POOL = 50  # batches sorted by length together: enough to leave little padding, few enough to keep them mixed


def buckets(
    lengths: np.ndarray, batch_size: int, seed: int, epoch: int, batch_tokens: int | None = None
) -> list[np.ndarray]:
    """Row numbers of every batch of an epoch: shuffled, sorted by length within pools, batches shuffled again. With
    ``batch_tokens`` a batch is about so many tokens, instead of ``batch_size`` rows."""
    rng = generator(seed, "shuffle", epoch)
    order = rng.permutation(len(lengths))
    pool = _pool_rows(lengths, batch_size, batch_tokens)
    pools = [order[i : i + pool] for i in range(0, len(order), pool)]
    if lengths.max(initial=0) <= np.iinfo(np.uint16).max:
        lengths = lengths.astype(np.uint16)  # the same order in less time: short numbers are sorted by their digits
    pools = [p[np.argsort(lengths[p], kind="stable")] for p in pools]
    if batch_tokens is None:
        order = np.concatenate(pools)
        batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    else:
        mean = lengths.mean()
        batches = [rows for p in pools for rows in _cut(p, lengths[p], _batches_of(len(p), mean, batch_tokens))]
    return [batches[i] for i in rng.permutation(len(batches))]


def updates_of_an_epoch(lengths: np.ndarray, batch_size: int, batch_tokens: int | None = None) -> int:
    """How many batches `buckets` makes, in every epoch."""
    if batch_tokens is None:
        return -(-len(lengths) // batch_size)
    pool, mean = _pool_rows(lengths, batch_size, batch_tokens), lengths.mean()
    return sum(_batches_of(min(pool, len(lengths) - i), mean, batch_tokens) for i in range(0, len(lengths), pool))


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


def windows(rows: int, batch_size: int, seed: int, epoch: int, most: int | None = None) -> list[np.ndarray]:
    """Row numbers of every batch of an epoch, for rows of one length that may overlap, such as the windows of a series:
    shuffled. At most ``most`` rows, other ones in every epoch, since there may be one per step."""
    order = generator(seed, "shuffle", epoch).permutation(rows)[:most]
    return [order[first : first + batch_size] for first in range(0, len(order), batch_size)]


def streams(length: int, rows: int, steps: int, seed: int, epoch: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """One long text of ``length`` tokens, read by ``rows`` readers at a time, each its own part of it from beginning to
    end, ``steps`` tokens per update: ``(starts (rows,), ends (rows,))`` of every update. Row b of an update goes on
    where row b of the last one ended, so that its state can be carried. Where the parts begin, and so where updates
    cut the text, is drawn anew for every epoch; what lies before the first part is left to other epochs."""
    part = (length - 1) // rows  # of the tokens that have a next one
    if part < 1:
        raise ValueError(f"{length} tokens can't be read by {rows} readers")
    first = int(generator(seed, "shuffle", epoch).integers(0, min(steps, part) if part > 1 else 1))
    part = (length - 1 - first) // rows
    begins = first + part * np.arange(rows)
    return [(begins + at, begins + min(at + steps, part)) for at in range(0, part, steps)]
