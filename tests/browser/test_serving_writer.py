"""The page of `rnnlab serve` for language models: it writes with you, in a browser, with a real server behind it."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import DESK, PHONE, axe, each_value, overflowing
from visiting import serving_process

LABELS = Path(__file__).parents[1] / "formats" / "v1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("writers")
    models = serving_process.writing_models(folder)
    named = (f"rnn={models['rnn']}", f"n-grams={models['kneser-ney']}", f"labels={LABELS}")
    limits = {"length": 1_000_000}
    with serving_process.serving(*named, limits=limits, folder=folder) as started:
        yield started


def written(server: Any, **body: Any) -> str:
    with server.client() as client:
        return client.post("/v1/generate", json=body).json()["samples"][0]["text"]


def write(page: Any) -> None:
    page.click("#write")
    page.wait_for_selector("#answer[aria-busy=false]")


def until(page: Any, true: Callable[[], bool]) -> None:
    for _ in range(300):
        if true():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it took too long")


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_it_writes_on_and_what_is_changed_is_continued(visit, server, viewport):
    page = visit(server, viewport=viewport)
    assert page.locator("#result").is_hidden()
    assert page.locator("#send").is_hidden()
    page.fill("#text", "the dog ")
    page.fill("#length", "40")
    page.fill("#seed", "5")
    page.locator("#temperature").fill("0.5")
    page.locator("#top-p").fill("0.9")
    assert page.locator("output").all_inner_texts() == ["0.50", "0.90"]
    how = {"length": 40, "seed": 5, "temperature": 0.5, "top_p": 0.9}
    write(page)
    first = "the dog " + written(server, prompt="the dog ", **how)
    assert page.input_value("#text") == first
    assert "40 tokens written" in page.locator("#wrote").inner_text()
    assert "length that was asked for" in page.locator("#wrote").inner_text()
    page.fill("#text", "a cat ☂ ")  # changed by hand
    page.press("#text", "Control+Enter")
    page.wait_for_selector("#answer[aria-busy=false]")
    assert page.input_value("#text") == "a cat ☂ " + written(server, prompt="a cat ☂ ", **how)
    assert "Unknown to the model: ☂" in page.locator("#wrote").inner_text()
    page.click("#back")
    assert page.input_value("#text") == "a cat ☂ "
    assert page.locator("#back").is_disabled()


def test_a_stop_ends_the_writing_and_keeps_what_is_there(visit, server):
    page = visit(server)
    page.fill("#length", "1000000")
    page.click("#write")
    assert page.locator("#text").evaluate("field => field.readOnly")
    until(page, lambda: len(page.input_value("#text")) > 20)
    page.click("#stop")
    page.wait_for_selector("#answer[aria-busy=false]")
    assert page.locator("#wrote").inner_text() == "Stopped."
    left = page.input_value("#text")
    assert 20 < len(left) < 1_000_000
    page.wait_for_timeout(300)
    assert page.input_value("#text") == left
    assert not page.locator("#text").evaluate("field => field.readOnly")
    with server.client() as client:
        until(page, lambda: "rnnlab_writing 0" in client.get("/metrics").text)  # the server ended its work, too


def test_what_is_no_number_is_noticed_before_anything_is_asked(visit, server):
    page = visit(server)
    page.fill("#length", "0")
    page.click("#write")
    assert page.locator("#length:invalid").count() == 1
    assert page.input_value("#text") == ""


def test_the_command_does_the_same(visit, server):
    page = visit(server)
    page.fill("#text", "it's")
    page.fill("#seed", "3")
    command = shlex.split(page.locator("#request pre code").inner_text())
    assert command[2].endswith("/v1/generate")
    assert json.loads(command[-1]) == {
        "prompt": "it's", "length": 200, "temperature": 0.8, "top_p": 0.95, "seed": 3, "stream": True, "model": "rnn",
    }  # fmt: skip


def test_models_that_answer_with_labels_keep_their_page(visit, server):
    page = visit(server)
    page.select_option("#model", "labels")
    assert page.locator("#writing").is_hidden()
    assert page.locator("#send").is_visible()
    page.fill("#text", "a great film")
    with page.expect_response("**/v1/predict"):
        page.press("#text", "Enter")
    page.wait_for_selector("#result:not([hidden])")
    page.select_option("#model", "n-grams")
    assert page.locator("#result").is_hidden()
    page.fill("#length", "20")
    write(page)
    assert len(page.input_value("#text")) == len("a great film") + 20


@pytest.mark.parametrize(("language", "scheme", "viewport"), each_value(["en", "zh"], ["light", "dark"], [DESK, PHONE]))
def test_it_can_be_read_by_all(visit, server, language, scheme, viewport):
    page = visit(server, viewport=viewport, color_scheme=scheme)
    page.click(f'[data-language="{language}"]')
    page.fill("#length", "60")
    page.fill("#text", "the dog ")
    write(page)
    assert axe(page) == []
    assert overflowing(page) == []
    assert page.locator("#write").inner_text() == {"en": "Write on", "zh": "接着写"}[language]
