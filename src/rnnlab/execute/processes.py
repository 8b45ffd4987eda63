"""A process for every run, so that a crash, a kill or a limit costs that run alone.

They come from a fork server which has imported torch but never used it: a new process takes milliseconds, and no thread
is copied. `Processes` supervises them on this machine, a cluster's worker (`cluster`) by the same code. No torch
here: the supervisor doesn't need it.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import spawn
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlab import kernels as native
from rnnlab.core.errors import RnnlabError, english
from rnnlab.core.system import start_method
from rnnlab.core.words import note
from rnnlab.execute.executors import EventSink, Limits, failure, interrupt_flag
from rnnlab.runs.directory import Failed, Outcome, RunDirectory, Stopped

if TYPE_CHECKING:
    from rnnlab.training.spec import RunSpec

GRACE = 20.0  # seconds that a run has to stop, once it is asked to; then its process is ended
POLL = 0.2  # seconds between two looks at what a run takes
_NAME = "rnnlab run"  # of a process


@dataclass(frozen=True)
class Order:
    """A run as a process gets it: text, so that nothing is pickled, and plugins are needed in the process alone."""

    digest: str
    spec: str  # JSON


def order_of(spec: "RunSpec") -> Order | Failed:
    """A spec that can't be written down is one failed run."""
    try:
        return Order(spec.digest, json.dumps(spec.to_dict()))
    except Exception as error:
        return failure(error)


