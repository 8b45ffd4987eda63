"""Several labels per row, from the file to the model in use."""

import csv
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from sklearn.metrics import accuracy_score
from sklearn.metrics import f1_score as typed_f1_score

import rnnlab
from rnnlab.core.errors import ConfigError, DataError, RunError
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.runs.directory import RunDirectory
from rnnlab.serving.models import open_served
from rnnlab.show.terminal.output import run_list
from rnnlab.tasks.classify import Classify
from rnnlab.testing import check_task
from rnnlab.training.record import Recorded
from rnnlab.use.asking import predict_file
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import pack

f1_score: Any = typed_f1_score  # whose zero_division may well be a number

WORDS = {
    "billing": (0.35, ["invoice", "charge", "fee"]),
    "bug": (0.25, ["crash", "error"]),
    "login": (0.25, ["password", "account"]),
    "praise": (0.15, ["love", "great"]),
    "refund": (0.2, ["refund", "money"]),
}
FILLERS = ["the", "a", "my", "please", "we", "on", "with", "again", "today", "it", "was", "customer", "app", "page"]


def tickets(path: Path, rows: int = 1200, seed: int = 0, separator: str = ";") -> Path:
    """Labels are known functions of words: a row has a label where it has one of its words."""
    draw = random.Random(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "labels"])
        for _ in range(rows):
            labels = [label for label, (share, _) in WORDS.items() if draw.random() < share]
            text = draw.choices(FILLERS, k=draw.randint(6, 14))
            for label in labels:
                text.insert(draw.randint(0, len(text)), draw.choice(WORDS[label][1]))
            writer.writerow([" ".join(text), separator.join(labels)])
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> rnnlab.Comparison:
    """Two networks and all baselines, in this process."""
    folder = tmp_path_factory.mktemp("several")
    return rnnlab.compare(
        str(tickets(folder / "tickets.csv")),
        models=["gru", "fasttext"],
        seeds=1,
        task={"multi_label": ";"},
        training={"epochs": 12},
        out=str(folder / "runs"),
        jobs=0,
    )


def runs_of(comparison: Any) -> dict[str, RunDirectory]:
    folder = Path(comparison.folder).parent.parent
    return {arm.label: RunDirectory(folder / arm.runs[0].digest) for arm in (*comparison.arms, *comparison.baselines)}


def scores_of(run: RunDirectory) -> dict[str, Any]:
    result = run.result()
    assert result is not None
    return result["test"]


def test_networks_and_baselines_learn_what_the_words_say(trained: Any):
    test = {label: scores_of(run) for label, run in runs_of(trained).items()}
    assert set(test) == {"gru", "fasttext", "majority", "nbsvm", "tfidf"}
    for label in ("gru", "nbsvm", "tfidf"):
        assert test[label]["micro_f1"] > 0.9, label
    assert test["fasttext"]["micro_f1"] > test["majority"]["micro_f1"] + 0.15  # it needs more rows, or more epochs
    assert 0.2 < test["majority"]["micro_f1"] < 0.6
    assert trained.verdict.metric == "micro-F1"


def test_recorded_scores_are_those_of_scikit_learn(trained: Any):
    for label, run in runs_of(trained).items():
        saved, result = Recorded.of(run), scores_of(run)
        kept, true = saved.kept("test"), saved.truth("test").values
        answered = (kept["logits"] >= kept["cuts"]).astype(np.uint8)
        assert result["micro_f1"] == pytest.approx(f1_score(true, answered, average="micro", zero_division=0)), label
        assert result["macro_f1"] == pytest.approx(f1_score(true, answered, average="macro", zero_division=0)), label
        assert result["exact"] == pytest.approx(accuracy_score(true, answered)), label
        assert result["by_label"]["rows"] == true.sum(0).tolist()
        assert saved.per_row().mean() == pytest.approx(result["micro_f1"])


def test_thresholds_come_from_the_validation_rows_alone(trained: Any):
    """Other test rows leave the stored thresholds as they are; other validation rows don't."""
    for label, run in runs_of(trained).items():
        saved = Recorded.of(run)
        answer, stored = saved.answer, Preprocessor.from_json((run / "model.json").read_text()).thresholds
        logits = {"logits": saved.kept("valid")["logits"]}
        again = answer.decided(logits, saved.truth("valid"))
        assert np.allclose(again["cuts"], saved.kept("test")["cuts"]), label
        assert len(stored) == len(WORDS)
        if label == "majority":  # which says the same of all rows, in whatever order they are
            continue
        other = answer.decided(logits, replace(saved.truth("valid"), values=saved.truth("valid").values[::-1]))
        assert not np.allclose(other["cuts"], again["cuts"]), label


