"""One model, trained once, in a process of its own."""

import re
import shlex
from pathlib import Path

from rnnlab.runs.directory import RunDirectory, find_runs


def test_train_and_ask(rnnlab, reviews_csv):
    command = ("train", "reviews.csv", "--model", "textcnn", "--epochs", "12", "--set", "training.lr=0.03")
    done = rnnlab(*command, "--seed", "3")
    assert done.code == 0, done.err
    [run] = find_runs("runs")
    assert (run.spec()["seed"], run.spec()["model"]["kind"]) == (3, "textcnn")
    result = run.result()
    assert result is not None
    assert f"test accuracy {100 * result['test']['accuracy']:.1f} %" in done.out
    assert f'Use it:  rnnlab predict {run.path} "…"' in done.out
    answer = rnnlab("predict", str(run.path), "a lovely film", "an awful film")
    assert [line.split("\t")[0] for line in answer.out.splitlines()] == ["good", "bad"]
    again = rnnlab(*command, "--seed", "3")
    assert "(found, not computed again)" in again.err
    assert again.out == done.out


def test_a_diverged_run_ends_with_3(rnnlab, reviews_csv):
    wild = (
        "training.optimizer=sgd",
        "training.lr=1e6",
        "training.clip=none",
        "model.activation=relu",
        "model.pooling=last",
        "model.output_dropout=0",
        "model.embedding.dropout=0",
    )
    settings = [part for setting in (*wild, "training.batch_size=8") for part in ("--set", setting)]
    done = rnnlab("train", "reviews.csv", "--model", "rnn", *settings)
    assert done.code == 3
    assert re.match(r"\d+ rows: ", done.out)
    assert "diverged at step" in done.out
    assert "rnnlab: rnn diverged; runs/" in done.err
    assert "Take a lower learning rate" in done.err
    assert "model.activation = 'tanh'" in done.err
    assert "Use it" not in done.out


def test_embedded_reviews_by_language(rnnlab):
    done = rnnlab("train", "--language", "zh", "--rows", "60", "--model", "linear", "--epochs", "1")
    assert done.code == 0, done.err
    task = RunDirectory(find_runs("runs")[0].path).spec()["task"]
    assert (task["data"], task["language"], task["rows"]) == ("reviews", "zh", 60)


def test_the_result_as_json(rnnlab, reviews_csv):
    done = rnnlab("train", "reviews.csv", "--model", "linear", "--epochs", "1", "--json")
    [run] = find_runs("runs")
    assert done.json() == {"run": str(run.path), **(run.result() or {})}


def test_find_lr_writes_nothing_and_its_command_trains_with_the_rate(rnnlab, reviews_csv):
    command = ("train", "reviews.csv", "--model", "gru", "--set", "model.hidden=8", "--epochs", "1")
    done = rnnlab(*command, "--find-lr", "--seed", "2")
    assert done.code == 0, done.err
    assert not Path("runs").exists()
    shown = done.out.splitlines()
    assert shown[0].startswith("60 rows: ")
    [rate] = [line.split(":")[1].split(". ")[0].strip() for line in shown if line.startswith("Suggested learning rate")]
    told = shown[-1].removeprefix("Train with it:  ")
    assert told == shlex.join(["rnnlab", *command, "--seed", "2", "--set", f"training.lr={rate}"])
    again = rnnlab(*shlex.split(told)[1:])
    assert again.code == 0, again.err
    [run] = find_runs("runs")
    assert (run.spec()["training"]["lr"], run.spec()["seed"]) == (float(rate), 2)


def test_find_lr_as_json(rnnlab, reviews_csv):
    done = rnnlab("train", "reviews.csv", "--model", "linear", "--find-lr", "--json")
    found = done.json()
    assert len(found["rates"]) == len(found["losses"]) == len(found["smoothed"])
    assert found["command"].endswith(f"--set training.lr={found['suggestion']:g}")
    assert "--json" not in found["command"]
    assert done.err == ""


def test_without_a_compiler_a_command_says_once_that_it_is_slower(rnnlab, reviews_csv, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("RNNLAB_NATIVE_CACHE", str(tmp_path / "kernels"))
    few = ("reviews.csv", "--epochs", "1", "--set", "model.hidden=4")
    said = "no C++ compiler was found (no-such-compiler); install g++ or clang, or set CXX"
    for command in (("train", "--model", "gru"), ("compare", "--models", "rnn,gru", "--seeds", "2")):
        done = rnnlab(*command, *few)
        assert done.code == 0, done.err
        assert done.err.count(f"takes two to five times as long, because {said}") == 1
        assert said not in done.out
    assert said not in rnnlab("train", "--model", "rnn", *few, "--json").err
    monkeypatch.setenv("RNNLAB_NATIVE", "off")  # who switches it off knows
    assert said not in rnnlab("train", "--model", "rnn", *few, "--seed", "1").err
