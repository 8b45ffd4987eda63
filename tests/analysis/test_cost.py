"""The formulas against the weights that torch builds, and against the documents' figures."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from rnnlab.analysis.cost import GATES, encoder_parameters, parameters, recurrence
from rnnlab.errors import ConfigError
from rnnlab.models.base import ARCHITECTURES, Architecture, Encoder
from rnnlab.models.convolution import CNN2
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import build_network, parameter_counts
from rnnlab.models.recurrent import RNN
from rnnlab.tasks.classify import SummaryHead

WORDS, CLASSES = 300, 5
POOLINGS = ("last", "first+last", "mean", "max", "attention")
RECURRENT: list[dict[str, Any]] = [
    {"layers": 3, "bidirectional": True},
    {"layers": 2, "bidirectional": True, "layer_norm": True, "initial_state": "learned", "residual": True},
    {"layer_norm": True, "hidden": 7},
    {"initial_state": "learned", "layers": 2},
]
CHOICES: dict[str, list[dict[str, Any]]] = {
    "rnn": RECURRENT,
    "lstm": RECURRENT,
    "gru": [*RECURRENT, {"reset": "before"}],
    "mingru": [{"layers": 3, "bidirectional": True}],
    "minlstm": [{"layers": 2}],
    "textcnn": [{"widths": [1, 9], "filters": 3}],
    "cnn2": [{"filters": 3}],
    "dilated": [{"residual": False}, {"layers": 1, "width": 7}, {"hidden": 50}],
    "transformer": [{"positions": "learned", "max_length": 40, "layers": 3}, {"width": 12, "feedforward": 7}],
    "gru-cnn": [{"widths": [3], "filters": 5, "hidden": 9}],
    "rcnn": [{"hidden": 9, "width": 11}],
    "linear": [{"hidden": 3}],
    "fasttext": [{"ngrams": 4, "buckets": 77}],
}


def settings() -> list[Architecture]:
    """Every architecture of the catalogue as it comes, with every pooling, and with the options that have weights."""
    found = []
    for cls in ARCHITECTURES:
        poolings = [{"pooling": pooling} for pooling in POOLINGS] if "pooling" in cls.model_fields else []
        for choice in [{}, *poolings, *CHOICES[cls.kind]]:
            channels = {"vectors": "some", "channels": "two"} if cls is CNN2 else {}
            found.append(ARCHITECTURES.parse({"kind": cls.kind, "embedding": {"width": 50, **channels}, **choice}))
    return found


@pytest.mark.parametrize("model", settings(), ids=lambda model: f"{model.kind}-{sorted(model.model_fields_set)}")
def test_the_formula_counts_what_is_built(model: Architecture) -> None:
    assert model.embedding is not None
    pretrained = torch.randn(WORDS, 50) if model.embedding.vectors else None
    network = build_network(
        model, words=WORDS, features=None, pretrained=pretrained, head=lambda width: SummaryHead(width, CLASSES)
    )
    assert parameters(model, words=WORDS, classes=CLASSES) == parameter_counts(network)


@pytest.mark.parametrize("channels", ["random", "frozen", "tuned", "two"])
def test_channels(channels: Any) -> None:
    vectors = None if channels == "random" else "some"
    model = RNN(embedding=Embedding(width=20, vectors=vectors, channels=channels))
    network = build_network(
        model, words=WORDS, features=None, pretrained=torch.randn(WORDS, 20), head=lambda width: SummaryHead(width, 2)
    )
    assert parameters(model, words=WORDS, classes=2) == parameter_counts(network)


def test_numbers_have_no_embedding() -> None:
    network = build_network(
        RNN(hidden=9), words=None, features=12, pretrained=None, head=lambda width: SummaryHead(width, 9)
    )
    assert parameters(RNN(hidden=9), features=12, classes=9) == parameter_counts(network)


def test_the_figures_of_the_neural_network_document() -> None:
    """d = 3, h = 8, one bias. The LSTM's 384 is right. Its RNN has 24 + 64 + 8 = 96, and 105 with the output's
    8 weights and 1 bias, as the document's own expression says; the 97 that it prints leaves those 8 weights out."""
    assert recurrence(GATES["lstm"], 3, 8, biases=1) == 384
    assert recurrence(GATES["rnn"], 3, 8, biases=1) == 96
    output_weights, output_bias = 8, 1
    assert recurrence(GATES["rnn"], 3, 8, biases=1) + output_bias == 97
    assert recurrence(GATES["rnn"], 3, 8, biases=1) + output_weights + output_bias == 105


@pytest.mark.parametrize(("kind", "torch_class"), [("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_torch_has_a_second_bias_for_every_gate(kind: str, torch_class: type[nn.RNN | nn.GRU | nn.LSTM]) -> None:
    counted = sum(p.numel() for p in torch_class(3, 8).parameters())
    assert counted == recurrence(GATES[kind], 3, 8)
    assert counted - recurrence(GATES[kind], 3, 8, biases=1) == GATES[kind] * 8


def test_the_figures_of_the_movie_review_document() -> None:
    """RNN: 16.4K + 6.4K + 640 (biases not counted). CNN2: 22.4K convolution weights, not 44.8K."""
    assert (128 * 128, 128 * 50, 5 * 128) == (16_384, 6_400, 640)
    assert recurrence(1, 50, 128, biases=0) + 5 * 128 == 23_424
    model = CNN2(embedding=Embedding(width=50, vectors="some", channels="two"))
    assert encoder_parameters(model, 100) - 64 == 22_400
    assert 2 * 22_400 == 44_800

    def beyond(model: Architecture) -> int:
        counted = parameters(model, words=1000, classes=5)
        return counted["encoder"] + counted["head"]

    assert (beyond(model), beyond(RNN(embedding=Embedding()))) == (22_789, 23_685)


def test_the_table_of_the_docs() -> None:
    rows = {kind: (recurrence(g, 3, 8, biases=1), recurrence(g, 3, 8)) for kind, g in GATES.items()}
    text = (Path(__file__).parents[2] / "docs/parameters.md").read_text()
    for kind, (one, two) in rows.items():
        assert f"| `{kind}` | {one} | {two} |" in text


def test_a_plugin_has_no_formula() -> None:
    class Own(Architecture):
        def build(self, input_width: int) -> Encoder:
            raise NotImplementedError

    Own.kind = "own"
    with pytest.raises(ConfigError, match="'own' has no formula"):
        encoder_parameters(Own(), 5)
