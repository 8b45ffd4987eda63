"""Starting, reloading and stopping the server."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import torch
import uvicorn

from rnnlab.core.errors import ConfigError
from rnnlab.serving.app import Application
from rnnlab.serving.limits import Limits
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import Models
from rnnlab.serving.protocol import patient
from rnnlab.serving.security import Access

log: logging.Logger = logging.getLogger(__name__)

TIME = "%Y-%m-%dT%H:%M:%S"


def serve(
    models: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    names: Sequence[str] = (),
    limits: Limits = Limits(),
    ready: Callable[[str, Models], None] = lambda address, models: None,
) -> None:
    """Serves until it is told to stop. `ready` is called once it listens, with its address."""
    torch.set_num_threads(1)
    access = Access.of(host, names)
    listener = listen(host, port)
    with listener:
        served = Models(models)
        _log_to_stderr()
        metrics, requests = Metrics(), RequestLog()
        config = uvicorn.Config(
            Application(served, access, limits, metrics, requests.note),
            http=patient(limits, metrics),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=limits.drain_seconds,
        )
        Server(config, served, metrics, requests, lambda: ready(address_of(host, listener), served)).run([listener])


def listen(host: str, port: int) -> socket.socket:
    """Before the models are read: a port that is taken is then found at once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError("--host {host}: {value}", host=host, value=error.strerror or error) from None
    try:
        if os.name == "posix":  # on Windows it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        reason = f"can't listen on {host}, port {port}: {error.strerror or error}"
        raise ConfigError("{reason}; choose another with --port (0: any free one)", reason=reason) from None
    return listener


def address_of(host: str, listener: socket.socket) -> str:
    """As a browser on this machine would have it."""
    port = listener.getsockname()[1]
    shown = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


class Server(uvicorn.Server):
    """SIGHUP reads the models again. SIGTERM and Ctrl-C: no new connections, what was asked is answered, then exit 0;
    a second one exits at once."""

    def __init__(
        self,
        config: uvicorn.Config,
        models: Models,
        metrics: Metrics,
        requests: "RequestLog",
        ready: Callable[[], None],
    ):
        super().__init__(config)
        self._models, self._metrics, self._requests, self._ready = models, metrics, requests, ready
        self._reloading: asyncio.Task[None] | None = None

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        self._requests.flush()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        self._requests.flush()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _settle()
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        self._loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self.handle_exit, signal.SIGTERM: self.handle_exit}
        if sys.platform == "win32":
            handlers[signal.SIGBREAK] = self.handle_exit
        else:
            handlers[signal.SIGHUP] = self.handle_reload
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True

    def handle_reload(self, sig: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._reload)

    def _reload(self) -> None:
        """One at a time; a signal during a reload asks for another after it."""
        self._reloading = self._loop.create_task(self._read_again(self._reloading))

    async def _read_again(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        for name, went_well in (await asyncio.to_thread(self._models.reload)).items():
            self._metrics.reloads["read" if went_well else "failed"] += 1
            if went_well:
                log.info("%s is reloaded", name)
        _settle()


def _settle() -> None:
    """What is loaded stays: Python's collector of circular garbage need not look at it again and again, nor so often
    as it does by default. (64 texts a request: a tenth more of them a second; docs/serve.md.)"""
    gc.unfreeze()  # of models that were replaced, nothing stays
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class RequestLog:
    """Lines for standard error, written together: a system call for each would cost more than reading the request."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def note(self, line: str) -> None:
        self._lines.append(f"{time.strftime(TIME)} {line}\n")

    def flush(self) -> None:
        if self._lines:
            sys.stderr.write("".join(self._lines))
            sys.stderr.flush()
            self._lines.clear()


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", TIME))
    ours = logging.getLogger("rnnlab.serving")
    ours.handlers[:], ours.propagate = [handler], False
    ours.setLevel(logging.INFO)
    uvicorns = logging.getLogger("uvicorn")
    uvicorns.handlers[:], uvicorns.propagate = [handler], False
    uvicorns.setLevel(logging.ERROR)
