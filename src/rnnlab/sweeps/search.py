"""Strategies that draw settings instead of trying all: ``random``, ``tpe`` and ``asha``.

What is drawn and what is stopped depends on the file alone: see `sweeps.contest`.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlab.core.errors import ConfigError, english
from rnnlab.core.words import both, joined, note, retold
from rnnlab.execute.executors import Executor
from rnnlab.runs.directory import Outcome
from rnnlab.sweeps.axes import label_of
from rnnlab.sweeps.contest import Contest, Rungs, Trial, compute
from rnnlab.sweeps.draws import Setting, changes_of, draw, propose, require_optuna, values_of
from rnnlab.sweeps.execution import Display, Silent
from rnnlab.sweeps.plan import Opened
from rnnlab.sweeps.sweep_plan import PlannedPoint, PlannedStudy, plan_point

AT_RANDOM = 8  # trials with which tpe begins: it needs something to go by
LAG = 4  # tpe draws trial n when trials up to n - LAG are done, and goes by these alone
PROPOSALS = 10  # of tpe, until one is new; then the trial is drawn at random
ATTEMPTS = 1000  # at a setting that is new; then there are no more


class StudySearch(Contest):
    """Draws `study.settings.trials` settings and runs each with its repeats."""

    study: PlannedStudy
    opened: Opened
    exhausted: bool

    def __init__(self, study: PlannedStudy, out: Path, display: Display):
        self.study, self.opened = study, Opened()
        self.strategy = study.settings.strategy
        self.seen: set[Setting | str] = set()  # settings, and digests of runs
        self.exhausted = False
        self.notes: list[str] = []
        minutes = study.settings.minutes
        self.deadline: float = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self.add: Any | None = getattr(display, "add", None)
        grows = self.strategy == "tpe"  # what it runs isn't known when it begins
        shown = Silent() if grows and self.add is None else display
        rungs = Rungs() if self.strategy == "asha" else None
        super().__init__(study.settings.trials or 0, rungs, out, shown)

    def run(self, executor: Executor) -> tuple[PlannedStudy, dict[str, Outcome]]:
        """The study with the points that were drawn, and the outcome of every run by its digest."""
        if self.strategy == "tpe":
            require_optuna()
            self.display.begin([])
        else:
            while len(self.trials) < self.wanted and self._draw():
                pass
            self.display.begin(
                [(trial.point.label, run.spec) for trial in self.trials if trial.point for run in trial.runs]
            )
            for trial in self.trials:
                self.show_found(trial)
        compute([self], self.out, executor, self.display)
        return self._found()

    def may_begin(self, trial: Trial) -> bool:
        return trial.begun or not self._too_late()

    def more(self) -> bool:
        return self.strategy == "tpe" and self._may_propose() and self._draw()

    def _too_late(self) -> bool:
        return time.monotonic() >= self.deadline

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
                trial = self.enter(setting, point)
                if self.strategy == "tpe" and self.add is not None:
                    for run in trial.runs:
                        self.add(point.label, run.spec)
                    self.show_found(trial)
                return True
        self.exhausted = True
        self.notes.append(
            note(
                "the axes have no more than {number} settings that differ: trials = {wanted}",
                number=number,
                wanted=self.wanted,
            )
        )
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
            specs, notes = None, (" ".join(line.strip() for line in english(error).splitlines()),)
        self.notes += [note("{label}: {text}", label=label, text=said) for said in notes]
        return None if specs is None else PlannedPoint(at, label, tuple(specs))

    # The result

    def _found(self) -> tuple[PlannedStudy, dict[str, Outcome]]:
        done = [trial for trial in self.trials if trial.settled]
        points = tuple(trial.point for trial in done if trial.point is not None)
        if done and not points:
            first = both("{study}: no trial could be run", study=self.study.name)
            raise ConfigError(joined([first, *map(retold, dict.fromkeys(self.notes))], "\n"))
        notes = [*self.study.notes, *dict.fromkeys(self.notes), *self._account(done)]
        outcomes = {run.spec.digest: trial.outcome_of(run) for trial in done for run in trial.runs}
        return replace(self.study, points=points, notes=tuple(notes)), outcomes

    def _account(self, done: list[Trial]) -> Iterator[str]:
        if self.strategy == "tpe" and self.wanted <= AT_RANDOM:
            yield note(
                "tpe draws its first {AT_RANDOM} trials at random, and there were no more: trials = {wanted}",
                AT_RANDOM=AT_RANDOM,
                wanted=self.wanted,
            )
        stopped = [trial.pruned_at for trial in done if trial.pruned_at is not None]
        if stopped:
            where = ", ".join(f"{stopped.count(rung)} after evaluation {rung}" for rung in sorted(set(stopped)))
            yield note(
                "asha stopped {count} of {count_2} trials early: {where}",
                count=len(stopped),
                count_2=len(done),
                where=where,
            )
        if len(done) < self.wanted and not self.exhausted:
            yield note(
                "{count} of {wanted} trials were begun within the {minutes:g} minutes; the same command goes on",
                count=len(done),
                wanted=self.wanted,
                minutes=self.study.settings.minutes,
            )
