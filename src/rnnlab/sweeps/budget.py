"""A comparison that spends at most so much time: `--budget 10m`.

The epochs of every arm are planned from a few timed updates and written into the specs of its runs, so that a run
depends on its spec alone, not on the clock; the plan is kept beside the runs, so that the same command finds them
again. If all that was asked for fits, it is done. If not, every arm gets a few seeds first, and equal time where its
limits don't end it sooner; seeds that are left go to the arms that aren't measurably behind. Every look at the scores
may spend its part of alpha only (`judging.looks`). A run that would not end in time isn't begun; one that takes longer
than planned is stopped and not counted.
"""

import contextlib
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rnnlab import kernels as native
from rnnlab.comparing.comparison import Comparison, summarise
from rnnlab.comparing.records import HeldOut, Record
from rnnlab.core.config import digest_of
from rnnlab.core.errors import ConfigError
from rnnlab.core.files import write_atomically
from rnnlab.core.words import ResultNote, note, note_list, plural, say
from rnnlab.data.encoded import EncodedData
from rnnlab.execute.executors import Executor
from rnnlab.judging.looks import not_behind, part_of_alpha, schedule
from rnnlab.runs.directory import Finished, Outcome, Stopped, pretty_json
from rnnlab.sweeps.execution import Display, baseline_specs, run_all
from rnnlab.sweeps.experiment import Experiment
from rnnlab.sweeps.forecast import SIDE_BY_SIDE, START, USUAL_ROUNDS, Pace, makespan, pace_of
from rnnlab.training.spec import RunSpec, Training

FIRST_SEEDS = 2  # of every arm, before any can be called behind
FIRST_SHARE = 0.7  # of the time, for those; the rest is for arms that can still win
ENOUGH_ROUNDS = USUAL_ROUNDS[1]  # where time is short, no arm is planned for more: few runs need as many
IN_RESERVE = 0.03  # of the time, for judging, and for runs that take a little longer


@dataclass(frozen=True)
class Plan:
    """``first`` seeds of every arm that has a limit of rounds (epochs, mostly) in ``rounds``; the others don't fit."""

    first: int
    rounds: dict[str, int]


def plan(paces: Mapping[str, Pace], seeds: int, seconds: float, jobs: int) -> Plan:
    """The largest limits with which the runs fit into ``seconds``, whatever ends them. All seeds at once where every
    arm has as many rounds as it usually takes; else a few seeds first. Arms of which not a round fits are left out,
    the slowest first."""
    left_in = dict(paces)
    while left_in:
        rounds = _fill(left_in, seeds, seconds, jobs)
        if rounds and all(rounds[label] >= min(pace.most, ENOUGH_ROUNDS) for label, pace in left_in.items()):
            return Plan(seeds, rounds)
        first = min(FIRST_SEEDS, seeds)
        enough = {label: replace(pace, most=min(pace.most, ENOUGH_ROUNDS)) for label, pace in left_in.items()}
        rounds = _fill(enough, first, seconds * (FIRST_SHARE if first < seeds else 1), jobs)
        if rounds:
            return Plan(first, rounds)
        del left_in[max(left_in, key=lambda label: left_in[label].seconds(1))]
    return Plan(min(FIRST_SEEDS, seeds), {})


def _fill(paces: Mapping[str, Pace], seeds: int, seconds: float, jobs: int) -> dict[str, int] | None:
    """Rounds of each arm if every run takes the same time, or ends at its own limit before; None if not even one round
    of each fits."""

    def rounds_in(share: float) -> dict[str, int]:
        return {label: max(1, min(pace.most, int((share - pace.fixed) / pace.round))) for label, pace in paces.items()}

    def fits(rounds: Mapping[str, int]) -> bool:
        runs = [SIDE_BY_SIDE * paces[label].seconds(count) for label, count in rounds.items()] * seeds
        return makespan(runs, jobs) <= seconds

    if not fits(rounds_in(0.0)):
        return None
    low, high = 0.0, seconds
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(rounds_in(middle)) else (low, middle)
    return rounds_in(low)


@dataclass(frozen=True)
class Spent:
    """What came of a budget."""

    comparison: Comparison
    records: list[Record]
    alpha: float  # the part that the last look could spend


