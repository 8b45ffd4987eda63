"""Two layers side by side, one of which reads every sequence from its end.

    →h_t is computed from x_1 … x_t,  ←h_t from x_L … x_t,  h_t = [→h_t, ←h_t]           L: the length

The backward direction is the same layer on the sequence mirrored *within its length*, mirrored back: it starts at the
last real step and never in the padding. Mirroring only exchanges steps, so a gradient goes back through it mirrored.
Backward: the two halves of ∂L/∂h_t go through their own direction, and both bring a share of ∂L/∂x_t.
"""

import numpy as np

from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers, Layer, below, named
from rnnlab.reference.sequences import mirror


def bidirectional(layer: Layer) -> Layer:
    """States (B, T, 2 H), the backward direction in the second half. Names begin with ``ahead.`` and ``back.``; in
    ``delta["back.h"]``, as in the states, step t is where x_t is."""

    def both(x: Array, lengths: Integers, parameters: Arrays, start: Arrays | None = None) -> tuple[Array, Backward]:
        start = start or {}
        ahead, ahead_backward = layer(x, lengths, below("ahead", parameters), below("ahead", start))
        mirrored = mirror(x, lengths)
        back, back_backward = layer(mirrored, lengths, below("back", parameters), below("back", start))

        def backward(d_states: Array) -> Gradients:
            d_ahead, d_back = np.split(d_states, 2, axis=2)
            from_ahead = ahead_backward(d_ahead)
            from_back = back_backward(mirror(d_back, lengths))
            back_delta = {name: mirror(delta, lengths) for name, delta in from_back.delta.items()}
            return Gradients(
                x=from_ahead.x + mirror(from_back.x, lengths),
                parameters={**named("ahead", from_ahead.parameters), **named("back", from_back.parameters)},
                start={**named("ahead", from_ahead.start), **named("back", from_back.start)},
                delta={**named("ahead", from_ahead.delta), **named("back", back_delta)},
            )

        return np.concatenate([ahead, mirror(back, lengths)], axis=2), backward

    return both
