"""The judge: a derivative measured by moving every number a little, against one that was derived.

    ∂L/∂θ ≈ (L(θ + ε) - L(θ - ε)) / 2ε            central differences: the error falls with ε²

With ε = 1e-5 and float64, what is left over is of the order of ε² = 1e-10 from the formula and 1e-16 / ε = 1e-11 from
rounding, so right derivatives agree far within the tolerance of 1e-6. At a kink (relu at 0, two equal numbers under a
max) there is no derivative and nothing to compare.
"""

from collections.abc import Callable

import numpy as np

from rnnlab.reference.layer import Array, Arrays

STEP = 1e-5
TOLERANCE = 1e-6


def central_difference(loss: Callable[[Array], float], at: Array, step: float = STEP) -> Array:
    """∂loss/∂``at``, in the shape of ``at``."""
    derivative = np.empty_like(at)
    moved = at.copy()
    for place in np.ndindex(*at.shape):
        size = step * max(1.0, abs(at[place]))
        moved[place] = at[place] + size
        above = loss(moved)
        moved[place] = at[place] - size
        derivative[place] = (above - loss(moved)) / (2 * size)
        moved[place] = at[place]
    return derivative


def central_differences(loss: Callable[[Arrays], float], arrays: Arrays, step: float = STEP) -> dict[str, Array]:
    """Of a loss that depends on several arrays: by each of them."""
    return {
        name: central_difference(lambda moved, name=name: loss({**arrays, name: moved}), array, step)
        for name, array in arrays.items()
    }


def relative_error(one: Array, other: Array) -> float:
    """The largest difference, relative to the largest number in either array; absolute for numbers below 1."""
    if one.shape != other.shape:
        return np.inf
    scale = max(1.0, np.abs(one).max(initial=0), np.abs(other).max(initial=0))
    return float(np.abs(one - other).max(initial=0) / scale)


def disagreements(derived: Arrays, measured: Arrays, tolerance: float = TOLERANCE) -> dict[str, float]:
    """Names of arrays that differ, and by how much; empty if the derivation is right."""
    errors = {name: relative_error(derived[name], measured[name]) for name in measured if name in derived}
    missing = dict.fromkeys(set(measured) ^ set(derived), np.inf)
    return {name: error for name, error in {**errors, **missing}.items() if not error <= tolerance}  # NaN is not
