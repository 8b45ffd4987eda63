"""Files of observations: every layout, every mistake."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import DataError
from rnnlab.core.words import retold
from rnnlab.data.calendar import Spacing
from rnnlab.data.observations import Observations, looks_like_observations, read_observations

Write = Callable[..., Path]
NAN = float("nan")
HOURS = [f"2016-07-01 {hour:02d}:00" for hour in range(12)]


def table(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


def hourly(count: int = 12, header: str = "date,a,b") -> str:
    return table(header, *(f"{date},{number},{number / 2}" for number, date in enumerate(HOURS[:count])))


def same(one: Observations, other: Observations) -> bool:
    return (
        np.array_equal(one.values, other.values, equal_nan=True)
        and np.array_equal(one.offsets, other.offsets)
        and (one.series, one.channels, one.spacing) == (other.series, other.channels, other.spacing)
        and same_dates(one, other)
    )


def same_dates(one: Observations, other: Observations) -> bool:
    if one.dates is None or other.dates is None:
        return one.dates is other.dates
    return np.array_equal(one.dates, other.dates)


# --- the three layouts ----------------------------------------------------------------------------------------------


def test_wide(write: Write):
    found = read_observations(write("a.csv", hourly()))
    assert found.values.dtype == np.float64
    assert found.values.tolist() == [[float(n), n / 2] for n in range(12)]
    assert (found.series, found.channels, found.offsets.tolist()) == (("",), ("a", "b"), [0, 12])
    assert found.dates is not None
    assert str(found.dates[3]) == "2016-07-01T03:00:00"
    assert found.spacing == Spacing(seconds=3600)
    assert found.notes == ("date column 'date', one step is 1 hour; values 'a', 'b'",)


def test_targets_are_the_channels_in_their_order(write: Write):
    path = write("a.csv", hourly())
    assert read_observations(path, targets=["b", "a"]).channels == ("b", "a")
    found = read_observations(path, targets=("b",))
    assert (found.channels, found.values[2, 0]) == (("b",), 1.0)


def test_wide_without_dates(write: Write):
    found = read_observations(write("a.csv", table("a,b", "1,2", "3,4", "5,6.5")))
    assert (found.dates, found.spacing, found.values.tolist()) == (None, None, [[1, 2], [3, 4], [5, 6.5]])
    assert "no date column" in found.notes[0]


def test_long(write: Write):
    rows = [f"{date},{name},{number}" for number, date in enumerate(HOURS) for name in ("x", "y")]
    for series, told in ((None, True), ("shop", False)):
        found = read_observations(write("a.csv", table("date,shop,sales", *rows)), series=series)
        assert (found.series, found.channels, found.offsets.tolist()) == (("x", "y"), ("sales",), [0, 12, 24])
        assert found.values[:, 0].tolist() == [*range(12), *range(12)]
        assert any("dates repeat, and 'shop' explains it: 2 series" in note for note in found.notes) is told
        assert not any("sorted" in note for note in found.notes)


def test_long_with_numbers_as_names(write: Write):
    rows = [f"{store},{dept},{date},{number * 1.5}" for store in (7, 8) for dept in (1, 2) for number, date in
            enumerate(HOURS)]  # fmt: skip
    found = read_observations(write("a.csv", table("store,dept,date,sales", *rows)))
    assert found.series == ("7 / 1", "7 / 2", "8 / 1", "8 / 2")
    assert (found.channels, found.values.shape) == (("sales",), (48, 1))
    one = [row for row in rows if row.split(",")[1] == "1"]
    found = read_observations(write("b.csv", table("store,dept,date,sales", *one)), targets=["sales"])
    assert (found.series, found.channels) == (("7", "8"), ("sales",))


def test_each_series_has_its_own_dates(write: Write):
    """One begins where the other ends, or at another minute."""
    one = [f"{date},x,1" for date in HOURS[:6]]
    for minute in ("00", "30"):
        other = [f"{date.replace(':00', f':{minute}')},y,2" for date in HOURS[5:]]
        found = read_observations(write("a.csv", table("date,id,y", *one, *other)), series="id")
        assert (found.offsets.tolist(), found.spacing) == ([0, 6, 13], Spacing(seconds=3600))
        assert found.dates is not None
        assert str(found.dates[6]) == f"2016-07-01T05:{minute}:00"


def test_series_of_different_lengths_without_dates(write: Write):
    path = write("a.csv", table("id,y", "b,1", "a,2", "b,3", "a,4", "b,5"))
    found = read_observations(path, series="id")
    assert (found.series, found.offsets.tolist()) == (("b", "a"), [0, 3, 5])
    assert found.values[:, 0].tolist() == [1, 3, 5, 2, 4]


def test_one_series_per_row(write: Write):
    path = write("a.csv", table('"V1","V2","V3","V4","V5"', '"H1","1","2.5","3","4"', '"H2","5","",,', '"H3",7,NA,8,'))
    found = read_observations(path)
    assert (found.series, found.channels, found.offsets.tolist()) == (("H1", "H2", "H3"), ("value",), [0, 4, 5, 8])
    assert np.array_equal(found.values[:, 0], [1, 2.5, 3, 4, 5, 7, NAN, 8], equal_nan=True)
    assert (found.dates, found.spacing) == (None, None)
    assert found.notes[0] == "one series per row, without dates: 3 series of 1 to 4 values"
    with pytest.raises(DataError, match="leave out --targets"):
        read_observations(path, targets=["V2"])


def test_one_series_per_row_by_its_ends_or_by_name(write: Write):
    ragged = table("name,mon,tue,wed", "a,1,2,3", "b,4,5,", "c,6,,")
    assert read_observations(write("a.csv", ragged)).offsets.tolist() == [0, 3, 5, 6]
    whole = write("b.csv", table("name,mon,tue,wed", "a,1,2,3", "b,4,5,6"))
    assert read_observations(whole, series="name").series == ("a", "b")
    assert read_observations(whole).channels == ("mon", "tue", "wed")  # else texts are left out


def test_one_series_per_row_with_dates_in_the_header(write: Write):
    path = write("a.csv", table("Page,2015-07-01,2015-07-02,2015-07-03", "x,1,2,", "y,,5,6", "z,7,8,9"))
    found = read_observations(path)
    assert found.spacing == Spacing(seconds=86400)
    assert found.dates is not None
    assert [str(date)[8:10] for date in found.dates] == ["01", "02", "01", "02", "03", "01", "02", "03"]
    assert np.array_equal(found.values[:, 0], [1, 2, NAN, 5, 6, 7, 8, 9], equal_nan=True)
    assert "its dates in the header, one step is 1 day: 3 series of 2 to 3 values" in found.notes[0]
    assert looks_like_observations(path)
    years = write("b.csv", table("country,1990,1991,1992", "x,1,2,3", "y,4,5,6"))
    assert read_observations(years).spacing == Spacing(months=12)
    with pytest.raises(DataError, match="the header: 2015-07-05 doesn't follow 2015-07-02 after 1 day"):
        read_observations(write("c.csv", table("p,2015-07-01,2015-07-02,2015-07-05", "x,1,2,3", "y,4,5,6")))
    with pytest.raises(DataError, match=r"c.csv: the header: the dates: row 2"):
        read_observations(write("c.csv", table("p,2015-07-02,2015-07-01,2015-07-05", "x,1,2,3", "y,4,5,6")))


def test_one_series_per_row_with_more_about_it(write: Write):
    path = write("a.csv", table("id,shop,d_1,d_2,d_3", "a,x,1,2,3", "b,x,4,5,6", "c,y,7,8,9"))
    found = read_observations(path)
    assert (found.series, found.offsets.tolist()) == (("a", "b", "c"), [0, 3, 6, 9])
    assert "columns that hold no numbers, which are left out: 'shop'" in found.notes


def test_rows_that_are_no_series(write: Write):
    rows = [f"{name},1,2" for name in "abcdefghijklmnoc"]
    with pytest.raises(DataError, match="two rows are named 'c', lines 4 and 17"):
        read_observations(write("a.csv", table("id,y1,y2", *rows)))
    found = read_observations(write("b.csv", table("id,y1,y2", "a,1,2", "b,,", "c,3,4")))
    assert found.series == ("a", "c")
    assert any("left out: 'b'" in note for note in found.notes)
    bad = write("c.csv", table("id,y1,y2", "a,1,2", "b,1", ",5,6", "c,3", "d,3,4"))
    with pytest.raises(DataError, match=r"3 of 5 rows .*\n.*\n.*:4: no name of a series in 'id'"):
        read_observations(bad, series="id")
    found = read_observations(bad, series="id", skip_bad=True)
    assert (found.series, found.values[:, 0].tolist()) == (("a", "d"), [1, 2, 3, 4])


# --- dates ----------------------------------------------------------------------------------------------------------


def test_rows_out_of_order_are_sorted_and_gaps_filled(write: Write):
    header, *rows = hourly().splitlines()
    whole = read_observations(write("a.csv", hourly()))
    found = read_observations(write("b.csv", table(header, *rows[::-1])))
    assert same(found, whole)
    assert any("aren't in the order of time, which are sorted: 11" in note for note in found.notes)
    found = read_observations(write("c.csv", table(header, *rows[:3], *rows[5:])))
    assert np.isnan(found.values[3:5]).all()
    assert same_dates(found, whole)
    assert any("filled with missing values: 2" in note for note in found.notes)
    assert any("missing values: 4 of 24" in note for note in found.notes)


def test_months_have_their_own_steps(write: Write):
    months = [f"2015-{month:02d}-{day}" for month, day in ((9, 30), (10, 31), (12, 31))]
    found = read_observations(write("a.csv", table("month,y", *(f"{month},1.5" for month in [*months, "2016-01-31"]))))
    assert found.spacing == Spacing(months=1)
    assert [str(date)[:10] for date in found.dates] == [  # type: ignore
        "2015-09-30", "2015-10-31", "2015-11-30", "2015-12-31", "2016-01-31"]  # fmt: skip


def test_dates_of_the_file_stay_as_they_are(write: Write):
    days = ["2015-04-30", "2015-05-30", "2015-06-30", "2015-08-30"]
    found = read_observations(write("a.csv", table("date,y", *(f"{day},{number}" for number, day in enumerate(days)))))
    assert found.dates is not None
    assert [str(date)[:10] for date in found.dates[[0, 1, 2, 4]]] == days


def test_a_date_twice_is_an_error_with_its_lines(write: Write):
    header, *rows = hourly().splitlines()
    with pytest.raises(
        DataError, match=r"dates that are there twice: 1\n.*a.csv:14: 2016-07-01 03:00:00 again, .* line 5"
    ):
        read_observations(write("a.csv", table(header, *rows, rows[3])))
    two = [f"{date},{name},1" for date in HOURS for name in ("x", "y")]
    with pytest.raises(DataError, match=r"b.csv:26: 2016-07-01 11:00:00 again"):
        read_observations(write("b.csv", table("date,id,y", *two, f"{HOURS[-1]},y,2")), series="id")


def test_irregular_dates_are_an_error_with_their_lines(write: Write):
    text = hourly().replace("2016-07-01 04:00", "2016-07-01 04:10")
    with pytest.raises(DataError, match=r"a.csv:8: 2016-07-01 04:10:00 comes after 2016-07-01 03:00:00"):
        read_observations(write("a.csv", text.replace("\n2016-07-01 02", "\n\n\n2016-07-01 02")))
    with pytest.raises(DataError, match=r"most are 1 hour apart, but not 2 of them\n.*:6: 2016-07-01 04:10:00 comes"):
        read_observations(write("a.csv", text))


def test_a_date_far_away_is_no_gap(write: Write):
    text = hourly().replace("2016-07-01 11:00", "2061-07-01 11:00")
    with pytest.raises(DataError, match=r"before line 13, from 2016-07-01 10:00:00 to 2061-07-01 11:00:00"):
        read_observations(write("a.csv", text))


def test_dates_in_several_columns(write: Write):
    parts = [f"{number},2010,1,{1 + number // 24},{number % 24},{number * 2.5}" for number in range(60)]
    found = read_observations(write("a.csv", table("No,year,month,day,hour,pm2.5", *parts)))
    assert (found.channels, found.spacing) == (("pm2.5",), Spacing(seconds=3600))
    assert any("'No' numbers the rows" in note for note in found.notes)
    clocks = [f"16/12/2006;{hour:02d}:30:00;{hour},5" for hour in range(24)]
    found = read_observations(write("b.csv", table("Date;Time;power", *clocks)))
    assert found.dates is not None
    assert str(found.dates[0]) == "2006-12-16T00:30:00"
    assert found.values[2, 0] == 2.5


def test_a_date_and_an_hour(write: Write):
    rows = [f"2011-01-{1 + number // 24:02d},{number % 24},{number * 7 % 11}" for number in range(72)]
    found = read_observations(write("a.csv", table("dteday,hr,cnt", *rows)))
    assert (found.series, found.channels, found.spacing) == (("",), ("cnt",), Spacing(seconds=3600))
    packed = read_observations(write("b.csv", table("date,hour,cnt", *(row.replace("-", "") for row in rows))))
    assert same(packed, found)


def test_which_column_is_the_date(write: Write):
    rows = [f"{number},2016-07-{number + 1:02d},2015-01-{number + 1:02d}" for number in range(9)]
    path = write("a.csv", table("y,when,date", *rows))
    assert str(read_observations(path).dates[0]) == "2015-01-01T00:00:00"  # type: ignore
    for date in ("when", 2, "2"):
        assert str(read_observations(path, date=date).dates[0]) == "2016-07-01T00:00:00"  # type: ignore
    years = write("b.csv", table("year,y", *(f"{year},{year % 7}" for year in range(1990, 2010))))
    assert read_observations(years).spacing == Spacing(months=12)
    numbers = write("c.csv", table("x,y", *(f"{year},{year % 7}" for year in range(1990, 2010))))
    assert read_observations(numbers).channels == ("x", "y")


# --- cells ----------------------------------------------------------------------------------------------------------


def test_what_is_missing(write: Write):
    cells = ["", "NA", "NaN", "nan", "null", "NULL", "-", " ", "N/A", "None", "?"]
    rows = [f"{date},{cell},1" for date, cell in zip(HOURS, [*cells, "4.5"], strict=True)]
    found = read_observations(write("a.csv", table("date,a,b", *rows)))
    assert np.isnan(found.values[:-1, 0]).all()
    assert found.values[-1, 0] == 4.5
    assert any("'b' is constant" in note for note in found.notes)


@pytest.mark.parametrize("cell", ["x", "inf", "-Infinity", "1e999", "1_000", "12%", "1.2.3", "0x10", "二", "3,4,5"])
def test_what_is_no_number_is_an_error_with_line_column_and_value(write: Write, cell: str):
    text = hourly().replace("04:00,4,", f'04:00,"{cell}",')
    with pytest.raises(DataError, match=r"1 of 12 rows can't be used\n.*a.csv:6: 'a': '.*' isn't a finite number"):
        read_observations(write("a.csv", text))
    found = read_observations(write("a.csv", text), skip_bad=True)
    assert np.isnan(found.values[4, 0])
    assert found.values[4, 1] == 2.0
    assert any("rows with problems: 1" in note for note in found.notes)


def test_bad_rows_and_bad_dates(write: Write):
    header, *rows = hourly().splitlines()
    rows[4], rows[7] = "soon,4,2", f"{HOURS[7]},7"
    path = write("a.csv", table(header, *rows))
    with pytest.raises(DataError, match=r"2 of 12 .*\n.*:6: 'soon' isn't a date\n.*:9: 2 fields instead of 3"):
        read_observations(path)
    found = read_observations(path, skip_bad=True)
    assert np.flatnonzero(np.isnan(found.values[:, 0])).tolist() == [4, 7]
    no_dates = write("b.csv", table("a,b", "1,2", "3", "5,6"))
    assert read_observations(no_dates, skip_bad=True).values[:, 0].tolist()[::2] == [1, 5]  # the step stays


def test_decimal_commas_and_thousands(write: Write):
    german = [f"{day:02d}.07.2016;1.23{day % 10},{day};2.500" for day in range(1, 13)]
    found = read_observations(write("a.csv", table("Datum;Wert;Menge", *german)))
    assert found.values[1].tolist() == [1232.2, 2.5]
    assert any("commas in 'Wert' are read as decimal commas" in note for note in found.notes)
    english = [f'{date},"1,{number:03d}"' for number, date in enumerate(HOURS)]
    found = read_observations(write("b.csv", table("date,y", *english)))
    assert found.values[3, 0] == 1003
    assert any("'y' are read as separators of thousands" in note for note in found.notes)
    of_semicolons = table("date;y", *(f"{date};1,{number:03d}" for number, date in enumerate(HOURS)))
    assert read_observations(write("d.csv", of_semicolons)).values[3, 0] == 1.003
    three = [f'{date},"0,{number:03d}"' for number, date in enumerate(HOURS)]
    assert read_observations(write("c.csv", table("date,y", *three))).values[3, 0] == 0.003


def test_a_style_that_shows_late_holds_for_the_whole_column(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rnnlab.data.formats.base.PORTION", 2)
    rows = ["1.500", "2.250", "3.125", "4", "1.000,5"]
    found = read_observations(write("a.csv", table("y;z", *(f"{row};1" for row in rows))))
    assert found.values[:, 0].tolist() == [1500, 2250, 3125, 4, 1000.5]


def test_columns_without_numbers_are_said(write: Write):
    rows = [f"{number},{date},sunny,{number},," for number, date in enumerate(HOURS)]
    found = read_observations(write("a.csv", table("id,date,sky,y,none,empty", *rows)))
    assert found.channels == ("y",)
    said = "\n".join(found.notes)
    assert "'id' numbers the rows" in said
    assert "'none' has no numbers" in said
    assert "left out: 'sky'" in said
    with pytest.raises(DataError, match="no numbers in 'none'"):
        read_observations(write("a.csv", table("date,none", *(f"{date}," for date in HOURS))), targets=["none"])


# --- headers, names and files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "width"),
    [
        ([f"{date},{number},0" for number, date in enumerate(HOURS)], 2),
        (["1.5,2.5", "3,4", "5,6"], 2),
        (["1", "2", "3"], 1),
        (["1,1", "2,3", "5,6"], 2),
        (["7", "7", "8"], 1),
    ],
)
def test_a_file_without_a_header(write: Write, rows: list[str], width: int):
    found = read_observations(write("a.csv", "\n".join(rows)))
    assert found.values.shape == (len(rows), width)
    assert any("no header" in note for note in found.notes)


def test_one_series_per_row_without_a_header(write: Write):
    found = read_observations(write("a.csv", "H1,5,5,6,\nH2,6,7,8,9\n"))
    assert (found.series, found.offsets.tolist()) == (("H1", "H2"), [0, 3, 7])


def test_names_of_columns(write: Write):
    headless = "\n".join(hourly().splitlines()[1:])
    assert read_observations(write("a.csv", headless), columns=["t", "u", "v"]).channels == ("u", "v")
    path = write("b.csv", hourly())
    with pytest.raises(DataError, match=r"no column 'aa' for the targets; did you mean 'a'\?"):
        read_observations(path, targets=["aa"])
    with pytest.raises(DataError, match="no column 9 for --date: there are 3"):
        read_observations(path, date=9)
    with pytest.raises(DataError, match="names a column twice"):
        read_observations(path, targets=["a", "a"])
    with pytest.raises(DataError, match="'date' can't be the date and something else"):
        read_observations(path, date="date", targets=["date"])
    with pytest.raises(DataError, match=r"'date' seems to be the date, but 'Week 1' can't be read"):
        read_observations(write("c.csv", table("date,y", "Week 1,1", "Week 2,2")))
    assert read_observations(write("c.csv", table("date,y", "Week 1,1", "Week 2,2")), targets=["y"]).dates is None
    with pytest.raises(DataError, match="no column of numbers"):
        read_observations(write("d.csv", table("a,b", "x,y", "z,w")))


def test_every_format_says_the_same(write: Write, tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    whole = read_observations(write("a.csv", hourly()))
    frame = pandas.read_csv(tmp_path / "a.csv")
    frame["date"] = pandas.to_datetime(frame["date"])
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    frame.astype({"date": str}).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    in_chinese = hourly(header="日期,负荷,温度").replace("2016-07-01", "2016年7月1日")
    chinese = read_observations(write("zh.csv", in_chinese, "gb18030"))
    assert (chinese.channels, chinese.spacing) == (("负荷", "温度"), whole.spacing)
    assert np.array_equal(chinese.values, whole.values)
    for data in ("a.parquet", "a.xlsx", "a.jsonl"):
        assert same(read_observations(tmp_path / data), whole), data
    polars = pytest.importorskip("polars")
    for data in (frame, frame.set_index("date"), polars.from_pandas(frame), frame.to_dict("list")):
        assert same(read_observations(data), whole), type(data)


def test_arrays_in_memory():
    found = read_observations(np.arange(12.0).reshape(6, 2))
    assert (found.values.shape, found.values[1].tolist()) == ((6, 2), [2, 3])
    assert read_observations([1, 2.5, 3]).values[:, 0].tolist() == [1, 2.5, 3]
    with pytest.raises(DataError, match="'column 1' is infinite in row 2"):
        read_observations(np.array([1.0, np.inf, 2.0]))


def test_portions_change_nothing(write: Write, monkeypatch: pytest.MonkeyPatch):
    path = write("a.csv", hourly())
    whole = read_observations(path)
    monkeypatch.setattr("rnnlab.data.formats.base.PORTION", 5)
    monkeypatch.setattr("rnnlab.data.growing.FIRST", 1)
    monkeypatch.setattr("rnnlab.data.observations.HELD", 10)
    assert same(read_observations(path), whole)


def test_public_series(public: Path):
    found = read_observations(public / "ett" / "ETTh1.csv")
    assert (found.values.shape, found.spacing) == ((17420, 7), Spacing(seconds=3600))
    found = read_observations(public / "m4" / "Weekly-test.csv")
    assert (len(found.series), found.values.shape) == (359, (359 * 13, 1))
    found = read_observations(public / "timeseries" / "monthly-sunspots.csv")
    assert (found.values.shape, found.spacing) == ((2820, 1), Spacing(months=1))
    found = read_observations(public / "timeseries" / "daily-min-temperatures.csv")
    assert (len(found.values), int(np.isnan(found.values).sum())) == (3652, 2)  # 31 December of two leap years


def test_notes_are_told_in_chinese(write: Write):
    rows = [f"{number},{date},sunny,{number},,5,{name}" for name in "xy" for number, date in enumerate(HOURS[::-1])]
    found = read_observations(write("a.csv", table("no,date,sky,y,empty,same,id", *rows[:3], *rows[4:])))
    german = read_observations(write("b.csv", table("a;b", "1,5;1", "2,5;2")))
    others = [read_observations(write("c.csv", text)) for text in (
        table("id,V2,V3", "a,1,2", "b,,"), table("id,2015,2016", "a,1,2", "b,3,4"))]  # fmt: skip
    bad = read_observations(write("d.csv", table("a,b", "1,2", "x,3", "4,5")), skip_bad=True)
    notes = [note for one in (found, german, *others, bad) for note in one.notes]
    assert len(notes) == 17
    told = [retold(note)["zh"] for note in notes]
    assert "日期列 'date'，每步 1 小时；数值列 'no', 'y', 'same'" in told
    assert "'a' 中的逗号读作小数点" in told
    assert not [text for text in told if re.search(r"[a-z]{3}", re.sub("'.*?'|--[a-z]+", "", text))]


# --- what a file is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (hourly(), True),
        (table("date,shop,y", *(f"{date},{name},{n}" for n, date in enumerate(HOURS) for name in "xy")), True),
        (table("id,V2,V3,V4", "a,1,2,3", "b,4,5,", "c,6,,"), True),
        (table("id,height,weight", "a,1,2", "b,4,5", "c,6,7"), False),
        (table("date,rating,review", *(f"{d},{n % 5},it was film {n} of many" for n, d in enumerate(HOURS))), False),
        (table("date,rating,label", *(f"{d},{n},{'good' if n % 2 else 'bad'}" for n, d in enumerate(HOURS))), False),
        (table("date,x,label", *(f"{d},{n},{n % 2}" for n, d in enumerate(HOURS))), False),
        (table("a,b", "1,2", "3,4", "5,6"), False),
        (table("text,label", "a b c,1", "d e f,0", "g h i,1"), False),
        ("x\n", False),
        ("", False),
    ],
)
def test_looks_like_observations(write: Write, text: str, expected: bool):
    assert looks_like_observations(write("a.csv", text)) is expected


def test_what_is_no_file_of_observations(tmp_path: Path, write: Write):
    assert not looks_like_observations(tmp_path / "none.csv")
    assert not looks_like_observations(tmp_path)
    assert not looks_like_observations(write("a.bin", b"\0"))
    assert not looks_like_observations(write("a.xlsx", b"\0"))


def test_public_files_are_told_apart(public: Path):
    series = ("ett/ETTh1.csv", "m4/Hourly-train.csv", "m4/Weekly-test.csv", "timeseries/airline-passengers.csv")
    others = ("imdb/train.csv", "movie-reviews/train.tsv", "thucnews/train.txt", "tatoeba-eng-cmn/cmn.txt")
    assert [looks_like_observations(public / name) for name in series] == [True] * 4
    assert [looks_like_observations(public / name) for name in others] == [False] * 4


# --- any file -------------------------------------------------------------------------------------------------------

CELLS = st.one_of(
    st.sampled_from(["", "1", "2.5", "-3", "NA", "1,5", "1.234,5", "inf", "nan", "x", '"', "2016-07-01", "2016-07-02",
                     "03/04/2016", "13/04/2016", "1949", "1949-01", "2016年7月1日", "a", "b", "1e400", "9" * 30]),
    st.integers(-5, 3000).map(str),
    st.text(max_size=4),
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "date",
        "year",
        "month",
        "day",
        "hour",
        "time",
        "a",
        "b",
        "id",
        "V1",
        "V2",
        "V3",
        "1",
        "日期",
        "",
        "2015",
        "2016",
        "2016-07-01",
        "2016-07-02",
    ]
)


@st.composite
def files(draw: st.DrawFn) -> str:
    width, sep = draw(st.integers(1, 5)), draw(st.sampled_from([",", ";", "\t"]))
    header = draw(st.lists(NAMES, min_size=width, max_size=width))
    rows = draw(st.lists(st.lists(CELLS, min_size=max(1, width - draw(st.integers(0, 1))), max_size=width), max_size=8))
    if draw(st.booleans()):
        for number, row in enumerate(rows):
            row[0] = f"2016-07-{number + 1:02d}"
    return "\n".join(sep.join(row) for row in [header, *rows])


@settings(max_examples=150, deadline=None)
@given(text=files(), options=st.fixed_dictionaries({}, optional={
    "date": st.one_of(NAMES, st.integers(0, 6)), "targets": st.lists(NAMES, max_size=2), "series": NAMES,
    "skip_bad": st.booleans()}))  # fmt: skip
def test_any_file_is_observations_or_a_kind_error(tmp_path_factory: Any, text: str, options: dict[str, Any]):
    path = tmp_path_factory.getbasetemp() / "fuzzed.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert looks_like_observations(path) in (True, False)
    try:
        found = read_observations(path, **options)
    except DataError as error:
        assert "fuzzed.csv" in str(error)  # noqa: PT017
        return
    assert found.values.shape == (found.offsets[-1], len(found.channels))
    assert len(found.series) == len(found.offsets) - 1
    assert (np.diff(found.offsets) > 0).all()
    assert not np.isinf(found.values).any()
    assert not np.isnan(found.values).all()
    if found.dates is not None:
        assert found.spacing is not None
        assert not np.isnat(found.dates).any()
        for start, end in zip(found.offsets[:-1], found.offsets[1:], strict=True):
            assert (found.spacing.after(found.dates[start], end - start - 1) == found.dates[start + 1 : end]).all()
