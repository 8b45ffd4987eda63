"""Tagged sentences, whatever file they came from: the one shape that splits, vocabularies and scores work on."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rnnlab.data.formats.base import BadRow

Unit = Literal["words", "characters"]


@dataclass(frozen=True)
class Sentences:
    """Tokens and tags of all sentences end to end; sentence ``row`` is ``tokens[offsets[row]:offsets[row + 1]]``, and
    has at least one token."""

    source: str  # as the user wrote it
    tokens: list[str]  # equal ones are one object
    offsets: np.ndarray  # (rows + 1,) int64
    tags: list[str] | None  # one per token; None in a file of rows to be answered
    lines: np.ndarray  # (rows,) int64: the line of the file where each sentence begins, from 1
    scheme: str | None  # a key of `schemes.SCHEMES`; None: plain tags, such as parts of speech
    unit: Unit  # what a token is: decides how a text becomes tokens (`cutting.tokens_of`)
    texts: list[str] | None = None  # the raw text of each sentence, where the file has one
    digest: str = ""  # SHA-256 of the file
    skipped: tuple[BadRow, ...] = ()  # sentences left out, with the reason
    notes: tuple[str, ...] = ()  # what the reader decided and a person should know
    column: str = ""  # the name or number of the column that the tags are from; empty where they are from spans

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def labels(self) -> list[str]:
        """The distinct tags, sorted."""
        return sorted(set(self.tags or ()))

    def tokens_of(self, row: int) -> list[str]:
        return self.tokens[self.offsets[row] : self.offsets[row + 1]]

    def tags_of(self, row: int) -> list[str]:
        return [] if self.tags is None else self.tags[self.offsets[row] : self.offsets[row + 1]]
