"""Files of rows to predict, portion by portion in constant memory, and the same file with columns added.

Every format is a class with the same few members (`RowFile`): what it found when it was opened, its rows in portions,
and the bytes of a new file of that format. Opening reads the file through once: rows that can't be read are found, and
the columns known, before the first answer is worked out."""

import codecs
import csv
import io
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.data import delimited, series
from rnnlab.data.cells import check_names, field_problem
from rnnlab.data.decoding import encoding_of, load
from rnnlab.data.examples import BadRow
from rnnlab.data.reading import SHOWN, guess_text, require_column
from rnnlab.data.tables import DELIMITERS, JSON_LINES, Table, json_rows, tabulate
from rnnlab.errors import DataError

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


def open_rows(path: str | Path, column: str | None, numeric: bool) -> RowFile:
    """``column`` holds the texts (or the numbers); it is guessed where there is no doubt."""
    suffix = Path(path).suffix.lower()
    _require_file(path)
    if numeric:
        return SeriesLines(path, column) if suffix in JSON_LINES else Series(path, column)
    if suffix == ".ts":
        raise DataError(f"{path}: this model reads texts, and a .ts file holds numbers")
    if suffix == ".txt":
        return Lines(path, column)
    if suffix == ".parquet":
        return Parquet(path, column)
    if suffix in JSON_LINES:
        return JsonLines(path, column)
    if suffix in DELIMITERS:
        return Delimited(path, column, DELIMITERS[suffix])
    supported = ", ".join((*DELIMITERS, *JSON_LINES, ".parquet", ".ts"))
    raise DataError(f"{path}: can't read '{suffix}' files; supported: {supported}")


def _require_file(path: str | Path) -> None:
    if not Path(path).exists():
        raise DataError(f"{path}: no such file")
    if not Path(path).is_file():
        raise DataError(f"{path}: not a file that can be read twice; send its lines to standard input instead")
    if Path(path).stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")


# Text in some encoding


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


class Lines(TextFile):
    """.txt: a text a line; an empty line is an empty text. Written as lines of columns, or as a table."""

    def __init__(self, path: str | Path, column: str | None):
        if column is not None:
            raise DataError(f"{path}: a .txt file has a text a line and no columns; leave --text out")
        super().__init__(path)
        self._count()

    def formats(self) -> tuple[str, ...]:
        return (".txt", ".csv", ".tsv")

    def portions(self) -> Iterator[Portion]:
        for numbered in _in_portions(enumerate(self.lines(), 1)):
            texts = [line.rstrip("\r\n") for _, line in numbered]
            problems = {at: problem for at, text in enumerate(texts) if (problem := field_problem([text]))}
            inputs = [None if at in problems else text for at, text in enumerate(texts)]
            yield Portion([number for number, _ in numbered], inputs, problems, [[text] for text in texts])

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        if out.suffix.lower() == ".txt":
            table = _Columns("\t", self.newline, quoted=False)
        else:
            table = _Columns(DELIMITERS[out.suffix.lower()], self.newline)
            yield self.mark + table.line(["text", *added])
        for portion, cells in answered:
            yield table.lines(portion.content, cells)


