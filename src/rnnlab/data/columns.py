"""Columns of strings without an object a string, which would take several times the room of a short text."""

import operator
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import overload

import numpy as np

BLOCK = 1024  # strings that are decoded at a time


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