@dataclass
class Budget:
    """Baselines first, then the arms, as far as ``budget`` seconds go. Building the kernels, once, doesn't count."""

    asked: Experiment
    data: EncodedData
    budget: float
    most_seeds: int
    out: Path
    executor: Executor
    jobs: int
    display: Display
    watch: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        native.prepare()
        self.began: float = self.clock()
        self.deadline: float = self.began + (1 - IN_RESERVE) * self.budget
        self.records: list[Record] = []
        self.begun: dict[str, float] = {}  # when runs that are under way were begun, by digest
        self.took: dict[str, list[float]] = {}  # seconds of runs that ended, by label

    def spend(self) -> Spent:
        self._run(baseline_specs(self.asked, self.data))
        # The baseline that is fitted in no time shows what it takes to begin and to end a run here.
        overhead = max(0.0, min((min(taken) for taken in self.took.values()), default=START) - START)
        first = replace(self.asked, seeds=self.asked.seeds[:1]).specs()
        timed = {label: pace_of(spec, self.data) for label, spec in first}
        paces = {label: replace(pace, fixed=pace.fixed + overhead) for label, pace in timed.items()}
        self.paces: dict[str, Pace] = paces
        made = self._kept_plan()
        self.rounds: dict[str, int] = made.rounds
        if not made.rounds:
            cheapest = min(pace.seconds(1) for pace in paces.values())
            needed = cheapest * min(FIRST_SEEDS, self.most_seeds) / self.jobs
            raise ConfigError(
                "--budget: {budget:.0f} s are too few for one epoch of any model (the fastest takes "
                "{needed:.0f} s, after the baselines); give more time, fewer rows or smaller models",
                budget=self.budget,
                needed=needed,
            )
        arms = {
            label: replace(arm, training=limited(arm.training, made.rounds[label], paces[label].updates))
            for label, arm in self.asked.arms.items()
            if label in made.rounds
        }
        self.experiment: Experiment = replace(self.asked, arms=arms)
        self.watch(self._intention(made))
        looks = schedule(made.first, self.most_seeds)
        labels = list(self.experiment.arms)
        have = 0
        for number, seeds in enumerate(looks):
            complete = True
            for enough in (1, seeds) if have == 0 else (seeds,):  # a first seed of all, before any has a second one
                complete &= self._run(self._further_runs(labels, have, enough))
                have = enough
            alpha = part_of_alpha(looks, number)
            found = summarise(
                self.experiment.task,
                HeldOut.of(self.data),
                self.records,
                self.data.profile,
                self.experiment.notes,
                spent=alpha,
                look=number,
            )
            labels = not_behind(found.verdict)
            if seeds == looks[-1] or found.verdict.firm or not complete or not labels:
                notes = (*found.notes, ResultNote(self._what_was_cut(found)))
                return Spent(replace(found, notes=notes), self.records, alpha)
            self.watch(
                say(
                    "budget: {seeds} seeds done; up to {looks} for {names}",
                    seeds=seeds,
                    looks=looks[number + 1],
                    names=", ".join(labels),
                )
            )
        raise AssertionError("the last look ends it")

    def _kept_plan(self) -> Plan:
        """As the same command made it before, so that it finds its runs again."""
        about = [[spec.digest for _, spec in self.asked.specs()], self.budget, self.most_seeds, self.jobs]
        path = self.out / "budgets" / f"{digest_of(about)}.json"
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            if set(kept["rounds"]) <= set(self.paces):
                return Plan(int(kept["first"]), {label: int(count) for label, count in kept["rounds"].items()})
        made = plan(self.paces, self.most_seeds, self.deadline - self.clock(), self.jobs)
        if made.rounds:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, pretty_json({"format": 1, "first": made.first, "rounds": made.rounds}))
        return made

    def _further_runs(self, labels: Sequence[str], have: int, wanted: int) -> list[tuple[str, RunSpec]]:
        """Seed by seed. Of first seeds that of the slowest arm first, so that none is left over at the end; of others
        that of the arm with the best validation score, so that the time ends where it matters least."""
        first_of_all = sorted(labels, key=self._validation if have else self._expected, reverse=True)
        more = self.experiment.with_more_seeds(first_of_all, have, wanted)
        new = tuple(seed for seed in more.seeds if self.asked.vary_split and seed not in self.asked.splits)
        return (baseline_specs(replace(more, seeds=new), self.data) if new else []) + more.specs()

    def _run(self, runs: Sequence[tuple[str, RunSpec]]) -> bool:
        """Whether all of them were done."""

        def may_begin(label: str, spec: RunSpec) -> bool:
            now = self.clock()
            tried = any(record.label == label for record in self.records)
            if spec.training is not None and now + (self._expected(label) if tried else 0) >= self.deadline:
                return False
            self.begun[spec.digest] = now
            return True

        models = any(spec.training is not None for _, spec in runs)

        def too_late() -> bool:
            return models and self.clock() >= self.deadline  # baselines are never stopped: all else rests on them

        found = run_all(runs, self.out, self.executor, _Timed(self, runs), may_begin, too_late)
        self.records += [record for record in found if not isinstance(record.outcome, Stopped)]
        return len(found) == len(runs) and not any(isinstance(record.outcome, Stopped) for record in found)

    def _expected(self, label: str) -> float:
        """Seconds of a run of this arm."""
        if self.took.get(label):
            return SIDE_BY_SIDE * statistics.median(self.took[label])
        return SIDE_BY_SIDE * self.paces[label].seconds(self.rounds[label]) if label in self.rounds else 0.0

    def _validation(self, label: str) -> float:
        by = self.experiment.task.answer.chosen
        runs = [record for record in self.records if record.label == label and record.finished]
        return statistics.fmean(by.sign * run.result["valid"][by.name] for run in runs) if runs else -math.inf

    def _intention(self, made: Plan) -> str:
        limits = ", ".join(f"{label} {count}" for label, count in made.rounds.items())
        seeds = plural("{count} seed per model", "{count} seeds per model", made.first)
        if made.first == self.most_seeds:
            return say("budget: {seeds}; epochs at most: {limits}", seeds=seeds, limits=limits)
        return say(
            "budget: {seeds}, then more for those that can still win; epochs at most: {limits}",
            seeds=seeds,
            limits=limits,
        )

    def _what_was_cut(self, found: Comparison) -> str:
        """In one sentence, for a person who wonders how far to trust the table."""
        cut = []
        absent = [label for label in self.asked.arms if label not in self.rounds]
        if absent:
            cut.append(note("{names} not begun (one epoch would not fit)", names=", ".join(absent)))
        had = {arm.label: len(arm.runs) for arm in found.arms}
        fewer = [label for label, count in had.items() if count < self.most_seeds]
        if fewer:
            cut.append(note("fewer seeds: {names}", names=", ".join(f"{label} {had[label]}" for label in fewer)))
        lost = [label for label in self.rounds if label not in had]
        if lost:
            cut.append(note("{names} took longer than planned and has no score", names=", ".join(lost)))
        at_limit = self._stopped_by_the_limit()
        if at_limit:
            named = ", ".join(f"{label} {count}" for label, count in at_limit.items())
            cut.append(note("the budget ended the epochs: {names}", names=named))
        used, budget = self.clock() - self.began, self.budget
        if not cut:
            return note(
                "budget: {used:.0f} of {budget:.0f} s used; all that was asked for fitted", used=used, budget=budget
            )
        return note(
            "budget: {used:.0f} of {budget:.0f} s used; cut to fit: {cut}",
            used=used,
            budget=budget,
            cut=note_list(cut),
        )

    def _stopped_by_the_limit(self) -> dict[str, int]:
        """Arms of which a run came to the planned limit, where that is tighter than the one asked for."""
        reached = {record.label for record in self.records if record.result.get("ended_by") in ("epochs", "steps")}
        tighter = {label: count for label, count in self.rounds.items() if count < self.paces[label].most}
        return {label: count for label, count in tighter.items() if label in reached}