@pytest.mark.parametrize("label", ["gru", "fasttext", "nbsvm", "tfidf", "majority"])
def test_a_stored_model_answers_as_it_was_scores_of(trained: Any, label: str, tmp_path: Path):
    run = runs_of(trained)[label]
    saved, task = Recorded.of(run), Classify(**{k: v for k, v in run.spec()["task"].items() if k != "kind"})
    rows = list(range(len(saved)))
    texts = task.texts(rows)
    assert texts is not None
    labels = task.load().labels
    counted = saved.answer.answers(saved.kept("test"))
    assert counted is not None
    expected = [";".join(one for one, given in zip(labels, row, strict=True) if given) for row in counted]
    packed = pack(run.path, tmp_path / "model.rnnlab")
    for model in (rnnlab.load(run.path), rnnlab.load(packed)):
        assert [one.label for one in model.predict(texts)] == expected


def test_onnx_gives_the_same_labels(trained: Any, tmp_path: Path):
    run = runs_of(trained)["gru"]
    model = rnnlab.load(run.path)
    export_model(run.path, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    told = json.loads((tmp_path / "model.tokenizer.json").read_text(encoding="utf-8"))
    meta = session.get_modelmeta().custom_metadata_map
    assert json.loads(meta["thresholds"]) == told["thresholds"] == list(model.preprocessor.thresholds)
    text = "the app was a error and my refund please"
    ids = model.preprocessor.encode([text])[0].values.astype(np.int64)[None]
    logits: Any = session.run(None, {"ids": ids, "lengths": np.array([ids.shape[1]])})[0]
    shares = 1 / (1 + np.exp(-logits[0] / told["temperature"]))
    given = [
        label for label, share, cut in zip(told["labels"], shares, told["thresholds"], strict=True) if share >= cut
    ]
    assert tuple(given) == model.predict([text])[0].labels == ("bug", "refund")


def test_a_file_is_answered_with_joined_labels_and_a_column_per_label(trained: Any, tmp_path: Path):
    model = rnnlab.load(runs_of(trained)["gru"].path)
    rows = tickets(tmp_path / "new.csv", 20, seed=5)
    predict_file(model, rows, tmp_path / "out.csv", column="text")
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == ["text", "labels", "prediction", *(f"p({label})" for label in WORDS)]
    assert sum(set(row["labels"].split(";")) == set(row["prediction"].split(";")) for row in written) >= 18
    with pytest.raises(RunError, match="-o has a column for each label anyway"):
        predict_file(model, rows, tmp_path / "out.csv", column="text", top=2)


@pytest.mark.parametrize("label", ["gru", "nbsvm", "tfidf"])
def test_an_explanation_is_of_the_most_probable_label_or_of_one_that_is_named(trained: Any, label: str):
    model = rnnlab.load(runs_of(trained)[label].path)
    for name, word in (("bug", "error"), ("refund", "refund")):
        found = model.explain("the app had an error and a refund", label=name)
        assert max(found.tokens, key=lambda token: token[1])[0] == word
    assert model.explain("error error refund").label in ("bug", "refund")
    with pytest.raises(DataError, match="no label 'bug;refund'"):
        model.explain("error", label="bug;refund")


def test_the_card_tells_of_every_label(trained: Any):
    from rnnlab.use.card_markdown import card_markdown

    card = rnnlab.load(runs_of(trained)["gru"].path).card
    told = card_markdown(card, "x")
    assert "any of 5 labels, or none" in told
    assert "| label | threshold | test rows | recall | precision | F1 |" in told
    assert told.count("\n| praise |") == 1


def test_it_obeys_the_laws_of_tasks(tmp_path: Path):
    check_task(Classify(data=str(tickets(tmp_path / "tickets.csv", 300)), multi_label=";"))


def test_rows_that_stand_in_train_can_be_looked_up(tmp_path: Path):
    """By the baseline of that name; a row with several labels there gets all of them, one without gets none."""
    path = tickets(tmp_path / "tickets.csv", 200)
    with open(path, encoding="utf-8") as file:
        header, *lines = file.read().splitlines()
    held_out = tmp_path / "test.csv"
    held_out.write_text("\n".join([header, *lines[:50]]) + "\n", encoding="utf-8")
    found = rnnlab.compare(
        str(path),
        models=["linear"],
        seeds=1,
        task={"multi_label": ";", "test": str(held_out)},
        training={"epochs": 1},
        out=str(tmp_path / "runs"),
        jobs=0,
        lookup=True,
    )
    runs = runs_of(found)
    assert scores_of(runs["linear"])["exact"] > 0.8  # but for those that were drawn for validation
    model, texts = rnnlab.load(runs["linear"].path), [line.rpartition(",") for line in lines[:50]]
    right = sum(
        ";".join(one.labels) == labels
        for one, (_, _, labels) in zip(model.predict([t[0] for t in texts]), texts, strict=True)
    )
    assert right == round(50 * scores_of(runs["linear"])["exact"])


def test_the_separator_is_no_part_of_the_data(tmp_path: Path):
    """The same rows, divided by another separator or given as lists, are the same runs."""
    marks = set()
    for separator in (";", "|", ", "):
        path = tickets(tmp_path / f"by {ord(separator[0])}.csv", 200, separator=separator)
        marks.add(Classify(data=str(path), multi_label=separator.strip()).resolve().fingerprint)
    assert len(marks) == 1
    with open(tmp_path / "by 59.csv", newline="", encoding="utf-8") as file:
        rows = [{**row, "labels": [part for part in row["labels"].split(";") if part]} for row in csv.DictReader(file)]
    lines = tmp_path / "lists.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert Classify(data=str(lines), multi_label=";").resolve().fingerprint in marks


def test_other_tasks_have_the_digests_that_they_had():
    assert "multi_label" not in Classify().to_dict()


@pytest.mark.parametrize("metric", ["micro-f1", "macro-f1", "exact", "log-loss"])
def test_the_metric_is_one_of_its_scores(metric: str):
    task = Classify(data="x.csv", multi_label=";", metric=metric)
    assert task.answer.judged.option == metric
    assert (task.metric is None) == (metric == "micro-f1")  # as if nobody had said it


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="'multi_label' is a setting of a file"):
        rnnlab.compare("reviews", task={"multi_label": ";"})
    with pytest.raises(ConfigError, match="no score of 'classify' is called 'accuracy'"):
        rnnlab.compare("x.csv", task={"multi_label": ";", "metric": "accuracy"})
    with pytest.raises(ConfigError, match="no score of 'classify' is called 'micro-f1'"):
        rnnlab.compare("x.csv", task={"metric": "micro-f1"})


