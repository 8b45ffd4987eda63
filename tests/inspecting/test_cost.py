"""The formulas against the weights that torch builds, the FLOPs that torch counts, and the documents' figures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.core.errors import ConfigError
from rnnlab.inspecting.cost import (
    Parallelism,
    cost,
    encoder_parameters,
    encoder_products,
    parameters,
    recurrence,
)
from rnnlab.inspecting.products import GATES, Product
from rnnlab.kernels import switched_off
from rnnlab.models import parallel
from rnnlab.models.base import ARCHITECTURES, Architecture, Encoder
from rnnlab.models.cells import Cell
from rnnlab.models.chain_head import ChainHead
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, Reads, build_network, parameter_counts
from rnnlab.models.parallel import MinGRU
from rnnlab.models.recurrent import GRU, LSTM, RNN

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


def built(model: Architecture, reads: Reads = "summary") -> Network:
    pretrained = torch.randn(WORDS, 50) if model.embedding and model.embedding.vectors else None
    head = StateHead if reads == "states" else SummaryHead
    return build_network(
        model,
        words=WORDS,
        features=None,
        pretrained=pretrained,
        head=lambda width: head(width, CLASSES),
        reads=reads,
    )


EVERY = pytest.mark.parametrize("model", settings(), ids=lambda model: f"{model.kind}-{sorted(model.model_fields_set)}")


@EVERY
@pytest.mark.parametrize("reads", ["summary", "states"])
def test_the_formula_counts_what_is_built(model: Architecture, reads: Reads) -> None:
    counted = parameter_counts(built(model, reads))
    assert parameters(model, words=WORDS, classes=CLASSES, reads=reads) == counted


@pytest.mark.parametrize("reader", ["cnn", "bilstm"])
def test_the_formula_counts_letters_and_the_chain_of_tags(reader: str) -> None:
    kinds, embedding = 17, {"width": 50, "letters": reader, "letter_width": 9, "letter_filters": 14}
    for kind in ("gru", "transformer", "textcnn"):
        model = ARCHITECTURES.parse({"kind": kind, "crf": True, "embedding": embedding})

        def head(width: int) -> nn.Module:
            return ChainHead(StateHead(width, CLASSES), np.zeros((CLASSES + 2, CLASSES), np.float32))

        network = build_network(
            model, words=WORDS, features=None, pretrained=None, letters=kinds, tokens=2, head=head, reads="states"
        )
        found = parameters(model, words=WORDS, tokens=2, letters=kinds, classes=CLASSES, reads="states")
        assert found == parameter_counts(network)


def torch_counts(network: Network, backward: bool, b: int, n: int) -> int:
    """FLOPs of matrix products, as far as torch sees them: attention has to be spelled out for that."""
    ids, lengths = torch.randint(2, WORDS, (b, n)), torch.full((b,), n)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), switched_off():
        out = network(ids, lengths)
        if backward:
            out.sum().backward()
    return counter.get_total_flops()


@EVERY
def test_torch_counts_the_same_flops(model: Architecture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step, because torch's counter sees neither ``torch.lstm`` nor products in place, as in our own `rnn`."""
    monkeypatch.setattr(Cell, "plain", False)
    b, n = 3, 7
    found = cost(model, words=WORDS, classes=CLASSES, length=n, batch=b)
    unseen = 0
    if getattr(model, "pooling", None) == "attention":  # nor does it see the product of states and query
        unseen = encoder_products(model, 50, b, n)[-2].flops
    assert torch_counts(built(model), False, b, n) == b * found.flops_per_sequence - unseen
    assert found.flops_per_token == pytest.approx(found.flops_per_sequence / n)


