"""examples/onnx-node: a model translates in Node and in a browser, the same texts as `rnnlab predict --beam K`."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
from corpora import write_pairs
from node_example import browsing, many_texts, node

import rnnlab
from rnnlab.data.preprocessor import Preprocessor, Side
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import END, SPECIAL, WRITTEN, Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.use.onnx.tokenizer_file import joining, rules
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import StoredModel, open_model
from rnnlab.use.translating import TranslationPrediction, Translator

ENGLISH = ['He said: "It\'s 5 % (more)."', "Don't wait, we like tea now!", "they see birds here.", "Mr. O'Neill's café"]
TEXTS = [
    "we like rain now.",
    "They want tea again!",
    "I see trees",
    "you find songs today.",
    "",
    "☂ unknown words",
    "he",
]
UNTRAINED: dict[str, dict[str, Any]] = {  # whose texts are nonsense: the same nonsense everywhere
    "fed": {"kind": "lstm", "hidden": 12, "layers": 2, "decoder": {"attention": "general", "input_feeding": True}},
    "plain": {"kind": "rnn", "hidden": 12, "decoder": {"attention": "none"}},
    "transformer": {"kind": "transformer", "width": 16, "layers": 2},
}
ENDS = {"fed": 2.0, "plain": 1.0, "transformer": 4.0}
ASK = """\
import { readFileSync } from "node:fs";
import * as ort from "onnxruntime-node";
import { Translator } from "./translator.mjs";
const { names, beams, texts } = JSON.parse(readFileSync(0, "utf-8"));
const told = {};
for (const name of names) {
  const reading = JSON.parse(readFileSync(`${name}.tokenizer.json`, "utf-8"));
  const translator = await Translator.open(ort, `${name}.onnx`, `${name}.step.onnx`, reading);
  for (const beam of beams) {
    const found = (told[`${name} ${beam}`] = []);
    for (const text of texts) found.push(await translator.translate(text, { beam, alternatives: beam }));
  }
}
console.log(JSON.stringify(told));
"""
TOKENS = """\
import { readFileSync } from "node:fs";
import { Joiner } from "./join.mjs";
import { Tokenizer } from "./tokenize.mjs";
const { rules, joining, texts, tokens } = JSON.parse(readFileSync(0, "utf-8"));
const tokenizer = rules && new Tokenizer({ format: 1, tokenizer: rules, unknown: 1, vocabulary: [] });
const joiner = new Joiner(joining);
const cut = tokenizer && texts.map((text) => tokenizer.tokenize(text));
console.log(JSON.stringify({ cut, joined: tokens.map((row) => joiner.join(row)) }));
"""


def side(tokenizer: Tokenizer, texts: list[str], written: bool = False) -> dict[str, Any]:
    words = sorted({token for text in texts for token in tokenizer.tokenize(text)} - set(SPECIAL))
    special = WRITTEN if written else SPECIAL
    return {"tokenizer": tokenizer, "vocabulary": Vocabulary((*special, *words), written=written)}


def decided(model: StoredModel, end: float) -> StoredModel:
    """With larger differences between texts, so that there is something to find; ``end`` is what the end is scored
    higher than other tokens."""
    weights = safetensors.torch.load(model.weights)
    for name in weights:
        if name.startswith("decoder") and name.endswith(("weight", "table", "weight_ih_l0")):
            weights[name] = weights[name] * 1.5
    weights["head.linear.weight"] *= 2
    weights["head.linear.bias"] *= 0
    weights["head.linear.bias"][END] = end
    return replace(model, weights=safetensors.torch.save(weights))


@pytest.fixture(scope="session")
def translators(example: Path, made: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    """A trained one from words to characters, and untrained ones."""
    folder = tmp_path_factory.mktemp("translators")
    run = rnnlab.train(
        str(write_pairs(folder / "pairs.tsv", 160)),
        model="gru",
        settings=["model.hidden=24", "model.embedding.width=16", "task.longest=12", "training.batch_size=16"],
        training={"epochs": 8, "lr": 0.02},
        out=folder,
    )
    stored = {"gru": open_model(run.path)}
    pieces = Tokenizer.learnt([*ENGLISH, *TEXTS], 40, lowercase=False)
    sides = {
        "fed": (side(pieces, TEXTS), side(pieces, ENGLISH, True)),
        "plain": (side(Tokenizer("chars"), TEXTS[:4]), side(Tokenizer("words", lowercase=False), ENGLISH, True)),
        "transformer": (side(Tokenizer("words"), TEXTS[:4]), side(Tokenizer("words", lowercase=False), ENGLISH, True)),
    }
    for name, settings in UNTRAINED.items():
        read, written = sides[name]
        preprocessor = Preprocessor(**read, writes=Side(**written))
        stored[name] = decided(made(ARCHITECTURES.parse(settings), "translate", preprocessor=preprocessor), ENDS[name])
    for name, model in stored.items():
        export_model(model, example / f"{name}.onnx")
    return {name: Translator(model) for name, model in stored.items()}


def asked(translator: Translator, texts: list[str], beam: int) -> list[TranslationPrediction]:
    translator.search_by(beam, alternatives=beam)
    return translator.translate(texts)


# In Node


def test_node_finds_what_predict_finds(example: Path, translators: dict[str, Translator]):
    (example / "ask.mjs").write_text(ASK, encoding="utf-8")
    beams = [1, 2, 5]
    given = {"names": list(translators), "beams": beams, "texts": TEXTS}
    done = node(example, "ask.mjs", given=json.dumps(given))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ended = set()
    for name, translator in translators.items():
        for beam in beams:
            for text, found, wanted in zip(TEXTS, told[f"{name} {beam}"], asked(translator, TEXTS, beam), strict=True):
                what = (name, beam, text)
                assert found["text"] == wanted.label, what
                assert found["probability"] == pytest.approx(wanted.probability, rel=1e-4), what
                assert found["ended"] == wanted.ended, what
                assert [one["text"] for one in found["alternatives"]] == list(wanted.probabilities), what
                shares = [one["probability"] for one in found["alternatives"]]
                assert shares == pytest.approx(list(wanted.probabilities.values()), rel=1e-4), what
                ended.add(wanted.ended)
        assert len({one.probability for one in asked(translator, TEXTS, 5)}) > 2, name  # it hears what it is asked
    assert ended == {True, False}  # some texts come to an end, and some are cut


def test_the_command_prints_texts_and_alternatives(example: Path, translators: dict[str, Translator]):
    first, second = asked(translators["gru"], TEXTS[:2], 5)
    one_each = node(example, "translate.mjs", "gru.onnx", *TEXTS[:2])
    assert (one_each.stderr, one_each.stdout) == ("", f"{first.label}\n{second.label}\n")
    best = node(example, "translate.mjs", "gru.onnx", TEXTS[0], "--beam=5", "--alternatives=3")
    rows = list(first.probabilities.items())[:3]
    assert best.stdout == "".join(f"{text}\t{share:.3f}\n" for text, share in rows)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["translate.mjs", "gru.onnx"], "usage: node translate.mjs"),
        (["translate.mjs", "gru.onnx", "he", "--beam=0"], "--beam: a whole number from 1 to 100 is needed (got 0)"),
        (
            ["translate.mjs", "gru.onnx", "he", "--beam=2", "--alternatives=3"],
            "--alternatives: a whole number from 1 to 2",
        ),
        (["predict.mjs", "gru.onnx", "he"], "writes a text for another one: node translate.mjs"),
    ],
)
def test_mistakes_are_told_in_a_line(example: Path, translators: Any, arguments: list[str], told: str):
    done = node(example, *arguments)
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["words", "whitespace", "chars", "bpe", "jieba"])
def test_texts_are_cut_and_joined_as_in_python(example: Path, name: str):
    texts = [*many_texts(150), *ENGLISH, "▁a ▁▁", "我 看 ABC 和 def， good 的 42 本", "a'b''c d’e’"]
    if name == "jieba":
        pytest.importorskip("rjieba")
    tokenizer = Tokenizer.learnt(texts, 200) if name == "bpe" else Tokenizer(name)
    tokens = [tokenizer.tokenize(text) for text in texts]
    (example / "joins.mjs").write_text(TOKENS, encoding="utf-8")
    cuts = None if name == "jieba" else rules(tokenizer)  # what is read by jieba can't be cut there
    given = {"rules": cuts, "joining": joining(tokenizer), "texts": texts, "tokens": tokens}
    done = node(example, "joins.mjs", given=json.dumps(given))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if cuts is not None:
        assert [row or [SPECIAL[1]] for row in found["cut"]] == tokens
    assert found["joined"] == [tokenizer.join(row) for row in tokens]


# In a browser


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page without a word on the console."""
    page = chromium.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    yield page
    page.close()
    assert complaints == []


