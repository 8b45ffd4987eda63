"""Runs on a Ray cluster: one that is there (``ray://HOST:PORT``, ``ray://auto``), or one on this machine, started and
ended here.

A place for a run is an actor of one CPU. The head asks each for news, one question after the other; the answer to the
last one holds the files. An actor that nobody asks any more ends its run; so does Ray, when the head is gone.
"""

import contextlib
import logging
import os
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import ray
from ray.exceptions import RayError

from rnnlab.core.errors import RnnlabError
from rnnlab.core.words import note
from rnnlab.execute.cluster import Message, drained, knock, work

ALONE = 60.0  # seconds without a question, after which there is no head any more
LONGEST_SOCKET = 107  # characters of a socket's path, of which Ray makes up to 70 itself


@contextlib.contextmanager
def connect(address: str | None, jobs: int) -> "Iterator[OnRay]":
    """The cluster at an address, or one of ``jobs`` CPUs on this machine. One that this process is connected to already
    is used, and left as it is."""
    if address not in (None, "auto"):
        knock(f"--on ray://{address}", address, "'ray start --head', which listens for clients on port 10001")
        if ray.is_initialized():
            raise RnnlabError(
                "--on ray://{address}: this process is connected to another cluster; ray.shutdown() first",
                address=address,
            )
    with contextlib.ExitStack() as stack:
        scratch = None
        if not ray.is_initialized():
            if threading.current_thread() is threading.main_thread():  # Ray takes it over and doesn't give it back
                stack.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
            stack.enter_context(_silence())
            scratch = stack.enter_context(_folder()) if address is None else None
            _init(address, jobs, scratch)
            stack.callback(ray.shutdown)
        yield stack.enter_context(contextlib.closing(OnRay(scratch)))


