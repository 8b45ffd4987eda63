"""What an ARIMA model with given coefficients says of the next steps: exactly, and as weights of what was read.

The best forecast of a process whose coefficients are known is a weighted sum of the window. The weights depend on the
length of the window alone, so all windows of a series share them.
"""

import numpy as np


def arima_weights(ar: np.ndarray, ma: np.ndarray, differences: np.ndarray, steps: int, horizon: int) -> np.ndarray:
    """(H, L): of windows of ``steps`` values. ``ar`` and ``ma`` are φ and θ of x[t] = Σ φ x[t - i] + e[t] +
    Σ θ e[t - i], seasonal ones multiplied out; ``differences`` are δ of y[t] = x[t] + Σ δ y[t - i]."""
    from scipy.linalg import solve_toeplitz  # a network's answer need not wait for scipy

    lost = len(differences)
    inner = steps - lost
    to_differences = np.eye(steps)[lost:]  # (n, L)
    for lag, weight in enumerate(differences, start=1):
        to_differences -= weight * np.eye(steps)[lost - lag : steps - lag]
    covariance = autocovariances(ar, ma, inner + horizon)
    asked = np.stack([covariance[inner + step - np.arange(inner)] for step in range(horizon)])  # (H, n)
    # a grain of independent noise: the matrix of an over-differenced process is all but singular
    column = covariance[:inner] * np.where(np.arange(inner) == 0, 1 + 1e-9, 1.0)
    ahead = solve_toeplitz(column, asked.T, check_finite=False).T @ to_differences  # (H, L), of differences
    found = np.concatenate([np.eye(steps), np.zeros((horizon, steps))])
    for step in range(horizon):  # the window itself stands before what is asked
        found[steps + step] = ahead[step]
        for lag, weight in enumerate(differences, start=1):
            found[steps + step] += weight * found[steps + step - lag]
    return found[steps:]


def autocovariances(ar: np.ndarray, ma: np.ndarray, lags: int) -> np.ndarray:
    """(lags,) of a stationary ARMA process with noise of variance 1: the first ones by a linear system (Brockwell &
    Davis 1991, 3.3), the others by its recursion."""
    theta = np.concatenate([[1.0], ma])
    order = max(len(ar), len(ma)) + 1
    phi = np.concatenate([ar, np.zeros(order - len(ar))])
    moving = np.zeros(order)  # ψ, how much noise is left after so many steps
    for step in range(order):
        moving[step] = (theta[step] if step < len(theta) else 0.0) + phi[:step][::-1] @ moving[:step]
    right = np.array([theta[lag:] @ moving[: len(theta) - lag] if lag < len(theta) else 0.0 for lag in range(order)])
    left = np.eye(order)
    for lag in range(order):
        for back in range(1, order):
            left[lag, abs(lag - back)] -= phi[back - 1]
    found = np.zeros(max(lags, order))
    found[:order] = np.linalg.solve(left, right)
    for lag in range(order, lags):
        found[lag] = ar @ found[lag - len(ar) : lag][::-1] if len(ar) else 0.0
    return found[:lags]
