"""The application: what is answered at which address, and what every answer has in common."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from functools import cache
from typing import Any, TypeVar

from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from rnnlab.core.words import both
from rnnlab.data.calendar import Spacing
from rnnlab.serving.batching import Answers, Batcher, described
from rnnlab.serving.limits import Limits, Refusal
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import Models
from rnnlab.serving.openapi import document
from rnnlab.serving.requests import read_question, read_scoring, read_writing
from rnnlab.serving.security import HEADERS, NO_CONTENT, Access
from rnnlab.serving.series import read_forecasting
from rnnlab.serving.writing import Event, EventStream, Writing
from rnnlab.show.figures.palette import PALETTE, rgb
from rnnlab.show.pages.shell import environment, made, now, policy, source

log: logging.Logger = logging.getLogger(__name__)
access_log: logging.Logger = logging.getLogger("rnnlab.serving.access")

Found = TypeVar("Found")
CLOSE = {"Connection": "close"}


class Application:
    """An ASGI application. `note` takes one line a request, without its texts."""

    models: Models
    access: Access
    limits: Limits
    metrics: Metrics
    note: Callable[[str], None]
    predicting: Batcher
    explaining: Batcher
    writing: Writing

    def __init__(
        self,
        models: Models,
        access: Access,
        limits: Limits,
        metrics: Metrics,
        note: Callable[[str], None] = access_log.info,
    ):
        self.models, self.access, self.limits, self.metrics, self.note = models, access, limits, metrics, note
        self.predicting, self.explaining = Batcher(limits, metrics), Batcher(limits, metrics, explain=True)
        self.writing = Writing(limits, metrics)
        self._routes = Router(
            [
                Route("/v1/predict", self.predict, methods=["POST"]),
                Route("/v1/generate", self.generate, methods=["POST"]),
                Route("/v1/score", self.score, methods=["POST"]),
                Route("/v1/forecast", self.forecast, methods=["POST"]),
                Route("/v1/models", self.list_models),
                Route("/healthz", self.health),
                Route("/metrics", self.measurements),
                Route("/openapi.json", self.openapi),
                Route("/", self.page),
            ],
            redirect_slashes=False,
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        page_html(self.limits)  # made once, before anybody waits for it
        self.predicting.start()
        self.explaining.start()
        yield
        self.writing.stop()
        await self.predicting.stop()
        await self.explaining.stop()

    # What is answered

    async def predict(self, request: Request) -> Response:
        _check_type(request.headers)
        question = read_question(await _body(request, self.limits.body), self.limits)
        model = self.models.find(question.model)
        texts = model.read(question.texts)
        if question.explain:
            answers = await _unless_gone(request, self.explaining.ask(model, texts))
        else:
            answers = await self.predicting.ask(model, texts)
        if question.top is not None:
            answers = _best(answers, question.top)
        return _json({"model": model.name, "predictions": answers})

    async def generate(self, request: Request) -> Response:
        _check_type(request.headers)
        question = read_writing(await _body(request, self.limits.body), self.limits)
        model = self.models.find(question.model, "texts")
        events = self.writing.events(model, question)
        if question.stream:
            first = await _unless_gone(request, _first(events))  # what is refused is refused before anything is sent
            return EventStream(first, events)
        return _json(await _unless_gone(request, _last(events)))

    async def score(self, request: Request) -> Response:
        _check_type(request.headers)
        text, name = read_scoring(await _body(request, self.limits.body), self.limits)
        return _json(await self.writing.score(self.models.find(name, "texts"), text))

    async def forecast(self, request: Request) -> Response:
        _check_type(request.headers)
        question = read_forecasting(await _body(request, self.limits.body), self.limits)
        model = self.models.find(question.model, "forecasts")
        [found] = await _unless_gone(request, self.predicting.ask(model, [question]))
        self.metrics.forecast[model.name] += len(found["forecasts"])
        return _json({"model": model.name, **found})

    async def list_models(self, _: Request) -> Response:
        return _json({"models": [model.info for model in self.models]})

    async def health(self, _: Request) -> Response:
        return _json({"status": "ok"})

    async def measurements(self, _: Request) -> Response:
        text = self.metrics.text({"model": model.name, "kind": model.kind} for model in self.models)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        columns = next((model.columns for model in self.models if model.columns), ())
        names, writers, forecasters = (
            [model.name for model in self.models if model.does == does] for does in ("labels", "texts", "forecasts")
        )
        hears = any(model.hears for model in self.models)
        token = self.access.token is not None
        return _json(document(self.limits, names, token, columns, hears, writers, forecasters))

    async def page(self, _: Request) -> Response:
        html, policy = page_html(self.limits)
        return Response(html, media_type="text/html", headers={"Content-Security-Policy": policy})

    # What every answer has in common

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        began, status, more = time.perf_counter(), 0, True

        async def receive_noting() -> Message:
            nonlocal more
            message = await receive()
            more = message.get("more_body", False)
            return message

        async def send_completed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_common(message["headers"])]
            await send(message)

        try:
            refusal = await self._answer(scope, receive_noting, send_completed)
            if refusal is not None and not status:
                headers = refusal.headers | (CLOSE if more and _has_body(scope) else {})  # the rest isn't read
                answer = Response(refusal.body, refusal.status, headers, "application/json")
                await answer(scope, receive, send_completed)
        except ClientDisconnect:
            status = 499  # as others log a client that has gone
        seconds = time.perf_counter() - began
        self.metrics.answered(scope["route"].path if "route" in scope else "(unknown)", status, seconds)
        client = scope["client"][0] if scope.get("client") else "-"
        self.note(f"{client} {scope['method']} {_shown_path(scope)} {status} {1000 * seconds:.1f} ms")

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Refusal | None:
        """Answers, or says why not."""
        scope["app"] = self  # so that the router raises what it finds wrong
        try:
            headers = Headers(scope=scope)
            _check_framing(headers)
            self.access.check(scope["path"], headers)
            await self._routes(scope, receive, send)
            return None
        except Refusal as refusal:
            return refusal
        except HTTPException as error:
            return _of_router(error)
        except ClientDisconnect:
            raise
        except asyncio.CancelledError:  # the time to drain is over
            return Refusal(503, "stopping", "the server is stopping")
        except Exception as error:
            log.error("%s failed with %s", _shown_path(scope), described(error))
            return Refusal(500, "server_failed", "something went wrong in the server; its log has more")


def _check_framing(headers: Headers) -> None:
    """Two lengths: a proxy before this server might believe the other one, and see two requests where we see one."""
    if "transfer-encoding" in headers and "content-length" in headers:
        raise Refusal(400, "bad_request", "Transfer-Encoding and Content-Length exclude each other")


def _check_type(headers: Headers) -> None:
    kind, _, parameter = headers.get("content-type", "").lower().partition(";")
    name, _, charset = parameter.partition("=")
    utf8 = not parameter.strip() or (name.strip() == "charset" and charset.strip(' "') in ("utf-8", "utf8"))
    if kind.strip() != "application/json" or not utf8 or headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "wrong_content_type", "the body must be JSON: Content-Type: application/json")


async def _body(request: Request, limit: int) -> bytes:
    """All of it, unless it is too large: then it isn't read to the end."""
    too_large = Refusal(413, "too_large", f"a request has at most {limit:,} bytes")
    if int(request.headers.get("content-length", 0)) > limit:  # h11 has seen that it is a number
        raise too_large
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large
        parts.append(part)
    return b"".join(parts)


