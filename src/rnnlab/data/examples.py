"""Labelled rows, whatever file they came from: the one shape that profile, splits and encoding work on."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class BadRow:
    """A row that can't be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Examples:
    """Columns of equal length. Exactly one of ``texts`` and ``series`` is given."""

    source: str  # the file or catalogue name, as the user wrote it
    labels: list[str]
    texts: list[str] | None = None
    series: list[np.ndarray] | None = None  # each (T, D) float32, T >= 1
    groups: list[str] | None = None  # rows of one group never straddle a split
    tags: list[str] | None = None  # for the table by phenomenon
    lines: np.ndarray | None = None  # (rows,) line number of each row in its file
    digest: str = ""  # SHA-256 of the content
    skipped: tuple[BadRow, ...] = ()  # rows left out, with the reason
    notes: tuple[str, ...] = field(default=())  # what the reader decided and a person should know

    def __len__(self) -> int:
        return len(self.labels)
