"""How the runs are coming on: a live table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from rnnlab.core.numbers import duration, percent_text, score_text
from rnnlab.core.words import COMMAS, Both, both, joined, listed, retold, same, say
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
        self.valid_score: float | None = None
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
            self.score = event.get(f"valid_{self.spec.task.answer.chosen.name}")
            judged = self.spec.task.answer.judged
            values = [value for value in (self.valid_score, event.get(f"valid_{judged.name}")) if value is not None]
            self.valid_score = max(values, key=lambda value: judged.sign * value, default=None)

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
            under_way = [
                both(
                    "{label} {round} {number}",
                    label=run.label,
                    round=round_name(run.spec.task.rounds),
                    number=run.epoch,
                )
                for run in self.runs
                if run.status == "running"
            ]
            self._say(
                say(
                    "… {done} of {runs} runs done; under way: {names}",
                    done=self.done,
                    runs=len(self.runs),
                    names=listed(under_way, "comma"),
                )
            )

    def outcome(self, number: int, outcome: Outcome, again: bool) -> None:
        run = self.runs[number]
        run.status = status_of(outcome)
        self.done += run.status != "stopped"
        told = trouble(run, outcome)
        if again:
            told = both("{told} (found, not computed again)", told=told)
        self._say(f"[{self.done}/{len(self.runs)}] {told}")

    def end(self) -> None: ...

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


ROUNDS = {"epoch": both("epoch"), "evaluation": both("evaluation")}


def round_name(name: str) -> Both:
    """What comes between two looks at the validation rows."""
    return ROUNDS.get(name, same(name))


def trouble(run: RunState, outcome: Outcome) -> Both:
    """``lstm seed 0: diverged at step 3 …``"""
    return both("{label} seed {seed}: {told}", label=run.label, seed=run.spec.seed, told=describe(outcome))


def describe(outcome: Outcome) -> Both:
    """One run's outcome in a few words."""
    if isinstance(outcome, Finished):
        return _finished(outcome.result)
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


def _finished(result: dict[str, Any]) -> Both:
    gaps = {
        "score": percent_text(result["valid"]["accuracy"]),
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
            run.valid_score = outcome.result["valid"].get(run.spec.task.answer.judged.name)
        if isinstance(outcome, Diverged | Failed):
            self.live.console.print(str(trouble(run, outcome)), markup=False, highlight=False)

    def end(self) -> None:
        self.live.stop()

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for name, justify in (
            (both("model"), "left"),
            (both("runs"), "right"),
            (round_name(self.runs[-1].spec.task.rounds if self.runs else "epoch"), "right"),
            (both("training loss"), "right"),
            (both("validation accuracy"), "right"),
            (both("time left"), "right"),
        ):
            table.add_column(str(name), justify=justify)  # type: ignore[arg-type]  # rich wants the literal type
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
            best = [run.valid_score for run in arm if run.valid_score is not None]
            table.add_row(
                label,
                f"{done}/{len(arm)}",
                f"{shown.epoch}/{shown.rounds or '?'}" if shown and shown.spec.training else "",
                f"{shown.train_loss:.3f}" if shown and shown.train_loss is not None else "",
                score_text(sum(best) / len(best), arm[0].spec.task.answer.judged.unit) if best else "",
                ""
                if None in left
                else str(both("done") if done == len(arm) else duration(sum(s or 0.0 for s in left))),
                style=None if shown or done == len(arm) else "dim",
            )
        spent = duration(time.monotonic() - self.started)
        if left_in_all is None:
            table.caption = say("{spent} so far. Ctrl-C keeps what is done.", spent=spent)
        else:
            table.caption = say(
                "{spent} so far, at most {left} to go. Ctrl-C keeps what is done.",
                spent=spent,
                left=duration(left_in_all / self.jobs),
            )
        table.caption_justify = "left"
        return table
