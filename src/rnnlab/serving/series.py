"""Questions about series: from what anybody may have sent to observations that a forecaster goes on from. Nothing of it
is written anywhere."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rnnlab.data.calendar import parse_dates
from rnnlab.data.formats.source import Source
from rnnlab.data.observations import Observations, read_observations
from rnnlab.serving.limits import Limits
from rnnlab.serving.requests import check_text, kind_of, model_of, object_of, shown, unfit
from rnnlab.use.forecasting import Forecaster, told_date

FORECASTING_KEYS = ("values", "csv", "dates", "start", "series", "model", "history")
FILE = "data.csv"  # what a table is called in a reason
EARLIEST, LATEST = (np.datetime64(f"{year}-01-01T00:00:00", "s") for year in (1, 9000))  # of a first step

Column = list[float | None]  # None: missing


@dataclass(frozen=True, eq=False)
class SeriesQuestion:
    """Either a table as a text, or ``values``: of channels by name, in the order of the model, or of one channel."""

    csv: str | None
    values: dict[str, Column] | list[Column] | None  # a list: one per channel
    dates: list[str] | None  # of the values
    start: str | None  # the first of these dates
    series: str  # name of the series of the values
    model: str | None  # None: the first that forecasts
    history: bool  # whether to tell what was read, too
    limits: Limits

    def __len__(self) -> int:
        """About how many characters wait with it."""
        if self.csv is not None:
            return len(self.csv)
        assert self.values is not None
        columns = self.values.values() if isinstance(self.values, dict) else self.values
        return 8 * sum(map(len, columns))


def read_forecasting(body: bytes, limits: Limits) -> SeriesQuestion:
    given = object_of(body, limits, FORECASTING_KEYS, "csv")
    if ("values" in given) == ("csv" in given):
        raise unfit("give either 'values' or 'csv'")
    history = given.get("history", False)
    if not isinstance(history, bool):
        raise unfit(f"history: true or false is needed (got {kind_of(history)})")
    for key in ("csv", "start", "series"):
        if key in given:
            check_text(key, given[key], limits.body if key == "csv" else limits.characters)
    if "csv" in given:
        for key in ("dates", "start", "series"):
            if key in given:
                raise unfit(f"{key}: goes with 'values'; a csv has a column for it")
        return SeriesQuestion(given["csv"], None, None, None, "", model_of(given), history, limits)
    values = _values(given["values"], limits)
    dates = given.get("dates")
    if "dates" in given:
        if "start" in given:
            raise unfit("give either 'dates' or 'start'")
        _check_dates(dates, values)
    return SeriesQuestion(
        None, values, dates, given.get("start"), given.get("series", ""), model_of(given), history, limits
    )


def _values(given: Any, limits: Limits) -> dict[str, Column] | list[Column]:
    """Columns of equal lengths."""
    if not isinstance(given, list | dict):
        raise unfit(f"values: an object of lists, or a list of numbers is needed (got {kind_of(given)})")
    if not given:
        raise unfit("values: there are none")
    found: dict[str, Column] | list[Column]
    if isinstance(given, dict):
        found = {name: _column(f"values.{shown(name)}", column) for name, column in given.items()}
        lengths = {name: len(column) for name, column in found.items()}
    elif isinstance(given[0], list):  # a list per step
        steps = [_column(f"values[{number}]", step) for number, step in enumerate(given)]
        lengths = {f"{number}": len(step) for number, step in enumerate(steps)}
        found = [list(column) for column in zip(*steps, strict=False)]
    else:
        found, lengths = [_column("values", given)], {"": 1}
    if len(set(lengths.values())) > 1:
        (first, one), *others = lengths.items()
        name, other = next((name, length) for name, length in others if length != one)
        raise unfit(f"values: lists must be equally long ({shown(first)} has {one:,}, {shown(name)} has {other:,})")
    columns = list(found.values() if isinstance(found, dict) else found)
    if not columns or not columns[0]:
        raise unfit("values: there are none")
    if len(columns) * len(columns[0]) > limits.values:
        raise unfit(f"values: at most {limits.values:,} in a request (got {len(columns) * len(columns[0]):,})")
    return found


def _column(where: str, given: Any) -> Column:
    if not isinstance(given, list):
        raise unfit(f"{where}: a list of numbers is needed (got {kind_of(given)})")
    for number, value in enumerate(given):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise unfit(f"{where}[{number}]: a number is needed, or null where it is missing (got {kind_of(value)})")
        if isinstance(value, float) and not math.isfinite(value):  # JSON may say 1e999
            raise unfit(f"{where}[{number}]: a number too large")
    return given


def _check_dates(dates: Any, values: dict[str, Column] | list[Column]) -> None:
    if not isinstance(dates, list):
        raise unfit(f"dates: a list of strings is needed (got {kind_of(dates)})")
    for number, date in enumerate(dates):
        check_text(f"dates[{number}]", date, 100)
    steps = len(next(iter(values.values() if isinstance(values, dict) else values)))
    if len(dates) != steps:
        raise unfit(f"dates: one per step is needed ({len(dates):,} dates, {steps:,} steps)")


def observations_of(forecaster: Forecaster, asked: SeriesQuestion) -> Observations:
    """What is refused is a `Refusal`, or an error of the data with its reason."""
    table = None if asked.csv is None else Source(FILE, asked.csv.encode())
    seen = _of_values(forecaster, asked) if table is None else forecaster.read(table)
    if len(seen.series) > asked.limits.series:
        raise unfit(f"at most {asked.limits.series:,} series in a request (got {len(seen.series):,})")
    if seen.values.size > asked.limits.values:
        raise unfit(f"at most {asked.limits.values:,} values in a request (got {seen.values.size:,})")
    return seen


def _of_values(forecaster: Forecaster, asked: SeriesQuestion) -> Observations:
    observed, channels, values = forecaster.observed, forecaster.channels, asked.values
    assert values is not None
    if isinstance(values, list):
        if len(values) != len(channels):
            raise unfit(f"values: {len(channels)} per step are needed, {', '.join(channels)} (got {len(values)})")
        values = dict(zip(channels, values, strict=True))
    for name in values:
        if name not in channels:
            raise unfit(f"values: this model knows no {shown(name)}; it reads {', '.join(channels)}")
    for name in channels:
        if name not in values:
            raise unfit(f"values: {shown(name)} is missing; this model reads {', '.join(channels)}")
        if all(value is None for value in values[name]):
            raise unfit(f"values: {shown(name)} has no value at all")
    dates = asked.dates if asked.start is None else _dates_from(forecaster, asked.start, len(values[channels[0]]))
    if dates is None and observed.calendar and observed.spacing is not None:
        raise unfit("this model reads dates, too: send 'dates', one per step, or 'start', that of the first step")
    name = "date"
    while name in values:
        name += "_"
    table = values if dates is None else {name: dates, **values}
    seen = read_observations(table, date=None if dates is None else name, targets=channels)
    return replace(seen, series=(asked.series,))


def _dates_from(forecaster: Forecaster, start: str, steps: int) -> list[str]:
    spacing = forecaster.observed.spacing
    if spacing is None:
        raise unfit("start: this model learnt from series without dates; leave it out")
    [first] = parse_dates([start])
    if not EARLIEST <= first <= LATEST:
        raise unfit(f"start: {shown(start)} is too long ago, or too far ahead")
    return [str(date).replace("T", " ") for date in (first, *spacing.after(first, steps - 1))]


def history_of(forecaster: Forecaster, seen: Observations, number: int) -> dict[str, Any]:
    """The last steps of a series, as many as the model reads; None where a value is missing."""
    end = int(seen.offsets[number + 1])
    begin = max(int(seen.offsets[number]), end - forecaster.observed.lookback)
    spacing = seen.spacing or forecaster.observed.spacing
    when: dict[str, Any] = {"first_step": begin - int(seen.offsets[number]) + 1}
    if seen.dates is not None and spacing is not None:
        when = {"dates": [told_date(spacing, date) for date in seen.dates[begin:end]]}
    columns = seen.values[begin:end].T.tolist()
    return when | {
        "channels": {
            name: [None if math.isnan(value) else value for value in column]
            for name, column in zip(forecaster.channels, columns, strict=True)
        }
    }
