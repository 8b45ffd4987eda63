"""Forecasts as a task: which files ask for one, and what is settled when the data are read."""

from pathlib import Path

import pytest
from corpora import write_hours

from rnnlab.answers.forecast import Forecast
from rnnlab.sweeps.plan import experiment_tree
from rnnlab.tasks.choosing import task_for
from rnnlab.tasks.forecast import ForecastTask


@pytest.fixture
def hours(tmp_path: Path) -> str:
    return str(write_hours(tmp_path / "hours.csv", 400))


def test_dates_and_numbers_ask_for_a_forecast(hours: str, tmp_path: Path):
    assert task_for(hours, {}) == "forecast"
    assert experiment_tree(hours)["task"] == {"kind": "forecast", "data": hours}
    labelled = tmp_path / "labelled.csv"
    lines = Path(hours).read_text().splitlines()
    labelled.write_text("\n".join([lines[0] + ",label", *(f"{line},{n % 3}" for n, line in enumerate(lines[1:]))]))
    assert task_for(str(labelled), {}) is None
    assert task_for(str(labelled), {"targets": ["label"]}) == "forecast"
    assert task_for(hours, {"label": "load"}) is None


@pytest.mark.parametrize("setting", ["horizon", "lookback", "season", "targets", "date", "series"])
def test_a_setting_of_forecasts_alone_asks_for_one(setting: str, tmp_path: Path):
    assert task_for(str(tmp_path / "any.csv"), {setting: "1"}) == "forecast"
    assert setting in ForecastTask.model_fields


def test_what_nobody_said_is_settled_by_the_dates(hours: str):
    task = ForecastTask(data=hours)
    assert not task.settled
    whole = task.resolve()
    assert (whole.horizon, whole.season, whole.settled) == (24, 24, True)
    answer = whole.answered()
    assert isinstance(answer, Forecast)
    assert answer.horizon == 24
    assert whole.fingerprint == ForecastTask(data=hours, horizon=24).resolve().fingerprint
    assert whole.fingerprint != ForecastTask(data=hours, horizon=12).resolve().fingerprint
    shorter = ForecastTask(data=hours, season=8).resolve()
    assert (shorter.horizon, shorter.season) == (8, 8)
