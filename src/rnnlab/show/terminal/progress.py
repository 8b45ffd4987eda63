"""How the runs of a comparison or a sweep are coming on: a live table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rnnlab.core.numbers import duration, percent_text, score_text
from rnnlab.core.terms import metric_text
from rnnlab.core.words import CLAUSES, COMMAS, Both, both, joined, listed, retold, same, say
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome

if TYPE_CHECKING:  # `rnnlab runs` need not wait for torch
    from rnnlab.answers.score import Score
    from rnnlab.training.spec import RunSpec

MOST_ROWS = 16  # of the live table; of more settings, those are shown that are under way
SUMMARY_SECONDS = {"models": 30, "settings": 10}  # at least, between two summaries in a log


class RunState:
    """What is known of a run while it is under way."""

    label: str
    spec: "RunSpec"
    status: str
    epoch: int
    share: float

    def __init__(self, label: str, spec: "RunSpec"):
        self.label, self.spec = label, spec
        self.status = "waiting"
        self.epoch, self.share = 0, 0.0
        self.train_loss: float | None = None
        self.valid_score: float | None = None  # the best so far
        self.epoch_seconds: float | None = None

    def take(self, event: dict[str, Any]) -> None:
        self.status = "waiting" if event["event"] == "paused" else "running"  # a search lets runs wait for others
        if event["event"] == "progress":
            self.epoch, self.share = event["epoch"], event["share"]
            self.train_loss = event["train_loss"]
            if self.epoch_seconds is None and event["share"] > 0:
                self.epoch_seconds = event["epoch_seconds"] / event["share"]
        elif event["event"] == "epoch":
            self.epoch, self.share = event["epoch"], 1.0
            self.train_loss, self.epoch_seconds = event["train_loss"], event["seconds"]
            judged = self.spec.task.answer.judged
            values = [value for value in (self.valid_score, event.get(f"valid_{judged.name}")) if value is not None]
            self.valid_score = max(values, key=lambda value: judged.sign * value, default=None)

    @property
    def rounds(self) -> int | None:
        """Evaluations to come in all, at most: one an epoch, or every so many updates where there are none."""
        from rnnlab.training.spec import EVAL_EVERY

        training = self.spec.training
        if training is None or not self.spec.task.fresh_batches:
            return training and training.epochs
        return -(-training.steps // (training.eval_every or EVAL_EVERY)) if training.steps else None

    def seconds_left(self, epoch_seconds: float | None) -> float | None:
        """At most: early stopping may end it sooner."""
        if self.status not in ("waiting", "running"):
            return 0.0
        each, rounds = self.epoch_seconds or epoch_seconds, self.rounds
        if each is None or rounds is None:
            return None
        return each * max(0.0, rounds - max(0, self.epoch - 1) - self.share)


class Progress:
    """The runs of several models, or of a sweep's settings, of which there may be hundreds. Numbers start again with
    every `begin`: more seeds, or the search after a grid."""

    console: Console
    jobs: int
    settings: bool
    clock: Callable[[], float]
    since: float
    last_summary: float
    runs: list[RunState]
    found_again: int
    computed: int

    def __init__(
        self, console: Console, jobs: int = 1, settings: bool = False, clock: Callable[[], float] = time.monotonic
    ):
        self.console, self.jobs, self.settings, self.clock = console, jobs, settings, clock
        self.since = self.last_summary = clock()

    def begin(self, runs: Sequence[tuple[str, "RunSpec"]]) -> None:
        self.runs = [RunState(label, spec) for label, spec in runs]
        self.found_again = self.computed = 0
        self.first_event: float | None = None  # when the first run that isn't found again began

    def add(self, label: str, spec: "RunSpec") -> int:
        """One more run, which a search wants; its number."""
        self.runs.append(RunState(label, spec))
        return len(self.runs) - 1

    def event(self, number: int, event: dict[str, Any]) -> None:
        if self.first_event is None:
            self.first_event = self.clock()
        self.runs[number].take(event)

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        run = self.runs[number]
        run.status = type(outcome).__name__.lower()
        if isinstance(outcome, Finished):
            run.valid_score = outcome.result["valid"].get(run.spec.task.answer.judged.name)
        self.found_again += again
        self.computed += not again

    def end(self) -> None:
        if self.settings:
            self.say(self.counts())

    def say(self, line: Both | str) -> None:
        self.console.print(str(line), markup=False, highlight=False, soft_wrap=True)

    def count(self, *statuses: str) -> int:
        return sum(run.status in statuses for run in self.runs)

    @property
    def done(self) -> int:
        """Without those that were stopped: a search gave them up, or there was no time left."""
        return self.count("finished", "diverged", "failed")

    def counts(self) -> Both:
        """``48 of 175 runs done (12 found again, 3 diverged), 4 under way, 123 waiting``"""
        inside = {
            both("{count} found again"): self.found_again,
            both("{count} diverged"): self.count("diverged"),
            both("{count} failed"): self.count("failed"),
        }
        outside = {
            both("{count} under way"): self.count("running"),
            both("{count} waiting"): self.count("waiting"),
            both("{count} stopped"): self.count("stopped"),
        }
        some, rest = ([text.format(count=n) for text, n in all_of.items() if n] for all_of in (inside, outside))
        done = both("{done} of {runs} runs done", done=self.done, runs=len(self.runs))
        if some:
            done = both("{done} ({inside})", done=done, inside=joined(some, COMMAS))
        return joined([done, *rest], COMMAS)

    def rate(self) -> float | None:
        """Runs per second, of those ended here. None until every worker can have finished one: the first few are no
        measure."""
        to_do = len(self.runs) - self.found_again
        if self.first_event is None or not self.computed or self.computed < min(self.jobs, to_do):
            return None
        spent = self.clock() - self.first_event
        return self.computed / spent if spent > 0 else None

    def pace(self) -> Both:
        """``5.2 runs per minute, about 24 min 3 s left``; question marks until there is something to go by."""
        rate = self.rate()
        if rate is None:
            return both("? runs per minute, ? left")
        left = duration(self.count("waiting", "running") / rate)
        return both("{rate:.3g} runs per minute, about {left} left", rate=60 * rate, left=left)


class PlainLines(Progress):
    """For a log: of models a line per run, of settings one for each that diverged or failed; and a summary now and
    then, because a line per epoch would be too much."""

    def event(self, number: int, event: dict[str, Any]) -> None:
        super().event(number, event)
        self._summarise()

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        super().outcome(number, outcome, again)
        told = told_of(self.runs[number], outcome)
        if not self.settings:
            told = both("{told} (found, not computed again)", told=told) if again else told
            self.say(f"[{self.done}/{len(self.runs)}] {told}")
            return
        if isinstance(outcome, Diverged | Failed) and not again:
            self.say(told)
        self._summarise()

    def _summarise(self) -> None:
        now = self.clock()
        if now - self.last_summary < SUMMARY_SECONDS["settings" if self.settings else "models"]:
            return
        self.last_summary = now
        if self.settings:
            self.say(joined([self.counts(), self.pace()], CLAUSES))
            return
        under_way = [
            both("{label} {round} {number}", label=run.label, round=round_name(run.spec.task.rounds), number=run.epoch)
            for run in self.runs
            if run.status == "running"
        ]
        names = listed(under_way, "comma")
        self.say(
            both("… {done} of {runs} runs done; under way: {names}", done=self.done, runs=len(self.runs), names=names)
        )


class LiveTable(Progress):
    """On a terminal: counts, a bar, a row per model or setting, and the time left."""

    live: Live

    def begin(self, runs: Sequence[tuple[str, "RunSpec"]]) -> None:
        super().begin(runs)
        self.live = Live(console=self.console, get_renderable=self.shown, refresh_per_second=4, transient=True)
        self.live.start()

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        super().outcome(number, outcome, again)
        if isinstance(outcome, Diverged | Failed) and not (again and self.settings):
            self.say(told_of(self.runs[number], outcome))

    def end(self) -> None:
        self.live.stop()
        super().end()

    def shown(self) -> Group:
        arms: dict[str, list[RunState]] = {}
        for run in self.runs:
            arms.setdefault(run.label, []).append(run)
        rows = [arm for arm in arms.values() if len(arms) <= MOST_ROWS or any(r.status == "running" for r in arm)]
        more = len(rows) - MOST_ROWS
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(say("setting") if self.settings else say("model"), overflow="fold")
        scores = {run.spec.task.answer.judged.title for run in self.runs}
        for name in (
            both("runs"),
            round_name(self.runs[-1].spec.task.rounds if self.runs else "epoch"),
            both("training loss"),
            both("validation {metric}", metric=metric_text(scores.pop() if len(scores) == 1 else "score")),
            both("time left"),
        ):
            table.add_column(str(name), justify="right", no_wrap=True)
        for arm in rows[:MOST_ROWS]:
            _add_row(table, arm)
        bar = ProgressBar(max(1, len(self.runs)), self.done + self.count("stopped"), width=30)
        return Group(
            *([Columns([bar, str(self.counts())])] if len(self.runs) > 1 else []),
            *([table] if rows else []),
            *([Text(say("and {more} more", more=more))] if more > 0 else []),
            Text(say("{pace}. Ctrl-C keeps what is done.", pace=self.pace() if self.settings else self._at_most(arms))),
        )

    def _at_most(self, arms: dict[str, list[RunState]]) -> Both:
        """Models differ in speed, so how many runs are done is no measure: known once each of them has shown its own.
        Baselines take no time worth speaking of."""
        spent = duration(self.clock() - self.since)
        trained = [seconds for arm in arms.values() if arm[0].spec.training for seconds in seconds_left(arm)]
        if None in trained:
            return both("{spent} so far", spent=spent)
        left = duration(sum(seconds or 0.0 for seconds in trained) / self.jobs)
        return both("{spent} so far, at most {left} to go", spent=spent, left=left)


def _add_row(table: Table, arm: Sequence[RunState]) -> None:
    shown = next((run for run in reversed(arm) if run.status == "running"), None)
    done = sum(run.status not in ("waiting", "running") for run in arm)
    best = [run.valid_score for run in arm if run.valid_score is not None]
    left = seconds_left(arm)
    if done == len(arm):
        told = say("done")
    else:
        told = "" if None in left else str(duration(sum(seconds or 0.0 for seconds in left)))
    table.add_row(
        Text(arm[0].label),
        f"{done}/{len(arm)}",
        f"{shown.epoch}/{shown.rounds or '?'}" if shown and shown.spec.training else "",
        f"{shown.train_loss:.3f}" if shown and shown.train_loss is not None else "",
        score_text(sum(best) / len(best), arm[0].spec.task.answer.judged.unit) if best else "",
        told,
        style=None if shown or done == len(arm) else "dim",
    )


def seconds_left(arm: Sequence[RunState]) -> list[float | None]:
    """Of each run of an arm; one that hasn't begun takes as long as another."""
    known = [run.epoch_seconds for run in arm if run.epoch_seconds]
    return [run.seconds_left(known[-1] if known else None) for run in arm]


