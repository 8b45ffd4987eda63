"""A forecaster is asked: for the next steps of a file, step by step, from a bundle; and what it says is what the test
part was scored by."""

from pathlib import Path

import numpy as np
import pytest
from corpora import baseline_beside

import rnnlab
from rnnlab.core.errors import DataError, RunError
from rnnlab.core.files import write_atomically
from rnnlab.use import load
from rnnlab.use.card_markdown import card_markdown
from rnnlab.use.forecasting import Following, write_forecasts
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import pack

HORIZON, LOOKBACK, STEPS = 6, 30, 400
KINDS = ("gru", "gru-none", "recursive", "dilated", "ridge", "seasonal-naive")


def hourly(steps: int = STEPS, holes: tuple[int, ...] = ()) -> list[str]:
    """Lines of a table of two channels."""
    random = np.random.default_rng(0)
    wave = 10 * np.sin(np.arange(steps) * 2 * np.pi / 24)
    dates = np.datetime64("2024-02-25T00:00:00") + np.arange(steps).astype("timedelta64[h]")
    load_, heat = 100 + wave + random.normal(size=steps), 5 - wave / 4 + random.normal(size=steps)
    told = ["" if step in holes else f"{value:.4f}" for step, value in enumerate(load_.tolist())]
    rows = [f"{str(date).replace('T', ' ')},{told[at]},{heat[at]:.4f}" for at, date in enumerate(dates)]
    return ["date,load,heat", *rows]


