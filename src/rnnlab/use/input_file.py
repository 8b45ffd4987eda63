"""A file of rows to answer: which of its columns is read, what is wrong with its rows, and its inputs in portions.

Opening reads the file through once: rows that can't be read are found, and the columns known, before the first answer
is worked out."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data import formats, series
from rnnlab.data.formats.base import BadRow, Portion, RowFile, texts_of
from rnnlab.data.reading import SHOWN, guess_text, require_column
from rnnlab.data.tables import tabulate

SAMPLE = 10_000  # rows by which the text column is guessed


class InputFile:
    """``column`` holds the texts (or the numbers, if ``numeric``); it is guessed where there is no doubt."""

    def __init__(self, path: str | Path, column: str | None, numeric: bool):
        self.file = formats.open_on_disk(path)
        self.numeric = numeric
        if numeric:
            _require(self.file, "numbers")
            self.column = series.choose_column(self.file, column)
        else:
            _require(self.file, "texts")
            self.column = _text_column(self.file, column)
        self.rows = 0
        self.bad: list[BadRow] = []  # the first `SHOWN`
        self.bad_rows = 0
        for portion, _ in self.portions():
            self.rows += len(portion.lines)
            self.bad_rows += len(portion.problems)
            found = itertools.islice(sorted(portion.problems.items()), SHOWN - len(self.bad))
            self.bad += [BadRow(portion.lines[at], reason) for at, reason in found]
        if not self.rows:
            raise DataError(
                "{path}: there are no rows{value}",
                path=path,
                value=", only the header" if self.file.takes_names else "",
            )

    def portions(self) -> Iterator[tuple[Portion, list[Any]]]:
        """With the input of every row, a text or a (T, D) array; None where the portion has a problem."""
        if self.numeric:
            yield from series.with_arrays(self.file, self.column)
            return
        for portion in self.file.portions():
            texts, problems = texts_of(self.column, portion.values(self.column))
            portion = replace(portion, problems={**problems, **portion.problems})
            yield portion, [None if at in portion.problems else text for at, text in enumerate(texts)]


def _require(file: RowFile, holding: str) -> None:
    if holding not in file.holds:
        other = "texts, and a {} file holds numbers" if holding == "texts" else "numbers, and a {} file holds texts"
        raise DataError("{path}: this model reads {format}", path=file.path, format=other.format(file.source.suffix))


def _text_column(file: RowFile, column: str | None) -> str:
    if file.fixed is not None:
        if column is not None:
            raise DataError(
                "{path}: a {suffix} file has one text per line and no columns; leave --text out",
                path=file.path,
                suffix=file.source.suffix,
            )
        return file.fixed[0]
    first: list[Portion] = []
    for portion in file.portions():
        first.append(portion)
        if sum(len(portion.lines) for portion in first) >= SAMPLE:
            break
    sample = tabulate(file, first)
    if not len(sample):  # no row, or none that can be read: that is what to tell the user, not the column
        return next(iter(sample.columns), "")
    require_column(sample, "text", column)
    chosen = column if column is not None else guess_text(sample, set())
    if any(isinstance(value, list) for portion in first for value in portion.values(chosen)):
        raise DataError(
            "{path}: this model reads texts, and the column {chosen!r} holds arrays of numbers",
            path=file.path,
            chosen=chosen,
        )
    return chosen
