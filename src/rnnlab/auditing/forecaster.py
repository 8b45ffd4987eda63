"""A forecaster under audit: a function, and a series that it is asked to go on with."""

import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rnnlab.auditing.subject import CannotRun, one_line
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import say

LEVEL = 100.0  # of the series: all values are well above 0, so that logarithms can be taken
HISTORY, WINDOWS = "forecaster(history, horizon)", "forecaster(series, origins, horizon)"


@dataclass
class Forecaster:
    """One that is given a history, or the whole series and several origins at once."""

    function: Callable[..., Any]
    horizon: int
    channels: int | None  # None: series are (N,), not (N, C)
    at_once: bool  # whether it is given the whole series and the origins
    seed: int | None = None  # from which random numbers are drawn anew before each call; None: they go on

    @property
    def call(self) -> str:
        return WINDOWS if self.at_once else HISTORY

    def __call__(self, series: np.ndarray, origins: Sequence[int]) -> np.ndarray:
        """(origins, H, C): what it forecasts of ``series (N,)`` or (N, C) from each of the origins. Histories are views
        of the whole series, so that one that looks beyond them is found."""
        if self.at_once:
            found = self._asked(series.copy(), np.array(origins, np.int64), self.horizon)
            return self._in_shape(found, (len(origins),))
        found = [self._in_shape(self._asked(series.copy()[:origin], self.horizon), ()) for origin in origins]
        return np.stack(found)

    def _asked(self, *given: Any) -> np.ndarray:
        if self.seed is not None:
            sow(self.seed)
        try:
            answer = self.function(*given)
            answer = answer.detach().cpu() if isinstance(answer, torch.Tensor) else answer
            return np.asarray(answer, np.float64)
        except (Exception, SystemExit) as error:
            raise CannotRun(one_line(error)) from error

    def _in_shape(self, found: np.ndarray, first: tuple[int, ...]) -> np.ndarray:
        channels = self.channels or 1
        wanted = (*first, self.horizon, channels)
        if found.shape == wanted or (channels == 1 and found.shape == wanted[:-1]):
            return found.reshape(wanted)
        shown = wanted if self.channels is not None else wanted[:-1]
        raise CannotRun(say("it must return an array of shape {wanted} (got {shape})", wanted=shown, shape=found.shape))


def takes_origins(function: Callable[..., Any], name: str) -> bool:
    """By the number of its parameters: history and horizon; or series, origins and horizon."""
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [p.name for p in every if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = [p.name for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    unlimited = any(p.kind == p.VAR_POSITIONAL for p in every)
    if len(needed) > 3 or (len(taken) < 2 and not unlimited):
        raise ConfigError(
            "{name}: a forecaster takes a history and a horizon, or a series, origins and a horizon (it takes {names})"
            "; write a function that does, for example  def forecaster(history, horizon): …",
            name=name,
            names=", ".join(taken) or "-",
        )
    return len(needed) == 3 or (len(needed) < 3 and len(taken) > 2 and "origins" in taken[:2])


def made_up(steps: int, channels: int | None, seed: int) -> np.ndarray:
    """(N,) or (N, C): a slow rise, a season of 12 and noise, all above 0."""
    drawn = np.random.default_rng(seed)
    at = np.arange(steps)[:, None]
    phases = drawn.uniform(0, 2 * np.pi, channels or 1)
    values = LEVEL + 10 * np.sin(2 * np.pi * at / 12 + phases) + 10 * at / steps
    values = values + drawn.normal(scale=5, size=values.shape)
    return values if channels is not None else values[:, 0]


def sow(seed: int) -> None:
    """All random numbers that a function may draw without being given a generator."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (other people's functions use it)
    torch.manual_seed(seed)


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """The caller's go on afterwards as if nothing had been drawn."""
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(theirs)  # noqa: NPY002
