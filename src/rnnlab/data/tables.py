"""Tables from files of any format: columns of strings, and every unusable row with its line."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rnnlab.data import formats
from rnnlab.data.columns import Column
from rnnlab.data.formats.base import BadRow, Portion, RowFile
from rnnlab.data.formats.cells import texts_of


@dataclass(frozen=True)
class Table:
    """Columns of strings of equal length. A missing value is an empty string; a nested one is its JSON text."""

    path: str
    columns: tuple[str, ...]
    values: Mapping[str, Sequence[str]]
    lines: np.ndarray  # (rows,) int64: the line where each row begins, from 1; in Parquet, the number of the row
    bad: list[BadRow]  # rows that can't be used; they are not in ``values``
    digest: str  # SHA-256 of the file
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)


def read(path: str | Path, *, columns: Sequence[str] | None = None) -> Table:
    """Read a table. ``columns`` names the columns of a delimited file that has no header line."""
    file = formats.read_whole(path, columns, holding="texts")
    return tabulate(file, file.portions())


def tabulate(file: RowFile, portions: Iterable[Portion], leave_out: str | None = None) -> Table:
    """The columns of ``portions``, without one, in the order in which they are first seen."""
    values: dict[str, Column] = {name: Column() for name in file.columns if name != leave_out}
    lines, bad = array("q"), []
    for portion in portions:
        problems = dict(portion.problems)
        texts: dict[str, Sequence[str]] = {}
        for name, column in portion.columns.items():
            if name != leave_out:
                texts[name], found = (column, {}) if file.are_texts else texts_of(name, column)
                problems = found | problems
        bad += [BadRow(portion.lines[at], problems[at]) for at in sorted(problems)]
        good = [at for at in range(len(portion.lines)) if at not in problems] if problems else None
        for name in texts:
            if name not in values:
                values[name] = Column([""] * len(lines))
        for name, column in values.items():
            found = texts.get(name, [""] * len(portion.lines))
            column.extend(found if good is None else [found[at] for at in good])
        lines.extend(portion.lines if good is None else [portion.lines[at] for at in good])
    return Table(
        path=file.path,
        columns=tuple(values),
        values=values,
        lines=np.frombuffer(lines, np.int64),
        bad=bad,
        digest=file.source.digest,
        notes=file.notes,
    )
