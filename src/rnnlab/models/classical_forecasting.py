"""Exponential smoothing, ARIMA and the theta method: the parameters of each series are fitted by statsforecast on its
training part; what they say of a window needs nothing but the window, and no statsforecast.

All of them read values as they stand in the file: whether a season is multiplied or added depends on where 0 is.
"""

import importlib
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data.sequences import Sequences
from rnnlab.models.arima import arima_weights
from rnnlab.models.baselines import Learnt, baseline
from rnnlab.models.forecasting import Forecasting, Work
from rnnlab.models.smoothing import Form, smoothed_ahead, theta_ahead

MOST_FITTED = 1000  # steps, the last ones of the training part: more hardly change the parameters, and take longer
LONGEST_SEASON = 24  # that exponential smoothing and ARIMA fit in a time that anybody waits for
FEWEST_FITTED = 12  # steps: of a shorter series the parameters are those that say its last value
LETTERS = "NAM"  # how parts of a model are combined, as numbers


class BySeries(Forecasting):
    """One whose parameters belong to a series and a channel: arrays (S, C, …)."""

    extra: ClassVar[str] = "forecast"
    packages: ClassVar[tuple[str, ...]] = ("statsforecast",)

    def fit_series(self, values: np.ndarray, season: int) -> Learnt:
        """The parameters for one channel of one series, (N,)."""
        raise NotImplementedError

    def simplest(self) -> Learnt:
        """Parameters that say the last value."""
        raise NotImplementedError

    def ahead(self, parameters: Learnt, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
        """(B, H): of windows (B, L) that have the parameters (B, …)."""
        raise NotImplementedError

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        assert train.scales is not None
        library(self)
        found: list[Learnt] = []
        for values in _training_parts(train):
            if len(values) < FEWEST_FITTED or values.std() < 1e-9 * max(1.0, float(np.abs(values).max())):
                found.append(self.simplest())
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of searches that stopped early, and of seasons that are none
                try:
                    found.append(self.fit_series(values[-MOST_FITTED:], season))
                except Exception:  # it says of many a series, by many a class, that no model of it fits
                    found.append(self.simplest())
        series, _, channels = train.scales.shape
        learnt = {name: _stacked([one[name] for one in found], (series, channels)) for name in found[0]}
        return {**learnt, "season": np.array([season])}

    def forecast(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        assert data.horizon is not None
        assert data.series is not None
        known = len(next(array for name, array in learnt.items() if name not in ("season", "off")))
        if data.series.max(initial=0) >= known:
            raise DataError(
                "'{kind}' has parameters of its own for every series, and none for a series that it wasn't fitted on; "
                "take another model",
                kind=self.kind,
            )
        mean, std = (data.scales_of(np.arange(len(data)))[:, number].astype(np.float64) for number in (0, 1))
        channels = mean.shape[1]
        found = np.empty((len(data), data.horizon, channels), np.float32)
        for length in np.unique(data.lengths).tolist():
            rows = np.flatnonzero(data.lengths == length)
            at = data.starts[rows][:, None] + np.arange(length)
            for channel in range(channels):
                read = data.values[at, channel] * std[rows, channel, None] + mean[rows, channel, None]
                of_series = {name: array[data.series[rows], channel] for name, array in learnt.items()
                             if name not in ("season", "off")}  # fmt: skip
                said = self.ahead(of_series, read, int(learnt["season"][0]), data.horizon)
                found[rows, :, channel] = (said - mean[rows, channel, None]) / std[rows, channel, None]
        return found


def library(model: Forecasting) -> Any:
    """The module that fits it; it takes seconds to import."""
    name = {"statsforecast": "statsforecast.models"}.get(model.packages[0], model.packages[0])
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            "'{kind}' needs the package {package}: pip install 'rnnlab[forecast]'", kind=model.kind, package=error.name
        ) from None


def _training_parts(train: Sequences) -> Iterator[np.ndarray]:
    """(N,) each, as in the file: all channels of the first series, of the second …"""
    assert train.series is not None
    assert train.scales is not None
    assert train.horizon is not None
    for number, scales in enumerate(train.scales):
        own = train.series == number
        first, last = train.starts[own].min(), train.ends[own].max() + train.horizon
        for channel in range(scales.shape[1]):
            yield train.values[first:last, channel].astype(np.float64) * scales[1, channel] + scales[0, channel]


def _stacked(arrays: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """(S, C, …): shorter ones end in zeros."""
    longest = max(len(array) for array in arrays)
    wide = [np.concatenate([array, np.zeros(longest - len(array), array.dtype)]) for array in arrays]
    return np.stack(wide).reshape(*shape, longest)


@baseline("auto-ets")
class AutoEts(BySeries):
    """Exponential smoothing; which parts it has, and whether they are added or multiplied, is chosen by AICc."""

    title: ClassVar[str] = "exponential smoothing (AutoETS)"

    def seconds(self, work: Work) -> float:
        states = 3 + (work.season if work.season <= LONGEST_SEASON else 1)
        return 7e-4 * work.series * min(work.steps, MOST_FITTED) + 1e-7 * work.read * states

    def fit_series(self, values: np.ndarray, season: int) -> Learnt:
        fitted = library(self).AutoETS(season_length=season if season <= LONGEST_SEASON else 1).fit(values).model_
        error, trend, of_season, damped = fitted["components"]
        parameters = np.nan_to_num(np.array(fitted["par"][:4], np.float64))
        parameters[3] = parameters[3] if damped == "D" else 1.0
        return {"form": np.array([LETTERS.index(one) for one in (error, trend, of_season)]), "parameters": parameters}

    def simplest(self) -> Learnt:
        return {"form": np.array([1, 0, 0]), "parameters": np.array([0.9999, 0.0, 0.0, 1.0])}

    def ahead(self, parameters: Learnt, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
        found = np.empty((len(read), horizon))
        for form in np.unique(parameters["form"], axis=0).tolist():
            rows = np.flatnonzero((parameters["form"] == form).all(1))
            letters = Form(*(LETTERS[one] for one in form))
            found[rows] = smoothed_ahead(letters, parameters["parameters"][rows], read[rows], season, horizon)
        return found


@baseline("auto-arima")
class AutoArima(BySeries):
    """Sums of earlier values and earlier errors, of differences where a series drifts; how many of each is chosen by
    AICc, step by step."""

    title: ClassVar[str] = "ARIMA (AutoARIMA)"

    def seconds(self, work: Work) -> float:
        own = work.season if work.season <= LONGEST_SEASON else 1
        return 6e-3 * work.series * min(work.steps, MOST_FITTED) * max(1.0, own / 12) ** 4 + 1e-7 * work.read

    def fit_series(self, values: np.ndarray, season: int) -> Learnt:
        fitted = library(self).AutoARIMA(season_length=season if season <= LONGEST_SEASON else 1).fit(values).model_
        arma, coefficients = fitted["model"], fitted["coef"]
        return {
            "ar": np.array(arma["phi"], np.float64),
            "ma": np.array(arma["theta"], np.float64),
            "differences": np.array(arma["delta"], np.float64),
            "line": np.array([coefficients.get("intercept", 0.0), coefficients.get("drift", 0.0)], np.float64),
        }

    def simplest(self) -> Learnt:
        none = np.zeros(0)
        return {"ar": none, "ma": none, "differences": np.ones(1), "line": np.zeros(2)}

    def ahead(self, parameters: Learnt, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
        steps = read.shape[1]
        found = np.empty((len(read), horizon))
        whole = np.concatenate([parameters[name] for name in ("ar", "ma", "differences")], axis=1)
        _, firsts, of_row = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        for number, first in enumerate(firsts.tolist()):
            rows = np.flatnonzero(of_row.reshape(-1) == number)
            ar, ma, differences = (np.trim_zeros(parameters[name][first], "b") for name in ("ar", "ma", "differences"))
            if steps <= len(differences):  # nothing is left of so short a window
                found[rows] = read[rows, -1:]
                continue
            intercept, drift = parameters["line"][rows].T
            line = intercept[:, None] + drift[:, None] * np.arange(steps + horizon)
            weights = arima_weights(ar, ma, differences, steps, horizon)
            found[rows] = (read[rows] - line[:, :steps]) @ weights.T + line[:, steps:]
        return found


@baseline("theta")
class Theta(BySeries):
    """A line with half the slope and simple exponential smoothing, without the season, which is put back."""

    title: ClassVar[str] = "the theta method"

    def seconds(self, work: Work) -> float:
        return 1e-4 * work.series * min(work.steps, MOST_FITTED) + 1e-7 * work.read

    def fit_series(self, values: np.ndarray, season: int) -> Learnt:
        fitted = library(self).Theta(season_length=season).fit(values).model_
        form = fitted["decomposition_type"][0].upper() if fitted.get("decompose") else "N"
        return {"alpha": np.array([fitted["par"]["alpha"]]), "form": np.array([LETTERS.index(form)])}

    def simplest(self) -> Learnt:
        return {"alpha": np.array([0.99]), "form": np.array([0])}

    def ahead(self, parameters: Learnt, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
        found = np.empty((len(read), horizon))
        positive = (read > 0).all(1)  # else a season can't be multiplied
        forms = np.where(positive | (parameters["form"][:, 0] != 2), parameters["form"][:, 0], 1)
        for form in np.unique(forms).tolist():
            rows = np.flatnonzero(forms == form)
            found[rows] = theta_ahead(parameters["alpha"][rows, 0], LETTERS[form], read[rows], season, horizon)
        return found
