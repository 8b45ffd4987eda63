"""Labelled rows, whatever file they came from: the one shape that profile, splits and encoding work on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from rnnlab.core.seeding import generator
from rnnlab.core.words import note
from rnnlab.data.formats.base import BadRow
from rnnlab.data.label_sets import labels_of

T = TypeVar("T")


@dataclass(frozen=True)
class Examples:
    """Columns of equal length. Exactly one of ``texts`` and ``series`` is given."""

    source: str  # the file or catalogue name, as the user wrote it
    labels: Sequence[str]
    texts: Sequence[str] | None = None
    series: Sequence[np.ndarray] | None = None  # each (T, D) float32, T >= 1
    groups: Sequence[str] | None = None  # rows of one group never straddle a split
    tags: Sequence[str] | None = None  # for the table by phenomenon
    lines: np.ndarray | None = None  # (rows,) line number of each row in its file
    digest: str = ""  # SHA-256 of the content
    skipped: tuple[BadRow, ...] = ()  # rows left out, with the reason
    notes: tuple[str, ...] = field(default=())  # what the reader decided and a person should know
    text_columns: tuple[str, ...] = ()  # where a text is several columns, joined: see `data.joined`
    separator: str | None = None  # between the labels of a row, where it may have several or none

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def distinct_labels(self) -> set[str]:
        return {label for cell in set(self.labels) for label in labels_of(cell, self.separator)}


def drawn(examples: Examples, rows: int, seed: int) -> Examples:
    """At most so many of the rows, drawn at random, in their order."""
    if len(examples) <= rows:
        return examples
    chosen = np.sort(generator(seed, "split", 1).choice(len(examples), rows, replace=False))

    def of(column: Sequence[T] | None) -> list[T] | None:
        return None if column is None else [column[row] for row in chosen]

    return replace(
        examples,
        labels=of(examples.labels) or [],
        texts=of(examples.texts),
        series=of(examples.series),
        groups=of(examples.groups),
        tags=of(examples.tags),
        lines=None if examples.lines is None else examples.lines[chosen],
        notes=(*examples.notes, note("a sample of {rows:,} of {count:,} rows", rows=rows, count=len(examples))),
    )
