"""A model that forecasts is asked for the next steps of series."""

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlab.answers.forecast import Forecast
from rnnlab.core.errors import DataError, RunError
from rnnlab.core.files import write_atomically
from rnnlab.data.batches import collate, evaluation_batches
from rnnlab.data.calendar import DAY, Spacing, parse_dates
from rnnlab.data.observations import Observations, read_observations
from rnnlab.data.observed import Observed
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import Encoded, State
from rnnlab.models.forecasting import Forecasting
from rnnlab.models.pooling import Pool
from rnnlab.use.stored import StoredModel

FEWEST = 16  # windows in a batch: MKL multiplies fewer ones in another order
MOST_TOKENS = 16384  # in a batch, unless a window alone has more
ENDINGS = (".csv", ".tsv", ".jsonl")  # that forecasts are written as


@dataclass(frozen=True, eq=False)
class SeriesForecast:
    """The next steps of one series, in the units of its file."""

    series: str  # its name; "" where there is one
    channels: tuple[str, ...]
    quantiles: tuple[float, ...]  # empty: the mean alone
    values: np.ndarray  # (H, C, Q) float64; the middle one of the quantiles is the point
    first: int  # number of the first step, from 1, after all that was read
    dates: tuple[str, ...] | None  # (H,)

    @property
    def points(self) -> np.ndarray:
        """(H, C)"""
        return self.values[:, :, self.values.shape[2] // 2]

    @property
    def columns(self) -> list[str]:
        """Of `rows`."""
        told = [name_of_quantile(quantile) for quantile in self.quantiles if quantile != 0.5]
        of_channels = [f"{channel}{more}" for channel in self.channels for more in ("", *(f" {one}" for one in told))]
        return [*(["series"] if self.series else []), "step" if self.dates is None else "date", *of_channels]

    def rows(self) -> Iterator[list[str | int | float]]:
        """One per step: the series where it has a name, the date or number, and of each channel the point and then the
        other quantiles."""
        middle = self.values.shape[2] // 2
        order = [middle, *(number for number in range(self.values.shape[2]) if number != middle)]
        for step, of_step in enumerate(self.values[:, :, order]):
            when = self.first + step if self.dates is None else self.dates[step]
            yield [*([self.series] if self.series else []), when, *(_rounded(v) for v in of_step.ravel().tolist())]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        when = {"dates": list(self.dates)} if self.dates is not None else {"first_step": self.first}
        told = {
            channel: {
                "point": [_rounded(value) for value in self.points[:, number].tolist()],
                "quantiles": {
                    str(quantile): [_rounded(value) for value in self.values[:, number, at].tolist()]
                    for at, quantile in enumerate(self.quantiles)
                },
            }
            for number, channel in enumerate(self.channels)
        }
        return {**({"series": self.series} if self.series else {}), **when, "channels": told}


class Forecaster:
    """Of a run or a bundle of a task that forecasts."""

    def __init__(self, stored: StoredModel):
        answer, observed = stored.spec.task.answer, stored.preprocessor.observed
        if not isinstance(answer, Forecast) or observed is None:
            raise RunError("{name}: '{kind}' forecasts no series", name=stored.name, kind=stored.spec.task.kind)
        self.stored: StoredModel = stored
        self.answer: Forecast = answer
        self.observed: Observed = observed
        self.channels: tuple[str, ...] = stored.preprocessor.labels

    def read(self, data: Any, *, series: str | None = None, date: str | int | None = None) -> Observations:
        """Observations to go on from: a file, a frame, columns or numbers. The columns are those of training."""
        task = self.stored.spec.task
        named: dict[str, Any] = {
            "date": date if date is not None else getattr(task, "date", None),
            "series": series if series is not None else getattr(task, "series", None),
        }
        wanted: Sequence[str] = self.channels
        if isinstance(data, np.ndarray | list | tuple) or len(self.observed.series) > 1 or self.channels == ("value",):
            wanted = ()  # numbers have no names, and where a row is a series columns have none either
        found = read_observations(data, targets=wanted, **named)
        if len(found.channels) != len(self.channels):
            raise DataError(
                "{source}: this model forecasts {wanted}; the columns of numbers are {found}",
                source=found.source,
                wanted=", ".join(self.channels),
                found=", ".join(found.channels),
            )
        return found

    def forecast(self, data: Any, *, series: str | None = None, date: str | int | None = None) -> list[SeriesForecast]:
        """The steps that come after the last one of each series, none of which depends on the others."""
        return self.continued(self.read(data, series=series, date=date))

    def continued(self, seen: Observations) -> list[SeriesForecast]:
        """The same, of observations that were read."""
        with np.errstate(over="ignore", invalid="ignore"):  # of what is far from all that was learnt
            data = self.observed.windows(seen)
            assert data.scales is not None
            assert data.series is not None
            mean, std = (data.scales[data.series, at][:, None, :, None] for at in range(2))  # (rows, 1, C, 1) each
            values = self.of_windows(data).astype(np.float64) * std + mean
        if not np.isfinite(values).all():
            raise DataError(
                "{source}: what this model forecasts is no number: its values are too far from those that it learnt "
                "from",
                source=seen.source,
            )
        steps = np.diff(seen.offsets).tolist()
        return [
            SeriesForecast(name, self.channels, self.answer.quantiles, values[number], steps[number] + 1,
                           self._dates(seen, number))
            for number, name in enumerate(seen.series)
        ]  # fmt: skip

    def of_windows(self, data: Sequences) -> np.ndarray:
        """(rows, H, C, Q), as standardised as what windows read."""
        model = self.stored.spec.model
        if isinstance(model, Forecasting):
            learnt = self.stored.learnt
            points = model.forecast(learnt, data)[..., None]
            return points + learnt["off"] if self.answer.quantiles else points
        network = self.stored.network
        found = np.empty((len(data), self.answer.horizon, self.answer.channels, self.answer.numbers), np.float32)
        with torch.inference_mode():
            for rows, batch in evaluation_batches(data, MOST_TOKENS):
                room = min(FEWEST, max(1, MOST_TOKENS // batch.inputs.shape[1]))
                if len(rows) < room:
                    batch = collate(data, np.resize(rows, room))
                out = self.answer.forecasts(self.answer.asked(network, batch), batch)
                found[rows] = out.numpy()[: len(rows)]
        return found

    def _dates(self, seen: Observations, number: int) -> tuple[str, ...] | None:
        if seen.dates is None:
            return None
        spacing = seen.spacing or self.observed.spacing
        if spacing is None:
            return None
        last = seen.dates[seen.offsets[number + 1] - 1]
        return tuple(map(partial(told_date, spacing), spacing.after(last, self.answer.horizon)))


def name_of_quantile(quantile: float) -> str:
    """``p10`` for 0.1."""
    return f"p{100 * quantile:g}"


def told_date(spacing: Spacing, date: np.datetime64) -> str:
    """A day where steps are days or more; else with the time."""
    if spacing.months or spacing.seconds % DAY == 0:
        at = str(date.astype("datetime64[D]"))
        return at if date == date.astype("datetime64[D]") else str(date).replace("T", " ")
    return str(date).replace("T", " ")


def _rounded(value: float) -> float:
    """Six digits: more than any forecast has."""
    return float(f"{value:.6g}")


def write_forecasts(found: Sequence[SeriesForecast], out: str | PathLike[str]) -> int:
    """A table of all steps of all series, whole or not at all; how many rows it has."""
    out = Path(out)
    ending = out.suffix.lower()
    if ending not in ENDINGS:
        raise DataError(
            "{out}: forecasts are written as {names}; give -o such a name", out=out, names=" or ".join(ENDINGS)
        )
    rows = [row for one in found for row in one.rows()]
    columns = found[0].columns
    if ending == ".jsonl":
        lines = [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows]
        write_atomically(out, "".join(f"{line}\n" for line in lines))
    else:
        made = io.StringIO()
        writer = csv.writer(made, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        write_atomically(out, made.getvalue())
    return len(rows)


def check_options(given: Mapping[str, Any], file: str | None, out: str | None, stream: bool) -> None:
    """Refuse what has no meaning for a forecaster; ``given`` are options by their names."""
    for name, value in given.items():
        if value:
            raise RunError("{name}: has no meaning for a model that forecasts; leave it out", name=name)
    if file is None and not stream:
        raise RunError(
            "this model forecasts series: give what is known of them with --file, or step by step (--stream)"
        )
    if stream and out is not None:
        raise RunError("--stream answers every line at once; redirect the output instead of -o")


def ask(forecaster: Forecaster, file: str | None, stream: bool) -> Iterator[SeriesForecast]:
    """For the command line: after the last step of each series of a file; or after each line of standard input."""
    if not stream:
        assert file is not None
        yield from forecaster.forecast(file)
        return
    following = Following(forecaster, None if file is None else forecaster.read(file))
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            try:
                yield following.add(*_values_of_line(line, forecaster.observed.channels))
            except DataError as error:
                raise DataError("standard input, line {number}: {error}", number=number, error=error) from None


def _values_of_line(line: str, channels: int) -> tuple[list[float], np.datetime64 | None]:
    """``date,value,value``, or without the date; an empty field is a missing value."""
    fields = [field.strip() for field in line.strip("\n\r").split("\t" if "\t" in line else ",")]
    date = None
    if len(fields) == channels + 1:
        [date] = parse_dates(fields[:1])
        fields = fields[1:]
    values = []
    for field in fields:
        try:
            values.append(float(field) if field else math.nan)
        except ValueError:
            raise DataError("{field!r} is no number", field=field) from None
        if math.isinf(values[-1]):
            raise DataError("{field!r} is no number", field=field)
    return values, date


class Following:
    """A series that grows: one step in, a forecast out.

    Where values are measured by the training part alone (``task.scaling = "none"``) and the network reads the past
    alone, its state is carried on: a step costs the same however long the series is, and the network has read all of
    it, not the look-back alone. Else the look-back is read again at every step."""

    def __init__(self, forecaster: Forecaster, seen: Observations | None = None):
        """Begins behind observations that were read, of one series; or with nothing, for a model that learnt from one
        series, or measures each by itself."""
        self.forecaster: Forecaster = forecaster
        observed = forecaster.observed
        if seen is not None and len(seen.series) != 1:
            raise DataError(
                "{source}: one series grows at a time (got {count})", source=seen.source, count=len(seen.series)
            )
        if seen is None and len(observed.series) != 1:
            raise RunError(
                "--stream: this model learnt from {count:,} series; give what is known of yours with --file, so that "
                "it can be measured by itself",
                count=len(observed.series),
            )
        self.series: str = "" if seen is None else seen.series[0]
        self.scales: np.ndarray = observed.scales
        self.number: np.ndarray = np.zeros(1, np.int64)  # of the series, among those
        self.steps: int = 0
        self.date: np.datetime64 | None = None
        self.recent: np.ndarray = np.empty((0, observed.width), np.float32)  # at most the look-back
        self._state: State | None = self._begun()
        if seen is not None:
            rows = observed.windows(seen)
            assert rows.scales is not None
            assert rows.series is not None
            self.scales, self.number = rows.scales, rows.series
            self._read(rows.values[: int(rows.ends[0])])
            self.steps = len(seen.values)
            self.date = None if seen.dates is None else seen.dates[-1]

    @property
    def carries(self) -> bool:
        """Whether a state is carried from step to step."""
        return self._state is not None

    def add(self, values: Sequence[float], date: np.datetime64 | None = None) -> SeriesForecast:
        """The forecast after one more step: a value per channel, NaN where it is missing. Without a date, it is that
        after the last one."""
        observed = self.forecaster.observed
        if len(values) != observed.channels:
            raise DataError(
                "this model reads {wanted} values per step, {names} (got {found})",
                wanted=observed.channels,
                names=", ".join(self.forecaster.channels),
                found=len(values),
            )
        if date is None and self.date is not None and observed.spacing is not None:
            [date] = observed.spacing.after(self.date, 1)
        self._check_date(date)
        seen = Observations(
            "", np.array([values], np.float64), np.array([0, 1]), (self.series,), self.forecaster.channels,
            None if date is None else np.array([date], "datetime64[s]"), observed.spacing, (),
        )  # fmt: skip
        row = observed.features(seen, self.scales[self.number])
        missing = np.isnan(values)
        if len(self.recent) and missing.any():
            row[0, : observed.channels][missing] = self.recent[-1, : observed.channels][missing]
        self._read(row)
        self.steps += 1
        self.date = date
        return self._forecast()

    def _check_date(self, date: np.datetime64 | None) -> None:
        observed = self.forecaster.observed
        if date is None and observed.calendar and observed.spacing is not None:
            raise DataError("this model reads the dates, too: write the date before the values of the first step")
        if date is not None and self.date is not None and observed.spacing is not None:
            [expected] = observed.spacing.after(self.date, 1)
            if date != expected:
                raise DataError(
                    "{date} doesn't follow {before} after {spacing}",
                    date=str(date).replace("T", " "),
                    before=str(self.date).replace("T", " "),
                    spacing=observed.spacing.told,
                )

    def _begun(self) -> State | None:
        model = self.forecaster.stored.spec.model
        if isinstance(model, Forecasting) or self.forecaster.answer.scaling != "none" or self.forecaster.answer.rolls:
            return None
        network = self.forecaster.stored.network
        if not network.encoder.causal or not isinstance(getattr(network.encoder, "pool", None), Pool):
            return None
        return network.begin(1)

    def _read(self, rows: np.ndarray) -> None:
        lookback = self.forecaster.observed.lookback
        self.recent = np.concatenate([self.recent, rows])[-lookback:]
        if self._state is not None and len(rows):
            network = self.forecaster.stored.network
            with torch.inference_mode():
                self._summary, self._state = network.advance_summary(
                    torch.from_numpy(rows)[None], torch.tensor([len(rows)]), self._state
                )

    def _forecast(self) -> SeriesForecast:
        forecaster = self.forecaster
        answer, observed = forecaster.answer, forecaster.observed
        ahead = np.full((len(self.recent) + observed.horizon, observed.channels), np.nan, np.float32)
        one = np.zeros(1, np.int64)
        values = np.concatenate([self.recent, observed.steps_ahead(self.date)])
        data = Sequences(values, one, np.array([len(self.recent)]), ahead, one, horizon=observed.horizon,
                         known_from=observed.known_from, series=self.number, scales=self.scales)  # fmt: skip
        if self._state is None:
            found = forecaster.of_windows(data)
        else:
            batch = collate(data, one)
            network = forecaster.stored.network
            with torch.inference_mode():
                encoded = Encoded(self._summary[:, None], self._summary, read=(batch.inputs, batch.lengths))
                found = answer.forecasts(network.head(encoded), batch).numpy()
        mean, std = (self.scales[self.number[0], number][None, :, None] for number in range(2))
        dates = None
        if self.date is not None and observed.spacing is not None:
            later = observed.spacing.after(self.date, observed.horizon)
            dates = tuple(told_date(observed.spacing, date) for date in later)
        values = found[0].astype(np.float64) * std + mean
        return SeriesForecast(self.series, forecaster.channels, answer.quantiles, values, self.steps + 1, dates)
