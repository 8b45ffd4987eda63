"""JSON lines, of texts or of numbers."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.data import series
from rnnlab.data.examples import BadRow
from rnnlab.data.tables import json_rows, tabulate
from rnnlab.use.rows import SAMPLE, Answered, Cell, Portion, TextFile, cell_text, in_portions, text_column


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
        chosen = text_column(tabulate(self.path, b"", first), column)
        if any(isinstance(row.get(chosen), list) for _, row in first):
            raise DataError(f"{self.path}: this model reads texts, and the column {chosen!r} holds arrays of numbers")
        return chosen

    def portions(self) -> Iterator[Portion]:
        filled = ((number, line) for number, line in enumerate(self.lines(), 1) if line.strip())
        for rows in in_portions(filled):
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
        return cell_text(self.path, row.get(self.text, ""))

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
