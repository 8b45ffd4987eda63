"""Every architecture of the catalogue, with every option that changes the answer, exports and agrees with torch."""

from typing import Any, ClassVar, get_args

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor

from rnnlab.core.config import parse
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.cells import Cell, Entered, State
from rnnlab.models.pooling import Pooling
from rnnlab.models.recurrent import Recurrent
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.model_graph import model_graph
from rnnlab.use.onnx.parity import SHAPES, TOLERANCE, check_parity

REFUSED: dict[str, str] = {}  # kind → the reason why it can't be exported; all of the catalogue can
SMALL = {"hidden": 8, "width": 12, "feedforward": 10, "filters": 4, "buckets": 30}
RECURRENT: list[dict[str, Any]] = [
    {"layer_norm": True, "bidirectional": True},
    {"layer_norm": True, "initial_state": "learned", "layers": 2},
    {"layers": 3, "residual": True},
    {"initial_state": "learned", "bidirectional": True, "layers": 2},
    {"initial_state": "normal"},
    {"state": "carried", "layers": 2},
    {"state": "carried", "layer_norm": True},
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    *((kind, {**choice, "hidden": 8}) for kind in ("rnn", "lstm", "gru") for choice in RECURRENT),
    ("gru", {"reset": "before", "bidirectional": True}),
    ("gru", {"reset": "before", "layer_norm": True}),
    ("rnn", {"activation": "relu", "bidirectional": True, "hidden": 8}),
    ("rnn", {"activation": "relu", "layer_norm": True, "hidden": 8}),
    ("lstm", {"recurrent_dropout": 0.3, "checkpoint_segments": 3}),
    ("mingru", {"scan": "parallel", "hidden": 8}),
    ("fasttext", {"ngrams": 4, "buckets": 100}),
    ("fasttext", {"ngrams": 3, "buckets": 100, "ends": True, "hashing": "mixed"}),
    ("textcnn", {"activation": "tanh", "widths": [1]}),
    ("textcnn", {"activation": "gelu", "widths": [3, 9]}),
    ("textcnn", {"widths": [2, 3, 4], "centred": True}),
    ("dilated", {"look_ahead": False, "width": 2, "hidden": 8}),
    ("dilated", {"residual": False, "width": 4, "activation": "gelu", "hidden": 8}),
    ("transformer", {"positions": "learned", "max_length": 40, "heads": 1, "layers": 1}),
    ("transformer", {"look_ahead": False, "width": 15, "heads": 3}),
    ("linear", {"activation": "tanh"}),
    ("linear", {"activation": "relu"}),
]


class OwnCell(Cell):
    """As a plugin may have it: a step in torch's functions as well as methods."""

    gates = ("forget", "candidate")

    def step(self, a: Tensor, state: State, heard: Tensor) -> tuple[State, Entered]:
        a_f, a_n = a.chunk(2, dim=1)
        forget = a_f + self.from_state(heard, "forget")
        f = torch.sigmoid(forget)
        candidate = a_n + self.from_state(f * heard, "candidate")
        return ((1 - f) * state[0] + f * torch.tanh(candidate),), self.named(forget, candidate)


class Own(Recurrent):
    kind: ClassVar[str] = "own"
    cell: ClassVar[type[Cell]] = OwnCell


def variants() -> list[Architecture]:
    found: list[Architecture] = []
    for cls in ARCHITECTURES:
        fields = cls.model_fields
        small = {name: size for name, size in SMALL.items() if name in fields}
        deep = {"bidirectional": True, "layers": 2} if "bidirectional" in fields else {}
        poolings = [{"pooling": pooling} for pooling in get_args(Pooling)] if "pooling" in fields else [{}]
        found += [cls(), *(parse(cls, {**small, **pooling}) for pooling in poolings)]
        found += [parse(cls, {**small, **deep, **pooling}) for pooling in poolings if deep]
    own = [Own(hidden=5), Own(hidden=5, layers=2, bidirectional=True, layer_norm=True, initial_state="learned")]
    return [*found, *own, *(ARCHITECTURES.parse({"kind": kind, **choices}) for kind, choices in OTHERS)]


