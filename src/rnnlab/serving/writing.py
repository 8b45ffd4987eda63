"""A language model writes for a client: in a thread, step by step, until it is done, its time is over or nobody waits
any more. What is written is sent as it comes, or as a whole."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rnnlab.core.errors import RnnlabError, english
from rnnlab.serving.batching import described
from rnnlab.serving.limits import Limits, Refusal
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import ServedModel
from rnnlab.serving.requests import WritingQuestion
from rnnlab.use.writing import Sample

log: logging.Logger = logging.getLogger(__name__)

Event = dict[str, Any]
Found = TypeVar("Found")
EVERY = 0.03  # seconds: pieces are sent together, since an event costs more than a token


class Writing:
    """As many threads as requests may be written for at a time; more are refused. Written from the event loop alone."""

    limits: Limits
    metrics: Metrics

    def __init__(self, limits: Limits, metrics: Metrics):
        self.limits, self.metrics = limits, metrics
        self._threads = ThreadPoolExecutor(limits.writers, "writer", initializer=torch.set_num_threads, initargs=(1,))
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def events(self, model: ServedModel, asked: WritingQuestion) -> AsyncIterator[Event]:
        """``{"sample": …, "text": …}`` for each piece, and at last ``{"model": …, "samples": […]}``. To close it ends
        the work."""
        with self._slot() as gone:
            loop = asyncio.get_running_loop()
            found: asyncio.Queue[list[Event] | None] = asyncio.Queue()

            def put(pieces: list[Event] | None) -> None:
                loop.call_soon_threadsafe(found.put_nowait, pieces)

            done = loop.run_in_executor(self._threads, self._write, model, asked, gone, put)
            while (pieces := await found.get()) is not None:
                for piece in pieces:
                    yield piece
            written = await done
            self.metrics.written[model.name] += sum(sample.tokens for sample in written)
            yield {"model": model.name, "samples": [_sent(sample) for sample in written]} | _unknown(model, asked)

    async def score(self, model: ServedModel, text: str) -> Event:
        with self._slot():
            run = asyncio.get_running_loop().run_in_executor
            found = await run(self._threads, _refusing, model, lambda: model.predictor.score(text).to_dict())
        return {"model": model.name} | found

    @contextmanager
    def _slot(self) -> Any:
        """One of those who may write at the same time; when it is left, the work ends."""
        if self.metrics.writing >= self.limits.writers:
            reason = f"{self.metrics.writing} requests are written for already; ask again in a moment"
            raise Refusal(429, "busy", reason, {"Retry-After": "1"})
        gone = threading.Event()
        self.metrics.writing += 1
        try:
            yield gone
        finally:
            gone.set()
            self.metrics.writing -= 1

    def _write(
        self,
        model: ServedModel,
        asked: WritingQuestion,
        gone: threading.Event,
        put: Callable[[list[Event] | None], None],
    ) -> list[Sample]:
        """In a thread."""
        try:
            return _refusing(model, lambda: self._steps(model, asked, gone, put))
        finally:
            put(None)

    def _steps(
        self,
        model: ServedModel,
        asked: WritingQuestion,
        gone: threading.Event,
        put: Callable[[list[Event] | None], None],
    ) -> list[Sample]:
        pieces: dict[int, str] = {}
        sent = time.monotonic()
        for step in model.predictor.writer.streams(
            asked.prompt, length=asked.length, samples=asked.samples, manner=asked.manner,
            seconds=self.limits.writing_seconds,
        ):  # fmt: skip
            if gone.is_set() or self._stopping.is_set():
                break
            if isinstance(step, list):
                put([{"sample": number, "text": text} for number, text in pieces.items()])
                return step
            for number, text in step.items():
                pieces[number] = pieces.get(number, "") + text
            if pieces and asked.stream and time.monotonic() - sent >= EVERY:
                put([{"sample": number, "text": text} for number, text in pieces.items()])
                pieces, sent = {}, time.monotonic()
        return []


def _refusing(model: ServedModel, work: Callable[[], Found]) -> Found:
    try:
        return work()
    except RnnlabError as error:
        raise Refusal(422, "invalid", english(error)) from None
    except Exception as error:
        log.error("%s failed with %s", model.name, described(error))
        reason = f"the model {model.name!r} failed on this request; the server's log has more"
        raise Refusal(500, "model_failed", reason) from None


def _sent(sample: Sample) -> Event:
    return {key: value for key, value in sample.to_dict().items() if key != "prompt"}


def _unknown(model: ServedModel, asked: WritingQuestion) -> Event:
    return {"unknown": model.predictor.writer.unknown_in(asked.prompt)}


class EventStream(Response):
    """Server-sent events: pieces as they come, ``event: done`` with all of it, or ``event: error`` with a reason."""

    media_type = "text/event-stream"
    first: Event
    rest: AsyncIterator[Event]

    def __init__(self, first: Event, rest: AsyncIterator[Event]):
        super().__init__()
        self.first, self.rest = first, rest
        self.headers["Content-Type"] = f"{self.media_type}; charset=utf-8"
        del self.headers["Content-Length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending, going = asyncio.ensure_future(self._send(send)), asyncio.ensure_future(receive())
        try:
            await asyncio.wait((sending, going), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise ClientDisconnect
            sending.result()
        finally:
            going.cancel()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)  # so that its generator is closed by now

    async def _send(self, send: Send) -> None:
        try:
            await send(_chunk(self.first))
            async for event in self.rest:
                await send(_chunk(event))
        except Refusal as refusal:
            body = b"event: error\ndata: " + refusal.body + b"\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
        finally:
            await self.rest.aclose()  # type: ignore[attr-defined] # it is a generator
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _chunk(event: Event) -> dict[str, Any]:
    name = "event: done\n" if "samples" in event else ""
    text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return {"type": "http.response.body", "body": f"{name}data: {text}\n\n".encode(), "more_body": True}