def written(path: Path, lines: list[str]) -> str:
    write_atomically(path, "\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of runs by kind; ``gru-none`` measures no window by itself, ``recursive`` reads its own forecasts."""
    folder = tmp_path_factory.mktemp("hours")
    file = written(folder / "hours.csv", hourly(holes=(50, 51, 390)))
    task = {"horizon": HORIZON, "lookback": LOOKBACK}
    options = {"training": {"epochs": 1}, "out": folder / "runs"}
    found = {"gru": str(rnnlab.train(file, model="gru", task=task, **options).path)}
    found |= {kind: baseline_beside(found["gru"], kind) for kind in ("ridge", "seasonal-naive")}
    found["dilated"] = str(rnnlab.train(file, model="dilated", task=task, **options).path)
    found["gru-none"] = str(rnnlab.train(file, model="gru", task={**task, "scaling": "none"}, **options).path)
    recursive = {**task, "strategy": "recursive", "step_ahead": 4}
    found["recursive"] = str(rnnlab.train(file, model="gru", task=recursive, **options).path)
    found["file"] = file
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_forecast_is_the_one_that_the_test_part_was_scored_by(trained: dict[str, str], tmp_path: Path, kind: str):
    """Of a file that ends at an origin, whatever came after it."""
    model = load(trained[kind])
    data = model.task.load()
    rows = np.array([0, 17, len(data.test) - 1])
    scored = model.forecaster.of_windows(data.test)[rows]
    for row, expected in zip(rows.tolist(), scored, strict=True):
        assert data.test.origins is not None
        step = int((data.test.origins[row] - np.datetime64("2024-02-25T00:00:00", "s").astype(np.int64)) // 3600)
        file = written(tmp_path / f"{row}.csv", hourly(holes=(50, 51, 390))[: step + 1])
        [found] = model.forecast(file)
        mean, std = model.forecaster.observed.scales[0, :2, :, None]
        assert np.allclose((found.values - mean) / std, expected, atol=1e-5)
        assert found.dates is not None
        assert found.dates[0] == str(np.datetime64("2024-02-25T00:00:00") + np.timedelta64(step, "h")).replace("T", " ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_series_that_grows_is_forecast_as_the_file_would_be(trained: dict[str, str], tmp_path: Path, kind: str):
    """Also where a value is missing; where the state is carried, as if the look-back were the whole series."""
    model = load(trained[kind]).forecaster
    lines = hourly(100, holes=(50, 51, 97))
    following = Following(model, model.read(written(tmp_path / "begun.csv", lines[:96])))
    assert following.carries == (kind == "gru-none")
    told = None
    for end in range(96, 101):
        date, *values = lines[end].split(",")
        when = np.datetime64(date.replace(" ", "T"), "s")
        told = following.add([float(value) if value else np.nan for value in values], when)
    assert told is not None
    [whole] = model.forecast(written(tmp_path / "all.csv", lines[:101]))
    if following.carries:
        object.__setattr__(model.observed, "lookback", 100)
        from_the_first = model.of_windows(model.observed.windows(model.read(str(tmp_path / "all.csv"))))
        object.__setattr__(model.observed, "lookback", LOOKBACK)
        mean, std = model.observed.scales[0, :2, :, None]
        assert np.allclose((told.values - mean) / std, from_the_first[0], atol=1e-4)
    else:
        assert np.allclose(told.values, whole.values, rtol=1e-5)
    assert told.dates == whole.dates
    assert told.first == whole.first == 101


def test_dates_that_do_not_follow_are_refused(trained: dict[str, str], tmp_path: Path):
    model = load(trained["gru"]).forecaster
    following = Following(model, model.read(written(tmp_path / "begun.csv", hourly(60))))
    with pytest.raises(DataError, match="doesn't follow 2024-02-27 11:00:00 after 1 hour"):
        following.add([1.0, 2.0], np.datetime64("2024-02-27T13:00:00", "s"))
    with pytest.raises(DataError, match="reads 2 values per step"):
        following.add([1.0])
    assert following.add([100.0, 2.0]).dates is not None  # the next hour, unless somebody says otherwise
    with pytest.raises(DataError, match="write the date before"):
        Following(model).add([1.0, 2.0])


def test_series_do_not_depend_on_each_other(trained: dict[str, str], tmp_path: Path):
    model = load(trained["gru"])
    lines = hourly(80)
    rows = [f"{name},{line}" for name, shift in (("a", 0), ("b", 20)) for line in lines[1 + shift :]]
    file = written(tmp_path / "two.csv", ["id,date,load,heat", *rows])
    both = model.forecast(file, series="id")
    [alone] = model.forecast(written(tmp_path / "b.csv", ["id,date,load,heat", *rows[80:]]), series="id")
    assert [one.series for one in both] == ["a", "b"]
    assert np.allclose(both[1].values, alone.values, rtol=1e-5)
    assert not np.allclose(both[0].values, both[1].values, rtol=1e-3)
    assert write_forecasts(both, tmp_path / "out.tsv") == 2 * HORIZON
    head = (tmp_path / "out.tsv").read_text().splitlines()[0].split("\t")
    assert head[:4] == ["series", "date", "load", "load p10"]


def test_data_in_memory_are_forecast_and_what_does_not_fit_is_refused(trained: dict[str, str], tmp_path: Path):
    model = load(trained["gru"])
    cells = [line.split(",") for line in hourly()[1:]]
    columns = {
        "date": [row[0] for row in cells],
        "load": [float(row[1]) for row in cells],
        "heat": [float(row[2]) for row in cells],
    }
    [found] = model.forecast(columns)
    assert found.values.shape == (HORIZON, 2, 5)
    assert (np.diff(found.values, axis=2) >= 0).all()
    with pytest.raises(DataError, match="heat"):
        model.forecast({name: column for name, column in columns.items() if name != "heat"})
    every_other = {name: column[::2] for name, column in columns.items()}
    with pytest.raises(DataError, match=r"one step is 2 hours, and in the data .* it was 1 hour"):
        model.forecast(every_other)
    with pytest.raises(DataError, match="reads the dates, too"):
        model.forecast({"load": columns["load"], "heat": columns["heat"]})
    with pytest.raises(RunError, match="is given series, not rows"):
        model.predict([np.zeros((30, 2))])


def test_the_card_is_about_series(trained: dict[str, str]):
    card = load(trained["gru"]).card
    assert card.intended_use.startswith("Forecasts the next 6 steps of series like those of 'hours.csv', from their")
    assert "'load', 'heat'" in card.intended_use
    text = card_markdown(card, "0123")
    for line in ("| reads | 30 steps |", "| forecasts | 6 steps |", "| one step | 1 hour |", "| test blocks | 13 |"):
        assert line in text
    assert "| rows | MASE | MSE | MAE | sMAPE | scaled CRPS | share within the outer quantiles | loss |" in text
    assert not any("test row has" in limit or "rows only" in limit for limit in card.limits)


def test_a_bundle_forecasts_without_its_data(trained: dict[str, str], tmp_path: Path):
    bundle = pack(trained["gru"], tmp_path / "hours.rnnlab")
    file = trained["file"]
    [ours], [theirs] = load(trained["gru"]).forecast(file), load(bundle).forecast(file)
    assert np.array_equal(ours.values, theirs.values)


def test_a_graph_of_one_that_reads_its_own_forecasts_is_refused(trained: dict[str, str], tmp_path: Path):
    with pytest.raises(ExportError, match="a graph can't go round"):
        export_model(trained["recursive"], tmp_path / "model.onnx")
