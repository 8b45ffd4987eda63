"""Where runs are computed. One law for all: same outcomes as `Serial`, to the bit (`rnnlab.testing.check_executor`).

`executor_for` finds one by its name: ``serial`` here; ``processes``, a process for every run (`execute.processes`);
``dask`` and ``ray``, the same on the machines of a cluster (`cluster`). No torch here: a cluster's workers import this.
"""

import contextlib
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rnnlab.core.errors import ConfigError, RnnlabError, did_you_mean, english, known_are
from rnnlab.runs.directory import Failed, Outcome

if TYPE_CHECKING:
    from rnnlab.training.spec import RunSpec

EventSink = Callable[[int, dict[str, Any]], bool | None]
"""Called with the number of a run and an event of its: started, progress, epoch, retry. Returning True asks for that
run to be stopped: its outcome is `Stopped`, with a checkpoint, unless it ends by itself first."""


class Executor(Protocol):
    def map(self, specs: "Iterable[RunSpec]", folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        """Do every run; yield (its number, its outcome) as each ends. A spec is pulled when there is a place for it,
        after the outcome that made the place was taken. After an interrupt the runs that were under way are `Stopped`
        with a checkpoint, those not begun are not yielded, and KeyboardInterrupt follows."""
        ...


@dataclass(frozen=True)
class Limits:
    """What a run may take. One that takes more is ended and `Failed`; one whose process is killed from outside is tried
    again."""

    minutes: float | None = None
    """Of wall clock, from its start, whatever it does; `Training.minutes` ends the training and keeps the result."""
    memory_mb: int | None = None
    """Resident, the libraries included."""
    retries: int = 1

    def __post_init__(self) -> None:
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigError(
                "the time limit of a run must be more than 0 minutes (got {minutes})", minutes=self.minutes
            )
        if self.memory_mb is not None and not self.memory_mb > 0:
            raise ConfigError(
                "the memory limit of a run must be more than 0 MB (got {memory_mb})", memory_mb=self.memory_mb
            )
        if self.retries < 0:
            raise ConfigError("retries must be 0 or more (got {retries})", retries=self.retries)


class Serial:
    """One run after the other, in this process."""

    def map(self, specs: "Iterable[RunSpec]", folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        from rnnlab.training.run import execute

        with interrupt_flag() as interrupted:
            for number, spec in enumerate(specs):
                unwanted = threading.Event()

                def report(event: dict[str, Any], number: int = number, unwanted: threading.Event = unwanted) -> None:
                    if sink(number, event):
                        unwanted.set()

                def should_stop(unwanted: threading.Event = unwanted) -> bool:
                    return interrupted() or unwanted.is_set()

                report({"event": "started"})
                yield number, guard(partial(execute, spec, folder, report, should_stop))
                if interrupted():
                    raise KeyboardInterrupt


ENGINES = ("processes", "serial", "dask", "ray")


def executor_for(
    on: str = "processes", jobs: int | None = None, plugins: Sequence[str] = (), limits: Limits = Limits()
) -> Executor:
    """``processes``, ``serial``, ``dask``, ``ray`` (both on this machine), ``dask://HOST:PORT``,
    ``ray://HOST:PORT`` or ``ray://auto`` (the cluster that runs here). ``jobs`` runs at a time: as many as there are
    cores by default; 0 is the same as ``serial``."""
    engine, _, address = on.partition("://")
    if engine not in ENGINES or (address and engine not in ("dask", "ray")) or on.endswith("://"):
        known = known_are((*ENGINES, "dask://HOST:PORT", "ray://HOST:PORT"))
        raise ConfigError("--on: unknown engine '{on}'{hint}", on=on, hint=did_you_mean(engine, ENGINES) or known)
    if jobs is not None and jobs < 0:
        raise ConfigError("--jobs must be 0 (in this process) or more (got {jobs})", jobs=jobs)
    if jobs == 0 and engine not in ("processes", "serial"):
        raise ConfigError("--jobs 0 computes in this process, where '{on}' has no part; leave one of them out", on=on)
    if engine == "serial" or jobs == 0:
        return _serial(jobs, limits)
    if engine == "processes":
        from rnnlab.execute.processes import Processes

        return Processes(jobs or cores(), tuple(plugins), limits)
    from rnnlab.execute.cluster import OnCluster

    return OnCluster(_connection(engine, address, jobs), jobs, tuple(plugins), limits)


def _serial(jobs: int | None, limits: Limits) -> Serial:
    if jobs is not None and jobs > 1:
        raise ConfigError(
            "--on serial does one run at a time and would ignore --jobs {jobs}; use --on processes", jobs=jobs
        )
    if limits.minutes is not None or limits.memory_mb is not None:
        raise ConfigError(
            "a run in this process can't be ended from outside, so limits would be ignored; use --on processes --jobs 1"
        )
    return Serial()


def _connection(engine: str, address: str, jobs: int | None) -> Any:
    """What opens the cluster, once the runs begin."""
    if address and (engine, address) != ("ray", "auto"):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ConfigError(
                "--on: '{engine}://{address}' is no address; write {engine}://HOST:PORT", engine=engine, address=address
            )
    try:
        if engine == "dask":
            from rnnlab.execute.on_dask import connect
        else:
            if address not in ("", "auto"):
                _show_rays_token()
            from rnnlab.execute.on_ray import connect
    except ModuleNotFoundError as error:
        raise ConfigError(
            "--on {engine} needs {name}, which isn't installed: pip install 'rnnlab[{engine}]'",
            engine=engine,
            name=error.name,
        ) from None
    return partial(connect, address or None, jobs or cores())


def _show_rays_token() -> None:
    """Ray's clusters ask for a token by default. Its client shows the one that is there only if it is told to, before
    Ray is imported."""
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    if named or (Path.home() / ".ray" / "auth_token").is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def at_a_time(on: str, jobs: int | None) -> int:
    """How many runs `executor_for` computes at a time on this machine."""
    return 1 if on == "serial" else max(1, cores() if jobs is None else jobs)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def guard(run: Callable[[], Outcome]) -> Outcome:
    """An error ends one run, not the others."""
    try:
        return run()
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Failed:
    """What went wrong, in a line."""
    if isinstance(error, RnnlabError):
        return Failed(english(error))
    if os.environ.get("RNNLAB_DEBUG"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Failed(f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


@contextlib.contextmanager
def interrupt_flag() -> Iterator[Callable[[], bool]]:
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
