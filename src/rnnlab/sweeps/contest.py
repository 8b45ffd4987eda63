"""Trials that compete: which run may be computed next, which trial is stopped early, and the loop that computes them.

What is computed and what is stopped depends on the trials alone, not on how many runs are computed at a time or which
of them ends first: each decision waits for exactly those results that it may look at. So the same command finds the
same runs again, and an interrupted one goes on. Validation scores only.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from rnnlab.core.errors import Interrupted
from rnnlab.execute.executors import Executor
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, RunDirectory, Stopped
from rnnlab.sweeps.draws import Setting
from rnnlab.sweeps.execution import Display
from rnnlab.sweeps.sweep_plan import PlannedPoint
from rnnlab.training.spec import RunSpec

HALVING = 3  # of the trials that come to a rung, one in so many goes on; the next rung is so many times as far


@dataclass(frozen=True)
class Rungs:
    """Where trials are compared, in evaluations, and how many of them go on."""

    first: int = 1
    times: int = HALVING  # the next rung is so many times as far
    keep: Fraction = Fraction(1, HALVING)  # of the trials that come to a rung, this share goes on

    def after(self, rung: int, spec: RunSpec) -> int | None:
        """The next one, the first after 0. A rung at the end of the training would stop nothing: None."""
        following = self.times * rung or self.first
        training = spec.training
        at_the_end = training is None or (training.epochs is not None and following >= training.epochs)
        return None if at_the_end else following


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

    def find_again(self, directory: RunDirectory) -> None:
        """What earlier commands left of it: its outcome, or the evaluations up to where it was stopped."""
        for event in directory.events():
            self.take_event(event)
        known = directory.outcome()
        if known is not None:
            self.take_outcome(known)

    def take_event(self, event: dict[str, Any]) -> None:
        if event.get("event") == "epoch":
            self._take_score(event["epoch"], event, "valid_")

    def take_outcome(self, outcome: Outcome) -> None:
        """A run that was asked to stop isn't over: it may go on."""
        if isinstance(outcome, Stopped) and self.asked_to_stop:
            return
        self.outcome = outcome
        if isinstance(outcome, Finished) and not self.losses:  # a baseline, which has no evaluations on the way
            self._take_score(1, outcome.result["valid"])

    def _take_score(self, evaluation: int, scores: dict[str, Any], prefix: str = "") -> None:
        by = self.spec.task.answer.chosen
        value = scores.get(prefix + by.name)
        if value is not None and math.isfinite(value):
            self.losses[evaluation] = -by.sign * value


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


def goes_on(score: Score, rivals: Sequence[Score], keep: Fraction = Rungs.keep) -> bool:
    """Successive halving as trials come (ASHA): past a rung goes who is among the best third (``keep``) of those that
    came to it so far, and while they are fewer than three, who is the best of them. The best so far is never
    stopped."""
    places = max(1, int((len(rivals) + 1) * keep))
    return score <= sorted([*rivals, score])[places - 1]


