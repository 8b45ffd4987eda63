"""Plain text, to be answered line by line."""

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from rnnlab.core.errors import DataError
from rnnlab.data.formats.base import (
    Answered,
    Cell,
    Portion,
    RowFile,
    as_text,
    field_problem,
    file_format,
    in_portions,
    refuse_unreadable,
)
from rnnlab.data.formats.delimited import DELIMITERS, to_lines
from rnnlab.data.formats.source import Source


@file_format(".txt")
class PlainText(RowFile):
    """One text per line; an empty line is an empty text. Answers are written behind a tab, or as a table."""

    labelled = False
    fixed: ClassVar[tuple[str, ...] | None] = ("text",)
    are_texts = True
    columns: tuple[str, ...] = ("text",)

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        super().__init__(source)
        self.notes: tuple[str, ...] = source.notes

    def portions(self) -> Iterator[Portion]:
        for numbered in in_portions(enumerate(self.source.lines(), 1), weigh=lambda row: len(row[1])):
            content = [line.rstrip("\r\n") for _, line in numbered]
            problems = {at: problem for at, text in enumerate(content) if (problem := field_problem([text]))}
            texts = ["" if at in problems else text for at, text in enumerate(content)]
            yield Portion([number for number, _ in numbered], {"text": texts}, problems, content)

    def endings(self) -> tuple[str, ...]:
        return (".txt", ".csv", ".tsv")

    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        is_table, newline = suffix != ".txt", self.source.newline
        if is_table:
            header = to_lines([["text", *added]], DELIMITERS[suffix], newline)
            yield self.source.mark + self.source.encode(header)
        else:
            yield self.source.mark
        for portion, cells in answered:
            rows = ([text, *map(as_text, more)] for text, more in zip(portion.content, cells, strict=True))
            yield self.source.encode(to_lines(rows, DELIMITERS[suffix], newline, enclose=is_table))

    @classmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        for number, (text,) in enumerate(rows):
            refuse_unreadable("text", text)
            if "\n" in text or "\r" in text:
                raise DataError("a line of a .txt file is one text, and can't hold a line break")
            mark = codecs.BOM_UTF8 if not number and text.startswith("\ufeff") else b""  # or that would be it
            yield mark + f"{text}\n".encode()
