"""Models that write a text for another one as ONNX: an encoder, and a step of the decoder with its state in and out."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES
from rnnlab.use.onnx import ExportError, decoders
from rnnlab.use.onnx.tokenizer_file import joining
from rnnlab.use.onnx.writing import export_model

onnxruntime = pytest.importorskip("onnxruntime")
STEPS = 50
KINDS = {"rnn": {}, "lstm": {"layers": 2, "residual": True}, "gru": {"reset": "before"}}
RECURRENT = [
    ({"kind": kind, "hidden": 8, **more}, {"attention": attention, "input_feeding": feeding})
    for kind, more in KINDS.items()
    for attention in ("none", "dot", "scaled", "general", "additive")
    for feeding in (False, True)
    if attention != "none" or not feeding
]
OTHERS = [
    ({"kind": "gru", "hidden": 8, "bidirectional": True, "tied": True}, {"attention": "dot"}),
    ({"kind": "lstm", "hidden": 8, "initial_state": "learned"}, {}),
    ({"kind": "transformer", "width": 8, "heads": 2, "layers": 2}, {}),
    ({"kind": "transformer", "width": 8, "layers": 1, "positions": "learned", "max_length": 130, "tied": True}, {}),
    ({"kind": "transformer", "width": 8}, {"model": {"kind": "lstm", "hidden": 6}}),
    ({"kind": "textcnn", "filters": 5}, {"model": {"kind": "gru", "hidden": 6}, "attention": "scaled"}),
    ({"kind": "mingru", "hidden": 6}, {"model": {"kind": "transformer", "width": 8, "look_ahead": False}}),
]
REFUSED = {
    "one step of the model 'mingru' has no translation": {"kind": "mingru", "hidden": 6},
    "one step of the model 'dilated' has no translation": {
        "kind": "gru",
        "decoder": {"model": {"kind": "dilated", "look_ahead": False}},
    },
    "layer norm, and cells of your own": {"kind": "gru", "hidden": 6, "layer_norm": True},
}


@pytest.mark.parametrize(("settings", "decoder"), [*RECURRENT, *OTHERS])
def test_fifty_steps_of_a_batch_are_those_of_torch(made: Any, tmp_path: Path, settings: Any, decoder: dict[str, Any]):
    """From the encoder's own outputs on; of texts of several lengths, and with rows that change places, as in a
    beam."""
    model = made(ARCHITECTURES.parse({**settings, "decoder": decoder}), "translate")
    done = export_model(model, tmp_path / "model.onnx")
    assert max(done.difference, done.step_difference) < 1e-5
    assert done.step == tmp_path / "model.step.onnx"
    for path in (done.path, done.step):
        onnx.checker.check_model(onnx.load(str(path)), full_check=True)
    reading = json.loads(done.tokenizer.read_text(encoding="utf-8"))["translating"]
    reads, writes = (onnxruntime.InferenceSession(str(path)) for path in (done.path, done.step))
    rng = np.random.default_rng(3)
    ids, lengths = rng.integers(2, len(model.preprocessor.vocabulary), (3, 6)), np.array([6, 2, 4])
    told = by_name(reads, {"ids": ids, "lengths": lengths})
    assert set(told) == {*reading["memory"], *reading["states"]}
    memory, state = ({name: told[name] for name in reading[which]} for which in ("memory", "states"))
    assert bool(memory) is (decoder.get("attention") != "none")
    rows, written = np.array([0, 1, 2]), np.zeros((3, 0), np.int64)
    for step in range(STEPS):
        token = (
            np.full((3, 1), BEGIN) if step == 0 else rng.integers(2, len(model.preprocessor.writes.vocabulary), (3, 1))
        )
        written = np.concatenate([written, token], axis=1)
        found = by_name(writes, {"ids": token, **memory, **state})
        if step % 10 == 9:
            expected, looks = forced(model, ids[rows], lengths[rows], written)
            np.testing.assert_allclose(found["logits"], expected, rtol=1e-4, atol=1e-5)
            assert ("attention" in found) is (looks is not None)
            if looks is not None:
                np.testing.assert_allclose(found["attention"], looks, atol=1e-5)
        state = {name: found[f"{name}_next"] for name in state}
        if step == 4:
            order = np.array([2, 0, 0])
            rows, written = rows[order], written[order]
            memory, state = ({name: values[order] for name, values in these.items()} for these in (memory, state))


def by_name(session: Any, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, given), strict=True))


def forced(
    model: Any, ids: np.ndarray, lengths: np.ndarray, written: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Of the last step, when all tokens are read at a time: logits, and where it looked."""
    inputs, sizes, read = (torch.from_numpy(values) for values in (ids, lengths, written))
    network = model.network
    with torch.inference_mode():
        logits = network(inputs, sizes, read)[:, -1].numpy()
        steps = torch.full((len(read),), read.shape[1])
        looks = network.decoder.looks(network.remember(inputs, sizes), read, steps)
    return logits, None if looks is None else looks[:, -1].numpy()