class Delimited(TextFile):
    """CSV and TSV. Where quotes are damaged, or may be text, the file is read whole, by `data.delimited`."""

    def __init__(self, path: str | Path, column: str | None, delimiter: str):
        super().__init__(path)
        first = next((line for line in self.lines() if line.strip()), "")
        if delimiter == ",":
            delimiter = delimited.delimiter_of(first)
        self.delimiter = delimiter
        self.has_quotes = any('"' in line or "\0" in line for line in self.lines())
        self.whole: delimited.Rows | None = None
        self.quotes_are_text = False
        if self.has_quotes and not self._well_formed():
            self.whole, notes = delimited.read(self.path, load(self.path), self.encoding, delimiter, None)
            self.quotes_are_text = delimited.QUOTES_ARE_TEXT in notes
            self.notes += notes
        self.columns = self._header()
        self.text = _text_column(self._sample(), column)
        self.at = self.columns.index(self.text)
        self._count()

    def _well_formed(self) -> bool:
        """Whether the csv module can read it, and there is no doubt about the quotes."""
        try:
            width, start = None, 1
            reader = self._reader()
            for fields in reader:
                several = reader.line_num > start
                start = reader.line_num + 1
                width = width or len(fields) or None
                if (fields and len(fields) != width) or (several and self.delimiter == "\t"):
                    return False
                if any("\0" in field for field in fields):
                    return False
        except csv.Error:
            return False
        return True

    def _reader(self) -> Any:
        return csv.reader(self.lines(), delimiter=self.delimiter, strict=True)

    def _header(self) -> tuple[str, ...]:
        if self.whole is not None:
            return self.whole.names
        line, names = next(self._records(), (0, []))
        if not names:
            raise DataError(f"{self.path}: the file is empty")
        names = tuple(name.strip() for name in names)
        check_names(f"{self.path}:{line}: the header", names)
        return names

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """All records with the line where each begins, the header first."""
        if not self.has_quotes:
            records = enumerate((line.rstrip("\r\n").split(self.delimiter) for line in self.lines()), 1)
        else:
            records = self._csv_records()
        return ((line, fields) for line, fields in records if len(fields) > 1 or (fields and fields[0].strip()))

    def _csv_records(self) -> Iterator[tuple[int, list[str]]]:
        reader, start = self._reader(), 1
        for fields in reader:
            yield start, fields
            start = reader.line_num + 1

    def _rows(self) -> Iterator[tuple[int, list[str], str]]:
        """The line, the fields and the problem of every row."""
        width = len(self.columns)
        if self.whole is None:
            for line, fields in itertools.islice(self._records(), 1, None):
                problem = field_problem(fields)
                if len(fields) != width:
                    problem = f"{len(fields)} field{'s' if len(fields) > 1 else ''} instead of {width}"
                yield line, fields + [""] * (width - len(fields)), problem
            return
        good = zip(self.whole.lines, zip(*self.whole.columns, strict=True), strict=True)
        bad = {row.line: row.reason for row in self.whole.bad}
        raw = self._lines_numbered(bad)
        rows = itertools.chain(
            ((line, list(fields), "") for line, fields in good),
            ((line, [raw[line]] + [""] * (width - 1), reason) for line, reason in bad.items()),
        )
        yield from sorted(rows, key=lambda row: row[0])

    def _lines_numbered(self, wanted: Iterable[int]) -> dict[int, str]:
        chosen = set(wanted)
        return {number: line.rstrip("\r\n") for number, line in enumerate(self.lines(), 1) if number in chosen}

    def _sample(self) -> Table:
        rows = [fields for _, fields, problem in itertools.islice(self._rows(), SAMPLE) if not problem]
        values = {name: [row[at] for row in rows] for at, name in enumerate(self.columns)}
        return Table(str(self.path), self.columns, values, np.arange(len(rows)), [], "")

    def portions(self) -> Iterator[Portion]:
        for rows in _in_portions(self._rows()):
            problems = {at: problem for at, (_, _, problem) in enumerate(rows) if problem}
            inputs = [None if problem else fields[self.at] for _, fields, problem in rows]
            yield Portion([line for line, _, _ in rows], inputs, problems, [fields for _, fields, _ in rows])

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        table = _Columns(self.delimiter, self.newline, quoted=not self.quotes_are_text)
        yield self.mark + table.line([*self.columns, *added])
        for portion, cells in answered:
            yield table.lines(portion.content, cells)


