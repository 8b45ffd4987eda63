"""How much one client may ask for, how long it may take, and what it is told when it gets no answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    body: int = 1_000_000  # bytes of a request
    texts: int = 256  # in a request
    characters: int = 20_000  # of a text
    explained: int = 8  # texts in a request that asks for explanations, which cost a hundred times more
    explained_characters: int = 1_000  # of such a text
    explained_queue: int = 64  # such texts that wait
    length: int = 10_000  # tokens of a text that a model is asked to write
    samples: int = 16  # such texts in a request
    stops: int = 8  # texts at which writing stops
    writers: int = 4  # requests that are written for at the same time
    writing_seconds: float = 60.0  # then a text ends where it is
    values: int = 100_000  # of the series of a request
    series: int = 256  # in a request
    depth: int = 20  # of nested JSON
    connections: int = 512  # at a time
    queue: int = 4_096  # texts that wait for the model
    queue_characters: int = 8_000_000  # of these texts together
    batch: int = 1_024  # texts computed together
    wait_ms: float = 3.0  # that a text waits for others to be computed with
    answer_seconds: float = 30.0  # to wait for the model
    header_seconds: float = 10.0  # from the first byte of a request to the end of its headers
    body_seconds: float = 20.0  # for the rest of it
    body_rate: int = 1_000  # bytes a second of a body, on average, once it has had `grace_seconds`
    grace_seconds: float = 5.0
    write_seconds: float = 20.0  # for a client to take an answer
    idle_seconds: int = 15  # between two requests of a connection
    drain_seconds: int = 10  # to finish what was asked before a stop


class Refusal(Exception):
    """Not served, and why: JSON always. ``code`` is for programs and stays; ``reason`` is for people."""

    status: int
    code: str
    reason: str

    def __init__(self, status: int, code: str, reason: str, headers: Mapping[str, str] | None = None):
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason
        self.headers: dict[str, str] = dict(headers or {})

    @property
    def body(self) -> bytes:
        told = {"error": {"code": self.code, "reason": self.reason}}
        return json.dumps(told, ensure_ascii=False).encode(errors="replace")
