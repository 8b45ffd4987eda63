"""The files: what stands in them, and that there are none where something is wrong."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import safetensors.numpy

from rnnlab.answers.label import probabilities
from rnnlab.core.errors import RunError
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import ARCHITECTURES, Architecture, Encoded, Encoder
from rnnlab.models.baselines import BASELINES, Baseline
from rnnlab.training.spec import RunSpec
from rnnlab.use.onnx import ExportError, graph, parity
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import StoredModel, open_model

RUN = Path(__file__).parents[2] / "formats" / "v1"


def test_a_run_becomes_one_file_that_explains_itself(tmp_path):
    stored = open_model(RUN)
    done = export_model(RUN, tmp_path / "model.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.tokenizer.json"]
    written = onnx.load(done.path)
    assert done.size == done.path.stat().st_size
    assert written.opset_import[0].version >= 18
    assert not any(tensor.external_data for tensor in written.graph.initializer)
    assert stored.preprocessor.vocabulary is not None
    assert stored.preprocessor.tokenizer is not None
    said = {entry.key: entry.value for entry in written.metadata_props}
    assert json.loads(said["labels"]) == list(stored.preprocessor.labels)
    assert json.loads(said["vocabulary"]) == list(stored.preprocessor.vocabulary.words)
    assert json.loads(said["tokenizer"]) == stored.preprocessor.tokenizer.to_dict()
    assert json.loads(said["temperature"]) == stored.card.temperature
    assert said["spec"] == stored.spec.digest
    assert said["rnnlab"] == written.producer_version
    assert done.operators["GRU"] == 1
    assert done.difference <= 1e-5
    assert f"differ by at most {done.difference:.1e}" in "\n".join(done.lines())


def test_the_file_answers_as_the_model_does(tmp_path):
    """With nothing but the two files: ids by the vocabulary, probabilities by labels and temperature."""
    stored = open_model(RUN)
    done = export_model(stored, tmp_path / "model.onnx")
    reading = json.loads(done.tokenizer.read_text(encoding="utf-8"))
    texts = ["a fine film", "an awful film number 7", "unheard", ""]
    rows = [
        [reading["vocabulary"].index(w) if w in reading["vocabulary"] else 1 for w in t.split()] or [1] for t in texts
    ]
    longest = max(map(len, rows))
    ids = np.array([row + [reading["padding"]] * (longest - len(row)) for row in rows])
    session = onnxruntime.InferenceSession(done.path)
    logits = np.asarray(session.run(["logits"], {"ids": ids, "lengths": np.array([len(row) for row in rows])})[0])
    data, _ = stored.preprocessor.encode(texts)
    assert data.values.tolist() == [number for row in rows for number in row]
    expected = parity._answers(stored, ids, data.lengths)[0]
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    shares = probabilities(logits / reading["temperature"])
    assert shares.shape == (4, len(reading["labels"]))


@pytest.fixture
def tiny(made) -> StoredModel:
    return made(ARCHITECTURES.parse({"kind": "linear", "hidden": 4}))


def test_nothing_is_written_where_the_two_differ(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(parity, "TOLERANCE", 0.0)
    with pytest.raises(ExportError, match="nothing was written"):
        export_model(tiny, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_weights_that_one_file_cant_hold_are_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(graph, "LIMIT", 500)
    with pytest.raises(ExportError, match=r"one ONNX file holds less than .* would need files beside it"):
        export_model(tiny, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_the_name_and_the_folder(tiny, tmp_path):
    with pytest.raises(ExportError, match=r"model\.pt: the name of the file has to end with \.onnx"):
        export_model(tiny, tmp_path / "model.pt")
    with pytest.raises(ExportError, match=r"there is no folder .*nowhere"):
        export_model(tiny, tmp_path / "nowhere" / "model.onnx")
    with pytest.raises(RunError):
        export_model(tmp_path / "no-such-run", tmp_path / "model.onnx")


def test_a_missing_package_is_named_with_its_extra():
    """In a process where it can't be found."""
    script = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == sys.argv[1] else real(name, *a)\n"
        "from rnnlab.use.onnx.writing import export_model\n"
        "try:\n    export_model(sys.argv[2], 'model.onnx')\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
        "assert 'onnx' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script, "onnx", str(RUN)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "ExportError export needs the package 'onnx': pip install 'rnnlab[onnx]'\n", done.stderr


# Baselines