class _Columns:
    """Fields to lines."""

    def __init__(self, delimiter: str, newline: str, quoted: bool = True):
        self.delimiter, self.newline, self.quoted = delimiter, newline, quoted

    def line(self, fields: Sequence[str]) -> bytes:
        return self.lines([fields], [[]])

    def lines(self, rows: Sequence[Sequence[str]], cells: Sequence[Sequence[Cell]]) -> bytes:
        whole = ([*row, *map(_as_text, more)] for row, more in zip(rows, cells, strict=True))
        if not self.quoted:
            return "".join(self.delimiter.join(fields) + self.newline for fields in whole).encode()
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator=self.newline).writerows(whole)
        return text.getvalue().encode()


def _as_text(cell: Cell) -> str:
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell or "")


# JSON lines


class JsonLines(TextFile):
    """An object a line. What is added goes before its closing brace; the rest of the line, and every line that can't
    be read, stays as it is."""

    def __init__(self, path: str | Path, column: str | None):
        super().__init__(path)
        self.seen: dict[str, None] = {}  # the keys of all rows
        self.text = self._choose(column)
        self._count()
        self.columns = tuple(self.seen)

    def _choose(self, column: str | None) -> str:
        first = [row for row in itertools.islice(json_rows(self.lines()), SAMPLE) if not isinstance(row, BadRow)]
        chosen = _text_column(tabulate(self.path, b"", first), column)
        if any(isinstance(row.get(chosen), list) for _, row in first):
            raise DataError(f"{self.path}: this model reads texts, and the column {chosen!r} holds arrays of numbers")
        return chosen

    def portions(self) -> Iterator[Portion]:
        filled = ((number, line) for number, line in enumerate(self.lines(), 1) if line.strip())
        for rows in _in_portions(filled):
            inputs: list[Any] = [None] * len(rows)
            problems: dict[int, str] = {}
            for at, (number, line) in enumerate(rows):
                (row,) = json_rows([line])
                if isinstance(row, BadRow):
                    problems[at] = row.reason
                else:
                    self.seen.update(dict.fromkeys(row[1]))
                    inputs[at], problem = self._input(number, row[1])
                    if problem:
                        problems[at] = problem
            yield Portion([number for number, _ in rows], inputs, problems, [line for _, line in rows])

    def _input(self, number: int, row: dict[str, Any]) -> tuple[Any, str]:
        return _cell_text(self.path, row.get(self.text, ""))

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        yield self.mark
        for portion, cells in answered:
            rows = zip(portion.inputs, portion.content, cells, strict=True)
            lines = (line.rstrip() if given is None else _extended(line, added, more) for given, line, more in rows)
            yield "".join(line + self.newline for line in lines).encode()


class SeriesLines(JsonLines):
    """JSON lines with arrays of numbers, which are held in memory."""

    def _choose(self, column: str | None) -> str:
        found = series.read(self.path, column=column)
        self.arrays = dict(zip(found.table.lines.tolist(), found.arrays, strict=True))
        self.unusable = {row.line: row.reason for row in found.table.bad}
        return found.column

    def _input(self, number: int, row: dict[str, Any]) -> tuple[Any, str]:
        return self.arrays.get(number), self.unusable.get(number, "")


def _extended(line: str, added: Iterable[str], cells: Sequence[Cell]) -> str:
    """A line of JSON, of an object that isn't empty, with more keys."""
    values = [round(cell, 6) if isinstance(cell, float) else cell for cell in cells]
    more = json.dumps(dict(zip(added, values, strict=True)), ensure_ascii=False, allow_nan=False)
    return f"{line.rstrip()[:-1].rstrip()}, {more[1:]}"


# Parquet


