"""Windows of series: every origin once, targets in one split alone, and nothing of what comes later in what is read."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.data import store
from rnnlab.data.calendar import Spacing
from rnnlab.data.forecasting import encode_observations, usual_lookback
from rnnlab.data.observations import Observations
from rnnlab.data.observed import Observed
from rnnlab.models.baselines import BASELINES
from rnnlab.models.forecasting import Forecasting, spaced_evenly

HORIZON, LOOKBACK, SEASON = 4, 10, 5


def seen(*lengths: int, channels: int = 2, seed: int = 0) -> Observations:
    random = np.random.default_rng(seed)
    values = random.normal(size=(sum(lengths), channels)) * 3 + 50
    names = tuple(f"s{number}" for number in range(len(lengths))) if len(lengths) > 1 else ("",)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Observations("made", values, offsets, names, tuple("abcdef"[:channels]), None, None, ())


def encoded(one: Observations, **more) -> Any:
    """Its windows have series and scales, which those of other tasks lack."""
    settings = {"horizon": HORIZON, "lookback": LOOKBACK, "season": SEASON, **more}
    return encode_observations(one, **settings)


def test_every_origin_is_asked_once_and_in_one_split():
    one = seen(100)
    data = encoded(one)
    steps = {"train": (0, 70), "valid": (70, 80), "test": (80, 100)}
    for split, (begin, end) in steps.items():
        rows = getattr(data, split)
        reach = max(0, begin - LOOKBACK)
        origins = rows.ends + reach
        first = max(begin, LOOKBACK)
        assert origins.tolist() == list(range(first, end - HORIZON + 1))
        standard = (one.values - rows.scales[0, 0]) / rows.scales[0, 1]
        for row, origin in enumerate(origins.tolist()):
            assert np.allclose(rows.row(row), standard[origin - LOOKBACK : origin], atol=1e-4)
            assert np.allclose(rows.ahead(np.array([row]))[0], standard[origin : origin + HORIZON], atol=1e-4)


def test_borders_are_those_that_are_given():
    data = encoded(seen(100), borders=(50, 70, 90))
    assert [len(part) for part in (data.train, data.valid, data.test)] == [37, 17, 17]
    with pytest.raises(DataError, match="borders must ascend"):
        encoded(seen(100), borders=(50, 70, 120))


def test_what_is_read_and_how_it_is_scaled_knows_nothing_of_later_parts():
    one = seen(100)
    changed = one.values.copy()
    changed[80:] += 1000
    later = replace(one, values=changed)
    ours, theirs = encoded(one), encoded(later)
    for split in ("train", "valid"):
        assert np.array_equal(getattr(ours, split).values, getattr(theirs, split).values)
    assert np.array_equal(ours.test.scales, theirs.test.scales)
    changed[70:80] -= 500
    theirs = encoded(replace(one, values=changed))
    assert np.array_equal(ours.train.values, theirs.train.values)
    assert np.array_equal(ours.test.scales[:, :2], theirs.test.scales[:, :2])  # the third is a unit, not read


def test_many_series_are_tested_by_their_last_horizon():
    one = seen(*[40 + number for number in range(25)], channels=1)
    data = encoded(one)
    assert len(data.test) == len(data.valid) == 25
    assert data.test.series.tolist() == list(range(25))
    for number in range(25):
        last = one.values[one.offsets[number + 1] - HORIZON : one.offsets[number + 1]]
        mean, std = data.test.scales[number, :2]
        assert np.allclose(data.test.ahead(np.array([number]))[0] * std + mean, last, atol=1e-3)


def test_blocks_are_horizons_of_one_series():
    data = encoded(seen(100, 90))
    rows = data.test
    for block in np.unique(rows.groups):
        inside = rows.groups == block
        assert len(set(rows.series[inside].tolist())) == 1
        assert inside.sum() <= HORIZON
        assert np.ptp(rows.ends[inside]) < HORIZON
    assert len(np.unique(rows.groups)) == 5 + 4


def test_millions_of_steps_are_not_held_several_times(tmp_path):
    """While they are encoded, and while they are found again."""
    steps = 600_000
    dates = np.datetime64("2000-01-01T00:00:00") + 60 * np.arange(steps)
    one = replace(seen(steps, channels=1), dates=dates, spacing=Spacing(60, 0))
    tracemalloc.start()
    try:
        data = encoded(one)
        size = data.observed.width * 4 * steps + one.values.nbytes
        assert tracemalloc.get_traced_memory()[1] < 2.5 * size  # it was 5.5 times, with copies
        assert np.shares_memory(data.train.values, data.valid.values)
        store.save(data, tmp_path / "kept")
        kept = sum(file.stat().st_size for file in (tmp_path / "kept").iterdir())
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        found = store.load(tmp_path / "kept")
        assert tracemalloc.get_traced_memory()[1] - before < 1.6 * kept
    finally:
        tracemalloc.stop()
    assert found is not None
    assert np.array_equal(found.train.values, data.train.values)


def test_what_is_read_of_minutes_is_no_more_than_a_day_and_of_hours_two_weeks():
    assert usual_lookback(1440, 60, 10_000_000) == 1440
    assert usual_lookback(96, 96, 100_000) == 1344
    assert usual_lookback(24, 24, 10_000) == 336


def test_missing_values_are_said_and_not_asked():
    one = seen(100)
    one.values[[20, 85], [0, 1]] = np.nan
    data = encoded(one)
    assert data.train.values.shape[1] == 4  # two values, and whether each is missing
    assert np.isfinite(data.train.values).all()
    assert np.isnan(data.test.targets).sum() == 1
    assert any("2 values are missing" in line for line in data.profile["lines"])


def test_a_series_that_is_too_short_says_so():
    with pytest.raises(DataError, match="too few for a horizon of 40"):
        encoded(seen(100), horizon=40)
    assert any("too short to judge" in line for line in encoded(seen(60), horizon=6).profile["lines"])


@pytest.mark.parametrize(
    ("season", "steps", "horizon"),
    [(24, 1000, 24), (12, 60, 12), (12, 59, 2), (1, 1000, 10), (1, 100, 5), (1, 12, 1), (1440, 100_000, 10)],
)
def test_a_horizon_that_nobody_gave_is_a_season_where_there_is_room(season: int, steps: int, horizon: int):
    data = encoded(seen(steps), horizon=None, season=season, lookback=None)
    assert data.profile["settled"]["horizon"] == horizon == data.test.horizon
    assert [line for line in data.profile["lines"] if "no --horizon" in line and f"{horizon} steps" in line]
    assert not [line for line in encoded(seen(60)).profile["lines"] if "no --horizon" in line]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("last-value", np.full(200, 7.0)),
        ("seasonal-naive", np.tile([1.0, 5.0, 2.0, 8.0, 3.0], 40)),
        ("moving-average", np.full(200, 7.0)),
        ("ridge", np.cumsum(np.sin(np.arange(200) * 0.7)) + 3),
    ],
)
def test_baselines_are_right_where_their_rule_holds(name: str, values: np.ndarray):
    one = replace(seen(200, channels=1), values=values[:, None])
    data = encoded(one)
    model = BASELINES[name]()
    assert isinstance(model, Forecasting)
    learnt = model.fit_windows(data.train, data.valid, SEASON)
    off = model.forecast(learnt, data.test) - data.test.ahead(np.arange(len(data.test)))
    assert np.abs(off).max() < 0.02


@pytest.mark.parametrize("name", ["last-value", "seasonal-naive", "moving-average", "ridge"])
def test_a_forecast_depends_on_nothing_at_or_after_its_origin(name: str):
    one = seen(120)
    data = encoded(one)
    model = BASELINES[name]()
    assert isinstance(model, Forecasting)
    learnt = model.fit_windows(data.train, data.valid, SEASON)
    before = model.forecast(learnt, data.test)
    values = data.test.values.copy()
    values[data.test.ends[3] :] += 1000
    after = model.forecast(learnt, replace(data.test, values=values))
    assert np.array_equal(before[:4], after[:4])
    assert not np.array_equal(before[5], after[5])


def test_the_windows_of_a_new_file_are_those_that_training_would_have_made():
    """The same numbers, whether a window is cut from the data of training or read later from a file that ends there."""
    one = replace(seen(100), values=np.where(np.arange(200).reshape(100, 2) % 17 == 3, np.nan, seen(100).values))
    data = encoded(one)
    later = replace(one, values=one.values[:85], offsets=np.array([0, 85]))
    [origin] = np.flatnonzero(data.test.origins == 85)
    assert np.array_equal(data.observed.windows(later).row(0), data.test.row(origin))
    stored = type(data.observed).from_dict(data.observed.to_dict())
    assert np.array_equal(stored.windows(later).row(0), data.test.row(origin))


def test_a_missing_value_is_read_as_the_last_that_is_known_and_marked():
    values = seen(100, channels=1).values
    values[[0, 41, 42]] = np.nan
    data = encoded(replace(seen(100, channels=1), values=values))
    mean, std, _ = data.train.scales[0, :, 0]
    read = data.train.values
    assert read[0].tolist() == [0, 1]  # nothing is known before
    assert np.allclose(read[[40, 41, 42], 0], (values[40, 0] - mean) / std, atol=1e-6)
    assert read[[40, 41, 42, 43], 1].tolist() == [0, 1, 1, 0]


def test_a_series_that_training_never_saw_is_measured_by_itself():
    data = encoded(seen(100, channels=1))
    other = replace(seen(60, channels=1, seed=1), series=("new",))
    window = data.observed.windows(replace(other, values=other.values * 1000)).row(0)
    assert np.abs(window).max() < 5
    with pytest.raises(DataError, match="reads 1 channels"):
        data.observed.windows(seen(60))


def test_all_series_may_share_the_mean_and_spread_of_all_training_parts():
    one = seen(100, 60)
    one.values[100:] += 1000
    data = encoded(one, standardise="global")
    learnt_from = np.concatenate([one.values[:70], one.values[100:142]])
    assert np.allclose(data.train.scales[:, 0], learnt_from.mean(0))
    assert np.allclose(data.train.scales[:, 1], learnt_from.std(0))
    by_series = encoded(one).train.scales
    assert np.array_equal(data.train.scales[:, 2], by_series[:, 2])  # what MASE is measured in stays
    later = replace(one, values=one.values.copy())
    later.values[70:100] += 500
    assert np.array_equal(encoded(later, standardise="global").train.scales[:, :2], data.train.scales[:, :2])
    stored = Observed.from_dict(data.observed.to_dict())
    new = replace(seen(60), series=("new",))
    read = (new.values - learnt_from.mean(0)) / learnt_from.std(0)
    assert np.allclose(stored.windows(new).row(0), read[-LOOKBACK:], atol=1e-4)


def test_a_second_file_goes_on_where_the_first_one_ends():
    whole = seen(100, 80)
    cut = np.concatenate([np.arange(0, 92), np.arange(100, 172)])
    first = replace(whole, values=whole.values[cut], offsets=np.array([0, 92, 164]))
    rest = np.concatenate([np.arange(172, 180), np.arange(92, 100)])  # in another order
    later = replace(whole, values=whole.values[rest], offsets=np.array([0, 8, 16]), series=("s1", "s0"))
    given, joined = encoded(first, later=later), encoded(whole, test_fraction=0.08)
    assert given.test.origins.tolist() == [92, 93, 94, 95, 96, 72, 73, 74, 75, 76]
    assert np.allclose(given.test.row(0), (whole.values[82:92] - given.test.scales[0, 0]) / given.test.scales[0, 1])
    assert np.array_equal(joined.test.values.shape[1:], given.test.values.shape[1:])
    with pytest.raises(DataError, match="all of them and no others"):
        encoded(first, later=replace(later, series=("s1", "other")))
    with pytest.raises(DataError, match="take a shorter horizon"):
        encoded(first, later=later, horizon=9)


def test_of_many_windows_some_are_taken_from_beginning_to_end():
    rows = encoded(seen(100)).train
    assert spaced_evenly(rows, 1000).tolist() == list(range(len(rows)))
    few = spaced_evenly(rows, 10)
    assert len(few) == 10
    assert (few[0], few[-1]) == (0, len(rows) - 1)
    assert (np.diff(few) > 0).all()
