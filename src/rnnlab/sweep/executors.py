"""Where runs are computed. One law for all: same outcomes as `Serial`, to the bit.

`Processes` gives every run a process of its own, so that a crash or a kill costs that run alone. They come from a
fork server which has imported torch but never used it: a new process takes milliseconds, and no thread is copied.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

from rnnlab.errors import RnnlabError
from rnnlab.experiment import RunSpec
from rnnlab.models.base import ARCHITECTURES
from rnnlab.registry import load_plugin
from rnnlab.runs import Failed, Outcome, RunDirectory, Stopped
from rnnlab.tasks.base import TASKS

EventSink = Callable[[int, dict[str, Any]], None]
"""Called with the number of a run and an event of its: started, progress, epoch."""


class Executor(Protocol):
    def map(self, specs: Sequence[RunSpec], folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        """Do every run; yield (its number, its outcome) as each ends. After an interrupt the runs that were under
        way are `Stopped` with a checkpoint, those not begun are not yielded, and KeyboardInterrupt follows."""
        ...


class Serial:
    """One run after the other, in this process."""

    def map(self, specs: Sequence[RunSpec], folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        from rnnlab.training.run import execute

        with _interrupt_flag() as interrupted:
            for number, spec in enumerate(specs):
                sink(number, {"event": "started"})
                run = partial(execute, spec, folder, partial(sink, number), interrupted)
                yield number, _guard(run)
                if interrupted():
                    raise KeyboardInterrupt


@dataclass(frozen=True)
class Processes:
    """``jobs`` runs at a time, a process each."""

    jobs: int
    plugins: tuple[str, ...] = ()

    def map(self, specs: Sequence[RunSpec], folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        waiting = list(enumerate(specs))[::-1]
        running: dict[Connection, _Worker] = {}
        stopping = False
        try:
            with _interrupt_flag() as interrupted:
                while running or (waiting and not interrupted()):
                    while waiting and len(running) < self.jobs and not interrupted():
                        number, spec = waiting.pop()
                        worker = _Worker.start(number, spec, folder, self.plugins)
                        running[worker.events] = worker
                        sink(number, {"event": "started"})
                    if interrupted() and not stopping:
                        stopping = True
                        for worker in running.values():
                            worker.ask_to_stop()
                    yield from _collect(running, sink)
                if interrupted():
                    raise KeyboardInterrupt
        finally:
            for worker in running.values():
                worker.kill()


def _collect(running: dict[Connection, "_Worker"], sink: EventSink) -> Iterator[tuple[int, Outcome]]:
    """Wait a moment for events and pass them on; yield the outcome of every worker that ended."""
    for ready in wait(list(running), timeout=0.2):
        assert isinstance(ready, Connection)
        worker = running[ready]
        event = worker.receive()
        if event is None:
            del running[ready]
            yield worker.number, worker.outcome()
        else:
            sink(worker.number, event)


class _Worker:
    """A process with its run, seen from outside."""

    def __init__(self, number: int, process: Any, events: Connection, folder: Path):
        self.number, self.process, self.events, self.folder = number, process, events, folder
        self.last: dict[str, Any] = {}

    @classmethod
    def start(cls, number: int, spec: RunSpec, folder: Path, plugins: tuple[str, ...]) -> "_Worker":
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            context.set_forkserver_preload(["rnnlab.training.run", *ARCHITECTURES.modules, *TASKS.modules])
        receiver, sender = context.Pipe(duplex=False)
        arguments = (sender, json.dumps(spec.to_dict()), str(folder), plugins)
        process = context.Process(target=_work, args=arguments, daemon=True)
        with _main_module_hidden():
            process.start()
        sender.close()
        return cls(number, process, receiver, folder / spec.digest)

    def receive(self) -> dict[str, Any] | None:
        """The next event, or None when the worker has closed its end."""
        try:
            self.last = json.loads(self.events.recv_bytes())
        except (EOFError, OSError):
            return None
        return self.last if self.last["event"] != "outcome" else None

    def outcome(self) -> Outcome:
        self.process.join()
        self.events.close()
        if self.last.get("event") != "outcome":
            return Failed(_reason_of_death(self.process.exitcode))
        if self.last["outcome"] == "stopped":
            return Stopped()
        if self.last["outcome"] == "failed":
            return Failed(self.last["reason"])
        return RunDirectory(self.folder).outcome() or Failed("the worker ended without a result")

    def ask_to_stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def _reason_of_death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = "; perhaps the machine ran out of memory: try fewer --jobs" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {code}"


def _work(events: Connection, spec_json: str, folder: str, plugins: tuple[str, ...]) -> None:
    """The inside of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides, and says so by SIGTERM
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threading.Thread(target=_stop_with_parent, args=(stop,), daemon=True).start()

    def send(message: dict[str, Any]) -> None:
        try:
            events.send_bytes(json.dumps(message).encode())
        except OSError:  # the parent is gone
            stop.set()

    def run() -> Outcome:
        from rnnlab.training.run import execute

        for plugin in plugins:
            load_plugin(plugin)
        spec = RunSpec.from_dict(json.loads(spec_json))
        return execute(spec, Path(folder), send, stop.is_set)

    outcome = _guard(run)
    name = type(outcome).__name__.lower()
    send({"event": "outcome", "outcome": name, "reason": getattr(outcome, "reason", None)})


def _guard(run: Callable[[], Outcome]) -> Outcome:
    """An error ends one run, not the others."""
    try:
        return run()
    except RnnlabError as error:
        return Failed(str(error))
    except Exception as error:
        if os.environ.get("RNNLAB_DEBUG"):
            traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Failed(f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


def _stop_with_parent(stop: threading.Event) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        stop.set()


@contextlib.contextmanager
def _main_module_hidden() -> Iterator[None]:
    """A new process would import the user's script again, and without an ``if __name__`` guard run it again. The
    worker needs nothing from there, so multiprocessing isn't told that there is such a file."""
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name, None) for name in ("__file__", "__spec__")}
    main.__file__, main.__spec__ = None, None
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)


@contextlib.contextmanager
def _interrupt_flag() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C (or SIGTERM) sets a flag, which is read between two batches; the second one interrupts."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag.is_set
        return

    def note(number: int, frame: Any) -> None:
        if flag.is_set():
            raise KeyboardInterrupt
        flag.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
