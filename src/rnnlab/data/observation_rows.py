"""The rows of a file of observations, read portion by portion into arrays; every bad cell with its line."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from rnnlab.core.words import both, note
from rnnlab.data.calendar import DateReader
from rnnlab.data.classes import listed, short
from rnnlab.data.formats.base import BadRow, Portion, RowFile, texts_of
from rnnlab.data.formats.delimited import Delimited
from rnnlab.data.growing import Growing
from rnnlab.data.number_cells import Style, numbers_of, style_of
from rnnlab.data.observation_columns import Roles, date_texts
from rnnlab.data.reading import refuse

ENOUGH = 10_000  # bad rows after which reading ends
MANY_NAMES = 1_000_000  # more names of series are none


class Lines:
    """The line of every row; hardly any room where rows have one line each."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._blocks: list[Sequence[int]] = []
        self._taken: np.ndarray | None = None
        self.count: int = 0

    def add(self, lines: Sequence[int]) -> None:
        if len(lines):
            consecutive = lines[-1] - lines[0] == len(lines) - 1
            self._starts.append(self.count)
            self._blocks.append(range(lines[0], lines[-1] + 1) if consecutive else list(lines))
            self.count += len(lines)

    def take(self, rows: np.ndarray) -> None:
        """These alone, in this order."""
        self._taken = rows if self._taken is None else self._taken[rows]

    def __getitem__(self, row: int) -> int:
        row = row if self._taken is None else int(self._taken[row])
        block = bisect_right(self._starts, row) - 1
        return self._blocks[block][row - self._starts[block]]


