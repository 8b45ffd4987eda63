"""Runs on a Dask cluster: one that is there (``dask://HOST:PORT``), or one on this machine, started and ended here.

A try at a run is a task. Events come by a topic of the scheduler's, the files as the task's result. A run is asked to
stop by a word to its worker. A worker whose head is gone is told by the scheduler to drop the task, and ends the run.
"""

import contextlib
import logging
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from dask import config
from distributed import Client, Future, KilledWorker, LocalCluster, Worker, get_worker

from rnnlab.core.errors import RnnlabError
from rnnlab.core.words import note
from rnnlab.execute.cluster import PATIENCE, Message, drained, knock, work
from rnnlab.execute.processes import script_hidden

TOPIC = "rnnlab"  # one for all heads: the scheduler never forgets a topic
GONE = 30.0  # seconds after which a scheduler that fell silent is given up


@contextlib.contextmanager
def connect(address: str | None, jobs: int) -> "Iterator[OnDask]":
    """The cluster at an address, or one of ``jobs`` workers on this machine."""
    with contextlib.ExitStack() as stack:
        if address is None:
            target: Any = stack.enter_context(_local(jobs))
        else:
            target = f"tcp://{address}"
            knock(f"--on dask://{address}", address, "'dask scheduler', and workers with 'dask worker'")
        try:
            client = Client(target, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise RnnlabError(
                "--on dask://{address}: no Dask scheduler answers there ({kind})",
                address=address,
                kind=type(error).__name__,
            ) from None
        with client, contextlib.closing(OnDask(client, address)) as cluster:
            yield cluster


@contextlib.contextmanager
def _local(jobs: int) -> Iterator[Any]:
    """On loopback, without dashboard; a run's memory is no business of its workers', which hold next to nothing."""
    with (
        script_hidden(from_="Dask Worker"),
        tempfile.TemporaryDirectory(prefix="rnnlab-dask-", ignore_cleanup_errors=True) as scratch,
        config.set({"temporary-directory": scratch}),
        LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # its HTTP server runs in any case, and a fixed port may be taken
            scheduler_kwargs={"dashboard": False},
            worker_dashboard_address="127.0.0.1:0",
            memory_limit=0,
            local_directory=scratch,
            silence_logs=logging.CRITICAL,
            preload=[__name__],
        ) as cluster,
    ):
        yield cluster


def dask_setup(worker: Worker) -> None:
    """Called in every worker of a cluster on this machine: a Ctrl-C at the terminal is for the head alone."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class OnDask:
    client: Client
    address: str | None
    heard: float

    def __init__(self, client: Client, address: str | None):
        self.client, self.address = client, address
        self.futures: dict[str, Future[Any]] = {}
        self.mail: queue.SimpleQueue[tuple[str, Message]] = queue.SimpleQueue()
        self.workers: dict[str, str] = {}  # where each try is computed
        self.heard = time.monotonic()
        client.subscribe_topic(TOPIC, self._hear)

    def slots(self) -> int:
        threads: Any = self.client.nthreads()
        places = sum(threads.values())
        if not places and not self.futures:
            raise RnnlabError(
                "--on dask://{address}: the scheduler has no workers; start some with 'dask worker "
                "tcp://{address} --nthreads 1', or say --jobs N if they come when there is work",
                address=self.address,
            )
        return places

    def submit(self, ticket: str, parcel: Message, data: bytes | None) -> None:
        # All through the scheduler, which keeps it until the run is done and can give it to another worker.
        with config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
            future = self.client.submit(_run, ticket, parcel, data, key=ticket, pure=False)
        self.futures[ticket] = future
        future.add_done_callback(lambda done: self.mail.put((ticket, _last_message(done))))

    def stop(self, ticket: str) -> None:
        worker = self.workers.get(ticket)
        if worker is not None:
            with contextlib.suppress(OSError, TimeoutError):  # the worker is gone: then so is the run
                self.client.run(_ask_to_stop, ticket, workers=[worker], on_error="ignore")

    def forget(self, ticket: str) -> None:
        future = self.futures.pop(ticket, None)
        if future is not None and self.client.status == "running":
            future.cancel()

    def messages(self, timeout: float) -> list[tuple[str, Message]]:
        if self.client.status == "running":
            self.heard = time.monotonic()
        elif time.monotonic() - self.heard > GONE or self.client.status in ("closing", "closed"):
            raise RnnlabError(
                "the Dask scheduler {value} is gone; finished runs are kept, and the same command goes on "
                "where this one stopped",
                value=self.address or "on this machine",
            )
        found = drained(self.mail, timeout)
        for ticket, message in found:
            if message["event"] == "placed":
                self.workers[ticket] = message["worker"]
        return found

    def close(self) -> None:
        for ticket in list(self.futures):
            self.forget(ticket)

    def _hear(self, event: Any) -> None:
        _, content = event
        if content["ticket"] in self.futures:
            self.mail.put((content["ticket"], content["message"]))


def _last_message(future: Future) -> Message:
    """What a task that ended says; an error is not the run's, which `work` keeps to itself, but the worker's."""
    if future.cancelled():
        return {"event": "lost", "reason": "the cluster dropped it"}
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, KilledWorker):
        return {"event": "lost", "reason": "its worker was lost"}
    reason = note("the worker could not begin it: {name__}: {error}", name__=type(error).__name__, error=error)
    return {"event": "result", "outcome": "failed", "reason": reason, "files": {}}


# At a worker

_STOPPED: set[str] = set()  # tickets of the runs that were asked to stop


def _ask_to_stop(ticket: str) -> None:
    _STOPPED.add(ticket)


def _run(ticket: str, parcel: Message, data: bytes | None) -> Message:
    worker = get_worker()

    def send(message: Message) -> None:
        worker.log_event(TOPIC, {"ticket": ticket, "message": message})

    def stopping() -> bool:
        task = worker.state.tasks.get(ticket)
        return ticket in _STOPPED or task is None or task.state != "executing"

    send({"event": "placed", "worker": worker.address})
    try:
        return work(parcel, data, worker.local_directory, send, stopping)
    finally:
        _STOPPED.discard(ticket)