@EVERY
def test_training_is_about_three_times_forward(model: Architecture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen channel and the zeros that a recurrence starts from need no gradient: then it is a little less."""
    monkeypatch.setattr(Cell, "plain", False)
    b, n = 2, 12
    found = cost(model, words=WORDS, classes=CLASSES, length=n, batch=b)
    assert torch_counts(built(model), True, b, n) == pytest.approx(b * found.training_flops_per_sequence, rel=0.12)
    assert found.training_flops_per_sequence == 3 * found.flops_per_sequence


def test_checkpoint_segments_cost_one_more_forward_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cell, "plain", False)
    model = LSTM(hidden=64, checkpoint_segments=4, embedding=Embedding())
    found = cost(model, words=WORDS, classes=CLASSES, length=16, batch=2)
    assert torch_counts(built(model), True, 2, 16) == pytest.approx(2 * found.training_flops_per_sequence, rel=0.05)
    assert found.training_flops_per_sequence == pytest.approx(4 * found.flops_per_sequence, rel=0.001)


@EVERY
def test_an_answer_at_every_step_costs_its_head_at_every_step(
    model: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cell, "plain", False)
    found = cost(model, words=WORDS, classes=CLASSES, length=5, batch=2, reads="states")
    unseen = encoder_products(model, 50, 2, 5)[-2].flops if getattr(model, "pooling", None) == "attention" else 0
    assert torch_counts(built(model, reads="states"), False, 2, 5) == 2 * found.flops_per_sequence - unseen


def test_a_product_by_hand() -> None:
    product = Product(2, 3, 5, times=7)
    assert product.flops == 7 * 2 * 2 * 3 * 5
    assert product.bytes == 7 * 4 * (2 * 3 + 3 * 5 + 2 * 5)


def test_the_document_s_operations() -> None:
    """O(128² + 50 · 128) = 22.8K multiplications a step: right (22,784; twice that in FLOPs). For CNN2 it takes all 64
    filters to be 4 wide, O(64 · n · 4 · 50 · 2); they are 2, 3, 4 and 5 wide, 3.5 on average."""
    [of_input, of_state] = encoder_products(RNN(), 50, 1, 30)
    assert (of_input.flops + of_state.flops) / 30 == 2 * 22_784
    needed = 16 * (2 + 3 + 4 + 5) * 50 * 2
    assert (64 * 4 * 50 * 2, needed) == (25_600, 22_400)
    [windows] = encoder_products(CNN2(), 100, 1, 30)
    assert windows.flops / 30 == 2 * needed * 20 / 14  # filled up to the widest: 4 · 5 instead of 2 + 3 + 4 + 5


def test_the_document_s_parallelism() -> None:
    """b against b · K · (n - h + 1): it counts the filters of the one and not the units of the other. Like with like,
    at n = 30, it is b · 128 against b · 64 · 30, a factor of 15 and not of 1,700."""
    b, n = 64, 30
    rnn = cost(RNN(), features=50, classes=5, length=n, batch=b).parallelism
    cnn = cost(TextCNN(), features=50, classes=5, length=n, batch=b).parallelism
    assert rnn == Parallelism(b, 1, 128)
    assert cnn == Parallelism(b, n, 64)
    assert cnn.degree / rnn.degree == 15
    assert 64 * (n - 4 + 1) == 1728


@pytest.mark.parametrize("cls", list(ARCHITECTURES), ids=lambda cls: cls.kind)
def test_serial_steps_grow_as_the_family_says(cls: type[Architecture]) -> None:
    model = cls.model_validate({"embedding": Embedding()})

    def steps(n: int, model: Architecture = model) -> int:
        return cost(model, words=WORDS, classes=2, length=n).serial_steps

    at_ten = {"dilated": 4, "transformer": 2, "rcnn": 11}  # four blocks; two layers; the LSTM and the layer that joins
    of_recurrences = dict.fromkeys(("rnn", "lstm", "gru", "mingru", "minlstm", "gru-cnn"), 10)
    assert steps(10) == (at_ten | of_recurrences).get(cls.kind, 1)
    recurrent = {"rnn", "lstm", "gru", "mingru", "minlstm", "gru-cnn", "rcnn"}
    assert steps(1024) - steps(512) == (512 if cls.kind in recurrent else 0)
    at_once = cost(model, words=WORDS, classes=2, length=100).parallelism.positions
    assert at_once == (1 if cls.kind in recurrent else 100)
    if "layers" in cls.model_fields:
        deeper = model.replace(layers=6)
        assert steps(100, deeper) * getattr(model, "layers", 1) == 6 * steps(100)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 100])
def test_the_scan_s_rounds_are_counted(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 0
    original = parallel.by_pairs

    def counted(*arguments: Any) -> torch.Tensor:
        nonlocal depth
        depth += 1
        return original(*arguments)

    monkeypatch.setattr(parallel, "by_pairs", counted)
    counted(torch.rand(n - 1, 1, 1), torch.rand(n, 1, 1), False)
    rounds = 2 * (depth - 1)  # each level but the last combines pairs and completes the steps between
    assert cost(MinGRU(scan="parallel", layers=3), features=4, classes=2, length=n).serial_steps == 3 * max(1, rounds)


def test_intensity_grows_with_the_batch_and_a_recurrence_stays_below_a_convolution() -> None:
    def intensity(model: Architecture, batch: int) -> float:
        return cost(model, features=50, classes=2, length=30, batch=batch).intensity

    assert intensity(GRU(), 1) < 1 < intensity(GRU(), 32)  # alone, every weight is read for one multiplication
    assert intensity(GRU(), 32) < intensity(TextCNN(), 32)
    by_hand = Product(1, 3, 8), Product(1, 8, 8), Product(1, 8, 2)
    model = RNN(hidden=8)
    found = cost(model, features=3, classes=2, length=1)
    assert found.bytes_per_batch == sum(product.bytes for product in by_hand)
    assert found.intensity == sum(product.flops for product in by_hand) / found.bytes_per_batch


def test_a_cost_is_json() -> None:
    found = cost(LSTM(embedding=Embedding()), words=WORDS, classes=3, length=20, batch=8)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["parallelism"] == {"sequences": 8, "positions": 1, "units": 128, "degree": 1024}
    assert told["parameters"]["total"] == found.parameters["total"]
    assert told["flops_per_sequence"] == found.flops_per_sequence


def test_what_cost_needs_to_know() -> None:
    with pytest.raises(ValueError, match="either words or features"):
        cost(RNN(), classes=2, length=3)
    with pytest.raises(ValueError, match="1 or more"):
        cost(RNN(), features=3, classes=2, length=0)
    with pytest.raises(ConfigError, match="embedding"):
        cost(RNN(), words=3, classes=2, length=1)


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
    with pytest.raises(ConfigError, match="'own' has no formula for its FLOPs"):
        encoder_products(Own(), 5, 1, 1)


def test_the_table_of_the_cost_page() -> None:
    text = (Path(__file__).parents[2] / "docs/cost.md").read_text(encoding="utf-8")
    for cls in ARCHITECTURES:
        model = cls.model_validate({"embedding": Embedding()})
        found = cost(model, words=1000, classes=5, length=30, batch=64)
        cells = (
            f"`{cls.kind}`",
            f"{found.flops_per_token:,.0f}",
            str(found.serial_steps),
            f"{found.parallelism.degree:,}",
            f"{found.intensity:.1f}",
        )
        assert f"| {' | '.join(cells)} |" in text
