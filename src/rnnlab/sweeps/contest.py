"""Trials that compete: which run may be computed next, which trial is stopped early, and the loop that computes them.

What is computed and what is stopped depends on the trials alone, not on how many runs are computed at a time or which
of them ends first: each decision waits for exactly those results that it may look at. So the same command finds the
same runs again, and an interrupted one goes on.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rnnlab.core.errors import Interrupted
from rnnlab.execute.executors import Executor
from rnnlab.runs.directory import RunDirectory
from rnnlab.sweeps.draws import Setting
from rnnlab.sweeps.run import Display
from rnnlab.sweeps.studies import PlannedPoint
from rnnlab.sweeps.trials import (
    Rungs,
    Trial,
    TrialRun,
    find_again,
    first_rung,
    goes_on,
    next_rung,
    take_event,
    take_outcome,
)
from rnnlab.training.spec import RunSpec


class Contest:
    """The trials of one search: those of a study, or of one arm of a comparison. ``rungs``: None lets every trial train
    to its end."""

    def __init__(
        self, wanted: int, metric: str, lower_is_better: bool, rungs: Rungs | None, out: Path, display: Display
    ):
        self.wanted, self.metric, self.lower_is_better = wanted, metric, lower_is_better
        self.rungs, self.out, self.display = rungs, out, display
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
            find_again(run, RunDirectory(self.out / run.spec.digest), self.metric, self.lower_is_better)
        goal = first_rung(point.specs, self.rungs) if self.rungs is not None else None
        self.trials.append(Trial(setting, point, runs, goal))
        return self.trials[-1]

    def more(self) -> bool:
        """Add a trial if there is one that may be drawn only now; False where there is none."""
        return False

    def may_begin(self, trial: Trial) -> bool:
        return True

    def next(self) -> tuple[Trial, TrialRun] | None:
        """A run that can be computed now: of the earliest trial that has one."""
        while True:
            self.judge()
            for trial in self.trials:
                if trial.settled or not self.may_begin(trial):
                    continue
                for run in trial.runs:
                    if not run.under_way and not run.arrived(trial.goal):
                        return trial, run
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
                    trial.goal = next_rung(rung, [run.spec for run in trial.runs], self.rungs)
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
        while (entry := _next(contests)) is not None:
            begun.append(entry)
            run = entry[-1]
            run.under_way = run.computed = True
            run.asked_to_stop = False
            yield run.spec

    def sink(number: int, event: dict[str, Any]) -> bool:
        contest, trial, run = begun[number]
        display.event(run.number, event)
        if event["event"] == "epoch":
            take_event(run, event, contest.metric, contest.lower_is_better)
            contest.judge()
        done_for_now = trial.goal is not None and run.evaluations >= trial.goal
        run.asked_to_stop = run.asked_to_stop or trial.pruned_at is not None or done_for_now
        return run.asked_to_stop

    for number, outcome in executor.map(specs(), out, sink):
        contest, trial, run = begun[number]
        run.under_way = False
        take_outcome(run, outcome, contest.metric, contest.lower_is_better)
        if run.outcome is not None or trial.pruned_at is not None:
            display.outcome(run.number, trial.outcome_of(run), again=False)
        else:
            display.event(run.number, {"event": "paused"})  # at a rung, until the others are there
        contest.judge()
    return bool(begun)


def _next(contests: Sequence[Contest]) -> tuple[Contest, Trial, TrialRun] | None:
    for contest in contests:
        entry = contest.next()
        if entry is not None:
            return contest, *entry
    return None
