"""Settings drawn from the axes of a study: at random, or by what earlier trials scored (TPE, by Optuna).

Every draw has its own seed, from the number of the trial: the same file draws the same settings, and more trials are
the same ones and then some.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rnnlab.comparing.studies import AxisValue
from rnnlab.core.errors import ConfigError
from rnnlab.core.seeding import generator, stream_seed
from rnnlab.sweeps.axes import AnyAxis, Choices, Range

Setting = tuple[int | float, ...]
"""A number for every axis: of choices which one it is, of a range the value."""

SEED = 0  # of every search
DIGITS = 4  # of a drawn number, so that people can read it


def draw(axes: Sequence[AnyAxis], number: int, attempt: int = 0, seed: int = SEED) -> Setting:
    """The setting of a trial, at random; ``seed`` tells searches apart that are made side by side."""
    rng = generator(seed, "search", number, attempt)
    return tuple(_drawn(axis, rng) for axis in axes)


def _drawn(axis: AnyAxis, rng: np.random.Generator) -> int | float:
    if isinstance(axis, Choices):
        return int(rng.integers(len(axis.choices)))
    margin = 0.5 if axis.whole else 0.0  # the whole numbers at the ends have a unit around them like all others
    low, high = axis.low - margin, axis.high + margin
    value = math.exp(rng.uniform(math.log(low), math.log(high))) if axis.log else rng.uniform(low, high)
    return readable(axis, value)


def readable(axis: Range, value: float) -> int | float:
    """A whole number, or one of a few digits, within the range."""
    shown = round(value) if axis.whole else float(f"{value:.{DIGITS}g}")
    return min(max(shown, axis.low), axis.high)


def propose(axes: Sequence[AnyAxis], known: Sequence[tuple[Setting, Any]], number: int, attempt: int = 0) -> Setting:
    """The setting of a trial, by TPE: near what scored well (less is better) and far from what didn't.

    A function of what is given alone: Optuna's study is made anew for each draw. TPE looks only at the order of scores,
    so it is told their ranks, and scores can be anything that has an order."""
    optuna = require_optuna()
    order = sorted({score for _, score in known})
    space = {str(n): _distribution(axis, optuna) for n, axis in enumerate(axes)}
    past = [
        optuna.trial.create_trial(
            params={str(n): value for n, value in enumerate(setting)},
            distributions=space,
            value=float(order.index(score)),
        )
        for setting, score in known
    ]
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would tell of every study
    try:
        sampler = optuna.samplers.TPESampler(
            seed=stream_seed(SEED, "search", number, attempt) % 2**32, n_startup_trials=1
        )
        study = optuna.create_study(sampler=sampler)
        study.add_trials(past)
        drawn = study.ask(space).params
    finally:
        optuna.logging.set_verbosity(before)
    values = [drawn[name] for name in space]
    return tuple(v if isinstance(a, Choices) else readable(a, v) for a, v in zip(axes, values, strict=True))


def _distribution(axis: AnyAxis, optuna: Any) -> Any:
    if isinstance(axis, Choices):
        return optuna.distributions.CategoricalDistribution(tuple(range(len(axis.choices))))
    if axis.whole:
        return optuna.distributions.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return optuna.distributions.FloatDistribution(axis.low, axis.high, log=axis.log)


def require_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "strategy = 'tpe' needs Optuna, which isn't installed: pip install 'rnnlab[optuna]'; "
            "'random' and 'asha' do without"
        ) from None
    return optuna


def values_of(axes: Sequence[AnyAxis], setting: Setting) -> dict[str, AxisValue]:
    """The value of every axis, as it is shown."""
    return {
        axis.name: axis.choices[int(value)].value if isinstance(axis, Choices) else value
        for axis, value in zip(axes, setting, strict=True)
    }


def changes_of(axes: Sequence[AnyAxis], setting: Setting) -> dict[str, Any]:
    """The settings that they stand for, each by its path."""
    changes: dict[str, Any] = {}
    for axis, value in zip(axes, setting, strict=True):
        changes |= axis.choices[int(value)].settings if isinstance(axis, Choices) else {axis.name: value}
    return changes
