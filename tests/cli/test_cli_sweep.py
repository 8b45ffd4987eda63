"""rnnlab sweep, from a file to tables and pictures."""

import csv
import json
from pathlib import Path

import pytest

FILE = """
name = "加法 sweep"
repeats = 2
target = { value = 0.5, cap = 100 }
heatmaps = [["training.lr", "model.hidden"]]
[task]
kind = "addition"
length = 2
held_out = 40
[model]
kind = "rnn"
embedding = { width = 8, spread = 1.0 }
[training]
steps = 60
eval_every = 20
batch_size = 50
[axes]
"training.lr" = [0.02, 1e-7]
"model.hidden" = [16, 8]
[quick]
repeats = 1
"""


@pytest.fixture
def file() -> str:
    Path("sweep.toml").write_text(FILE, encoding="utf-8")
    return "sweep.toml"


def test_tables_and_pictures(rnnlab, file):
    done = rnnlab("sweep", file, "--jobs", "0")
    assert done.code == 0, done.err
    assert "validation exact match ≥ 50 % within 100 updates" in done.out
    assert "lr 0.02 · hidden 16" in done.out
    folder = Path("runs/sweeps/加法 sweep")
    names = {path.name for path in folder.iterdir()}
    assert {"index.html", "sweep.json"} <= names
    heatmaps = [name for name in names if "heatmap" in name]
    assert sorted(name[-4:] for name in heatmaps) == [".png", ".svg"]
    [table] = folder.glob("*.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 8
    assert {row["status"] for row in rows} == {"finished"}
    assert "加法 sweep" in (folder / "index.html").read_text(encoding="utf-8")

    again = rnnlab("sweep", file, "--jobs", "0", "--json", "--lang", "zh")
    assert again.code == 0
    [study] = json.loads(again.out)["studies"]
    assert len(study["points"]) == 4
    assert study["heatmaps"] == [["training.lr", "model.hidden"]]


def test_a_dry_run_computes_nothing(rnnlab, file):
    done = rnnlab("sweep", file, "--quick", "--dry-run")
    assert done.code == 0, done.err
    assert "4 runs, 0 of them finished" in done.out
    assert "of disk" in done.out
    assert not Path("runs").exists()


def test_only_and_set(rnnlab, file):
    done = rnnlab("sweep", file, "--quick", "--jobs", "0", "--json", "--set", 'axes={"training.lr"=[0.01]}')
    assert done.code == 0, done.err
    assert len(list(Path("runs").glob("*/result.json"))) == 2  # the axis of the setting took the place of its own
    assert "there are 加法 sweep" in rnnlab("sweep", file, "--only", "加法").err


def test_a_run_past_its_limit_is_told_and_tried_again(rnnlab, file):
    settings = ("--set", "training.steps=1000000", "--set", "repeats=1", "--set", "axes={}")
    done = rnnlab("sweep", file, "--jobs", "1", "--limit-minutes", "0.01", *settings)
    assert done.code == 3
    assert "limit" in done.err
    assert not list(Path("runs").glob("*/result.json"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.toml",), "no such file"),
        (("sweep.toml", "--on", "dusk"), "did you mean 'dask'?"),
        (("sweep.toml", "--set", "training.lrr=1"), "did you mean 'lr'?"),
        (("sweep.toml", "--on", "serial", "--limit-minutes", "1"), "can't be ended from outside"),
    ],
)
def test_mistakes(rnnlab, file, arguments, said):
    done = rnnlab("sweep", *arguments)
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err


def test_compare_sends_sweep_files_here(rnnlab, file):
    done = rnnlab("compare", file)
    assert done.code == 1
    assert "rnnlab sweep sweep.toml" in done.err
    assert rnnlab("check", file).out == "sweep.toml: fine. 1 study, 0 claims\n"