@pytest.mark.parametrize("setting", ["training.class_weights=balanced", "baselines.tfidf.class_weights=balanced"])
def test_class_weights_are_refused_with_a_reason(tmp_path: Path, setting: str):
    with pytest.raises(ConfigError, match="class_weights: with 'multi_label' a row belongs to no single class"):
        rnnlab.compare(
            str(tickets(tmp_path / "x.csv", 100)), models=["gru"], task={"multi_label": ";"}, settings=[setting]
        )


def test_the_list_of_runs_has_their_score(trained: Any, capsys: pytest.CaptureFixture[str]):
    run = runs_of(trained)["gru"]
    run_list([run], as_json=True)
    assert json.loads(capsys.readouterr().out)["micro_f1"] == scores_of(run)["micro_f1"]
    run_list([run], as_json=False)
    assert "micro-F1" in capsys.readouterr().out


def test_what_is_served_tells_labels_and_thresholds(trained: Any):
    served = open_served("tickets", str(runs_of(trained)["gru"].path))
    (answer,), _ = served.explain(["the app was a error and my refund please"])
    assert answer["labels"] == ["bug", "refund"]
    assert answer["label"] == "bug;refund"
    assert answer["thresholds"].keys() == answer["probabilities"].keys() == WORDS.keys()
    assert {"text", "weight", "known"} == answer["tokens"][0].keys()
    assert [one["rows"] for one in served.info["by_label"]] == scores_of(runs_of(trained)["gru"])["by_label"]["rows"]
