"""CSV and TSV: through the ``csv`` module where all is well, and through ``_parse_carefully`` where it isn't: there an
open quote costs one row, not the rest of the file. Whether quotes are marks or text is told from the rows."""

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnlab.core.errors import DataError
from rnnlab.data.cells import FIELD_CAP, check_names, field_problem
from rnnlab.data.columns import Column
from rnnlab.data.decoding import open_lines
from rnnlab.data.examples import BadRow

QUOTES_ARE_TEXT = "quotes are read as text"
QUOTES_ENCLOSE = "quotes are read as marks around fields"

CHUNK = 4096  # rows held as strings before they go to the columns
Record = tuple[int, list[str]] | BadRow  # the line where it starts, and its fields


@dataclass(frozen=True)
class Rows:
    """Columns of equal length; ragged and damaged rows are in ``bad`` instead."""

    names: tuple[str, ...]
    columns: list[Column]
    lines: array  # the line where each row starts, from 1
    bad: list[BadRow]


def read(
    path: str | Path, data: bytes, encoding: str, delimiter: str, columns: Sequence[str] | None
) -> tuple[Rows, tuple[str, ...]]:
    """The rows, and notes of what was decided. A comma may turn out to be a semicolon or a tab."""
    notes: tuple[str, ...] = ()
    if delimiter == ",":
        delimiter = delimiter_of(next((line for line in open_lines(data, encoding) if line.strip()), ""))
        notes += {";": ("separated by semicolons",), "\t": ("separated by tabs",)}.get(delimiter, ())

    def split_lines() -> Iterator[Record]:
        return _split_lines(open_lines(data, encoding), delimiter)

    if b'"' not in data:
        rows = _collect(path, split_lines(), columns)
    else:
        rows = _read_quoted(path, data, encoding, delimiter, columns)
        filled_lines = sum(1 for line in open_lines(data, encoding) if line.strip("\r\n"))
        in_doubt = rows.bad or len(rows.lines) + (columns is None) < filled_lines
        if in_doubt:
            as_text = _quotes_are_text(rows, split_lines(), often_quoted=delimiter != "\t")
            notes += (QUOTES_ARE_TEXT if as_text else QUOTES_ENCLOSE,)
            if as_text:
                rows = _collect(path, split_lines(), columns)
    return rows, notes


def delimiter_of(first_line: str) -> str:
    """A comma, unless the first line has none and does have semicolons or tabs."""
    bare = re.sub(r'"[^"]*"', "", first_line)
    return next((mark for mark in ",;\t" if mark in bare), ",")


def _read_quoted(path: str | Path, data: bytes, encoding: str, delimiter: str, columns: Sequence[str] | None) -> Rows:
    width = None if columns is None else len(columns)
    # The csv module's own field limit belongs to the whole process, so it is left alone: a field beyond it is a
    # csv.Error, and the careful parser, which has our cap, takes over; so it does with NUL, which csv lets through.
    if b"\0" not in data and csv.field_size_limit() <= FIELD_CAP:
        try:
            return _collect(path, _csv_records(open_lines(data, encoding), delimiter, width), columns)
        except csv.Error:
            pass
    return _collect(path, _parse_carefully(data.decode(encoding), delimiter, width), columns)


