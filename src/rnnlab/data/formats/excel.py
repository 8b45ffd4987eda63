"""Excel workbooks (.xlsx), through openpyxl: the first sheet that holds something. Its first row is the header, or the
first below a title."""

import contextlib
import datetime
import io
import itertools
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.core.words import both, note
from rnnlab.data.formats.base import (
    Answered,
    Cell,
    Portion,
    RowFile,
    check_names,
    file_format,
    in_portions,
    named_columns,
    refuse_unreadable,
)
from rnnlab.data.formats.source import Source

LARGEST = 1 << 31  # bytes of a workbook when it is unpacked: a few kilobytes can hold gigabytes of zeros
LOOKED_AT = 6  # rows among which the header is
LONGEST = 32_767  # characters that Excel takes in a cell
_NUMBERS = re.compile(r"[-+\d.,/:%\s]+")  # also dates and times
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")  # control characters, and their escapes


@file_format(".xlsx")
class Excel(RowFile):
    """Answers are added to a copy of the whole workbook, which keeps its sheets, widths and colours."""

    takes_names = True
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    header_row: int

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        super().__init__(source)
        self._names = names
        with self._opened() as book:
            sheets = [
                sheet for sheet in book.worksheets if any(_filled(row) for row in sheet.iter_rows(values_only=True))
            ]
            if not sheets:
                raise DataError("{path}: the file is empty", path=self.path)
            self.sheet: str = sheets[0].title
            if len(sheets) > 1:
                self.notes = (
                    note("the sheet {sheet!r}, of {count} that hold rows", sheet=self.sheet, count=len(sheets)),
                )
            first = list(itertools.islice(_numbered(sheets[0]), LOOKED_AT))
        if names is None:
            titles = _titles_above(first)
            self.header_row, header = first[titles]
            if titles:
                self.notes += (note("the header is row {row}; what stands above it is left out", row=self.header_row),)
            self.columns = named_columns([_as_text(cell).strip() for cell in _trimmed(header)])
            check_names(both("{path}:{line}: the header", path=self.path, line=self.header_row), self.columns)
        else:
            self.header_row, self.columns = 0, tuple(names)

    def portions(self) -> Iterator[Portion]:
        width = len(self.columns)
        with self._opened() as book:
            rows = ((number, row) for number, row in _numbered(book[self.sheet]) if number > self.header_row)
            for numbered in in_portions(rows, weigh=lambda row: sum(len(c) for c in row[1] if isinstance(c, str))):
                problems = {
                    at: note("{count} fields instead of {width}", count=len(_trimmed(row)), width=width)
                    for at, (_, row) in enumerate(numbered)
                    if len(_trimmed(row)) > width
                }
                cells = [[*map(_as_text, row[:width]), *[""] * (width - len(row))] for _, row in numbered]
                cells = [[""] * width if at in problems else row for at, row in enumerate(cells)]
                columns = dict(zip(self.columns, zip(*cells, strict=True), strict=True))
                yield Portion([number for number, _ in numbered], columns, problems)

    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        with self._opened(whole=True) as book:
            sheet, first = book[self.sheet], len(self.columns) + 1
            if self.header_row:
                for column, name in enumerate(added, first):
                    _put(sheet, self.header_row, column, name)
            for portion, cells in answered:
                for line, more in zip(portion.lines, cells, strict=True):
                    for column, cell in enumerate(more, first):
                        _put(sheet, line, column, cell)
            yield _saved(book)

    @classmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        check_names("the columns", columns)
        book = _openpyxl("the file").Workbook()
        sheet = book.active
        for number, row in enumerate([columns, *rows], 1):
            for column, (name, cell) in enumerate(zip(columns, row, strict=True), 1):
                text = cell or ""
                refuse_unreadable(name, text)
                if len(text) > LONGEST or _UNWRITABLE.search(text):
                    raise DataError("{column!r}: a text that a cell of Excel can't hold", column=name)
                _put(sheet, number, column, text)
        yield _saved(book)

    @contextlib.contextmanager
    def _opened(self, whole: bool = False) -> Iterator[Any]:
        """``whole``: to be changed and saved, with formulas; else row by row, with the values that Excel computed."""
        openpyxl = _openpyxl(self.path)
        with self.source.open() as file:
            try:
                with zipfile.ZipFile(file) as archive:
                    size = sum(member.file_size for member in archive.infolist())
                if size > LARGEST:
                    raise DataError(
                        "{path}: unpacked, it has {size:,} bytes; save it as CSV", path=self.path, size=size
                    )
                book = openpyxl.load_workbook(file, read_only=not whole, data_only=not whole)
            except DataError:
                raise
            except Exception as error:  # whatever a damaged archive or document makes of its reader
                raise self._unreadable(error) from None
            try:
                yield book
            except (
                zipfile.BadZipFile,
                SyntaxError,
                ValueError,
                KeyError,
                EOFError,
                TypeError,
                AttributeError,
            ) as error:
                raise self._unreadable(error) from None
            finally:
                book.close()

    def _unreadable(self, error: Exception) -> DataError:
        return DataError("{path}: not a readable Excel file: {error}", path=self.path, error=error)


def _openpyxl(path: str) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise DataError("{path}: reading Excel files needs openpyxl: pip install 'rnnlab[excel]'", path=path) from None
    return openpyxl


def _numbered(sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows that hold something, with their numbers as Excel shows them."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if _filled(row):
            yield number, row


def _filled(row: Sequence[Any]) -> bool:
    return any(map(_holds_something, row))


def _holds_something(cell: Any) -> bool:
    return cell is not None and not (isinstance(cell, str) and not cell.strip())


def _titles_above(rows: Sequence[tuple[int, Sequence[Any]]]) -> int:
    """How many of the first rows are a title, or names of groups of columns, in merged cells: at most half as many
    cells are filled as in the row below, and all of those are names."""
    filled = [list(filter(_holds_something, row)) for _, row in rows]
    above = 0
    for row, below in itertools.pairwise(filled):
        if 2 * len(row) > len(below) or not all(
            isinstance(cell, str) and not _NUMBERS.fullmatch(cell) for cell in below
        ):
            break
        above += 1
    return above


def _trimmed(row: Sequence[Any]) -> Sequence[Any]:
    """Without empty cells at its end."""
    end = len(row)
    while end and not _holds_something(row[end - 1]):
        end -= 1
    return row[:end]


def _as_text(cell: Any) -> str:
    """As Excel shows it, more or less: 5 for 5.0, and a date without a time where there is none."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return str(cell)


def _put(sheet: Any, row: int, column: int, value: Cell) -> None:
    if value not in (None, ""):
        cell = sheet.cell(row, column)
        cell.value = round(value, 6) if isinstance(value, float) else value
        if isinstance(value, str):
            cell.data_type = "s"  # =1+1 is a text here, and no formula


def _saved(book: Any) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()