def described(architecture: Architecture) -> str:
    changed = {k: v for k, v in architecture.to_dict().items() if k in architecture.model_fields_set and k not in SMALL}
    return "-".join([architecture.kind, *(f"{key}={value}" for key, value in changed.items())])


@pytest.mark.parametrize("architecture", variants(), ids=described)
def test_exports_and_agrees(made, random_rows, architecture):
    model = made(architecture)
    if architecture.kind in REFUSED:
        with pytest.raises(ExportError, match=REFUSED[architecture.kind]):
            model_graph(model)
        return
    translated = model_graph(model)
    onnx.checker.check_model(translated, full_check=True)
    content = translated.SerializeToString(deterministic=True)
    difference, _ = check_parity(model, content)
    assert len(SHAPES) == 12
    assert 0 < difference <= TOLERANCE
    # Whatever stands in the padding, and however much of it there is.
    rows = random_rows(model, [7, 1, 4])
    session = onnxruntime.InferenceSession(content)
    together = np.asarray(session.run(None, rows)[0])
    for row, length in enumerate(rows["lengths"]):
        alone = {"ids": rows["ids"][row : row + 1, :length], "lengths": rows["lengths"][row : row + 1]}
        np.testing.assert_allclose(np.asarray(session.run(None, alone)[0])[0], together[row], atol=2e-5)


def test_the_walk_sees_the_whole_catalogue():
    assert {architecture.kind for architecture in variants()} == {*ARCHITECTURES.names(), "own"}
    assert set(REFUSED) <= set(ARCHITECTURES.names())


def test_shapes_that_are_compared():
    assert len(SHAPES) == len(set(SHAPES)) == 12
    assert {(1, 1), (16, 120)} <= set(SHAPES)


@pytest.mark.parametrize("kind", ["cnn2", "textcnn", "lstm"])
def test_two_channels(made, kind):
    model = made(ARCHITECTURES[kind](), vectors=True)
    names = {tensor.name for tensor in model_graph(model).graph.initializer}
    assert {"embedding.table", "embedding.frozen"} <= names
    check_parity(model, model_graph(model).SerializeToString())


@pytest.mark.parametrize("task", ["first-last", "addition", "adding"])
@pytest.mark.parametrize("kind", ["lstm", "dilated", "transformer", "mingru"])
def test_other_inputs_and_answers(made, kind, task):
    choices = {"look_ahead": False} if kind in ("dilated", "transformer") else {}
    model = made(ARCHITECTURES.parse({"kind": kind, **choices}), task)
    translated = model_graph(model)
    onnx.checker.check_model(translated, full_check=True)
    shapes = {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in [*translated.graph.input, *translated.graph.output]
    }
    assert (
        shapes
        == {
            "first-last": {"features": ["batch", "length", 3], "lengths": ["batch"], "logits": ["batch", 2]},
            "addition": {"ids": ["batch", "length", 2], "lengths": ["batch"], "logits": ["batch", "length", 10]},
            "adding": {"features": ["batch", "length", 2], "lengths": ["batch"], "logits": ["batch", 1]},
        }[task]
    )
    check_parity(model, translated.SerializeToString())


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrences_are_the_operators_of_onnx(made, kind, bidirectional):
    """And they are told the lengths."""
    settings = ARCHITECTURES.parse({"kind": kind.lower(), "layers": 2, "bidirectional": bidirectional, "hidden": 8})
    graph = model_graph(made(settings)).graph
    assert not any(node.op_type in ("Scan", "Loop") for node in graph.node)
    layers = [node for node in graph.node if node.op_type == kind]
    assert len(layers) == 2
    (cast,) = [node for node in graph.node if list(node.input) == ["lengths"] and node.op_type == "Cast"]
    for layer in layers:
        assert layer.input[4] == cast.output[0]
        direction = next(a.s.decode() for a in layer.attribute if a.name == "direction")
        assert direction == ("bidirectional" if bidirectional else "forward")


