"""What a tagger without a network looks at: the word, its beginning, end and shape, and its neighbours'.

A token has attributes, each a number of 63 bits: a hash of its letters, of its last three, of its shape. A feature is
one attribute, or several together, of the token or of those around it (`Template`): a number again, so that features
of 200,000 tokens are found without a loop over them.
"""

from typing import NamedTuple

import numpy as np

from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences
from rnnlab.data.spelling import NONE, UNKNOWN_LETTER
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.kernels import ops

AFFIX = 4  # letters of the longest prefix and suffix
LAST = np.uint64((1 << 63) - 1)  # features are not negative


class Template(NamedTuple):
    """A feature: (steps from the token, attribute) of all that it consists of."""

    parts: tuple[tuple[int, int], ...]


WORD, LOWER, SHAPE, SHORT_SHAPE, TRAITS = range(5)  # attributes of words; then prefixes and suffixes by their length
PREFIX, SUFFIX = TRAITS, TRAITS + AFFIX
TOKEN, KIND, SEGMENT = range(3)  # attributes of characters, and of words whose letters aren't read


def _templates(*parts: tuple[tuple[int, int], ...]) -> tuple[Template, ...]:
    return tuple(map(Template, parts))


OF_WORDS = _templates(
    *(((0, attribute),) for attribute in (WORD, LOWER, SHAPE, SHORT_SHAPE, TRAITS)),
    *(((0, first + length),) for first in (PREFIX, SUFFIX) for length in range(1, AFFIX + 1)),
    *(((step, LOWER),) for step in (-2, -1, 1, 2)),
    *(((step, LOWER), (step + 1, LOWER)) for step in (-2, -1, 0, 1)),
    ((-1, LOWER), (1, LOWER)),
    *(((step, SHORT_SHAPE),) for step in (-1, 1)),
    *(((step, SUFFIX + 3),) for step in (-1, 1)),
    *(((step, SUFFIX + 2),) for step in (-1, 1)),
    ((-1, SHORT_SHAPE), (0, SHORT_SHAPE), (1, SHORT_SHAPE)),
)
OF_TOKENS = _templates(  # more than these, by themselves, are learnt by heart: docs/decisions/0029
    *(((step, TOKEN),) for step in (-1, 0, 1)),
    *(((step, TOKEN), (step + 1, TOKEN)) for step in (-1, 0)),
    ((-1, KIND), (0, KIND), (1, KIND)),
)
OF_SEGMENTS = _templates(
    *(((step, SEGMENT),) for step in (-1, 0, 1)),
    *(((step, SEGMENT), (step + 1, SEGMENT)) for step in (-1, 0)),
    ((0, SEGMENT), (0, TOKEN)),
)


def attributes_of(data: Sequences, side: Side) -> np.ndarray:
    """(N, A) int64: the attributes of every token."""
    spelling, marks = side.spelling, side.marks
    if spelling is not None and spelling.length:
        return _of_words(data.values[:, -spelling.length :], data.tokens, spelling.letters)
    assert side.vocabulary is not None
    tokens = data.tokens.astype(np.int64)
    kinds = np.zeros(len(side.vocabulary), np.int64)
    kinds[side.vocabulary.numbers] = [kind_of(word) for word in side.vocabulary.words]
    kinds[UNKNOWN] = len(_KINDS) + 1
    segments = data.values[:, -1] if marks is not None and "segments" in marks.kinds else np.zeros_like(tokens)
    return np.stack([tokens, kinds[tokens], segments], 1)


def templates_for(attributes: np.ndarray) -> tuple[Template, ...]:
    if attributes.shape[1] > SEGMENT + 1:
        return OF_WORDS
    return OF_TOKENS + OF_SEGMENTS if attributes[:, SEGMENT].any() else OF_TOKENS


def features_of(attributes: np.ndarray, offsets: np.ndarray, templates: tuple[Template, ...]) -> np.ndarray:
    """(templates, N) int64 ≥ 0: the feature that each template gives each token."""
    lengths = np.diff(offsets)
    at = np.arange(len(attributes)) - np.repeat(offsets[:-1], lengths)
    left = np.repeat(lengths, lengths) - at  # tokens to the end of the row
    shifted: dict[tuple[int, int], np.ndarray] = {}
    for step, attribute in {part for template in templates for part in template.parts}:
        moved = np.roll(attributes[:, attribute], -step).astype(np.uint64)
        outside = (at + step < 0) | (left <= step)
        beyond = np.where(at + step < 0, at + step, step - left + 1)  # how far: the first token before the row is -1
        shifted[step, attribute] = np.where(outside, _mixed(beyond.astype(np.uint64) + np.uint64(1 << 40)), moved)
    found = np.empty((len(templates), len(attributes)), np.int64)
    for number, template in enumerate(templates):
        key = np.full(len(attributes), number + 1, np.uint64)
        for part in template.parts:
            key = _mixed(key ^ shifted[part])
        found[number] = key & LAST
    return found