class Parquet(RowFile):
    """Through pyarrow, a batch of rows at a time."""

    def __init__(self, path: str | Path, column: str | None):
        super().__init__(path)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'rnnlab[parquet]'") from None
        self.arrow: Any = pyarrow
        try:
            self.schema = pyarrow.parquet.read_schema(self.path)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path}: not a readable Parquet file: {error}") from None
        check_names(str(path), self.schema.names)
        self.columns = tuple(self.schema.names)
        first = next(self._batches(None), None)
        rows = [] if first is None else [(number, row) for number, row in enumerate(first.to_pylist(), 1)]
        if not rows:
            raise DataError(f"{path}: there are no rows")
        self.text = _text_column(tabulate(self.path, b"", rows), column)
        self._count()

    def _batches(self, columns: list[str] | None) -> Iterator[Any]:
        try:
            with self.arrow.parquet.ParquetFile(self.path) as file:
                yield from file.iter_batches(batch_size=PORTION, columns=columns)
        except (self.arrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
            raise DataError(f"{self.path}: not a readable Parquet file: {error}") from None

    def portions(self) -> Iterator[Portion]:
        number = 0
        for batch in self._batches(None):
            told = [_cell_text(self.path, value) for value in batch.column(self.columns.index(self.text)).to_pylist()]
            problems = {at: problem for at, (_, problem) in enumerate(told) if problem}
            lines = list(range(number + 1, number + len(told) + 1))
            number += len(told)
            yield Portion(lines, [text for text, _ in told], problems, batch)

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        arrow = self.arrow
        types = [arrow.float64() if kind is float else arrow.string() for kind in added.values()]
        schema = self.schema
        for name, kind in zip(added, types, strict=True):
            schema = schema.append(arrow.field(name, kind))
        drain = _Drain()
        with arrow.parquet.ParquetWriter(drain, schema) as writer:
            for portion, cells in answered:
                columns = zip(*cells, strict=True)
                arrays = [arrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
                batch = arrow.RecordBatch.from_arrays([*portion.content.columns, *arrays], schema=schema)
                writer.write_batch(batch)
                yield drain.taken()
        yield drain.taken()


class _Drain(io.RawIOBase):
    """A file whose bytes are taken away as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []
        self.length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        self.length += len(self.parts[-1])
        return len(self.parts[-1])

    def tell(self) -> int:
        return self.length

    def taken(self) -> bytes:
        parts, self.parts = self.parts, []
        return b"".join(parts)


# Numbers in .ts


class Series(RowFile):
    """.ts, held in memory. It has no columns to add to: what is written is a table of line numbers and answers."""

    def __init__(self, path: str | Path, column: str | None):
        super().__init__(path)
        found = series.read(path, column=column)
        self.found = [(line, array, "") for line, array in zip(found.table.lines.tolist(), found.arrays, strict=True)]
        self.found += [(row.line, None, row.reason) for row in found.table.bad]
        self.found.sort(key=lambda row: row[0])
        self._count()

    def formats(self) -> tuple[str, ...]:
        return (".csv", ".tsv")

    def portions(self) -> Iterator[Portion]:
        for rows in _in_portions(iter(self.found)):
            problems = {at: problem for at, (_, _, problem) in enumerate(rows) if problem}
            lines = [line for line, _, _ in rows]
            yield Portion(lines, [array for _, array, _ in rows], problems, [[str(line)] for line in lines])

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        table = _Columns(DELIMITERS[out.suffix.lower()], "\n")
        yield table.line(["line", *added])
        for portion, cells in answered:
            yield table.lines(portion.content, cells)


# Shared


def _in_portions(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while portion := list(itertools.islice(rows, PORTION)):
        yield portion


def _text_column(sample: Table, column: str | None) -> str:
    if not len(sample):  # no row, or none that can be read: that is what to tell the user, not the column
        return next(iter(sample.columns), "")
    require_column(sample, "text", column)
    return column if column is not None else guess_text(sample, set())


def _cell_text(path: Path, value: Any) -> tuple[str | None, str]:
    """A value as text, as every table is read, or what is wrong with it."""
    if type(value) is str and len(value) < 10_000 and "\0" not in value:  # the usual case
        return value, ""
    table = tabulate(path, b"", [(1, {"text": value})])
    return (None, table.bad[0].reason) if table.bad else (table.values["text"][0], "")
