"""The simple recurrence.

Forward, from h_0, for t = 1 … T:

    a_t = W_xh x_t + W_hh h_{t-1} + b_h
    h_t = f(a_t)                                f = tanh or relu

Backward. h_t reaches the loss L in two ways: directly, as an output of the layer, and through a_{t+1}. So, beginning
at the end, where nothing comes from later,

    ∂L/∂h_t = (∂L/∂h_t, direct) + W_hhᵀ δ_{t+1}                             δ_{T+1} = 0
    δ_t     = ∂L/∂a_t = f'(a_t) ⊙ ∂L/∂h_t        tanh' = 1 - h_t²,  relu' = 1 where h_t > 0, else 0

One W_xh, W_hh and b_h serve every step, so their gradients are sums over the steps:

    ∂L/∂W_xh = Σ_t δ_t x_tᵀ     ∂L/∂W_hh = Σ_t δ_t h_{t-1}ᵀ     ∂L/∂b_h = Σ_t δ_t
    ∂L/∂x_t  = W_xhᵀ δ_t        ∂L/∂h_0  = W_hhᵀ δ_1

Written out, the recursion for δ is the product whose factors shrink or grow: ∂h_t/∂h_{t-1} = diag(f'(a_t)) W_hh, with
the slope at step t, not at t - 1 (docs/mathematics.md).
"""

from typing import Literal

import numpy as np

from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers
from rnnlab.reference.sequences import initial_states, sum_of_products, zero_padding


def rnn(
    x: Array,
    lengths: Integers,
    parameters: Arrays,
    start: Arrays | None = None,
    *,
    activation: Literal["tanh", "relu"] = "tanh",
) -> tuple[Array, Backward]:
    """x (B, T, D), W_xh (H, D), W_hh (H, H), b_h (H,), h_0 (B, H) → states (B, T, H); ``delta`` has h and a."""
    W_xh, W_hh, b_h = (parameters[name] for name in ("W_xh", "W_hh", "b_h"))
    batch, steps, _ = x.shape
    x = zero_padding(x, lengths)
    h = np.empty((batch, steps + 1, len(b_h)))  # h[:, t] is h_t; the t-th input stands at x[:, t - 1]
    (h[:, 0],) = initial_states(start, ("h_0",), batch, len(b_h))
    for t in range(steps):
        a = x[:, t] @ W_xh.T + h[:, t] @ W_hh.T + b_h
        h[:, t + 1] = np.tanh(a) if activation == "tanh" else np.maximum(a, 0)
    before, states = h[:, :-1], h[:, 1:]  # h_{t-1} and h_t, for every step

    def backward(d_states: Array) -> Gradients:
        d_states = zero_padding(d_states, lengths)  # from here on everything at padding is zero
        slope = 1 - states**2 if activation == "tanh" else (states > 0).astype(float)
        d_h, delta = np.empty_like(states), np.empty_like(states)
        from_later = np.zeros_like(states[:, 0])  # W_hhᵀ δ_{t+1}
        for t in reversed(range(steps)):
            d_h[:, t] = d_states[:, t] + from_later
            delta[:, t] = slope[:, t] * d_h[:, t]
            from_later = delta[:, t] @ W_hh
        return Gradients(
            x=delta @ W_xh,
            parameters={
                "W_xh": sum_of_products(delta, x),
                "W_hh": sum_of_products(delta, before),
                "b_h": delta.sum(axis=(0, 1)),
            },
            start={"h_0": from_later},
            delta={"h": d_h, "a": delta},
        )

    return zero_padding(states, lengths), backward
