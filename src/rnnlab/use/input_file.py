"""A file of rows to be answered: which of its columns a model reads."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data import formats, series
from rnnlab.data.classes import SHOWN
from rnnlab.data.formats.base import BadRow, Portion, RowFile, texts_of
from rnnlab.data.joined import join, named_columns
from rnnlab.data.reading import guess_text, require_column
from rnnlab.data.tables import Table, tabulate

SAMPLE = 10_000  # rows by which the text column is guessed


class InputFile:
    """A file of rows to answer: which of its columns is read, what is wrong with its rows, and its inputs in portions.

    ``column`` holds the texts (or the numbers, if ``numeric``); it is guessed where there is no doubt. A model of
    several ``columns`` reads those of these names, or those that ``column`` names in their place. Opening reads
    the file through once: rows that can't be read are found, and the columns known, before the first answer is worked
    out."""

    file: RowFile
    numeric: bool
    rows: int
    bad_rows: int

    def __init__(
        self, path: str | Path, column: str | Sequence[str] | None, numeric: bool, columns: Sequence[str] = ()
    ):
        file = formats.open_on_disk(path)
        self.file, self.numeric, suffix = file, numeric, file.source.suffix
        if numeric and "numbers" not in file.holds:
            raise DataError(
                "{path}: this model reads numbers, and a {suffix} file holds texts", path=path, suffix=suffix
            )
        if not numeric and "texts" not in file.holds:
            raise DataError(
                "{path}: this model reads texts, and a {suffix} file holds numbers", path=path, suffix=suffix
            )
        if numeric:
            one = column if column is None or isinstance(column, str) else ",".join(column)
            self.columns: tuple[str, ...] = (series.choose_column(file, one),)
        else:
            self.columns = _text_columns(file, column, columns)
        self.rows = 0
        self.bad: list[BadRow] = []  # the first `SHOWN`
        self.bad_rows = 0
        for portion, _ in self.portions():
            self.rows += len(portion.lines)
            self.bad_rows += len(portion.problems)
            found = itertools.islice(sorted(portion.problems.items()), SHOWN - len(self.bad))
            self.bad += [BadRow(portion.lines[at], reason) for at, reason in found]
        if not self.rows:
            if file.takes_names:
                raise DataError("{path}: there are no rows, only the header", path=path)
            raise DataError("{path}: there are no rows", path=path)

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def notes(self) -> tuple[str, ...]:
        return self.file.notes

    def endings(self) -> tuple[str, ...]:
        """The endings of a file that it can be written as."""
        return self.file.endings()

    def portions(self) -> Iterator[tuple[Portion, list[Any]]]:
        """With the input of every row, a text or a (T, D) array; None where the portion has a problem."""
        if self.numeric:
            yield from series.with_arrays(self.file, self.columns[0])
            return
        for portion in self.file.portions():
            problems: dict[int, str] = {}
            parts = []
            for name in self.columns:
                found, wrong = texts_of(name, portion.values(name))
                parts.append(found)
                problems = wrong | problems
            texts = parts[0] if len(parts) == 1 else list(map(join, zip(*parts, strict=True)))
            portion = replace(portion, problems={**problems, **portion.problems})
            yield portion, [None if at in portion.problems else text for at, text in enumerate(texts)]


def _text_columns(file: RowFile, column: str | Sequence[str] | None, columns: Sequence[str]) -> tuple[str, ...]:
    """Those that are read: of a model of several ``columns``, as many."""
    if file.fixed is not None:
        if column is not None:
            raise DataError(
                "{path}: a {suffix} file has one text per line and no columns; leave --text out",
                path=file.path,
                suffix=file.source.suffix,
            )
        return (file.fixed[0],)
    first: list[Portion] = []
    for portion in file.portions():
        first.append(portion)
        if sum(len(portion.lines) for portion in first) >= SAMPLE:
            break
    sample = tabulate(file, first)
    if not len(sample):  # no row, or none that can be read: that is what to tell the user, not the column
        return tuple(sample.columns)[:1]
    chosen = chosen_columns(sample, column, columns)
    for name in chosen:
        if any(isinstance(value, list) for portion in first for value in portion.values(name)):
            raise DataError(
                "{path}: this model reads texts, and the column {chosen!r} holds arrays of numbers",
                path=file.path,
                chosen=name,
            )
    return chosen


def chosen_columns(table: Table, column: str | Sequence[str] | None, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of new rows that a model reads: those named by ``column``; else its own ``columns``, if it has
    several; else the one that is guessed."""
    named = named_columns(column, table.columns)
    if named and len(named) != max(1, len(columns)):
        if columns:
            raise DataError(
                "--text {names}: this model reads {count} columns ({columns}); name as many, in this order",
                names=",".join(named),
                count=len(columns),
                columns=", ".join(columns),
            )
        raise DataError("--text {names}: this model reads one text column; name one", names=",".join(named))
    if not named and columns:
        missing = [name for name in columns if name not in table.columns]
        if missing:
            raise DataError(
                "{path}: this model reads the columns {columns}, and there is no column {missing!r}; name those of "
                "this table with --text (in Python, text=…), in this order\ncolumns: {listed}",
                path=table.path,
                columns=", ".join(columns),
                missing=missing[0],
                listed=", ".join(map(repr, table.columns)),
            )
        named = tuple(columns)
    for name in named:
        require_column(table, "text", name)
    if not named and len(table.columns) == 1:
        return tuple(table.columns)  # there is no doubt; whether it can be read is seen next
    return named or (guess_text(table, set()),)
