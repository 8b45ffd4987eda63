"""rnnlab inspect: runs and untrained models, on a text and without, in words, as a page and as JSON."""

import json
import shutil
from pathlib import Path

import pytest


def test_a_run_on_its_validation_rows(rnnlab, compared):
    run = compared.run("rnn")
    done = rnnlab("inspect", run)
    name = Path(run).name
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{name} (rnn) on 8 validation rows of up to 5 steps.")
    assert "W_hh has spectral radius" in done.out
    assert "Before training it was" in done.out
    assert done.out.endswith(f"Page: inspect-{name}.html\n")
    assert f'<h1><span lang="en">Inside {name}</span>' in Path(f"inspect-{name}.html").read_text(encoding="utf-8")


def test_a_run_on_a_text(rnnlab, compared):
    text = "the lovely film <i>number</i> 一部好电影"
    done = rnnlab("inspect", compared.run("rnn"), "--text", text, "--lang", "zh", "-o", "pages/text.html")
    assert (done.code, done.err) == (0, "")
    assert "它的回答：" in done.out
    assert "lovely (+" in done.out
    page = Path("pages/text.html").read_text(encoding="utf-8")
    assert '<html lang="zh" data-lang="zh">' in page
    assert "<i>" not in page
    assert ">影<" in page


def test_the_answer_is_that_of_predict(rnnlab, compared):
    run, text = compared.run("textcnn"), "the awful film number 3"
    found = rnnlab("inspect", run, "--text", text, "--json").json()
    (predicted,) = rnnlab("predict", run, text, "--json").json_lines()
    assert found["answer"]["label"] == predicted["label"]
    assert found["answer"]["probability"] == pytest.approx(predicted["probabilities"][predicted["label"]], abs=1e-6)
    assert found["tokens"] == text.split()
    assert max(found["saliency"]["integrated"]) == found["saliency"]["integrated"][1]  # awful
    assert found["filters"]
    assert not list(Path().glob("*.html"))  # unless -o asks for it


def test_json_beside_a_page(rnnlab, compared):
    done = rnnlab("inspect", compared.run("rnn"), "--json", "-o", "page.html")
    assert done.json()["source"] == "rows"
    assert Path("page.html").is_file()


@pytest.mark.parametrize("text", ["", "   ", "\udcff\udcfe", "😀"], ids=["empty", "spaces", "bytes", "emoji"])
def test_any_text_is_looked_at(rnnlab, compared, text):
    done = rnnlab("inspect", compared.run("rnn"), "--text", text, "--json")
    assert done.code == 0
    assert len(done.json()["tokens"]) >= 1


def test_a_run_whose_data_is_gone(rnnlab, compared, tmp_path, monkeypatch):
    run = tmp_path / "moved"
    shutil.copytree(compared.run("rnn"), run)
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    hidden = compared.folder / "hidden.csv"
    (compared.folder / "reviews.csv").rename(hidden)
    try:
        done = rnnlab("inspect", str(run))
    finally:
        hidden.rename(compared.folder / "reviews.csv")
    assert done.code == 0
    assert "random sequences of 50 steps: its data can't be found any more" in done.out


def test_an_untrained_model(rnnlab):
    command = ("inspect", "--model", "lstm", "--set", "model.hidden=8", "--length", "30", "--json")
    first, again, other = rnnlab(*command), rnnlab(*command), rnnlab(*command, "--seed", "1")
    found = [run.json() for run in (first, again, other)]
    for one in found:
        times = one.pop("pace")  # measured
        assert [time["after"] for time in times] == [1, 10, 100, 1000]
        assert all(time["milliseconds"] > 0 for time in times)
    assert found[0] == found[1] != found[2]
    found = first.json()
    assert (found["trained"], found["longest"], found["model"]["hidden"]) == (False, 30, 8)
    assert len(found["gradients"]["through_time"][0]["cell"]) == 31
    assert found["gradients"]["through_time_at_first"] == []
    assert found["saliency"] is None


def test_an_untrained_model_has_a_page(rnnlab):
    done = rnnlab("inspect", "--model", "bigru", "--set", "model.hidden=4", "--length", "12")
    assert done.out.startswith("bigru as it begins, untrained, on 16 random sequences of 12 steps.")
    assert "Layer 1, backward:" in done.out
    assert Path("inspect-bigru.html").is_file()


def test_a_numeric_run(rnnlab):
    rows = [json.dumps({"series": list(range(n % 7, n % 7 + 9)), "label": "ab"[n % 2]}) for n in range(60)]
    Path("numbers.jsonl").write_text("\n".join(rows), encoding="utf-8")
    done = rnnlab("train", "numbers.jsonl", "--model", "gru", "--epochs", "1", "--set", "model.hidden=4")
    assert done.code == 0, done.err
    (run,) = Path("runs").iterdir()
    found = rnnlab("inspect", str(run), "--json").json()
    assert (found["source"], found["longest"]) == ("rows", 9)
    refused = rnnlab("inspect", str(run), "--text", "words")
    assert (refused.code, refused.err.startswith("rnnlab: this model reads no texts")) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("runs/none",),
        ("runs/none", "--model", "rnn"),
        ("runs/none", "--set", "model.hidden=3", "--length", "4"),
        ("--model", "rnn", "--text", "words"),
        ("--model", "rnnn"),
        ("--model", "rnn", "--set", "model.hiden=3"),
        ("--model", "rnn", "--set", "training.lr=3"),
        ("--model", "transformer", "--set", "model.positions=learned", "--set", "model.max_length=9"),
        ("--model", "lstm", "--set", "model.embedding.vectors=glove.txt"),
        ("--model", "rnn", "--lang", "fr"),
        ("--model", "rnn", "--length", "0"),
    ],
    ids=" ".join,
)
def test_mistakes(rnnlab, snapshot, arguments):
    done = rnnlab("inspect", *arguments)
    assert done.code in (1, 2)
    assert done.out == ""
    assert done.err == snapshot
    assert not list(Path().glob("*.html"))


def test_a_baseline_has_no_inside(rnnlab, compared):
    done = rnnlab("inspect", compared.run("tfidf"))
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("'tfidf' is a baseline: it has no network to look into\n")
