"""What gated layers share, and how weights are drawn.

Every gate g of a gated layer has weights of its own: ``W_xg`` (H, D), ``W_hg`` (H, H) and ``b_g`` (H,).
"""

from collections.abc import Iterable
from functools import reduce
from operator import add

import numpy as np

from rnnlab.reference.layer import Array, Arrays


def sigmoid(a: Array) -> Array:
    """σ(a) = 1 / (1 + e^-a), written so that it can't overflow."""
    return (1 + np.tanh(a / 2)) / 2


def affine(gate: str, x_t: Array, h: Array, parameters: Arrays) -> Array:
    """a_g = W_xg x_t + W_hg h + b_g: (B, D), (B, H) → (B, H)."""
    return x_t @ parameters[f"W_x{gate}"].T + h @ parameters[f"W_h{gate}"].T + parameters[f"b_{gate}"]


def sum_of(terms: Iterable[Array]) -> Array:
    """Of arrays of one shape."""
    return reduce(add, terms)


def draw_gates(generator: np.random.Generator, gates: str, d: int, h: int) -> dict[str, Array]:
    """Weights for a layer with these gates, such as "ifgo" for `lstm`, "rzn" for `gru` and "h" for `rnn`, all uniform
    within ±1/√h. The forget gate's bias is 1, so that the LSTM begins by remembering."""
    bound = h**-0.5
    weights: dict[str, Array] = {}
    for gate in gates:
        weights[f"W_x{gate}"] = generator.uniform(-bound, bound, (h, d))
        weights[f"W_h{gate}"] = generator.uniform(-bound, bound, (h, h))
        weights[f"b_{gate}"] = np.ones(h) if gate == "f" else generator.uniform(-bound, bound, h)
    return weights