def refuse_budget(experiment: Experiment) -> None:
    """Settings that say something else about time."""
    for label, arm in experiment.arms.items():
        if arm.training.minutes is not None:
            raise ConfigError(
                "--budget plans the epochs of every model, and '{label}' has training.minutes = "
                "{minutes:g} (--minutes, --match seconds); leave one of them out",
                label=label,
                minutes=arm.training.minutes,
            )


def limited(training: Training, rounds: int, updates: int) -> Training:
    """The same training with a tighter limit, where it is tighter."""
    if training.epochs is not None:
        return training if rounds >= training.epochs else training.replace(epochs=rounds)
    steps = rounds * updates
    return training if training.steps is not None and steps >= training.steps else training.replace(steps=steps)


class _Timed:
    """The display, and beside it a note of how long each run took from its beginning to its end."""

    def __init__(self, budget: Budget, runs: Sequence[tuple[str, RunSpec]]):
        self.budget, self.runs, self.display = budget, runs, budget.display

    def begin(self, runs: Sequence[tuple[str, RunSpec]]) -> None:
        self.display.begin(runs)

    def event(self, number: int, event: dict[str, Any]) -> None:
        self.display.event(number, event)

    def end(self) -> None:
        self.display.end()

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        self.display.outcome(number, outcome, again)
        label, spec = self.runs[number]
        if isinstance(outcome, Finished) and not again:
            taken = self.budget.clock() - self.budget.begun[spec.digest]
            self.budget.took.setdefault(label, []).append(taken)
