"""Tables from files: CSV, TSV, JSON lines and Parquet as columns of strings, and every unusable row with its line.

Delimited files go through the ``csv`` module where all is well, and through ``_parse_carefully`` where it isn't:
there an open quote costs one row, not the rest of the file."""

import codecs
import csv
import functools
import hashlib
import io
import itertools
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.data.examples import BadRow
from rnnlab.errors import DataError

FIELD_CAP = 1_000_000  # characters; a longer field is a damaged file, or a whole book that no model here could read
COLUMN_CAP = 1_000  # different keys in JSON lines: every one costs a cell in every row
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
SUPPORTED = (*DELIMITERS, *JSON_LINES, ".parquet")

QUOTES_ARE_TEXT = "quotes are read as text"
QUOTES_ENCLOSE = "quotes are read as marks around fields"

Record = tuple[int, list[str]] | BadRow  # the line where it starts, and its fields
Row = tuple[int, dict[str, Any]] | BadRow  # the line where it starts, and its values by name


@dataclass(frozen=True)
class Table:
    """Columns of strings of equal length. A missing value is an empty string; a nested one is its JSON text."""

    path: str
    columns: tuple[str, ...]
    values: dict[str, list[str]]
    lines: np.ndarray  # (rows,) int64: the line where each row starts, from 1; in Parquet, the number of the row
    bad: list[BadRow]  # rows that can't be used; they are not in ``values``
    digest: str  # SHA-256 of the file
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)


def read(path: str | Path, *, columns: Sequence[str] | None = None) -> Table:
    """Read a table. ``columns`` names the columns of a delimited file that has no header line."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUPPORTED:
        raise DataError(f"{path}: can't read '{suffix}' files as a table; supported: {', '.join(SUPPORTED)}")
    if columns is not None:
        if suffix not in DELIMITERS:
            raise DataError(f"{path}: a {suffix} file names its columns itself; leave out the column names")
        _check_names(f"{path}: the given columns", columns)
    data = load(path)
    if suffix == ".parquet":
        return tabulate(path, data, _parquet_rows(path, data))
    encoding, notes = encoding_of(path, data)
    if suffix in JSON_LINES:
        return tabulate(path, data, json_rows(open_lines(data, encoding)), notes)
    return _read_delimited(path, data, encoding, notes, DELIMITERS[suffix], columns)


def load(path: str | Path) -> bytes:
    """The whole file; one that can't be opened, or has nothing in it, is a ``DataError``."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: can't be read: {getattr(error, 'strerror', None) or error}") from None
    if not data or data.isspace():
        raise DataError(f"{path}: the file is empty")
    return data


# Encodings


def encoding_of(path: str | Path, data: bytes) -> tuple[str, tuple[str, ...]]:
    """The encoding in which all of ``data`` can be decoded, and a note if it isn't UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if (at := _undecodable(data, "utf-16")) is not None:
            raise DataError(f"{path}: byte {at} isn't UTF-16, as the file's first two bytes promise; save it as UTF-8")
        return "utf-16", ("read as UTF-16",)
    if (at := _undecodable(data, "utf-8")) is None:
        return "utf-8-sig", ()
    line = data.count(b"\n", 0, at) + 1
    where = f"{path}: byte {at} (line {line}) isn't UTF-8"
    if _undecodable(data, "gb18030") is not None:
        raise DataError(f"{where}, and the file isn't GB18030 either; save it as UTF-8")
    if not _looks_chinese(data):
        raise DataError(f"{where}; it can be decoded as GB18030, but not to everyday Chinese; save it as UTF-8")
    return "gb18030", ("read as GB18030",)


def _undecodable(data: bytes, encoding: str) -> int | None:
    """Where decoding fails, or None. In pieces, because decoded text can take four times the room of its bytes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    piece = 1 << 20
    try:
        for start in range(0, len(data), piece):
            decoder.decode(data[start : start + piece], final=start + piece >= len(data))
    except UnicodeDecodeError:
        try:
            data.decode(encoding)
        except UnicodeDecodeError as error:
            return error.start
    return None


def _looks_chinese(data: bytes) -> bool:
    """Whether at least half of the non-ASCII characters are everyday ones. Western and Cyrillic bytes, and damaged
    UTF-8, often happen to be valid GB18030, but then they spell rare characters."""
    runs = re.finditer(r"[^\x00-\x7f]+", data.decode("gb18030"))
    sample = "".join(run[0] for run in itertools.islice(runs, 100_000))
    return sum(character in _everyday_chinese() for character in sample) * 2 >= len(sample)


@functools.cache
def _everyday_chinese() -> frozenset[str]:
    """The 3,755 characters of GB 2312 level 1 and the full-width punctuation, digits and letters."""
    pairs = itertools.product((0xA1, 0xA3, *range(0xB0, 0xD8)), range(0xA1, 0xFF))
    return frozenset("".join(bytes(pair).decode("gb2312", "ignore") for pair in pairs))


def open_lines(data: bytes, encoding: str) -> Iterator[str]:
    """Lines with their ends, split at LF, CR and CRLF only (``str.splitlines`` also splits at U+2028 and others)."""
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")


# Delimited files


@dataclass(frozen=True)
class _Rows:
    names: tuple[str, ...]
    columns: list[list[str]]
    lines: array
    bad: list[BadRow]


