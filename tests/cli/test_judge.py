"""rnnlab judge: scores of any framework in, a verdict out."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rnnlab as package
from rnnlab.judging.results import gather

MODELS = {"gru": 0.93, "lstm": 0.92, "bag | of * words": 0.75}  # the share of rows that each answers rightly
ROWS = 400


def write(
    path: str, *, wrong: float = 0.0, right: float = 1.0, header: str = "model,seed,row,score,cost,baseline"
) -> str:
    random = np.random.default_rng(4)
    hardness = random.random(ROWS)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header.split(","))
        for cost, (model, share) in enumerate(MODELS.items(), 1):
            for seed in (1, 2, 3) if model in ("gru", "lstm") else (1,):
                good = hardness + random.normal(0, 0.02, ROWS) < share
                for row in range(ROWS):
                    writer.writerow([model, seed, row, right if good[row] else wrong, cost, int(share < 0.8)])
    return path


@pytest.fixture
def results() -> str:
    return write("results.csv")


def test_the_table_is_sorted_and_followed_by_the_verdict(rnnlab, results):
    done = rnnlab("judge", results)
    verdict = package.judge(results)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "Accuracy of 3 models on 400 test rows (* the best, and what is within 1 point of it)"
    assert lines[1].split() == ["model", "accuracy", "95", "%", "interval", "seeds", "failed", "seeds", "cost"]
    assert [line.split("  ")[0].removesuffix(" *") for line in lines[2:5]] == list(MODELS)
    assert lines[-1] == verdict.sentence
    for label, line in zip(MODELS, lines[2:5], strict=True):
        found = verdict.estimates[label]
        assert f"{100 * found.mean:.1f} %" in line
        assert f"{100 * found.low:.1f}–{100 * found.high:.1f}" in line
        assert (f"{label} *" in line) == (label in verdict.best_group)


def test_json_is_the_verdict(rnnlab, results):
    found = rnnlab("judge", results, "--json").json()
    verdict = package.judge(results)
    assert (found["format"], found["notes"]) == (1, [])
    assert found["recommended"] == verdict.recommended
    assert found["estimates"]["gru"]["mean"] == verdict.estimates["gru"].mean
    assert found["sentence_zh"] == verdict.sentence_zh
    assert found["baselines"] == ["bag | of * words"]
    assert found["scores"]["gru"].keys() == {"1", "2", "3"}
    assert found["differences"][0]["chances"] == list(verdict.differences[0].chances)


def test_markdown(rnnlab, results):
    assert rnnlab("judge", results, "--markdown", "table.md").code == 0
    lines = Path("table.md").read_text(encoding="utf-8").splitlines()
    assert lines[2] == "| model | accuracy | 95 % interval | seeds | failed seeds | cost |"
    assert lines[3] == "|---|---:|---:|---:|---:|---:|"
    assert lines[6].startswith(r"| bag \| of \* words | 6")
    assert lines[-1] == package.judge(results).sentence


def test_chinese(rnnlab, results):
    done = rnnlab("judge", results, "--lang", "zh", "--markdown", "table.md")
    verdict = package.judge(results)
    assert done.out.splitlines()[-1] == verdict.sentence_zh
    assert done.out.startswith("400 条测试样本上 3 个模型的准确率")
    table = Path("table.md").read_text(encoding="utf-8")
    assert "| 模型 | 准确率 | 95% 区间 | 随机种子 | 未学会 | 开销 |" in table
    assert verdict.sentence_zh in table


def test_options_reach_the_judge(rnnlab):
    write("errors.csv", wrong=2.5, right=0.5, header="arm,seed,row,loss,cost,baseline")
    options = ("--columns", "model=arm, score=loss", "--margin", "0.02", "--lower-is-better", "--metric", "MAE")
    found = rnnlab("judge", "errors.csv", *options, "--alpha", "0.1", "--cost-unit", "milliseconds", "--json").json()
    asked = {key: found[key] for key in ("margin", "lower_is_better", "metric", "alpha", "cost_unit", "unit")}
    assert asked == {
        "margin": 0.02,
        "lower_is_better": True,
        "metric": "MAE",
        "alpha": 0.1,
        "cost_unit": "milliseconds",
        "unit": "number",
    }
    assert found["best"] == "gru"
    table = rnnlab("judge", "errors.csv", *options, "--alpha", "0.1").out.splitlines()
    assert table[0].startswith("MAE of 3 models on 400 test rows (* the best, and what is within 0.02 of it)")
    assert "90 % interval" in table[1]
    assert table[2].startswith("gru")


def test_the_best_is_the_lowest_where_lower_is_better(rnnlab, results):
    done = rnnlab("judge", results, "--lower-is-better")
    assert done.out.splitlines()[0].startswith("Error rate of 3 models")
    assert done.out.splitlines()[2].startswith("bag | of * words")


def test_notes_are_said(rnnlab):
    write("results.csv", header="model,seed,row,score,epoch,baseline")
    assert rnnlab("judge", "results.csv").out.startswith("note: ignored: 'epoch'\nAccuracy of")
    assert rnnlab("judge", "results.csv", "--json").json()["notes"] == ["ignored: 'epoch'"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "rnnlab: nowhere.csv: no such file\n"),
        (("results.csv", "--columns", "model=arm"), "rnnlab: results.csv: no column 'arm' for the model\n"),
        (("results.csv", "--margin", "0.5"), "rnnlab: margin: scores of 0 and 1 are shares, so 0.5 would be 50 points"),
        (("results.csv", "--alpha", "2"), "rnnlab: alpha: must lie between 0 and 1 (got 2)"),
        (("results.csv", "--report", "page.pdf"), "rnnlab: page.pdf: a report is a page"),
        (("losses.csv",), "rnnlab: margin: scores that aren't 0 and 1 need a margin (--margin), in the unit"),
    ],
)
def test_mistakes(rnnlab, results, arguments, message):
    write("losses.csv", wrong=0.2)
    done = rnnlab("judge", *arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(message)


def test_columns_that_are_no_pairs(rnnlab, results):
    done = rnnlab("judge", results, "--columns", "model")
    assert done.code == 2
    assert "pairs like model=arm,score=acc are needed (got 'model')" in done.err


@pytest.mark.parametrize("report", [(), ("--report", "page.html")], ids=["table", "page"])
def test_torch_is_not_loaded(results, report):
    script = """
import sys
from rnnlab.cli.main import main
try:
    main()
except SystemExit as ended:  # a command always ends so
    assert not ended.code
print("loaded:", *sorted({"torch", "pandas", "numpy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script, "judge", results, *report], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "gru" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded: numpy"


def test_one_model_and_one_seed_are_judged_too(rnnlab):
    """There is little to say about them, but it is said."""
    for count, lines in (("model", ["a,1,x,1", "a,1,y,0", "a,2,x,1", "a,2,y,1"]), ("seed", ["a,1,x,1", "b,1,x,0"])):
        Path("small.csv").write_text("\n".join(["model,seed,row,score", *lines]) + "\n", encoding="utf-8")
        done = rnnlab("judge", "small.csv", "--report", "small.html")
        assert (done.code, done.err) == (0, ""), count
        assert rnnlab("judge", "small.csv", "--json").json()["rows"] == len(gather("small.csv").groups)
        assert Path("small.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
