"""Tokens as they stand in a text, and the letters of a word as further inputs: they tell a model about words that it
never saw."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

NONE, UNKNOWN_LETTER = 0, 1
SPECIAL = ("", "?")  # behind the last letter of a word; a letter that the training rows lack
MOST = 100  # letters of a word that are read
SEEN = 2  # times in the training rows, among distinct words: a letter of one word alone is learnt of that word


@dataclass(frozen=True)
class Spelling:
    """``letters[i]`` has the number i. Of each word the first ``length`` letters are read, perhaps none; of a longer
    word the first and the last half of as many: prefixes and suffixes say most. The word itself is looked up in lower
    case, if ``lowercase``; its letters are as they are."""

    letters: tuple[str, ...]
    length: int
    lowercase: bool = True

    @classmethod
    def build(cls, words: Iterable[str], length: int, lowercase: bool = True) -> Self:
        """From the distinct words of the training rows, the most frequent letters first."""
        counts = Counter(letter for word in set(words) for letter in word) if length else Counter[str]()
        known = sorted((-count, letter) for letter, count in counts.items() if count >= SEEN)
        return cls((*SPECIAL, *(letter for _, letter in known)), length, lowercase)

    @cached_property
    def index(self) -> dict[str, int]:
        return {letter: number for number, letter in enumerate(self.letters) if number >= len(SPECIAL)}

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """(N, length) int32; each distinct word is spelled once."""
        number: dict[str, int] = {}
        at = np.fromiter((number.setdefault(word, len(number)) for word in words), np.int64, len(words))
        table = np.zeros((len(number), self.length), np.int32)
        for row, word in enumerate(number):
            if len(word) > self.length:
                word = word[: self.length // 2] + word[self.length // 2 - self.length :]
            table[row, : len(word)] = [self.index.get(letter, UNKNOWN_LETTER) for letter in word]
        return table[at]

    def to_dict(self) -> dict[str, Any]:
        return {"letters": list(self.letters), "length": self.length, "lowercase": self.lowercase}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        letters, length, lowercase = tuple(values["letters"]), values["length"], values["lowercase"]
        good = type(length) is int and 0 <= length <= MOST and type(lowercase) is bool
        if letters[: len(SPECIAL)] != SPECIAL or not good:
            raise ValueError(f"a spelling has its letters, of which the first two are special, and a length to {MOST}")
        return cls(letters, length, lowercase)
