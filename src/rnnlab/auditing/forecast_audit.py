"""Does a forecaster know what it can't know? For anyone's function.

rnnlab.audit_forecaster(forecaster, horizon=24)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rnnlab.auditing.audit_report import Audit, Finding
from rnnlab.auditing.forecaster import Forecaster, made_up, random_numbers_kept, sow, takes_origins
from rnnlab.auditing.leaks import DRAWS_RANDOMLY, KEEPS_STATE, MIXES_WINDOWS, cause_of
from rnnlab.auditing.remedies import Cause
from rnnlab.auditing.subject import CannotRun
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import note

ORIGINS = 5  # that are tried
TESTED = 0.8  # share of the steps after which they lie: what is fitted may be fitted on those before
FEWEST_HORIZONS = 10  # in a series
ROUNDING = 100 * float(np.finfo(np.float32).eps)  # of the largest forecast
OF_SPREAD = 1e-4  # of how much forecasts differ: less is rounding, too

NOISE = note("noise added")
RULES = {
    "repeatable": note("the same question gives the same forecast twice"),
    "finite": note("forecasts are finite numbers"),
    "different": note("forecasts from different origins differ"),
    "future": note("values at and after the origin don't change a forecast"),
    "others": note("a forecast doesn't depend on which other origins are asked for"),
}


def audit_forecaster(
    function: Callable[..., Any],
    *,
    horizon: int = 12,
    channels: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Audit:
    """Hold a forecaster to the law that nothing it says depends on what comes at or after the origin.

    It is ``function(history, horizon)`` and returns (horizon,) or (horizon, channels); or ``function(series, origins,
    horizon)``, is given the whole series, and returns a forecast for each origin, (origins, horizon) and so on: it may
    read what comes before an origin, and fit what it likes on what comes before the first. Series are made up, (steps,)
    or, with ``channels``, (steps, channels)."""
    called = name or getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise ConfigError(
            "{name}: must be a function that forecasts (its type is {what})",
            name=called,
            what=type(function).__name__,
        )
    steps = max(600, 20 * horizon) if steps is None else steps
    if horizon < 1 or (channels is not None and channels < 1) or steps < FEWEST_HORIZONS * horizon:
        raise ConfigError(
            "horizon and channels are at least 1, and steps at least {fewest} times the horizon (got horizon "
            "{horizon}, channels {channels}, steps {steps})",
            fewest=FEWEST_HORIZONS,
            horizon=horizon,
            channels=channels,
            steps=steps,
        )
    forecaster = Forecaster(function, horizon, channels, takes_origins(function, called))
    origins = np.linspace(round(TESTED * steps), steps - horizon, ORIGINS).astype(int).tolist()
    examination = _Examination(forecaster, made_up(steps, channels, seed), origins, seed)
    with random_numbers_kept():
        sow(seed)
        try:
            findings = examination.examine()
        except CannotRun as error:
            raise ConfigError(
                "{name}: can't be called as {call}, with a series of {steps} steps and a horizon of {horizon}: "
                "{problem}; if it needs more steps or several channels, say --steps N or --channels C",
                name=called,
                call=forecaster.call,
                steps=steps,
                horizon=horizon,
                problem=str(error),
            ) from error
    shape = f"({steps},)" if channels is None else f"({steps}, {channels})"
    return Audit(
        subject=called,
        call=forecaster.call,
        inputs=note(
            "a series {shape} above 0; horizon {horizon}; origins {origins}",
            shape=shape,
            horizon=horizon,
            origins=", ".join(map(str, origins)),
        ),
        tolerance=examination.tolerance,
        spread=examination.spread,
        findings=tuple(findings),
        notes=tuple(examination.notes),
        padding_id=None,
        forecasts=True,
    )


class _Examination:
    """The laws, one after the other."""

    def __init__(self, forecaster: Forecaster, series: np.ndarray, origins: Sequence[int], seed: int):
        self.forecaster, self.series, self.origins, self.seed = forecaster, series, list(origins), seed
        self.notes: list[str] = []
        self.tolerance: float | None = None
        self.spread: float | None = None

    def examine(self) -> list[Finding]:
        findings = [self._repeatable()]
        if not findings[0].passed and self.forecaster.seed is None:
            why = note("not while '{law}' doesn't hold", law="repeatable")
            return findings + [Finding(law, RULES[law], "unjudged", problem=why) for law in ("future", "others")]
        plain = self.forecaster(self.series, self.origins)
        if not np.isfinite(plain).all():
            problem = note("a forecast of a series without missing values holds NaN or infinity")
            return [*findings, Finding("finite", RULES["finite"], "fails", problem=problem)]
        self.spread = float(plain.std(axis=0).mean())
        self.tolerance = max(ROUNDING * float(np.abs(plain).max()), OF_SPREAD * self.spread)
        if self.spread <= self.tolerance:
            problem = note("the forecasts from all origins are equal: nothing shows what it reads")
            findings.append(Finding("different", RULES["different"], "warns", problem=problem))
        others = self._others()
        if not (others.passed or self.forecaster.at_once):  # what it keeps would be taken for what it reads
            why = note("not while '{law}' doesn't hold", law="others")
            return [*findings, Finding("future", RULES["future"], "unjudged", problem=why), others]
        return [*findings, self._future(), others]

    def _repeatable(self) -> Finding:
        """Where seeds make random numbers come again, the other laws can be judged with them."""
        first, again = (self.forecaster(self.series, self.origins[:1]) for _ in range(2))
        largest = max(float(np.abs(np.nan_to_num(first)).max()), 1e-30)
        much = float(np.abs(np.nan_to_num(first) - np.nan_to_num(again)).max()) / largest
        if much <= ROUNDING and np.array_equal(np.isnan(first), np.isnan(again)):
            return Finding("repeatable", RULES["repeatable"], "holds")
        self.forecaster.seed = self.seed
        first, again = (self.forecaster(self.series, self.origins[:1]) for _ in range(2))
        seeded = np.array_equal(first, again, equal_nan=True)
        if seeded:
            self.notes.append(
                note("it isn't deterministic; the other laws are judged with seeds set before every call")
            )
        else:
            self.forecaster.seed = None
        problem = note("the second forecast differs by {percent} % of the largest value", percent=f"{100 * much:.2g}")
        causes = (DRAWS_RANDOMLY if seeded else KEEPS_STATE).found()
        return Finding("repeatable", RULES["repeatable"], "fails", problem=problem, causes=(causes,))

    def _future(self) -> Finding:
        """No other origin lies after the one that is looked at, so that what is read for them isn't altered either."""
        by_change: dict[str, float] = {}
        broken: int | None = None  # the first origin: most of the future lies after it
        for origin in self.origins:
            plain = self._from(origin, self.series)
            for change, altered in self._futures(origin).items():
                try:
                    much = _difference(self._from(origin, altered), plain)
                except CannotRun as error:
                    return Finding("future", RULES["future"], "unjudged", problem=str(error))
                by_change[change] = max(much, by_change.get(change, 0.0))
                if much > self._tolerance and broken is None:
                    broken = origin
        if broken is None:
            return Finding("future", RULES["future"], "holds", by_change=by_change)
        return self._leak(broken, by_change)

    def _leak(self, origin: int, by_change: dict[str, float]) -> Finding:
        def ask(series: np.ndarray) -> np.ndarray:
            return self._from(origin, series)

        futures, plain = self._futures(origin), ask(self.series)
        altered = max(futures.values(), key=lambda future: _difference(ask(future), plain))
        reach, cause = cause_of(ask, self.series, altered, futures[NOISE], origin, self._tolerance)
        rest = len(self.series) - origin
        where = note("all {rest} values from the origin on, to the end of the series, change it", rest=rest)
        if reach < rest:
            where = note("values from the origin on that change it: {reach} of {rest}", reach=reach, rest=rest)
        return self._broken("future", by_change, where, cause)

    def _others(self) -> Finding:
        """The first origin stays, as something may be fitted on all that comes before it."""
        asked: dict[str, Sequence[int]] = {
            note("all at once"): self.origins,
            note("in another order"): [self.origins[0], *self.origins[:0:-1]],
        }
        if not self.forecaster.at_once:
            asked = {note("later ones before it"): self.origins[::-1]}
        by_change: dict[str, float] = {}
        for change, origins in asked.items():
            try:
                found = self.forecaster(self.series, origins)
                alone = [self._from(origin, self.series) for origin in origins]
                if not self.forecaster.at_once:
                    alone = [self.forecaster(self.series, [origin, origin])[-1] for origin in origins]
            except CannotRun as error:
                return Finding("others", RULES["others"], "unjudged", problem=str(error))
            by_change[change] = max(_difference(*pair) for pair in zip(found, alone, strict=True))
        if max(by_change.values()) <= self._tolerance:
            return Finding("others", RULES["others"], "holds", by_change=by_change)
        where = note("the same origin, alone (with the first one) and among others")
        return self._broken(
            "others", by_change, where, (MIXES_WINDOWS if self.forecaster.at_once else KEEPS_STATE).found()
        )

    @property
    def _tolerance(self) -> float:
        assert self.tolerance is not None
        return self.tolerance

    def _from(self, origin: int, series: np.ndarray) -> np.ndarray:
        """(H, C): the forecast from an origin, asked for with the first one alone."""
        origins = [origin] if origin == self.origins[0] or not self.forecaster.at_once else [self.origins[0], origin]
        return self.forecaster(series, origins)[-1]

    def _futures(self, origin: int) -> Mapping[str, np.ndarray]:
        """The series with other values at and after the origin, by what was done to them; all above 0."""
        drawn = np.random.default_rng(self.seed + 1)
        future = self.series[origin:]
        others = {
            note("a constant added"): future + 50,
            NOISE: np.abs(future + drawn.normal(scale=20, size=future.shape)) + 1,
            note("half as large again"): 1.5 * future,
            note("100 times as large"): 100 * future,
        }
        return {change: np.concatenate([self.series[:origin], other]) for change, other in others.items()}

    def _broken(self, law: str, by_change: dict[str, float], where: str, cause: Cause) -> Finding:
        much = max(by_change.values())
        relative = much / self.spread if self.spread else None
        return Finding(law, RULES[law], "fails", much, relative, by_change=by_change, where=where, causes=(cause,))


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest; infinite where a number is none."""
    off = np.abs(one - other)
    return float(off.max()) if np.isfinite(off).all() else float("inf")
