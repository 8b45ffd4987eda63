"""The features of `tag_features` as people read them: ``suffix=ing``, ``lower[-1]=the``, ``lower=saw + lower[1]=the``.
They stand in JSON, so they have one language."""

from collections.abc import Sequence

import numpy as np

from rnnlab.data.marks import Marks
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN
from rnnlab.models.tag_features import (
    AFFIX,
    KIND,
    LOWER,
    SEGMENT,
    SHAPE,
    SHORT_SHAPE,
    SUFFIX,
    TOKEN,
    TRAITS,
    WORD,
    Template,
    kind_of,
)

BEFORE, BEHIND = "<s>", "</s>"  # of a place outside the row
KINDS = ("sign", "digit", "capital", "small", "letter", "space")
SHAPES = ("", "9", "X", "x", "o", "_")  # a sign stands for itself
OF_WORDS = {WORD: "word", LOWER: "lower", SHAPE: "shape", SHORT_SHAPE: "short-shape", TRAITS: "traits"}
OF_TOKENS = {TOKEN: "token", KIND: "kind", SEGMENT: "segment"}


def name_of(template: Template, row: Sequence[str], at: int, segments: Sequence[str] | None) -> str:
    """Of the feature that a template gives the token at this place of a row. ``segments`` are those of the tokens, of
    which an unknown one is ``<unk>``; None: tokens are words, whose letters are read."""
    return " + ".join(_part(step, attribute, row, at + step, segments) for step, attribute in template.parts)


def segments_of(row: Sequence[str], marks: Marks | None) -> list[str]:
    """Of each character, its place in a word of the dictionary, as far as training knows it."""
    if marks is None or "segments" not in marks.kinds:
        return [""] * len(row)
    numbers = marks.numbers(row, np.array([0, len(row)]))[:, marks.kinds.index("segments")]
    return [marks.known[number].partition(" ")[2] if number >= 0 else "" for number in numbers]


def _part(step: int, attribute: int, row: Sequence[str], at: int, segments: Sequence[str] | None) -> str:
    place = f"[{step:+d}]" if step else ""
    if at < 0 or at >= len(row):
        value = BEFORE if at < 0 else BEHIND
        name = OF_TOKENS[attribute] if segments is not None else _of_word(attribute, "")[0]
        if segments is None and attribute > SUFFIX:
            name += f"-{attribute - SUFFIX}"  # there is no text that would tell its length
    elif segments is None:
        name, value = _of_word(attribute, row[at])
    else:
        name = OF_TOKENS[attribute]
        kind = "unknown" if row[at] == SPECIAL[UNKNOWN] else KINDS[kind_of(row[at])]
        value = {TOKEN: row[at], KIND: kind, SEGMENT: segments[at] or "?"}[attribute]
    return f"{name}{place}={value}"


def _of_word(attribute: int, word: str) -> tuple[str, str]:
    """The attribute's name, and its value. ``^`` and ``$`` are the ends of a word that is shorter than the affix."""
    lower = word.lower()
    if attribute > SUFFIX:
        length = attribute - SUFFIX
        return "suffix", lower[-length:] if length <= len(word) else f"^{lower}"
    if attribute > SUFFIX - AFFIX:
        length = attribute - SUFFIX + AFFIX
        return "prefix", lower[:length] if length <= len(word) else f"{lower}$"
    shape = [SHAPES[kind_of(letter)] or letter for letter in word]
    short = [sign for number, sign in enumerate(shape) if not number or sign != shape[number - 1]]
    values = {WORD: word, LOWER: lower, SHAPE: "".join(shape), SHORT_SHAPE: "".join(short)}
    return OF_WORDS[attribute], values.get(attribute) or _traits(word)


def _traits(word: str) -> str:
    kinds = [kind_of(letter) for letter in word]
    tests = {
        "digit": [kind == 1 for kind in kinds],
        "capital": [kind == 2 for kind in kinds],
        "hyphen": [letter == "-" for letter in word],
        "sign": [kind == 0 for kind in kinds],
    }
    found = [f"all {name}s" if all(test) else f"a {name}" for name, test in tests.items() if any(test)]
    return "/".join([*found, *(["capital first"] if kinds[:1] == [2] else [])]) or "none"
