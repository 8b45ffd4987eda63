"""Byte-pair encoding: as the slow way finds it, and reversible."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from rnnlab.core.errors import ConfigError
from rnnlab.data.bpe import apply_merges, learn_merges, ranks_of
from rnnlab.data.text import tokenize_all
from rnnlab.data.tokenizers import Tokenizer

TEXTS = (
    "The lowest tower, and the lower one.",
    "don't you know? It's 1998-05-03!",
    "我喜欢北京的春天。我喜欢北京烤鸭，很好吃！",
    "the towers  are\tlow ▁ here",
    "😀 à la carte — été",
)


def slowly(parts: dict[str, int], merges: int) -> list[str]:
    """Every pair is counted anew before each merge."""
    words = {part: list(part) for part in parts}
    found: list[str] = []
    while len(found) < merges:
        counts: Counter[tuple[str, str]] = Counter()
        for part, symbols in words.items():
            for pair in pairwise(symbols):
                counts[pair] += parts[part]
        if not counts:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        if counts[pair] < 2:
            break
        found.append(" ".join(pair))
        for part, symbols in words.items():
            new, at = [], 0
            while at < len(symbols):
                both = tuple(symbols[at : at + 2]) == pair
                new.append("".join(symbols[at : at + 1 + both]))
                at += 1 + both
            words[part] = new
    return found


@pytest.mark.parametrize("seed", range(30))
def test_merges_are_those_of_the_slow_way(seed):
    rng = random.Random(seed)
    letters = "ab" if seed % 2 else "abcdef"
    parts = {"".join(rng.choices(letters, k=rng.randint(1, 12))): rng.randint(1, 9) for _ in range(40)}
    merges = rng.choice([5, 40, 1000])
    learnt = learn_merges(parts, merges)
    assert list(learnt) == slowly(parts, merges)
    for part in parts:
        symbols = list(part)
        for merge in learnt:  # one after the other, over the whole part
            left, right = merge.split(" ")
            at = 0
            while at < len(symbols) - 1:
                if symbols[at : at + 2] == [left, right]:
                    symbols[at : at + 2] = [left + right]
                at += 1
        assert apply_merges(part, ranks_of(learnt)) == symbols


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_cut_is_joined_again(lowercase):
    tokenizer = Tokenizer.learnt(TEXTS * 3, 60, lowercase)
    assert 0 < len(tokenizer.merges) <= 60
    for text in (*TEXTS, "neue Wörter, 新的字 42"):
        plain = " ".join(text.replace("▁", " ").split())
        assert tokenizer.join(tokenizer.tokenize(text)) == (plain.lower() if lowercase else plain)
    assert "▁low" in tokenizer.tokenize("low") or "▁l" in tokenizer.tokenize("low")


def test_signs_and_digits_stand_alone():
    tokenizer = Tokenizer.learnt(["ab, 12 12 12 ab, ab,"] * 9, 100)
    assert tokenizer.tokenize("ab, 12") == ["▁ab", ",", "▁1", "2"]


def test_many_texts_are_cut_as_each_alone():
    tokenizer = Tokenizer.learnt(TEXTS * 2, 50)
    found = tokenize_all(TEXTS, tokenizer)
    for row, text in enumerate(TEXTS):
        ids = found.values[found.offsets[row] : found.offsets[row + 1]]
        assert [found.tokens[number] for number in ids] == tokenizer.tokenize(text)


def test_it_is_stored_with_its_merges():
    tokenizer = Tokenizer.learnt(TEXTS * 2, 50)
    again = Tokenizer.from_dict({**tokenizer.to_dict(), "merges": list(tokenizer.merges)})
    assert again == tokenizer
    assert "merges" not in Tokenizer("words").to_dict()


def test_what_has_to_be_learnt_is_no_tokenizer_by_name_alone():
    with pytest.raises(ConfigError, match="learnt"):
        Tokenizer("bpe").tokenize("a text")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("words", 'He said, "I am fine." (Really?) It isn\'t 5%… "No" and "yes".'),
        ("words", "我用 iPhone 12 打电话，你呢？"),
        ("words", "你好，世界！"),
        ("jieba", "我喜欢New York，你好吗？"),
        ("chars", "New York 很大。"),
    ],
)
def test_joined_as_people_write(name, text):
    tokenizer = Tokenizer(name, lowercase=False)
    assert tokenizer.join(tokenizer.tokenize(text)) == text.replace("…", "...")
