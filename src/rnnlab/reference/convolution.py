"""Convolution over windows of steps, as in TextCNN. With `pooling.max_over_time` it is max over time.

Forward, for a window width k, with W_k (F, k, D) and b_k (F,), and zeros beyond the end of a sequence:

    a_i = Σ_{j = 0 … k-1} W_k[:, j] x_{i+j} + b_k          for the window that starts at step i
    c_i = relu(a_i)

Backward. δ_i = ∂L/∂a_i = ∂L/∂c_i where a_i > 0, else 0. Step i + j is in window i with the weights of place j, so

    ∂L/∂W_k[:, j] = Σ_i δ_i x_{i+j}ᵀ      ∂L/∂b_k = Σ_i δ_i      ∂L/∂x_{i+j} gets W_k[:, j]ᵀ δ_i from every i and j

No factor is repeated over time, so nothing shrinks or grows with the distance; but nothing further apart than k meets.
"""

import numpy as np

from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers
from rnnlab.reference.sequences import initial_states, sum_of_products, zero_padding


def convolution(x: Array, lengths: Integers, parameters: Arrays, start: Arrays | None = None) -> tuple[Array, Backward]:
    """x (B, T, D), W_k (F, k, D) and b_k (F,) for every width k → c (B, T, F · widths), by ascending k, 0 at padding.
    Names carry the width: ``W_2``, ``b_2``; ``delta`` has a_2 …."""
    initial_states(start, (), len(x), 0)  # it has none
    widths = sorted(int(name.removeprefix("W_")) for name in parameters if name.startswith("W_"))
    steps = x.shape[1]
    x = zero_padding(x, lengths)
    padded = np.pad(x, ((0, 0), (0, max(widths) - 1), (0, 0)))  # so that every window has all its steps
    answers = {}
    for k in widths:
        W, b = parameters[f"W_{k}"], parameters[f"b_{k}"]
        answers[k] = np.maximum(sum(padded[:, j : j + steps] @ W[:, j].T for j in range(k)) + b, 0)

    def backward(d_states: Array) -> Gradients:
        d_states = zero_padding(d_states, lengths)
        parts = np.split(d_states, len(widths), axis=2)
        d_padded = np.zeros_like(padded)
        of_weights, deltas = {}, {}
        for k, d_c in zip(widths, parts, strict=True):
            W = parameters[f"W_{k}"]
            delta = d_c * (answers[k] > 0)
            for j in range(k):
                d_padded[:, j : j + steps] += delta @ W[:, j]
            windows = [sum_of_products(delta, padded[:, j : j + steps]) for j in range(k)]
            of_weights |= {f"W_{k}": np.stack(windows, axis=1), f"b_{k}": delta.sum(axis=(0, 1))}
            deltas[f"a_{k}"] = delta
        return Gradients(x=zero_padding(d_padded[:, :steps], lengths), parameters=of_weights, delta=deltas)

    return zero_padding(np.concatenate([answers[k] for k in widths], axis=2), lengths), backward
