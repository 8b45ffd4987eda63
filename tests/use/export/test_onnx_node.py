"""examples/onnx-node: the exported model in Node and in a browser, with the ids and the answers of Python."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from node_example import browsing, many_texts, node

from rnnlab.answers.label import probabilities
from rnnlab.api.compare import train
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.use.onnx.tokenizer_file import describe
from rnnlab.use.onnx.writing import export_model
from rnnlab.use.stored import StoredModel, open_model

# fmt: off
TEXTS = {
    "en": [
        "a lovely film", "an awful, dull film...", "The plot was great; the ending wasn't.", "I don't like it", "",
        "   ",
        "WORTH SEEING — twice!", "it's 8/10<br />really", "unheardofwords entirely", "café cafe\u0301",
        "“quoted” ‘words’",
        "👍🏽 great 👩‍👩‍👧", "u.s.a. and o'fallon", "the acting is not good at all", "ﬁlm with a ligature", "好 film",
        "\u200bzero\u00adwidth", "ΟΔΥΣΣΕΥΣ", "İstanbul", "tab\tand\nnewline", "-LRB- brackets -RRB-", "10,000 reasons",
        "$& $1 constructor __proto__", "a" * 300, "the " * 200, "\x85\x1c", "nul\0byte", "🇨🇳🇩🇪", "x\ue000y", "\u0378",
    ],
    "zh": [
        "这部电影很好看", "剧情太差了，浪费时间。", "演员演技不错，但是结尾很烂", "", " ", "很　好　看", "不推荐！！！",
        "值得一看👍🏽", "好", "ＦＵＬＬ　ＷＩＤＴＨ", "good 电影 bad", "繁體中文也可以嗎？", "𠮷野家", "龘靐齉",
        "一二三四五六七八九十" * 20, "…………", "é e\u0301", "这家餐厅的菜很好吃", "服务员态度很差", "。", "😀",
        "\ufeff你好", "ＡＢＣ", "㍿", "日本語テキスト", "한국어", "ไทย", "العربية", "不好看", "不是不好看", "还可以吧",
    ],
}
# fmt: on
@pytest.fixture(scope="session")
def models(example: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredModel]:
    """A small trained one of English words in both directions, and one of Chinese characters with convolutions."""
    found = {}
    chosen = {"en": ("lstm", ["model.bidirectional=true", "model.hidden=12"]), "zh": ("textcnn", ["model.filters=8"])}
    for language, (kind, choices) in chosen.items():
        run = train(
            model=kind,
            task={"language": language, "rows": 600},
            training={"epochs": 6, "lr": 0.02},
            settings=["model.embedding.width=12", *choices],
            out=tmp_path_factory.mktemp(language),
        )
        found[language] = open_model(run.path)
        export_model(found[language], example / f"{language}.onnx")
    return found


def expected(model: StoredModel, texts: list[str]) -> tuple[list[list[int]], np.ndarray]:
    """Ids, and calibrated probabilities (texts, labels)."""
    data, _ = model.preprocessor.encode(texts)
    ids = [data.values[a:b].tolist() for a, b in zip(data.offsets, data.offsets[1:], strict=False)]
    with torch.inference_mode():
        logits = [model.network(torch.tensor([row]), torch.tensor([len(row)]))[0].numpy() for row in ids]
    return ids, probabilities(np.array(logits) / model.card.temperature)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_node_gives_the_same_ids_labels_and_probabilities(example, models, language):
    model = models[language]
    texts = TEXTS[language] + (model.spec.task.texts(range(12)) or [])
    assert len(texts) >= 42
    done = node(example, "predict.mjs", f"{language}.onnx", "--json", given=json.dumps(texts))
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    ids, shares = expected(model, texts)
    assert [answer["ids"] for answer in answers] == ids
    labels = model.preprocessor.labels
    assert [answer["label"] for answer in answers] == [labels[at] for at in shares.argmax(1)]
    found = np.array([[answer["probabilities"][label] for label in labels] for answer in answers])
    np.testing.assert_allclose(found, shares, atol=1e-5)
    assert len({tuple(row) for row in ids}) > 20  # the texts tell something apart
    assert np.ptp(shares, axis=0).max() > 0.1


def test_a_line_for_each_text(example, models):
    texts = ["a lovely film", "", "好 film"]
    done = node(example, "predict.mjs", "en.onnx", *texts)
    _, shares = expected(models["en"], texts)
    labels = models["en"].preprocessor.labels
    rows = zip(texts, shares, strict=True)
    assert done.stdout == "".join(f"{labels[row.argmax()]}\t{row.max():.3f}\t{text}\n" for text, row in rows)


def test_mistakes_are_said_in_a_line(example, models, made):
    assert node(example, "predict.mjs").returncode == 2
    nowhere = node(example, "predict.mjs", "nowhere.onnx", "text")
    assert nowhere.returncode == 1
    assert re.fullmatch(r"predict\.mjs: ENOENT.*nowhere\.tokenizer\.json'\n", nowhere.stderr)
    export_model(made(ARCHITECTURES["lstm"](), "first-last"), example / "series.onnx")
    series = node(example, "predict.mjs", "series.onnx", "text")
    assert series.stderr == "predict.mjs: this model (first-last) reads no text: give it features of your own\n"
    export_model(made(ARCHITECTURES["lstm"](), "addition"), example / "sums.onnx")
    sums = node(example, "predict.mjs", "sums.onnx", "1+2")
    assert sums.stderr == "predict.mjs: this model (addition) answers every step of what isn't a text\n"


def test_jieba_cant_be_had_in_javascript(example, models, made):
    pytest.importorskip("rjieba")
    stored = made(ARCHITECTURES["linear"]())
    chinese = replace(stored, preprocessor=replace(stored.preprocessor, tokenizer=Tokenizer("jieba")))
    export_model(chinese, example / "jieba.onnx")
    done = node(example, "predict.mjs", "jieba.onnx", "电影")
    assert done.returncode == 1
    assert "the tokeniser 'jieba' needs its own dictionary" in done.stderr


# Any text whatever


def test_any_text_has_the_same_ids(example, made):
    texts = many_texts(500)
    assert len(texts) >= 500
    readings, wanted = [], []
    stored = made(ARCHITECTURES["linear"]())
    for name in ("words", "chars", "whitespace"):
        for lowercase in (True, False):
            tokenizer = Tokenizer(name, lowercase)
            known = sorted({token for text in texts[::2] for token in tokenizer.tokenize(text)} - set(SPECIAL))
            preprocessor = replace(
                stored.preprocessor, tokenizer=tokenizer, vocabulary=Vocabulary((*SPECIAL, *known)), max_length=9
            )
            readings.append(describe(replace(stored, preprocessor=preprocessor)))
            data, _ = preprocessor.encode(texts)
            wanted.append([data.values[a:b].tolist() for a, b in zip(data.offsets, data.offsets[1:], strict=False)])
    done = node(example, "ids.mjs", given=json.dumps({"readings": readings, "texts": texts}))
    assert done.returncode == 0, done.stderr
    for reading, found, ids in zip(readings, json.loads(done.stdout), wanted, strict=True):
        for text, one, other in zip(texts, found, ids, strict=True):
            assert one == other, (reading["tokenizer"]["name"], reading["tokenizer"]["lowercase"], text)
        assert sum(len(row) for row in ids) > len(texts)


def test_several_labels_are_those_that_reach_their_thresholds(example: Path, models: dict[str, StoredModel]):
    """The same network, taken as one that asks of each label whether a text has it."""
    thresholds = (0.4, *[0.6] * (len(models["en"].preprocessor.labels) - 1))
    several = replace(models["en"], preprocessor=replace(models["en"].preprocessor, thresholds=thresholds))
    export_model(several, example / "several.onnx")
    texts = many_texts(30)
    done = node(example, "predict.mjs", "several.onnx", "--json", given=json.dumps(texts))
    assert done.returncode == 0, done.stderr
    data, _ = several.preprocessor.encode(texts)
    with torch.inference_mode():
        logits = [
            several.network(torch.from_numpy(data.row(n)).long()[None], torch.tensor([len(data.row(n))]))
            for n in range(30)
        ]
    shares = torch.cat(logits).div(several.card.temperature).sigmoid()
    for found, wanted in zip(json.loads(done.stdout), shares.tolist(), strict=True):
        chosen = [label for label, p, t in zip(several.preprocessor.labels, wanted, thresholds, strict=True) if p >= t]
        assert found["labels"] == chosen
        assert list(found["probabilities"].values()) == pytest.approx(wanted, abs=1e-5)


# In a browser


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_gives_the_same_answers_as_one_types(models, address, chromium, language):
    model = models[language]
    home = address(language)
    page = chromium.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(home)
    page.wait_for_selector("#text:enabled", timeout=60_000)
    texts = [text for text in TEXTS[language] if len(text) < 100 and not re.search("[\0\r\x1c\x85]", text)]
    _, shares = expected(model, texts)
    for text, row in zip(texts, shares, strict=True):
        page.fill("#text", text)
        page.wait_for_function("text => document.getElementById('state').dataset.answered === text", arg=text)
        cells = page.locator("#answers td").all_text_contents()
        found = dict(zip(cells[::2], map(float, cells[1::2]), strict=True))
        np.testing.assert_allclose([found[label] for label in model.preprocessor.labels], row, atol=1e-5)
    assert browsing().axe(page) == []
    assert complaints == []
    assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == []
    page.close()


def test_the_server_has_the_pages_files_and_no_others(address, models):
    import urllib.error
    import urllib.request

    home = address("en")
    assert home.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{home}ort/ort-wasm-simd-threaded.wasm") as answer:
        assert answer.headers["Content-Type"] == "application/wasm"
    for path in ("package.json", "../package.json", "%2e%2e/package.json", "ort/../serve.mjs", "en.onnx"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(home + path)
        assert refused.value.code == 404
        refused.value.close()
