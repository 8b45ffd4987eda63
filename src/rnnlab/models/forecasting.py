"""What forecasts without a network: the last value, that of a season ago, a mean, a straight line of what was read."""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from rnnlab.data.sequences import Sequences
from rnnlab.models.baselines import Baseline, Inputs, Learnt, Taught, baseline

AT_A_TIME = 2048  # windows
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # of ridge, as a share of the mean variance of what is read
MOST_WINDOWS = 100_000  # that ridge learns from: windows that overlap tell little more than some of them
MEANS = (1, 2, 4, 8)  # seasons of which a moving average may be the mean


class Work(NamedTuple):
    """How much there is to do."""

    series: int  # and channels of each
    steps: int  # in the training part of one
    read: int  # windows that are evaluated × channels × steps that are read
    asked: int  # windows × channels × steps that are forecast
    season: int


MEASURES = ("series", "season", "window")
"""What the errors of ridge are divided by before they are squared: the spread of their series; the mean error of the
seasonal naive forecast in their series, or in what the window reads."""
LEAST_ERROR = 0.001  # of the seasonal naive forecast in a window, in standard deviations of its series
MOST_CHANNELS = 32  # that may have weights of their own


class Forecasting(Baseline):
    """One that forecasts points; quantiles come from how far it was off on the validation windows."""

    inputs: ClassVar[Inputs] = "features"
    answers: ClassVar[Taught] = "forecast"

    def seconds(self, work: Work) -> float:
        """About how long it takes to fit and to forecast."""
        return 0.0

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        raise NotImplementedError

    def reach(self, learnt: Learnt) -> int:
        """How many of the last steps of a window it needs."""
        raise NotImplementedError

    def points(self, learnt: Learnt, read: np.ndarray, horizon: int) -> np.ndarray:
        """(B, H, C) for the last `reach` steps of windows, (B, L, C); before a short one, its first value is
        repeated."""
        raise NotImplementedError

    def forecast(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        """(rows, H, C) float32, as standardised as what is read."""
        assert data.horizon is not None
        reach = self.reach(learnt)
        parts = [
            self.points(learnt, read_before(data, rows, reach), data.horizon)
            for rows in np.array_split(np.arange(len(data)), max(1, -(-len(data) // AT_A_TIME)))
        ]
        return np.concatenate(parts).astype(np.float32)


def read_before(data: Sequences, rows: np.ndarray, reach: int) -> np.ndarray:
    """(B, reach, C): the last values that windows read; before a short one, its first value is repeated."""
    channels = data.targets.shape[1]
    at = np.maximum(data.ends[rows][:, None] - reach + np.arange(reach), data.starts[rows][:, None])
    return data.values[at][:, :, :channels].astype(np.float64)


def spaced_evenly(data: Sequences, most: int) -> np.ndarray:
    """The windows, or so many of them."""
    return np.linspace(0, len(data) - 1, min(len(data), most)).astype(np.int64)


def residual_quantiles(forecasts: np.ndarray, data: Sequences, quantiles: tuple[float, ...]) -> np.ndarray:
    """(H, C, Q): of what forecasts (rows, H, C) were off by, at each step. The middle one is 0: a point stays what the
    model says."""
    return quantiles_of(data.ahead(np.arange(len(data))) - forecasts, quantiles)


def quantiles_of(off: np.ndarray, quantiles: tuple[float, ...]) -> np.ndarray:
    """(H, C, Q) of errors (rows, H, C), NaN where nothing is known; the middle one is 0."""
    found = np.moveaxis(np.nan_to_num(np.nanquantile(off, quantiles, axis=0)), 0, 2).astype(np.float32)
    below, above = found[..., : len(quantiles) // 2], found[..., len(quantiles) // 2 + 1 :]
    return np.concatenate([np.minimum(below, 0), np.zeros_like(found[..., :1]), np.maximum(above, 0)], axis=2)


@baseline("last-value")
class LastValue(Forecasting):
    """Nothing changes."""

    title: ClassVar[str] = "the last value"

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        return {}

    def reach(self, learnt: Learnt) -> int:
        return 1

    def points(self, learnt: Learnt, read: np.ndarray, horizon: int) -> np.ndarray:
        return np.repeat(read[:, -1:], horizon, axis=1)


@baseline("seasonal-naive")
class SeasonalNaive(Forecasting):
    """As it was a season ago."""

    title: ClassVar[str] = "the value of a season ago"

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        return {"season": np.array([season])}

    def reach(self, learnt: Learnt) -> int:
        return int(learnt["season"][0])

    def points(self, learnt: Learnt, read: np.ndarray, horizon: int) -> np.ndarray:
        return read[:, np.arange(horizon) % read.shape[1]]


@baseline("moving-average")
class MovingAverage(Forecasting):
    """The mean of the last seasons, as many as are best on the validation windows."""

    title: ClassVar[str] = "the mean of the last seasons"

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        longest = int(valid.lengths.max(initial=1))
        sizes = sorted({min(longest, max(2, season * count)) for count in MEANS})
        return {"size": np.array([min(sizes, key=lambda size: _scaled_error(self, {"size": np.array([size])}, valid))])}

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {"steps": int(learnt["size"][0])}

    def reach(self, learnt: Learnt) -> int:
        return int(learnt["size"][0])

    def points(self, learnt: Learnt, read: np.ndarray, horizon: int) -> np.ndarray:
        return np.repeat(read.mean(1, keepdims=True), horizon, axis=1)


@baseline("ridge")
class Ridge(Forecasting):
    """A straight line: every step ahead is a weighted sum of what was read, less the last value, which is added again
    (as NLinear has it). The weights are those of least squares with a penalty, in closed form, the same for all
    channels and series or of each channel. These, the penalty and what errors are divided by before they are squared
    (`MEASURES`) are chosen by MASE on the validation windows: of 414 series of M4, squares of standardised errors are
    ruled by those with the largest errors, and MASE is 1.36 instead of 0.94."""

    title: ClassVar[str] = "least squares on the look-back"

    penalty: float | None = Field(
        default=None, ge=0, description="As a share of the mean variance of what is read; else chosen on validation."
    )

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        return self.fit_line(train, valid, season, spaced_evenly(train, MOST_WINDOWS), by_channel=True)

    def fit_line(
        self, train: Sequences, valid: Sequences, season: int, windows: np.ndarray, by_channel: bool
    ) -> Learnt:
        """On these of the training windows; without ``by_channel`` all channels share their weights."""
        assert train.horizon is not None
        size, channels = int(train.lengths.max(initial=1)), train.targets.shape[1]
        parts = channels if by_channel and 1 < channels <= MOST_CHANNELS else 1
        xx = np.zeros((len(MEASURES), parts, size, size))
        xy = np.zeros((len(MEASURES), parts, size, train.horizon))
        for rows in np.array_split(windows, max(1, -(-len(windows) // AT_A_TIME))):
            read, ahead = read_before(train, rows, size), train.ahead(rows).astype(np.float64)
            last = read[:, -1:]
            asked = np.nan_to_num(ahead) - last  # (B, H, C)
            known = np.asarray(np.isfinite(ahead).all(axis=1))  # (B, C)
            for measure, by in enumerate(_measured(read, train.scales_of(rows), season)):  # (B, C)
                for channel in range(channels):
                    own = known[:, channel]
                    weight = by[own, channel, None]
                    x = (read - last)[own, :, channel] * weight
                    xx[measure, channel % parts] += x.T @ x
                    xy[measure, channel % parts] += x.T @ (asked[own, :, channel] * weight)
        best: tuple[float, Learnt] | None = None
        for measure in range(len(MEASURES)):
            for shared in (True, False) if parts > 1 else (True,):
                a, b = (part[measure].sum(0, keepdims=True) if shared else part[measure] for part in (xx, xy))
                for penalty in PENALTIES if self.penalty is None else (self.penalty,):
                    sizes = penalty * np.trace(a, axis1=1, axis2=2) / size + 1e-9
                    weights = np.linalg.solve(a + sizes[:, None, None] * np.eye(size), b)  # (C or 1, L, H)
                    learnt = {"weights": weights.astype(np.float32), "penalty": np.array([penalty])}
                    error = _scaled_error(self, learnt, valid)
                    if best is None or error < best[0]:
                        best = error, learnt | {"measure": np.array([measure])}
        assert best is not None
        return best[1]

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {
            "penalty": float(learnt["penalty"][0]),
            "weights": "shared" if len(learnt["weights"]) == 1 else "by channel",
        }

    def reach(self, learnt: Learnt) -> int:
        return learnt["weights"].shape[1]

    def points(self, learnt: Learnt, read: np.ndarray, horizon: int) -> np.ndarray:
        weights, last = learnt["weights"].astype(np.float64), read[:, -1:]
        of_channel = np.arange(read.shape[2]) if len(weights) > 1 else np.zeros(read.shape[2], np.int64)
        return last + np.einsum("blc,clh->bhc", read - last, weights[of_channel], optimize=True)


def _measured(read: np.ndarray, scales: np.ndarray, season: int) -> Iterator[np.ndarray]:
    """(B, C) each, as `MEASURES` says: by what windows (B, L, C) are multiplied before squares are summed."""
    yield np.ones((len(read), read.shape[2]))
    yield (scales[:, 1] / scales[:, 2]).astype(np.float64)
    back = max(1, min(season, read.shape[1] - 1))
    yield 1 / np.maximum(np.abs(read[:, back:] - read[:, :-back]).mean(1), LEAST_ERROR)


def _scaled_error(model: Forecasting, learnt: Learnt, valid: Sequences) -> float:
    """The mean over all validation windows, in units of the seasonal naive forecast's error: MASE."""
    rows = np.arange(len(valid))
    scales = valid.scales_of(rows)
    off = np.abs(valid.ahead(rows) - model.forecast(learnt, valid)) * (scales[:, 1] / scales[:, 2])[:, None]
    return float(np.nanmean(off))