def _read_delimited(
    path: str | Path,
    data: bytes,
    encoding: str,
    notes: tuple[str, ...],
    delimiter: str,
    columns: Sequence[str] | None,
) -> Table:
    if delimiter == ",":
        delimiter = _delimiter_of(next((line for line in open_lines(data, encoding) if line.strip()), ""))
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
    values = dict(zip(rows.names, rows.columns, strict=True))
    return Table(str(path), rows.names, values, np.array(rows.lines, np.int64), rows.bad, _digest(data), notes)


def _delimiter_of(first_line: str) -> str:
    """A comma, unless the first line has none and does have semicolons or tabs."""
    bare = re.sub(r'"[^"]*"', "", first_line)
    return next((mark for mark in ",;\t" if mark in bare), ",")


def _read_quoted(path: str | Path, data: bytes, encoding: str, delimiter: str, columns: Sequence[str] | None) -> _Rows:
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
            problem = (len(content) > FIELD_CAP or "\0" in content) and _field_problem(fields)
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
        elif problem := _field_problem(fields):
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


def _field_problem(fields: list[str]) -> str:
    for field in fields:
        if len(field) > FIELD_CAP:
            return f"a field of {len(field):,} characters; the limit is {FIELD_CAP:,}"
        if "\0" in field:
            return "a NUL character"
    return ""


def _collect(path: str | Path, records: Iterable[Record], columns: Sequence[str] | None) -> _Rows:
    """Records to columns. The first record is the header unless ``columns`` are given; ragged rows are bad."""
    names = None if columns is None else tuple(columns)
    gathered: list[list[str]] = [[] for _ in names or ()]
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
                _check_names(f"{path}:{line}: the header", names)
                gathered = [[] for _ in names]
        elif len(fields) == len(names):
            chunk.append(fields)
            lines.append(line)
            if len(chunk) == 4096:
                _extend(gathered, chunk)
        elif not _is_blank(fields):
            noun = "field" if len(fields) == 1 else "fields"
            bad.append(BadRow(line, f"{len(fields)} {noun} instead of {len(names)}"))
    if names is None:
        raise DataError(f"{path}: the file is empty")
    _extend(gathered, chunk)
    return _Rows(names, gathered, lines, bad)


def _extend(columns: list[list[str]], rows: list[list[str]]) -> None:
    """Move rows, all as wide as the table, to the ends of its columns."""
    if rows:
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(values)
        rows.clear()


def _check_names(where: str, names: Sequence[str]) -> None:
    seen = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            hint = " (pandas writes its index so; use to_csv(..., index=False))" if number == 1 else ""
            raise DataError(f"{where}: column {number} has no name{hint}")
        if problem := _field_problem([name]) or _unicode_problem(name):
            raise DataError(f"{where}: column {number}: {problem}")
        if name in seen:
            raise DataError(f"{where}: two columns are named {name!r}")
        seen.add(name)


def _quotes_are_text(quoted: _Rows, unquoted: Iterable[Record], *, often_quoted: bool) -> bool:
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


# JSON lines and Parquet


def json_rows(lines: Iterable[str]) -> Iterator[Row]:
    """One object a line, as parsed. Refused beside what JSON refuses: NaN, Infinity, a key given twice, non-objects."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_object, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            yield BadRow(number, f"not valid JSON: {error.msg} (column {error.colno})")
        except RecursionError:
            yield BadRow(number, "nested too deeply")
        except ValueError as error:
            yield BadRow(number, str(error))
        else:
            yield (number, value) if isinstance(value, dict) else BadRow(number, "not a JSON object, {…}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} is given twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} isn't JSON")


def _parquet_rows(path: str | Path, data: bytes) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'rnnlab[parquet]'") from None
    number = 0
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        _check_names(str(path), file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=4096):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pyarrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from None


def tabulate(path: str | Path, data: bytes, rows: Iterable[Row], notes: tuple[str, ...] = ()) -> Table:
    """Rows of named values to columns of strings, in the order in which the names are first seen."""
    values: dict[str, list[str]] = {}
    lines, bad = array("q"), []
    for row in rows:
        if isinstance(row, BadRow):
            bad.append(row)
            continue
        line, cells = row
        try:
            texts = {name: _cell(name, value) for name, value in cells.items()}
        except ValueError as error:
            bad.append(BadRow(line, str(error)))
            continue
        if not texts.keys() <= values.keys():
            for name in texts:
                values.setdefault(name, [""] * len(lines))
            if len(values) > COLUMN_CAP:
                raise DataError(f"{path}:{line}: more than {COLUMN_CAP:,} different keys; is this a table?")
        for name, column in values.items():
            column.append(texts.get(name, ""))
        lines.append(line)
    _check_names(str(path), tuple(values))
    return Table(str(path), tuple(values), values, np.array(lines, np.int64), bad, _digest(data), notes)


def _cell(name: str, value: Any) -> str:
    """A value as text; a ValueError says why there is none. Parquet may mark a missing number as NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    try:
        if isinstance(value, bool | int | float | list | dict):
            return json.dumps(value, allow_nan=False, default=str)
        text = value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeError:
        raise ValueError(f"{name!r} isn't valid Unicode text") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{name!r}: a number too large, or nested too deeply") from None
    if problem := _field_problem([text]) or _unicode_problem(text):
        raise ValueError(f"{name!r}: {problem}")
    return text


def _unicode_problem(text: str) -> str:
    """JSON can spell half of a surrogate pair, as in ``"\\ud83d"``, which no file or terminal would take later."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair"
    return ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
