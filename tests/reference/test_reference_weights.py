"""Weights of the reference, loaded into rnnlab's torch models and torch's own layers, give the same answers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from test_reference_triangle import MODULES, make_layer, make_parameters
from torch import nn

from rnnlab.answers.heads import SummaryHead
from rnnlab.models.base import Architecture
from rnnlab.models.convolution import TextCNN
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import build_network
from rnnlab.models.recurrent import GRU, LSTM, RNN
from rnnlab.reference.layer import Array, Arrays, named
from rnnlab.reference.network import network
from rnnlab.reference.pooling import last, last_of_both, max_over_time
from rnnlab.reference.weights import cell_weights, torch_weights

LENGTHS = np.array([5, 1, 3, 4])
D, H, CLASSES, WORDS = 3, 4, 3, 9
EXACT = 1e-10

RECURRENT: dict[str, Callable[..., Architecture]] = {
    "tanh": RNN,
    "relu": partial(RNN, activation="relu"),
    "lstm": LSTM,
    "gru": GRU,
    "gru-before": partial(GRU, reset="before"),
}


def torch_logits(architecture: Architecture, parameters: Arrays, inputs: NDArray[Any], tokens: bool) -> Array:
    """Of a model that has no weights but these: loading is strict about names and shapes."""
    model = build_network(
        architecture,
        words=WORDS if tokens else None,
        features=None if tokens else inputs.shape[2],
        pretrained=None,
        head=lambda width: SummaryHead(width, CLASSES),
    ).double()
    model.load_state_dict({name: torch.tensor(value) for name, value in torch_weights(parameters).items()})
    with torch.no_grad():
        return model.eval()(torch.tensor(inputs), torch.tensor(LENGTHS)).numpy()


def draw_head(generator: np.random.Generator, width: int) -> dict[str, Array]:
    return {"head.W_hy": generator.normal(size=(CLASSES, width)), "head.b_y": generator.normal(size=CLASSES)}


@pytest.mark.parametrize("kind", RECURRENT)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tokens", [False, True])
def test_recurrent_models_give_the_same_logits(kind, bidirectional, layers, tokens):
    generator = np.random.default_rng(1)
    name = " ".join(["2"] * (layers - 1) + ["both"] * bidirectional + [kind])
    parameters = named("encoder", make_parameters(name, generator, D, H))
    parameters |= draw_head(generator, 2 * H if bidirectional else H)
    inputs = generator.normal(size=(4, 5, D))
    embedding = None
    if tokens:
        inputs = generator.integers(0, WORDS, (4, 5))
        parameters["embedding.E"] = generator.normal(size=(WORDS, D))
        embedding = Embedding(width=D)
    ours, _ = network(make_layer(name, MODULES), last_of_both if bidirectional else last)(inputs, LENGTHS, parameters)
    settings = {"hidden": H, "layers": layers, "bidirectional": bidirectional, "pooling": "last"}
    model = RECURRENT[kind](**settings, embedding=embedding)
    np.testing.assert_allclose(torch_logits(model, parameters, inputs, tokens), ours, rtol=0, atol=EXACT)


def test_textcnn_gives_the_same_logits():
    generator = np.random.default_rng(2)
    parameters = named("encoder", make_parameters("convolution", generator, D, H)) | draw_head(generator, 2 * H)
    inputs = generator.normal(size=(4, 5, D))
    ours, _ = network(make_layer("convolution", MODULES), max_over_time)(inputs, LENGTHS, parameters)
    model = TextCNN(widths=(1, 3), filters=H)
    np.testing.assert_allclose(torch_logits(model, parameters, inputs, tokens=False), ours, rtol=0, atol=EXACT)


@pytest.mark.parametrize("kind", ["tanh", "relu", "lstm", "gru"])
def test_torch_s_own_layers_give_the_same_states(kind):
    generator = np.random.default_rng(3)
    parameters = make_parameters(kind, generator, D, H)
    layers = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN, "relu": partial(nn.RNN, nonlinearity="relu")}
    layer = layers[kind](D, H, batch_first=True).double()
    layer.load_state_dict({name: torch.tensor(value) for name, value in cell_weights(parameters).items()})
    x, lengths = generator.normal(size=(2, 5, D)), np.array([5, 5])
    ours, _ = make_layer(kind, MODULES)(x, lengths, parameters)
    np.testing.assert_allclose(layer(torch.tensor(x))[0].detach().numpy(), ours, rtol=0, atol=EXACT)
