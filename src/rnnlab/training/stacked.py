"""Repeats as one: runs that differ in nothing but the seed, trained side by side.

A small run leaves most of a machine idle: one thread, and more time between the operations than in them. A stack does
whole training steps of all its runs in native code, as many at a time as there are cores, while the next batches are
made. Each run keeps its own random streams, batches, optimiser and directory, and its numbers are those of
`training.run.execute` to rounding (docs/decisions/0016). Without the native library the runs take turns on torch.
"""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError, RnnlabError
from rnnlab.core.files import write_atomically
from rnnlab.core.seeding import stream_seed
from rnnlab.data.batches import Batch, evaluation_batches
from rnnlab.data.encoded import EncodedData
from rnnlab.data.interface import Interface
from rnnlab.data.sequences import Sequences
from rnnlab.kernels import library
from rnnlab.kernels import whole_steps as native
from rnnlab.models.network import Network, parameter_counts
from rnnlab.models.recurrent import Recurrent
from rnnlab.runs.directory import CHECKPOINT, Failed, Finished, Outcome, RunDirectory, Stopped
from rnnlab.tasks.tally import Tally
from rnnlab.training.assemble import assemble, resolve_device
from rnnlab.training.checkpoint import Progress
from rnnlab.training.evaluate import evaluate
from rnnlab.training.loop import (
    REPORT_SECONDS,
    close_epoch,
    contiguous,
    count_evaluation,
    count_update,
    environment,
    peak_memory_mb,
    sign_of_life,
)
from rnnlab.training.members import answering_steps, unsuited_model, unsuited_task
from rnnlab.training.monitor import probe, probe_batch
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import all_scores, execute, own_process_state, speed_of, write_predictions
from rnnlab.training.schedule import begin_fall_if_due, learning_rate, reason_to_end
from rnnlab.training.source import AHEAD, Source
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Update, Updater, advance_side_by_side

CPU = torch.device("cpu")
_WORKER = ThreadPoolExecutor(1, "stack")  # always the same thread: native code keeps buffers for each that calls it

Report = Callable[[int, dict[str, Any]], bool | None]
"""Called with the number of a run and an event of its. Returning True asks for that run to be stopped."""


def can_stack(spec: RunSpec) -> str | None:
    """Why a run can't be one of a stack; None if it can."""
    model, training = spec.model, spec.training
    if training is None or not isinstance(model, Recurrent):
        return f"'{model.kind}' is no recurrent network"
    if training.minutes is not None:
        return "training.minutes ends it by the clock, which runs in a stack share"
    if training.threads != 1:
        return f"training.threads = {training.threads} asks for threads of its own"
    if resolve_device(training.device) != "cpu":
        return f"it is trained on '{resolve_device(training.device)}'"
    if model.lookup:
        return "model.lookup answers some rows from a table"
    if getattr(spec.task, "extra_words", None) is not None:
        return "task.extra_words has rows read that training knows nothing of"
    return unsuited_model(model) or unsuited_task(spec.task)


def family(spec: RunSpec) -> str:
    """Equal for runs that differ in nothing but the seed."""
    return RunSpec(spec.task, spec.model, spec.training, 0).digest


def execute_stacked(
    specs: Sequence[RunSpec],
    folder: Path,
    report: Report,
    should_stop: Callable[[], bool],
    threads: int = 1,
) -> list[Outcome]:
    """Do runs that differ in nothing but the seed, each once; the outcome of each. A run that was done before is found
    again, one that was interrupted by itself goes on by itself. One that diverges in the stack is done again, alone,
    so that its verdict is the one that it has alone. A stack that is stopped keeps what is finished; the others start
    again."""
    if len(set(map(family, specs))) != 1 or len({spec.seed for spec in specs}) < len(specs):
        raise ConfigError("runs can be stacked if they differ in the seed, and in nothing else")
    if reason := can_stack(specs[0]):
        raise ConfigError(f"this run can't be stacked: {reason}")
    outcomes: dict[int, Outcome] = {}
    with contextlib.ExitStack() as locks:
        stack: list[_Run] = []
        alone: list[int] = []
        for number, spec in enumerate(specs):
            directory = RunDirectory(folder / spec.digest)
            known = directory.outcome()
            if known is not None:
                outcomes[number] = known
                continue
            directory.create(spec.to_dict())
            if (directory / CHECKPOINT).exists():
                alone.append(number)
                continue
            try:
                locks.enter_context(directory.lock())
            except RnnlabError as error:
                outcomes[number] = Failed(str(error))
                continue
            known = directory.outcome()  # another process may have finished it before the lock was ours
            if known is not None:
                outcomes[number] = known
                continue
            stack.append(_Run(number, spec, directory))
        if stack:
            library()  # compiled now, if it isn't there and can be
            with own_process_state(threads):
                found = _Stack(stack, stack[0].spec.task.load(), report, should_stop, threads).run()
            outcomes |= {number: outcome for number, outcome in found.items() if outcome is not None}
            alone += [number for number, outcome in found.items() if outcome is None]
    for number in sorted(alone):
        try:
            outcomes[number] = _execute_alone(number, specs[number], folder, report, should_stop)
        except RnnlabError as error:  # ends this run, not the others
            outcomes[number] = Failed(str(error))
    return [outcomes[number] for number in range(len(specs))]


