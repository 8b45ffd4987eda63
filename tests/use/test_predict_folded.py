"""The recurrences for answers alone, by torch and by native code, give what the network gives, and every model the same
whatever the batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab import kernels as native
from rnnlab.answers.heads import SummaryHead
from rnnlab.answers.label import probabilities
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.models import first_inputs
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, build_network
from rnnlab.use import folded
from rnnlab.use.folded import Answers, Compiled, Folded, fold
from rnnlab.use.predictor import network_outputs, outputs_of

WORDS, CLASSES = 40, 3
needs_library = pytest.mark.skipif(not native.status().active, reason=native.status().reason)
POOLINGS = ("last", "first+last", "mean", "max", "attention")


def build(settings: dict[str, Any], *, features: int | None = None, tokens: int = 1, spread: float = 1.0) -> Network:
    """With weights large enough that gates close and open."""
    torch.manual_seed(0)
    model = ARCHITECTURES.parse(settings, "model")
    pretrained = None
    if features is None and model.embedding is None:
        vectors: dict[str, Any] = {"vectors": "some", "channels": "two"} if model.needs_vectors else {}
        model = model.replace(embedding=Embedding(width=6, spread=spread, **vectors))
    if model.embedding is not None and model.embedding.vectors is not None:
        pretrained = torch.randn(WORDS, 6)
    network = build_network(
        model,
        words=WORDS if features is None else None,
        features=features,
        tokens=tokens,
        pretrained=pretrained,
        head=lambda width: SummaryHead(width, CLASSES),
    )
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "start" in name:
                parameter.normal_()
        for name, buffer in network.named_buffers():
            if "resting" in name:
                buffer.normal_()
    return network.eval()


def rows(lengths: list[int], *, features: int | None = None, tokens: int = 1, seed: int = 0) -> Sequences:
    generator = np.random.default_rng(seed)
    offsets = offsets_of(np.array(lengths))
    if features is None:
        values = generator.integers(1, WORDS, (offsets[-1], tokens)).astype(np.int32)
        values = values[:, 0] if tokens == 1 else values
    else:
        values = generator.normal(size=(offsets[-1], features)).astype(np.float32)
    return Sequences.end_to_end(values, offsets, np.zeros(len(lengths), np.int64), np.arange(len(lengths)))


def only(data: Sequences, chosen: list[int]) -> Sequences:
    parts = [data.values[data.offsets[row] : data.offsets[row + 1]] for row in chosen]
    offsets = offsets_of(np.array([len(part) for part in parts]))
    return Sequences.end_to_end(np.concatenate(parts), offsets, np.zeros(len(parts), np.int64), np.arange(len(parts)))


CELLS = st.sampled_from(
    [
        {"kind": "rnn", "activation": "tanh"},
        {"kind": "rnn", "activation": "relu"},
        {"kind": "lstm"},
        {"kind": "gru", "reset": "after"},
    ]
)
STARTS = st.sampled_from([{}, {"initial_state": "learned"}, {"initial_state": "normal"}, {"state": "carried"}])


@st.composite
def recurrent(draw: st.DrawFn) -> dict[str, Any]:
    """Any settings that are taken."""
    layers = draw(st.integers(1, 3))
    start = draw(STARTS)
    return {
        **draw(CELLS),
        **start,
        "hidden": draw(st.integers(1, 9)),
        "layers": layers,
        "bidirectional": draw(st.booleans()) and "state" not in start,
        "residual": layers > 1 and draw(st.booleans()),
        "dropout": 0.5 if layers > 1 else 0.0,
        "recurrent_dropout": draw(st.sampled_from([0.0, 0.3])),
        "output_dropout": draw(st.sampled_from([0.0, 0.3])),
        "checkpoint_segments": draw(st.sampled_from([1, 3])),
        "pooling": draw(st.sampled_from(POOLINGS)),
    }


@settings(max_examples=120, deadline=None, derandomize=True)
@given(recurrent(), st.lists(st.integers(1, 30), min_size=1, max_size=12), st.sampled_from(["ids", "pairs", "numbers"]))
def test_the_same_numbers_as_the_network(chosen, lengths, inputs):
    check_the_same_numbers(fold, chosen, lengths, inputs)


@needs_library
@settings(max_examples=120, deadline=None, derandomize=True)
@given(recurrent(), st.lists(st.integers(1, 30), min_size=1, max_size=12), st.sampled_from(["ids", "pairs", "numbers"]))
def test_the_same_numbers_by_native_code(chosen, lengths, inputs):
    check_the_same_numbers(natively, chosen, lengths, inputs)


def natively(network: Network) -> Compiled:
    quick = fold(network)
    assert quick is not None
    return Compiled(quick)


def check_the_same_numbers(
    quickly: Callable[[Network], Folded | Compiled | None], chosen: dict[str, Any], lengths: list[int], inputs: str
) -> None:
    shape: dict[str, Any] = {"ids": {}, "pairs": {"tokens": 2}, "numbers": {"features": 2}}[inputs]
    network = build(chosen, **shape)
    data = rows(lengths, **shape)
    quick = quickly(network)
    assert quick is not None
    expected = network_outputs(network, data)
    for _ in range(3):  # the first products, then the table
        np.testing.assert_allclose(quick.outputs(data), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("quickly", [Folded, pytest.param(natively, marks=needs_library)])
def test_a_table_takes_the_place_of_the_product_when_it_pays(quickly):
    network = build({"kind": "lstm", "hidden": 16, "bidirectional": True})
    quick, data = quickly(network), rows([WORDS // 4 + 1] * 2)
    first = quick.outputs(data)
    assert [one.table for one in quick.first] == [None, None]
    second = quick.outputs(data)
    assert all(one.table is not None and one.table.shape == (WORDS, 64) for one in quick.first)
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_a_table_that_would_be_too_large(monkeypatch):
    monkeypatch.setattr(first_inputs, "LARGEST_TABLE", WORDS * 32 - 1)
    quick, data = Folded(build({"kind": "lstm", "hidden": 8})), rows([100])
    quick.outputs(data)
    quick.outputs(data)
    assert quick.first[0].table is None


@pytest.mark.parametrize(
    "chosen",
    [
        {"kind": "lstm", "layer_norm": True},
        {"kind": "gru", "reset": "before"},
        {"kind": "textcnn"},
        {"kind": "mingru"},
        {"kind": "gru-cnn"},
    ],
)
def test_the_network_answers_where_it_must(chosen):
    assert fold(build(chosen)) is None


def test_weights_stay_as_they_are():
    network = build({"kind": "gru", "layers": 2, "bidirectional": True, "hidden": 5})
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    Folded(network).outputs(rows([3, 9, 1]))
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


# Whatever the batch

LENGTHS = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 400, 2, 7]


def catalogue() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"kind": kind} for kind in ARCHITECTURES.names()]
    for kind in ("rnn", "lstm", "gru"):
        found += [{"kind": kind, "pooling": pooling, "bidirectional": True} for pooling in POOLINGS]
        found.append({"kind": kind, "layer_norm": True, "layers": 2})
    return found


@pytest.mark.parametrize("read", ["at first", "later"])
@pytest.mark.parametrize("chosen", catalogue(), ids=lambda chosen: "-".join(map(str, chosen.values())))
def test_answers_do_not_depend_on_the_batch(chosen, read, monkeypatch):
    """Alone, together, backwards, a few at a time, and beside a row of 400 tokens; by torch or by native code."""
    monkeypatch.setattr(folded, "NATIVE_FROM", 0 if read == "later" else 1 << 30)
    network = build(chosen)
    outputs = outputs_of(network)
    data = rows(LENGTHS)
    every = list(range(len(data)))
    together = probabilities(outputs(data).astype(np.float64))
    arrangements = [[row] for row in every] + [every[::-1], [0, 10], [10, 3, 0], [5, 5, 5, 10], every[:4] * 20]
    for arrangement in arrangements:
        found = probabilities(outputs(only(data, arrangement)).astype(np.float64))
        np.testing.assert_allclose(found, together[arrangement], atol=1e-6)
        assert found.argmax(1).tolist() == together[arrangement].argmax(1).tolist()
    assert len({tuple(row) for row in together.round(4).tolist()}) > 3  # it does look at the rows


@pytest.mark.parametrize("quickly", [fold, pytest.param(natively, marks=needs_library)])
def test_many_rows_in_several_batches(quickly, monkeypatch):
    data = rows([1 + n * 7 % 23 for n in range(60)])
    network = build({"kind": "lstm", "hidden": 8})
    expected = network_outputs(network, data)
    for name, most in (("ROWS", 7), ("TOKENS", 50), ("NATIVE_TOKENS", 50)):
        monkeypatch.setattr(folded, name, most)
    np.testing.assert_allclose(quickly(network).outputs(data), expected, atol=1e-5)


# When native code is used


@needs_library
def test_native_code_is_loaded_when_much_was_read():
    answers, data = Answers(Folded(build({"kind": "gru", "hidden": 8}))), rows([folded.NATIVE_FROM // 2])
    first = answers.outputs(data)
    assert answers.compiled is None
    second = answers.outputs(data)
    assert answers.compiled is not None
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_without_native_code(monkeypatch):
    monkeypatch.setattr(folded, "NATIVE_FROM", 0)
    network, data = build({"kind": "lstm", "hidden": 8}), rows([3, 9, 1])
    answers = Answers(Folded(network))
    with native.switched_off():
        np.testing.assert_allclose(answers.outputs(data), network_outputs(network, data), atol=1e-5)
    assert answers.asked
    assert answers.compiled is None


@needs_library
def test_a_row_that_is_too_long_is_left_to_torch(monkeypatch):
    monkeypatch.setattr(folded, "NATIVE_FROM", 0)
    monkeypatch.setattr(folded, "NATIVE_LONGEST", 8)
    answers = Answers(Folded(build({"kind": "lstm", "hidden": 8})))
    long = Folded(answers.folded.network).outputs(rows([9, 2]))
    assert np.array_equal(answers.outputs(rows([9, 2])), long)
    assert answers.compiled is not None
    assert answers.compiled.first[0].read == 0
    answers.outputs(rows([8, 2]))
    assert answers.compiled.first[0].read == 10
