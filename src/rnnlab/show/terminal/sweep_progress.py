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
from rnnlab.runs.directory import Diverged, Failed, Outcome
from rnnlab.show.terminal.progress import RunState, describe, status_of

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

    def counts(self) -> str:
        """``48 of 175 runs done (12 found again, 3 diverged), 4 under way, 123 waiting``"""
        parts = [
            (self.found_again, "found again"),
            (self.count("diverged"), "diverged"),
            (self.count("failed"), "failed"),
        ]
        inside = ", ".join(f"{number} {name}" for number, name in parts if number)
        rest = [
            (len(self.running), "under way"),
            (self.count("waiting"), "waiting"),
            (self.count("stopped"), "stopped"),
        ]
        words = f"{self.done} of {len(self.runs)} runs done" + (f" ({inside})" if inside else "")
        return ", ".join([words, *(f"{number} {name}" for number, name in rest if number)])

    def pace(self) -> str:
        """``5.2 runs a minute, about 24 min 3 s left``; question marks until there is something to go by."""
        rate, left = self.rate(), self.seconds_left()
        if rate is None or left is None:
            return "? runs a minute, ? left"
        return f"{60 * rate:.3g} runs a minute, about {duration(left)} left"


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
            self._say(trouble(self.state.runs[number], outcome))
        self._summarise()

    def end(self) -> None:
        self._say(self.state.counts())

    def _summarise(self) -> None:
        if self.clock() - self.last_summary >= SUMMARY_SECONDS:
            self.last_summary = self.clock()
            self._say(f"{self.state.counts()}; {self.state.pace()}")

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
            self.live.console.print(trouble(self.state.runs[number], outcome), markup=False, highlight=False)

    def end(self) -> None:
        self.live.stop()
        self.live.console.print(self.state.counts(), markup=False, highlight=False)

    def _shown(self) -> Group:
        state = self.state
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("under way", overflow="fold")
        for name in ("seed", "evaluation", "train loss", "last score"):
            table.add_column(name, justify="right", no_wrap=True)
        for run in state.running[:MOST_UNDER_WAY]:
            loss = "" if run.train_loss is None else f"{run.train_loss:.3f}"
            table.add_row(Text(run.label), str(run.spec.seed), str(run.epoch or ""), loss, last_score(run))
        more = len(state.running) - MOST_UNDER_WAY
        return Group(
            Text(state.counts()),
            ProgressBar(total=max(1, len(state.runs)), completed=state.ended, width=60),
            Text(f"{state.pace()}. Ctrl-C keeps what is done."),
            *([table] if state.running else []),
            *([Text(f"and {more} more")] if more > 0 else []),
        )


def trouble(run: RunState, outcome: Outcome) -> str:
    return f"{run.label} seed {run.spec.seed}: {describe(outcome)}"


def last_score(run: RunState) -> str:
    """``exact 62.5 %``, ``loss 0.1234``"""
    if run.score is None:
        return ""
    metric = run.spec.task.answer.chosen.name
    return f"{metric} {run.score:.4g}" if metric == "loss" else f"{metric} {percent(run.score)}"