@pytest.mark.parametrize("name", ["gru", "transformer"])
def test_the_page_finds_what_predict_finds(address: Any, page: Any, translators: dict[str, Translator], name: str):
    page.goto(address(name))
    page.wait_for_selector("#translating:not([hidden])", timeout=60_000)
    assert page.evaluate("document.activeElement.id") == "source"
    for beam, alternatives in ((5, 5), (1, 1)):
        page.fill("#beam", str(beam))
        page.fill("#alternatives", str(alternatives))
        for text, wanted in zip(TEXTS[:3], asked(translators[name], TEXTS[:3], beam), strict=True):
            page.fill("#source", text)
            page.press("#source", "Control+Enter")
            page.wait_for_function("document.getElementById('state').textContent.startsWith('Done in')")
            assert ("was cut" in page.locator("#state").text_content()) is not wanted.ended
            cells = page.locator("#found td").all_text_contents()
            assert cells[::2] == list(wanted.probabilities)
            assert list(map(float, cells[1::2])) == pytest.approx(list(wanted.probabilities.values()), abs=2e-6)
    page.fill("#alternatives", "2")
    assert page.locator("input:invalid").evaluate_all("fields => fields.map((one) => one.id)") == ["alternatives"]
    assert browsing().axe(page) == []
    assert browsing().overflowing(page) == []
