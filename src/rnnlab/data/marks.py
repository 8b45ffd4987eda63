"""What can be seen of a token, as further inputs beside it: how a word begins, ends and looks, or where a character
stands in the words that a dictionary finds."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np

from rnnlab.core.errors import RunError
from rnnlab.data.tokenizers import Tokenizer, load_jieba_tagger
from rnnlab.data.vocabulary import PADDING

Kind = Literal["prefix", "suffix", "ending", "shape", "segments"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OF_WORDS: tuple[Kind, ...] = ("prefix", "suffix", "ending", "shape")
SEEN = 2  # times in the training rows: what stood there once is mostly learnt by heart


@dataclass(frozen=True)
class Marks:
    """Of each of the ``kinds``, those that the training rows hold at least `SEEN` times have a number; every other one
    has none, and its input is that of padding: it says nothing."""

    kinds: tuple[Kind, ...]
    known: tuple[str, ...]  # ``"suffix ing"`` has the number of its place
    segmenter: str = ""  # the version of what finds segments

    @classmethod
    def build(cls, kinds: Sequence[Kind], words: Sequence[str], offsets: np.ndarray) -> Self:
        """Of the training rows, laid end to end."""
        counts: Counter[str] = Counter()
        for kind in kinds:
            counts.update(f"{kind} {mark}" for mark in _marks(kind, words, offsets))
        known = tuple(sorted(mark for mark, count in counts.items() if count >= SEEN))
        return cls(tuple(kinds), known, _segmenter(kinds))

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def index(self) -> dict[str, int]:
        return {mark: number for number, mark in enumerate(self.known)}

    def numbers(self, words: Sequence[str], offsets: np.ndarray) -> np.ndarray:
        """(N, kinds) int64; -1 where there is none."""
        found = np.full((len(words), len(self.kinds)), -1, np.int64)
        for column, kind in enumerate(self.kinds):
            marks = _marks(kind, words, offsets)
            found[:, column] = [self.index.get(f"{kind} {mark}", -1) for mark in marks]
        return found

    def ids(self, words: Sequence[str], offsets: np.ndarray, first: int) -> np.ndarray:
        """(N, kinds) int32, where marks are numbered from ``first`` on; of padding where there is none."""
        numbers = self.numbers(words, offsets)
        return np.where(numbers < 0, PADDING, first + numbers).astype(np.int32)

    def to_dict(self) -> dict[str, Any]:
        return {"kinds": list(self.kinds), "known": list(self.known), "segmenter": self.segmenter}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        kinds, known = tuple(values["kinds"]), tuple(values["known"])
        if not kinds or not all(kind in KINDS for kind in kinds) or len(set(known)) < len(known):
            raise ValueError(f"marks are of the kinds {', '.join(KINDS)}, and each is there once")
        found = cls(kinds, known, values["segmenter"])
        if found.segmenter and found.segmenter != _segmenter(kinds):
            raise RunError(
                "this model was trained with segments of {version}, and here is {current}, which may cut the same text "
                "differently; use the version that trained it, or train it again",
                version=found.segmenter,
                current=_segmenter(kinds),
            )
        return found


def _segmenter(kinds: Sequence[Kind]) -> str:
    return Tokenizer("jieba").version if "segments" in kinds else ""


def _marks(kind: Kind, words: Sequence[str], offsets: np.ndarray) -> list[str]:
    """One per token."""
    if kind == "segments":
        rows = itertools.pairwise(offsets.tolist())
        return [mark for first, end in rows for mark in _segments(words[first:end])]
    cut = {"prefix": lambda w: w[:3].lower(), "suffix": lambda w: w[-3:].lower(), "ending": lambda w: w[-2:].lower()}
    mark_of = cut.get(kind, shape)
    found = {word: mark_of(word) for word in set(words)}
    return [found[word] for word in words]


def shape(word: str) -> str:
    """Capitals are X, other letters x, digits 9, each run of them at most two long; signs are what they are:
    *McDonald's* is XxXxx'x."""
    kinds = "".join(
        "X" if letter.isupper() else "x" if letter.isalpha() else "9" if letter.isdigit() else letter for letter in word
    )
    return re.sub(r"(.)\1{2,}", r"\1\1", kinds)[:10]


def _segments(characters: Sequence[str]) -> list[str]:
    """Where each stands in a word of the dictionary (B, M, E, S), and what part of speech that word is."""
    found = []
    for word, part_of_speech in load_jieba_tagger()("".join(characters)):
        places = "S" if len(word) == 1 else "B" + "M" * (len(word) - 2) + "E"
        found += [f"{place}-{part_of_speech}" for place in places]
    if len(found) != len(characters):  # a token of several characters
        owners = [at for at, token in enumerate(characters) for _ in token]
        first = {owner: at for at, owner in reversed(list(enumerate(owners)))}
        found = [found[first[at]] if at in first and first[at] < len(found) else "" for at in range(len(characters))]
    return found
