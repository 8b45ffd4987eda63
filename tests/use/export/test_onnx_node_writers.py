"""examples/onnx-node: a language model writes in Node and in a browser, the same text as `rnnlab generate`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node_example import browsing, many_texts, node

import rnnlab
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN, WRITTEN, Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.use.onnx.tokenizer_file import rules
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import open_model
from rnnlab.use.writing import Writer

SIGNS = ["\n", ",", ".", "(", ")", "[", "$", "%", "…", "n't", "'s", "'LL", "'ſ", "'Sx", "a", "B", "好", "don't", "\n"]
CHINESE = "春眠不觉晓，处处闻啼鸟。\n夜来风雨声，花落知多少。\n床前明月光，疑是地上霜。\n举头望明月，低头思故乡。\n"
WORDY = "The dog (a pilot's) didn't bark, it sang.\nDon't wait: the bird [sic] sees $ 5 and 8 % more!\n"
WRITERS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {  # model, its settings, tokeniser, of the task
    "gru2": ("gru", {"hidden": 16, "layers": 2, "residual": True, "reset": "before"}, "chars", {}),
    "rnn": ("rnn", {"hidden": 12, "tied": True, "state": "carried"}, "chars", {}),
    "lines": ("gru", {"hidden": 16}, "chars", {"data": "made-up", "text_per": "line"}),
    "words": ("lstm", {"hidden": 16}, "words", {"unit": "words"}),
    "chinese": ("gru", {"hidden": 16}, "chars", {}),
    "transformer": ("transformer", {"width": 8, "look_ahead": False}, "chars", {}),
}
TEXTS = {"words": WORDY, "chinese": CHINESE}
TOKENS = """\
import { readFileSync } from "node:fs";
import { Joiner } from "./join.mjs";
import { Tokenizer } from "./tokenize.mjs";
const { rules, texts, tokens } = JSON.parse(readFileSync(0, "utf-8"));
const tokenizer = new Tokenizer({ format: 1, tokenizer: rules, unknown: 1, vocabulary: [] });
const joiner = new Joiner(rules);
const pieces = tokens.map((row) => row.map(joiner.joining()).join(""));
const joined = tokens.map((row) => joiner.join(row));
console.log(JSON.stringify({ cut: texts.map((text) => tokenizer.tokenize(text)), pieces, joined }));
"""


@pytest.fixture(scope="session")
def writers(example: Path, made: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Writer]:
    """A trained one, and untrained ones, which write nonsense: the same nonsense everywhere."""
    folder, text = tmp_path_factory.mktemp("writers"), nested_sentences(120, 1).text
    (folder / "novel.txt").write_text(text, encoding="utf-8")
    training = {"epochs": 2, "batch_size": 8}
    run = rnnlab.train(
        str(folder / "novel.txt"), model="lstm", settings=["model.hidden=20"], training=training, out=folder
    )
    stored = {"lstm": open_model(run.path)}
    for name, (kind, settings, unit, of_task) in WRITERS.items():
        tokenizer = Tokenizer(unit, lowercase=False, verbatim=True)
        words = sorted(set(tokenizer.tokenize(TEXTS.get(name, text))))
        read = Preprocessor(tokenizer=tokenizer, vocabulary=Vocabulary((*WRITTEN, *words)))
        stored[name] = made(ARCHITECTURES[kind](**settings), "language-model", preprocessor=read, **of_task)
    for name, model in stored.items():
        export_model(model, example / f"{name}.onnx")
    return {name: Writer(model) for name, model in stored.items()}


# In Node


@pytest.mark.parametrize(("name", "how"), [
    ("lstm", {"seed": 3}), ("gru2", {"temperature": 0.7, "top_p": 0.8, "seed": 11}), ("rnn", {"temperature": 0.0}),
    ("lines", {"seed": 2, "length": 200}), ("rnn", {"top_k": 4, "top_p": 0.9, "seed": 5}),
    ("words", {"seed": 4, "top_k": 30}), ("chinese", {"temperature": 0.8, "seed": 7}),
])  # fmt: skip
def test_node_writes_what_generate_writes(example: Path, writers: dict[str, Writer], name: str, how: dict[str, Any]):
    how = {"length": 60, **how}
    for prompt in ({"words": "The dog\ndidn't", "chinese": "明月"}.get(name, "the  dog\n"), ""):
        expected = writers[name].generate([prompt], **how)[0]
        options = [f"--{key.replace('_', '-')}={value}" for key, value in how.items()]
        done = node(example, "write.mjs", f"{name}.onnx", prompt, *options)
        assert done.stderr == ""
        assert done.stdout == prompt + expected.text + "\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["transformer.onnx"], "without a file for one token at a time"),
        (["lstm.onnx", "--temperature=-1"], "--temperature: a number from 0 on is needed"),
        (["lstm.onnx", "--top-k=0"], "--top-k: a whole number from 1 on is needed"),
        (["lstm.onnx", "--length=many"], "--length: a whole number"),
    ],
)
def test_node_says_what_it_cant_do(example: Path, writers: dict[str, Writer], arguments: list[str], told: str):
    done = node(example, "write.mjs", *arguments)
    assert done.returncode == 1
    assert told in done.stderr


@pytest.mark.parametrize("name", ["words", "whitespace", "chars"])
def test_texts_are_cut_and_joined_as_in_python(example: Path, name: str):
    tokenizer = Tokenizer(name, lowercase=False, verbatim=True)
    texts = [*many_texts(150), WORDY, "a\n\n b\r\nc", "\n", "\ue00a x"]
    tokens = [[*tokenizer.tokenize(text), *SIGNS[at % 7 :: 3], *SIGNS[at % 5 :: 2]] for at, text in enumerate(texts)]
    (example / "tokens.mjs").write_text(TOKENS, encoding="utf-8")
    given = {"rules": rules(tokenizer), "texts": texts, "tokens": tokens}
    done = node(example, "tokens.mjs", given=json.dumps(given))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row or [SPECIAL[UNKNOWN]] for row in found["cut"]] == [tokenizer.tokenize(text) for text in texts]
    assert found["joined"] == [tokenizer.join(row) for row in tokens]
    assert found["pieces"] == found["joined"]


# In a browser


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page without a word on the console; ``page.asked`` has the addresses that it asked for."""
    page = chromium.new_page()
    complaints: list[str] = []
    page.asked = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    page.close()
    assert complaints == []


