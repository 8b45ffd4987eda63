"""Layers on top of each other: the states of one are the input of the next.

Backward: ∂L/∂x of a layer is the direct part of ∂L/∂h_t of the layer below it.
"""

from rnnlab.reference.layer import Array, Arrays, Backward, Gradients, Integers, Layer, below, named


def stacked(*layers: Layer) -> Layer:
    """The states of the last layer. Names begin with the number of their layer: ``0.W_xh``, ``1.ahead.h_0``."""

    def all_layers(
        x: Array, lengths: Integers, parameters: Arrays, start: Arrays | None = None
    ) -> tuple[Array, Backward]:
        backwards = []
        for number, layer in enumerate(layers):
            x, one_backward = layer(x, lengths, below(f"{number}", parameters), below(f"{number}", start or {}))
            backwards.append(one_backward)

        def backward(d_states: Array) -> Gradients:
            parameters, start, delta = {}, {}, {}
            for number, one_backward in reversed(list(enumerate(backwards))):
                gradients = one_backward(d_states)
                parameters |= named(f"{number}", gradients.parameters)
                start |= named(f"{number}", gradients.start)
                delta |= named(f"{number}", gradients.delta)
                d_states = gradients.x
            return Gradients(d_states, parameters, start, delta)

        return x, backward

    return all_layers
