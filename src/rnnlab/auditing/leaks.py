"""How a forecaster may know what it can't know: what each mistake is, how it shows, and what to write instead."""

from collections.abc import Callable

import numpy as np

from rnnlab.auditing.remedies import Cause, Mistake
from rnnlab.core.words import note

SCALER_SAW_THE_FUTURE = Mistake(
    "scaler-saw-the-future",
    note(
        "the {source} of the whole series are used, the future counted: other values to come with the same ones give "
        "the same forecast. A scaler was fitted on everything."
    ),
    note("Fit the scaler on what comes before the first origin alone:"),
    ("scaler.fit(series[:origins.min()])", "scaled = scaler.transform(series)"),
)
FITTED_ON_THE_FUTURE = Mistake(
    "fitted-on-the-future",
    note(
        "something is fitted on the whole series, the future counted: every value to come changes the forecast, and so "
        "does their order."
    ),
    note("Fit on what comes before the first origin alone:"),
    ("model.fit(series[:origins.min()])",),
)
READS_THE_ORIGIN = Mistake(
    "reads-the-origin",
    note("what is read ends one step too late: it holds the value at the origin, the first one that is asked for."),
    note("End before the origin:"),
    ("window = series[origin - lookback:origin]",),
)
READS_AHEAD = Mistake(
    "reads-ahead",
    note(
        "what is read reaches {steps} steps into the future, as a centred moving average, a filter that runs both ways "
        "or an interpolation does."
    ),
    note("Use what comes before a step alone, or compute it anew from each history:"),
    ("smooth = pandas.Series(values).rolling(5).mean()    # without center=True",),
)
MIXES_WINDOWS = Mistake(
    "mixes-windows",
    note(
        "windows that are forecast together have something in common, as batch norm in training mode has, or a scaler "
        "that is fitted on the batch."
    ),
    note("Take it from the training part, or from each window alone:"),
    ("model.eval()", "scaled = (windows - windows.mean(1, keepdims=True)) / windows.std(1, keepdims=True)"),
)
KEEPS_STATE = Mistake(
    "keeps-state",
    note(
        "something is kept from one call to the next, such as a state, or a scaler that was fitted in the first call."
    ),
    note("Begin anew in every call, and keep nothing outside of it."),
)
DRAWS_RANDOMLY = Mistake(
    "draws-randomly",
    note("random numbers are drawn in every call, as dropout does in training mode, or a model that is fitted anew."),
    note("Draw them from a generator with a seed of its own, or call eval():"),
    ("generator = np.random.default_rng(0)",),
)

Ask = Callable[[np.ndarray], np.ndarray]  # a series, of which the future may be another -> the forecast from the origin


def reach_of(ask: Ask, series: np.ndarray, altered: np.ndarray, origin: int, tolerance: float) -> int:
    """How many of the values from the origin on matter: those after them may be others, and nothing changes."""
    plain = ask(series)
    low, high = 0, len(series) - origin  # values up to low matter, values from high on don't
    while high - low > 1:
        middle = (low + high) // 2
        some = series.copy()
        some[origin + middle :] = altered[origin + middle :]
        if differs(ask(some), plain, tolerance):
            low = middle
        else:
            high = middle
    return low + 1


def cause_of(
    ask: Ask, series: np.ndarray, altered: np.ndarray, noisy: np.ndarray, origin: int, tolerance: float
) -> tuple[int, Cause]:
    """How far it reaches into the future, and the mistake that explains it. ``altered`` and ``noisy`` are the series
    with another future: one that changes the forecast most, and one that is much like the past."""
    reach = reach_of(ask, series, altered, origin, tolerance)
    if reach == 1:
        return reach, READS_THE_ORIGIN.found()
    if 2 * reach <= len(series) - origin:
        return reach, READS_AHEAD.found(steps=reach)
    statistics = _statistics(ask, noisy, origin, tolerance)
    if statistics is None:
        return reach, FITTED_ON_THE_FUTURE.found()
    return reach, SCALER_SAW_THE_FUTURE.found(statistics)


def _statistics(ask: Ask, noisy: np.ndarray, origin: int, tolerance: float) -> str | None:
    """What it knows of the future, if that isn't the order of its values: another future that has the same gives the
    same forecast."""
    drawn = np.random.default_rng(0)
    future = noisy[origin:]
    known = ask(noisy)

    def tells_nothing_new(other: np.ndarray) -> bool:
        return not differs(ask(np.concatenate([noisy[:origin], other])), known, tolerance)

    if not tells_nothing_new(future[drawn.permutation(len(future))]):
        return None
    normal = drawn.normal(size=future.shape)
    normal = (normal - normal.mean(0)) / normal.std(0) * future.std(0) + future.mean(0)
    if tells_nothing_new(normal):
        return note("mean and spread")
    between = drawn.uniform(future.min(0), future.max(0), future.shape)
    between[0], between[-1] = future.min(0), future.max(0)
    return note("smallest and largest values") if tells_nothing_new(between) else note("values, in whatever order,")


def differs(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    return not bool((np.abs(one - other) <= tolerance).all())