def test_padding_of_the_source_changes_nothing(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES.parse({"kind": "gru", "hidden": 8, "bidirectional": True}), "translate")
    done = export_model(model, tmp_path / "model.onnx")
    reads, writes = (onnxruntime.InferenceSession(str(path)) for path in (done.path, done.step))
    short = {"ids": np.array([[5, 6, 7]]), "lengths": np.array([3])}
    long = {"ids": np.array([[5, 6, 7, 9, 30, 2]]), "lengths": np.array([3])}  # whatever stands in the padding
    first, second = (by_name(writes, {"ids": np.array([[BEGIN]]), **by_name(reads, one)}) for one in (short, long))
    np.testing.assert_allclose(first["logits"], second["logits"], atol=1e-6)
    assert second["attention"][0, 3:].tolist() == [0, 0, 0]


def test_what_is_told_and_what_stands_beside_the_graphs(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES.parse({"kind": "gru", "hidden": 8}), "translate", beam=3)
    done = export_model(model, tmp_path / "model.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.step.onnx", "model.tokenizer.json"]
    assert done.lines()[1] == (
        "ids (batch, source), lengths (batch) → memory (batch, source, 8), mask (batch, source), "
        "memory_key (batch, source, 8), h0 (batch, 8)"
    )
    assert "how to search" in done.lines()[3]
    assert "over 50 steps" in done.lines()[4]
    reading = json.loads(done.tokenizer.read_text(encoding="utf-8"))
    writing = reading["translating"]
    assert writing.pop("vocabulary") == list(model.preprocessor.writes.vocabulary.words)
    assert writing.pop("tokenizer")["name"] == "chars"
    assert sorted(writing.pop("never")) == sorted([PADDING, UNKNOWN, BEGIN])
    assert writing == {
        "begin": BEGIN,
        "end": END,
        "beam": 3,
        "length_penalty": 0.5,
        "longest": 9,
        "step": "model.step.onnx",
        "memory": ["memory", "mask", "memory_key"],
        "states": ["h0"],
    }
    assert "writing" not in reading
    props = {one.key: one.value for one in onnx.load(str(done.step)).metadata_props}
    assert json.loads(props["writes"])["vocabulary"]


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_step_is_refused_with_a_reason(made: Any, tmp_path: Path, reason: str):
    with pytest.raises(ExportError, match=reason):
        export_model(made(ARCHITECTURES.parse(REFUSED[reason]), "translate"), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_baseline_is_refused(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES.parse({"kind": "gru", "hidden": 8}), "translate")
    copied = replace(model, spec=replace(model.spec, model=BASELINES["copy"]()))
    with pytest.raises(ExportError, match="no translation of the baseline 'copy'"):
        export_model(copied, tmp_path / "model.onnx")


@pytest.mark.parametrize("half", ["told", "step"])
def test_graphs_that_differ_are_refused(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: str):
    right = getattr(decoders._Attending, half)

    def wrong(self: Any, g: Any, *given: Any) -> Any:
        found = right(self, g, *given)
        if half == "told":
            return [*found[:-1], g.op("Mul", found[-1], g.constant(1.001))]
        return replace(found, top=g.op("Mul", found.top, g.constant(1.001)))

    monkeypatch.setattr(decoders._Attending, half, wrong)
    with pytest.raises(ExportError, match="ONNX Runtime and torch differ"):
        export_model(made(ARCHITECTURES.parse({"kind": "gru", "hidden": 8}), "translate"), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("words", {"classes", "beside", "quoted"}),
        ("bpe", {"space"}),
        ("chars", set()),
        ("jieba", {"classes", "between"}),
    ],
)
def test_how_tokens_are_joined_says_no_more_than_is_needed(name: str, fields: set[str]):
    if name == "jieba":
        pytest.importorskip("rjieba")
    assert set(joining(Tokenizer(name))) == {"name", "unicode"} | fields
