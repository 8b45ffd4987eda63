"""Forecasters as ONNX: every scaling, with a line and without, windows of all lengths, baselines; to torch's digits."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import safetensors.numpy
import torch

from rnnlab.answers.forecast import Forecast
from rnnlab.data.calendar import Spacing, calendar_features, calendar_turns
from rnnlab.data.observed import Observed
from rnnlab.data.preprocessor import Preprocessor, Scaler
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES
from rnnlab.training.spec import RunSpec
from rnnlab.use.forecasting import Forecaster
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.parity import open_session
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import StoredModel

HORIZON, LOOKBACK, CHANNELS = 5, 12, 2
SCALES = np.array([[[10.0, -3.0], [2.0, 0.5], [1.0, 1.0]]])
OBSERVED = Observed(HORIZON, LOOKBACK, 4, ("",), SCALES, Spacing(seconds=3600), True, True)
READ = Preprocessor(
    labels=("load", "heat"), scaler=Scaler((0.0,) * OBSERVED.width, (1.0,) * OBSERVED.width), observed=OBSERVED
)
TASK: dict[str, Any] = {
    "data": "made-up", "horizon": HORIZON, "lookback": LOOKBACK, "season": 4, "channels": CHANNELS,
}  # fmt: skip
OFF = np.sort(np.random.default_rng(3).normal(size=(HORIZON, CHANNELS, 5)), axis=2).astype(np.float32)


def windows(lengths: list[int], seed: int = 0) -> np.ndarray:
    """(B, T, D); what is padding is no zero."""
    return np.random.default_rng(seed).normal(size=(len(lengths), max(lengths) + 2, OBSERVED.width)).astype(np.float32)


def as_rows(features: np.ndarray, lengths: list[int]) -> Sequences:
    real = np.arange(features.shape[1]) < np.array(lengths)[:, None]
    offsets, rows = offsets_of(np.array(lengths)), np.arange(len(lengths))
    ahead = np.full((sum(lengths) + HORIZON, CHANNELS), np.nan, np.float32)
    return Sequences(features[real], offsets[:-1], offsets[1:], ahead, rows, horizon=HORIZON, series=rows * 0,
                     scales=SCALES)  # fmt: skip


def check(model: StoredModel, path: Path) -> onnxruntime.InferenceSession:
    """ONNX Runtime says what the forecaster says, of windows of all lengths, alone and together."""
    export_model(model, path)
    session = open_session(path.read_bytes())
    for lengths in ([1], [2, LOOKBACK, 7], [LOOKBACK] * 3, [3, 1, 12, 11, 5]):
        features = windows(lengths)
        expected = Forecaster(model).of_windows(as_rows(features, lengths))
        found = np.asarray(session.run(None, {"features": features, "lengths": np.array(lengths)})[0])
        assert found.shape == (len(lengths), HORIZON, CHANNELS, Forecaster(model).answer.numbers)
        assert np.abs(found - expected).max() < 1e-5
    return session


@pytest.mark.parametrize("scaling", ["none", "last", "window"])
@pytest.mark.parametrize("line", [True, False])
def test_a_window_is_measured_inside_the_graph(made: Any, tmp_path: Path, scaling: str, line: bool):
    model = made(
        ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=READ, **TASK, scaling=scaling, line=line
    )
    check(model, tmp_path / "model.onnx")


@pytest.mark.parametrize("kind", ["lstm", "mingru", "dilated", "transformer", "textcnn", "linear"])
def test_every_kind_of_encoder_forecasts(made: Any, tmp_path: Path, kind: str):
    check(made(ARCHITECTURES[kind](), "forecast", preprocessor=READ, **TASK), tmp_path / "model.onnx")


def test_quantiles_ascend_though_the_network_does_not_say_so(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=READ, **TASK)
    session = check(model, tmp_path / "model.onnx")
    features, lengths = windows([LOOKBACK] * 40), np.full(40, LOOKBACK)
    found = np.asarray(session.run(None, {"features": features, "lengths": lengths})[0])
    assert (np.diff(found, axis=3) >= 0).all()
    with torch.inference_mode():
        out = model.network(torch.from_numpy(features), torch.from_numpy(lengths)).view(40, HORIZON, CHANNELS, 5)
    assert (out.diff(dim=3) < 0).any()


def test_without_quantiles_there_is_one_number(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=READ, **TASK, quantiles=[])
    check(model, tmp_path / "model.onnx")


def learnt_of(kind: str, shared: bool) -> dict[str, np.ndarray]:
    weights = np.random.default_rng(1).normal(size=(1 if shared else CHANNELS, LOOKBACK, HORIZON)).astype(np.float32)
    own = {
        "last-value": {},
        "seasonal-naive": {"season": np.array([3])},
        "moving-average": {"size": np.array([8])},
        "ridge": {"weights": weights, "penalty": np.array([0.1])},
    }
    return {**own[kind], "off": OFF}


def baseline(kind: str, learnt: dict[str, np.ndarray], made: Any) -> StoredModel:
    model = made(ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=READ, **TASK)
    spec = RunSpec(model.spec.task, BASELINES[kind](), None, 0)
    return replace(model, spec=spec, weights=safetensors.numpy.save(learnt))


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("last-value", True), ("seasonal-naive", True), ("moving-average", True), ("ridge", True), ("ridge", False)],
)
def test_baselines_are_exported(made: Any, tmp_path: Path, kind: str, shared: bool):
    check(baseline(kind, learnt_of(kind, shared), made), tmp_path / "model.onnx")


def test_other_baselines_are_refused_in_a_sentence(made: Any, tmp_path: Path):
    with pytest.raises(ExportError, match="no translation of the baseline 'theta'; rnnlab predict and rnnlab serve"):
        export_model(baseline("theta", {"off": OFF}, made), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_one_that_reads_its_own_forecasts_is_refused_in_a_sentence(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES["gru"](), "forecast", preprocessor=READ, **TASK, strategy="recursive")
    with pytest.raises(ExportError, match=r"by reading its own forecasts .* train a direct one"):
        export_model(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_the_file_beside_it_tells_how_features_are_made(made: Any, tmp_path: Path):
    model = made(ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=READ, **TASK)
    done = export_model(model, tmp_path / "model.onnx")
    assert "how series become features, and forecasts become values" in done.lines()[3]
    reading = json.loads((tmp_path / "model.tokenizer.json").read_text(encoding="utf-8"))
    assert reading["input"] == {"name": "features", "each": OBSERVED.width}
    assert reading["forecasting"] == {
        "channels": ["load", "heat"], "horizon": 5, "lookback": 12, "quantiles": [0.1, 0.25, 0.5, 0.75, 0.9],
        "standardise": "series", "series": [""], "mean": [[10, -3]], "std": [[2, 0.5]], "marks": True,
        "spacing": {"seconds": 3600, "months": 0}, "calendar": ["day", "week", "year"],
    }  # fmt: skip
    session = open_session((tmp_path / "model.onnx").read_bytes())
    assert json.loads(session.get_modelmeta().custom_metadata_map["forecasting"]) == reading["forecasting"]


@pytest.mark.parametrize(
    ("spacing", "turns"),
    [
        (Spacing(seconds=3600), ["day", "week", "year"]),
        (Spacing(seconds=86_400), ["week", "year"]),
        (Spacing(seconds=7 * 86_400), ["year"]),
        (Spacing(months=1), ["year"]),
        (Spacing(months=12), []),
    ],
)
def test_turns_of_the_calendar_are_its_columns(spacing: Spacing, turns: list[str]):
    assert calendar_turns(spacing) == turns
    assert calendar_features(np.array(["2024-02-29T13:00"], "datetime64[s]"), spacing).shape == (1, 2 * len(turns))


def test_what_is_forecast_is_a_forecast(made: Any):
    answer = made(ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=READ, **TASK).spec.task.answer
    assert isinstance(answer, Forecast)
    assert (answer.scaling, answer.line_of) == ("last", LOOKBACK)
