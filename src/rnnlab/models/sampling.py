"""The next token, drawn from what a model says: temperature, top-k, top-p.

A draw depends on the row's own logits and on one uniform number, and that on (seed, row, step) alone: neither on the
other rows of a batch, nor on how many there are.
"""

import numpy as np

from rnnlab.core.seeding import stream_seed
from rnnlab.kernels import ops

FEW = 128  # the most likely tokens, which mostly are all that top-p keeps: sorting all takes longer


def uniforms(seed: int, rows: np.ndarray, step: int) -> np.ndarray:
    """(B,) float64 in [0, 1): the number of each of the rows (B,) at a step, from the stream "sampling"."""
    return counted_uniforms(stream_seed(seed, "sampling"), rows, np.array([step]))[:, 0]


def counted_uniforms(key: int, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(B, T) float64 in [0, 1): the number of each of the rows (B,) at each of the steps (T,).

    It is made by counting, not by going on from the last one: the key is mixed with the row, and that with the step,
    each time by the finaliser of splitmix64 (Steele, Lea & Flood 2014).
    """
    of_rows = _mixed(np.uint64(key) + _GOLDEN * (rows.astype(np.uint64) + np.uint64(1)))
    of_steps = _GOLDEN * (steps.astype(np.uint64) + np.uint64(1))
    return (_mixed(of_rows[:, None] + of_steps) >> np.uint64(11)) * 2.0**-53


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(x: np.ndarray) -> np.ndarray:
    """(B,) uint64: every bit depends on every bit, and different numbers stay different."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def choose(
    logits: np.ndarray, temperature: float, top_k: int | None, top_p: float, uniform: np.ndarray,
    forbidden: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """(B,) int64: a token for each row of logits (B, V), of which -inf are never chosen, nor are ``forbidden`` ids.

    Logits are divided by the temperature; 0 takes the highest, of equals that with the lowest id. Then the ``top_k``
    most likely ones are kept (None: all), and of these the fewest whose share is ``top_p`` or more: the one that
    crosses it is kept. Of equals, those with lower ids come first. What is kept is drawn from as its shares say, in the
    order of ids: the token whose part of [0, 1) has the row's uniform number.
    """
    _check(temperature, top_k, top_p)
    if forbidden is not None and len(forbidden):
        logits = logits.copy()
        logits[:, forbidden] = -np.inf
    highest = logits.max(axis=1, keepdims=True)
    if not np.isfinite(highest).all():
        row = int(np.flatnonzero(~np.isfinite(highest[:, 0]))[0])
        raise ValueError(f"row {row}: the highest logit is {highest[row, 0]}; one must be allowed, and all be numbers")
    divisor = logits.dtype.type(temperature)
    if divisor == 0:
        return logits.argmax(axis=1)
    with np.errstate(over="ignore", under="ignore"):  # what is far below the highest one has a share of 0
        shares = np.exp((logits - highest) / divisor)
    found = ops.draw_tokens(shares, top_k, top_p, uniform)
    if found is not None:
        return found
    if top_k is None and top_p == 1:
        return _draw(shares, uniform)
    return _draw_most_likely(shares, top_k, top_p, uniform)


def _check(temperature: float, top_k: int | None, top_p: float) -> None:
    if not 0 <= temperature < np.inf:
        raise ValueError(f"temperature must be a number from 0 on, and is {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, and is {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, and is {top_p}")


def _draw(shares: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """(B,) int64: the place in each row of shares (B, V), which need not sum to 1."""
    sums = np.cumsum(shares, axis=1, dtype=np.float64)
    return (sums <= uniform[:, None] * sums[:, -1:]).sum(axis=1)


def _draw_most_likely(shares: np.ndarray, top_k: int | None, top_p: float, uniform: np.ndarray) -> np.ndarray:
    """Few tokens are tried first where top-p decides; the rows for which they aren't enough go on with all."""
    size = shares.shape[1]
    found, rows = np.empty(len(shares), np.int64), np.arange(len(shares))
    for count in [min(FEW, size), size] if top_k is None else [min(top_k, size)]:
        of_rows = shares[rows]
        first = _most_likely(of_rows, count)
        kept = np.take_along_axis(of_rows, first, axis=1)
        sums = np.cumsum(kept, axis=1, dtype=np.float64)
        wanted = top_p * (of_rows.sum(axis=1, dtype=np.float64) if top_k is None else sums[:, -1])
        if top_p < 1:
            kept[:, 1:][sums[:, :-1] >= wanted[:, None]] = 0
        done = (sums[:, -1] >= wanted) | (count == size) | (top_k is not None)
        by_id = np.argsort(first, axis=1)
        places = _draw(np.take_along_axis(kept, by_id, axis=1)[done], uniform[rows[done]])
        found[rows[done]] = np.take_along_axis(first, by_id, axis=1)[done][np.arange(len(places)), places]
        rows = rows[~done]
    return found


def _most_likely(shares: np.ndarray, count: int) -> np.ndarray:
    """(B, count) int64: the ids of the largest shares, which descend; of equals, the lower id comes first."""
    if count == shares.shape[1]:
        return np.argsort(-shares, axis=1, kind="stable")
    found = np.sort(np.argpartition(shares, -count, axis=1)[:, -count:], axis=1)
    own = np.take_along_axis(shares, found, axis=1)
    least = own.min(axis=1, keepdims=True)  # which one of those that are equal to it was found, is chance
    tied = ((shares == least).sum(axis=1) > (own == least).sum(axis=1)) & (least[:, 0] > 0)
    for row in np.flatnonzero(tied):
        found[row] = np.sort(np.argsort(-shares[row], kind="stable")[:count])
    own = np.take_along_axis(shares, found, axis=1)
    return np.take_along_axis(found, np.argsort(-own, axis=1, kind="stable"), axis=1)
