"""The rules beside an exported model cut texts as the tokenisers do. Here they are applied by a few lines of Python, as
any program could; examples/onnx-node does it in JavaScript."""

import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rnnlab.data.tokenizers import Tokenizer
from rnnlab.use.onnx.tokenizer_file import rules

ODD = [
    *("n't", "'s", "'LL", "…", "—", "-LRB-", "<br />", "<BR/>", "u.s.", "1.8", "10,000", "well-made", "o'fallon", "''"),
    *(
        "ſ",
        "K",
        "İ",
        "ΑΣ",
        "Σ",
        "\u0345",
        "e\u0301",
        "好",
        "电影",
        "々",
        "ｱ",
        "👍🏽",
        "👩‍👩‍👧",
        "🇨🇳",
        "\u200b",
        "\u00ad",
    ),
    *(
        "\x1c",
        "\x85",
        "\u3000",
        "Ⅷ",
        "²",
        "٣",
        "कि",
        "ไม่",
        "_",
        "\\/",
        "\\*",
        "`",
        "...",
        "--",
        " ",
        " ",
        "a",
        "B",
        "7",
    ),
]
TEXTS = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=4)), max_size=10).map("".join)


def portable(pattern: str, classes: dict[str, Any]) -> re.Pattern[str]:
    def spelled(name: re.Match[str]) -> str:
        return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in classes[name[1]])

    return re.compile(re.sub("%([a-z]+)%", spelled, pattern))


class Applied:
    def __init__(self, found: dict[str, Any]):
        self.rules = found
        self.compiled = {
            name: portable(found[name], found["classes"])
            for name in ("line_break", "whole", "pattern")
            if name in found
        }
        self.spaces = portable("[%space%]+", found["classes"])

    def tokenize(self, text: str) -> list[str]:
        if self.rules["lowercase"]:
            text = text.lower()
        if self.rules["name"] == "words":
            text = self.compiled["line_break"].sub(" ", text)
        pieces = [piece for piece in self.spaces.split(text) if piece]
        if self.rules["name"] == "chars":
            return list(" ".join(pieces))
        if self.rules["name"] == "whitespace":
            return pieces
        return [token for piece in pieces for token in self.cut(piece)]

    def cut(self, piece: str) -> list[str]:
        if self.compiled["whole"].search(piece):
            return [piece]
        if piece.lower() in self.rules["instead"]:
            return [self.rules["instead"][piece.lower()]]
        for old, new in self.rules["replace"]:
            piece = piece.replace(old, new)
        for pattern, one in self.rules["runs"]:
            piece = re.sub(pattern, one, piece)
        return self.compiled["pattern"].findall(piece)


TOKENIZERS = [Tokenizer(name, lowercase) for name in ("words", "chars", "whitespace") for lowercase in (True, False)]
APPLIED = [Applied(rules(tokenizer)) for tokenizer in TOKENIZERS]


@given(TEXTS)
@example("")
@example("It'ſ N'T isn't U.S.A. 7:30 -lrb- ''quoted'' 90\u0345x.\u0345.a")
@settings(max_examples=500, deadline=None, derandomize=True)
def test_the_rules_cut_as_the_tokenisers_do(text):
    for tokenizer, applied in zip(TOKENIZERS, APPLIED, strict=True):
        assert (applied.tokenize(text) or ["<unk>"]) == tokenizer.tokenize(text)


def test_every_character_by_itself_and_inside_a_word():
    words, applied = TOKENIZERS[0], APPLIED[0]
    for point in range(0, 0x110000, 23):
        text = f"a{chr(point)}b {chr(point)}"
        assert applied.tokenize(text) == words.tokenize(text), hex(point)


@pytest.mark.parametrize("name", ["words", "chars", "whitespace"])
def test_what_isnt_needed_isnt_said(name):
    assert ("assigned" in rules(Tokenizer(name))["classes"]) is True
    assert ("assigned" in rules(Tokenizer(name, lowercase=False))["classes"]) is False
    assert ("pattern" in rules(Tokenizer(name))) is (name == "words")
