"""The sentences of a file end to end, in little room."""

import itertools
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from rnnlab.data.formats.base import BadRow
from rnnlab.data.tagged.layout import Sentence
from rnnlab.data.tagged.sentences import Unit

SINGLE = 0.95  # of the tokens: from here on, they are characters


class Gathered:
    """Those that can be used; of the others the line and the reason. Equal tokens and equal tags are one object."""

    def __init__(self, sentences: Iterable[Sentence], bad: Iterable[BadRow] = ()):
        known: dict[str, str] = {}
        self.tokens: list[str] = []
        self.tags: list[str] = []  # none where they weren't asked for
        self.bad: list[BadRow] = list(bad)
        self._texts: list[str | None] = []
        self._lines, self._token_lines, self._ends = array("q"), array("q"), array("q", [0])
        for sentence in sentences:
            if sentence.problem:
                self.bad.append(BadRow(sentence.line, sentence.problem))
                continue
            self.tokens += [known.setdefault(token, token) for token in sentence.tokens]
            self.tags += [known.setdefault(tag, tag) for tag in sentence.tags]
            self._ends.append(len(self.tokens))
            self._lines.append(sentence.line)
            self._token_lines.extend(sentence.token_lines)
            self._texts.append(sentence.text)
        self.bad.sort(key=lambda row: row.line)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def offsets(self) -> np.ndarray:
        return np.array(self._ends, np.int64)

    @property
    def lines(self) -> np.ndarray:
        return np.array(self._lines, np.int64)

    @property
    def texts(self) -> list[str] | None:
        """If all sentences have one."""
        texts = [text for text in self._texts if text is not None]
        return texts if len(texts) == len(self) else None

    @property
    def unit(self) -> Unit:
        single = sum(len(token) == 1 for token in self.tokens)
        return "characters" if single >= SINGLE * len(self.tokens) else "words"

    def line_of(self, step: int) -> int:
        """Of a token; in a file of one sentence per line, of its sentence."""
        if self._token_lines:
            return self._token_lines[step]
        return self._lines[int(np.searchsorted(self.offsets, step, "right")) - 1]

    def __iter__(self) -> Iterator[Sentence]:
        for row, (first, end) in enumerate(itertools.pairwise(self._ends)):
            own = slice(first, end)
            lines = self._token_lines[own]
            yield Sentence(self._lines[row], self.tokens[own], self.tags[own], self._texts[row], lines)

    def without(self, reasons: dict[str, str]) -> "Gathered":
        """The same, but that sentences with one of some tags are bad, with the reason that the tag gives."""

        def judged(sentence: Sentence) -> Sentence:
            at = next((at for at, tag in enumerate(sentence.tags) if tag in reasons), None)
            if at is None:
                return sentence
            line = sentence.token_lines[at] if sentence.token_lines else sentence.line
            return replace(sentence, line=line, problem=reasons[sentence.tags[at]])

        return Gathered(map(judged, self), self.bad)
