"""The page is one file that needs no network, says what JSON says, and lets no text out of its place."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
import torch
import vl_convert
from pages import Outline, drawn_charts

from rnnlab.answers.heads import SummaryHead
from rnnlab.inspecting.inspection import Inspection, Subject, examine
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.show.figures.drawing import vega_lite_version
from rnnlab.show.figures.inspection import numbered, token_units
from rnnlab.show.pages.inspection import PAGE_WORDS, page
from rnnlab.show.words.inspection_wording import CHINESE, ENGLISH, Language, Wording, lines

LANGUAGES: tuple[Language, ...] = ("en", "zh")
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
    for language in LANGUAGES:
        wording = Wording(found, language)
        said = [*wording.about(), *wording.tokens(), *wording.gradients(), *wording.gates()]
        assert set(said) <= set(outline.texts_in(language))
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


def test_both_languages_have_every_word():
    assert ENGLISH.keys() == CHINESE.keys()
    assert PAGE_WORDS["en"].keys() == PAGE_WORDS["zh"].keys()
    for one, other in [(ENGLISH, CHINESE), (PAGE_WORDS["en"], PAGE_WORDS["zh"])]:
        for key, text in one.items():
            assert set(re.findall(r"{(\w+)", str(text))) == set(re.findall(r"{(\w+)", str(other[key]))), key
    for name in ("input", "forget", "output", "reset", "update", "keep", "candidate", "state"):
        assert re.fullmatch(r"[\u4e00-\u9fff]+", Wording(inspected("lstm"), "zh").gate(name))


def test_sentences():
    found = inspected("rnn", ("not", "so", "bad"), hidden=6)
    said = "\n".join(lines(found))
    layer = found.through_time[0]
    assert "a-run (rnn) on a text of 3 tokens." in said
    assert "Unknown to the model: so." in said
    assert f"spectral radius {layer.spectral_radius['state']:.2f}" in said
    assert "That distance by epoch: 2, more than 2." in said
    assert "Integrated gradients; together they account for 100" in said
    fallen = replace(layer, state=(1.0, 0.1, 0.001), memory=2)
    said = "\n".join(lines(replace(found, through_time=(fallen,))))
    assert "Layer 1: from 2 steps back less than 1 % of the gradient arrives" in said
    grown = replace(layer, state=(1.0, 3.0), bound=None, memory=None)
    assert "Layer 1: the gradient grows with distance" in "\n".join(lines(replace(found, through_time=(grown,))))


def test_the_picture_by_token_and_unit_has_every_value():
    values = [[0.1, 0.9, 0.5], [0.2, 0.8, 0.4]]
    rows = token_units(["a", "a"], values, "unit", "value", (0.0, 1.0)).to_dict()["data"]["values"]
    assert rows == [{"token": "1 a", "value": [0.9, 0.5, 0.1]}, {"token": "2 a", "value": [0.8, 0.4, 0.2]}]
