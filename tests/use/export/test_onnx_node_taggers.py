"""examples/onnx-node with taggers: the ids, tags, probabilities and entities of Python."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_example import many_texts, node
from taggers import train_tagger

from rnnlab.data.marks import Marks
from rnnlab.data.ngrams import Ngrams
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.spelling import Spelling
from rnnlab.data.tagged.schemes import SCHEMES, spans
from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.use import load
from rnnlab.use.onnx.tokenizer_file import describe
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.predictor import Predictor

# fmt: off
AWKWARD = [
    "the cat saw A dog", "aB7aB7aB7aB7aB7", "", "  ", "\n", "the İstanbul ran", "İİİİ", "ΟΔΥΣΣΕΥΣ slept",
    "cafe\u0301 e\u0301e\u0301e\u0301", "the 👍🏽 sat 👩‍👩‍👧 ran", "🇨🇳🇩🇪", "１２３４ ＡＢＣ",
    "the house—saw…Rome", "it’s “saw” `saw`", "McDonald's 7:30 10,000", "don't can't", "u.s.a. o'fallon",
    "incomprehensibilitiesandmore", "𠮷野家 𝒳𝒴𝒵", "\u200bzero\u00adwidth", "\ufeffthe cat", "ǅ ǆ Ǆ ᾳ ŉ ﬁ",
    "Ⅷ ² ٣ ½", "<unk> <pad>", "...... ---- ....", "a\x1cb\x85c", "x" * 200, "the cat saw " * 60, "__proto__",
    "王小明在北京大学读书。", "李红在南海大学教书。张军在东方大学读书。", "😀王小明在\n北京大学 读书。", "王",
    "大学大学", "王\u3000小 明。",
]
# fmt: on
SPANS = """\
import { readFileSync } from "node:fs";
import { spans } from "./tags.mjs";
const { rows, schemes } = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(rows.map(([name, tags]) => spans(tags, schemes[name]))));
"""
STEPS = """\
import { readFileSync } from "node:fs";
import { Looks } from "./looks.mjs";
import { Tokenizer } from "./tokenize.mjs";
const { reading, texts } = JSON.parse(readFileSync(0, "utf-8"));
const tokenizer = new Tokenizer(reading);
const looks = new Looks(reading, tokenizer);
const steps = texts.map((text) => tokenizer.read(text)).map(({ tokens, ids }) => looks.steps(tokens, ids));
console.log(JSON.stringify(steps));
"""


@pytest.fixture(scope="module")
def taggers(example: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Predictor]:
    """Of words with all that is seen of them and pairs; of characters, along the best path and one by one."""
    pairs = "task.ngrams=[2, 3]"
    runs = {
        "words": ("words", "bilstm-crf", pairs),
        "letters": ("words", "gru", "task.lowercase=false", "model.embedding.letters=bilstm"),
        "characters": ("characters", "bilstm-crf", pairs, "task.marks=[]"),
        "alone": ("characters", "dilated", "task.marks=[]", "task.letters=3"),
    }
    found = {}
    for name, (corpus, *settings) in runs.items():
        found[name] = load(train_tagger(tmp_path_factory.mktemp(name), corpus, *settings, epochs=4))
        export_model(found[name].stored, example / f"{name}.onnx")
    return found


def ids_of(model: Predictor, texts: list[str]) -> list[Any]:
    data, _ = model.preprocessor.encode(texts)
    return [data.values[a:b].tolist() for a, b in zip(data.offsets, data.offsets[1:], strict=False)]


@pytest.mark.parametrize("name", ["words", "letters", "characters", "alone"])
def test_node_gives_the_same_tags_and_entities(example, taggers, name):
    model, texts = taggers[name], AWKWARD
    done = node(example, "predict.mjs", f"{name}.onnx", "--json", given=json.dumps(texts))
    assert done.returncode == 0, done.stderr
    answers, wanted = json.loads(done.stdout), model.predict(texts)
    assert [answer["ids"] for answer in answers] == ids_of(model, texts)
    for text, answer, said in zip(texts, answers, wanted, strict=True):
        expected = said.to_dict()
        assert answer["label"] == expected["label"], text
        assert _without(answer["tags"]) == _without(expected["tags"])
        assert _shares(answer["tags"]) == pytest.approx(_shares(expected["tags"]), abs=1e-5)
        assert ("entities" in answer) is ("entities" in expected) is (name in ("characters", "alone"))
        assert _without(answer.get("entities", [])) == _without(expected.get("entities", []))
        assert _shares(answer.get("entities", [])) == pytest.approx(_shares(expected.get("entities", [])), abs=1e-5)
        assert answer["probability"] == pytest.approx(said.probability, rel=1e-3, abs=1e-5)
    assert len({answer["label"] for answer in answers}) > 10
    assert name == "words" or name == "letters" or sum(len(answer["entities"]) for answer in answers) > 5


def _without(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key != "probability"} for one in found]


def _shares(found: list[dict[str, Any]]) -> list[float]:
    return [one["probability"] for one in found]


def test_a_line_per_text(example, taggers):
    for name, text in (("characters", "王小明在北京大学读书。"), ("words", "the cat ran"), ("characters", "。")):
        (said,) = taggers[name].predict([text])
        done = node(example, "predict.mjs", f"{name}.onnx", text)
        assert done.stdout == "\t".join([*said.told, text]) + "\n"


def knowing(pre: Preprocessor, texts: list[str]) -> Preprocessor:
    """As if it had been trained on these texts, but for some words that it knows besides; it reads nine tokens."""
    once = [word for text in texts for word in pre.words_of(text)]
    words = [*once, *once]  # what stands there once has no number
    offsets = np.array([0, len(words)])
    assert pre.vocabulary is not None
    marks = pre.marks and Marks.build(pre.marks.kinds, words, offsets)
    learnt = sorted({word.lower() for word in once[::3]} - set(SPECIAL))
    vocabulary = Vocabulary((*SPECIAL, *learnt), marks=0 if marks is None else len(marks))
    ids = np.array(vocabulary.encode(word.lower() for word in words), np.int32)
    grams = Ngrams.build(ids, offsets, (2, 3), 1000, len(vocabulary.words))
    vocabulary = replace(vocabulary, ngrams=grams, words=(*vocabulary.words, "ab好"), learnt=len(vocabulary.words))
    spelling = Spelling.build([*words, *(f"{word}x" for word in words)], 6)
    return replace(pre, vocabulary=vocabulary, marks=marks, spelling=spelling, max_length=9)


@pytest.mark.parametrize("name", ["words", "characters"])
def test_any_text_has_the_same_ids(example, taggers, name):
    texts = [*many_texts(400), *AWKWARD]
    pre = knowing(taggers[name].preprocessor, texts)
    reading = describe(replace(taggers[name].stored, preprocessor=pre))
    (example / "steps.mjs").write_text(STEPS, encoding="utf-8")
    done = node(example, "steps.mjs", given=json.dumps({"reading": reading, "texts": texts}))
    assert done.returncode == 0, done.stderr
    data, _ = pre.encode(texts)
    wanted = [data.values[a:b].tolist() for a, b in zip(data.offsets, data.offsets[1:], strict=False)]
    for text, found, ids in zip(texts, json.loads(done.stdout), wanted, strict=True):
        assert found == ids, text
    used = (data.values > 1).mean(0)
    assert (used[: pre.tokens] > 0.05).all(), used  # every kind of input says something


def test_n_grams_of_a_model_of_labels(example, made):
    """And words behind those of training, which are numbered behind the n-grams."""
    stored = made(ARCHITECTURES["linear"]())
    texts = ["w1 w2 w3 w2", "w2 w3", "unheard w2 w3", "", "w1 other w2 w3"]
    ids = np.array([3, 4, 5, 4, 4, 5, 3, 4], np.int32)
    vocabulary = stored.preprocessor.vocabulary
    grams = Ngrams.build(ids, np.array([0, len(ids)]), (2,), 100, len(vocabulary))
    vocabulary = replace(vocabulary, ngrams=grams, words=(*vocabulary.words, "other"), learnt=len(vocabulary.words))
    pre = replace(stored.preprocessor, vocabulary=vocabulary, tokens=2)
    (example / "steps.mjs").write_text(STEPS, encoding="utf-8")
    reading = describe(replace(stored, preprocessor=pre))
    done = node(example, "steps.mjs", given=json.dumps({"reading": reading, "texts": texts}))
    data, _ = pre.encode(texts)
    assert [step for steps in json.loads(done.stdout) for step in steps] == data.values.tolist()
    assert (data.values[:, 1] > 0).sum() >= 3
    assert data.values.max() == len(vocabulary) - 1  # the other word


def test_spans_of_every_scheme(example):
    rng, rows = np.random.default_rng(3), []
    for name, scheme in SCHEMES.items():
        tags = ["O", *(f"{letter}-{kind}" for letter in scheme.letters for kind in ("A", "B")), *scheme.letters]
        rows += [[name, rng.choice(tags, rng.integers(1, 12)).tolist()] for _ in range(150)]
    told = {
        name: {"letters": one.letters, "start": one.start, "inside": one.inside, "end": one.end}
        for name, one in SCHEMES.items()
    }
    (example / "spans.mjs").write_text(SPANS, encoding="utf-8")
    done = node(example, "spans.mjs", given=json.dumps({"rows": rows, "schemes": told}))
    assert done.returncode == 0, done.stderr
    for (name, tags), found in zip(rows, json.loads(done.stdout), strict=True):
        assert found == [list(span) for span in spans(tags, name)], (name, tags)


def test_segments_cant_be_had_in_javascript(example, tmp_path):
    pytest.importorskip("rjieba")
    run = train_tagger(tmp_path, "characters", "gru", 'task.marks=["segments"]', epochs=1)
    export_model(run, example / "segments.onnx")
    done: subprocess.CompletedProcess[str] = node(example, "predict.mjs", "segments.onnx", "王小明")
    assert done.returncode == 1
    assert "jieba's dictionary (task.marks), which JavaScript lacks: train with task.marks = []" in done.stderr


@pytest.mark.parametrize(
    ("name", "text"), [("characters", "😀王小明在北京大学读书。"), ("words", "the İcat saw A dog")]
)
def test_the_page_tags_as_one_types(taggers, address, chromium, name, text):
    page = chromium.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.goto(address(name))
    page.wait_for_selector("#text:enabled", timeout=60_000)
    page.fill("#text", text)
    page.wait_for_function("text => document.getElementById('state').dataset.answered === text", arg=text)
    (said,) = taggers[name].predict([text])
    expected = said.to_dict()
    cells = page.locator("#answers td").all_text_contents()
    assert cells[::2] == [f"{tag['token']} {tag['label']}" for tag in expected["tags"]]
    assert list(map(float, cells[1::2])) == pytest.approx([tag["probability"] for tag in expected["tags"]], abs=1e-5)
    found = " · ".join(f"{one['text']} {one['type']}" for one in expected.get("entities", []))
    assert page.locator("#state").inner_text() == (found or expected["label"])
    assert bool(found) is (name == "characters")
    assert complaints == []
    page.close()
