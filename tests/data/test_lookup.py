"""Rows that stand in the training rows: found by their tokens alone, answered by their labels there."""

import csv
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import rnnlab
from rnnlab.api.compare import prepare
from rnnlab.comparing.comparison import Comparison
from rnnlab.core.errors import ConfigError
from rnnlab.data.lookup import Lookup, row_keys, seen_rows
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.models.base import ARCHITECTURES
from rnnlab.show import result_files as tables
from rnnlab.show.pages.report_tables import score_table
from rnnlab.use.predictor import load
from rnnlab.use.stored import pack


def rows_of(rows: list[list[int]], targets: list[int] | None = None) -> Sequences:
    values = np.array([i for row in rows for i in row], np.int32)
    offsets = offsets_of(np.array([len(row) for row in rows]))
    return Sequences.end_to_end(values, offsets, np.array(targets or [0] * len(rows)), np.arange(len(rows)))


def test_equal_rows_have_equal_keys_wherever_they_stand():
    data = rows_of([[2, 3], [2], [3, 2], [2, 3], [2, 3, 0]])
    keys = row_keys(data).tolist()
    assert keys[0] == keys[3]
    assert len(set(keys)) == 4
    with_ngrams = Sequences.end_to_end(
        np.column_stack([data.values, data.values + 9]), data.offsets, data.targets, data.groups
    )
    assert row_keys(with_ngrams).tolist() == keys
    series = Sequences.end_to_end(np.ones((4, 2), np.float32), np.array([0, 1, 2, 4]), np.zeros(3, int), np.arange(3))
    assert seen_rows(series, rows_of([[2]])).tolist() == [False] * 3
    assert row_keys(series)[0] == row_keys(series)[1] != row_keys(series)[2]


def test_the_labels_of_the_training_rows_answer_and_the_model_decides_a_tie():
    lookup = Lookup.build(rows_of([[2], [2], [2], [3], [3], [4]], [0, 1, 1, 0, 2, 2]), 3)
    logits = np.array([[5.0, 0, 0], [0, 1, 3], [9, 0, 0], [0.5, 0.25, 0]], np.float32)
    found = lookup.answer(logits, rows_of([[2], [3], [4], [2, 3]]))
    assert found.argmax(1).tolist() == [1, 2, 2, 0]
    assert np.array_equal(found[3], logits[3])  # no training row: the model alone
    shares = np.exp(found[:3].astype(np.float64))
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-6)
    guess = np.exp(logits[0]) / np.exp(logits[0]).sum()
    np.testing.assert_allclose(shares[0], (np.array([1, 2, 0]) + guess) / 4, rtol=1e-5)


@pytest.fixture
def data(tmp_path: Path) -> dict[str, str]:
    """Training rows whose labels are luck, and test rows of which half stand there."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(30)]
    known = [" ".join(rng.choice(words, 4)) for _ in range(100)]
    label = {text: rng.choice(["yes", "no"]) for text in known}
    rows = {
        "train": [(text, label[text]) for text in known],
        "valid": [(" ".join(rng.choice(words, 4)), "yes") for _ in range(20)],
        "test": [(text, label[text]) for text in known[:20]]
        + [(" ".join(rng.choice(words, 4)), rng.choice(["yes", "no"])) for _ in range(20)],
    }
    for name, content in rows.items():
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *content])
    return {name: str(tmp_path / f"{name}.csv") for name in rows}


def compare(data: dict[str, str], out: Path, **options) -> Comparison:
    task = {"valid": data["valid"], "test": data["test"]}
    training = {"epochs": 1}
    return rnnlab.compare(
        data["train"], models=["linear"], seeds=2, task=task, training=training, out=out, jobs=0, **options
    )


def test_every_model_and_baseline_looks_rows_up_when_asked(data, tmp_path):
    plain, looked_up = compare(data, tmp_path / "plain"), compare(data, tmp_path / "lookup", lookup=True)
    for arm in (*looked_up.arms, *looked_up.baselines):
        seen = arm.by_seen["seen"]
        assert seen.count == 20
        assert (seen.score == 1) == (arm.label != "majority")
    assert plain.arms[0].by_seen["seen"].score < 1
    assert plain.arms[0].by_seen["unseen"] == looked_up.arms[0].by_seen["unseen"]
    (baseline,) = [arm for arm in plain.baselines if arm.label == "lookup"]
    assert baseline.by_seen["seen"].score == 1
    assert plain.seen_matters
    shown = f"{100 * plain.arms[0].by_seen['unseen'].score:.1f} %"
    assert "| seen rows | unseen rows |" in tables.markdown(plain)
    assert shown in tables.markdown(plain)
    row = next(row for row in csv.DictReader(tables.comparison_csv(plain).splitlines()) if row["label"] == "lookup")
    assert float(row["score_seen"]) == 1
    names = [column.name.en for column in score_table(plain, {}).columns]
    assert ("seen rows, %" in names, "unseen rows, %" in names) == (True, True)
    assert plain.to_dict()["arms"][0]["by_seen"]["seen"]["count"] == 20


def test_a_few_rows_that_stand_in_train_are_not_worth_two_columns(reviews_csv, tmp_path):
    found = rnnlab.compare(reviews_csv, models=["linear"], seeds=1, training={"epochs": 1}, out=tmp_path, jobs=0)
    assert not found.seen_matters
    assert "seen" not in tables.markdown(found)
    assert "lookup" not in [arm.label for arm in found.baselines]


def test_the_table_goes_with_the_model(data, tmp_path):
    found = compare(data, tmp_path / "runs", lookup=True)
    run = Path(found.arms[0].runs[0].path)
    evaluated = safetensors.numpy.load((run / "predictions.safetensors").read_bytes())["test.logits"]
    texts = [row["text"] for row in csv.DictReader(Path(data["test"]).read_text().splitlines())]
    for place in (run, pack(run, tmp_path / "model.rnnlab")):
        model = load(place)
        rows, _ = model.preprocessor.encode(texts)
        np.testing.assert_allclose(model.logits(rows), evaluated, atol=1e-4)
        assert model.predict([texts[0]])[0].probability > 0.5
    for arm in found.baselines:
        model = load(arm.runs[0].path)
        assert model.logits(model.preprocessor.encode(texts)[0]).shape == (40, 2)


def test_the_setting_is_new_and_only_for_one_label():
    assert "lookup" not in ARCHITECTURES.parse({"kind": "lstm"}).to_dict()
    assert ARCHITECTURES.parse({"kind": "lstm", "lookup": True}).to_dict()["lookup"] is True
    with pytest.raises(ConfigError, match="rows are looked up where each has one label"):
        prepare(None, models=["lstm"], task={"kind": "copy"}, lookup=True)
