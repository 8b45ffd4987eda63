"""What a client is told when it gets no answer: always JSON, always with a reason."""

import json
from collections.abc import Mapping


class Refusal(Exception):
    """Not served, and why. ``code`` is for programs and stays; ``reason`` is for people."""

    def __init__(self, status: int, code: str, reason: str, headers: Mapping[str, str] | None = None):
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason
        self.headers = dict(headers or {})

    @property
    def body(self) -> bytes:
        return json.dumps({"error": {"code": self.code, "reason": self.reason}}, ensure_ascii=False).encode(
            errors="replace"
        )