def learn_features(features: np.ndarray, fewest: int) -> np.ndarray:
    """(F,) int64, ascending: those that at least so many tokens have."""
    known = []
    for column in features:
        tokens = np.arange(len(column), dtype=np.int32)
        found, counts = ops.count_grams(column, tokens)
        known.append(found[counts >= fewest])
    return np.unique(np.concatenate(known))


_KINDS = ("isdigit", "isupper", "islower", "isalpha", "isspace")


def kind_of(letter: str) -> int:
    """1 digit, 2 capital, 3 small letter, 4 other letter (Chinese, say), 5 space; 0 any other sign."""
    if not letter:
        return 0
    return next((number for number, test in enumerate(_KINDS, 1) if getattr(letter[0], test)()), 0)


def _of_words(spelled: np.ndarray, tokens: np.ndarray, letters: tuple[str, ...]) -> np.ndarray:
    """(N, L) letters of words, none behind the last one, and the numbers (N,) of the words → (N, 5 + 2 · AFFIX). Each
    distinct word is looked at once. Words of unknown letters differ by their numbers alone."""
    odd = np.where((spelled == UNKNOWN_LETTER).any(1), tokens, 0).astype(np.int64)
    _, one_of, number = np.unique(_hashed(np.column_stack([spelled, odd])), return_index=True, return_inverse=True)
    words, odd = spelled[one_of].astype(np.int64), odd[one_of, None]
    lower = _lower_table(letters)[words]
    kinds = np.array([kind_of(letter) if number else -1 for number, letter in enumerate(letters)])[words]
    signs = np.where(kinds == 0, len(_KINDS) + words, kinds)  # a shape shows hyphens and dots as they are
    columns = [_hashed(np.hstack([words, odd])), _hashed(np.hstack([lower, odd])), _hashed(signs)]
    columns += [_hashed(_without_runs(signs)), _traits(words, kinds, letters)]
    lengths = (words != NONE).sum(1)
    places = np.arange(AFFIX)
    from_end = np.take_along_axis(lower, np.maximum(lengths[:, None] - 1 - places, 0), 1)
    from_end[places >= lengths[:, None]] = NONE
    for ends in (lower[:, :AFFIX], from_end):
        columns += [_hashed(ends[:, :length]) for length in range(1, AFFIX + 1)]
    return np.stack(columns, 1)[number]


def _lower_table(letters: tuple[str, ...]) -> np.ndarray:
    """Of each letter, the number of the small one; one that training lacks gets a number of its own."""
    numbers = {letter: number for number, letter in enumerate(letters)}
    more = len(letters)
    return np.array([numbers.get(letter.lower(), more + number) for number, letter in enumerate(letters)], np.int64)


def _without_runs(signs: np.ndarray) -> np.ndarray:
    """(W, L): of equal signs side by side, the first."""
    run = np.zeros(signs.shape, bool)
    run[:, 1:] = signs[:, 1:] == signs[:, :-1]
    order = np.argsort(run, axis=1, kind="stable")
    kept = np.take_along_axis(signs, order, 1)
    kept[np.take_along_axis(run, order, 1)] = -1
    return kept


def _traits(words: np.ndarray, kinds: np.ndarray, letters: tuple[str, ...]) -> np.ndarray:
    """(W,): digits, capitals, hyphens, signs; whether there are any, and whether all are."""
    real = words != NONE
    hyphen = words == letters.index("-") if "-" in letters else np.zeros_like(real)
    tests = [kinds == 1, kinds == 2, hyphen, kinds == 0]
    bits = [(test & real).any(1) for test in tests] + [(test | ~real).all(1) for test in tests] + [kinds[:, 0] == 2]
    return sum((bit.astype(np.int64) << place for place, bit in enumerate(bits)), np.zeros(len(words), np.int64))


def _mixed(x: np.ndarray) -> np.ndarray:
    """Every bit of 64 depends on every other (the end of splitmix64)."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _hashed(rows: np.ndarray) -> np.ndarray:
    """(W, L) whole numbers → (W,) int64 ≥ 0."""
    key = np.full(len(rows), rows.shape[1], np.uint64)
    for column in rows.T:
        key = _mixed(key + np.uint64(0x9E3779B97F4A7C15) ^ column.astype(np.int64).astype(np.uint64))
    return (key & LAST).astype(np.int64)
