"""Weights of `network` in the names and shapes of rnnlab's torch models, as numpy arrays.

Gates are laid on top of each other in torch's order, (G · H, D). Torch has a second bias beside W_hh where the
textbook has one: it gets zeros, but for b_hn, which only the GRU that resets after the product needs.
"""

import numpy as np

from rnnlab.reference.layer import Array, Arrays, below, named

GATES = {"b_h": "h", "b_i": "ifgo", "b_r": "rzn"}
"""By a bias that only the `rnn`, the `lstm` and the `gru` has."""


def torch_weights(parameters: Arrays) -> dict[str, Array]:
    """Of a `network` of one layer, `bidirectional` or not, or `stacked`: the state dict of the torch model that has the
    same settings. A `convolution`'s model has its widths in ascending order."""
    weights = named("encoder", encoder_weights(below("encoder", parameters)))
    head = below("head", parameters)
    weights |= {"head.linear.weight": head["W_hy"], "head.linear.bias": head["b_y"]}
    if "embedding.E" in parameters:
        weights["embedding.table"] = parameters["embedding.E"]
    return weights


def encoder_weights(parameters: Arrays) -> dict[str, Array]:
    """Of what lies between the embedding and the head."""
    widths = sorted(int(name.removeprefix("W_")) for name in parameters if name.removeprefix("W_").isdigit())
    if widths:
        flat = [parameters[f"W_{k}"].reshape(len(parameters[f"W_{k}"]), -1) for k in widths]  # (F, k · D)
        return {
            **{f"convolution.weights.{number}": weight for number, weight in enumerate(flat)},
            "convolution.bias": np.concatenate([parameters[f"b_{k}"] for k in widths]),
        }
    weights: dict[str, Array] = {}
    for place in sorted({name.rpartition(".")[0] for name in parameters}):  # "", "back", "0", "1.ahead" …
        layer = below(place, parameters) if place else parameters
        parts = place.split(".")
        direction = "back" if "back" in parts else "ahead"
        number = parts[0] if parts[0].isdigit() else "0"
        weights |= named(f"{direction}.{number}", cell_weights(layer))
    return weights


def cell_weights(parameters: Arrays) -> dict[str, Array]:
    """Of one layer in one direction; `nn.RNN`, `nn.LSTM` and `nn.GRU` have these names, too."""
    gates = next(gates for bias, gates in GATES.items() if bias in parameters)
    second = {q: np.zeros_like(parameters[f"b_{q}"]) for q in gates}
    if "b_hn" in parameters:
        second["n"] = parameters["b_hn"]
    return {
        "weight_ih_l0": np.concatenate([parameters[f"W_x{q}"] for q in gates]),
        "weight_hh_l0": np.concatenate([parameters[f"W_h{q}"] for q in gates]),
        "bias_ih_l0": np.concatenate([parameters[f"b_{q}"] for q in gates]),
        "bias_hh_l0": np.concatenate([second[q] for q in gates]),
    }
