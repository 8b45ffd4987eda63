"""The page is one file that needs no network, says what JSON says, and lets no text out of its place."""

import json
import re
from typing import Any

import pytest
import torch
import vl_convert
from pages import Outline, drawn_charts

from rnnlab.answers.heads import SummaryHead
from rnnlab.core.words import LANGUAGES, Language
from rnnlab.inspecting.inspection import Inspection, Subject, examine
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.show.figures.drawing import vega_lite_version
from rnnlab.show.figures.tokens import numbered
from rnnlab.show.inspection_texts import Wording, gate_name, lines
from rnnlab.show.pages.inspection import page

NASTY = ("</script><script>alert(1)</script>", "<b>", '"', "'", "好", "&amp;", "{{ 7 * 7 }}", "\\u003c", "1e+9")
EPOCHS = [
    {"epoch": 1, "lags": [0, 1, 2], "norms": [1.0, 0.1, 0.0], "rows": [3, 2, 1], "memory": 2},
    {"epoch": 2, "lags": [0, 1, 2], "norms": [1.0, 0.5, 0.3], "rows": [3, 2, 1], "memory": None},
]


def inspected(kind: str, tokens: tuple[str, ...] | None = None, **settings: Any) -> Inspection:
    sizes = {name: 6 for name in ("hidden",) if name in ARCHITECTURES[kind].model_fields}
    embedding = {"width": 4, "channels": "random"}
    architecture = ARCHITECTURES.parse({"kind": kind, "embedding": embedding, **sizes, **settings})
    networks = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        networks.append(
            build_network(architecture, words=40, features=None, pretrained=None, head=lambda w: SummaryHead(w, 2))
        )
    rows, steps = (1, len(tokens)) if tokens else (3, 12)
    inputs = torch.randint(2, 40, (rows, steps), generator=torch.Generator().manual_seed(0))
    subject = Subject(
        "a-run", kind, architecture.to_dict(), True, "text" if tokens else "rows", ("<bad>", "好"), tokens, (1,)
    )
    lengths = torch.full((rows,), steps)
    return examine(subject, networks[0], inputs, lengths, at_first=networks[1], epochs=EPOCHS)


@pytest.fixture(scope="module")
def text_page() -> str:
    return page(inspected("lstm", NASTY, bidirectional=True, pooling="attention"))


def specs(text: str, language: Language = "en") -> list[dict[str, Any]]:
    """The charts of a page, whole again."""
    return list(drawn_charts(text, language).values())


def test_a_page_needs_no_network(text_page):
    outline = Outline(text_page)
    assert not [attributes for _, attributes in outline.elements if "src" in attributes]
    assert all(attributes["href"].startswith("#") for _, attributes in outline.elements if "href" in attributes)
    assert text_page.count("window.vegaEmbed=") == 1  # the libraries are in it once
    assert len(text_page) < 1_500_000


def test_a_users_text_stays_text(text_page):
    outline = Outline(text_page)
    assert len([tag for tag, _ in outline.elements if tag == "script"]) == 5  # charts, themes, and three that run
    assert outline.texts_of("token") == list(NASTY)
    assert not [tag for tag, _ in outline.elements if tag == "b"]
    tokens = {row["token"] for spec in specs(text_page) for row in spec["data"]["values"] if "token" in row}
    assert tokens == set(numbered(NASTY))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_chart_can_be_drawn(text_page, language):
    found = specs(text_page, language)
    assert len(found) == 18  # 2 by token; gradients: 2 layers, inputs, epochs; gates of 2 layers: 2, what is kept, 3
    for spec in found:
        svg = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())
        assert svg.startswith("<svg")
        assert "NaN" not in svg


def test_page_and_json_have_the_same_numbers(text_page):
    found = inspected("lstm", NASTY, bidirectional=True, pooling="attention")
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    rows = [spec["data"]["values"] for spec in specs(text_page)]
    bars = next(values for values in rows if "series" in values[0])
    integrated = [row["value"] for row in bars if row["series"] == "integrated gradients"]
    assert integrated == pytest.approx(written["saliency"]["integrated"], rel=1e-7)
    curves = [row for values in rows for row in values if row.get("curve") == "∂h_T/∂h_t"]
    exact = [row["norm"] for row in curves if row["when"] == "trained"]
    states = [norm for layer in written["gradients"]["through_time"] for norm in layer["state"]]
    assert exact == pytest.approx(states, rel=1e-7)


def test_a_page_has_both_languages(text_page):
    found = inspected("lstm", NASTY, bidirectional=True, pooling="attention")
    outline = Outline(text_page)
    wording = Wording(found)
    said = [*wording.about(), *wording.tokens(), *wording.gradients(), *wording.gates()]
    for language in LANGUAGES:
        assert {sentence[language] for sentence in said} <= set(outline.texts_in(language))
    chinese = Outline(page(found, "zh"))
    assert chinese.texts_in("en") == outline.texts_in("en")
    assert chinese.elements[0] == ("html", {"lang": "zh", "data-lang": "zh"})


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ARCHITECTURES.names())
def test_every_architecture_can_be_shown(kind, language):
    for tokens in (None, ("值得", "一", "看")):
        found = inspected(kind, tokens)
        assert lines(found, language)
        text = page(found, language)
        assert specs(text, language)
        assert Outline(text).elements[0] == ("html", {"lang": language, "data-lang": language})
        json.dumps(found.to_dict(), allow_nan=False)


def test_gates_have_chinese_names():
    for name in ("input", "forget", "output", "reset", "update", "keep", "candidate", "state"):
        assert re.fullmatch(r"[\u4e00-\u9fff]+", gate_name(name).zh)
