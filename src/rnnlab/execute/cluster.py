"""Runs on a cluster without a shared disk: what Dask and Ray have in common.

The *head* is where the user's command runs. For each run it sends a parcel: the spec, the plugins' text, the limits,
and a checkpoint if there is one. The *worker* that gets it does the run in a process of its own, supervised as it is
on the head's machine (`execute.processes`), in a folder of its own; it sends events as they come and the files in the
end. Data go to a worker once, if its cache doesn't hold them. Nothing but text and bytes is sent, and what comes home
is checked before it counts.
"""

import hashlib
import json
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import uuid4

from rnnlab.core.errors import ConfigError, RnnlabError, RunError
from rnnlab.core.files import write_atomically
from rnnlab.core.words import note
from rnnlab.data import store
from rnnlab.execute.executors import EventSink, Limits, failure, interrupt_flag
from rnnlab.execute.processes import GRACE, Order, order_of, supervise
from rnnlab.runs.directory import CHECKPOINT, SEALED, Failed, Outcome, RunDirectory, Stopped

if TYPE_CHECKING:
    from rnnlab.training.spec import RunSpec

FILES = (*SEALED, "events.jsonl", CHECKPOINT, "result.json")  # what may come home; result.json is written last
LATE = 2 * GRACE  # seconds after which a run that was asked to stop is given up, whatever its worker does
PREFIX = "rnnlab-run-"  # of the folders at a worker
ABANDONED = 3600  # seconds after which such a folder, if nobody holds it, is removed
PATIENCE = 10.0  # seconds for a cluster to answer
COUNT_EVERY = 5.0  # seconds between two looks at how large the cluster is

T = TypeVar("T")
Message = dict[str, Any]
"""From a worker to the head: an event of the run, or one of

- ``placed``: a worker has begun; the first message of every try
- ``needs``: the worker has no data; the parcel is to be sent again, with them
- ``result``: the outcome, and the files of the run
- ``lost``: said by the head's side: the worker, or the way to it, is gone
"""


class Cluster(Protocol):
    """What Dask and Ray do differently. A ticket stands for one try at one run."""

    def slots(self) -> int:
        """How many runs it can compute at a time."""
        ...

    def submit(self, ticket: str, parcel: Message, data: bytes | None) -> None: ...
    def stop(self, ticket: str) -> None:
        """Ask a run to stop; its result still comes."""
        ...

    def forget(self, ticket: str) -> None:
        """Nobody waits for it any more: it need not begin, and if it has, it ends."""
        ...

    def messages(self, timeout: float) -> list[tuple[str, Message]]:
        """Those that came, in the order of each run; waits for the first one, not longer than ``timeout``."""
        ...


# At the head


@dataclass(frozen=True)
class OnCluster:
    """``jobs`` runs at a time, or as many as the cluster has places for."""

    connect: Callable[[], AbstractContextManager[Cluster]]
    jobs: int | None = None
    plugins: tuple[str, ...] = ()
    limits: Limits = field(default=Limits())

    def map(self, specs: "Iterable[RunSpec]", folder: Path, sink: EventSink) -> Iterator[tuple[int, Outcome]]:
        plugins = [_plugin(path) for path in self.plugins]
        with self.connect() as cluster, interrupt_flag() as interrupted:
            yield from _Head(cluster, self.jobs, plugins, self.limits, folder, sink).map(specs, interrupted)
            if interrupted():
                raise KeyboardInterrupt


def drained(mail: "SimpleQueue[T]", timeout: float) -> list[T]:
    """All that has arrived; waits for the first, not longer than ``timeout``."""
    found = []
    with suppress(Empty):
        found.append(mail.get(timeout=timeout))
        while True:
            found.append(mail.get_nowait())
    return found


