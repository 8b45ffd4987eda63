"""Tables of a page: what the macro `table` shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rnnlab.core.numbers import TimeUnit
from rnnlab.core.words import Both, both

Mark = Literal["best", "recommended", "baseline"]


@dataclass(frozen=True)
class Column:
    name: Both
    explained: Both | None = None  # shown on hover, focus and tap
    number: bool = True  # set to the right; sorted by `Cell.value`, the largest first

    def format(self, **gaps: Any) -> "Column":
        """With the gaps of its texts filled."""
        return replace(self, name=self.name.format(**gaps), explained=self.explained and self.explained.format(**gaps))


@dataclass(frozen=True)
class Cell:
    text: Both | str
    value: float | str | None = None  # by which its column is sorted; without one the text counts, or it comes last
    note: Both | None = None  # shown on hover, focus and tap
    code: bool = False  # a digest, a file name
    strong: bool = False  # the best of its column


@dataclass(frozen=True)
class Row:
    cells: Sequence[Cell]  # the first one names the row
    mark: Mark | None = None
    badge: Both | None = None  # what the mark means, in a word or two
    colour: str | None = None  # of an arm


def arm_row(cells: Sequence[Cell], colour: str | None, recommended: bool, baseline: bool, best: bool) -> Row:
    """The row of an arm with its mark."""
    mark: Mark | None = "recommended" if recommended else "baseline" if baseline else "best" if best else None
    badge = both("recommended") if recommended else both("baseline") if baseline else None
    return Row(cells, mark, badge, colour)


@dataclass(frozen=True)
class Table:
    name: Both
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: Both | None = None


EMPTY = Cell("")


def number(value: float | None, form: str = "{}", shown: float = 1) -> Cell:
    """``value`` itself is what it is sorted by; ``shown`` times as much is shown. Nothing where there is none."""
    return EMPTY if value is None else Cell(form.format(shown * value), value)


def time_cell(seconds: float | None, unit: TimeUnit) -> Cell:
    """In the unit that its column's head names."""
    return EMPTY if seconds is None else Cell(unit.text(seconds), seconds)
