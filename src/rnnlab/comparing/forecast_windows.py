"""What an arm forecast, window by window: fans, the windows in which two arms differ, errors that resemble each other,
and series by series. Made of the forecasts themselves, which a run doesn't keep: its model makes them again."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from rnnlab.comparing.forecasted import Band, DifferingWindow, Fan, Line, PartScore, Residuals
from rnnlab.data.calendar import Spacing
from rnnlab.data.sequences import Sequences

ForecastsOf = Callable[[np.ndarray], np.ndarray]
"""What an arm forecasts in some test rows: (B,) numbers → (B, H, C, Q), standardised by the series."""

MOST_SHOWN = 4  # parts that are all shown: of more, the best, the one in the middle and the worst
MOST_FANS, MOST_FANNED = 3, 400  # of one part; steps in them together
MOST_DRAWN = 240  # steps of a line before and within the fans: of more, every second, third …
MOST_DIFFERING = 4  # windows, half of them for each arm
FEWEST_ERRORS = 50  # for correlations; and so many times as many as the largest lag
TIMES_LAG = 4
LEAST_LAGS, MOST_LAGS = 24, 400

Place = tuple[int, int]  # numbers of a series and of a channel


def middle(forecasts: np.ndarray) -> np.ndarray:
    """(B, H, C) of (B, H, C, Q): the points."""
    return forecasts[..., forecasts.shape[3] // 2]


def part_scores(
    points: np.ndarray, naive: np.ndarray, test: Sequences, series: Sequence[str], channels: Sequence[str]
) -> list[tuple[Place, PartScore]]:
    """Of every channel of every series, the best by skill first; points (rows, H, C) and the seasonal naive ones."""
    assert test.series is not None
    truth = test.truth.values
    unit = _units(test)
    found = []
    for number in map(int, np.unique(test.series)):
        rows = test.series == number
        for channel in range(truth.shape[2]):
            asked = truth[rows, :, channel]
            values = int((~np.isnan(asked)).sum())
            if not values:
                continue
            own, other = (
                float(np.nansum(np.abs(asked - one[rows, :, channel]) * unit[rows, None, channel])) / values
                for one in (points, naive)
            )
            score = PartScore(series[number], _channel_name(channel, series, channels), own, other, values)
            found.append(((number, channel), score))
    return sorted(found, key=lambda one: (-one[1].skill, one[1].name))


def _channel_name(channel: int, series: Sequence[str], channels: Sequence[str]) -> str:
    """Not said where each of several series has one."""
    return channels[channel] if len(channels) > 1 or len(series) == 1 else ""


def _units(test: Sequences) -> np.ndarray:
    """(rows, C): by what standardised errors are multiplied, so that they are in those of the seasonal naive forecast
    before the test part."""
    scales = test.scales_of(np.arange(len(test)))
    return scales[:, 1] / scales[:, 2]


# --- fans -------------------------------------------------------------------------------------------------------------


def fans(
    scores: Sequence[tuple[Place, PartScore]], forecasts_of: ForecastsOf, test: Sequences, spacing: Spacing | None
) -> tuple[Fan, ...]:
    return tuple(_fan(place, score, rank, forecasts_of, test, spacing) for place, score, rank in _shown(scores))


def _shown(
    scores: Sequence[tuple[Place, PartScore]],
) -> list[tuple[Place, PartScore, Literal["best", "median", "worst", "all"]]]:
    if len(scores) <= MOST_SHOWN:
        return [(*one, "all") for one in scores]
    return [(*scores[0], "best"), (*scores[len(scores) // 2], "median"), (*scores[-1], "worst")]


def _fan(
    place: Place,
    score: PartScore,
    rank: Literal["best", "median", "worst", "all"],
    forecasts_of: ForecastsOf,
    test: Sequences,
    spacing: Spacing | None,
) -> Fan:
    assert test.horizon is not None
    rows = last_apart(test, place[0], max(1, min(MOST_FANS, MOST_FANNED // test.horizon)))
    found = forecasts_of(rows)[:, :, place[1]]  # (B, H, Q)
    thin = -(-test.horizon // MOST_DRAWN)
    bands = []
    for row, quantiles in zip(rows.tolist(), found, strict=True):
        steps = np.arange(0, test.horizon, thin)
        values = in_units(quantiles[steps], test, row, place[1])
        bands.append(Band(_moments(test, row, steps, spacing), tuple(map(tuple, values.tolist()))))
    begin = max(int(test.starts[rows[0]]), int(test.ends[rows[0]]) - max(2 * test.horizon, MOST_DRAWN // 4))
    end = int(test.ends[rows[-1]]) + test.horizon
    return Fan(score, rank, _truth(test, int(rows[-1]), place[1], begin, end, spacing), tuple(bands))


def last_apart(test: Sequences, series: int, most: int) -> np.ndarray:
    """The last test rows of a series of which no two ask for the same step, the earliest first."""
    assert test.horizon is not None
    rows = np.flatnonzero(np.asarray(test.series) == series)
    chosen = [rows[np.argmax(test.ends[rows])]]
    while len(chosen) < most:
        earlier = rows[test.ends[rows] <= test.ends[chosen[-1]] - test.horizon]
        if not len(earlier):
            break
        chosen.append(earlier[np.argmax(test.ends[earlier])])
    return np.array(chosen[::-1])


def in_units(values: np.ndarray, test: Sequences, row: int, channel: int) -> np.ndarray:
    """Standardised values as they would stand in the file."""
    assert test.scales is not None
    assert test.series is not None
    mean, std, _ = test.scales[test.series[row], :, channel]
    return np.asarray(values, np.float64) * std + mean


def _moments(test: Sequences, row: int, steps: np.ndarray, spacing: Spacing | None) -> tuple[int, ...]:
    """When steps were, which are counted from the first one that a row asks for."""
    assert test.origins is not None
    origin = int(test.origins[row])
    if spacing is None:
        return tuple((origin + steps).tolist())
    dates = np.full(len(steps), origin).astype("datetime64[s]")
    return tuple(spacing.shifted(dates, steps).astype(np.int64).tolist())


def _truth(test: Sequences, row: int, channel: int, begin: int, end: int, spacing: Spacing | None) -> Line:
    """Between two places of the flat arrays, in the series of ``row``."""
    at = np.arange(begin, end, -(-(end - begin) // (2 * MOST_DRAWN)))
    values = in_units(test.targets[at, channel], test, row, channel)
    return Line(
        _moments(test, row, at - int(test.ends[row]), spacing),
        tuple(None if np.isnan(value) else value for value in values.tolist()),
    )


# --- windows in which two arms differ ---------------------------------------------------------------------------------


def differing_windows(
    errors: tuple[np.ndarray, np.ndarray],
    forecasts: tuple[ForecastsOf, ForecastsOf],
    test: Sequences,
    series: Sequence[str],
    channels: Sequence[str],
    spacing: Spacing | None,
) -> tuple[DifferingWindow, ...]:
    """Those with the largest differences for either arm, of which no two overlap; ``errors`` (rows,) each: both arms'
    MASE by row."""
    gap = errors[1] - errors[0]
    ahead = apart(test, gap, MOST_DIFFERING // 2, ())
    behind = apart(test, -gap, MOST_DIFFERING // 2, ahead)
    rows = np.array([*ahead, *behind], np.int64)
    if not len(rows):
        return ()
    ours, theirs = (middle(of(rows)) for of in forecasts)  # (B, H, C)
    truth, unit = test.ahead(rows), _units(test)[rows]
    found = []
    for number, row in enumerate(rows.tolist()):
        asked = truth[number]  # (H, C)
        known = np.maximum((~np.isnan(asked)).sum(0), 1)  # a channel may have no value here: then nothing differs
        own, other = (np.nansum(np.abs(asked - one[number]), axis=0) / known * unit[number] for one in (ours, theirs))
        sign = 1 if number < len(ahead) else -1
        channel = int(np.argmax(sign * (other - own)))
        drawn = [_forecast_line(one[number, :, channel], test, row, channel, spacing) for one in (ours, theirs)]
        assert test.series is not None
        assert test.horizon is not None
        end = int(test.ends[row])
        begin = max(int(test.starts[row]), end - max(2 * test.horizon, MOST_DRAWN // 8))
        found.append(
            DifferingWindow(
                series[int(test.series[row])],
                _channel_name(channel, series, channels),
                _truth(test, row, channel, begin, end + test.horizon, spacing),
                drawn[0],
                drawn[1],
                float(own[channel]),
                float(other[channel]),
            )
        )
    return tuple(found)


def apart(test: Sequences, gap: np.ndarray, most: int, taken: Sequence[int]) -> list[int]:
    """Rows with the largest positive gaps, of which no two, nor one of those that are ``taken``, ask for one step."""
    assert test.horizon is not None
    assert test.series is not None
    found: list[int] = []
    for row in np.argsort(-np.nan_to_num(gap, nan=-np.inf), kind="stable").tolist():
        if not gap[row] > 0 or len(found) == most:
            break
        others = [*taken, *found]
        if all(
            test.series[row] != test.series[one] or abs(test.ends[row] - test.ends[one]) >= test.horizon
            for one in others
        ):
            found.append(row)
    return found


def _forecast_line(points: np.ndarray, test: Sequences, row: int, channel: int, spacing: Spacing | None) -> Line:
    steps = np.arange(0, len(points), -(-len(points) // MOST_DRAWN))
    values = in_units(points[steps], test, row, channel)
    return Line(_moments(test, row, steps, spacing), tuple(values.tolist()))


# --- what is left in the errors ---------------------------------------------------------------------------------------


def residuals(points: np.ndarray, test: Sequences, season: int) -> Residuals | None:
    """Of errors one step ahead, all channels of all series together, each standardised by itself. None where origins
    don't follow each other step by step, or are few."""
    assert test.series is not None
    errors = test.truth.values[:, 0] - points[:, 0]  # (rows, C)
    pieces = []
    for number in np.unique(test.series).tolist():
        rows = np.flatnonzero(test.series == number)
        if len(rows) < 2 or (np.diff(test.ends[rows]) != 1).any():
            continue
        pieces.append(errors[rows])
    if not pieces:
        return None
    shortest = min(len(piece) for piece in pieces)
    lags = min(max(2 * season, LEAST_LAGS), MOST_LAGS, shortest // TIMES_LAG)
    if shortest < FEWEST_ERRORS or lags < 1:
        return None
    columns = [piece[:, channel] for piece in pieces for channel in range(piece.shape[1])]
    found = [correlations(column, lags) for column in columns if np.nanstd(column) > 0]
    if not found:
        return None
    return Residuals(tuple(np.mean(found, axis=0).tolist()), shortest, season)


def correlations(errors: np.ndarray, lags: int) -> np.ndarray:
    """(lags,) at lag 1, 2, …: the autocorrelation of a series (T,), in which values may be missing."""
    known = ~np.isnan(errors)
    off = np.where(known, errors - np.nanmean(errors), 0.0)
    return np.array([off[:-lag] @ off[lag:] for lag in range(1, lags + 1)]) / (off @ off)
