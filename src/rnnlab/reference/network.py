"""A whole model: embedding → layer → pooling → linear, forwards and back."""

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from rnnlab.reference.embedding import embedding
from rnnlab.reference.layer import Array, Arrays, Integers, Layer, below, named
from rnnlab.reference.linear import linear
from rnnlab.reference.pooling import Pool


class Network(Protocol):
    """(inputs, lengths (B,), parameters) → (logits, backward: ∂L/∂logits → ∂L/∂ every parameter)."""

    def __call__(
        self, inputs: NDArray[Any], lengths: Integers, parameters: Arrays, /
    ) -> tuple[Array, Callable[[Array], dict[str, Array]]]: ...


def network(layer: Layer, pool: Pool | None = None) -> Network:
    """Logits (B, C) for a summary of each sequence, or, without ``pool``, (B, T, C) for each step.

    Parameters begin with ``encoder.`` and ``head.``, and with ``embedding.`` if inputs are ids, (B, T) or (B, T, k);
    then the vectors of k ids at one step lie side by side. Otherwise inputs are features, (B, T, D)."""

    def forward(
        inputs: NDArray[Any], lengths: Integers, parameters: Arrays
    ) -> tuple[Array, Callable[[Array], dict[str, Array]]]:
        x, vectors_backward = inputs, None
        if "embedding.E" in parameters:
            vectors, vectors_backward = embedding(inputs, below("embedding", parameters))
            x = vectors.reshape(*inputs.shape[:2], -1)
        states, layer_backward = layer(x, lengths, below("encoder", parameters))
        summary, pool_backward = pool(states, lengths) if pool else (states, lambda d_states: d_states)
        logits, linear_backward = linear(summary, below("head", parameters))

        def backward(d_logits: Array) -> dict[str, Array]:
            head = linear_backward(d_logits)
            encoder = layer_backward(pool_backward(head.x))
            gradients = named("head", head.parameters) | named("encoder", encoder.parameters)
            if vectors_backward:
                d_vectors = encoder.x.reshape(*inputs.shape, -1)
                gradients |= named("embedding", vectors_backward(d_vectors))
            return gradients

        return logits, backward

    return forward
