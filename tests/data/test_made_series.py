"""Series by known rules: the best forecast is what it is said to be, and knows nothing of what comes later."""

import numpy as np
import pytest

from rnnlab.answers.forecast import MASE
from rnnlab.core.errors import ConfigError
from rnnlab.data.made_series import AFTER, BEFORE, CARRIED, DAY, SHOCK, WEEK, made_series
from rnnlab.judging.wording import above_floor
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.forecast import ForecastTask

STEPS = 3_000
ORIGINS = np.arange(2_000, 2_900)


def error(forecasts: np.ndarray, values: np.ndarray) -> float:
    return float(np.abs(forecasts - values[ORIGINS[:, None] + np.arange(forecasts.shape[1])]).mean())


def test_the_rule_has_a_trend_two_seasons_and_a_change():
    made = made_series(STEPS, 0)
    change = round(0.4 * STEPS)
    for part, regime in ((slice(0, change), BEFORE), (slice(change, STEPS), AFTER)):
        rule = made.rule[part]
        risen = rule[WEEK:] - rule[:-WEEK]
        assert np.allclose(risen, regime.slope)
        days = rule[: len(rule) // DAY * DAY].reshape(-1, DAY)
        assert np.ptp(days - days.mean(1, keepdims=True), axis=0).max() > 1  # no two days alike: there is a week, too
    assert made.rule[change] - made.rule[change - WEEK] > 5


def test_shocks_have_heavy_tails_and_no_direction():
    made = made_series(200_000, 1)
    noise = made.observations.values[:, 0] - made.rule
    shocks = (noise[1:] - CARRIED * noise[:-1]) / SHOCK
    assert abs(np.median(shocks)) < 0.01
    assert np.abs(shocks).max() > 12  # of as many normal ones with this spread, about 6.5
    assert abs(np.corrcoef(shocks[1:], shocks[:-1])[0, 1]) < 0.01


def test_no_forecast_beats_the_median():
    made = made_series(STEPS, 2)
    values = made.observations.values[:, 0]
    best = made.medians(ORIGINS, 6)
    least = error(best, values)
    noise = (values - made.rule)[ORIGINS - 1, None]
    for other in (
        best + 1,
        best - 1,
        made.rule[ORIGINS[:, None] + np.arange(6)] + noise,  # noise that stays
        made.rule[ORIGINS[:, None] + np.arange(6)] + 0 * noise,  # or is forgotten
        values[ORIGINS[:, None] + np.arange(6) - WEEK],
    ):
        assert error(other, values) > least


def test_the_median_knows_nothing_at_or_after_its_origin():
    made = made_series(STEPS, 2)
    before = made.medians(ORIGINS[:1], 6)
    made.observations.values[ORIGINS[0] :] += 1000
    assert np.array_equal(made.medians(ORIGINS[:1], 6), before)
    made.observations.values[ORIGINS[0] - 1] += 1
    assert np.allclose(made.medians(ORIGINS[:1], 6) - before, CARRIED ** np.arange(1, 7))


@pytest.mark.parametrize("more", [{}, {"borders": (1500, 2000, 2500)}, {"horizon": 9, "lookback": 20}])
def test_the_task_says_what_can_be_reached(more: dict):
    data = ForecastTask(steps_made=STEPS, **more).encoded()
    made, test = made_series(STEPS, 0), data.test
    assert test.scales is not None
    assert test.horizon is not None
    mean, std, naive = test.scales[0, :, 0]
    begin = (more.get("borders") or (0, STEPS - round(0.2 * STEPS)))[1]
    end = (more.get("borders") or (0, 0, STEPS))[2]
    origins = np.arange(begin, end - test.horizon + 1)
    asked = made.observations.values[origins[:, None] + np.arange(test.horizon), 0]
    assert np.allclose(test.ahead(np.arange(len(test)))[:, :, 0] * std + mean, asked, atol=1e-3)
    floor = np.abs(asked - made.medians(origins, test.horizon)).mean() / naive
    assert data.profile["floor"] == pytest.approx(floor, rel=1e-4)
    assert data.profile["floor_of"] == MASE.title
    assert f"less than a MASE of {floor:.4f}" in data.profile["lines"][-1]


def test_how_close_it_is_is_told_of_the_score_that_is_known(simple_verdict):
    profile = {"floor": 0.5, "floor_of": "MASE"}
    told = above_floor(simple_verdict("MASE"), profile)
    assert told is not None
    assert told.en == "The best possible score is 0.5000: a is 20.0 % above it."
    assert above_floor(simple_verdict("MSE"), profile) is None


@pytest.mark.parametrize("given", [{"data": "a.csv", "steps_made": 500}, {"targets": ["y"]}, {"series": "id"}])
def test_what_would_be_ignored_is_refused(given: dict):
    with pytest.raises(ConfigError, match=r"would be ignored|are for files"):
        TASKS.parse({"kind": "forecast", **given})


@pytest.fixture
def simple_verdict():
    from rnnlab.judging.findings import ArmScores
    from rnnlab.judging.verdict import judge

    arms = [ArmScores("a", [0, 1], np.full((2, 50), 0.6)), ArmScores("b", [0, 1], np.full((2, 50), 0.9))]
    return lambda metric: judge(arms, np.arange(50), metric=metric, unit="number", lower_is_better=True)


def test_what_is_made_is_trained_briefly():
    assert ForecastTask.usual_training({}, "gru")["patience"] == 3
    assert ForecastTask.usual_training({"data": "a.csv"}, "gru").get("patience") != 3
    assert ForecastTask().usual_model("dilated")["hidden"] < 128
    assert "hidden" not in ForecastTask(data="a.csv").usual_model("dilated")
