"""Models that read n-grams beside the tokens: trained, predicted with, packed, exported and looked into like others."""

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import rnnlab
from rnnlab.api.compare import prepare
from rnnlab.api.inspect import inspect_run
from rnnlab.core.errors import ConfigError
from rnnlab.tasks.classify import Classify
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.predictor import load
from rnnlab.use.stored import pack

SETTINGS = ["task.ngrams=[2, 3]", "training.epochs=2"]


@pytest.mark.parametrize("model", ["lstm", "bigru", "textcnn", "transformer", "linear"])
def test_a_model_reads_n_grams_wherever_it_is_asked(reviews_csv: Path, tmp_path: Path, model: str):
    run = rnnlab.train(reviews_csv, model=model, settings=SETTINGS, out=tmp_path / "runs")
    predictor = load(run.path)
    data = predictor.task.load()
    assert data.vocabulary is not None
    assert data.tokens == 3
    assert (data.test.values[:, 1:] >= len(data.vocabulary.learnt_words)).any()
    evaluated = safetensors.numpy.load((run / "predictions.safetensors").read_bytes())["test.logits"]
    places = (run.path, pack(run.path, tmp_path / "model.rnnlab"))
    texts = predictor.task.texts(range(len(data.test)))
    assert texts is not None
    again, _ = predictor.preprocessor.encode(texts)
    assert np.array_equal(again.values, data.test.values)
    for place in places:
        opened = load(place)
        np.testing.assert_allclose(opened.logits(again), evaluated, atol=1e-5)
    table = safetensors.numpy.load((run / "weights.safetensors").read_bytes())["embedding.table"]
    assert len(table) == len(data.vocabulary)
    assert table[len(data.vocabulary.learnt_words) :].any()  # they were learnt
    assert len(predictor.explain(texts[0]).tokens) == len(again.values[: again.offsets[1]])
    assert inspect_run(run.path, text="not good at all").subject.tokens == ("not", "good", "at", "all")


def test_an_exported_model_takes_them_too(reviews_csv: Path, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    run = rnnlab.train(reviews_csv, model="gru", settings=SETTINGS, out=tmp_path / "runs")
    export_model(run.path, tmp_path / "model.onnx")  # it compares the two by itself
    reading = (tmp_path / "model.tokenizer.json").read_text()
    assert '"ngrams"' in reading


def test_baselines_read_the_tokens_alone(reviews_csv: Path, tmp_path: Path):
    scores = [
        {arm.label: arm.score for arm in found.baselines}
        for found in (
            rnnlab.compare(reviews_csv, models=["linear"], seeds=1, settings=settings, out=tmp_path, jobs=0)
            for settings in (SETTINGS, SETTINGS[1:])
        )
    ]
    assert scores[0] == scores[1]


def test_the_setting_is_new_and_checked(reviews_csv: Path):
    assert not {"ngrams", "ngram_size"} & Classify(data=str(reviews_csv)).to_dict().keys()
    for settings, message in (
        (["task.ngrams=[1]"], "sizes from 2 to 5"),
        (["task.ngrams=[2, 2]"], "each once"),
        (["task.ngram_size=10"], "would be ignored without 'ngrams'"),
    ):
        with pytest.raises(ConfigError, match=message):
            prepare(str(reviews_csv), models=["lstm"], settings=settings)
    experiment, _ = prepare(str(reviews_csv), models=["lstm", "fasttext"], settings=SETTINGS)
    assert list(experiment.arms) == ["lstm"]
    assert any("fasttext is left out" in note for note in experiment.notes)
