"""Batches of sequences of unequal length, right-padded: where they are real, and how they are read from the end."""

import numpy as np
from numpy.typing import NDArray

from rnnlab.reference.layer import Array, Arrays, Integers


def inside(lengths: Integers, steps: int) -> NDArray[np.bool_]:
    """(B, T): True at real steps, False at padding."""
    return np.arange(steps) < lengths[:, None]


def zero_padding(x: Array, lengths: Integers) -> Array:
    """``x`` (B, T, H) with zeros at padding, whatever stood there: NaN, too."""
    return np.where(inside(lengths, x.shape[1])[:, :, None], x, 0.0)


def mirror(x: Array, lengths: Integers) -> Array:
    """Each sequence of (B, T, H) turned round within its own length; padding stays where it is. Its own inverse, and,
    because it only exchanges steps, its own backward."""
    steps = np.arange(x.shape[1])
    source = np.where(inside(lengths, x.shape[1]), lengths[:, None] - 1 - steps, steps)  # (B, T)
    return np.take_along_axis(x, source[:, :, None], axis=1)


def initial_states(start: Arrays | None, names: tuple[str, ...], batch: int, hidden: int) -> list[Array]:
    """Those of a layer that has states of these names, each (B, H); zeros where ``start`` has none."""
    start = start or {}
    unknown = sorted(set(start) - set(names))
    if unknown:
        raise ValueError(f"no such initial state: {', '.join(unknown)}; this layer has {', '.join(names) or 'none'}")
    return [start[name] if name in start else np.zeros((batch, hidden)) for name in names]


def sum_of_products(delta: Array, v: Array) -> Array:
    """Σ_t δ_t v_tᵀ, over the batch too: (B, T, H), (B, T, D) → (H, D). The gradient of W wherever W v_t is added up."""
    return np.tensordot(delta, v, axes=((0, 1), (0, 1)))
