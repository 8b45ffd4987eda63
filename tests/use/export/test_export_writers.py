"""Language models as ONNX, one token at a time: the logits of torch, step by step; and the example for Node writes
what `rnnlab generate` writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from node_example import node

import rnnlab
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.use.onnx import ExportError, stepping
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.writing import load_writer

onnxruntime = pytest.importorskip("onnxruntime")
KINDS = {
    "rnn": ["model.hidden=12"],
    "relu": ["model.hidden=12", "model.activation=relu"],
    "lstm": ["model.hidden=20"],
    "lstm2": ["model.hidden=20", "model.layers=2", "model.tied=true"],
    "gru": ["model.hidden=16"],
    "gru2": ["model.hidden=16", "model.layers=2", "model.residual=true", "model.reset=before"],
    "normed": ["model.hidden=8", "model.layer_norm=true"],
    "transformer": ["model.width=8"],
}
ARCHITECTURE = {"relu": "rnn", "lstm2": "lstm", "gru2": "gru", "normed": "gru"}
STEPWISE = ["rnn", "relu", "lstm", "lstm2", "gru", "gru2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("writers")
    (folder / "novel.txt").write_text(nested_sentences(250, 1).text, encoding="utf-8")
    options: dict[str, Any] = {"training": {"epochs": 2, "batch_size": 8}, "out": folder / "runs"}

    def train(name: str, settings: list[str], **task: Any) -> str:
        kind = ARCHITECTURE.get(name, name)
        return str(rnnlab.train(str(folder / "novel.txt"), model=kind, settings=settings, task=task, **options).path)

    found = {name: train(name, settings, window=24) for name, settings in KINDS.items()}
    found["lines"] = train("gru", ["model.hidden=16", "training.lr=0.02", "training.epochs=8"], text_per="line")
    found["words"] = train("lstm", ["model.hidden=8"], unit="words")
    return found


@pytest.mark.parametrize("name", STEPWISE)
def test_fifty_steps_are_those_of_torch(runs: dict[str, str], tmp_path: Path, name: str):
    done = export_model(runs[name], tmp_path / "model.onnx")
    assert done.step == tmp_path / "model.step.onnx"
    assert done.step_difference < 1e-5
    session = onnxruntime.InferenceSession(str(done.step))
    reading = json.loads(done.tokenizer.read_text(encoding="utf-8"))["writing"]
    assert reading["step"] == "model.step.onnx"
    network = load_writer(runs[name]).stored.network
    state = {one["name"]: np.array([one["start"]] * 2, np.float32) for one in reading["states"]}
    assert max(np.abs(part).max() for part in state.values()) > 0  # they begin where training left off
    ids = np.random.default_rng(1).integers(2, 20, (2, 50))
    whole = network(torch.from_numpy(ids), torch.tensor([50, 50])).detach().numpy()
    for step in range(50):
        found = dict(zip([o.name for o in session.get_outputs()],
                         session.run(None, {"ids": ids[:, step : step + 1], **state}), strict=True))  # fmt: skip
        np.testing.assert_allclose(found["logits"], whole[:, step], rtol=1e-4, atol=1e-5)
        state = {name: found[f"{name}_next"] for name in state}


def test_others_say_why_they_have_no_steps(runs: dict[str, str], tmp_path: Path):
    for name, told in (("transformer", "no state of fixed size"), ("normed", "layer norm")):
        done = export_model(runs[name], tmp_path / f"{name}.onnx")
        assert done.step is None
        assert told in str(done.no_step)
        assert any(told in line for line in done.lines())
        assert not (tmp_path / f"{name}.step.onnx").exists()
        assert "states" not in json.loads(done.tokenizer.read_text(encoding="utf-8"))["writing"]


def test_steps_that_differ_are_refused(runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wrong = stepping.states_of

    def shifted(model: Any) -> list[stepping.StepState]:
        return [stepping.StepState(one.name, [value + 0.01 for value in one.start]) for one in wrong(model)]

    monkeypatch.setattr(stepping, "states_of", shifted)
    with pytest.raises(ExportError, match="step by step, ONNX Runtime and torch differ"):
        export_model(runs["lstm"], tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "how"), [
    ("lstm", {"seed": 3}), ("gru2", {"temperature": 0.7, "top_p": 0.8, "seed": 11}), ("rnn", {"temperature": 0.0}),
    ("lines", {"seed": 2, "length": 200}),
])  # fmt: skip
def test_node_writes_what_generate_writes(example: Path, runs: dict[str, str], name: str, how: dict[str, Any]):
    export_model(runs[name], example / f"{name}.onnx")
    how = {"length": 60, **how}
    for prompt in ("the  dog\n", ""):
        expected = load_writer(runs[name]).generate([prompt], **how)[0]
        options = [f"--{key.replace('_', '-')}={value}" for key, value in how.items()]
        done = node(example, "write.mjs", f"{name}.onnx", prompt, *options)
        assert done.stderr == ""
        assert done.stdout == prompt + expected.text + "\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["words.onnx"], "writes characters"),
        (["transformer.onnx"], "without a file for one token at a time"),
        (["lstm.onnx", "--temperature=-1"], "--temperature: a number from 0 on is needed"),
        (["lstm.onnx", "--length=many"], "--length: a whole number"),
    ],
)
def test_node_says_what_it_cant_do(example: Path, runs: dict[str, str], arguments: list[str], told: str):
    name = arguments[0].removesuffix(".onnx")
    export_model(runs[name], example / arguments[0])
    done = node(example, "write.mjs", *arguments)
    assert done.returncode == 1
    assert told in done.stderr
