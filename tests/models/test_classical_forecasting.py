"""Exponential smoothing, ARIMA, theta and boosted trees: beside the libraries themselves."""

import importlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data.forecasting import encode_observations
from rnnlab.data.observations import Observations
from rnnlab.models.arima import arima_weights, autocovariances
from rnnlab.models.baselines import BASELINES
from rnnlab.models.forecasting import Forecasting
from rnnlab.models.smoothing import Form, seasonal_indices, smoothed_ahead
from rnnlab.sweeps.extra_baselines import likely_seconds
from rnnlab.sweeps.plan import experiment_tree, plan

HORIZON, SEASON, STEPS = 6, 4, 120


def made(kind: str, steps: int = STEPS, seed: int = 3) -> np.ndarray:
    """(N,) positive: a season that is added to, or multiplied with, a level that drifts."""
    random = np.random.default_rng(seed)
    time = np.arange(steps)
    level = 60 + 0.3 * time + random.normal(size=steps).cumsum() * 0.8
    season = np.array([3.0, -2.0, 0.5, -1.5])[time % SEASON]
    return level * (1 + season / 10) if kind == "multiplied" else level + season * 2


def encoded(*series: np.ndarray, lookback: int) -> Any:
    values = np.concatenate(series)[:, None]
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in series])])
    names = tuple(f"s{number}" for number in range(len(series))) if len(series) > 1 else ("",)
    seen = Observations("made", values, offsets, names, ("a",), None, None, ())
    return encode_observations(seen, horizon=HORIZON, lookback=lookback, season=SEASON)


def model_of(kind: str) -> Forecasting:
    found = BASELINES.parse({"kind": kind})
    assert isinstance(found, Forecasting)
    return found


@pytest.fixture(scope="module")
def library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("statsforecast.models")


@pytest.mark.parametrize("how", ["added", "multiplied"])
@pytest.mark.parametrize(("kind", "name", "most"), [("theta", "Theta", 1e-3), ("auto-arima", "AutoARIMA", 1e-3),
                                                    ("auto-ets", "AutoETS", 0.1)])  # fmt: skip
