"""The vocabulary: which word has which number."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from rnnlab.data.ngrams import Ngrams

PADDING, UNKNOWN = 0, 1
SPECIAL = ("<pad>", "<unk>")
SEPARATOR = "‖"
SEPARATED = 2  # the separator of text columns, where there are several: see `data.joined`
JOINED = (*SPECIAL, SEPARATOR)
BEGIN, END = 2, 3
WRITTEN = (*SPECIAL, "<s>", "</s>")  # of a vocabulary whose words are written: before the first, and after the last


@dataclass(frozen=True)
class Vocabulary:
    """``words[i]`` has the number i; 0 is padding, 1 stands for every word that isn't here.

    The first ``learnt`` words were chosen by the training rows. Those behind them never occur there: pre-trained
    vectors know them, and validation, test and new rows may hold them. Where there are such words, an unknown one has
    the vector zero, always.

    Where the words are ``written``, 2 begins and 3 ends a text. No text that is read has a special one: `</s>` typed by
    a person is unknown.

    Where several columns are ``joined``, 2 stands between them.

    Where n-grams are inputs too, their numbers come behind those of the ``learnt`` words, and before the others'; so do
    those of ``marks`` (`data.marks`), behind the n-grams'."""

    words: tuple[str, ...]
    learnt: int | None = None  # None: all of them
    ngrams: Ngrams | None = None
    written: bool = False
    joined: bool = False
    marks: int = 0  # how many have a number

    @classmethod
    def build(
        cls,
        tokens: Sequence[str],
        counts: Iterable[int],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        written: bool = False,
        joined: bool = False,
    ) -> Self:
        """The tokens counted at least ``min_count`` times (and at least once), the most frequent first, equals in
        alphabetical order; ``max_size`` counts the special ones too. Count in the training rows alone."""
        special = _special(written, joined)
        kept = [
            (-count, token)
            for token, count in zip(tokens, counts, strict=True)
            if count >= max(min_count, 1) and token not in special
        ]
        ordered = (token for _, token in sorted(kept))
        return cls((*special, *ordered)[:max_size], written=written, joined=joined)

    def __len__(self) -> int:
        """How many numbers there are."""
        return len(self.words) + self.further

    @property
    def further(self) -> int:
        """How many n-grams and marks have a number."""
        return (0 if self.ngrams is None else len(self.ngrams)) + self.marks

    @property
    def first_mark(self) -> int:
        """The number of the first mark."""
        return len(self.learnt_words) + self.further - self.marks

    def extended(self, words: Iterable[str]) -> Self:
        """With further words, which the training rows lack."""
        return replace(self, words=(*self.words, *words), learnt=len(self.words))

    @property
    def special(self) -> tuple[str, ...]:
        """The first of the words, which no text that is read has."""
        return _special(self.written, self.joined)

    @property
    def learnt_words(self) -> tuple[str, ...]:
        """Padding, unknown, and what the training rows chose."""
        return self.words[: self.learnt]

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word; the special ones aren't words."""
        learnt, first = len(self.learnt_words), len(self.special)
        return {
            word: number if number < learnt else number + self.further
            for number, word in enumerate(self.words)
            if number >= first
        }

    @cached_property
    def numbers(self) -> np.ndarray:
        """(words,) int64: the number of each of the words, the special ones too."""
        at = np.arange(len(self.words))
        return np.where(at < len(self.learnt_words), at, at + self.further)

    def spelled(self, ids: Iterable[int]) -> list[str]:
        """The words that have these numbers."""
        learnt = len(self.learnt_words)
        return [self.words[number if number < learnt else number - self.further] for number in ids]

    def with_ngrams(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Ids of rows laid end to end (N,) → each with those of the n-grams that end there, (N, 1 + sizes) int32;
        unchanged where n-grams are no inputs."""
        if self.ngrams is None:
            return ids
        learnt = len(self.learnt_words)
        numbers = self.ngrams.numbers(ids, offsets, learnt)
        return np.column_stack([ids, np.where(numbers < 0, PADDING, learnt + numbers)]).astype(np.int32)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        return [self.index.get(token, UNKNOWN) for token in tokens]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {"words": list(self.words)}
        if self.learnt is not None:
            values["learnt"] = self.learnt
        if self.ngrams is not None:
            values["ngrams"] = self.ngrams.to_dict()
        if self.marks:
            values["marks"] = self.marks
        if self.written:
            values["written"] = True
        if self.joined:
            values["joined"] = True
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        words, learnt, ngrams = tuple(values["words"]), values.get("learnt"), values.get("ngrams")
        if learnt is not None and (type(learnt) is not int or not len(SPECIAL) <= learnt <= len(words)):
            raise ValueError(f"'learnt' must be a number of words, up to {len(words)} (got {learnt!r})")
        written, joined = (values.get(name, False) is True for name in ("written", "joined"))
        special = _special(written, joined)
        if (written or joined) and words[: len(special)] != special:
            raise ValueError(f"this vocabulary begins with {', '.join(special)}")
        marks = values.get("marks", 0)
        if type(marks) is not int or marks < 0:
            raise ValueError(f"'marks' must be a number (got {marks!r})")
        return cls(words, learnt, None if ngrams is None else Ngrams.from_dict(ngrams), written, joined, marks)


def _special(written: bool, joined: bool) -> tuple[str, ...]:
    if written and joined:
        raise ValueError("a vocabulary is written, or its columns are joined, not both")
    return WRITTEN if written else JOINED if joined else SPECIAL
