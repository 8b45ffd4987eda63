"""Forecasters that know what they can't know are found, and the mistake is named; honest ones pass."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rnnlab
from rnnlab.auditing.forecast_audit import audit_forecaster
from rnnlab.core.errors import ConfigError

H, BACK = 6, 20


def ahead(windows: np.ndarray, horizon: int) -> np.ndarray:
    """(rows, horizon) for windows (rows, BACK) of scaled values: something that is no straight line of them."""
    level = np.tanh(windows).mean(1, keepdims=True) + 0.3 * windows[:, -1:]
    return level * 0.9 ** np.arange(1, horizon + 1)


def windows_of(values: np.ndarray, origins: np.ndarray, late: int = 0) -> np.ndarray:
    return np.stack([values[origin + late - BACK : origin + late] for origin in origins])


# --- honest ---------------------------------------------------------------------------------------------------------


def last_value(history: np.ndarray, horizon: int) -> np.ndarray:
    return np.repeat(history[-1:], horizon, axis=0)


def scaled_by_history(history: np.ndarray, horizon: int) -> np.ndarray:
    mean, std = history.mean(), history.std()
    return ahead((history[None, -BACK:] - mean) / std, horizon)[0] * std + mean


def scaled_by_training(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    before = series[: origins.min()]
    mean, std = before.mean(), before.std()
    return ahead((windows_of(series, origins) - mean) / std, horizon) * std + mean


def smoothed_backwards(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    smooth = np.convolve(series, np.ones(5) / 5)[: len(series)]
    return windows_of(smooth, origins)[:, -1:] + np.zeros(horizon)


def scaled_by_itself(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    windows = windows_of(series, origins)
    mean, std = windows.mean(1, keepdims=True), windows.std(1, keepdims=True)
    return ahead((windows - mean) / std, horizon) * std + mean


def ridge(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    return _fitted(series, origins, horizon, origins.min())


def _fitted(series: np.ndarray, origins: np.ndarray, horizon: int, end: int) -> np.ndarray:
    begins = np.arange(BACK, end - horizon)
    read = np.column_stack([windows_of(series, begins), np.ones(len(begins))])
    asked = np.stack([series[begin : begin + horizon] for begin in begins])
    weights = np.linalg.solve(read.T @ read + np.eye(BACK + 1), read.T @ asked)
    return np.column_stack([windows_of(series, origins), np.ones(len(origins))]) @ weights


HONEST = [last_value, scaled_by_history, scaled_by_training, smoothed_backwards, scaled_by_itself, ridge]

# --- not ------------------------------------------------------------------------------------------------------------


def standardised_by_all(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    mean, std = series.mean(), series.std()
    return ahead((windows_of(series, origins) - mean) / std, horizon) * std + mean


def between_extremes_of_all(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    low, high = series.min(), series.max()
    return ahead((windows_of(series, origins) - low) / (high - low), horizon) * (high - low) + low


def centred_by_the_median_of_all(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    middle = np.median(series)
    return ahead((windows_of(series, origins) - middle) / 10, horizon) * 10 + middle


def one_step_late(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    return windows_of(series, origins, late=1)[:, -1:] + np.zeros(horizon)


def smoothed_around(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    smooth = np.convolve(series, np.ones(7) / 7, mode="same")
    return windows_of(smooth, origins)[:, -1:] + np.zeros(horizon)


def fitted_on_all(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    return _fitted(series, origins, horizon, len(series))


def beyond_its_history(history: np.ndarray, horizon: int) -> np.ndarray:
    whole = history if history.base is None else history.base
    return whole[len(history) : len(history) + horizon].copy()


LEAKS = [
    (standardised_by_all, "scaler-saw-the-future", "mean and spread"),
    (between_extremes_of_all, "scaler-saw-the-future", "smallest and largest"),
    (centred_by_the_median_of_all, "scaler-saw-the-future", "in whatever order"),
    (one_step_late, "reads-the-origin", "the value at the origin"),
    (smoothed_around, "reads-ahead", "reaches 3 steps into the future"),
    (fitted_on_all, "fitted-on-the-future", "so does their order"),
    (beyond_its_history, "reads-ahead", f"reaches {H} steps into the future"),
]


@pytest.mark.parametrize("function", HONEST)
def test_honest_forecasters_pass(function: Callable[..., Any]):
    found = audit_forecaster(function, horizon=H)
    assert found.passed, str(found)
    assert [finding.law for finding in found.findings] == ["repeatable", "future", "others"]
    assert str(found).endswith("passed: all laws hold")
    assert len(found.finding("future").by_change) == 4


@pytest.mark.parametrize(("function", "cause", "said"), LEAKS)
def test_a_leak_is_found_and_named(function: Callable[..., Any], cause: str, said: str):
    found = audit_forecaster(function, horizon=H)
    assert [finding.law for finding in found.findings if not finding.passed] == ["future"]
    broken = found.finding("future")
    assert [one.name for one in broken.causes] == [cause]
    assert said in broken.causes[0].what
    assert broken.difference is not None
    assert broken.difference > 1
    assert broken.where is not None
    assert "FAILS" in str(found)


def test_windows_that_are_mixed_are_found():
    def of_the_batch(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
        windows = windows_of(series, origins)
        return ahead((windows - windows.mean()) / windows.std(), horizon) * windows.std() + windows.mean()

    def of_all_before_the_last_origin(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
        before = series[: origins.max()]
        return ahead((windows_of(series, origins) - before.mean()) / before.std(), horizon)

    for function in (of_the_batch, of_all_before_the_last_origin):
        found = audit_forecaster(function, horizon=H)
        assert [finding.law for finding in found.findings if not finding.passed] == ["others"]
        assert [one.name for one in found.finding("others").causes] == ["mixes-windows"]


def test_what_depends_on_the_order_of_origins_is_found():
    def weighted(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
        return windows_of(series, origins)[:, -1:] + np.arange(len(origins))[:, None] + np.zeros(horizon)

    assert audit_forecaster(weighted, horizon=H).finding("others").status == "fails"


def test_what_is_kept_between_calls_is_found():
    numbers = itertools.count()

    def counting(history: np.ndarray, horizon: int) -> np.ndarray:
        return np.full(horizon, history[-1] + next(numbers))

    found = audit_forecaster(counting, horizon=H)
    assert [one.name for one in found.finding("repeatable").causes] == ["keeps-state"]
    assert [finding.status for finding in found.findings] == ["fails", "unjudged", "unjudged"]
    last: dict[str, np.ndarray] = {}

    def beside_the_last_history(history: np.ndarray, horizon: int) -> np.ndarray:
        before = last.get("history", history)
        last["history"] = history.copy()
        return np.full(horizon, history[-1] + (len(before) != len(history)) * before[-1])

    found = audit_forecaster(beside_the_last_history, horizon=H)
    assert [finding.status for finding in found.findings] == ["holds", "unjudged", "fails"]
    assert [one.name for one in found.finding("others").causes] == ["keeps-state"]


def test_what_is_random_is_said_and_judged_with_seeds():
    def noisy(history: np.ndarray, horizon: int) -> np.ndarray:
        return history[-1] + np.random.normal(size=horizon)  # noqa: NPY002

    def noisy_leak(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
        return standardised_by_all(series, origins, horizon) + np.random.normal()  # noqa: NPY002

    np.random.seed(5)  # noqa: NPY002
    expected = np.random.normal()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    found = audit_forecaster(noisy, horizon=H)
    assert np.random.normal() == expected  # noqa: NPY002 (ours go on)
    assert [finding.status for finding in found.findings] == ["fails", "holds", "holds"]
    assert [one.name for one in found.finding("repeatable").causes] == ["draws-randomly"]
    assert "isn't deterministic" in str(found)
    leaking = audit_forecaster(noisy_leak, horizon=H)
    assert [one.name for one in leaking.finding("future").causes] == ["scaler-saw-the-future"]


def test_generators_that_seeds_dont_reach_leave_the_rest_unjudged():
    drawn = np.random.default_rng(0)
    found = audit_forecaster(lambda history, horizon: history[-1] + drawn.normal(size=horizon), horizon=H)
    assert [finding.status for finding in found.findings] == ["fails", "unjudged", "unjudged"]


@pytest.mark.parametrize("channels", [1, 3])
def test_several_channels(channels: int):
    def honest(history: np.ndarray, horizon: int) -> np.ndarray:
        assert history.shape[1] == channels
        return last_value(history, horizon)

    def of_all(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
        mean = series.mean(0)
        return np.stack([mean + 0.5 * (series[origin - 1] - mean) + np.zeros((horizon, 1)) for origin in origins])

    assert audit_forecaster(honest, horizon=H, channels=channels).passed
    found = audit_forecaster(of_all, horizon=H, channels=channels)
    assert [one.name for one in found.finding("future").causes] == ["scaler-saw-the-future"]


def test_forecasts_that_say_nothing():
    constant = audit_forecaster(lambda history, horizon: np.full(horizon, 3.0), horizon=H)
    assert constant.finding("different").status == "warns"
    assert constant.passed
    nan = audit_forecaster(lambda history, horizon: np.full(horizon, np.nan), horizon=H)
    assert nan.finding("finite").status == "fails"


def wrong_shape(history: np.ndarray, horizon: int) -> np.ndarray:
    return history[:3]


def raising(history: np.ndarray, horizon: int) -> np.ndarray:
    raise ValueError("a look-back of 9,999 is needed")


@pytest.mark.parametrize(
    ("function", "more", "said"),
    [
        (wrong_shape, {}, r"must return an array of shape \(6,\) \(got \(3,\)\)"),
        (raising, {}, "a look-back of 9,999 is needed"),
        (lambda history: history, {}, "a forecaster takes a history and a horizon"),
        (lambda a, b, c, d: a, {}, "a forecaster takes a history and a horizon"),
        (7, {}, "must be a function that forecasts"),
        (last_value, {"steps": 30}, "at least 10 times the horizon"),
    ],
)
def test_mistakes_are_told(function: Any, more: dict[str, Any], said: str):
    with pytest.raises(ConfigError, match=said):
        audit_forecaster(function, horizon=H, **more)


def test_it_is_public_and_can_be_json():
    found = rnnlab.audit_forecaster(standardised_by_all, horizon=H)
    tree = found.to_dict()
    assert tree["passed"] is False
    assert tree["call"] == "forecaster(series, origins, horizon)"
    assert {finding["law"] for finding in tree["findings"]} == {"repeatable", "future", "others"}
