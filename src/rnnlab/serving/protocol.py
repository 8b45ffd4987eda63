"""A connection with patience that ends: clients that send or read too slowly are cut off.

uvicorn's own connections have no time limit for headers, bodies or answers: a few hundred clients that send a byte a
second would hold the server for ever. What it tells a client itself, it tells as plain text; here it is JSON."""

import asyncio
import sys
from enum import Enum
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from rnnlab.serving.limits import Limits, Refusal
from rnnlab.serving.metrics import Metrics

LINGER_SECONDS, LINGER_BYTES = 2.0, 4_000_000  # for a client that is still sending to read why it was refused
ROUTE = "(connection)"  # in the metrics: of requests that no route has seen


class Phase(Enum):
    NONE = "none"  # nothing is expected of the client
    HEADERS = "headers"
    BODY = "body"


class PatientTransport:
    """uvicorn writes to it, and closes it, as if it were the connection. Closing takes care of two kinds of client:
    one that is still sending would be told that the connection was reset, instead of why; and one that doesn't read
    would keep the rest of its answer in memory. An answer is sent in one piece: uvicorn writes its headers apart from
    its body, and every system call may have to wait for the thread that computes."""

    def __init__(self, transport: asyncio.Transport, protocol: "PatientProtocol"):
        self._transport, self._protocol = transport, protocol
        self._closing = False
        self._written: list[bytes] = []  # since the loop last came by

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._closing or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if data and not self._written:
            self._protocol.loop.call_soon(self._flush)
        if data:
            self._written.append(data)

    def _flush(self) -> None:
        if self._written:
            self._transport.write(b"".join(self._written))
            self._written.clear()

    def close(self) -> None:
        if self.is_closing():
            return
        self._flush()
        self._closing = True
        still_sending = self._protocol.refused or self._protocol.conn.their_state is h11.SEND_BODY
        if still_sending and self._transport.can_write_eof():
            self._transport.write_eof()  # after what is to be written; then what comes is thrown away, for a while
            self._transport.resume_reading()
            self._protocol.loop.call_later(LINGER_SECONDS, self._transport.abort)
        else:
            self._transport.close()
            self._protocol.loop.call_later(self._protocol.limits.write_seconds, self._transport.abort)


class PatientProtocol(H11Protocol):
    refused: bool

    limits: ClassVar[Limits]
    metrics: ClassVar[Metrics]

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        self.refused = False  # by this class, whatever may still come
        self._phase = Phase.NONE
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._began = 0.0  # of the body
        self._arrived = 0  # bytes of it
        self._lingering = 0  # bytes that came after it was refused

    # The life of a connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self.transport: asyncio.Transport = PatientTransport(transport, self)  # type: ignore[assignment] # the same for all that is used
        self.metrics.connections = len(self.connections)
        if len(self.connections) > self.limits.connections:
            self._refuse(Refusal(503, "too_many_connections", "too many connections", {"Retry-After": "5"}))
        else:
            self._expect(Phase.HEADERS)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            self._lingering += len(data)
            if self._lingering > LINGER_BYTES:
                self.transport.abort()
            return
        if self._phase is Phase.BODY:
            self._arrived += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:  # nobody needs the rest
            self.transport.close()
        super().on_response_complete()  # which may begin with the next request
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(Phase.NONE)
        self._stop_write_timer()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self.metrics.connections = len(self.connections)

    def shutdown(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def timeout_keep_alive_handler(self) -> None:
        self.transport.close()

    def _should_upgrade(self) -> bool:
        return False  # there are no web sockets here: such a header is passed over

    # Slow clients

    def _look(self) -> None:
        """Sets the timer by what is expected next."""
        if self.transport.is_closing():
            self._expect(Phase.NONE)
        elif self.conn.their_state is h11.SEND_BODY:
            self._expect(Phase.BODY)
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:  # a part of the next request
            self._expect(Phase.HEADERS)
        elif self.conn.their_state is not h11.IDLE or self.timeout_keep_alive_task is not None:
            self._expect(Phase.NONE)

    def _expect(self, phase: Phase) -> None:
        if phase is self._phase:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._phase = phase
        if phase is Phase.HEADERS:
            self._timer = self.loop.call_later(self.limits.header_seconds, self._too_slow)
        elif phase is Phase.BODY:
            self._began, self._arrived = self.loop.time(), 0
            self._timer = self.loop.call_later(self.limits.grace_seconds, self._check_body)

    def _check_body(self) -> None:
        """Once the grace is over, every second."""
        seconds = self.loop.time() - self._began
        if seconds >= self.limits.body_seconds or self._arrived < seconds * self.limits.body_rate:
            self._too_slow()
        else:
            self._timer = self.loop.call_later(min(1.0, self.limits.body_seconds - seconds), self._check_body)

    def _too_slow(self) -> None:
        phase = self._phase.value
        self._refuse(Refusal(408, "too_slow", f"the {phase} didn't arrive in time"), f"slow {phase}")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self._unread)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_write_timer()

    def _unread(self) -> None:
        self.metrics.cut["unread answer"] += 1
        self.transport.abort()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    # Refusals

    def send_400_response(self, msg: str) -> None:
        """uvicorn calls it where it catches what h11 found wrong."""
        too_large = getattr(sys.exception(), "error_status_hint", 400) == 431
        if too_large:
            self._refuse(Refusal(431, "headers_too_large", "the headers are too large"), "malformed")
        else:
            self._refuse(Refusal(400, "bad_request", "this isn't a valid HTTP request"), "malformed")

    def _refuse(self, refusal: Refusal, cut: str | None = None) -> None:
        """Says why, if nothing else has been said yet, and closes the connection."""
        self._expect(Phase.NONE)
        self.metrics.cut[cut or refusal.code] += 1
        self.refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # for the application: there is nobody to answer
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.metrics.answered(ROUTE, refusal.status, 0.0)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(refusal.body))}
            headers |= {"Connection": "close", **refusal.headers}
            phrase = STATUS_PHRASES[refusal.status]
            response = h11.Response(status_code=refusal.status, headers=list(headers.items()), reason=phrase)
            for event in (response, h11.Data(data=refusal.body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def patient(limits: Limits, metrics: Metrics) -> type[PatientProtocol]:
    """The class of connections with these limits, as uvicorn wants it."""
    return type("PatientProtocol", (PatientProtocol,), {"limits": limits, "metrics": metrics})