@pytest.mark.parametrize("kind", ["majority", "tfidf", "nbsvm", "statistics"])
def test_baselines(made, kind, tmp_path):
    baseline: Baseline = BASELINES[kind]()
    like = made(ARCHITECTURES["linear"](), "first-last" if kind == "statistics" else "classify")
    preprocessor: Preprocessor = like.preprocessor
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 20, 300))])
    if preprocessor.vocabulary is not None:
        values = rng.integers(1, len(preprocessor.vocabulary), offsets[-1]).astype(np.int32)
    else:
        values = rng.standard_normal((offsets[-1], preprocessor.features or 0)).astype(np.float32)
    targets = rng.integers(0, len(preprocessor.labels), 300)
    learnt = baseline.fit(values, offsets, targets, len(preprocessor.labels))
    weights = safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in learnt.items()})
    spec = RunSpec(like.spec.task, baseline, None, 0)
    done = export_model(StoredModel(spec.digest, spec, preprocessor, weights, like.card), tmp_path / "model.onnx")
    assert done.difference <= 1e-5
    if kind in ("tfidf", "nbsvm"):  # of one token, without any pair; and of one that training didn't see
        session = onnxruntime.InferenceSession(done.path)
        logits = np.asarray(session.run(None, {"ids": np.array([[5], [0]]), "lengths": np.array([1, 1])})[0])
        expected = baseline.logits(learnt, np.array([5, 0]), np.array([0, 1, 2]))
        np.testing.assert_allclose(logits, expected, atol=1e-5)


# What has no translation


class Strange(Encoder):
    width = state_width = 6

    def forward(self, x, lengths):
        return Encoded(x, x[:, 0])


class OfAPlugin(Architecture):
    kind = "strange"

    def build(self, input_width: int) -> Encoder:
        return Strange()


def test_an_encoder_from_elsewhere_is_refused_with_what_can_be_done(made, tmp_path):
    with pytest.raises(ExportError, match=r"no translation of 'Strange'.*rnnlab predict and rnnlab serve take"):
        export_model(made(OfAPlugin()), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_plugin_that_builds_one_of_our_encoders_is_exported(made, tmp_path):
    class Mine(ARCHITECTURES["linear"]):
        kind = "mine"

    assert export_model(made(Mine()), tmp_path / "model.onnx").kind == "mine"


# What goes in


def test_numbers_are_taken_as_they_stand_in_the_data(made, tmp_path):
    """Standardising is part of the graph."""
    stored = made(ARCHITECTURES["gru"](), "first-last")
    done = export_model(stored, tmp_path / "model.onnx")
    series = np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32) * 4 + 3
    data, _ = stored.preprocessor.encode([series])
    session = onnxruntime.InferenceSession(done.path)
    logits = np.asarray(session.run(None, {"features": series[None], "lengths": np.array([9])})[0])
    np.testing.assert_allclose(logits, parity._answers(stored, series[None], data.lengths)[0], atol=1e-5)
    assert not np.allclose(data.values, series)
    reading = json.loads(done.tokenizer.read_text(encoding="utf-8"))
    assert (reading["tokenizer"], reading["vocabulary"], reading["input"]["name"]) == (None, None, "features")


def test_a_bundle_and_its_run_give_the_same_answers(tmp_path):
    from rnnlab.use.stored import pack

    packed = pack(RUN, tmp_path / "model.rnnlab")
    texts = {"ids": np.array([[3, 4, 0], [2, 5, 6]]), "lengths": np.array([2, 3])}
    answers = []
    for number, source in enumerate((RUN, packed)):
        done = export_model(source, tmp_path / f"{number}.onnx")
        answers.append(onnxruntime.InferenceSession(done.path).run(None, texts)[0])
    np.testing.assert_array_equal(answers[0], answers[1])


def test_jieba_is_described_but_not_by_rules(made, tmp_path):
    pytest.importorskip("rjieba")
    from rnnlab.data.tokenizers import Tokenizer

    stored = made(ARCHITECTURES["linear"]())
    chinese = replace(stored, preprocessor=replace(stored.preprocessor, tokenizer=Tokenizer("jieba")))
    done = export_model(chinese, tmp_path / "model.onnx")
    rules = json.loads(done.tokenizer.read_text(encoding="utf-8"))["tokenizer"]
    assert rules["name"] == "jieba"
    assert "+rjieba-" in rules["version"]
    assert "pattern" not in rules