class Contest:
    """The trials of one search: those of a study, or of one arm of a comparison. ``rungs``: None lets every trial train
    to its end."""

    wanted: int
    rungs: Rungs | None
    out: Path
    display: Display

    def __init__(self, wanted: int, rungs: Rungs | None, out: Path, display: Display):
        self.wanted, self.rungs, self.out, self.display = wanted, rungs, out, display
        self.trials: list[Trial] = []

    @property
    def total(self) -> int:
        """Trials that there will be."""
        return self.wanted

    @property
    def runs(self) -> list[TrialRun]:
        return [run for trial in self.trials for run in trial.runs]

    def enter(self, setting: Setting, point: PlannedPoint) -> Trial:
        """Add a trial, with what earlier commands left of its runs."""
        runs = tuple(TrialRun(len(self.runs) + n, spec) for n, spec in enumerate(point.specs))
        for run in runs:
            run.find_again(RunDirectory(self.out / run.spec.digest))
        goal = self.rungs.after(0, point.specs[0]) if self.rungs is not None else None
        self.trials.append(Trial(setting, point, runs, goal))
        return self.trials[-1]

    def more(self) -> bool:
        """Add a trial if there is one that may be drawn only now; False where there is none."""
        return False

    def may_begin(self, trial: Trial) -> bool:
        return True

    def next(self) -> "tuple[Contest, Trial, TrialRun] | None":
        """A run that can be computed now: of the earliest trial that has one."""
        while True:
            self.judge()
            for trial in self.trials:
                if trial.settled or not self.may_begin(trial):
                    continue
                for run in trial.runs:
                    if not run.under_way and not run.arrived(trial.goal):
                        return self, trial, run
            if not self.more():
                return None

    def judge(self) -> None:
        """Settle the trials that are done; at a rung, stop them or let them go on.

        A trial is compared with those before it in number, as if they had come to the rung one after the other: it
        waits for them there, while others are computed."""
        for number, trial in enumerate(self.trials):
            while not trial.settled and trial.arrived(trial.goal):
                rung = trial.goal
                if rung is None or all(run.evaluations < rung for run in trial.runs):
                    trial.settled = True
                    break
                earlier = self.trials[:number]
                if not all(other.passed(rung) for other in earlier):
                    break
                assert self.rungs is not None
                rivals = [other.score(rung) for other in earlier if other.competes(rung)]
                if goes_on(trial.score(rung), rivals, self.rungs.keep):
                    trial.goal = self.rungs.after(rung, trial.runs[0].spec)
                else:
                    trial.pruned_at, trial.settled = rung, True
                    for run in trial.runs:
                        if run.outcome is None and not run.under_way:
                            self.display.outcome(run.number, trial.outcome_of(run), again=not run.computed)

    def show_found(self, trial: Trial) -> None:
        for run in trial.runs:
            if run.outcome is not None:
                self.display.outcome(run.number, run.outcome, again=True)


def compute(contests: Sequence[Contest], out: Path, executor: Executor, display: Display) -> None:
    """Run the trials of all contests until none is left, those of earlier contests first. The display has begun; here
    it ends."""
    try:
        while _compute(contests, out, executor, display):
            pass
    except KeyboardInterrupt:
        done = sum(trial.settled for contest in contests for trial in contest.trials)
        raise Interrupted(
            "stopped: {done} of {total} trials are done and kept in {out}; the same command goes on "
            "where this one stopped",
            done=done,
            total=sum(contest.total for contest in contests),
            out=out,
        ) from None
    finally:
        display.end()


def _compute(contests: Sequence[Contest], out: Path, executor: Executor, display: Display) -> bool:
    """Compute until nothing can be begun before all that is under way has ended; False when nothing was left."""
    begun: list[tuple[Contest, Trial, TrialRun]] = []

    def specs() -> Iterator[RunSpec]:
        while (entry := next(filter(None, (contest.next() for contest in contests)), None)) is not None:
            begun.append(entry)
            run = entry[-1]
            run.under_way = run.computed = True
            run.asked_to_stop = False
            yield run.spec

    def sink(number: int, event: dict[str, Any]) -> bool:
        contest, trial, run = begun[number]
        display.event(run.number, event)
        if event["event"] == "epoch":
            run.take_event(event)
            contest.judge()
        done_for_now = trial.goal is not None and run.evaluations >= trial.goal
        run.asked_to_stop = run.asked_to_stop or trial.pruned_at is not None or done_for_now
        return run.asked_to_stop

    for number, outcome in executor.map(specs(), out, sink):
        contest, trial, run = begun[number]
        run.under_way = False
        run.take_outcome(outcome)
        if run.outcome is not None or trial.pruned_at is not None:
            display.outcome(run.number, trial.outcome_of(run), again=False)
        else:
            display.event(run.number, {"event": "paused"})  # at a rung, until the others are there
        contest.judge()
    return bool(begun)
