"""Files of rows to predict, portion by portion in constant memory, and the same file with columns added.

Every format is a class with the same few members (`RowFile`): what it found when it was opened, its rows in portions,
and the bytes of a new file of that format. Opening reads the file through once: rows that can't be read are found, and
the columns known, before the first answer is worked out."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rnnlab.core.errors import DataError
from rnnlab.data import series
from rnnlab.data.cells import field_problem
from rnnlab.data.tables import DELIMITERS, JSON_LINES
from rnnlab.use.delimited_rows import Delimited
from rnnlab.use.json_rows import JsonLines, SeriesLines
from rnnlab.use.parquet_rows import Parquet
from rnnlab.use.rows import Answered, ColumnWriter, Portion, RowFile, TextFile, in_portions


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
        for numbered in in_portions(enumerate(self.lines(), 1)):
            texts = [line.rstrip("\r\n") for _, line in numbered]
            problems = {at: problem for at, text in enumerate(texts) if (problem := field_problem([text]))}
            inputs = [None if at in problems else text for at, text in enumerate(texts)]
            yield Portion([number for number, _ in numbered], inputs, problems, [[text] for text in texts])

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        if out.suffix.lower() == ".txt":
            table = ColumnWriter("\t", self.newline, quoted=False)
        else:
            table = ColumnWriter(DELIMITERS[out.suffix.lower()], self.newline)
            yield self.mark + table.line(["text", *added])
        for portion, cells in answered:
            yield table.lines(portion.content, cells)


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
        for rows in in_portions(iter(self.found)):
            problems = {at: problem for at, (_, _, problem) in enumerate(rows) if problem}
            lines = [line for line, _, _ in rows]
            yield Portion(lines, [array for _, array, _ in rows], problems, [[str(line)] for line in lines])

    def written(self, out: Path, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        table = ColumnWriter(DELIMITERS[out.suffix.lower()], "\n")
        yield table.line(["line", *added])
        for portion, cells in answered:
            yield table.lines(portion.content, cells)
