"""How well forecasters do, from the recorded counts: skill over the seasonal naive forecast, errors by step ahead, how
many values lie within the outer quantiles, and what intervals would be if windows didn't overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rnnlab.answers.forecast import COVERAGE, MASE, Forecast
from rnnlab.answers.score import Score, ratio
from rnnlab.comparing.records import Record, by_arm
from rnnlab.comparing.translated import ALPHA, estimate
from rnnlab.data.calendar import Spacing
from rnnlab.data.forecasting import FEWEST_BLOCKS
from rnnlab.data.sequences import Sequences
from rnnlab.judging.findings import Estimate
from rnnlab.judging.spread import group_sums, measure
from rnnlab.models.forecasting import SeasonalNaive
from rnnlab.training.record import Recorded

MOST_STEPS = 60  # ahead that are drawn: of more, every second, third …
FAR_OFF = 0.05  # of the share within the outer quantiles: less is near enough

NAIVE = "naive"  # the column of the seasonal naive forecast's errors
SKILL = Score("skill", "skill", ("scaled", NAIVE), lambda totals: float(1 - totals[0] / totals[1]))
BY_STEP = ratio("by_step", "MASE", "scaled", "values", lower_is_better=True, unit="number")


@dataclass(frozen=True)
class ArmSkill:
    """The mean of an arm's runs. Intervals count the luck of the seeds and of blocks of test windows."""

    arm: str
    mase: Estimate
    skill: Estimate  # how much smaller its errors are than those of the seasonal naive forecast, as a share of these
    coverage: Estimate | None  # share of values within the outer quantiles; None without quantiles
    by_blocks: Estimate  # MASE by the luck of the test windows alone
    by_windows: Estimate  # the same as if windows that overlap were independent of each other

    @property
    def too_narrow(self) -> float:
        """How many times the interval of windows is narrower than that of blocks."""
        one, other = (of.high - of.mean for of in (self.by_blocks, self.by_windows))
        return one / other if other > 0 else 1.0


@dataclass(frozen=True)
class StepErrors:
    """MASE of an arm by the number of steps ahead."""

    arm: str
    parts: tuple[tuple[int, Estimate], ...]


@dataclass(frozen=True)
class Line:
    at: tuple[int, ...]  # seconds since 1970; without dates, numbers of steps
    values: tuple[float | None, ...]  # in the units of the file; None where one is missing


@dataclass(frozen=True)
class Band:
    """What was forecast from one origin."""

    at: tuple[int, ...]
    quantiles: tuple[tuple[float, ...], ...]  # (H, Q), ascending; the middle one is the point


@dataclass(frozen=True)
class PartScore:
    """Errors of one channel of one series, of the best run of an arm."""

    series: str  # empty where there is one
    channel: str  # empty where each of several series has one
    mase: float
    naive: float  # MASE of the seasonal naive forecast
    values: int  # that were forecast

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.series, self.channel) if part)

    @property
    def skill(self) -> float:
        return 1 - self.mase / self.naive if self.naive > 0 else 0.0


@dataclass(frozen=True)
class Fan:
    part: PartScore
    rank: Literal["best", "median", "worst", "all"]  # by skill, among all parts; all: every one is shown
    truth: Line
    bands: tuple[Band, ...]  # from origins that don't overlap, the earliest first


@dataclass(frozen=True)
class DifferingWindow:
    """A window that two arms forecast differently, in the channel in which they differ most."""

    series: str
    channel: str
    truth: Line  # some of what was read, and what came
    ours: Line
    theirs: Line
    ours_mase: float  # of this window and channel
    theirs_mase: float


@dataclass(frozen=True)
class Residuals:
    """How errors one step ahead are correlated with those some steps later."""

    correlations: tuple[float, ...]  # at lag 1, 2, …
    steps: int  # errors per channel
    season: int

    @property
    def band(self) -> float:
        """Within which 95 % of the correlations lie where nothing is left to be learnt."""
        return 1.96 / self.steps**0.5


