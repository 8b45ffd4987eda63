"""rnnlab audit: the three mistakes of the tutorials are caught, their corrections pass, and the report can be read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rnnlab.core.wrapping import columns

ROOT = Path(__file__).parents[2]
FORECASTS = "examples/forecast_mistakes.py"


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))


def audit(rnnlab, name: str, *options: str):
    return rnnlab("audit", f"examples/tutorial_mistakes.py:{name}", *options)


@pytest.mark.parametrize(
    ("name", "options", "causes"),
    [
        ("last_step", (), ["last-step-is-padding"]),
        ("first_and_last", ("--pad-to", "500"), ["backward-starts-in-padding", "last-step-is-padding"]),
        ("max_pooled", ("--vocabulary", "1000"), ["max-over-padding"]),
    ],
)
def test_the_mistakes_of_the_tutorials(rnnlab, name, options, causes):
    done = audit(rnnlab, name, *options, "--json")
    assert done.code == 3
    assert done.err == ""
    found = done.json()
    assert found["passed"] is False
    padding = next(finding for finding in found["findings"] if finding["law"] == "padding")
    assert padding["passed"] is False
    assert padding["relative"] > 0.5  # of what tells sequences apart
    assert padding["lengths"]
    assert [cause["name"] for cause in padding["causes"]] == causes
    assert all(finding["passed"] for finding in found["findings"] if finding["law"] != "padding")
    if "--pad-to" in options:
        assert "padded to 500" in padding["by_change"]


@pytest.mark.parametrize("name", ["last_step_right", "max_pooled_right"])
def test_the_corrections_pass(rnnlab, name):
    done = audit(rnnlab, name)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\npassed: all laws hold\n")
    assert "FAILS" not in done.out


def test_the_report(rnnlab, snapshot):
    """Every line but for the figures, which differ a little from machine to machine."""
    done = audit(rnnlab, "first_and_last", "--pad-to", "500")
    assert done.code == 3
    assert without_figures(done.out) == snapshot


def test_the_report_in_chinese(rnnlab, snapshot):
    done = rnnlab("--lang", "zh", "audit", "examples/tutorial_mistakes.py:first_and_last", "--pad-to", "500")
    assert done.code == 3
    assert without_figures(done.out) == snapshot
    assert max(map(columns, done.out.splitlines())) <= 110
    as_json = [audit(rnnlab, "last_step", "--json", "--lang", language).out for language in ("en", "zh")]
    assert as_json[0] == as_json[1]


def without_figures(text: str) -> str:
    return re.sub(r"\d+\.\d+|\d+e-\d+|\d+ %", "#", text)


def test_the_page_about_it_is_true(rnnlab):
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    told = [audit(rnnlab, "last_step").out, rnnlab("audit", "--forecast", f"{FORECASTS}:scaled_by_all").out]
    assert [without_figures(text) for text in shown] == [without_figures(text) for text in told]
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/audit.md", "exec"), {})


def test_a_forecaster(rnnlab, snapshot):
    right = rnnlab("audit", "--forecast", f"{FORECASTS}:scaled_by_training", "--horizon", "24", "--json")
    assert (right.code, right.json()["passed"]) == (0, True)
    wrong = rnnlab("audit", "--forecast", f"{FORECASTS}:scaled_by_all", "--lang", "zh")
    assert wrong.code == 3
    assert without_figures(wrong.out) == snapshot
    assert max(map(columns, wrong.out.splitlines())) <= 110


def test_the_real_command_without_warnings(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "def model():\n"
        "    print('building')\n"
        "    return nn.Sequential(nn.EmbeddingBag(30, 4, padding_idx=0), nn.Linear(4, 2))\n"
    )
    command = [sys.executable, "-W", "error", "-m", "rnnlab", "audit", "mine:model", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "building\n"  # not into the JSON
    assert done.stdout.startswith('{\n  "passed": true')


@pytest.mark.parametrize(
    "arguments",
    [
        ("examples/tutorial_mistakes.py",),
        ("examples/tutorial_mistake.py:last_step",),
        ("examples/tutorial_mistakes.py:last_stop",),
        ("no_such_package.model:factory",),
        ("examples/tutorial_mistakes.py:WORDS",),
        ("examples/tutorial_mistakes.py:last_step", "--vocabulary", "2000"),
        ("examples/tutorial_mistakes.py:last_step", "--features", "3"),
        ("examples/tutorial_mistakes.py:last_step", "--call", "ids,length"),
        ("examples/tutorial_mistakes.py:last_step", "--pad-to", "3"),
        ("examples/tutorial_mistakes.py:last_step", "--horizon", "3"),
        ("--forecast", f"{FORECASTS}:scaled_by_all", "--vocabulary", "3"),
        ("--forecast", f"{FORECASTS}:scaled_by_all", "--steps", "30"),
        ("--forecast", f"{FORECASTS}:LOOKBACK"),
        ("--forecast", f"{FORECASTS}:scaled_by_al"),
    ],
    ids=" ".join,
)
def test_mistake(rnnlab, snapshot, arguments):
    done = rnnlab("audit", *arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err == snapshot


@pytest.mark.parametrize(
    "arguments",
    [(), ("a:b", "--forecast", "c:d"), ("a:b", "--lengths", "1,two"), ("a:b", "--vocabulary", "many")],
    ids=" ".join,
)
def test_wrong_usage(rnnlab, arguments):
    done = rnnlab("audit", *arguments)
    assert (done.code, done.out) == (2, "")


def test_lengths(rnnlab):
    found = audit(rnnlab, "last_step", "--lengths", "4,20", "--json").json()
    assert found["findings"][1]["tried"] == [4, 20]