def _execute_alone(
    number: int, spec: RunSpec, folder: Path, report: Report, should_stop: Callable[[], bool]
) -> Outcome:
    unwanted = False

    def tell(event: dict[str, Any]) -> None:
        nonlocal unwanted
        unwanted = bool(report(number, event)) or unwanted

    return execute(spec, folder, tell, lambda: unwanted or should_stop())


@dataclass
class _Run:
    """One of the stack."""

    number: int
    spec: RunSpec
    directory: RunDirectory
    progress: Progress = field(default_factory=Progress)
    best: dict[str, Tensor] = field(default_factory=dict)
    unwanted: bool = False
    ended_by: str | None = None

    def begin(self, data: EncodedData) -> None:
        """As `training.loop.train` does."""
        assert self.spec.training is not None
        torch.manual_seed(stream_seed(self.spec.seed, "init"))
        self.network = assemble(self.spec, Interface.of(data))
        self.optimizer = Optimizer(self.network, self.spec.training)
        self.directory.keep_events(0)
        self.source = Source(self.spec, data)
        self.network.train()
        self.random = torch.Generator().manual_seed(stream_seed(self.spec.seed, "dropout"))
        self.updater = Updater(self.spec, self.network, self.optimizer, threads=1, random=self.random)

    def advance_by_torch(self, batches: Sequence[Batch], rates: Sequence[float]) -> list[Update]:
        """Torch drops by its own generator, which the runs of a stack share: each has its state there in turn."""
        torch.set_rng_state(self.random.get_state())
        updates = list(self.updater.advance(batches, rates))
        self.random.set_state(torch.get_rng_state())
        return updates


