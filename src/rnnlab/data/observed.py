"""How observations become what a forecaster reads, in training and long after it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import both
from rnnlab.data.calendar import Spacing, calendar_features
from rnnlab.data.observations import Observations
from rnnlab.data.sequences import Sequences

Standardise = Literal["series", "global"]
BLOCK = 1 << 16  # steps of which the calendar is read at a time: it takes several times their memory


@dataclass(frozen=True, eq=False)
class Observed:
    """The windows of a forecaster: what is read before an origin, and by what it is measured."""

    horizon: int
    lookback: int
    season: int
    series: tuple[str, ...]  # of the training part; ("",) for one
    scales: np.ndarray  # (S, 3, C) float64: as `Sequences.scales`
    spacing: Spacing | None  # of the dates; None where there are none
    calendar: bool  # whether the dates are read
    marks: bool  # whether a column for each channel tells which values are missing
    standardise: Standardise = "series"  # by whose mean and spread: of each series, or of all

    @property
    def channels(self) -> int:
        return self.scales.shape[2]

    @property
    def known_from(self) -> int:
        """The first column of the calendar, which is known of steps ahead, too: values and marks stand before."""
        return self.channels * (2 if self.marks else 1)

    @property
    def width(self) -> int:
        """Columns of what is read."""
        if not self.calendar or self.spacing is None:
            return self.known_from
        return self.known_from + calendar_features(np.array([0], "datetime64[s]"), self.spacing).shape[1]

    def features(self, seen: Observations, scales: np.ndarray) -> np.ndarray:
        """(N, D) float32: values standardised by their series, whose scales (S, 3, C) are given; where one is missing,
        the last that is known; which ones are missing; and what is known of the dates."""
        found = np.empty((len(seen.values), self.width), np.float32)
        for (first, end), (mean, std, _) in zip(pairwise(seen.offsets.tolist()), scales, strict=True):
            found[first:end, : self.channels] = (seen.values[first:end] - mean) / std
        missing = np.isnan(found[:, : self.channels])
        if missing.any():
            found[:, : self.channels] = _last_known(found[:, : self.channels], missing, seen.offsets)
        if self.marks:
            found[:, self.channels : self.known_from] = missing
        if self.calendar and seen.dates is not None and self.spacing is not None:
            for first in range(0, len(found), BLOCK):
                part = slice(first, first + BLOCK)
                found[part, self.known_from :] = calendar_features(seen.dates[part], self.spacing)
        return found

    def windows(self, seen: Observations) -> Sequences:
        """The last steps of each series, of which nothing is known yet that comes after: a row per series. One that
        training has seen is measured as it was there, and has its number; another is measured by itself, and has a
        number after those."""
        self._check(seen)
        known = {name: number for number, name in enumerate(self.series)}
        new = [number for number, name in enumerate(seen.series) if name not in known]
        known |= {seen.series[number]: len(self.series) + place for place, number in enumerate(new)}
        scales = np.concatenate([self.scales, *(self._own_scales(seen, number)[None] for number in new)])
        of_row = np.array([known[name] for name in seen.series])
        features, values = self.features(seen, scales[of_row]), []
        dates: Any = seen.dates
        for first, end in pairwise(seen.offsets.tolist()):
            values += [features[first:end], self.steps_ahead(None if dates is None else dates[end - 1])]
        ends = seen.offsets[1:] + self.horizon * np.arange(len(of_row))
        starts = np.maximum(ends - self.lookback, ends - np.diff(seen.offsets))
        ahead = np.full((int(ends[-1]) + self.horizon, self.channels), np.nan, np.float32)
        return Sequences(np.concatenate(values), starts, ends, ahead, np.arange(len(ends)), horizon=self.horizon,
                         known_from=self.known_from, series=of_row, scales=scales)  # fmt: skip

    def steps_ahead(self, last: np.datetime64 | None) -> np.ndarray:
        """(H, D) float32, of the steps after a date: what is known of them is the calendar; the rest is 0."""
        found = np.zeros((self.horizon, self.width), np.float32)
        if last is not None and self.calendar and self.spacing is not None:
            found[:, self.known_from :] = calendar_features(self.spacing.after(last, self.horizon), self.spacing)
        return found

    def _check(self, seen: Observations) -> None:
        if len(seen.channels) != self.channels:
            raise DataError(
                "{source}: this model reads {wanted} channels per step (got {found})",
                source=seen.source,
                wanted=self.channels,
                found=len(seen.channels),
            )
        if self.spacing is not None and seen.spacing is not None and seen.spacing != self.spacing:
            raise DataError(
                "{source}: one step is {found}, and in the data that this model learnt from it was {wanted}; give it "
                "values so far apart",
                source=seen.source,
                found=seen.spacing.told,
                wanted=self.spacing.told,
            )
        if self.calendar and self.spacing is not None and seen.dates is None:
            raise DataError(
                "{source}: this model reads the dates, too, and there are none; add a column of dates",
                source=seen.source,
            )

    def _own_scales(self, seen: Observations, number: int) -> np.ndarray:
        values = seen.values[seen.offsets[number] : seen.offsets[number + 1]]
        if not np.isfinite(values).any(0).all():
            name = both("the series {name!r}", name=seen.series[number]) if seen.series[number] else both("a series")
            raise DataError("{source}: {name} has a channel without any value", source=seen.source, name=name)
        own = scales_of(values, values, self.season)
        if self.standardise == "global":
            own[:2] = self.scales[0, :2]
        return own

    def to_dict(self) -> dict[str, Any]:
        return {
            "horizon": self.horizon,
            "lookback": self.lookback,
            "season": self.season,
            "series": list(self.series),
            "scales": self.scales.tolist(),
            "spacing": None if self.spacing is None else [self.spacing.seconds, self.spacing.months],
            "calendar": self.calendar,
            "marks": self.marks,
            "standardise": self.standardise,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        spacing = None if values["spacing"] is None else Spacing(*map(int, values["spacing"]))
        whole = [values[name] for name in ("horizon", "lookback", "season")]
        if not all(type(number) is int and number >= 1 for number in whole):
            raise ValueError("horizon, lookback and season must be whole numbers from 1")
        series, scales = tuple(map(str, values["series"])), np.array(values["scales"], np.float64)
        if scales.ndim != 3 or scales.shape[:2] != (len(series), 3) or not np.isfinite(scales).all():
            raise ValueError("every series has a mean, a deviation and an error of each channel")
        if (scales[:, 1:] <= 0).any():
            raise ValueError("what values are measured by must be more than 0")
        horizon, lookback, season = whole
        standardise: Standardise = "global" if values.get("standardise") == "global" else "series"
        read = (bool(values["calendar"]), bool(values["marks"]))
        return cls(horizon, lookback, season, series, scales, spacing, *read, standardise)


def scales_of(values: np.ndarray, before: np.ndarray, season: int) -> np.ndarray:
    """(3, C): mean and standard deviation of the values that are learnt from; and the mean error of the seasonal naive
    forecast in all that comes ``before`` the test part, which is a unit to measure in, as the M4 competition has it,
    and not read."""
    mean, std = mean_and_spread(values)
    back = max(1, min(season, len(before) - 1))
    steps = np.abs(before[back:] - before[:-back])
    there = ~np.isnan(steps)
    naive = np.where(there, steps, 0).sum(0) / np.maximum(there.sum(0), 1)
    return np.stack([mean, std, np.where(naive > 0, naive, std)])


def mean_and_spread(values: np.ndarray) -> np.ndarray:
    """(2, C), of the values that are known; a spread of 0 counts as 1."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(0), 1)
    mean = np.where(known, values, 0).sum(0) / count
    std = np.sqrt((np.where(known, values - mean, 0) ** 2).sum(0) / count)
    return np.stack([mean, np.where(std > 0, std, 1.0)])


def _last_known(values: np.ndarray, missing: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(N, C): in the place of each missing value the last one that is known of its series; 0 before the first."""
    place = np.where(missing, 0, np.arange(len(values))[:, None])
    first = np.repeat(offsets[:-1], np.diff(offsets))[:, None]
    place = np.maximum(np.maximum.accumulate(place, axis=0), first)
    return np.nan_to_num(np.take_along_axis(values, place, axis=0))