def opened(page: Any, home: str) -> None:
    page.goto(home)
    page.wait_for_selector("#writing:not([hidden])", timeout=60_000)


def fill(page: Any, **fields: Any) -> None:
    for name, value in fields.items():
        page.fill(f"#{name.replace('_', '-')}", str(value))


def finished(page: Any) -> str:
    """What was written, once it is."""
    page.wait_for_selector("#write:enabled", timeout=60_000)
    return page.locator("#written").text_content()


@pytest.mark.parametrize(("name", "prompts"), [
    ("lstm", ["", "the  dog\n"]), ("words", ["", "The dog\ndidn't"]), ("chinese", ["", "举头望"]), ("lines", ["a dog"]),
])  # fmt: skip
def test_the_page_writes_what_generate_writes(address, page, writers, name: str, prompts: list[str]):
    home = address(name)
    opened(page, home)
    for prompt in prompts:
        for how in ({"seed": 3, "temperature": 1.0}, {"seed": 12, "temperature": 0.7, "top_k": 9, "top_p": 0.9}):
            fill(page, **{"prompt": prompt, "length": 80, "top_k": "", "top_p": 1, **how})
            page.click("#write")
            expected = writers[name].generate([prompt], length=80, **how)[0]
            assert finished(page) == expected.text
            assert page.locator("#given").text_content().rstrip(" ") == prompt
            done = "The model ended the text" if expected.ended == "end" else "Done"
            told = page.locator("#state").text_content()
            assert re.fullmatch(rf"{done}: {len(expected.text)} characters, [\d,]+ per second\.", told), told
    assert browsing().axe(page) == []
    assert browsing().overflowing(page) == []
    assert [url for url in page.asked if not url.startswith((home, "data:", "blob:"))] == []


def test_the_text_appears_as_it_is_written_and_stop_ends_it(address, page, writers):
    opened(page, address("lstm"))
    fill(page, prompt="the dog ", length=1_000_000, temperature=1, seed=8)
    page.click("#write")
    page.wait_for_function("document.getElementById('written').textContent.length > 50")
    assert page.locator("#state").text_content() == "Writing…"
    assert page.locator("#write").is_disabled()
    page.click("#stop")
    left = finished(page)
    assert 50 < len(left) < 100_000
    assert page.locator("#state").text_content().startswith("Stopped: ")
    assert left == writers["lstm"].generate(["the dog "], length=len(left), seed=8)[0].text
    page.wait_for_timeout(200)
    assert page.locator("#written").text_content() == left
    fill(page, length=30)
    page.click("#write")  # it begins anew
    assert finished(page) == left[:30]


def test_all_of_it_works_by_keyboard(address, page, writers):
    opened(page, address("lstm"))
    assert page.evaluate("document.activeElement.id") == "prompt"
    page.keyboard.type("☂ a cat")
    page.keyboard.press("Tab")
    page.keyboard.type("1000000")  # into the length, whose content the Tab has selected
    page.keyboard.press("Control+Enter")
    page.wait_for_function("document.getElementById('written').textContent.length > 10")
    page.keyboard.press("Escape")
    finished(page)
    assert page.locator("#state").text_content().startswith("Stopped: ")
    assert page.locator("#state").text_content().endswith("Unknown to the model: ☂.")
    fill(page, length=1_000_000)
    page.focus("#write")
    page.keyboard.press("Space")
    page.wait_for_function("document.activeElement.id === 'stop'")
    page.keyboard.press("Enter")
    finished(page)
    assert page.evaluate("document.activeElement.id") == "write"
    fill(page, length=20)
    page.press("#seed", "Enter")
    assert len(finished(page)) == 20


def test_what_is_no_number_is_noticed_before_anything_is_written(address, page, writers):
    opened(page, address("lstm"))
    for field, wrong in (("length", "0"), ("temperature", "-1"), ("top-k", "1.5"), ("top-p", "0"), ("seed", "")):
        before = page.input_value(f"#{field}")
        page.fill(f"#{field}", wrong)
        page.click("#write")
        assert page.locator("input:invalid").evaluate_all("fields => fields.map((one) => one.id)") == [field]
        assert page.locator("#written").text_content() == ""
        page.fill(f"#{field}", before)


def test_a_model_without_steps_is_refused_in_a_sentence(address, page, writers):
    page.goto(address("transformer"))
    page.wait_for_function("document.getElementById('state').textContent.includes('one token at a time')")
    assert page.locator("#writing").is_hidden()
    assert page.locator("#answering").is_hidden()
