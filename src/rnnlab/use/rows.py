"""What files of rows have in common: portions, problems, encodings, and columns that are added."""

import codecs
import csv
import io
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data.decoding import encoding_of, load
from rnnlab.data.examples import BadRow
from rnnlab.data.reading import SHOWN, guess_text, require_column
from rnnlab.data.tables import Table, tabulate

PORTION = 4096  # rows
SAMPLE = 10_000  # rows by which the text column is guessed
WHOLE = 1 << 24  # bytes: the encoding of a larger file is told from a piece of this size

Cell = str | float | None  # added to a row; None stays empty
Answered = Iterable[tuple["Portion", Sequence[Sequence[Cell]]]]  # rows with what is added to each


@dataclass(frozen=True)
class Portion:
    """Some rows of a file, in their order. A row that can't be read has a problem instead of an input."""

    lines: list[int]  # of each row, from 1; in Parquet, the number of the row
    inputs: list[Any]  # of each row: a text or a (T, D) array; None where there is a problem
    problems: dict[int, str]  # by place in the portion
    content: Any  # the rows as their file wants them back


class RowFile(ABC):
    """A file with a row for every answer. Opening it sets ``rows``, ``bad`` and ``columns``."""

    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.rows = 0
        self.bad: list[BadRow] = []  # the first `SHOWN`
        self.bad_rows = 0

    @abstractmethod
    def portions(self) -> Iterator[Portion]: ...

    @abstractmethod
    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        """The file ``out`` with columns ``added``, each of str or float, piece by piece."""

    def formats(self) -> tuple[str, ...]:
        """The endings that ``out`` may have."""
        return (self.path.suffix.lower(),)

    def _count(self) -> None:
        """Read all rows once."""
        for portion in self.portions():
            self.rows += len(portion.lines)
            self.bad_rows += len(portion.problems)
            room = SHOWN - len(self.bad)
            found = itertools.islice(sorted(portion.problems.items()), room)
            self.bad += [BadRow(portion.lines[at], reason) for at, reason in found]
        if not self.rows:
            raise DataError(f"{self.path}: there are no rows{', only the header' if self.columns else ''}")


class TextFile(RowFile):
    """Lines of text; what is written is UTF-8, with a byte order mark if there was one."""

    def __init__(self, path: str | Path):
        super().__init__(path)
        self.encoding, self.notes = _encoding_of(self.path)
        with open(self.path, "rb") as file:
            start = file.read(3)
        self.mark = start if start == codecs.BOM_UTF8 else (codecs.BOM_UTF8 if self.encoding == "utf-16" else b"")
        self.newline = "\r\n" if next(self.lines(), "").endswith("\r\n") else "\n"

    def lines(self) -> Iterator[str]:
        """With their ends, split at LF, CR and CRLF only."""
        number = 0
        try:
            with open(self.path, encoding=self.encoding, newline="") as file:
                for number, line in enumerate(file, 1):  # noqa: B007  # for the error below
                    yield line
        except UnicodeDecodeError:
            raise DataError(f"{self.path}: not {self.encoding.upper()} after line {number}; save it as UTF-8") from None


def _encoding_of(path: Path) -> tuple[str, tuple[str, ...]]:
    """As `data.decoding` tells it; of a large file that isn't UTF-8, from the first piece that isn't."""
    if path.stat().st_size <= WHOLE:
        return encoding_of(path, load(path))
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16", ("read as UTF-16",)
        file.seek(0)
        at = 0
        while piece := file.read(1 << 20):
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                file.seek(at + piece.rfind(b"\n", 0, _first_high(piece)) + 1)
                sample = file.read(WHOLE)
                return encoding_of(path, sample[: sample.rfind(b"\n") + 1] or sample)
            at += len(piece)
    return "utf-8-sig", ()


def _first_high(piece: bytes) -> int:
    """Where the first byte beyond ASCII is."""
    return next((at for at, byte in enumerate(piece) if byte > 127), len(piece))


class ColumnWriter:
    """Fields to lines."""

    def __init__(self, delimiter: str, newline: str, quoted: bool = True):
        self.delimiter, self.newline, self.quoted = delimiter, newline, quoted

    def line(self, fields: Sequence[str]) -> bytes:
        return self.lines([fields], [[]])

    def lines(self, rows: Sequence[Sequence[str]], cells: Sequence[Sequence[Cell]]) -> bytes:
        whole = ([*row, *map(as_text, more)] for row, more in zip(rows, cells, strict=True))
        if not self.quoted:
            return "".join(self.delimiter.join(fields) + self.newline for fields in whole).encode()
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator=self.newline).writerows(whole)
        return text.getvalue().encode()


def as_text(cell: Cell) -> str:
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell or "")


def in_portions(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while portion := list(itertools.islice(rows, PORTION)):
        yield portion


def text_column(sample: Table, column: str | None) -> str:
    if not len(sample):  # no row, or none that can be read: that is what to tell the user, not the column
        return next(iter(sample.columns), "")
    require_column(sample, "text", column)
    return column if column is not None else guess_text(sample, set())


def cell_text(path: Path, value: Any) -> tuple[str | None, str]:
    """A value as text, as every table is read, or what is wrong with it."""
    if type(value) is str and len(value) < 10_000 and "\0" not in value:  # the usual case
        return value, ""
    table = tabulate(path, b"", [(1, {"text": value})])
    return (None, table.bad[0].reason) if table.bad else (table.values["text"][0], "")
