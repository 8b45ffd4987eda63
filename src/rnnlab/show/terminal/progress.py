"""How the runs are coming on: a live table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from rnnlab.core.numbers import duration, percent
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome

if TYPE_CHECKING:  # `rnnlab runs` need not wait for torch
    from rnnlab.training.spec import RunSpec


class RunState:
    """What is known of a run while it is under way."""

    def __init__(self, label: str, spec: "RunSpec"):
        self.label, self.spec = label, spec
        self.status = "waiting"
        self.epoch, self.share = 0, 0.0
        self.train_loss: float | None = None
        self.valid_accuracy: float | None = None
        self.score: float | None = None  # the last one, by the metric of its task
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
            self.valid_accuracy = max(self.valid_accuracy or 0.0, event["valid_accuracy"])
            self.score = event.get(f"valid_{self.spec.task.answer.chosen.name}")

    @property
    def rounds(self) -> int | None:
        """Evaluations to come in all, at most: one an epoch, or every so many updates where there are none."""
        from rnnlab.training.spec import EVAL_EVERY

        training = self.spec.training
        if training is None or not self.spec.task.streamed:
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


def status_of(outcome: Outcome) -> str:
    return type(outcome).__name__.lower()


class PlainLines:
    """One line an epoch would be too much for a log: one line a run, and a note every half minute."""

    def __init__(self, console: Console):
        self.console = console
        self.runs: list[RunState] = []
        self.done = 0
        self.last_note = time.monotonic()

    def begin(self, runs: Sequence[tuple[str, "RunSpec"]]) -> None:
        self.runs, self.done = [RunState(label, spec) for label, spec in runs], 0

    def event(self, number: int, event: dict[str, Any]) -> None:
        self.runs[number].take(event)
        if time.monotonic() - self.last_note > 30:
            self.last_note = time.monotonic()
            under_way = [f"{r.label} {r.spec.task.rounds} {r.epoch}" for r in self.runs if r.status == "running"]
            self._say(f"… {self.done} of {len(self.runs)} runs done; under way: {', '.join(under_way)}")

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        run = self.runs[number]
        run.status = status_of(outcome)
        self.done += run.status != "stopped"
        self._say(
            f"[{self.done}/{len(self.runs)}] {run.label} seed {run.spec.seed}: {describe(outcome)}"
            + (" (found, not computed again)" if again else "")
        )

    def end(self) -> None: ...

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def describe(outcome: Outcome) -> str:
    """One run's outcome in a few words."""
    if isinstance(outcome, Finished):
        result = outcome.result
        words = f"validation {percent(result['valid']['accuracy'])}"
        if result.get("best_epoch"):
            fresh = result.get("epoch_seconds") is None  # batches drawn afresh: no epochs
            words += f" at {'evaluation' if fresh else 'epoch'} {result['best_epoch']} of {result['epochs']}"
        if result.get("epoch_seconds"):
            words += f", {duration(result['epoch_seconds'])} per epoch"
        return words
    if isinstance(outcome, Diverged):
        where = outcome.result["divergence"]
        place = f" in {where['layer']}" if where["layer"] else ""
        at = f", time step {where['time_step']}" if where["time_step"] is not None else ""
        gate = f", {where['gate']} gate" if where.get("gate") else ""
        return f"diverged at step {where['step']}{place}{at}{gate}: {where['reason']}"
    if isinstance(outcome, Failed):
        return f"failed: {outcome.reason}"
    return "stopped; its checkpoint is kept"


class LiveTable:
    """A row an arm: runs done, epoch, loss, best validation accuracy, time left."""

    def __init__(self, console: Console, jobs: int):
        self.console, self.jobs = console, jobs
        self.runs: list[RunState] = []
        self.started = time.monotonic()
        self.live = Live(console=console, get_renderable=self._table, refresh_per_second=4, transient=True)

    def begin(self, runs: Sequence[tuple[str, "RunSpec"]]) -> None:
        self.runs = [RunState(label, spec) for label, spec in runs]
        self.live.start()

    def event(self, number: int, event: dict[str, Any]) -> None:
        self.runs[number].take(event)

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        run = self.runs[number]
        run.status = status_of(outcome)
        if isinstance(outcome, Finished):
            run.valid_accuracy = outcome.result["valid"]["accuracy"]
        if isinstance(outcome, Diverged | Failed):
            words = f"{run.label} seed {run.spec.seed}: {describe(outcome)}"
            self.live.console.print(words, markup=False, highlight=False)

    def end(self) -> None:
        self.live.stop()

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for name, justify in (
            ("model", "left"),
            ("runs", "right"),
            (self.runs[-1].spec.task.rounds if self.runs else "epoch", "right"),
            ("train loss", "right"),
            ("valid accuracy", "right"),
            ("time left", "right"),
        ):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]  # rich wants the literal type
        left_in_all: float | None = 0.0  # None while some arm has not shown its speed yet
        for label in dict.fromkeys(run.label for run in self.runs):
            arm = [run for run in self.runs if run.label == label]
            known = [run.epoch_seconds for run in arm if run.epoch_seconds]
            left = [run.seconds_left(known[-1] if known else None) for run in arm]
            trained = [seconds for run, seconds in zip(arm, left, strict=True) if run.spec.training is not None]
            if left_in_all is not None:
                left_in_all = None if None in trained else left_in_all + sum(seconds or 0.0 for seconds in trained)
            current = [run for run in arm if run.status == "running"]
            shown = current[-1] if current else None
            done = sum(run.status not in ("waiting", "running") for run in arm)
            best = [run.valid_accuracy for run in arm if run.valid_accuracy is not None]
            table.add_row(
                label,
                f"{done}/{len(arm)}",
                f"{shown.epoch}/{shown.rounds or '?'}" if shown and shown.spec.training else "",
                f"{shown.train_loss:.3f}" if shown and shown.train_loss is not None else "",
                percent(sum(best) / len(best)) if best else "",
                "" if None in left else ("done" if done == len(arm) else duration(sum(s or 0.0 for s in left))),
                style=None if shown or done == len(arm) else "dim",
            )
        spent = duration(time.monotonic() - self.started)
        to_go = "" if left_in_all is None else f", at most {duration(left_in_all / self.jobs)} to go"
        table.caption = f"{spent} so far{to_go}. Ctrl-C keeps what is done."
        table.caption_justify = "left"
        return table
