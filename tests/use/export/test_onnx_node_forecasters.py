"""examples/onnx-node: a forecaster in Node and in a browser, with the figures and dates of `rnnlab predict`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_example import browsing, node

from rnnlab.data.calendar import Spacing
from rnnlab.data.observed import Observed
from rnnlab.data.preprocessor import Preprocessor, Scaler
from rnnlab.models.base import ARCHITECTURES
from rnnlab.use.forecasting import Forecaster
from rnnlab.use.onnx.writing import export_model

HORIZON, LOOKBACK = 5, 12
HOLES = {3, 20, 28, 29}
KINDS: dict[str, tuple[Spacing | None, dict[str, Any]]] = {  # untrained: the same nonsense everywhere
    "hours": (Spacing(seconds=3600), {}),
    "days": (Spacing(seconds=86_400), {"scaling": "window"}),
    "months": (Spacing(months=1), {"scaling": "none"}),
    "plain": (None, {"quantiles": []}),
}


def steps_of(spacing: Spacing | None, count: int = 30) -> list[str] | None:
    start = np.datetime64("2023-12-31T00:00:00")
    return None if spacing is None else [str(date).replace("T", " ") for date in (start, *spacing.after(start, count))]


def values_of(count: int = 31) -> dict[str, list[float | None]]:
    noise = np.random.default_rng(0).normal(size=(count, 2)).round(3).tolist()
    return {
        "load": [None if step in HOLES else 10 + 3 * row[0] for step, row in enumerate(noise)],
        "heat": [-2 + row[1] for row in noise],
    }


@pytest.fixture(scope="module")
def forecasters(example: Path, made: Any) -> dict[str, Forecaster]:
    found = {}
    scales = np.array([[[10.0, -3.0], [2.0, 0.5], [1.0, 1.0]]])
    for name, (spacing, of_task) in KINDS.items():
        observed = Observed(HORIZON, LOOKBACK, 4, ("",), scales, spacing, spacing is not None, name != "days")
        scaler = Scaler((0.0,) * observed.width, (1.0,) * observed.width)
        read = Preprocessor(labels=("load", "heat"), scaler=scaler, observed=observed)
        task = {"data": "made-up", "horizon": HORIZON, "lookback": LOOKBACK, "season": 4, "channels": 2, **of_task}
        model = made(ARCHITECTURES["gru"]().replace(hidden=7), "forecast", preprocessor=read, **task)
        export_model(model, example / f"{name}.onnx")
        found[name] = Forecaster(model)
    return found


def told(forecaster: Forecaster, name: str, count: int = 31) -> dict[str, Any]:
    dates = steps_of(KINDS[name][0])
    table: dict[str, Any] = {key: column[:count] for key, column in values_of().items()}
    if dates is not None:
        table = {"date": dates[:count], **table}
    [found] = forecaster.forecast(table)
    return found.to_dict()


def close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {key: found[key] for key in found if key != "channels"} == {
        key: expected[key] for key in expected if key not in ("channels", "series")
    }
    for name, channel in expected["channels"].items():
        assert found["channels"][name]["point"] == pytest.approx(channel["point"], rel=1e-4, abs=1e-4)
        for quantile, values in channel["quantiles"].items():
            assert found["channels"][name]["quantiles"][quantile] == pytest.approx(values, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", list(KINDS))
def test_node_forecasts_what_predict_forecasts(example: Path, forecasters: dict[str, Forecaster], name: str):
    """Also of a window that is shorter than the look-back, and of a series that has another name than in training."""
    dates = steps_of(KINDS[name][0])
    asked = [
        {"values": {key: column[:count] for key, column in values_of().items()}, "dates": dates and dates[:count]}
        for count in (31, 30, 5)
    ]
    done = node(
        example, "forecast.mjs", f"{name}.onnx", "--json", given=json.dumps([*asked, {**asked[0], "series": "x"}])
    )
    assert done.returncode == 0, done.stderr
    *found, other = json.loads(done.stdout)
    for count, one in zip((31, 30, 5), found, strict=True):
        close(one, told(forecasters[name], name, count))
    columns = {"id": ["x"] * 31, **values_of()} | ({} if dates is None else {"date": dates})
    [expected] = forecasters[name].forecast(columns, series="id")
    close(other, expected.to_dict())
    assert other["channels"] != found[0]["channels"]


def test_the_command_reads_and_writes_tables(example: Path, forecasters: dict[str, Forecaster]):
    dates, values = steps_of(KINDS["hours"][0]), values_of()
    assert dates is not None
    rows = [
        [dates[at], *("" if column[at] is None else str(column[at]) for column in values.values())] for at in range(31)
    ]
    lines = ["\t".join(row) for row in [["date", *values], *rows] if row[0] != dates[10]]  # a step without a row
    (example / "recent.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = node(example, "forecast.mjs", "hours.onnx", "recent.tsv")
    assert done.returncode == 0, done.stderr
    header, *found = [line.split(",") for line in done.stdout.splitlines()]
    [expected] = forecasters["hours"].forecast(str(example / "recent.tsv"))
    assert header == expected.columns
    for ours, theirs in zip(found, expected.rows(), strict=True):
        assert ours[0] == theirs[0]
        assert [float(cell) for cell in ours[1:]] == pytest.approx(theirs[1:], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("date,load\n2024-01-01 00:00,1\n", "the column heat is missing"),
        ("load,heat\n1,2\n", "reads the dates, too"),
        ("date,load,heat\n2024-01-01 00:00,1,2\n2024-01-01 00:30,1,2\n", "2024-01-01 00:30 doesn't follow"),
        ("date,load,heat\n2024-01-01 00:00,much,2\n", "line 2: much is no number"),
        ("date,load,heat\n2024-01-01 00:00,1\n", "line 2: 2 fields, and the header has 3"),
        ("date,load,heat\nyesterday,1,2\n", "yesterday is no date"),
    ],
)
def test_what_does_not_fit_is_said(example: Path, forecasters: dict[str, Forecaster], lines: str, reason: str):
    (example / "wrong.csv").write_text(lines, encoding="utf-8")
    done = node(example, "forecast.mjs", "hours.onnx", "wrong.csv")
    assert done.returncode == 1
    assert reason in done.stderr


def test_other_models_are_sent_to_their_command(example: Path, forecasters: dict[str, Forecaster]):
    done = node(example, "predict.mjs", "hours.onnx", "a text")
    assert "continues series: node forecast.mjs" in done.stderr


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    page = chromium.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    yield page
    page.close()
    assert complaints == []


def test_the_page_forecasts_a_table(address: Any, page: Any, forecasters: dict[str, Forecaster]):
    dates, values = steps_of(KINDS["hours"][0]), values_of()
    assert dates is not None
    rows = [",".join([dates[at], *("" if v[at] is None else str(v[at]) for v in values.values())]) for at in range(31)]
    page.goto(address("hours"))
    page.wait_for_selector("#forecasting:not([hidden])", timeout=60_000)
    assert page.locator("#state").text_content() == "Paste a table with the header date,load,heat."
    page.fill("#table", "\n".join(["date,load,heat", *rows]))
    page.wait_for_function("document.getElementById('state').textContent === '5 steps ahead.'")
    [expected] = forecasters["hours"].forecast({"date": dates, **values})
    first = page.locator("#ahead tr").nth(1).locator("td").all_inner_texts()
    theirs = next(expected.rows())
    assert first[0] == theirs[0]
    assert [float(cell) for cell in first[1:]] == pytest.approx(theirs[1:], rel=1e-4, abs=1e-4)
    assert browsing().axe(page) == []
    assert [found for found in browsing().overflowing(page) if not found.startswith("no hint")] == []  # it scrolls
    page.fill("#table", "date,load,heat\n<b>,1,2")
    page.wait_for_function("document.getElementById('state').textContent.startsWith('<b> is no date')")