def test_nothing_in_the_graph_is_idle(made):
    """The pooling of a model that answers at every step, for example."""
    graph = model_graph(made(ARCHITECTURES.parse({"kind": "lstm", "pooling": "attention"}), "addition")).graph
    read = {name for node in graph.node for name in node.input} | {"logits"}
    assert {name for node in graph.node for name in node.output if node.op_type != "LSTM"} <= read
    assert {tensor.name for tensor in graph.initializer} <= read


def test_a_sequence_beyond_learned_positions_is_an_error(made):
    settings = ARCHITECTURES.parse({"kind": "transformer", "positions": "learned", "max_length": 6})
    session = onnxruntime.InferenceSession(model_graph(made(settings)).SerializeToString())
    ids = np.ones((2, 9), np.int64)
    session.run(None, {"ids": ids, "lengths": np.array([6, 2])})  # padding may go on
    with pytest.raises(Exception, match=r"out of data bounds|out of bounds"):
        session.run(None, {"ids": ids, "lengths": np.array([7, 2])})


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru", "textcnn", "transformer", "fasttext"])
def test_a_graph_that_computes_something_else_is_refused(made, kind):
    """Any single weight that is off by a thousandth of the largest is enough."""
    model = made(ARCHITECTURES[kind]())
    translated = model_graph(model)
    for tensor in translated.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if tensor.name == "head.linear.bias":
            changed = array + np.float32(0.001) * np.abs(array).max()
            tensor.CopyFrom(onnx.numpy_helper.from_array(changed, tensor.name))
    with pytest.raises(ExportError, match=r"ONNX Runtime and torch differ by .* isn't accepted; nothing was written"):
        check_parity(model, translated.SerializeToString())


def test_a_chaotic_recurrence_is_refused_and_torch_is_said_to_be_off_too(made):
    model = made(ARCHITECTURES.parse({"kind": "rnn", "hidden": 32}))
    with torch.no_grad():
        model.network.get_parameter("encoder.ahead.0.weight_hh_l0").mul_(5)
    with pytest.raises(ExportError, match=r"in \d+ sequences of \d+ steps; torch's own rounding is \d"):
        check_parity(model, model_graph(model).SerializeToString())


def test_a_model_whose_logits_are_not_numbers_is_refused(made):
    model = made(ARCHITECTURES["linear"]())
    with torch.no_grad():
        model.network.get_parameter("head.linear.bias")[0] = torch.nan
    with pytest.raises(ExportError, match="answers a single step with what is no number"):
        check_parity(model, model_graph(model).SerializeToString())


def test_a_recurrence_that_explodes_beyond_its_training_is_exported(made):
    """As long as it explodes in both."""
    model = made(ARCHITECTURES.parse({"kind": "rnn", "activation": "relu", "hidden": 8}))
    with torch.no_grad():
        model.network.get_parameter("encoder.ahead.0.weight_hh_l0").abs_().mul_(10)
        ids, lengths = torch.full((1, 120), 7), torch.tensor([120])
        assert not model.network(ids, lengths).isfinite().all()
    content = model_graph(model).SerializeToString()
    assert check_parity(model, content)[0] <= TOLERANCE
    tamed = made(ARCHITECTURES.parse({"kind": "rnn", "activation": "relu", "hidden": 8}))
    with pytest.raises(ExportError, match="differ by inf"):
        check_parity(tamed, content)


def test_the_same_model_gives_the_same_bytes(made):
    once, again = (model_graph(made(ARCHITECTURES["gru"]())).SerializeToString(deterministic=True) for _ in range(2))
    assert once == again
