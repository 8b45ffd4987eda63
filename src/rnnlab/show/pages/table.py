"""Tables of a page: what the macro `table` shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rnnlab.core.words import Both

Mark = Literal["best", "recommended", "baseline"]


@dataclass(frozen=True)
class Column:
    name: Both
    explained: Both | None = None  # shown on hover, focus and tap
    number: bool = True  # set to the right; sorted by `Cell.value`, the largest first


@dataclass(frozen=True)
class Cell:
    text: Both | str
    value: float | str | None = None  # by which its column is sorted; without one the text counts, or it comes last
    note: Both | None = None  # shown on hover, focus and tap
    code: bool = False  # a digest, a file name


@dataclass(frozen=True)
class Row:
    cells: Sequence[Cell]  # the first one names the row
    mark: Mark | None = None
    badge: Both | None = None  # what the mark means, in a word or two
    colour: str | None = None  # of an arm