class _Stack:
    """Runs at the same step."""

    def __init__(
        self,
        runs: list[_Run],
        data: EncodedData,
        report: Report,
        should_stop: Callable[[], bool],
        threads: int,
    ):
        self.runs, self.data, self.report, self.should_stop, self.threads = runs, data, report, should_stop, threads
        self.size = len(runs)
        self.task = runs[0].spec.task
        self.chance = self.task.chance(data.valid)
        training = runs[0].spec.training
        assert training is not None
        self.training: Training = training
        self.outcomes: dict[int, Outcome | None] = {}  # None: to be done alone
        self.last_report = time.monotonic()

    def run(self) -> dict[int, Outcome | None]:
        for run in self.runs:
            run.begin(self.data)
        self.native = self.runs[0].updater.member is not None
        self._train()
        return self.outcomes

    def _train(self) -> None:
        step, updates = 0, self.runs[0].source.updates
        started = time.perf_counter()
        coming = self._batches(0, updates)
        while self.runs:
            if self.should_stop():
                for run in self.runs:
                    self._leave(run, Stopped())
                return
            batches, count = coming, len(coming[self.runs[0].number])
            if self.native:
                job = _WORKER.submit(self._advance, step, batches)
                try:
                    coming = self._batches(step + count, updates)
                finally:
                    wait([job])  # it works on our tensors
                self._account(job.result(), batches)
            else:
                self._account(self._advance(step, batches), batches)
                coming = self._batches(step + count, updates)
            step += count
            self._count_time(started)
            started = time.perf_counter()
            if self.runs and (step % updates == 0 or step == self.training.steps):
                self._evaluate()
                started = time.perf_counter()
            self._report_progress(updates)
            for run in [run for run in self.runs if run.unwanted]:
                self._leave(run, Stopped())

    def _batches(self, step: int, updates: int) -> dict[int, list[Batch]]:
        """The next batches of every run, as many as a source makes at a time, up to the next evaluation at most."""
        ends = [(step // updates + 1) * updates, step + AHEAD]
        if self.training.steps is not None:
            ends.append(self.training.steps)
        if self.training.epochs is not None:
            ends.append(self.training.epochs * updates)
        count = min(ends) - step
        return {run.number: [run.source.batch(step + ahead) for ahead in range(count)] for run in self.runs}

    def _advance(self, step: int, batches: dict[int, list[Batch]]) -> dict[int, list[Update]]:
        """Train all runs on their batches; of each, what was found, up to the first update that went wrong."""
        source, count = self.runs[0].source, len(batches[self.runs[0].number])
        rates = [
            [
                learning_rate(self.training, number, source.time(number), source.updates, run.progress)
                for number in range(step, step + count)
            ]
            for run in self.runs
        ]
        own = [batches[run.number] for run in self.runs]
        if not self.native:
            given = zip(self.runs, own, rates, strict=True)
            return {run.number: run.advance_by_torch(batches, at) for run, batches, at in given}
        found = advance_side_by_side([run.updater for run in self.runs], own, rates, self.threads)
        return {run.number: updates for run, updates in zip(self.runs, found, strict=True)}

    def _account(self, found: dict[int, list[Update]], batches: dict[int, list[Batch]]) -> None:
        for run in list(self.runs):
            updates = found[run.number]
            if not updates[-1].well:
                self._leave(run, None)
                continue
            for batch, update in zip(batches[run.number], updates, strict=True):
                count_update(run.progress, batch, update)

    def _count_time(self, started: float) -> None:
        """A run's time is its share of the stack's."""
        for run in self.runs:
            share = (time.perf_counter() - started) / len(self.runs)
            run.progress.seconds += share
            run.progress.epoch_seconds += share

    def _evaluate(self) -> None:
        """Close an epoch: score all runs on the validation rows; those that are finished leave."""
        for run, (tally, _) in zip(list(self.runs), self._answers(self.data.valid), strict=True):
            scores = tally.score()
            if not math.isfinite(scores["loss"]):
                self._leave(run, None)
                continue
            improved = count_evaluation(run.progress, scores, self.task)
            if improved:
                run.best = {name: value.detach().clone() for name, value in run.network.state_dict().items()}
            event = close_epoch(run.progress, scores, improved)
            if begin_fall_if_due(run.progress, self.training, self.task, run.source.updates, self.chance):
                run.network.load_state_dict(run.best)
            if self.training.monitor.gradients:
                event["gradients"] = probe(run.network, probe_batch(self.data.valid))
            run.directory.append_event(event)
            self._tell(run, event)
        for run in self.runs:
            run.ended_by = reason_to_end(run.progress, self.training, self.task, self.chance)
        finished = [run for run in self.runs if run.ended_by is not None]
        if finished:
            self._finish(finished)

    def _finish(self, finished: list[_Run]) -> None:
        others = [run for run in self.runs if run not in finished]
        self.runs = finished
        for run in finished:
            run.network.load_state_dict(run.best)
        valid = self._answers(self.data.valid)
        started = time.perf_counter()
        test = self._answers(self.data.test)
        row_seconds = (time.perf_counter() - started) / len(self.data.test) / len(finished)
        for run, on_valid, on_test in zip(finished, valid, test, strict=True):
            self.outcomes[run.number] = Finished(self._seal(run, on_valid, on_test, row_seconds))
        self.runs = others

    def _seal(
        self, run: _Run, valid: tuple[Tally, np.ndarray], test: tuple[Tally, np.ndarray], row_seconds: float
    ) -> dict[str, Any]:
        """The run directory as `training.run.execute` leaves it."""
        tokens = None if self.task.streamed else int(self.data.train.lengths.sum())
        write_atomically(run.directory / "model.json", Interface.of(self.data).to_json())
        weights = safetensors.torch.save(contiguous(run.network.state_dict()))
        write_atomically(run.directory / "weights.safetensors", weights)
        write_predictions(run.directory, self.task, self.data, valid[1], test[1])
        return run.directory.seal(
            {
                "status": "finished",
                "parameters": parameter_counts(run.network),
                "epochs": run.progress.epoch,
                "best_epoch": run.progress.best_epoch,
                "ended_by": run.ended_by,
                **speed_of(run.progress.history, tokens),
                "peak_memory_mb": peak_memory_mb(),
                "environment": environment(self.threads),
                "stacked": self.size,
                "row_seconds": row_seconds,
                "valid": valid[0].score(),
                "test": all_scores(test[0]),
            }
        )

    def _answers(self, data: Sequences) -> list[tuple[Tally, np.ndarray]]:
        """Of each run, as `evaluate` has them."""
        if not self.native:
            return [evaluate(run.network, self.task, data, CPU) for run in self.runs]
        batches = [batch for _, batch in evaluation_batches(data)]
        prepared = [answering_steps(run.network, batches) for run in self.runs]
        members = [run.updater.member for run in self.runs if run.updater.member is not None]
        work = [steps for steps, _ in prepared]
        native.do_steps(members, work, self.runs[0].optimizer.weights.dtype, self.threads)
        found = [  # one that native code couldn't answer is asked by torch, which says what is wrong
            run.network if member.stopped else cast(Network, _Answered(answers))
            for run, member, (_, answers) in zip(self.runs, members, prepared, strict=True)
        ]
        return [evaluate(network, self.task, data, CPU) for network in found]

    def _report_progress(self, updates: int) -> None:
        if time.monotonic() - self.last_report > REPORT_SECONDS:
            self.last_report = time.monotonic()
            for run in self.runs:
                if run.progress.rows:
                    self._tell(run, sign_of_life(run.progress, updates, time.perf_counter()))

    def _tell(self, run: _Run, event: dict[str, Any]) -> None:
        run.unwanted = bool(self.report(run.number, event)) or run.unwanted

    def _leave(self, run: _Run, outcome: Outcome | None) -> None:
        self.runs = [other for other in self.runs if other is not run]
        self.outcomes[run.number] = outcome


class _Answered(nn.Module):
    """Stands for a network whose answers to the batches of an evaluation are there already, in their order."""

    def __init__(self, answers: list[Tensor]):
        super().__init__()
        self.answers = iter(answers)

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        return next(self.answers)