class _Names:
    """A column of names, as numbers in the order in which they first come."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.codes: Growing = Growing(np.int32)

    def add(self, texts: Sequence[str]) -> None:
        known = self.known
        stripped = [text.strip() for text in texts]
        for name in dict.fromkeys(stripped):
            known.setdefault(name, len(known))
        self.codes.extend(np.fromiter(map(known.__getitem__, stripped), np.int32, len(stripped)))


@dataclass
class Gathered:
    """What the rows hold, in the order of the file until another is taken."""

    file: RowFile
    roles: Roles
    values: np.ndarray  # (N, C), or where a row is a series (all its values one behind the other, 1)
    dates: np.ndarray | None
    names: dict[str, tuple[np.ndarray, list[str]]]  # by column: (N,) int32, and what they stand for
    lines: Lines
    lengths: np.ndarray  # (N,) int64, where a row is a series: without the blanks at its end
    notes: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.file.path

    def take(self, rows: np.ndarray) -> None:
        """These alone, in this order."""
        self.values = self.values[rows]
        self.dates = None if self.dates is None else self.dates[rows]
        self.names = {column: (codes[rows], names) for column, (codes, names) in self.names.items()}
        self.lines.take(rows)


def gather(file: RowFile, roles: Roles, skip_bad: bool) -> Gathered:
    """All rows. A column whose numbers turn out to be written otherwise is read again from the start."""
    styles = dict.fromkeys(roles.values, Style.PLAIN)
    while True:
        found = _Pass(file, roles, styles, skip_bad).run()
        if isinstance(found, Gathered):
            break
        styles |= found
    said = {
        Style.THOUSANDS: note("as separators of thousands"),
        Style.DECIMAL_COMMA: note("as decimal commas"),
    }
    for style, told in said.items():
        names = [name for name, own in styles.items() if own is style]
        if names:
            found.notes.append(note("commas in {columns} are read {told}", columns=listed(names).en, told=told))
    return found


class _Pass:
    """One reading of a file from its start to its end."""

    def __init__(self, file: RowFile, roles: Roles, styles: Mapping[str, Style], skip_bad: bool):
        self.file, self.roles, self.styles, self.skip_bad = file, roles, styles, skip_bad
        self.values = Growing(np.float64, 1 if roles.one_per_row else len(roles.values))
        self.lengths = Growing(np.int64)
        self.dates = DateReader() if roles.dates else None
        wanted = (roles.series,) if roles.series is not None else roles.keys if roles.dates else ()
        self.names = {name: _Names() for name in wanted}
        self.lines = Lines()
        self.bad: dict[int, str] = {}  # by row
        self.unusable: set[int] = set()  # rows of which nothing can be kept

    def run(self) -> "Gathered | dict[str, Style]":
        """What the rows hold; or columns that have another style than was thought."""
        for portion in self.file.portions():
            if other := self._add(portion):
                return other
            if len(self.bad) > ENOUGH and not self.skip_bad:
                self._refuse()
        dates = None
        if self.dates is not None:
            dates = self._dates(self.dates)
        names = {column: (own.codes.taken(), list(own.known)) for column, own in self.names.items()}
        if self.roles.series is not None:
            self._find_nameless(*names[self.roles.series])
        if self.bad and not self.skip_bad:
            self._refuse()
        notes = [*self.file.notes, *self.roles.notes]
        if self.bad:
            count = len(self.bad)
            notes.append(note("rows with problems: {count:,}; what can't be read there counts as missing", count=count))
        values, lengths = self.values.taken(), self.lengths.taken()
        left = np.ones(self.lines.count, bool)
        left[list(self.unusable)] = False
        if self.roles.one_per_row and self.unusable:
            values, lengths = values[np.repeat(left, lengths)], np.where(left, lengths, 0)
        found = Gathered(self.file, self.roles, values, dates, names, self.lines, lengths, notes)
        if self.unusable and not self.roles.one_per_row and (dates is not None or self.roles.series is not None):
            found.take(np.flatnonzero(left))  # else such a row is a step, whose values are missing
        return found

    def _add(self, portion: Portion) -> dict[str, Style]:
        start = self.lines.count
        self.lines.add(portion.lines)
        for at, problem in portion.problems.items():
            self.bad[start + at] = problem
            self.unusable.add(start + at)
        matrix = np.empty((len(portion.lines), len(self.roles.values)))
        other: dict[str, Style] = {}
        for number, name in enumerate(self.roles.values):
            cells = portion.values(name)
            matrix[:, number], wrong = numbers_of(cells, self.styles[name])
            if wrong:
                style = self._other_style(name, [str(cells[at]) for at in wrong if isinstance(cells[at], str)])
                if style is not None:
                    other[name] = style
                for at in wrong:
                    self._note_cell(start + at, name, cells[at])
            infinite = np.flatnonzero(np.isinf(matrix[:, number]))
            for at in infinite.tolist():
                self._note_cell(start + at, name, cells[at])
            matrix[infinite, number] = np.nan
        if self.roles.one_per_row:
            filled = ~np.isnan(matrix)
            lengths = np.where(filled.any(1), matrix.shape[1] - filled[:, ::-1].argmax(1), 0)
            self.lengths.extend(lengths)
            matrix = matrix[np.arange(matrix.shape[1]) < lengths[:, None]][:, None]
        self.values.extend(matrix)
        if self.dates is not None:
            parts = [self._texts(portion, name) for name in self.roles.dates]
            self.dates.add(date_texts(parts))
        for name, own in list(self.names.items()):
            own.add(self._texts(portion, name))
            if len(own.known) > MANY_NAMES and name != self.roles.series:
                del self.names[name]
        return other

    def _texts(self, portion: Portion, name: str) -> Sequence[str]:
        values = portion.values(name)
        return values if self.file.are_texts and name in portion.columns else texts_of(name, values)[0]

    def _other_style(self, name: str, wrong: list[str]) -> Style | None:
        """That could explain the texts that were no numbers; each is tried once."""
        tried = list(Style).index(self.styles[name])
        semicolons = isinstance(self.file, Delimited) and self.file.delimiter == ";"
        found = style_of(wrong, commas_are_decimal=semicolons) if wrong else None
        return found if found is not None and list(Style).index(found) > tried else None

    def _note_cell(self, row: int, column: str, value: Any) -> None:
        self.bad.setdefault(row, note("{column!r}: {value} isn't a finite number", column=column, value=_shown(value)))

    def _dates(self, reader: DateReader) -> np.ndarray:
        where = both("{path}: {column!r}", path=self.file.path, column=" ".join(self.roles.dates))
        dates, bad = reader.finished(where)
        for row, text in bad:
            self.bad.setdefault(row, note("{value} isn't a date", value=_shown(text)) if text else note("no date"))
            self.unusable.add(row)
        return dates

    def _find_nameless(self, codes: np.ndarray, names: list[str]) -> None:
        if "" in names:
            for row in np.flatnonzero(codes == names.index("")).tolist():
                self.bad.setdefault(row, note("no name of a series in {column!r}", column=self.roles.series))
                self.unusable.add(row)

    def _refuse(self) -> NoReturn:
        bad = [BadRow(self.lines[row], reason) for row, reason in sorted(self.bad.items())]
        refuse(self.file.path, self.lines.count, bad)


def _shown(value: Any) -> str:
    return short(value if isinstance(value, str) else str(value))