async def _first(events: AsyncIterator[Event]) -> Event:
    return await anext(events)


async def _last(events: AsyncIterator[Event]) -> Event:
    """The last of them; closed with whoever waits for it."""
    last: Event = {}
    async with aclosing(events):  # type: ignore[type-var] # it is a generator
        async for event in events:
            last = event
    return last


async def _unless_gone(request: Request, asking: Coroutine[Any, Any, Found]) -> Found:
    """Given up when the client goes: a page asks again with every few letters, and an explanation takes long."""
    answering, going = asyncio.ensure_future(asking), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((answering, going), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnect
        return answering.result()
    finally:
        answering.cancel()
        going.cancel()
        await asyncio.gather(answering, return_exceptions=True)  # so that what it holds is let go by now


def _best(answers: Answers, top: int) -> Answers:
    """The most probable labels, in this order."""
    ordered = (sorted(answer["probabilities"].items(), key=lambda item: -item[1]) for answer in answers)
    return [answer | {"probabilities": dict(best[:top])} for answer, best in zip(answers, ordered, strict=True)]


def _of_router(error: HTTPException) -> Refusal:
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return Refusal(405, "wrong_method", f"this address takes {allowed}", error.headers)
    return Refusal(error.status_code, "unknown_address", "there is nothing at this address; see /openapi.json")


def _json(values: Any) -> Response:
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json")


COMMON = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
POLICY = b"content-security-policy"


def _common(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of every answer; a page has its own policy."""
    if any(name == POLICY for name, _ in headers):
        return COMMON
    return [*COMMON, (POLICY, NO_CONTENT.encode())]


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _shown_path(scope: Scope) -> str:
    """For the log: as it was sent, in ASCII and without the query, which may hold a text."""
    return scope.get("raw_path", b"-").decode("ascii", "replace")[:100]


# The page at which a person tries a model: the same for all, which it asks the server about

SCRIPT_WORDS = {
    "trouble 401": both("This needs the server’s token."),
    "trouble 404": both("The server no longer has this model. Reload the page."),
    "trouble 413": both("This is too long for the server."),
    "trouble 422": both("The server doesn’t take this."),
    "trouble 429": both("The server is busy. Asking again …"),
    "trouble 500": both("Something went wrong in the server; its log says what."),
    "trouble 503": both("The server didn’t manage in time. Asking again …"),
    "trouble unreachable": both("The server doesn’t answer. Is it still running?"),
    "trouble other": both("The server refused."),
    "lead label": both(
        "Type a text: the answer comes as you type, with how sure the model is and the words that it rests on."
    ),
    "lead entities": both(
        "Type a text: its entities are marked as you type, each with its type and how sure the model is."
    ),
    "lead tags": both(
        "Type a text: every word gets its tag as you type. Point at a word to see how sure the model is."
    ),
    "lead translation": both("Type a text: what the model writes for it comes as you type."),
    "lead recording": both("Choose a recording: the model says what it hears, and how sure it is."),
    "lead forecast": both(
        "Paste a table of dates and numbers, or drop a file: the next steps are drawn with their quantiles."
    ),
    "needs dated": both(
        "With the columns {columns}, one step is {spacing}. The last {lookback} steps are read, and {horizon} forecast."
    ),
    "needs": both("With the columns {columns}. The last {lookback} steps are read, and {horizon} forecast."),
    "shortened": both("Only the last {count} of {all} lines are sent: the server doesn’t take more."),
    "fan": both("{name}: what was read, and {steps} steps ahead with their quantiles"),
    "hint fan": both("Point at a step, or go along with the arrow keys, to see its figures."),
    "forecast": both("The forecast"),
    "no forecast": both("The forecast will stand here."),
    "date": both("date"),
    "step": both("step"),
    "channels": both("Channels"),
    "horizon": both("Steps that are forecast"),
    "lookback": both("Steps that are read"),
    "spacing": both("One step is"),
    "mase": both("MASE on test windows, 95 % interval"),
    "test windows": both("Test windows"),
    "training windows": both("Training windows"),
    "lead text": both("Begin a text, and let the model write on: stop it, change what it wrote, and go on from there."),
    "writes": both("The model writes …"),
    "wrote": both("{count} tokens written, {nats} nats per token."),
    "stopped": both("Stopped."),
    "ended length": both("It ended at the length that was asked for."),
    "ended end": both("The model ended the text."),
    "ended stop": both("It ended at a stop text."),
    "ended time": both("It ended because its time was over."),
    "answer": both("The answer"),
    "translation": both("The text that was written"),
    "no answer": both("The answer will stand here."),
    "no translation": both("What the model writes will stand here."),
    "unknown tokens": both("Unknown to the model:"),
    "no label": both("No label"),
    "no words": both("No words"),
    "no entity": both("No entity"),
    "one entity": both("1 entity"),
    "entities": both("{count} entities"),
    "tags": both("{count} tags"),
    "hint entities": both("Point at an entity, or tap it, to see how sure the model is."),
    "hint tags": both("Point at a word, or tap it, to see how sure the model is of its tag."),
    "fewer labels": both("Fewer labels"),
    "all labels": both("All {count} labels"),
    "known": both("{share} of the words are known to the model."),
    "doubt": both(" Little to judge by: don’t rely on the answer."),
    "unknown": both("unknown to the model"),
    "model": both("Model"),
    "parameters": both("Parameters"),
    "labels": both("Labels"),
    "seeds": both(", {count} seeds"),
    "accuracy": both("Accuracy on test rows, 95 % interval"),
    "macro_f1": both("Macro-F1 on test rows, 95 % interval"),
    "balanced_accuracy": both("Balanced accuracy on test rows, 95 % interval"),
    "entity_f1": both("Entity F1 on test rows, 95 % interval"),
    "bleu": both("BLEU on test rows, 95 % interval"),
    "chrf": both("chrF on test rows, 95 % interval"),
    "exact": both("Exact match on test rows, 95 % interval"),
    "signature bleu": both("Signature of {score}, in sacrebleu's words:", score="BLEU"),
    "signature chrf": both("Signature of {score}, in sacrebleu's words:", score="chrF"),
    "wer": both("Word error rate on test rows, 95 % interval"),
    "loss": both("Loss on test rows, 95 % interval"),
    "calibration": both("How far probabilities are off, on average"),
    "calibrated": both("{after} points (before calibration: {before})"),
    "data": both("Data"),
    "training rows": both("Training rows"),
    "test rows": both("Test rows"),
}
"""What the script of the page says; it fills the gaps."""
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
SCRIPT_WORDS |= {f"2 {unit}": Spacing(seconds=2 * seconds).told for unit, seconds in UNITS.items()}
SCRIPT_WORDS |= {f"2 {unit}": Spacing(months=2 * months).told for unit, months in (("month", 1), ("year", 12))}


@cache
def page_html(limits: Limits) -> tuple[str, str]:
    """The page, and the policy to be sent with it."""
    names = ("shell_head", "shell", "serving_writing", "serving_forecasting", "serving")
    scripts = [source(f"{name}.js") for name in names]
    # what it may do beyond other pages is to ask this server
    allowed = policy(scripts).replace("connect-src 'none'", "connect-src 'self'")
    html = (
        environment()
        .get_template("serving.html")
        .render(
            language="en",
            title=both("Try the model"),
            sections=(),
            reserved={},
            style=Markup(source("shell.css")),
            scripts=[Markup(script) for script in scripts],
            policy=allowed,
            maker="rnnlab serve",
            made=made(now()),
            script_words={key: [text.en, text.zh] for key, text in SCRIPT_WORDS.items()},
            lead=SCRIPT_WORDS["lead label"],
            colours=[", ".join(str(round(255 * part)) for part in rgb(colour)) for colour in PALETTE],
            limits=limits,
        )
    )
    return html, f"{allowed}; frame-ancestors 'none'"  # which a page can't say of itself
