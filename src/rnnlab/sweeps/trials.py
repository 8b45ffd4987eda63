"""A trial: one setting with all its repeats, and how it stands beside the others. Validation scores only."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, RunDirectory, Stopped
from rnnlab.sweeps.draws import Setting
from rnnlab.sweeps.studies import PlannedPoint
from rnnlab.training.spec import RunSpec

HALVING = 3  # of the trials that come to a rung, one in so many goes on; the next rung is so many times as far


@dataclass(frozen=True)
class Rungs:
    """Where trials are compared, in evaluations, and how many of them go on."""

    first: int = 1
    times: int = HALVING  # the next rung is so many times as far
    keep: Fraction = Fraction(1, HALVING)  # of the trials that come to a rung, this share goes on


class Score(NamedTuple):
    """Less is better. A setting that costs repeats, diverged or failed, is worse than any that costs fewer; one that
    leaves none is the worst."""

    lost: float
    loss: float  # mean over the others of the best validation score, negated if more is better


WORST = Score(math.inf, math.inf)


@dataclass
class TrialRun:
    """One repeat. It may be stopped at a rung and go on later, from its checkpoint."""

    number: int  # in the display
    spec: RunSpec
    losses: dict[int, float] = field(default_factory=dict)  # by evaluation; the validation score, less is better
    outcome: Outcome | None = None  # once it is over: nothing more can be had from it
    under_way: bool = False
    computed: bool = False  # by this command, at least in part
    asked_to_stop: bool = False

    @property
    def evaluations(self) -> int:
        return max(self.losses, default=0)

    def arrived(self, rung: int | None) -> bool:
        """Nothing more is to be had from it up to there."""
        return self.outcome is not None or (rung is not None and self.evaluations >= rung)

    def loss_at(self, rung: int | None) -> float | None:
        """The best up to an evaluation; None if it was lost on the way there."""
        if isinstance(self.outcome, Diverged | Failed | Stopped) and (rung is None or self.evaluations < rung):
            return None
        return min((loss for at, loss in self.losses.items() if rung is None or at <= rung), default=None)


@dataclass
class Trial:
    setting: Setting
    point: PlannedPoint | None  # None when it can't be run
    runs: tuple[TrialRun, ...]
    goal: int | None = None  # the rung at which its runs wait; None: they may train to their end
    pruned_at: int | None = None
    settled: bool = False

    @property
    def begun(self) -> bool:
        return any(run.computed or run.losses or run.outcome for run in self.runs)

    def arrived(self, rung: int | None) -> bool:
        return all(run.arrived(rung) for run in self.runs)

    def passed(self, rung: int) -> bool:
        """Its score at this rung will not change any more, nor that it took part."""
        return self.settled or (self.arrived(rung) and (self.goal is None or self.goal > rung))

    def competes(self, rung: int) -> bool:
        return bool(self.runs) and (self.pruned_at is None or self.pruned_at >= rung)

    def score(self, rung: int | None = None) -> Score:
        """As it stood at a rung, or in the end."""
        shown = [run.loss_at(rung) for run in self.runs]
        kept = [loss for loss in shown if loss is not None]
        return Score(len(shown) - len(kept), statistics.fmean(kept)) if kept else WORST

    def outcome_of(self, run: TrialRun) -> Outcome:
        """A repeat that came to the rung where its trial was pruned counts as stopped there, even if it had gone
        further by the time it was told: what a search finds must not depend on that."""
        if self.pruned_at is not None and (run.outcome is None or run.evaluations >= self.pruned_at):
            return Stopped()
        assert run.outcome is not None
        return run.outcome


def first_rung(specs: Sequence[RunSpec], rungs: Rungs = Rungs()) -> int | None:
    return _below_the_end(rungs.first, specs)


def next_rung(rung: int, specs: Sequence[RunSpec], rungs: Rungs = Rungs()) -> int | None:
    return _below_the_end(rungs.times * rung, specs)


def _below_the_end(rung: int, specs: Sequence[RunSpec]) -> int | None:
    """A rung at the end of the training would stop nothing."""
    training = specs[0].training
    return None if training is None or (training.epochs is not None and rung >= training.epochs) else rung


def goes_on(score: Score, rivals: Sequence[Score], keep: Fraction = Rungs.keep) -> bool:
    """Successive halving as trials come (ASHA): past a rung goes who is among the best third (``keep``) of those that
    came to it so far, and while they are fewer than three, who is the best of them. The best so far is never
    stopped."""
    places = max(1, int((len(rivals) + 1) * keep))
    return score <= sorted([*rivals, score])[places - 1]


def loss_of(scores: dict[str, Any], name: str, lower_is_better: bool) -> float | None:
    """One validation score so that less is better; None if there is none to compare."""
    value = scores.get(name)
    if value is None or not math.isfinite(value):
        return None
    return value if lower_is_better else -value


def find_again(run: TrialRun, directory: RunDirectory, metric: str, lower_is_better: bool) -> None:
    """What earlier commands left of a run: its outcome, or the evaluations up to where it was stopped."""
    for event in directory.events():
        take_event(run, event, metric, lower_is_better)
    known = directory.outcome()
    if known is not None:
        take_outcome(run, known, metric, lower_is_better)


def take_event(run: TrialRun, event: dict[str, Any], metric: str, lower_is_better: bool) -> None:
    if event.get("event") == "epoch":
        loss = loss_of(event, f"valid_{metric}", lower_is_better)
        if loss is not None:
            run.losses[event["epoch"]] = loss


def take_outcome(run: TrialRun, outcome: Outcome, metric: str, lower_is_better: bool) -> None:
    """A run that was asked to stop isn't over: it may go on."""
    if isinstance(outcome, Stopped) and run.asked_to_stop:
        return
    run.outcome = outcome
    if isinstance(outcome, Finished) and not run.losses:  # a baseline, which has no evaluations on the way
        loss = loss_of(outcome.result["valid"], metric, lower_is_better)
        run.losses = {} if loss is None else {1: loss}