@dataclass(frozen=True)
class Forecasted:
    """What there is to tell of forecasters alone."""

    horizon: int
    season: int
    spacing: Spacing | None  # of the dates; None where there are none
    quantiles: tuple[float, ...]
    blocks: int  # of test windows: intervals go by these
    windows: int
    skills: tuple[ArmSkill, ...]
    by_step: tuple[StepErrors, ...]
    ours: str | None = None  # the arm whose forecasts are shown: what is recommended, or the best
    theirs: str | None = None  # and the one beside it
    parts: tuple[PartScore, ...] = ()  # the best by skill first
    fans: tuple[Fan, ...] = ()
    differing: tuple[DifferingWindow, ...] = ()
    residuals: Residuals | None = None  # None where origins don't follow each other

    @property
    def nominal(self) -> float | None:
        """The share of values that should lie within the outer quantiles."""
        return self.quantiles[-1] - self.quantiles[0] if self.quantiles else None

    @property
    def enough(self) -> bool:
        """Whether there are enough blocks to say how much is luck."""
        return self.blocks >= FEWEST_BLOCKS

    @property
    def overlap(self) -> bool:
        """Whether windows do."""
        return self.blocks < self.windows


def forecasted(
    records: Sequence[Record], test: Sequences, season: int, spacing: Spacing | None, naive: np.ndarray
) -> Forecasted | None:
    """All that the recorded counts tell; ``naive`` (rows, H, C) is the seasonal naive forecast. None without a finished
    run."""
    arms = {
        arm: [record.answers for record in runs if record.finished]
        for arm, runs in by_arm(records).items()
        if any(record.finished for record in runs)
    }
    if not arms or test.horizon is None:
        return None
    answer = next(iter(arms.values()))[0].answer
    assert isinstance(answer, Forecast)
    beside = errors_of(naive, test)["scaled"]
    known = (~np.isnan(test.truth.values)).sum(2)  # (rows, H)
    return Forecasted(
        horizon=test.horizon,
        season=season,
        spacing=spacing,
        quantiles=answer.quantiles,
        blocks=len(np.unique(test.groups)),
        windows=len(test),
        skills=tuple(_skill(arm, runs, beside) for arm, runs in arms.items()),
        by_step=tuple(_by_step(arm, runs, known) for arm, runs in arms.items()),
    )


def seasonal_naive(test: Sequences, season: int) -> np.ndarray:
    """(rows, H, C): needs no training, so it is there whether it was compared or not."""
    return SeasonalNaive().forecast({"season": np.array([season])}, test)


def errors_of(points: np.ndarray, test: Sequences) -> dict[str, np.ndarray]:
    """What scores are sums of, for points (rows, H, C)."""
    every = np.arange(len(test))
    counting = Forecast(points.shape[1], points.shape[2])
    return counting.counted(points[..., None], test.truth.values, test.scales_of(every))


def _skill(arm: str, runs: Sequence[Recorded], naive: np.ndarray) -> ArmSkill:
    groups, counts = runs[0].groups, [run.counts for run in runs]
    mase = np.stack([MASE.per_row(one) for one in counts])  # (S, N)
    skill = np.stack([SKILL.per_row({**one, NAIVE: naive}) for one in counts])
    is_naive = all(np.allclose(one["scaled"], naive) for one in counts)
    inside = [COVERAGE.per_row(one) for one in counts if "inside" in one]
    mean = mase.mean(0, keepdims=True)
    return ArmSkill(
        arm,
        _error(_estimate(mase, groups)),
        Estimate(0.0, 0.0, 0.0) if is_naive else _estimate(skill, groups),  # nothing of which is luck
        estimate(np.stack(inside), groups, COVERAGE) if inside else None,
        _error(_estimate(mean, groups)),
        _error(_estimate(mean, np.arange(len(groups)))),
    )


def _estimate(scores: np.ndarray, groups: np.ndarray) -> Estimate:
    """The mean of (S, N) numbers of any size and its 95 % interval, as the verdict has it; with one run, by the luck of
    the groups of rows alone."""
    spread = measure(*group_sums(scores, groups), scale=2 * float(np.std(scores)))
    reach = spread.reach(ALPHA)
    return Estimate(spread.mean, spread.mean - reach, spread.mean + reach)


def _error(found: Estimate) -> Estimate:
    """No error is below zero."""
    return Estimate(found.mean, max(0.0, found.low), found.high)


def _by_step(arm: str, runs: Sequence[Recorded], known: np.ndarray) -> StepErrors:
    """``known`` (rows, H): of how many channels there is a value."""
    steps, parts = known.shape[1], []
    for step in sorted({*range(0, steps, -(-steps // MOST_STEPS)), steps - 1}):
        if not known[:, step].any():
            continue
        counts = [{"scaled": run.kept("test")["by_step"][:, step], "values": known[:, step]} for run in runs]
        rows = np.stack([BY_STEP.per_row(one) for one in counts])
        parts.append((step + 1, _error(_estimate(rows, runs[0].groups))))
    return StepErrors(arm, tuple(parts))