@dataclass(frozen=True)
class Processes:
    """``jobs`` runs at a time, a process each."""

    jobs: int
    plugins: tuple[str, ...] = ()
    limits: Limits = field(default=Limits())

    def map(self, specs: "Iterable[RunSpec]", folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        with interrupt_flag() as interrupted:
            orders = map(order_of, specs)
            yield from supervise(orders, self.jobs, folder, self.plugins, self.limits, sink, interrupted)
            if interrupted():
                raise KeyboardInterrupt


def supervise(
    orders: Iterable[Order | Failed],
    jobs: int,
    folder: Path,
    plugins: tuple[str, ...],
    limits: Limits,
    sink: EventSink,
    stopping: Callable[[], bool],
) -> Iterator[tuple[int, Outcome]]:
    """Do runs, ``jobs`` at a time, to the end, or until ``stopping`` says so: then those under way are `Stopped`."""
    if limits.memory_mb is not None and _memory_mb(os.getpid()) is None:
        raise RnnlabError(
            "the memory limit can't be held here: this system doesn't say (in /proc) what a process holds"
        )
    todo = enumerate(orders)
    running: list[_Run] = []
    prepared = False
    try:
        while True:
            while len(running) < jobs and not stopping() and (entry := next(todo, None)):
                number, order = entry
                if isinstance(order, Failed):
                    yield number, order
                    continue
                if not prepared:  # where every run is finished, nobody waits for a compiler
                    native.prepare()
                    prepared = True
                try:
                    run = _Run(number, order, folder, plugins, limits)
                except OSError as error:  # no more processes, or no more files
                    yield number, failure(error)
                    continue
                running.append(run)
                if sink(number, {"event": "started"}):
                    run.ask_to_stop()
            if not running:
                return
            if stopping():
                for run in running:
                    run.ask_to_stop()
            yield from _collect(running, sink)
    finally:
        for run in running:
            run.kill()


def _collect(running: list["_Run"], sink: EventSink) -> Iterator[tuple[int, Outcome]]:
    """Wait a moment for events and pass them on; yield the outcome of every run that ended."""
    ready = wait([run.events for run in running], timeout=POLL)
    for run in list(running):
        run.watch()
        if run.events not in ready:
            continue
        event = run.receive()
        if event is None:
            outcome = run.outcome()
            if outcome is not None:
                running.remove(run)
                yield run.number, outcome
                continue
            event = {"event": "retry", "reason": run.reason_of_death()}
            run.start()
        elif event["event"] == "begun":
            run.begun = run.begun or time.monotonic()
            continue
        if sink(run.number, event):
            run.ask_to_stop()


class _Run:
    """A run and the process that computes it, seen from outside."""

    events: Connection
    process: Any

    def __init__(self, number: int, order: Order, folder: Path, plugins: tuple[str, ...], limits: Limits):
        self.number, self.order, self.folder, self.limits = number, order, folder, limits
        self.for_child = (order.spec, str(folder), plugins)
        self.begun: float | None = None
        self.deaths = 0
        self.asked: float | None = None  # when it was asked to stop
        self.sentence: Outcome | None = None  # why its process was killed by us
        self.start()

    def start(self) -> None:
        """In a process of its own; a second time, from the checkpoint if there is one."""
        self.last: dict[str, Any] = {}
        self.looked = 0.0
        method = start_method()
        context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            context.set_forkserver_preload(["rnnlab.execute.child"])
        self.events, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_inside, args=(sender, *self.for_child), name=_NAME, daemon=True)
        with _as_a_parent():
            self.process.start()
        sender.close()

    def receive(self) -> dict[str, Any] | None:
        """The next event, or None when there are no more."""
        try:
            self.last = json.loads(self.events.recv_bytes())
        except (EOFError, OSError):
            return None
        return self.last if self.last["event"] != "outcome" else None

    def watch(self) -> None:
        """End the process if it takes more than it may."""
        now = time.monotonic()
        if self.sentence is not None or now - self.looked < POLL:
            return
        self.looked = now
        minutes, most = self.limits.minutes, self.limits.memory_mb
        if self.asked is not None and now - self.asked > GRACE:
            self._end(Stopped())
        elif minutes is not None and self.begun is not None and now - self.begun > 60 * minutes:
            why = note(
                "it took longer than its limit of {minutes:g} minutes: raise the limit, or train less", minutes=minutes
            )
            self._end(Failed(why))
        elif most is not None and (held := _memory_mb(self.process.pid) or 0) > most:
            why = note(
                "it held {held:,.0f} MB of memory, more than its limit of {most:,} MB: raise the limit, or take a "
                "smaller batch_size or model",
                held=held,
                most=most,
            )
            self._end(Failed(why))

    def _end(self, sentence: Outcome) -> None:
        self.sentence = sentence
        self.process.kill()

    def outcome(self) -> Outcome | None:
        """What became of it, once there are no more events; None if it is to be tried again."""
        self.process.join(GRACE)
        self.kill()
        try:
            known = RunDirectory(self.folder / self.order.digest).outcome()
        except RnnlabError as error:
            return Failed(english(error))
        if known is not None:
            return known  # even if it was asked to stop, or killed, in its last moment
        if self.sentence is not None:
            return self.sentence
        if self.last.get("outcome") == "failed":
            return Failed(self.last["reason"])
        if self.last.get("outcome") == "stopped" or self.asked is not None:
            return Stopped()
        if self.last.get("event") == "outcome":
            return Failed(note("the worker ended without a result"))
        self.deaths += 1
        killed = self.process.exitcode is not None and self.process.exitcode < 0
        return None if killed and self.deaths <= self.limits.retries else Failed(self.reason_of_death())

    def reason_of_death(self) -> str:
        code = self.process.exitcode
        reason = note("its process ended with code {code}", code=code)
        if code is not None and code < 0:
            reason = note("its process was ended by {name}", name=signal.Signals(-code).name)
        if self.deaths > 1:
            reason = note("{reason}, {times} times in a row", reason=reason, times=self.deaths)
        if code == -9:  # SIGKILL
            reason = note("{reason}; perhaps the machine ran out of memory: try fewer --jobs", reason=reason)
        return reason

    def ask_to_stop(self) -> None:
        if self.asked is None:
            self.asked = time.monotonic()
            with contextlib.suppress(OSError):  # it has ended; Windows says so with another error than Linux
                os.kill(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.events.close()


def _inside(*arguments: Any) -> None:
    """Named here and not in `child`, so that the supervisor need not import that, and torch."""
    from rnnlab.execute.child import work

    work(*arguments)


def _memory_mb(process: int) -> float | None:
    """The most that a process ever held in memory; None if the system doesn't say. The peak and not the present, so
    that what comes and goes between two looks is seen too."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    found = {key: value for key, _, value in (line.partition(":") for line in status.splitlines())}
    held = found.get("VmHWM") or found.get("VmRSS")
    return int(held.split()[0]) / 1024 if held else None


_starting = threading.Lock()


@contextlib.contextmanager
def _as_a_parent() -> Iterator[None]:
    """While a process is started. Multiprocessing would refuse children to a "daemonic" process, which Dask's workers
    are; ours end by themselves when their parent does."""
    own: dict[str, Any] = getattr(multiprocessing.current_process(), "_config", {})
    with _starting, script_hidden(from_=_NAME):  # one at a time: a cluster's worker may have several threads
        daemon = own.pop("daemon", None)
        try:
            yield
        finally:
            if daemon is not None:
                own["daemon"] = daemon


@contextlib.contextmanager
def script_hidden(from_: str) -> Iterator[None]:
    """A new process would import the user's script again, and without an ``if __name__`` guard run it again. Those
    whose name begins with ``from_`` need nothing from there, so multiprocessing doesn't tell them of such a file."""
    told = spawn.get_preparation_data

    def told_less(name: str) -> dict[str, Any]:
        hidden = ("init_main_from_name", "init_main_from_path") if name.startswith(from_) else ()
        return {key: value for key, value in told(name).items() if key not in hidden}

    spawn.get_preparation_data = told_less
    try:
        yield
    finally:
        spawn.get_preparation_data = told