def knock(option: str, address: str, command: str) -> None:
    """Refuse an address where nobody answers, at once: the libraries would try for most of a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise RnnlabError(
            "{option}: nobody answers there ({why}); start a cluster with {command}",
            option=option,
            why=why,
            command=command,
        ) from None


@dataclass
class _Head:
    """Keeps as many runs under way as there are places, and takes in what comes from them."""

    cluster: Cluster
    jobs: int | None
    plugins: list[tuple[str, str]]
    limits: Limits
    folder: Path
    sink: EventSink
    under_way: "dict[str, _Run]" = field(default_factory=dict)
    packed: dict[str, bytes] = field(default_factory=dict)  # data, by fingerprint
    places: int = 1
    counted: float = -COUNT_EVERY

    def map(self, specs: "Iterable[RunSpec]", interrupted: Callable[[], bool]) -> Iterator[tuple[int, Outcome]]:
        todo = enumerate(specs)
        try:
            while True:
                while self._has_a_place() and not interrupted() and (entry := next(todo, None)):
                    outcome = self._begin(*entry)
                    if outcome is not None:
                        yield entry[0], outcome
                if interrupted():
                    self._stop_all()
                if not self.under_way:
                    return
                for ticket, message in self.cluster.messages(timeout=0.2):
                    if ticket in self.under_way:  # else an earlier try at the same run, believed lost
                        run = self.under_way[ticket]
                        outcome = self._take(ticket, run, message)
                        if outcome is not None:
                            yield run.number, self._end(ticket, outcome)
                for ticket, run in list(self.under_way.items()):
                    if run.asked is not None and time.monotonic() - run.asked > LATE:
                        yield run.number, self._end(ticket, Stopped())
        finally:
            for ticket in list(self.under_way):
                self._end(ticket, Stopped())

    def _has_a_place(self) -> bool:
        if self.jobs is not None:
            return len(self.under_way) < self.jobs
        if time.monotonic() - self.counted > COUNT_EVERY:  # a cluster may grow
            self.counted = time.monotonic()
            self.places = max(1, self.cluster.slots())
        return len(self.under_way) < self.places

    def _begin(self, number: int, spec: "RunSpec") -> Outcome | None:
        """Send a run out; or its outcome, if that is known without."""
        order = order_of(spec)
        if isinstance(order, Failed):
            return order
        run = _Run(number, spec, order, RunDirectory(self.folder / order.digest), self.limits.retries)
        with ExitStack() as held:  # let go unless the run is sent
            try:
                if known := run.directory.outcome():
                    return known
                run.directory.create(spec.to_dict())
                held.enter_context(run.directory.lock())
                if known := run.directory.outcome():  # another process may have finished it before the lock was ours
                    return known
                self._send(run)
            except (RnnlabError, OSError) as error:
                return failure(error)
            run.held = held.pop_all()
        return None

    def _send(self, run: "_Run", data: bytes | None = None) -> None:
        ticket = f"rnnlab-{uuid4().hex}"
        self.under_way[ticket] = run
        run.places = 0
        self.cluster.submit(ticket, run.parcel(self.plugins, self.limits), data)

    def _take(self, ticket: str, run: "_Run", message: Message) -> Outcome | None:
        """Act on a message; the outcome, if it has one."""
        kind = message["event"]
        if kind == "result":
            return bring_home(run.directory, message)
        if kind == "needs":
            return self._send_with_data(ticket, run)
        if kind == "placed":
            run.places += 1
            if run.places > 1:  # the scheduler gave it to another worker by itself
                return self._try_again(ticket, run, "its worker was lost", sent=True)
            if run.started:
                return None
            run.started, message = True, {"event": "started"}
        if kind == "lost":
            return self._try_again(ticket, run, message["reason"], sent=False)
        if kind == "retry":
            run.lives -= 1
        if self.sink(run.number, message) and run.asked is None:
            run.asked = time.monotonic()
            self.cluster.stop(ticket)
        return None

    def _send_with_data(self, ticket: str, run: "_Run") -> Outcome | None:
        if run.asked is not None:
            return Stopped()
        wanted = run.spec.task.fingerprint or ""
        try:
            if wanted not in self.packed:
                self.packed[wanted] = store.pack(run.spec.task.load())
        except RnnlabError as error:
            return failure(error)
        del self.under_way[ticket]
        self._send(run, self.packed[wanted])
        return None

    def _try_again(self, ticket: str, run: "_Run", reason: str, sent: bool) -> Outcome | None:
        if run.asked is not None:
            return Stopped()
        run.lives -= 1
        if run.lives < 0:
            return Failed(
                note("{reason}; it was tried {retries} times", reason=reason, retries=self.limits.retries + 1)
            )
        self.sink(run.number, {"event": "retry", "reason": reason})
        if not sent:
            del self.under_way[ticket]
            self._send(run)
        return None

    def _stop_all(self) -> None:
        for ticket, run in list(self.under_way.items()):
            if not run.places:
                self._end(ticket, Stopped())  # not begun: not yielded either
            elif run.asked is None:
                run.asked = time.monotonic()
                self.cluster.stop(ticket)

    def _end(self, ticket: str, outcome: Outcome) -> Outcome:
        self.under_way.pop(ticket).held.close()
        self.cluster.forget(ticket)
        return outcome


@dataclass
class _Run:
    """A run under way, seen from the head."""

    number: int
    spec: "RunSpec"
    order: Order
    directory: RunDirectory
    lives: int  # retries left
    held: ExitStack = field(default_factory=ExitStack)  # its directory is locked
    started: bool = False
    places: int = 0  # workers that began it, with the present ticket
    asked: float | None = None  # when it was asked to stop

    def parcel(self, plugins: list[tuple[str, str]], limits: Limits) -> Message:
        return {
            "rnnlab": version("rnnlab"),
            "digest": self.order.digest,
            "spec": self.order.spec,
            "fingerprint": self.spec.task.fingerprint,
            "plugins": plugins,
            "limits": asdict(limits) | {"retries": max(0, self.lives)},
            "files": _read(self.directory.path, (CHECKPOINT, "events.jsonl")),
        }


def _plugin(path: str) -> tuple[str, str]:
    try:
        return Path(path).name, Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("--plugin {path}: can't be read: {error}", path=path, error=error) from None


def bring_home(run: RunDirectory, message: Message) -> Outcome:
    """Write what a worker sent, the result last: the run counts only when it is whole."""
    files: dict[str, bytes] = message["files"]
    try:
        _check(files, run.path)
        for name in FILES:
            if name in files:
                write_atomically(run / name, files[name])
        known = run.outcome()
    except (RnnlabError, OSError) as error:
        return failure(error)
    if known is not None:
        run.forget_checkpoint()
        return known
    if message["outcome"] == "stopped":
        return Stopped()
    return Failed(message["reason"] or "the worker ended without a result")


def _check(files: dict[str, bytes], path: Path) -> None:
    strange = set(files) - set(FILES)
    if strange:
        raise RunError(
            "{path}: the worker sent files that are no part of a run: {names}",
            path=path,
            names=", ".join(sorted(strange)),
        )
    if "result.json" in files:
        sums = json.loads(files["result.json"])["files"]
        found = {name: hashlib.sha256(files[name]).hexdigest() for name in SEALED if name in files}
        if sums != found:
            raise RunError(
                "{path}: the files that the worker sent are not those that it wrote; run it again", path=path
            )


# At a worker


def work(
    parcel: Message,
    data: bytes | None,
    scratch: str | None,
    send: Callable[[Message], None],
    stopping: Callable[[], bool],
) -> Message:
    """Do the run of a parcel and return the last message. ``scratch`` is where its folder is made."""
    try:
        wanted = parcel["fingerprint"]
        if parcel["rnnlab"] != version("rnnlab"):
            raise RnnlabError(
                "the worker has rnnlab {version}, the command came from {rnnlab}; install the same",
                version=version("rnnlab"),
                rnnlab=parcel["rnnlab"],
            )
        if wanted is not None and data is not None:
            _keep(data, wanted)
        elif wanted is not None and store.find(wanted) is None:
            return {"event": "needs"}
        with folder_for_a_run(scratch) as folder:
            return _work(parcel, folder, send, stopping)
    except Exception as error:  # whatever it is: one failed run
        return {"event": "result", "outcome": "failed", "reason": failure(error).reason, "files": {}}


@contextmanager
def folder_for_a_run(scratch: str | None) -> Iterator[Path]:
    """For one run; locked, so that what a worker that was killed left behind can be told from what is in use."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=scratch))
    try:
        for other in folder.parent.glob(f"{PREFIX}*"):
            with suppress(OSError, RnnlabError):
                if time.time() - other.stat().st_mtime > ABANDONED:
                    with RunDirectory(other).lock():
                        shutil.rmtree(other)
        with RunDirectory(folder).lock():
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _work(parcel: Message, folder: Path, send: Callable[[Message], None], stopping: Callable[[], bool]) -> Message:
    own = folder / "runs" / parcel["digest"]
    own.mkdir(parents=True)
    for name, content in parcel["files"].items():
        write_atomically(own / name, content)
    plugins = []
    for number, (name, text) in enumerate(parcel["plugins"]):
        path = folder / "plugins" / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        plugins.append(str(path))

    def pass_on(number: int, event: dict[str, Any]) -> None:
        if event["event"] != "started":  # the head knows by "placed"
            send(event)

    orders = [Order(parcel["digest"], parcel["spec"])]
    limits = Limits(**parcel["limits"])
    outcome: Outcome = Stopped()
    for _, found in supervise(orders, 1, own.parent, tuple(plugins), limits, pass_on, stopping):
        outcome = found
    return {
        "event": "result",
        "outcome": type(outcome).__name__.lower(),
        "reason": getattr(outcome, "reason", None),
        "files": _read(own, FILES),
    }


def _keep(data: bytes, wanted: str) -> None:
    try:
        store.unpack(data, wanted)
    except OSError as error:
        raise RnnlabError(
            "the worker can't keep the data in its cache: {error}; set RNNLAB_CACHE there to a folder that it may use",
            error=error,
        ) from None


def _read(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}
