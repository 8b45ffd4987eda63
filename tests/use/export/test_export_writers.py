"""Language models as ONNX, one token at a time: the logits of torch, step by step."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rnnlab.models.base import ARCHITECTURES
from rnnlab.use.onnx import ExportError, stepping
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import StoredModel

onnxruntime = pytest.importorskip("onnxruntime")
STEPS = 50
STEPWISE = [
    *((kind, {"layers": layers, "tied": tied}) for kind in ("rnn", "lstm", "gru")
      for layers in (1, 2) for tied in (False, True)),
    ("rnn", {"activation": "relu"}),
    ("gru", {"layers": 3, "residual": True, "reset": "before"}),
]  # fmt: skip
WHOLE = {  # these read a whole text again for every token
    "dilated": {"look_ahead": False},
    "transformer": {"look_ahead": False},
    "mingru": {},
    "minlstm": {},
    "gru": {"layer_norm": True},
    "lstm": {"layer_norm": True},
}


@pytest.fixture
def writer(made: Any) -> Any:
    """``writer("lstm", layers=2)``: a language model of random weights, which begins from a state that isn't zero."""

    def make(kind: str, **settings: Any) -> StoredModel:
        carried = {"state": "carried"} if kind in ("rnn", "lstm", "gru") else {}
        sizes = {"hidden": 12} if carried else {}
        return made(ARCHITECTURES[kind](**sizes, **carried, **settings), "language-model")

    return make


@pytest.mark.parametrize(("kind", "settings"), STEPWISE)
def test_fifty_steps_are_those_of_torch(writer: Any, tmp_path: Path, kind: str, settings: dict[str, Any]):
    model = writer(kind, **settings)
    done = export_model(model, tmp_path / "model.onnx")
    assert done.step == tmp_path / "model.step.onnx"
    assert done.step_difference < 1e-5
    session = onnxruntime.InferenceSession(str(done.step))
    reading = json.loads(done.tokenizer.read_text(encoding="utf-8"))["writing"]
    assert reading["step"] == "model.step.onnx"
    state = {one["name"]: np.array([one["start"]] * 2, np.float32) for one in reading["states"]}
    assert len(state) == settings.get("layers", 1) * (2 if kind == "lstm" else 1)
    assert all(np.abs(part).max() > 0 for part in state.values())
    ids = np.random.default_rng(1).integers(2, len(model.preprocessor.vocabulary), (2, STEPS))
    whole = model.network(torch.from_numpy(ids), torch.tensor([STEPS, STEPS])).detach().numpy()
    for step in range(STEPS):
        found = dict(zip([o.name for o in session.get_outputs()],
                         session.run(None, {"ids": ids[:, step : step + 1], **state}), strict=True))  # fmt: skip
        np.testing.assert_allclose(found["logits"], whole[:, step], rtol=1e-4, atol=1e-5)
        state = {name: found[f"{name}_next"] for name in state}


@pytest.mark.parametrize("kind", WHOLE)
def test_others_read_whole_texts_and_say_why_they_have_no_steps(writer: Any, tmp_path: Path, kind: str):
    model = writer(kind, **WHOLE[kind])
    done = export_model(model, tmp_path / "model.onnx")
    told = "layer norm" if "layer_norm" in WHOLE[kind] else f"one step of the model '{kind}' has no translation"
    assert done.step is None
    assert told in str(done.no_step)
    assert any(told in line for line in done.lines())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.tokenizer.json"]
    assert "states" not in json.loads(done.tokenizer.read_text(encoding="utf-8"))["writing"]
    session = onnxruntime.InferenceSession(str(done.path))
    ids = np.random.default_rng(1).integers(2, len(model.preprocessor.vocabulary), (1, STEPS))
    with torch.inference_mode():
        whole = model.network(torch.from_numpy(ids), torch.tensor([STEPS])).numpy()
    for length in (1, 7, STEPS):  # what comes later changes nothing before it
        (logits,) = session.run(None, {"ids": ids[:, :length], "lengths": np.array([length])})
        np.testing.assert_allclose(logits, whole[:, :length], rtol=1e-4, atol=1e-5)


def test_steps_that_differ_are_refused(writer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    right = stepping.states_of

    def shifted(model: Any) -> list[stepping.StepState]:
        return [stepping.StepState(one.name, [value + 0.01 for value in one.start]) for one in right(model)]

    monkeypatch.setattr(stepping, "states_of", shifted)
    with pytest.raises(ExportError, match="step by step, ONNX Runtime and torch differ"):
        export_model(writer("lstm"), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
