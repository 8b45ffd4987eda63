"""Pages in a real browser: from a file: address, with the network off, and without a word on the console."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import ARGUMENTS, CHROMIUM, DESK, REQUIRED, drawn, missing
from visiting import Visitor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing()
    if reason and not REQUIRED:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Ended with its module: while playwright is there, its event loop counts as running, and no other test could have
    one."""
    reason = missing()
    if reason:
        pytest.fail(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


class Opener:
    """``open_page(html, viewport=…, color_scheme=…, …)`` → a page, all its charts drawn."""

    def __init__(self, browser: Any, folder: Path):
        self.browser, self.folder = browser, folder
        self.contexts: list[Any] = []
        self.complaints: list[str] = []  # what was asked of the network, or said on the console

    def __call__(self, html: str, *, viewport: dict[str, int] = DESK, script: bool = True, **options: Any) -> Any:
        path = self.folder / f"page-{len(self.contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = self.browser.new_context(viewport=viewport, java_script_enabled=script, **options)
        self.contexts.append(context)
        context.set_offline(True)
        context.route("**/*", lambda route: self._only(path.as_uri(), route))
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.goto(path.as_uri())
        if script:
            drawn(page)
        return page

    def _only(self, address: str, route: Any) -> None:
        if route.request.url.split("#")[0] == address:
            route.continue_()
        else:
            self.complaints.append(f"asked for {route.request.url[:200]}")
            route.abort()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    """In the end nothing may have been asked of the network, and nothing said on the console."""
    opener = Opener(browser, tmp_path)
    yield opener
    for context in opener.contexts:
        context.close()
    assert opener.complaints == []


@pytest.fixture
def visit(browser: Any) -> Iterator[Visitor]:
    visitor = Visitor(browser)
    yield visitor
    for context in visitor.contexts:
        context.close()
    assert visitor.complaints == []
