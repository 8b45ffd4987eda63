"""compare until sure: seeds are added where they matter, and the same command finds them again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rnnlab.api.compare import UntilSure, _why_stop, compare
from rnnlab.core.errors import ConfigError
from rnnlab.show.telling import tell

SMALL: dict[str, Any] = {"task": {"rows": 300}, "training": {"epochs": 1}, "models": ["linear", "rnn"], "on": "serial"}


def go_on(monkeypatch: pytest.MonkeyPatch, labels: list[str]) -> None:
    """Whatever the verdict is, these arms get seeds, to the last look."""
    monkeypatch.setattr("rnnlab.api.compare.in_play", lambda verdict, left: labels)
    monkeypatch.setattr("rnnlab.api.compare._why_stop", lambda c, labels, last: "stopped" if last else None)


@pytest.fixture(scope="module")
def sure(tmp_path_factory: pytest.TempPathFactory):
    """Two models that hardly learn: two seeds can't tell them apart, and the looks go on."""
    out = tmp_path_factory.mktemp("sure")
    with pytest.MonkeyPatch.context() as patch:
        go_on(patch, ["linear", "rnn"])
        return out, compare(until_sure=UntilSure(max_seeds=4), seeds=2, out=out, **SMALL)


def test_seeds_are_added_look_by_look(sure):
    _, result = sure
    assert result.verdict.look == 2  # 2, 3, 4 seeds
    assert {arm.label: [run.seed for run in arm.runs] for arm in result.arms} == {
        "linear": [0, 1, 2, 3],
        "rnn": [0, 1, 2, 3],
    }
    assert {len(arm.runs) for arm in result.baselines} == {1}
    assert result.notes[-1].startswith("until sure: stopped")


def test_the_reasons_to_stop(tmp_path: Path):
    result = compare(until_sure=UntilSure(max_seeds=2), seeds=2, out=tmp_path, **SMALL)
    assert "the recommendation is firm" in result.notes[-1] or "the most seeds allowed" in result.notes[-1]
    open_verdict = replace(result, verdict=replace(result.verdict, firm=False))
    firm = replace(result, verdict=replace(result.verdict, firm=True))
    assert _why_stop(firm, ["rnn"], False) == "the recommendation is firm"
    assert "--max-seeds" in str(_why_stop(open_verdict, ["rnn"], True))
    assert "hardly" in str(_why_stop(open_verdict, [], False))
    assert _why_stop(open_verdict, ["rnn"], False) is None


def test_the_same_command_finds_the_same_runs_and_verdict(sure, monkeypatch: pytest.MonkeyPatch):
    out, result = sure
    go_on(monkeypatch, ["linear", "rnn"])
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/result.json")}
    again = compare(until_sure=UntilSure(max_seeds=4), seeds=2, out=out, **SMALL)
    assert again.verdict == result.verdict
    assert before == {path: path.stat().st_mtime_ns for path in out.glob("*/result.json")}


def test_a_report_judges_by_what_the_look_could_spend(sure):
    _, result = sure
    origin = json.loads((Path(str(result.folder)) / "origin.json").read_text())
    assert origin["look"] == result.verdict.look
    assert 0 < origin["spent"] <= 1
    assert tell([str(result.folder)]).chapters[0].comparison.verdict == result.verdict


def test_only_arms_in_play_get_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    go_on(monkeypatch, ["rnn"])
    result = compare(until_sure=UntilSure(max_seeds=3), seeds=2, out=tmp_path, **SMALL)
    seeds = {arm.label: [run.seed for run in arm.runs] for arm in result.arms}
    assert seeds == {"linear": [0, 1], "rnn": [0, 1, 2]}
    assert result.verdict.runs == {"linear": 2, "rnn": 3}


def test_splits_that_vary_get_baselines_for_further_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    go_on(monkeypatch, ["rnn", "linear"])
    result = compare(until_sure=UntilSure(max_seeds=3), seeds=2, vary_split=True, out=tmp_path, **SMALL)
    assert {arm.label: len(arm.runs) for arm in (*result.arms, *result.baselines)} == {
        "linear": 3,
        "rnn": 3,
        "majority": 3,
        "nbsvm": 3,
        "tfidf": 3,
    }
    assert len({run.digest for arm in result.baselines for run in arm.runs}) == 9


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("90s", 90), ("1.5h", 5400), (" 2 H ", 7200)])
def test_budgets(text: str, seconds: float):
    assert UntilSure.of(budget=text).budget == seconds


@pytest.mark.parametrize("text", ["30", "m", "-5m", "0m", "half an hour"])
def test_what_is_no_budget(text: str):
    with pytest.raises(ConfigError, match=r"budget: must be a time such as 30m, 90s or 1\.5h"):
        UntilSure.of(budget=text)


def test_fewer_than_the_first_seeds_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="max_seeds: must be at least seeds, 3"):
        compare(until_sure=UntilSure(max_seeds=2), seeds=3, out=tmp_path, **SMALL)