def _csv_records(lines: Iterator[str], delimiter: str, width: int | None) -> Iterator[Record]:
    """Records by the csv module. A ragged row of several lines may be an open quote: that too is a ``csv.Error``."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    for fields in reader:
        if fields and not (width is None and _is_blank(fields)):
            width = width or len(fields)
            if len(fields) != width and reader.line_num > start:
                raise csv.Error("ragged row of several lines")
            yield start, fields
        start = reader.line_num + 1


def _split_lines(lines: Iterator[str], delimiter: str) -> Iterator[Record]:
    """One record a line; quotes are characters like any other."""
    for number, line in enumerate(lines, 1):
        if content := line.rstrip("\r\n"):
            fields = content.split(delimiter)
            problem = (len(content) > FIELD_CAP or "\0" in content) and field_problem(fields)
            yield BadRow(number, problem) if problem else (number, fields)


_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')
_NEWLINE = re.compile(r"\r\n|\r|\n")


def _parse_carefully(text: str, delimiter: str, width: int | None) -> Iterator[Record]:
    """The records of ``csv.reader(strict=True)``, but after a quote that isn't closed, or not in the right place, it
    goes on with the line after the one where that quote opened. Linear in the text for a fixed ``width``."""
    bare = re.compile(f"[^{delimiter}\r\n]*+")
    at, line = 0, 1
    while at < len(text):
        if blank := _NEWLINE.match(text, at):
            at, line = blank.end(), line + 1
            continue
        start = line
        fields, at, line = _parse_record(text, at, line, delimiter, bare, width)
        if isinstance(fields, BadRow):
            yield fields
        elif problem := field_problem(fields):
            yield BadRow(start, problem)
        elif not (width is None and _is_blank(fields)):
            width = width or len(fields)
            yield start, fields


def _parse_record(
    text: str, at: int, line: int, delimiter: str, bare: re.Pattern[str], width: int | None
) -> tuple[list[str] | BadRow, int, int]:
    """One record, or what is wrong with it; then the position and the number of the line to go on with."""

    def give_up(opened: int, line: int, reason: str) -> tuple[BadRow, int, int]:
        return BadRow(line, reason), _next_line(text, opened), line + 1

    fields: list[str] = []
    spanning: tuple[int, int] | None = None  # position and line where the first field of several lines opens
    while True:
        if text.startswith('"', at):
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                return give_up(at, line, "the quote that opens here is never closed")
            breaks = len(_NEWLINE.findall(quoted[1]))
            if text[quoted.end() : quoted.end() + 1] not in ("", delimiter, "\r", "\n"):
                reason = "text follows right after a closing quote"
                if breaks:
                    reason = f"the quote that opens here isn't closed (in line {line + breaks}, {reason})"
                return give_up(at, line, reason)
            if breaks and spanning is None:
                spanning = at, line
            fields.append(quoted[1].replace('""', '"'))
            at, line = quoted.end(), line + breaks
        else:
            found = bare.match(text, at)
            assert found is not None  # it matches the empty string too
            fields.append(found[0])
            at = found.end()
        if spanning and width and len(fields) > width:
            return give_up(*spanning, f"the quote that opens here isn't closed, or there are more than {width} fields")
        if not text.startswith(delimiter, at):
            return fields, _next_line(text, at), line + 1
        at += 1


def _next_line(text: str, at: int) -> int:
    newline = _NEWLINE.search(text, at)
    return newline.end() if newline else len(text)


def _is_blank(fields: list[str]) -> bool:
    return len(fields) == 1 and not fields[0].strip()


def _collect(path: str | Path, records: Iterable[Record], columns: Sequence[str] | None) -> Rows:
    """Records to columns. The first record is the header unless ``columns`` are given; ragged rows are bad."""
    names = None if columns is None else tuple(columns)
    gathered = [Column() for _ in names or ()]
    lines, bad = array("q"), []
    chunk: list[list[str]] = []
    for record in records:
        if isinstance(record, BadRow):
            if names is None:
                raise DataError(f"{path}:{record.line}: the header can't be read: {record.reason}")
            bad.append(record)
            continue
        line, fields = record
        if names is None:
            if not _is_blank(fields):
                names = tuple(name.strip() for name in fields)
                check_names(f"{path}:{line}: the header", names)
                gathered = [Column() for _ in names]
        elif len(fields) == len(names):
            chunk.append(fields)
            lines.append(line)
            if len(chunk) == CHUNK:
                _extend(gathered, chunk)
        elif not _is_blank(fields):
            noun = "field" if len(fields) == 1 else "fields"
            bad.append(BadRow(line, f"{len(fields)} {noun} instead of {len(names)}"))
    if names is None:
        raise DataError(f"{path}: the file is empty")
    _extend(gathered, chunk)
    return Rows(names, gathered, lines, bad)


def _extend(columns: list[Column], rows: list[list[str]]) -> None:
    """Move rows, all as wide as the table, to the ends of its columns."""
    if rows:
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(values)
        rows.clear()


def _quotes_are_text(quoted: Rows, unquoted: Iterable[Record], *, often_quoted: bool) -> bool:
    """Whether quotes are data rather than marks around fields.

    They are if two things hold. First, without quoting the rows are no worse: hardly more of them are bad, and the
    lines that quoting would join look like whole rows (a text of several lines would leave ragged pieces). Second,
    quotes at the start of a field often have no proper end. In a comma-separated file, where quoting is the custom,
    one or two such quotes are mistakes to be reported, and rows that are well-formed are beyond suspicion."""
    width = len(quoted.names)
    if not quoted.bad and (often_quoted or width == 1):
        return False
    records = bad = broken = whole = 0
    for record in unquoted:
        records += 1
        fields = [] if isinstance(record, BadRow) else record[1]
        bad += len(fields) != width
        for field in fields:
            if field.startswith('"'):
                is_whole = _QUOTED.fullmatch(field) is not None
                whole += is_whole
                broken += not is_whole
    joined = max(0, records - 1 - len(quoted.lines) - len(quoted.bad))
    no_worse = bad <= len(quoted.bad) + joined // 4
    often_broken = broken >= (3 if often_quoted or whole else 1) and broken * 4 >= whole
    return no_worse and often_broken
