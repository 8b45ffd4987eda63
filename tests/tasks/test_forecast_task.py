"""Forecasts as a task: which files ask for one, and what is settled when the data are read."""

import json
from pathlib import Path

import pytest
from corpora import write_hours

from rnnlab.answers.forecast import Forecast
from rnnlab.api.compare import compare
from rnnlab.api.report import write_report
from rnnlab.core.errors import DataError
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


def test_a_short_series_is_not_judged(tmp_path: Path):
    """And one that baselines know by heart, so that the network is far behind all of them."""
    path = tmp_path / "short.csv"
    months = [f"{1950 + n // 12}-{n % 12 + 1:02}" for n in range(100)]
    path.write_text("month,y\n" + "".join(f"{month},{10 + n % 12 + n / 10}\n" for n, month in enumerate(months)))
    found = compare(str(path), models=["gru"], seeds=2, training={"epochs": 1}, out=tmp_path / "runs", jobs=0)
    assert found.profile["blocks"] == found.verdict.groups == 1
    assert found.verdict.too_short
    assert found.verdict.recommended is found.recommended_run is found.use is None
    assert all(0 <= arm.score.low <= arm.score.high for arm in found.ranking if arm.score)
    saved = json.loads((Path(found.folder or "") / "comparison.json").read_text(encoding="utf-8"))
    assert saved["verdict"]["too_short"]
    assert saved["verdict"]["sentence"].startswith("Too short to judge")
    write_report(found.folder or "", tmp_path / "page.html", language="zh", judged=[found])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "太短，无法判断" in page
    assert "区间分不出谁更好" in page


def test_a_second_file_is_the_test_part(hours: str, tmp_path: Path):
    header, *rows = Path(hours).read_text().splitlines()
    first, later = tmp_path / "first.csv", tmp_path / "later.csv"
    first.write_text("\n".join([header, *rows[:-30]]))
    later.write_text("\n".join([header, *rows[-30:]]))
    data = ForecastTask(data=str(first), test=str(later), horizon=24, lookback=48).resolve().load()
    whole = ForecastTask(data=hours, horizon=24, lookback=48, borders=(333, 370, 400)).resolve().load()
    assert data.test.origins is not None
    assert whole.test.origins is not None
    assert data.test.origins.tolist() == whole.test.origins.tolist()
    later.write_text("\n".join([header, *rows[-20:]]))
    with pytest.raises(DataError, match="it begins at"):
        ForecastTask(data=str(first), test=str(later), horizon=12).resolve()


def test_a_file_without_a_header_is_given_names(hours: str, tmp_path: Path):
    header, *rows = Path(hours).read_text().splitlines()
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(rows))
    columns = tuple(header.split(","))
    assert ForecastTask(data=str(bare), columns=columns).resolve().load().labels == columns[1:]
