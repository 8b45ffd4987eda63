"""Exponential smoothing and the theta method with given parameters: windows of series in, what comes next out.

Level, trend and season are those that each window itself suggests, so nothing has to be known of what came before it.
"""

from typing import NamedTuple

import numpy as np

MOST_AT_A_TIME = 4_000_000  # numbers: windows × (states + 1) × steps
ROUNDS = 4  # of Gauss-Newton, where the states are no linear function of what is read
SMALL = 1e-9


class Form(NamedTuple):
    """Which parts there are: A added, M multiplied, N none. A trend is damped by the parameter φ, or not, by 1."""

    error: str
    trend: str
    season: str


class States(NamedTuple):
    """At the end of windows: level (B,), trend (B,), seasons (B, m), of which the first is the next step's."""

    level: np.ndarray
    trend: np.ndarray
    seasons: np.ndarray


def smoothed_ahead(form: Form, parameters: np.ndarray, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """(B, H): of windows (B, L) with α, β, γ, φ (B, 4) each. The first states of a window are those with the smallest
    errors one step ahead."""
    season = season if form.season != "N" else 1
    per_row = (season + 3) * read.shape[1]
    parts = np.array_split(np.arange(len(read)), -(-len(read) * per_row // MOST_AT_A_TIME))
    return np.concatenate([_ahead(form, parameters[rows], read[rows], season, horizon) for rows in parts])


def _ahead(form: Form, parameters: np.ndarray, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
    with np.errstate(all="ignore"):  # a window that the form doesn't suit gets its last value instead
        first = _fitted_first(form, parameters, read, season)
        _, states = _filtered(form, parameters, read, first, season)
        damping = np.cumsum(parameters[:, 3:] ** np.arange(1, horizon + 1), axis=1)
        ahead = states.level[:, None] + states.trend[:, None] * damping
        seasons = states.seasons[:, np.arange(horizon) % season]
        if form.season != "N":
            ahead = ahead * seasons if form.season == "M" else ahead + seasons
    unsuited = ~np.isfinite(ahead).all(1)
    if "M" in form:
        unsuited |= (read <= 0).any(1)
    ahead[unsuited] = read[unsuited, -1:]
    return ahead


def _fitted_first(form: Form, parameters: np.ndarray, read: np.ndarray, season: int) -> np.ndarray:
    """(B, 2 + m): level, trend and seasons before the first step, by Gauss-Newton on the errors one step ahead."""
    size = 2 + season
    first = np.zeros((len(read), size))
    head = read[:, : max(season, 1)]
    first[:, 0] = head.mean(1)
    if form.season != "N":
        own = head / first[:, :1] if form.season == "M" else head - first[:, :1]
        first[:, 2 : 2 + own.shape[1]] = own
        first[:, 2 + own.shape[1] :] = form.season == "M"
    # the last season stays: all of them together say what the level says
    free = np.array([True, form.trend != "N", *([form.season != "N"] * (season - 1)), False])
    scale = np.maximum(np.abs(read).mean(1), SMALL)
    for _ in range(ROUNDS if "M" in form else 1):
        errors, _ = _filtered(form, parameters, read, first, season)
        jacobian = np.zeros((len(read), read.shape[1], int(free.sum())))
        steps = np.ones((len(read), size)) * (1e-4 * scale)[:, None]
        if form.season == "M":
            steps[:, 2:] = 1e-4
        for column, state in enumerate(np.flatnonzero(free)):
            moved = first.copy()
            moved[:, state] += steps[:, state]
            jacobian[:, :, column] = (_filtered(form, parameters, read, moved, season)[0] - errors) / steps[:, [state]]
        within = np.swapaxes(jacobian, 1, 2) @ jacobian
        sizes = np.maximum(np.einsum("bkk->bk", within), SMALL)
        damped = within + 1e-7 * sizes[:, :, None] * np.eye(within.shape[1])
        gradient = np.einsum("blk,bl->bk", jacobian, errors)[:, :, None]
        good = np.isfinite(damped).all((1, 2)) & np.isfinite(gradient).all((1, 2))
        moved = first.copy()
        moved[np.ix_(good, free)] -= np.linalg.solve(damped[good], gradient[good])[:, :, 0]
        after, _ = _filtered(form, parameters, read, moved, season)
        better = (after**2).sum(1) < (errors**2).sum(1)
        first[better] = moved[better]
    return first


def _filtered(
    form: Form, parameters: np.ndarray, read: np.ndarray, first: np.ndarray, season: int
) -> tuple[np.ndarray, States]:
    """Errors one step ahead (B, L), of logarithms where errors are multiplied, and the states at the end."""
    alpha, beta, gamma, phi = parameters.T
    level, trend, seasons = first[:, 0].copy(), first[:, 1].copy(), first[:, 2:].copy()
    errors = np.empty(read.shape)
    for step in range(read.shape[1]):
        value, own = read[:, step], seasons[:, step % season]
        slope = phi * trend
        base = level + slope
        expected = base if form.season == "N" else base * own if form.season == "M" else base + own
        errors[:, step] = np.log(value / expected) if form.error == "M" else value - expected
        seasonless = value if form.season == "N" else value / own if form.season == "M" else value - own
        before, level = level, base + alpha * (seasonless - base)
        if form.trend != "N":
            trend = slope + beta / alpha * (level - before - slope)
        if form.season != "N":
            now = value / base if form.season == "M" else value - base
            seasons[:, step % season] = own + gamma * (now - own)
    return errors, States(level, trend, np.roll(seasons, -(read.shape[1] % season), axis=1))


def theta_ahead(alpha: np.ndarray, season_form: str, read: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """(B, H): of windows (B, L) with α (B,). A straight line with half the slope of what is read, and its simple
    exponential smoothing, after the season was taken out (Assimakopoulos & Nikolopoulos 2000; as the standard theta
    model of Fiorucci et al. 2016)."""
    steps = read.shape[1]
    indices = None
    if season_form != "N" and steps >= 2 * season:
        indices = seasonal_indices(read, season, season_form == "M")
        tiled = indices[:, np.arange(steps) % season]
        read = read / tiled if season_form == "M" else read - tiled
    time = np.arange(1, steps + 1)
    centred = time - time.mean()
    slope = read @ centred / max((centred**2).sum(), 1.0)  # (B,)
    start = read.mean(1) - slope * time.mean()
    kept = 1 - alpha[:, None]

    def line(step: np.ndarray) -> np.ndarray:
        return 0.5 * (start[:, None] * kept**step + slope[:, None] * (1 - kept ** (step + 1)) / alpha[:, None])

    level, own = np.zeros(len(read)), np.empty(read.shape)
    for step in range(steps):  # beginning at 0; where it should begin is found below, as errors are linear in that
        own[:, step] = level
        level = alpha * read[:, step] + (1 - alpha) * level
    weights = kept ** np.arange(steps)
    errors = read - own - line(np.arange(steps))
    first = (weights * errors).sum(1) / (weights**2).sum(1)
    level = level + first * (1 - alpha) ** steps
    ahead = np.empty((len(read), horizon))
    for step in range(horizon):
        ahead[:, step] = level + line(np.array([steps + step]))[:, 0]
        level = alpha * ahead[:, step] + (1 - alpha) * level
    if indices is None:
        return ahead
    tiled = indices[:, (steps + np.arange(horizon)) % season]
    return ahead * tiled if season_form == "M" else ahead + tiled


def seasonal_indices(read: np.ndarray, season: int, multiplied: bool) -> np.ndarray:
    """(B, m): classical decomposition of windows (B, L) of two seasons or more: means, over the seasons, of what is
    left of a value after the moving mean of a season around it."""
    kernel = np.ones(season) / season if season % 2 else np.array([0.5, *([1.0] * (season - 1)), 0.5]) / season
    trend = np.lib.stride_tricks.sliding_window_view(read, len(kernel), axis=1) @ kernel
    half = len(kernel) // 2
    inner = read[:, half : half + trend.shape[1]]
    with np.errstate(all="ignore"):
        left = inner / trend if multiplied else inner - trend
    phase = (half + np.arange(trend.shape[1])) % season
    means = np.stack([left[:, phase == one].mean(1) for one in range(season)], axis=1)
    middle = means.mean(1, keepdims=True)
    return means / middle if multiplied else means - middle
