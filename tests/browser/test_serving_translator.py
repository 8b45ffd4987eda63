"""The page of `rnnlab serve` for translators, in a browser, with a real server behind it."""

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import DESK, PHONE, axe, overflowing
from visiting import serving_process


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("translators")
    with serving_process.serving(f"zh={serving_process.translating_model(folder)}", folder=folder) as started:
        yield started


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_what_is_written_stands_where_an_answer_would(visit, server, viewport):
    page = visit(server, viewport=viewport)
    assert "what the model writes for it" in page.locator("#lead").inner_text()
    assert page.locator("#nothing").inner_text() == "What the model writes will stand here."
    assert page.locator("#answer").get_attribute("aria-label") == "The text that was written"
    page.fill("#text", "we like rain now.")
    page.click("#send")
    page.wait_for_selector("#result:visible")
    with server.client() as client:
        told = client.post("/v1/predict", json={"text": "we like rain now."}).json()["predictions"][0]
    assert page.locator("#label").inner_text() == told["label"]
    assert page.locator("#bars").is_hidden()
    assert page.locator("#reasons").is_hidden()
    facts = page.locator("#facts").inner_text()
    assert "Labels" not in facts
    assert "BLEU on test rows" in facts
    assert "tok:zh" in facts
    assert overflowing(page) == []
    assert axe(page) == []
