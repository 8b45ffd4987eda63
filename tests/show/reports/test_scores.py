"""A comparison's scores as a table: whoever judges it again gets the same verdict."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import rnnlab
from rnnlab.api.report import write_scores
from rnnlab.core.errors import ConfigError

SMALL: dict[str, Any] = {
    "task": {"rows": 300},
    "training": {"epochs": 1, "until": 0.0},  # no run is cut short: a table of scores says nothing of that
    "models": ["linear", "rnn", "textcnn"],
    "on": "serial",
}


def rounded(value: Any) -> Any:
    """Sums in another order may differ in the last digits of sixteen."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_judge_gives_the_verdict_of_the_comparison(tmp_path: Path):
    result = rnnlab.compare(seeds=2, out=tmp_path / "runs", **SMALL)
    write_scores(str(result.folder), tmp_path / "scores.csv")
    again = rnnlab.judge(tmp_path / "scores.csv", cost_unit="seconds")
    assert rounded(asdict(again)) == rounded(asdict(result.verdict))
    assert again.sentence == result.verdict.sentence
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0] == "model,seed,row,score,group,cost,baseline,diverged"
    assert len(lines) == 1 + result.verdict.rows * (3 * 2 + 3)


def test_splits_that_vary_have_no_common_rows(tmp_path: Path):
    result = rnnlab.compare(seeds=2, vary_split=True, out=tmp_path / "runs", **SMALL)
    with pytest.raises(ConfigError, match="every seed has test rows of its own"):
        write_scores(str(result.folder), tmp_path / "scores.csv")
