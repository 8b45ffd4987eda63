"""From a state a step to one summary a sequence.

    last:  the state at length - 1, after the last real step; of columns that read from the end, at 0
    max:   for every column the largest over the real steps (max over time)

Backward: the gradient goes to the step that was taken, and the other steps get zero.
"""

from collections.abc import Callable

import numpy as np

from rnnlab.reference.layer import Array, Integers
from rnnlab.reference.sequences import inside

PoolBackward = Callable[[Array], Array]
"""∂L/∂summary (B, H) → ∂L/∂states (B, T, H)."""
Pool = Callable[[Array, Integers], tuple[Array, PoolBackward]]
"""(states (B, T, H), lengths (B,)) → (summary (B, H), backward)."""


def last(states: Array, lengths: Integers) -> tuple[Array, PoolBackward]:
    """The state at length - 1, never one at padding."""
    return _take(states, np.broadcast_to(lengths[:, None] - 1, states[:, 0].shape))


def last_of_both(states: Array, lengths: Integers) -> tuple[Array, PoolBackward]:
    """Of `bidirectional` states: each direction's own last one, at length - 1 and at 0."""
    half = states.shape[2] // 2
    ends = np.repeat(lengths[:, None] - 1, half, axis=1)
    return _take(states, np.concatenate([ends, np.zeros_like(ends)], axis=1))


def max_over_time(states: Array, lengths: Integers) -> tuple[Array, PoolBackward]:
    """Over the real steps. Of equal ones the first is taken."""
    real = inside(lengths, states.shape[1])[:, :, None]
    return _take(states, np.where(real, states, -np.inf).argmax(axis=1))


def _take(states: Array, step: Integers) -> tuple[Array, PoolBackward]:
    """``step`` (B, H) says which step each column is taken from."""
    summary = np.take_along_axis(states, step[:, None], axis=1)[:, 0]

    def backward(d_summary: Array) -> Array:
        d_states = np.zeros_like(states)
        np.put_along_axis(d_states, step[:, None], d_summary[:, None], axis=1)
        return d_states

    return summary, backward
