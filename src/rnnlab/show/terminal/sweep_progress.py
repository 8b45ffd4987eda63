"""How a sweep is coming on, which may have hundreds of runs: a live display on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rnnlab.core.numbers import duration, percent
from rnnlab.core.words import CLAUSES, COMMAS, Both, both, joined, say
from rnnlab.runs.directory import Diverged, Failed, Outcome
from rnnlab.show.terminal.progress import RunState, status_of, trouble

if TYPE_CHECKING:  # a log need not wait for torch
    from rnnlab.training.spec import RunSpec

SUMMARY_SECONDS = 10  # at least, between two summaries in a log
MOST_UNDER_WAY = 8  # runs shown at once


class SweepState:
    """What is known of a sweep's runs, of which there may be hundreds, and more to come."""

    def __init__(self, jobs: int, clock: Callable[[], float] = time.monotonic):
        self.jobs, self.clock = jobs, clock
        self.runs: list[RunState] = []
        self.found_again = self.computed = 0
        self.started: float | None = None  # when the first run that isn't found again began

    def add(self, label: str, spec: "RunSpec") -> int:
        """One more run; its number."""
        self.runs.append(RunState(label, spec))
        return len(self.runs) - 1

    def event(self, number: int, event: dict[str, Any]) -> None:
        if self.started is None:
            self.started = self.clock()
        self.runs[number].take(event)

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        self.runs[number].status = status_of(outcome)
        self.found_again += again
        self.computed += not again

    def count(self, *statuses: str) -> int:
        return sum(run.status in statuses for run in self.runs)

    @property
    def done(self) -> int:
        return self.count("finished", "diverged", "failed")

    @property
    def ended(self) -> int:
        """Stopped ones too: a search gave them up."""
        return self.done + self.count("stopped")

    @property
    def running(self) -> list[RunState]:
        return [run for run in self.runs if run.status == "running"]

    def rate(self) -> float | None:
        """Runs a second, of those ended here. None until every worker can have finished one: the first few are no
        measure."""
        to_do = len(self.runs) - self.found_again
        if self.started is None or not self.computed or self.computed < min(self.jobs, to_do):
            return None
        spent = self.clock() - self.started
        return self.computed / spent if spent > 0 else None

    def seconds_left(self) -> float | None:
        rate = self.rate()
        return self.count("waiting", "running") / rate if rate else None

    def counts(self) -> Both:
        """``48 of 175 runs done (12 found again, 3 diverged), 4 under way, 123 waiting``"""
        inside = _some(
            (self.found_again, both("{count} found again", count=self.found_again)),
            (self.count("diverged"), both("{count} diverged", count=self.count("diverged"))),
            (self.count("failed"), both("{count} failed", count=self.count("failed"))),
        )
        done = both("{done} of {runs} runs done", done=self.done, runs=len(self.runs))
        if inside:
            done = both("{done} ({inside})", done=done, inside=joined(inside, COMMAS))
        rest = _some(
            (len(self.running), both("{count} under way", count=len(self.running))),
            (self.count("waiting"), both("{count} waiting", count=self.count("waiting"))),
            (self.count("stopped"), both("{count} stopped", count=self.count("stopped"))),
        )
        return joined([done, *rest], COMMAS)

    def pace(self) -> Both:
        """``5.2 runs per minute, about 24 min 3 s left``; question marks until there is something to go by."""
        rate, left = self.rate(), self.seconds_left()
        if rate is None or left is None:
            return both("? runs per minute, ? left")
        return both("{rate:.3g} runs per minute, about {left} left", rate=60 * rate, left=duration(left))


def _some(*counted: tuple[int, Both]) -> list[Both]:
    """Those of which there are any."""
    return [text for number, text in counted if number]


class SweepLines:
    """For a log: a summary at most every ten seconds, and a line for each run that diverged or failed."""

    def __init__(self, console: Console, jobs: int = 1, clock: Callable[[], float] = time.monotonic):
        self.console, self.jobs, self.clock = console, jobs, clock
        self.state = SweepState(jobs, clock)
        self.last_summary = clock()

    def begin(self, runs: Sequence[tuple[str, "RunSpec"]]) -> None:
        """A grid, or each search after it: numbers start again."""
        self.state = SweepState(self.jobs, self.clock)
        for label, spec in runs:
            self.add(label, spec)

    def add(self, label: str, spec: "RunSpec") -> int:
        return self.state.add(label, spec)

    def event(self, number: int, event: dict[str, Any]) -> None:
        self.state.event(number, event)
        self._summarise()

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        self.state.outcome(number, outcome, again)
        if isinstance(outcome, Diverged | Failed) and not again:
            self._say(str(trouble(self.state.runs[number], outcome)))
        self._summarise()

    def end(self) -> None:
        self._say(str(self.state.counts()))

    def _summarise(self) -> None:
        if self.clock() - self.last_summary >= SUMMARY_SECONDS:
            self.last_summary = self.clock()
            self._say(str(joined([self.state.counts(), self.state.pace()], CLAUSES)))

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


class SweepTable:
    """On a terminal: counts, a bar, rate and time left, and what is under way."""

    def __init__(self, console: Console, jobs: int = 1, clock: Callable[[], float] = time.monotonic):
        self.jobs, self.clock = jobs, clock
        self.state = SweepState(jobs, clock)
        self.live = Live(console=console, get_renderable=self._shown, refresh_per_second=4, transient=True)

    def begin(self, runs: Sequence[tuple[str, "RunSpec"]]) -> None:
        """A grid, or each search after it: numbers start again."""
        self.state = SweepState(self.jobs, self.clock)
        for label, spec in runs:
            self.add(label, spec)
        self.live.start()

    def add(self, label: str, spec: "RunSpec") -> int:
        return self.state.add(label, spec)

    def event(self, number: int, event: dict[str, Any]) -> None:
        self.state.event(number, event)

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        self.state.outcome(number, outcome, again)
        if isinstance(outcome, Diverged | Failed) and not again:
            self.live.console.print(str(trouble(self.state.runs[number], outcome)), markup=False, highlight=False)

    def end(self) -> None:
        self.live.stop()
        self.live.console.print(str(self.state.counts()), markup=False, highlight=False)

    def _shown(self) -> Group:
        state = self.state
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(say("under way"), overflow="fold")
        for name in (both("seed"), both("evaluation"), both("training loss"), both("last score")):
            table.add_column(str(name), justify="right", no_wrap=True)
        for run in state.running[:MOST_UNDER_WAY]:
            loss = "" if run.train_loss is None else f"{run.train_loss:.3f}"
            table.add_row(Text(run.label), str(run.spec.seed), str(run.epoch or ""), loss, last_score(run))
        more = len(state.running) - MOST_UNDER_WAY
        return Group(
            Text(str(state.counts())),
            ProgressBar(total=max(1, len(state.runs)), completed=state.ended, width=60),
            Text(say("{pace}. Ctrl-C keeps what is done.", pace=state.pace())),
            *([table] if state.running else []),
            *([Text(say("and {more} more", more=more))] if more > 0 else []),
        )


def last_score(run: RunState) -> str:
    """``exact 62.5 %``, ``loss 0.1234``"""
    if run.score is None:
        return ""
    metric = run.spec.task.answer.chosen.name
    return f"{metric} {run.score:.4g}" if metric == "loss" else f"{metric} {percent(run.score)}"
