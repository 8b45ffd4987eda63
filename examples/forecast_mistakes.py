"""A mistake of many tutorials on time series, and its correction: a scaler that saw the future.

rnnlab audit --forecast examples/forecast_mistakes.py:scaled_by_all
rnnlab audit --forecast examples/forecast_mistakes.py:scaled_by_training
"""

import numpy as np

LOOKBACK = 24


def scaled_by_all(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """The scaler is fitted on the whole series, and only then it is split."""
    return _forecast(series, origins, horizon, series.mean(), series.std())


def scaled_by_training(series: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """The scaler is fitted on what comes before the first origin."""
    before = series[: origins.min()]
    return _forecast(series, origins, horizon, before.mean(), before.std())


def _forecast(series: np.ndarray, origins: np.ndarray, horizon: int, mean: float, std: float) -> np.ndarray:
    """(origins, horizon): something like a network, with weights that are drawn."""
    drawn = np.random.default_rng(0)
    hidden, out = drawn.normal(size=(LOOKBACK, 16)) / 5, drawn.normal(size=(16, horizon)) / 4
    windows = np.stack([series[origin - LOOKBACK : origin] for origin in origins])
    return np.tanh((windows - mean) / std @ hidden) @ out * std + mean
