"""Dates as people write them, how far apart they are, and what they tell of a season."""

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.core.words import speaking
from rnnlab.data.calendar import Spacing, calendar_features, parse_dates, spacing_of


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2016-07-01", "2016-07-01"),
        ("2016-07-01 13:05", "2016-07-01T13:05"),
        (" 2016-07-01T13:05:06.7Z ", "2016-07-01T13:05:07"),
        ("2016-07-01 13:05:06+08:00", "2016-07-01T13:05:06"),
        ("2016-07-01 24:00", "2016-07-02"),
        ("2016-7-1 3", "2016-07-01T03"),
        ("1949-01", "1949-01-01"),
        ("01/1949", "1949-01-01"),
        ("1949", "1949-01-01"),
        ("2016/7/1", "2016-07-01"),
        ("2016.07.01", "2016-07-01"),
        ("2016年7月1日", "2016-07-01"),
        ("2016年7月1日 13时5分", "2016-07-01T13:05"),
        ("2016年7月1日 13:05:06", "2016-07-01T13:05:06"),
        ("2016年7月", "2016-07-01"),
        ("20160701", "2016-07-01"),
        ("20160701 13:00", "2016-07-01T13"),
        ("201607", "2016-07-01"),
        ("2016070113", "2016-07-01T13"),
        ("201607011305", "2016-07-01T13:05"),
        ("1467331200", "2016-07-01"),
        ("1467331200000", "2016-07-01"),
        ("01.07.2016 13:00", "2016-07-01T13"),
        ("13/07/2016", "2016-07-13"),
        ("7/13/2016 1:05 PM", "2016-07-13T13:05"),
        ("7/13/2016 12:05 am", "2016-07-13T00:05"),
        ("2016Q3", "2016-07-01"),
        ("1-Jul-2016", "2016-07-01"),
        ("July 1, 2016", "2016-07-01"),
        ("Jul 2016", "2016-07-01"),
        ("0001-01-01", "0001-01-01"),
    ],
)
def test_a_date_as_people_write_it(text: str, date: str):
    found = parse_dates([text, text])
    assert found.dtype == np.dtype("datetime64[s]")
    assert (found == np.datetime64(date, "s")).all()


@pytest.mark.parametrize(
    "text",
    ["", "x", "2016-02-30", "2016-13-01", "2016-00-01", "2016-07-00", "2016-07-01 25:00", "2016-07-01 24:01",
     "20161301", "2016-07/01", "12", "NaT", "now", "2016-07-01 13:60", "31.02.2016", "2016Q5", "13:00 pm",
     "7/13/2016 13:05 PM", "-2016-01-01", "2016年13月1日", "٢٠١٦-٠٧-٠١", "2016-07-01\0", "1" * 500],
)  # fmt: skip
def test_what_is_no_date_is_an_error_with_its_row(text: str):
    with pytest.raises(DataError, match=r"1 of 3 dates can't be read\nrow 2: "):
        parse_dates(["2016-07-01", text, "2016-07-03"])


def test_a_mixture_of_lengths_is_read_row_by_row():
    texts = [f"{year}/{month}/{day}" for year in (1999, 2016) for month in (1, 9, 10, 12) for day in (1, 10, 28)]
    assert [str(date)[:10].replace("-0", "-").replace("-", "/") for date in parse_dates(texts)] == texts


def test_day_and_month_are_decided_by_all_dates():
    assert str(parse_dates(["01/07/2016", "13/07/2016"])[0]) == "2016-07-01T00:00:00"
    assert str(parse_dates(["01/07/2016", "01/13/2016"])[0]) == "2016-01-07T00:00:00"
    with pytest.raises(DataError, match=r"'01/07/2016' has a day and a month.*write the dates as 2016-07-01"):
        parse_dates(["01/01/2016", "01/07/2016", "01/08/2016"])
    with pytest.raises(DataError, match=r"1 of 3 dates can't be read\nrow 3: '12/31/2016'"):
        parse_dates(["13/01/2016", "14/01/2016", "12/31/2016"])
    assert len(parse_dates(["01/01/2016", "02/02/2016"])) == 2  # either way the same


def test_day_and_month_are_decided_by_regular_steps():
    months = [f"01/{month:02d}/{year}" for year in (2016, 2017) for month in range(1, 13)]
    assert str(parse_dates(months)[1]) == "2016-02-01T00:00:00"
    days = [f"{month}/{day}/2016" for month in (1, 2, 3) for day in range(1, 13)]
    with pytest.raises(DataError, match="which comes first"):
        parse_dates(days)  # gaps either way


def test_order_is_decided_over_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rnnlab.data.calendar.BLOCK", 2)
    dates = parse_dates(["2016-05-01", "2016-05-02", "2016-05-03", "1/2/2016", "2/2/2016", "3/13/2016"])
    assert str(dates[3]) == "2016-01-02T00:00:00"


