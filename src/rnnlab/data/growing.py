"""Arrays that grow while a file is read, without a second copy at the end."""

import numpy as np

FIRST = 4096  # rows that there is room for at first


class Growing:
    """Rows of one type, one behind the other."""

    def __init__(self, dtype: str | type, width: int | None = None):
        """``width``: numbers per row; None for an array of one dimension."""
        self._room: np.ndarray = np.empty(FIRST if width is None else (FIRST, width), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, rows: np.ndarray) -> None:
        """``rows`` (n,) or (n, width)"""
        needed = self._count + len(rows)
        if needed > len(self._room):
            self._resize(max(needed, len(self._room) * 5 // 4))
        self._room[self._count : needed] = rows
        self._count = needed

    def copy(self) -> "Growing":
        other = Growing(self._room.dtype.str)
        other._room, other._count = self._room.copy(), self._count
        return other

    def taken(self) -> np.ndarray:
        """The array, which from here on belongs to the caller."""
        self._resize(self._count)
        return self._room

    def _resize(self, rows: int) -> None:
        # In place: large blocks of memory are moved by the page table, not copied. Nobody else has a view of them.
        self._room.resize((rows, *self._room.shape[1:]), refcheck=False)
