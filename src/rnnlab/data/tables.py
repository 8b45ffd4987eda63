"""Tables from files of any format: columns of strings, and every unusable row with its line."""

import operator
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import overload

import numpy as np

from rnnlab.data import formats
from rnnlab.data.formats.base import BadRow, Portion, RowFile, texts_of

BLOCK = 1024  # strings that are decoded at a time


# Columns: without an object per string, which would take several times the room of a short text


class Column(Sequence[str]):
    """Strings end to end in one buffer; each is made when it is asked for. Reads like a list, and equals one."""

    def __init__(self, values: Iterable[str] = ()):
        self._data = bytearray()  # UTF-8
        self._ends = array("q", [0])
        self.extend(values)

    def extend(self, values: Iterable[str]) -> None:
        values = values if isinstance(values, list | tuple) else list(values)
        encoded = "".join(values).encode("utf-8", "surrogatepass")
        if encoded.isascii():
            lengths = map(len, values)
        else:
            lengths = (len(value.encode("utf-8", "surrogatepass")) for value in values)
        ends = accumulate(lengths, initial=self._ends.pop())
        self._ends.extend(ends)
        self._data += encoded

    def append(self, value: str) -> None:
        self._data += value.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._data))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        row = at if at >= 0 else at + len(self)
        if row < 0:
            raise IndexError(f"row {at} of {len(self)}")
        return self._data[self._ends[row] : self._ends[row + 1]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            ends = self._ends[start : start + BLOCK + 1]
            block = self._data[ends[0] : ends[-1]]
            if block.isascii():  # a character is a byte
                text, first = block.decode(), ends[0]
                yield from [text[a - first : b - first] for a, b in pairwise(ends)]  # a generator would be slower
            else:
                yield from (self._data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    def __repr__(self) -> str:
        return f"Column({list(self[:20])}{'…' if len(self) > 20 else ''})"


class Selection(Sequence[str]):
    """Some rows of a column, in the given order, without a copy of them."""

    def __init__(self, column: Sequence[str], rows: np.ndarray):
        self._column = column
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return list(Selection(self._column, self._rows[at]))
        return self._column[int(self._rows[at])]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            yield from map(self._column.__getitem__, self._rows[start : start + BLOCK].tolist())


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
