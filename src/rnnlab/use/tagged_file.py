"""A file of sentences to be tagged: CoNLL-U, columns, tables of tokens, or texts with spans. What is written has the
same layout, with the answers as its tags."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data.classes import SHOWN
from rnnlab.data.formats.base import BadRow, Portion, in_portions
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged.finding import JSON, SUFFIXES, TABLES, is_tagged, open_layout
from rnnlab.data.tagged.layout import HEAD, Layout, Sentence
from rnnlab.data.tagged.sentences import Unit
from rnnlab.data.tagged.span_lines import SpanLines
from rnnlab.data.tagged.token_table import TOKENS, TokenTable
from rnnlab.use.predictor import Predictor


class TaggedFile:
    """As `InputFile`: opening reads the file through once, and its inputs come in portions. An input is the list of a
    sentence's tokens; of texts with spans, the text, so that entities are found at their places in it."""

    rows: int
    bad_rows: int

    def __init__(self, layout: Layout):
        self.layout = layout
        self.path: str = layout.path
        self.rows = self.bad_rows = 0
        self.bad: list[BadRow] = []  # the first `SHOWN`
        for sentence in layout.sentences(tagged=False):
            self.rows += 1
            if sentence.problem:
                self.bad_rows += 1
                if len(self.bad) < SHOWN:
                    self.bad.append(BadRow(sentence.line, sentence.problem))
        if not self.rows:
            raise DataError("{path}: there are no sentences", path=self.path)
        self.notes: tuple[str, ...] = (*layout.source.notes, *layout.notes_read())

    def portions(self) -> Iterator[tuple[Portion, list[Any]]]:
        """With the input of every sentence, None where it has a problem."""
        for some in in_portions(self.layout.sentences(tagged=False), _weight):
            problems = {at: sentence.problem for at, sentence in enumerate(some) if sentence.problem}
            yield Portion([sentence.line for sentence in some], {}, problems), [self._input(one) for one in some]

    def _input(self, sentence: Sentence) -> Any:
        if sentence.problem:
            return None
        return sentence.text if isinstance(self.layout, SpanLines) else list(sentence.tokens)

    def endings(self) -> tuple[str, ...]:
        return (self.layout.source.suffix,)

    def answered(self, tags: Iterator[Sequence[str]], scheme: str | None) -> Iterator[bytes]:
        """The file with these tags, one answer per sentence without a problem, piece by piece."""
        yield from self.layout.answered(_as_many(tags, self.path), scheme)


def open_tagged(model: Predictor, path: str | Path, column: str | Sequence[str] | None) -> TaggedFile | None:
    """None where the rows of a file aren't sentences, but texts. ``column`` holds the tokens, or the text that spans
    are in."""
    side, task = model.preprocessor, model.task
    assert side.tokenizer is not None
    source = Source.on_disk(path)
    named = column if column is None or isinstance(column, str) else ",".join(column)
    tags, tokens = getattr(task, "tags", None), named or getattr(task, "tokens", None)
    unit: Unit = "characters" if side.tokenizer.name == "chars" else "words"
    if source.suffix in SUFFIXES or (source.suffix in (".txt", ".tsv") and is_tagged(path)):
        return TaggedFile(_opened(source, tags, tokens if named else None, unit))
    layout = _token_table(source, tags, tokens) if source.suffix in (*JSON, *TABLES, ".tsv") else None
    if layout is None and source.suffix in JSON and model.scheme and side.tokenizer.name in ("words", "chars"):
        layout = _spans(source, tags, named, unit)
    return None if layout is None else TaggedFile(layout)


def _opened(source: Source, tags: str | None, tokens: str | None, unit: Unit) -> Layout:
    """The tags' column is called as in training, if there is such a one."""
    if tags is not None:
        try:
            return open_layout(source, tags, tokens, unit, tagged=False)
        except DataError:
            pass
    return open_layout(source, None, tokens, unit, tagged=False)


def _token_table(source: Source, tags: str | None, tokens: str | None) -> TokenTable | None:
    """If a column is called tokens, or has lists, and there are several of them in some row."""
    try:
        layout = TokenTable(source, tags, tokens, tagged=False)
    except DataError:
        return None
    portion = next(layout.file.portions())
    if layout.tokens.lower() not in TOKENS and not any(
        isinstance(cell, list) for cell in portion.values(layout.tokens)
    ):
        return None
    head = itertools.islice(layout.sentences(tagged=False), HEAD)
    return layout if any(len(sentence.tokens) > 1 for sentence in head) else None


def _spans(source: Source, tags: str | None, text: str | None, unit: Unit) -> SpanLines | None:
    try:
        return SpanLines(source, tags, text, unit)
    except DataError:  # perhaps its texts are under another key
        return None


def _weight(sentence: Sentence) -> int:
    return sum(map(len, sentence.tokens))


def _as_many(answers: Iterator[Sequence[str]], path: str) -> Iterator[Sequence[str]]:
    yield from answers
    raise DataError("{path}: it has changed since it was read: there are more sentences than answers", path=path)
