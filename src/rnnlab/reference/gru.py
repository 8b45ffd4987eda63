"""The GRU, in both published conventions (docs/decisions/0003).

Forward, from h_0, for t = 1 … T, with a_q = W_xq x_t + W_hq h_{t-1} + b_q for q = r, z:

    r = σ(a_r)   z = σ(a_z)                      reset and update gate
    n = tanh(a_n)                                the candidate (h̃ in some texts)
    h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}              z is the share of the old state

and the two conventions differ in the candidate:

    reset after  (PyTorch):       a_n = W_xn x_t + b_n + r ⊙ m        m = W_hn h_{t-1} + b_hn
    reset before (the textbook):  a_n = W_xn x_t + b_n + W_hn s       s = r ⊙ h_{t-1}

Backward, from the end. In every step

    δ_n = ∂L/∂h_t ⊙ (1 - z) ⊙ (1 - n²)
    δ_z = ∂L/∂h_t ⊙ (h_{t-1} - n) ⊙ z (1 - z)
    δ_r = ∂L/∂r ⊙ r (1 - r)

with

    reset after:   ∂L/∂m = δ_n ⊙ r     ∂L/∂r = δ_n ⊙ m           ∂L/∂W_hn = Σ_t ∂L/∂m h_{t-1}ᵀ   ∂L/∂b_hn = Σ_t ∂L/∂m
    reset before:  ∂L/∂s = W_hnᵀ δ_n   ∂L/∂r = ∂L/∂s ⊙ h_{t-1}   ∂L/∂W_hn = Σ_t δ_n sᵀ

h_{t-1} acts through the share that is kept, both gates and the candidate:

    ∂L/∂h_{t-1} = (∂L/∂h_{t-1}, direct) + ∂L/∂h_t ⊙ z + W_hrᵀ δ_r + W_hzᵀ δ_z
                  + W_hnᵀ ∂L/∂m   (reset after)    or    + ∂L/∂s ⊙ r   (reset before)

The other weights are as in `lstm`: ∂L/∂W_xq = Σ_t δ_q x_tᵀ and ∂L/∂b_q = Σ_t δ_q for q = r, z, n;
∂L/∂W_hq = Σ_t δ_q h_{t-1}ᵀ for q = r, z; ∂L/∂x_t = Σ_q W_xqᵀ δ_q.
"""

from typing import Literal

import numpy as np

from rnnlab.reference.gates import affine, draw_gates, sigmoid, sum_of
from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers
from rnnlab.reference.sequences import initial_states, sum_of_products, zero_padding

GATES = "rzn"
Reset = Literal["after", "before"]


def gru_step(x_t: Array, h: Array, parameters: Arrays, reset: Reset = "after") -> tuple[Array, dict[str, Array]]:
    """x_t (B, D), h_{t-1} (B, H) → h_t and the values of r, z, n and m (reset after) or s (before), each (B, H)."""
    W_xn, W_hn, b_n = (parameters[name] for name in ("W_xn", "W_hn", "b_n"))
    r, z = (sigmoid(affine(q, x_t, h, parameters)) for q in "rz")
    if reset == "after":
        m = h @ W_hn.T + parameters["b_hn"]
        n = np.tanh(x_t @ W_xn.T + b_n + r * m)
        return (1 - z) * n + z * h, {"r": r, "z": z, "n": n, "m": m}
    s = r * h
    n = np.tanh(x_t @ W_xn.T + b_n + s @ W_hn.T)
    return (1 - z) * n + z * h, {"r": r, "z": z, "n": n, "s": s}


def gru(
    x: Array, lengths: Integers, parameters: Arrays, start: Arrays | None = None, *, reset: Reset = "after"
) -> tuple[Array, Backward]:
    """x (B, T, D), W_xq (H, D), W_hq (H, H), b_q (H,) for q in r, z, n; reset after: also b_hn (H,); h_0 (B, H) →
    states (B, T, H). ``delta`` has h, a_r, a_z and a_n."""
    W_hr, W_hz, W_hn = (parameters[name] for name in ("W_hr", "W_hz", "W_hn"))
    hidden = len(parameters["b_n"])
    batch, steps, _ = x.shape
    x = zero_padding(x, lengths)
    h = np.empty((batch, steps + 1, hidden))  # h[:, t] is h_t; the t-th input stands at x[:, t - 1]
    (h[:, 0],) = initial_states(start, ("h_0",), batch, hidden)
    values = []
    for t in range(steps):
        h[:, t + 1], value = gru_step(x[:, t], h[:, t], parameters, reset)
        values.append(value)
    before, states = h[:, :-1], h[:, 1:]

    def backward(d_states: Array) -> Gradients:
        d_states = zero_padding(d_states, lengths)
        d_h = np.empty_like(states)
        delta = {q: np.empty_like(states) for q in GATES}
        d_m = np.empty_like(states)  # reset after only
        from_later = np.zeros((batch, hidden))
        for t in reversed(range(steps)):
            value, h_before = values[t], before[:, t]
            r, z, n = (value[q] for q in GATES)
            d_h[:, t] = d_states[:, t] + from_later
            delta_n = delta["n"][:, t] = d_h[:, t] * (1 - z) * (1 - n**2)
            delta_z = delta["z"][:, t] = d_h[:, t] * (h_before - n) * z * (1 - z)
            if reset == "after":
                d_m[:, t] = delta_n * r
                d_r = delta_n * value["m"]
                through_candidate = d_m[:, t] @ W_hn
            else:
                d_s = delta_n @ W_hn
                d_r = d_s * h_before
                through_candidate = d_s * r
            delta_r = delta["r"][:, t] = d_r * r * (1 - r)
            from_later = d_h[:, t] * z + delta_r @ W_hr + delta_z @ W_hz + through_candidate
        if reset == "after":
            candidate = {"W_hn": sum_of_products(d_m, before), "b_hn": d_m.sum(axis=(0, 1))}
        else:
            s = np.stack([value["s"] for value in values], axis=1)
            candidate = {"W_hn": sum_of_products(delta["n"], s)}
        return Gradients(
            x=sum_of(delta[q] @ parameters[f"W_x{q}"] for q in GATES),
            parameters={
                **{f"W_x{q}": sum_of_products(delta[q], x) for q in GATES},
                **{f"W_h{q}": sum_of_products(delta[q], before) for q in "rz"},
                **{f"b_{q}": delta[q].sum(axis=(0, 1)) for q in GATES},
                **candidate,
            },
            start={"h_0": from_later},
            delta={"h": d_h, **{f"a_{q}": delta[q] for q in GATES}},
        )

    return zero_padding(states, lengths), backward


def draw_gru(generator: np.random.Generator, d: int, h: int, reset: Reset = "after") -> dict[str, Array]:
    """Fresh weights, within ±1/√h; reset after has the inner bias b_hn too."""
    weights = draw_gates(generator, GATES, d, h)
    return weights | ({"b_hn": generator.uniform(-(h**-0.5), h**-0.5, h)} if reset == "after" else {})