def _init(address: str | None, jobs: int, scratch: str | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address is None:
        options |= {
            "address": "local",
            "num_cpus": jobs,
            "include_dashboard": False,
            "object_store_memory": 200 * 1024 * 1024,  # files of finished runs, on their way home
            "_temp_dir": scratch,
            "_node_ip_address": "127.0.0.1",
            "_system_config": {"memory_monitor_refresh_ms": 0},  # memory is held by the runs, not by Ray's workers
        }
    else:
        options["address"] = "auto" if address == "auto" else f"ray://{address}"
    where = f"--on ray://{address}" if address else "--on ray"
    try:
        ray.init(**options)
    except ImportError as error:  # Ray's client is a part of its own
        raise RnnlabError(
            "{where} needs {value}: pip install 'rnnlab[ray]'", where=where, value=error.name or "ray[client]"
        ) from None
    except (ConnectionError, OSError, TimeoutError, RuntimeError, ValueError) as error:
        text = str(error).strip().splitlines() or [type(error).__name__]
        hint = "; a cluster may ask for a token, which $RAY_AUTH_TOKEN gives ('ray get-auth-token' on its head)"
        known = hint if address not in (None, "auto") else ""
        raise RnnlabError(
            "{where}: no Ray cluster answers there: {text}{known}", where=where, text=text[0], known=known
        ) from None


def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Ray's files, gone at the end. Its sockets are among them, whose paths have to be short."""
    parent = tempfile.gettempdir() if len(tempfile.gettempdir()) < LONGEST_SOCKET - 90 else "/tmp"
    return tempfile.TemporaryDirectory(prefix="rnnlab-ray-", dir=parent, ignore_cleanup_errors=True)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """No usage statistics, and nothing printed: neither notes on start nor, on the standard output, that a worker died,
    for which Ray has no switch."""
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}
    before = {name: os.environ.get(name) for name in quiet}
    os.environ.update(quiet)
    inside: Any = import_module("ray._private.worker")
    printing = getattr(inside, "print_to_stdstream", None)
    inside.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        inside.print_to_stdstream = printing
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class OnRay:
    def __init__(self, scratch: str | None):
        self.scratch = scratch
        self.actors: dict[str, Any] = {}  # by ticket
        self.idle: list[Any] = []
        self.data: dict[str, Any] = {}  # references to what was sent, by fingerprint
        self.questions: dict[Any, str] = {}  # tickets, by the references of the answers

    def slots(self) -> int:
        return int(ray.cluster_resources().get("CPU", 0))

    def submit(self, ticket: str, parcel: Message, data: bytes | None) -> None:
        if self.idle:
            actor = self.idle.pop()
        else:
            # Questions and the word to stop are answered while a run is begun: three at a time.
            place: Any = ray.remote(_Place)
            actor = place.options(num_cpus=1, max_concurrency=3, max_restarts=0).remote(self.scratch)
        self.actors[ticket] = actor
        wanted = parcel["fingerprint"]
        if data is not None and wanted not in self.data:
            self.data[wanted] = ray.put(data)
        actor.begin.remote(ticket, parcel, None if data is None else self.data[wanted])
        self.questions[actor.news.remote(ticket)] = ticket

    def stop(self, ticket: str) -> None:
        self.actors[ticket].stop.remote(ticket)

    def forget(self, ticket: str) -> None:
        actor = self.actors.pop(ticket, None)
        if actor is not None:  # its run hasn't ended
            actor.stop.remote(ticket)
            ray.kill(actor)

    def messages(self, timeout: float) -> list[tuple[str, Message]]:
        ready, _ = ray.wait(list(self.questions), num_returns=1, timeout=timeout)
        if ready:
            ready, _ = ray.wait(list(self.questions), num_returns=len(self.questions), timeout=0)
        return [(ticket, message) for answer in ready for ticket, message in self._answer(answer)]

    def _answer(self, answer: Any) -> Iterator[tuple[str, Message]]:
        ticket = self.questions.pop(answer)
        actor = self.actors.get(ticket)
        try:
            found: list[Message] = ray.get(answer)
        except RayError as error:
            self.actors.pop(ticket, None)
            yield ticket, {"event": "lost", "reason": note("its worker was lost ({cause})", cause=_cause(error))}
            return
        for message in found:
            if message["event"] in ("result", "needs") and actor is not None:
                del self.actors[ticket]
                self.idle.append(actor)
            yield ticket, message
        if ticket in self.actors:
            self.questions[self.actors[ticket].news.remote(ticket)] = ticket

    def close(self) -> None:
        for ticket in list(self.actors):
            self.forget(ticket)
        for actor in self.idle:
            actor.__ray_terminate__.remote()


def _cause(error: RayError) -> str:
    """An error that kept an actor from being made is the last line of a long text."""
    last = str(error).strip().rpartition("\n")[2].strip()
    return last if "Error: " in last else type(error).__name__


# At a worker


class _Place:
    """An actor that does one run after the other, each in a process of its own."""

    def __init__(self, scratch: str | None):
        self.scratch = scratch
        if scratch is not None:
            tempfile.tempdir = scratch  # of multiprocessing too, which leaves a folder behind when its process is ended
        self.mail: dict[str, queue.SimpleQueue[Message]] = {}
        self.stopped: set[str] = set()
        self.asked = time.monotonic()

    def begin(self, ticket: str, parcel: Message, data: bytes | None) -> None:
        self.asked = time.monotonic()
        mail = self._mail(ticket)

        def stopping() -> bool:
            return ticket in self.stopped or time.monotonic() - self.asked > ALONE

        def run() -> None:
            mail.put({"event": "placed"})
            mail.put(work(parcel, data, self.scratch, mail.put, stopping))

        threading.Thread(target=run, daemon=True).start()

    def news(self, ticket: str) -> list[Message]:
        """What there is to say since the last question; waits for it, a few seconds."""
        self.asked = time.monotonic()
        found = drained(self._mail(ticket), timeout=5)
        if found and found[-1]["event"] in ("result", "needs"):
            del self.mail[ticket]
            self.stopped.discard(ticket)
        return found

    def stop(self, ticket: str) -> None:
        self.stopped.add(ticket)

    def _mail(self, ticket: str) -> "queue.SimpleQueue[Message]":
        return self.mail.setdefault(ticket, queue.SimpleQueue())