def test_the_first_origin_after_training_is_forecast_as_by_the_library(library, kind: str, name: str, most: float, how):
    """It is fitted on all that precedes that origin, and all of it is read. The library ends its search for the first
    states of exponential smoothing early; ours are found exactly."""
    values = made(how)
    train = STEPS - 24 - 12
    data = encoded(values, lookback=train)
    model = model_of(kind)
    found = model.forecast(model.fit_windows(data.train, data.valid, SEASON), data.valid)[0, :, 0]
    mean, std, _ = data.valid.scales[0, :, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(library, name)(season_length=SEASON).fit(values[:train]).predict(HORIZON)["mean"]
    assert np.abs(found * std + mean - expected).max() < most * std


@pytest.mark.parametrize("damped", [False, True])
@pytest.mark.parametrize("form", ["AAN", "AAA", "MAM", "MAA"])
def test_smoothing_goes_on_as_that_of_the_library(library, form: str, damped: bool):
    """Parameters are so large, and the window so long, that the first states no longer matter. Of a damped trend the
    library (2.0.1) adds φ + φ + φ² …, and the textbook φ + φ² + φ³ …: one step ahead they agree."""
    values = made("multiplied" if form[2] == "M" else "added", 400)
    parameters = np.array([0.4, 0.2, 0.0 if form[2] == "N" else 0.3, 0.9 if damped else 1.0])
    ets = importlib.import_module("statsforecast.ets")
    fitted = ets.ets_f(values, SEASON, model=form, damped=damped)
    filtered = ets.ets_f(values, SEASON, model={**fitted, "par": np.concatenate([parameters, fitted["par"][4:]])})
    expected = ets.forecast_ets(filtered, h=HORIZON)["mean"]
    found = smoothed_ahead(Form(*form), parameters[None], values[None], SEASON, HORIZON)[0]
    steps = slice(1 if damped else HORIZON)
    assert np.allclose(found[steps], expected[steps], rtol=1e-6)


@pytest.mark.parametrize("kind", ["auto-ets", "auto-arima", "theta", "lightgbm"])
def test_each_beats_seasonal_naive_on_a_series_with_drift_and_season(kind: str):
    data = encoded(made("added", 400), lookback=40)
    off = {}
    for name in (kind, "seasonal-naive"):
        model = model_of(name)
        learnt = model.fit_windows(data.train, data.valid, SEASON)
        again = safetensors.numpy.load(safetensors.numpy.save(learnt))
        said = model.forecast(again, data.test)
        off[name] = float(np.abs(said - data.test.ahead(np.arange(len(data.test)))).mean())
    assert off[kind] < 0.95 * off["seasonal-naive"]


def test_what_is_fitted_knows_the_training_part_alone():
    values = made("added")
    later = values.copy()
    later[STEPS - 36 :] += 500
    learnt = [
        model_of("auto-ets").fit_windows(data.train, data.valid, SEASON)
        for data in (encoded(one, lookback=30) for one in (values, later))
    ]
    assert all(np.array_equal(learnt[0][name], learnt[1][name]) for name in learnt[0])


def test_every_series_has_parameters_of_its_own_and_a_new_one_is_refused():
    data = encoded(made("added"), made("multiplied"), lookback=30)
    model = model_of("theta")
    learnt = model.fit_windows(data.train, data.valid, SEASON)
    assert learnt["alpha"].shape == (2, 1, 1)
    together = model.forecast(learnt, data.test)
    second = data.test.series == 1
    alone = replace(data.test, starts=data.test.starts[second], ends=data.test.ends[second],
                    series=data.test.series[second], groups=data.test.groups[second])  # fmt: skip
    assert np.allclose(model.forecast(learnt, alone), together[second], atol=1e-6)
    values = np.concatenate([made("multiplied"), made("added")])[:, None]
    later = Observations("later", values, np.array([0, STEPS, 2 * STEPS]), ("s1", "s0"), ("a",), None, None, ())
    turned = replace(later, values=np.roll(values, STEPS, axis=0), series=("s0", "s1"))
    found, expected = (model.forecast(learnt, data.observed.windows(one)) for one in (later, turned))
    assert np.allclose(found, expected[::-1])
    with pytest.raises(DataError, match="none for a series that it wasn't fitted on"):
        model.forecast(learnt, data.observed.windows(replace(later, series=("s1", "s2"))))
    other = replace(data.test, series=data.test.series + 1, scales=np.concatenate([data.test.scales] * 2))
    with pytest.raises(DataError, match="none for a series that it wasn't fitted on"):
        model.forecast(learnt, other)


def test_a_series_that_never_changes_stays_as_it_is():
    data = encoded(np.full(STEPS, 7.0), lookback=30)
    for kind in ("auto-ets", "auto-arima", "theta"):
        model = model_of(kind)
        assert np.allclose(model.forecast(model.fit_windows(data.train, data.valid, SEASON), data.test), 0, atol=1e-5)


def test_the_first_states_of_smoothing_leave_the_smallest_errors():
    """A line and a season without noise are continued exactly, whatever the parameters."""
    time = np.arange(40)
    season = np.array([3.0, -2.0, 0.5, -1.5])
    read = (5 + 0.7 * time + season[time % 4])[None]
    expected = 5 + 0.7 * np.arange(40, 46) + season[np.arange(40, 46) % 4]
    parameters = np.array([[0.3, 0.1, 0.2, 1.0]])
    assert np.allclose(smoothed_ahead(Form("A", "A", "A"), parameters, read, 4, 6), expected, atol=1e-4)
    factors = np.array([1.3, 0.8, 1.0, 0.9])
    read = ((50 + 0.7 * time) * factors[time % 4])[None]
    expected = (50 + 0.7 * np.arange(40, 46)) * factors[np.arange(40, 46) % 4]
    assert np.allclose(smoothed_ahead(Form("M", "A", "M"), parameters, read, 4, 6), expected, rtol=1e-3)
    assert np.allclose(smoothed_ahead(Form("M", "N", "M"), parameters, -read, 4, 6), -read[:, -1:])
    damped = 0.5 ** np.arange(1, 60)
    read = 5 + 3 * damped.cumsum()[None]  # each step is half as large as the one before
    parameters[0, 3] = 0.5
    assert np.allclose(smoothed_ahead(Form("A", "A", "N"), parameters, read[:, :10], 4, 6), read[:, 10:16])


def test_autocovariances_are_those_of_the_textbook():
    assert np.allclose(autocovariances(np.array([0.5]), np.zeros(0), 4), 0.5 ** np.arange(4) / 0.75)
    assert np.allclose(autocovariances(np.zeros(0), np.array([0.4]), 3), [1.16, 0.4, 0.0])
    both = autocovariances(np.array([0.5]), np.array([0.4]), 3)
    assert np.allclose(both, [(1 + 2 * 0.5 * 0.4 + 0.16) / 0.75, 1.2 * 0.9 / 0.75, 0.5 * 1.2 * 0.9 / 0.75])


def test_weights_of_arima_are_those_of_plain_models():
    none = np.zeros(0)
    assert np.allclose(arima_weights(np.array([0.5]), none, none, 3, 2), [[0, 0, 0.5], [0, 0, 0.25]])
    assert np.allclose(arima_weights(none, none, np.array([1.0]), 3, 2), [[0, 0, 1], [0, 0, 1]])
    assert np.allclose(arima_weights(none, none, np.array([2.0, -1.0]), 3, 2), [[0, -1, 2], [0, -2, 3]], atol=1e-6)


def test_seasons_are_those_that_were_added():
    time = np.arange(23)
    found = seasonal_indices((2.0 * time + np.array([1.0, -3.0, 2.0])[time % 3])[None], 3, False)
    assert np.allclose(found, [[1.0, -3.0, 2.0]])


# --- when they run ----------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path) -> str:
    path = tmp_path / "load.csv"
    path.write_text("x\n" + "\n".join(f"{one:.3f}" for one in made("added")))
    return str(path)


def planned(small: str, models: list[str] | None = None) -> Any:
    return plan(experiment_tree(small, task={"kind": "forecast", "horizon": HORIZON, "season": SEASON}, models=models))


def test_they_run_where_they_are_installed_and_soon_done(small, monkeypatch):
    experiment, data = planned(small, ["gru"])
    kinds = {"auto-arima", "auto-ets", "lightgbm", "theta"}
    assert set(experiment.baselines) == kinds
    monkeypatch.setattr("rnnlab.sweeps.extra_baselines.LONGEST", 5.0)
    experiment, _ = planned(small, ["gru"])
    assert set(experiment.baselines) == kinds - {"lightgbm"}
    [said] = [one for one in experiment.notes if "left out" in one]
    assert "--models gru,lightgbm" in said
    asked, _ = planned(small, ["gru", "lightgbm"])
    assert (set(asked.baselines), list(asked.arms), asked.notes) == (kinds, ["gru"], ())
    assert likely_seconds(asked.baselines["lightgbm"], data) > 5


def test_without_the_extra_they_are_left_out_and_refused_by_name(small, monkeypatch):
    monkeypatch.setattr("rnnlab.sweeps.extra_baselines.installed", lambda package: False)
    experiment, _ = planned(small, ["gru"])
    assert not experiment.baselines
    assert any("pip install 'rnnlab[forecast]'" in one for one in experiment.notes)
    with pytest.raises(ConfigError, match=r"baselines.theta: it needs statsforecast: pip install 'rnnlab\[forecast\]'"):
        planned(small, ["gru", "theta"])


def test_what_cannot_be_imported_says_what_to_install(monkeypatch):
    def gone(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("rnnlab.models.classical_forecasting.importlib.import_module", gone)
    data = encoded(made("added"), lookback=30)
    with pytest.raises(ConfigError, match=r"'lightgbm' needs the package lightgbm: pip install 'rnnlab\[forecast\]'"):
        model_of("lightgbm").fit_windows(data.train, data.valid, SEASON)


def test_another_task_refuses_them():
    with pytest.raises(ConfigError, match=r"baselines.theta: it doesn't suit the task 'classify'"):
        plan(experiment_tree(None, task={"kind": "classify", "rows": 100}, models=["gru", "theta"]))