def test_one_time_zone_is_left_out_and_several_are_made_utc():
    winter = ["2016-10-30T01:00:00+02:00", "2016-10-30T02:00:00+02:00", "2016-10-30T02:00:00+01:00"]
    assert spacing_of(parse_dates(winter)) == Spacing(seconds=3600)
    assert str(parse_dates(winter[:2])[0]) == "2016-10-30T01:00:00"


@pytest.mark.parametrize(
    ("step", "spacing", "season", "name"),
    [
        ("1h", Spacing(seconds=3600), 24, "1 hour"),
        ("30m", Spacing(seconds=1800), 48, "30 minutes"),
        ("15m", Spacing(seconds=900), 96, "15 minutes"),
        ("1s", Spacing(seconds=1), 1, "1 second"),
        ("7h", Spacing(seconds=25200), 1, "7 hours"),
        ("1D", Spacing(seconds=86400), 7, "1 day"),
        ("7D", Spacing(seconds=604800), 52, "1 week"),
        ("1M", Spacing(months=1), 12, "1 month"),
        ("3M", Spacing(months=3), 4, "3 months"),
        ("1Y", Spacing(months=12), 1, "1 year"),
        ("5Y", Spacing(months=60), 1, "5 years"),
    ],
)
def test_spacing(step: str, spacing: Spacing, season: int, name: str):
    count, unit = int(step[:-1]), step[-1]
    dates = (np.datetime64("2015", unit) + np.arange(30) * count).astype("datetime64[s]")
    assert spacing_of(dates) == spacing
    assert spacing_of(np.delete(dates, [3, 4, 9])) == spacing  # gaps are whole steps
    assert (spacing.after(dates[9], 20) == dates[10:]).all()
    assert (spacing.season, spacing.name) == (season, name)


def test_spacing_is_told_in_chinese():
    with speaking("zh"):
        assert (Spacing(seconds=900).name, Spacing(months=1).name) == ("15 分钟", "1 个月")


def test_last_days_of_months():
    ends = parse_dates(["2015-11-30", "2015-12-31", "2016-01-31", "2016-02-29", "2016-03-31"])
    assert spacing_of(ends) == Spacing(months=1)
    assert (Spacing(months=1).after(ends[0], 4) == ends[1:]).all()
    assert [str(date)[:10] for date in Spacing(months=1).after(np.datetime64("2016-01-30T06:00"), 2)] == [
        "2016-02-29",
        "2016-03-30",
    ]
    assert str(Spacing(months=1).after(np.datetime64("2016-01-15T06:00"), 1)[0]) == "2016-02-15T06:00:00"


def test_dates_that_are_not_regular_are_errors_with_their_row():
    hours = np.datetime64("2016-07-01", "s") + np.arange(10) * np.timedelta64(3600, "s")
    late = hours.copy()
    late[4] += np.timedelta64(600, "s")
    with pytest.raises(DataError, match=r"aren't regular: most are 1 hour apart, which row 5 \(2016-07-01T04:10:00\)"):
        spacing_of(late)
    with pytest.raises(DataError, match=r"row 2 .* isn't later"):
        spacing_of(hours[[0, 0, 1]])
    with pytest.raises(DataError, match="at least two dates"):
        spacing_of(hours[:1])


def test_calendar_features_are_those_that_vary():
    hours = np.datetime64("2016-07-01", "s") + np.arange(24 * 14) * np.timedelta64(3600, "s")
    found = calendar_features(hours, Spacing(seconds=3600))
    assert found.shape == (24 * 14, 6)
    assert found.dtype == np.float32
    assert np.abs(found).max() <= 1
    assert np.allclose(found[:24, :2], found[24:48, :2])  # the hour of day
    assert np.allclose(found[: 24 * 7, :4], found[24 * 7 :, :4])  # the day of week
    assert np.allclose(found[6, :2], [1, 0], atol=1e-6)  # six o'clock
    longer = (Spacing(seconds=86400), Spacing(seconds=604800), Spacing(months=1), Spacing(months=3), Spacing(months=12))
    widths = [calendar_features(hours, spacing).shape[1] for spacing in longer]
    assert widths == [4, 2, 2, 2, 0]
    monday = calendar_features(np.array(["1970-01-05", "2024-01-01"], "datetime64[s]"), Spacing(seconds=86400))
    assert np.allclose(monday[:, :2], [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("spacing", "steps", "told"),
    [
        (Spacing(seconds=3600), 1, "1 hour"),
        (Spacing(seconds=3600), 48, "2 days"),
        (Spacing(seconds=3600), 336, "2 weeks"),
        (Spacing(seconds=3600), 50, "50 hours"),
        (Spacing(seconds=3600), 95, "about 4 days"),
        (Spacing(seconds=3600), 190, "about 8 days"),
        (Spacing(seconds=86400), 25, "25 days"),
        (Spacing(seconds=604800), 200, "200 weeks"),
        (Spacing(seconds=900), 3, "45 minutes"),
        (Spacing(months=1), 25, "25 months"),
        (Spacing(months=3), 8, "2 years"),
    ],
)
def test_how_long_steps_are(spacing: Spacing, steps: int, told: str):
    assert spacing.over(steps).en == told
