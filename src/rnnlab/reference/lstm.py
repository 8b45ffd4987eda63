"""The LSTM: a cell c_t that is added to, and three gates around it.

Forward, from h_0 and c_0, for t = 1 … T, with a_q = W_xq x_t + W_hq h_{t-1} + b_q for each q of i, f, g, o:

    i = σ(a_i)   f = σ(a_f)   o = σ(a_o)         input, forget and output gate
    g = tanh(a_g)                                the candidate (C̃ in some texts)
    c_t = f ⊙ c_{t-1} + i ⊙ g
    h_t = o ⊙ tanh(c_t)

Backward, from the end. h_t acts directly and through all four a of step t + 1; c_t through h_t and through c_{t+1}:

    ∂L/∂h_t = (∂L/∂h_t, direct) + Σ_q W_hqᵀ δ_q,{t+1}
    ∂L/∂c_t = ∂L/∂h_t ⊙ o_t ⊙ (1 - tanh²(c_t)) + ∂L/∂c_{t+1} ⊙ f_{t+1}

The second term is the additive path: along it a gradient is only multiplied by forget gates. With σ' = σ (1 - σ):

    δ_o = ∂L/∂h_t ⊙ tanh(c_t) ⊙ o (1 - o)
    δ_f = ∂L/∂c_t ⊙ c_{t-1}   ⊙ f (1 - f)
    δ_i = ∂L/∂c_t ⊙ g         ⊙ i (1 - i)
    δ_g = ∂L/∂c_t ⊙ i         ⊙ (1 - g²)

and, as in `rnn`, for each q: ∂L/∂W_xq = Σ_t δ_q x_tᵀ, ∂L/∂W_hq = Σ_t δ_q h_{t-1}ᵀ, ∂L/∂b_q = Σ_t δ_q,
∂L/∂x_t = Σ_q W_xqᵀ δ_q.  At the start: ∂L/∂h_0 = Σ_q W_hqᵀ δ_q,1 and ∂L/∂c_0 = ∂L/∂c_1 ⊙ f_1.
"""

import numpy as np

from rnnlab.reference.gates import affine, sigmoid, sum_of
from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers
from rnnlab.reference.sequences import initial_states, sum_of_products, zero_padding

GATES = "ifgo"


def lstm_step(x_t: Array, h: Array, c: Array, parameters: Arrays) -> tuple[Array, Array, dict[str, Array]]:
    """x_t (B, D), h_{t-1} and c_{t-1} (B, H) → h_t, c_t and the values of i, f, g and o, each (B, H)."""
    gate = {q: affine(q, x_t, h, parameters) for q in GATES}
    gate = {q: np.tanh(a) if q == "g" else sigmoid(a) for q, a in gate.items()}
    c = gate["f"] * c + gate["i"] * gate["g"]
    return gate["o"] * np.tanh(c), c, gate


def lstm(x: Array, lengths: Integers, parameters: Arrays, start: Arrays | None = None) -> tuple[Array, Backward]:
    """x (B, T, D), W_xq (H, D), W_hq (H, H), b_q (H,) for q in i, f, g, o; h_0 and c_0 (B, H) → states (B, T, H).
    ``delta`` has h, c, a_i, a_f, a_g and a_o."""
    hidden = len(parameters["b_i"])
    batch, steps, _ = x.shape
    x = zero_padding(x, lengths)
    h, c = np.empty((2, batch, steps + 1, hidden))  # h[:, t] is h_t; the t-th input stands at x[:, t - 1]
    h[:, 0], c[:, 0] = initial_states(start, ("h_0", "c_0"), batch, hidden)
    gates = []
    for t in range(steps):
        h[:, t + 1], c[:, t + 1], gate = lstm_step(x[:, t], h[:, t], c[:, t], parameters)
        gates.append(gate)
    before, states = h[:, :-1], h[:, 1:]

    def backward(d_states: Array) -> Gradients:
        d_states = zero_padding(d_states, lengths)
        d_h, d_c = np.empty_like(states), np.empty_like(states)
        delta = {q: np.empty_like(states) for q in GATES}
        h_from_later, c_from_later = np.zeros((2, batch, hidden))  # Σ_q W_hqᵀ δ_q and ∂L/∂c ⊙ f, both of step t + 1
        for t in reversed(range(steps)):
            i, f, g, o = (gates[t][q] for q in GATES)
            c_before, tanh_c = c[:, t], np.tanh(c[:, t + 1])
            d_h[:, t] = d_states[:, t] + h_from_later
            d_c[:, t] = d_h[:, t] * o * (1 - tanh_c**2) + c_from_later
            delta["o"][:, t] = d_h[:, t] * tanh_c * o * (1 - o)
            delta["f"][:, t] = d_c[:, t] * c_before * f * (1 - f)
            delta["i"][:, t] = d_c[:, t] * g * i * (1 - i)
            delta["g"][:, t] = d_c[:, t] * i * (1 - g**2)
            h_from_later = sum_of(delta[q][:, t] @ parameters[f"W_h{q}"] for q in GATES)
            c_from_later = d_c[:, t] * f
        return Gradients(
            x=sum_of(delta[q] @ parameters[f"W_x{q}"] for q in GATES),
            parameters={
                **{f"W_x{q}": sum_of_products(delta[q], x) for q in GATES},
                **{f"W_h{q}": sum_of_products(delta[q], before) for q in GATES},
                **{f"b_{q}": delta[q].sum(axis=(0, 1)) for q in GATES},
            },
            start={"h_0": h_from_later, "c_0": c_from_later},
            delta={"h": d_h, "c": d_c, **{f"a_{q}": delta[q] for q in GATES}},
        )

    return zero_padding(states, lengths), backward
