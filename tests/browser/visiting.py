"""Visits to the page of `rnnlab serve`, with a real server behind it."""

import importlib.util
import json
from typing import Any

from browsing import DESK, ROOT

_spec = importlib.util.spec_from_file_location("serving_process", ROOT / "tests" / "serving" / "serving_process.py")
assert _spec is not None
assert _spec.loader is not None
serving_process = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(serving_process)


class Visitor:
    """``visit(server, …)`` → the page, its models known. ``asked`` are the bodies of the questions so far."""

    def __init__(self, browser: Any):
        self.browser = browser
        self.contexts: list[Any] = []
        self.complaints: list[str] = []  # what was asked of others than the server, or said on the console
        self.asked: list[dict[str, Any]] = []

    def __call__(self, server: Any, *, viewport: dict[str, int] = DESK, refusals: bool = False, **options: Any) -> Any:
        """``refusals``: some answers will be, of which a browser writes on the console."""
        context = self.browser.new_context(viewport=viewport, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: self._note(server, request))
        page.on("console", lambda said: self._hear(said, refusals))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.goto(server.address)
        page.wait_for_selector("#facts div, #token-form:not([hidden])", state="attached")
        return page

    def _note(self, server: Any, request: Any) -> None:
        if not request.url.startswith(server.address):
            self.complaints.append(f"asked for {request.url[:200]}")
        if request.url.endswith("/v1/predict"):
            self.asked.append(json.loads(request.post_data_buffer))

    def _hear(self, said: Any, refusals: bool) -> None:
        """But for what a test provokes, and for the browser's word that somebody was quicker than an autofocus."""
        refused = refusals and said.text.startswith("Failed to load resource")
        if not refused and not said.text.startswith("Autofocus processing was blocked"):
            self.complaints.append(f"{said.type}: {said.text}")


def ask(page: Any, text: str) -> None:
    """Types a text, and waits for its answer."""
    page.fill("#text", text)
    with page.expect_response("**/v1/predict") as answered:
        page.press("#text", "Enter")
    answered.value.finished()
    page.wait_for_selector("#answer[aria-busy=false]")


def shown(probability: float) -> str:
    if probability == 1:
        return "100\N{NO-BREAK SPACE}%"
    bounds = "< 0.1 %" if probability < 0.0005 else "> 99.9 %" if probability >= 0.9995 else None
    return (bounds or f"{100 * probability:.1f} %").replace(" ", "\N{NO-BREAK SPACE}")
