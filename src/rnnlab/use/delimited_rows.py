"""CSV and TSV, row by row."""

import csv
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.data import delimited
from rnnlab.data.cells import check_names, field_problem
from rnnlab.data.decoding import load
from rnnlab.data.tables import Table
from rnnlab.use.rows import SAMPLE, Answered, ColumnWriter, Portion, TextFile, in_portions, text_column


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
        self.text = text_column(self._sample(), column)
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
        for rows in in_portions(self._rows()):
            problems = {at: problem for at, (_, _, problem) in enumerate(rows) if problem}
            inputs = [None if problem else fields[self.at] for _, fields, problem in rows]
            yield Portion([line for line, _, _ in rows], inputs, problems, [fields for _, fields, _ in rows])

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        table = ColumnWriter(self.delimiter, self.newline, quoted=not self.quotes_are_text)
        yield self.mark + table.line([*self.columns, *added])
        for portion, cells in answered:
            yield table.lines(portion.content, cells)
