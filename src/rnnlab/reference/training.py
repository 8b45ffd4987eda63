"""A tiny trainer: SGD, Adam, clipping by norm, and one visible loop."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlab.reference.layer import Array, Arrays, Integers
from rnnlab.reference.linear import IGNORE, softmax_cross_entropy
from rnnlab.reference.network import Network

Update = Callable[[dict[str, Array], Arrays], None]
"""(parameters, gradients): one step, in place."""


@dataclass(frozen=True)
class Batch:
    inputs: NDArray[Any]  # (B, T), (B, T, k) ids or (B, T, D) features, right-padded
    lengths: Integers  # (B,), each >= 1
    targets: Integers  # (B,) or (B, T); IGNORE where padded


def sgd(rate: float) -> Update:
    """θ ← θ - rate · ∂L/∂θ."""

    def update(parameters: dict[str, Array], gradients: Arrays) -> None:
        for name, gradient in gradients.items():
            parameters[name] -= rate * gradient

    return update


def adam(rate: float, decay: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8) -> Update:
    """With g = ∂L/∂θ and running means m of g and v of g², both corrected for having begun at zero:
    θ ← θ - rate · m / (√v + ε)."""
    m: dict[str, Array] = {}
    v: dict[str, Array] = {}
    steps = 0

    def update(parameters: dict[str, Array], gradients: Arrays) -> None:
        nonlocal steps
        steps += 1
        for name, g in gradients.items():
            m[name] = decay[0] * m.get(name, 0.0) + (1 - decay[0]) * g
            v[name] = decay[1] * v.get(name, 0.0) + (1 - decay[1]) * g**2
            m_hat = m[name] / (1 - decay[0] ** steps)
            v_hat = v[name] / (1 - decay[1] ** steps)
            parameters[name] -= rate * m_hat / (np.sqrt(v_hat) + epsilon)

    return update


def norm(gradients: Arrays) -> float:
    """Of all gradients together, as one long vector."""
    return float(np.sqrt(sum(np.sum(gradient**2) for gradient in gradients.values())))


def clip(gradients: Arrays, limit: float) -> dict[str, Array]:
    """All scaled by one factor so that their norm is at most ``limit``: shorter, and in the same direction."""
    factor = min(1.0, limit / max(norm(gradients), 1e-300))
    return {name: factor * gradient for name, gradient in gradients.items()}


def fit(
    network: Network, parameters: dict[str, Array], batches: Iterable[Batch], update: Update, limit: float = np.inf
) -> Iterator[float]:
    """Change ``parameters`` in place, one update a batch, and yield the loss before each. ``limit`` is the norm that
    gradients are clipped to."""
    for batch in batches:
        logits, backward = network(batch.inputs, batch.lengths, parameters)
        loss, loss_backward = softmax_cross_entropy(logits, batch.targets)
        gradients = backward(loss_backward())
        update(parameters, clip(gradients, limit))
        yield loss


def accuracy(network: Network, parameters: Arrays, batch: Batch) -> tuple[float, float]:
    """The share of right answers, and the share of sequences in which every answer is right."""
    logits, _ = network(batch.inputs, batch.lengths, parameters)
    asked = batch.targets != IGNORE
    right = logits.argmax(axis=-1) == batch.targets
    whole = (right | ~asked).reshape(len(right), -1).all(axis=1)
    return float(right[asked].mean()), float(whole.mean())
