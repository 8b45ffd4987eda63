"""Strategies that draw settings instead of trying all: ``random``, ``tpe`` and ``asha``.

What is drawn and what is stopped depends on the file alone, not on how many runs are computed at a time or which of
them ends first: each decision waits for exactly those results that it may look at. So the same command finds the same
runs again, and an interrupted search goes on.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlab.errors import ConfigError, Interrupted
from rnnlab.experiment import RunSpec
from rnnlab.runs import Outcome, RunDirectory
from rnnlab.sweep.axes import label_of
from rnnlab.sweep.draws import Setting, changes_of, draw, propose, require_optuna, values_of
from rnnlab.sweep.executors import Executor
from rnnlab.sweep.plan import Opened
from rnnlab.sweep.run import Display, Silent
from rnnlab.sweep.studies import PlannedPoint, PlannedStudy, plan_point
from rnnlab.sweep.trials import (
    Trial,
    TrialRun,
    find_again,
    first_rung,
    goes_on,
    next_rung,
    take_event,
    take_outcome,
)

AT_RANDOM = 8  # trials with which tpe begins: it needs something to go by
LAG = 4  # tpe draws trial n when trials up to n - LAG are done, and goes by these alone
PROPOSALS = 10  # of tpe, until one is new; then the trial is drawn at random
ATTEMPTS = 1000  # at a setting that is new; then there are no more


def search(
    study: PlannedStudy, opened: Opened, out: Path, executor: Executor, display: Display
) -> tuple[PlannedStudy, dict[str, Outcome]]:
    """Draw `study.settings.trials` settings, run each with its repeats, and return the study with the points that were
    drawn, and the outcome of every run by its digest."""
    return _Search(study, opened, out, display).run(executor)


class _Search:
    """The trials of a study, and what may be computed next."""

    def __init__(self, study: PlannedStudy, opened: Opened, out: Path, display: Display):
        self.study, self.opened, self.out = study, opened, out
        self.strategy, self.wanted = study.settings.strategy, study.settings.trials or 0
        self.trials: list[Trial] = []
        self.seen: set[Setting | str] = set()  # settings, and digests of runs
        self.exhausted = False
        self.notes: list[str] = []
        minutes = study.settings.minutes
        self.deadline = None if minutes is None else time.monotonic() + 60 * minutes
        self.runs = 0
        self.add = getattr(display, "add", None)
        grows = self.strategy == "tpe"  # what it runs isn't known when it begins
        self.display = Silent() if grows and self.add is None else display

    def run(self, executor: Executor) -> tuple[PlannedStudy, dict[str, Outcome]]:
        if self.strategy == "tpe":
            require_optuna()
            self.display.begin([])
        else:
            while len(self.trials) < self.wanted and self._draw():
                pass
            self.display.begin([(_label(trial), run.spec) for trial in self.trials for run in trial.runs])
            for trial in self.trials:
                self._show_found(trial)
        try:
            while self._compute(executor):
                pass
        except KeyboardInterrupt:
            done = sum(trial.settled for trial in self.trials)
            raise Interrupted(
                f"stopped: {done} of {self.wanted} trials are done and kept in {self.out}; "
                "the same command goes on where this one stopped"
            ) from None
        finally:
            self.display.end()
        return self._found()

    # Computing

    def _compute(self, executor: Executor) -> bool:
        """Compute until nothing can be begun before all that is under way has ended; False when nothing was left."""
        begun: list[tuple[Trial, TrialRun]] = []

        def specs() -> Iterator[RunSpec]:
            while (entry := self._next()) is not None:
                begun.append(entry)
                _, run = entry
                run.under_way = run.computed = True
                run.asked_to_stop = False
                yield run.spec

        def sink(number: int, event: dict[str, Any]) -> bool:
            trial, run = begun[number]
            self.display.event(run.number, event)
            if event["event"] == "epoch":
                take_event(run, event, self.study.metric, self.study.lower_is_better)
                self._judge()
            done_for_now = trial.goal is not None and run.evaluations >= trial.goal
            run.asked_to_stop = run.asked_to_stop or trial.pruned_at is not None or done_for_now
            return run.asked_to_stop

        for number, outcome in executor.map(specs(), self.out, sink):
            trial, run = begun[number]
            run.under_way = False
            take_outcome(run, outcome, self.study.metric, self.study.lower_is_better)
            if run.outcome is not None or trial.pruned_at is not None:
                self.display.outcome(run.number, trial.outcome_of(run), again=False)
            else:
                self.display.event(run.number, {"event": "paused"})  # at a rung, until the others are there
            self._judge()
        return bool(begun)

    def _next(self) -> tuple[Trial, TrialRun] | None:
        """A run that can be computed now: of the earliest trial that has one."""
        while True:
            self._judge()
            for trial in self.trials:
                if trial.settled or (self._too_late() and not trial.begun):
                    continue
                for run in trial.runs:
                    if not run.under_way and not run.arrived(trial.goal):
                        return trial, run
            if self.strategy != "tpe" or not self._may_propose() or not self._draw():
                return None

    def _judge(self) -> None:
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
                rivals = [other.score(rung) for other in earlier if other.competes(rung)]
                if goes_on(trial.score(rung), rivals):
                    trial.goal = next_rung(rung, [run.spec for run in trial.runs])
                else:
                    trial.pruned_at, trial.settled = rung, True
                    for run in trial.runs:
                        if run.outcome is None and not run.under_way:
                            self.display.outcome(run.number, trial.outcome_of(run), again=not run.computed)

    def _too_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    # Drawing

    def _may_propose(self) -> bool:
        number = len(self.trials)
        if number >= self.wanted or self.exhausted or self._too_late():
            return False
        return number < AT_RANDOM or all(trial.settled for trial in self._known(number))

    def _known(self, number: int) -> list[Trial]:
        """What tpe goes by when it draws a trial."""
        return self.trials[: number - LAG + 1]

    def _draw(self) -> bool:
        """Add a trial that is unlike all others; False when none is left."""
        number = len(self.trials)
        for attempt in range(ATTEMPTS):
            setting = self._setting(number, attempt)
            if setting in self.seen:
                continue
            self.seen.add(setting)
            point = self._plan(setting)
            if point is None:
                self.trials.append(Trial(setting, None, (), settled=True))
                return True
            if point.specs[0].digest not in self.seen:  # else another setting comes to the same runs
                self.seen.add(point.specs[0].digest)
                self._begin(setting, point)
                return True
        self.exhausted = True
        self.notes.append(f"the axes have no more than {number} settings that differ: trials = {self.wanted}")
        return False

    def _setting(self, number: int, attempt: int) -> Setting:
        if self.strategy != "tpe" or number < AT_RANDOM or attempt >= PROPOSALS:
            return draw(self.study.axes, number, attempt)
        known = [(trial.setting, trial.score()) for trial in self._known(number)]
        return propose(self.study.axes, known, number, attempt)

    def _plan(self, setting: Setting) -> PlannedPoint | None:
        """Values that don't suit each other cost a trial, with a note, and not the search."""
        at = values_of(self.study.axes, setting)
        label = label_of(self.study.axes, list(at.values()))
        source = f"{self.study.name}, {label}"
        try:
            specs, notes = plan_point(self.study.settings, changes_of(self.study.axes, setting), source, self.opened)
        except ConfigError as error:
            specs, notes = None, (" ".join(line.strip() for line in str(error).splitlines()),)
        self.notes += [f"{label}: {note}" for note in notes]
        return None if specs is None else PlannedPoint(at, label, tuple(specs))

    def _begin(self, setting: Setting, point: PlannedPoint) -> None:
        runs = tuple(TrialRun(self.runs + n, spec) for n, spec in enumerate(point.specs))
        self.runs += len(runs)
        for run in runs:
            directory = RunDirectory(self.out / run.spec.digest)
            find_again(run, directory, self.study.metric, self.study.lower_is_better)
        goal = first_rung(point.specs) if self.strategy == "asha" else None
        trial = Trial(setting, point, runs, goal)
        self.trials.append(trial)
        if self.strategy == "tpe" and self.add is not None:
            for run in runs:
                self.add(point.label, run.spec)
            self._show_found(trial)

    def _show_found(self, trial: Trial) -> None:
        for run in trial.runs:
            if run.outcome is not None:
                self.display.outcome(run.number, run.outcome, again=True)

    # The result

    def _found(self) -> tuple[PlannedStudy, dict[str, Outcome]]:
        done = [trial for trial in self.trials if trial.settled]
        points = tuple(trial.point for trial in done if trial.point is not None)
        if done and not points:
            raise ConfigError("\n".join([f"{self.study.name}: no trial could be run", *dict.fromkeys(self.notes)]))
        notes = [*self.study.notes, *dict.fromkeys(self.notes), *self._account(done)]
        outcomes = {run.spec.digest: trial.outcome_of(run) for trial in done for run in trial.runs}
        return replace(self.study, points=points, notes=tuple(notes)), outcomes

    def _account(self, done: list[Trial]) -> Iterator[str]:
        if self.strategy == "tpe" and self.wanted <= AT_RANDOM:
            yield f"tpe draws its first {AT_RANDOM} trials at random, and there were no more: trials = {self.wanted}"
        stopped = [trial.pruned_at for trial in done if trial.pruned_at is not None]
        if stopped:
            where = ", ".join(f"{stopped.count(rung)} after evaluation {rung}" for rung in sorted(set(stopped)))
            yield f"asha stopped {len(stopped)} of {len(done)} trials early: {where}"
        if len(done) < self.wanted and not self.exhausted:
            begun = f"{len(done)} of {self.wanted} trials were begun within the {self.study.settings.minutes:g} minutes"
            yield f"{begun}; the same command goes on"


def _label(trial: Trial) -> str:
    return trial.point.label if trial.point is not None else ""