ROUNDS = {"epoch": both("epoch"), "evaluation": both("evaluation")}


def round_name(name: str) -> Both:
    """What comes between two looks at the validation rows."""
    return ROUNDS.get(name, same(name))


def told_of(run: RunState, outcome: Outcome) -> Both:
    """``lstm seed 0: diverged at step 3 …``"""
    told = describe(outcome, run.spec.task.answer.judged)
    return both("{label} seed {seed}: {told}", label=run.label, seed=run.spec.seed, told=told)


def describe(outcome: Outcome, judged: "Score") -> Both:
    """One run's outcome in a few words."""
    if isinstance(outcome, Finished):
        return _finished(outcome.result, judged)
    if isinstance(outcome, Diverged):
        where = outcome.result["divergence"]
        parts = [both("diverged at step {step}", step=where["step"])]
        if where["layer"]:
            parts = [both("diverged at step {step} in {layer}", step=where["step"], layer=where["layer"])]
        if where["time_step"] is not None:
            parts.append(both("time step {step}", step=where["time_step"]))
        if where.get("gate"):
            parts.append(both("{gate} gate", gate=where["gate"]))
        return both("{where}: {reason}", where=joined(parts, COMMAS), reason=retold(where["reason"]))
    if isinstance(outcome, Failed):
        return both("failed: {reason}", reason=retold(outcome.reason))
    return both("stopped; its checkpoint is kept")


def _finished(result: dict[str, Any], judged: "Score") -> Both:
    gaps = {
        "score": _score(result["valid"][judged.name], judged),
        "number": result.get("best_epoch"),
        "of": result.get("epochs"),
    }
    if not result.get("best_epoch"):
        told = both("validation {score}", score=gaps["score"])
    elif result.get("epoch_seconds") is None:  # batches drawn afresh: no epochs
        told = both("validation {score} at evaluation {number} of {of}", **gaps)
    else:
        told = both("validation {score} at epoch {number} of {of}", **gaps)
    if not result.get("epoch_seconds"):
        return told
    return both("{told}, {time} per epoch", told=told, time=duration(result["epoch_seconds"]))


def _score(value: float, judged: "Score") -> Both:
    """With its name, unless it is the usual one."""
    shown = percent_text(value) if judged.unit == "percent" else same(score_text(value, judged.unit))
    if judged.name == "accuracy":
        return shown
    return both("{metric} {score}", metric=metric_text(judged.title), score=shown)
