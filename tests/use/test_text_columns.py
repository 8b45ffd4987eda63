"""A table of support tickets with a subject and a body: from the file to the model in use, in every way there is."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import safetensors.numpy
from typer.testing import CliRunner

import rnnlab
from rnnlab.api.compare import prepare
from rnnlab.api.inspect import inspect_run
from rnnlab.cli.main import app
from rnnlab.core.errors import ConfigError, DataError, RunError
from rnnlab.data.joined import join
from rnnlab.runs.bundle import read_bundle, write_bundle
from rnnlab.runs.directory import RunDirectory
from rnnlab.use.asking import predict_file
from rnnlab.use.folded import NATIVE_FROM
from rnnlab.use.predictor import ReadingOn, load, network_outputs
from rnnlab.use.stored import pack

TOPICS = {
    "billing": ["invoice", "refund", "charge"],
    "login": ["password", "account", "locked"],
    "shipping": ["parcel", "courier", "address"],
}
FILLER = [
    "the",
    "my",
    "it",
    "was",
    "please",
    "help",
    "again",
    "still",
    "not",
    "sure",
    "why",
    "thanks",
    "hello",
    "order",
]
COLUMNS = ["subject", "body"]
SMALL = {"epochs": 2}


def tickets(rows: int, seed: int = 0) -> list[dict[str, str]]:
    """The subject says which team it is for; the body has a word of another one. Some bodies are blank."""
    draw = random.Random(seed)
    found = []
    for number in range(rows):
        team, other = draw.sample(list(TOPICS), 2)
        subject, body = ([draw.choice(FILLER) for _ in range(draw.randint(8, 14))] for _ in COLUMNS)
        subject[draw.randint(0, 3)] = draw.choice(TOPICS[team])
        body[draw.randint(4, 7)] = draw.choice(TOPICS[other])
        blank = number % 10 == 0
        found.append({"subject": " ".join(subject), "body": "" if blank else " ".join(body), "team": team})
    return found


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tickets") / "tickets.csv", tickets(300))


@pytest.fixture(scope="module")
def run(table: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return rnnlab.train(table, model="gru", text=COLUMNS, training=SMALL, out=tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def model(run: RunDirectory) -> rnnlab.Predictor:
    return load(run.path)


MODELS = ["rnn", "bilstm", "gru", "textcnn", "transformer", "linear", "fasttext", "mingru", "rcnn"]


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_reads_them_wherever_it_is_asked(table: Path, tmp_path: Path, kind: str):
    run = rnnlab.train(table, model=kind, text="subject,body", training=SMALL, out=tmp_path / "runs")
    predictor = load(run.path)
    data = predictor.task.load()
    texts = predictor.task.texts(range(len(data.test)))
    assert texts is not None
    again, _ = predictor.preprocessor.encode(texts)
    assert np.array_equal(again.values, data.test.values)
    evaluated = safetensors.numpy.load((run / "predictions.safetensors").read_bytes())["test.logits"]
    for place in (run.path, pack(run.path, tmp_path / "model.rnnlab")):
        np.testing.assert_allclose(load(place).logits(again), evaluated, atol=1e-5)
    assert len(predictor.explain(texts[0]).tokens) == int(again.offsets[1])
    weights = safetensors.numpy.load((run / "weights.safetensors").read_bytes())
    assert ("embedding.segments" in weights) == (kind != "fasttext")
    if kind != "fasttext":
        assert weights["embedding.segments"].any()  # they were learnt


def _scores(data: Path, text: list[str] | None, out: Path) -> dict[str, float]:
    found = rnnlab.compare(data, models=["textcnn"], seeds=1, text=text, training={"epochs": 8}, out=out, jobs=0)
    return {arm.label: arm.score.mean for arm in [*found.arms, *found.baselines] if arm.score is not None}


def test_native_answers_are_those_of_the_network(model: rnnlab.Predictor):
    rows = tickets(400, seed=2)  # enough tokens for native code
    data, _ = model.preprocessor.encode([(row["subject"], row["body"]) for row in rows])
    assert len(data.values) > NATIVE_FROM
    found, expected = model.logits(data), network_outputs(model.stored.network, data)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_who_counts_words_counts_them_by_column_too(tmp_path: Path):
    """The body has a word of another team: who counts words of both columns alike can only guess."""
    rows = tickets(900)
    blind = [{"text": f"{row['subject']} {row['body']}", "team": row["team"]} for row in rows]
    told = _scores(write(tmp_path / "tickets.csv", rows), COLUMNS, tmp_path)
    untold = _scores(write(tmp_path / "blind.csv", blind), None, tmp_path)
    for model in ("tfidf", "nbsvm", "textcnn"):
        assert told[model] > 0.95
        assert untold[model] < 0.8


def test_exported_models_and_baselines_read_them_too(table: Path, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    from rnnlab.use.onnx.writing import export_model

    networks = ["gru", "textcnn", "transformer"]
    found = rnnlab.compare(table, models=networks, seeds=1, text=COLUMNS, training=SMALL, out=tmp_path, jobs=0)
    runs = {arm.label: arm.runs[0].path for arm in [*found.arms, *found.baselines]}
    for label in (*networks, "tfidf", "nbsvm"):
        export_model(runs[label], tmp_path / f"{label}.onnx")  # it compares the two by itself
        reading = json.loads((tmp_path / f"{label}.tokenizer.json").read_text(encoding="utf-8"))
        assert (reading["text_columns"], reading["separator"], reading["vocabulary"][2]) == (COLUMNS, 2, "‖")
    for label in ("tfidf", "nbsvm"):
        said = load(runs[label]).explain(("my refund", "the parcel"))
        names = [name for name, _ in said.tokens]
        assert {"refund", "parcel", "subject:refund", "body:parcel"} <= set(names)
        assert not any("subject:parcel" in name for name in names)


def test_a_frame_a_dict_and_the_file_are_one_run(table: Path, tmp_path: Path):
    frame = pd.read_csv(table)  # blank bodies are NaN
    columns = {name: frame[name].fillna("").tolist() for name in frame}
    tasks = [
        prepare(data, models=["gru"], task={"text": text, "label": "team"})[0].task.fingerprint
        for data, text in (
            (str(table), "subject,body"),
            (str(table), ["subject", "body"]),
            (frame, COLUMNS),
            (pl.from_pandas(frame), "subject,body"),
            (columns, COLUMNS),
            (tickets(300), COLUMNS),
        )
    ]
    assert len(set(tasks)) == 1
    other = prepare(str(table), models=["gru"], task={"text": "body,subject", "label": "team"})[0]
    assert other.task.fingerprint != tasks[0]  # their order is part of the data


def test_a_frame_comes_back_with_its_answers(model: rnnlab.Predictor):
    rows = tickets(20, seed=5)
    expected = model.predict([join([row["subject"], row["body"]]) for row in rows])
    frame = pd.DataFrame(rows, index=list(range(100, 120)))
    found = model.predict(frame)
    assert isinstance(found, pd.DataFrame)
    assert found.index.equals(frame.index)
    assert list(found) == ["subject", "body", "team", "prediction", "probability", *(f"p({t})" for t in TOPICS)]
    assert found["prediction"].tolist() == [one.label for one in expected]
    assert found["p(login)"].tolist() == [one.probabilities["login"] for one in expected]
    in_polars = model.predict(pl.DataFrame(rows).drop("team"))
    assert isinstance(in_polars, pl.DataFrame)
    assert in_polars["prediction"].to_list() == found["prediction"].tolist()
    columns: dict[str, Any] = {name: frame[name].tolist() for name in ("body", "subject")}  # by name, in any order
    in_dict = model.predict(columns)
    assert in_dict["probability"] == found["probability"].tolist()
    assert list(in_dict) == ["body", "subject", "prediction", "probability", *(f"p({t})" for t in TOPICS)]
    renamed = frame.rename(columns={"subject": "title", "body": "text"})
    assert model.predict(renamed, text="title,text")["prediction"].tolist() == found["prediction"].tolist()
    missing = model.predict(frame.assign(body=None))
    assert missing["prediction"].tolist() == [
        one.label for one in model.predict([{"subject": row["subject"], "body": ""} for row in rows])
    ]
    assert list(model.predict(frame.iloc[:0])) == list(found)
    assert "prediction_new" in model.predict(found)  # what is there stays


def test_a_frame_without_the_columns_is_refused(model: rnnlab.Predictor):
    with pytest.raises(DataError, match=r"reads the columns subject, body, and there is no column 'subject'"):
        model.predict(pd.DataFrame({"title": ["a"], "body": ["b"]}))
    with pytest.raises(DataError, match=r"this model reads 2 columns \(subject, body\); name as many"):
        model.predict(pd.DataFrame(tickets(3)), text="subject")
    with pytest.raises(DataError, match="text names columns of a frame"):
        model.predict(["a‖b"], text="subject")  # type: ignore[call-overload]
    with pytest.raises(DataError, match="a column in memory is a list of values"):
        model.predict({"subject": "a", "body": "b"})


def test_frames_of_one_text_column(reviews_csv: Path, tmp_path: Path):
    model = load(rnnlab.train(reviews_csv, model="linear", training=SMALL, out=tmp_path).path)
    frame = pd.read_csv(reviews_csv)
    found = model.predict(frame)
    assert found["prediction"].tolist() == [one.label for one in model.predict(frame["text"].tolist())]
    assert model.predict(frame["text"])[0].label == found["prediction"][0]  # a series is a list of texts
    with pytest.raises(DataError, match="this model reads one text column; name one"):
        model.predict(frame, text=["text", "label"])


def test_frames_of_series(tmp_path: Path):
    series = [np.arange(length, dtype=np.float32) * sign for length in range(3, 23) for sign in (1, -1)]
    labels = ["up", "down"] * 20
    model = load(rnnlab.train((series, labels), model="linear", training=SMALL, out=tmp_path).path)
    found = model.predict({"name": ["a"] * 40, "values": series})
    assert found["prediction"] == [one.label for one in model.predict(series)]
    with pytest.raises(DataError, match="one column of the frame must hold arrays"):
        model.predict({"name": ["a"] * 40})


def test_files_need_the_columns_by_name(model: rnnlab.Predictor, table: Path, tmp_path: Path):
    done = predict_file(model, table, tmp_path / "answers.csv")
    assert done.rows == 300
    answers = pd.read_csv(tmp_path / "answers.csv")
    assert answers["prediction"].tolist() == model.predict(pd.read_csv(table))["prediction"].tolist()
    renamed = tmp_path / "renamed.csv"
    pd.read_csv(table).rename(columns={"subject": "Betreff"}).to_csv(renamed, index=False)
    with pytest.raises(DataError, match="no column 'subject'; name those of this table with --text"):
        predict_file(model, renamed, tmp_path / "more.csv")
    predict_file(model, renamed, tmp_path / "more.csv", column=["Betreff", "body"])
    assert pd.read_csv(tmp_path / "more.csv")["prediction"].tolist() == answers["prediction"].tolist()


def ask(*arguments: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, ["predict", *arguments], input=stdin)


def test_the_command_line_takes_a_text_per_column(run: RunDirectory):
    place = str(run.path)
    found = [
        ask(place, "Refund please", "my parcel is late"),
        ask(place, "Refund please‖my parcel is late"),
        ask(place, '{"body": "my parcel is late", "subject": "Refund please"}'),
        ask(place, stdin="Refund please‖my parcel is late\n"),
    ]
    assert len({result.stdout.split("\t")[1] for result in found}) == 1
    assert found[0].stdout.endswith("Refund please ‖ my parcel is late\n")
    wrong = ask(place, "Refund please")
    assert isinstance(wrong.exception, DataError)
    assert "give them as '…subject… ‖ …body…'" in str(wrong.exception)
    explained = ask(place, "Refund please", "my parcel", "--explain")
    assert "parcel" in explained.stdout


def test_what_grows_is_one_text(model: rnnlab.Predictor):
    with pytest.raises(RunError, match="--stream: this model reads the columns subject, body"):
        ReadingOn(model)


def test_it_can_be_looked_into(run: RunDirectory):
    found = inspect_run(run.path, text="Refund please‖my parcel")
    assert found.subject.tokens == ("refund", "please", "‖", "my", "parcel")


@pytest.mark.parametrize("columns", [["a"], ["a", "a"], [1, 2], ["a", "b", "c"], []])
def test_a_bundle_whose_columns_are_odd_is_refused(run: RunDirectory, tmp_path: Path, columns: list[Any]):
    members = read_bundle(pack(run.path, tmp_path / "model.rnnlab"))
    values = json.loads(members["model.json"]) | {"text_columns": columns}
    write_bundle(tmp_path / "odd.rnnlab", {**members, "model.json": json.dumps(values).encode()})
    with pytest.raises(rnnlab.RnnlabError, match=r"model\.json|not of this network"):
        _ = load(tmp_path / "odd.rnnlab").stored.network


def test_columns_are_given_once(table: Path):
    with pytest.raises(ConfigError, match="text: it is given twice"):
        rnnlab.train(table, text=COLUMNS, task={"text": "subject"})
    with pytest.raises(ConfigError, match="a column stands there twice"):
        rnnlab.train(table, text=["subject", "subject"])


def test_n_grams_vectors_and_cutting_go_with_them(table: Path, tmp_path: Path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("\n".join(f"{word} {n} {-n} 1" for n, word in enumerate([*FILLER, "refund"])), encoding="utf-8")
    settings = ["task.ngrams=[2]", "task.max_length=9", "model.embedding.word_dropout=0.2"]
    run = rnnlab.train(
        table, model="lstm", text=COLUMNS, training=SMALL, vectors=str(vectors), settings=settings, out=tmp_path
    )
    predictor = load(run.path)
    rows = tickets(30, seed=9)
    found = predictor.predict(rows and [(row["subject"], row["body"]) for row in rows])
    assert len(found) == 30
    words = predictor.preprocessor.words_of((rows[1]["subject"], rows[1]["body"]))
    assert (len(words), words.index("‖")) == (9, 4)
    data = predictor.task.load()
    assert data.train.lengths.max() == 9
    assert np.array_equal(np.unique(np.add.reduceat(data.train.tokens == 2, data.train.starts)), [1])
