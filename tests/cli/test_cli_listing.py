"""What there is: runs, models, tasks, vectors, data sets; and a look at data."""

import json
from pathlib import Path

import pytest

from rnnlab.config import Config
from rnnlab.data import catalogue
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES
from rnnlab.tasks.base import TASKS


def test_runs(compared, rnnlab):
    folder = str(compared.folder / "runs")
    records = {record["run"]: record for record in rnnlab("runs", folder, "--json").json_lines()}
    for arm in compared.result["arms"] + compared.result["baselines"]:
        for run in arm["runs"]:
            record = records[run["digest"]]
            assert record["model"] == arm["model"]["kind"]
            assert record["status"] == "finished"
            assert (record["seed"], record["accuracy"]) == (run["seed"], run["accuracy"])
    lines = rnnlab("runs", folder).out.splitlines()
    assert lines[0].split() == ["run", "model", "data", "seed", "status", "accuracy", "macro-F1", "best", "epoch"]
    assert {line.split()[0] for line in lines[1:]} == set(records)
    assert all("reviews.csv" in line for line in lines[1:])


def test_an_unfinished_run_is_listed_as_such(compared, rnnlab, tmp_path):
    spec = Path(compared.run("rnn")) / "spec.json"
    (tmp_path / "runs" / "half").mkdir(parents=True)
    (tmp_path / "runs" / "half" / "spec.json").write_bytes(spec.read_bytes())
    assert rnnlab("runs", "--json").json_lines()[0]["status"] == "unfinished"
    assert "unfinished" in rnnlab("runs").out


@pytest.mark.parametrize(("what", "classes"), [("models", [*ARCHITECTURES, *BASELINES]), ("tasks", [*TASKS])])
def test_every_kind_is_listed_with_every_setting(rnnlab, what, classes):
    sections: dict[str, list[str]] = {}
    for line in rnnlab("list", what).out.splitlines():
        if line.startswith("    "):
            sections[list(sections)[-1]].append(line.split(" = ")[0].strip())
        else:
            name, about = line.split(": ", 1)
            assert about.endswith(".")  # a whole sentence
            sections[name] = []
    assert sections == {cls.kind: list(cls.model_fields) for cls in classes}
    schemas = rnnlab("list", what, "--json").json()
    assert {kind: list(schema["properties"]) for kind, schema in schemas.items()} == sections


def test_defaults_are_shown_as_they_are(rnnlab):
    lines = rnnlab("list", "models").out
    for cls in ARCHITECTURES:
        for name, field in cls.model_fields.items():
            if not isinstance(field.default, Config):
                assert f"    {name} = {json.dumps(field.default)}" in lines


def test_vectors(rnnlab):
    assert "glove-6b-50d\n" in rnnlab("list", "vectors").out


def test_data_list_names_every_data_set(rnnlab):
    lines = rnnlab("data", "list").out.splitlines()
    names = {line.split()[0] for line in lines[1:] if not line.startswith(" ")}
    assert names == set(catalogue.names())


def test_data_profile(rnnlab, reviews_csv):
    done = rnnlab("data", "profile", "reviews.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("60 rows: train 42, valid 6, test 12\n2 labels: ")
    profile = rnnlab("data", "profile", "reviews.csv", "--json").json()
    assert profile["rows"] == {"train": 42, "valid": 6, "test": 12}
    assert profile["tokenizer"] == "words"
    chars = rnnlab("data", "profile", "reviews.csv", "--tokenizer", "chars", "--json").json()
    assert chars["tokenizer"] == "chars"


def test_data_profile_of_a_file_without_a_header(rnnlab, reviews_csv, tmp_path):
    rows = reviews_csv.read_text(encoding="utf-8").splitlines()[1:]
    (tmp_path / "bare.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = rnnlab("data", "profile", "bare.csv", "--columns", "text,label", "--json")
    assert done.code == 0, done.err
    assert sum(done.json()["rows"].values()) == 60


def test_data_profile_of_the_embedded_reviews(rnnlab):
    done = rnnlab("data", "profile", "--json")
    assert done.code == 0, done.err
    assert sum(done.json()["rows"].values()) == 8000
