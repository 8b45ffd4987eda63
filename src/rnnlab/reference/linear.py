"""The output layer, and the loss of a classifier.

    y = W_hy h + b_y                              logits
    p = softmax(y),  p_k = e^{y_k} / Σ_j e^{y_j}
    L = mean of -log p_target                     over the places that have a target

Backward. log p_k = y_k - log Σ_j e^{y_j}, and the derivative of the second term by y_k is p_k: so, for one of N places,

    ∂L/∂y = (p - onehot(target)) / N
    ∂L/∂W_hy = Σ ∂L/∂y hᵀ      ∂L/∂b_y = Σ ∂L/∂y      ∂L/∂h = W_hyᵀ ∂L/∂y
"""

from collections.abc import Callable

import numpy as np

from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers

IGNORE = -100  # the target of a place that doesn't count, such as padding


def linear(h: Array, parameters: Arrays) -> tuple[Array, Backward]:
    """h (…, H), W_hy (C, H), b_y (C,) → (…, C)."""
    W_hy, b_y = parameters["W_hy"], parameters["b_y"]

    def backward(d_y: Array) -> Gradients:
        rows, inputs = d_y.reshape(-1, len(b_y)), h.reshape(-1, W_hy.shape[1])
        return Gradients(x=d_y @ W_hy, parameters={"W_hy": rows.T @ inputs, "b_y": rows.sum(axis=0)})

    return h @ W_hy.T + b_y, backward


def softmax_cross_entropy(logits: Array, targets: Integers) -> tuple[float, Callable[[], Array]]:
    """Logits (…, C), targets (…) → the mean loss, and a backward that gives ∂L/∂logits (…, C)."""
    asked = targets != IGNORE
    y = logits - logits.max(axis=-1, keepdims=True)  # softmax doesn't change, and e^y can't overflow
    log_p = y - np.log(np.exp(y).sum(axis=-1, keepdims=True))
    place = np.where(asked, targets, 0)[..., None]
    loss = -np.take_along_axis(log_p, place, axis=-1)[..., 0][asked].mean()

    def backward() -> Array:
        onehot = np.arange(logits.shape[-1]) == place
        return (np.exp(log_p) - onehot) * asked[..., None] / asked.sum()

    return float(loss), backward
