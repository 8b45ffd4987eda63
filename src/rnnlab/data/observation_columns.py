"""What the columns of a table of observations are, told from its first rows: the date, the values, names of series."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import note
from rnnlab.data import guessing
from rnnlab.data.calendar import look_like_dates
from rnnlab.data.classes import listed
from rnnlab.data.formats.base import Portion, RowFile, texts_of
from rnnlab.data.number_cells import is_missing, is_number

LOOKED_AT = 1_000  # rows; of fewer where they are long, so that there are no more cells than
CELLS = 20_000
VALUE = "value"  # the channel where a row is a series
_PARTS = {
    "year": {"year", "yr", "yyyy", "年", "年份"},
    "month": {"month", "mon", "mo", "mm", "mnth", "月", "月份"},
    "day": {"day", "dd", "dom", "日", "日期"},
    "hour": {"hour", "hr", "hh", "时", "小时", "时刻"},
    "minute": {"minute", "min", "分", "分钟"},
}
_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}([:.]\d{2})?")
_COUNTERS = {"no", "nr", "t", "step", "time", "period", "row", "instant", "序号"}


@dataclass(frozen=True)
class Roles:
    """``dates`` are the columns of which a date is made: none, one, or its parts. ``keys`` may name series, which is
    seen when all dates are known."""

    values: tuple[str, ...]
    dates: tuple[str, ...] = ()
    series: str | None = None
    keys: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()  # columns that aren't numbers
    one_per_row: bool = False  # a row is a series
    dated_names: bool = False  # whose values' dates are the names of the columns
    notes: tuple[str, ...] = ()


class Look:
    """A column, as far as it matters here."""

    def __init__(self, name: str, values: Sequence[str]):
        self.name = name
        self.values = values
        self.filled: list[str] = [value.strip() for value in values if not is_missing(value)]

    @cached_property
    def says_date(self) -> bool:
        return guessing.Name(self.name).head == "date"

    @cached_property
    def numeric(self) -> bool:
        """Mostly numbers; what else is there will be an error."""
        return bool(self.filled) and sum(map(is_number, self.filled)) * 2 >= len(self.filled)

    @cached_property
    def dated(self) -> bool:
        if not self.filled or not self.filled[0][:1].isalnum():
            return False
        if all(value.isdecimal() for value in self.filled):  # a number as any other, but for its name
            years = all(len(value) != 4 or "1500" <= value <= "2200" for value in self.filled)
            return self.says_date and years and look_like_dates(self.filled)
        return not self.numeric and look_like_dates(self.filled)

    @cached_property
    def counts_rows(self) -> bool:
        """Whether it says nothing but 1, 2, 3."""
        name = guessing.Name(self.name)
        if not (name.is_id or self.name.casefold() in _COUNTERS) or len(self.filled) < len(self.values):
            return False
        if len(self.filled) < 3 or not all(value.isdecimal() and len(value) < 16 for value in self.filled):
            return False
        numbers = [int(value) for value in self.filled]
        return numbers == list(range(numbers[0], numbers[0] + len(numbers)))

    @property
    def may_name(self) -> bool:
        """Whether it may name series: texts, or whole numbers that come again."""
        if not self.filled or not self.numeric:
            return bool(self.filled)
        return all(value.isdecimal() for value in self.filled) and len(set(self.filled)) * 2 <= len(self.filled)

    @property
    def is_name_of_row(self) -> bool:
        """Texts that nearly all differ."""
        nameless = len(self.values) - len(self.filled)
        if self.numeric or not self.filled or nameless > max(1, len(self.values) // 10):
            return False
        return len(set(self.filled)) * 10 >= 9 * len(self.filled)

    @property
    def is_label(self) -> bool:
        """A class by its name and by what it holds."""
        if guessing.Name(self.name).label_rank < 4:
            return False
        return guessing.Column(self.name, self.values).like_classes

    @property
    def is_clock(self) -> bool:
        return bool(self.filled) and all(map(_CLOCK.fullmatch, self.filled))


def look_at(file: RowFile, portion: Portion) -> dict[str, Look]:
    """The columns by name, in their order."""
    names = dict.fromkeys((*file.columns, *portion.columns))
    rows = max(20, min(LOOKED_AT, CELLS // max(1, len(names))))
    good = [at for at in range(len(portion.lines)) if at not in portion.problems][:rows]
    looks: dict[str, Look] = {}
    for name in names:
        values = [portion.values(name)[at] for at in good]
        looks[name] = Look(name, values if file.are_texts else texts_of(name, values)[0])
    return looks


def roles_of(
    path: str, looks: Mapping[str, Look], date: str | int | None, targets: Sequence[str], series: str | None
) -> Roles:
    """Given, or guessed where there is no doubt."""
    given = _column(path, looks, "date", date)
    for role, name in [("series", series), *(("targets", name) for name in targets)]:
        if name is not None:
            _column(path, looks, role, name)
    if len(set(targets)) < len(targets):
        raise DataError("{path}: --targets names a column twice: {names}", path=path, names=listed(targets))
    free = [look for look in looks.values() if look.name not in (*targets, series)]
    dates = (given,) if given is not None else _date_columns(free)
    for name in dates:
        if name in targets or name == series:
            raise DataError("{path}: {name!r} can't be the date and something else", path=path, name=name)
    if not dates and _is_series_per_row(looks, series):
        if targets:
            raise DataError(
                "{path}: every row is a series, so there are no columns to choose: leave out --targets", path=path
            )
        name, values, left = _row_layout(looks, series)
        notes = [note("columns that hold no numbers, which are left out: {columns}", columns=listed(left).en)]
        dated = _are_dates(values)
        return Roles(values, series=name, one_per_row=True, dated_names=dated, notes=tuple(notes if left else ()))
    unreadable = next((look for look in free if look.says_date and look.filled and not look.numeric), None)
    if not dates and not targets and unreadable is not None:
        raise DataError(
            "{path}: {column!r} seems to be the date, but {value!r} can't be read as one; write the dates as {layout}, "
            "or name the columns of values with --targets, to read them without dates",
            path=path,
            column=unreadable.name,
            value=unreadable.filled[0][:40],
            layout="2016-07-01",
        )
    return _table_roles(path, looks, dates, tuple(targets), series)


def _table_roles(
    path: str, looks: Mapping[str, Look], dates: tuple[str, ...], targets: tuple[str, ...], series: str | None
) -> Roles:
    others = [look for look in looks.values() if look.name not in (*dates, *targets, series)]
    notes: list[str] = []
    keys = () if series is not None else tuple(look.name for look in others if look.may_name)
    values = targets
    if not targets:
        values = tuple(look.name for look in others if look.numeric and not look.counts_rows)
        counters = [look.name for look in others if look.counts_rows]
        notes += [note("the column {name!r} numbers the rows, and is left out", name=name) for name in counters]
        empty = [look.name for look in others if not look.filled]
        notes += [note("the column {name!r} has no numbers, and is left out", name=name) for name in empty]
        if not values:
            raise DataError(
                "{path}: no column of numbers to forecast\ncolumns: {listed}", path=path, listed=listed(list(looks))
            )
    texts = tuple(look.name for look in others if look.filled and not look.numeric)
    return Roles(values, dates, series, keys, texts, notes=tuple(notes))


def _column(path: str, looks: Mapping[str, Look], role: str, given: str | int | None) -> str | None:
    """By its name or, for the date, by its number from 1."""
    if given is None or given in looks:
        return given if given is None else str(given)
    names = list(looks)
    if isinstance(given, int) or (role == "date" and given.isdecimal()):
        if not 1 <= int(given) <= len(names):
            raise DataError(
                "{path}: no column {number} for --{role}: there are {count}",
                path=path,
                number=given,
                role=role,
                count=len(names),
            )
        return names[int(given) - 1]
    raise DataError(
        "{path}: no column {name!r} for the {role}{hint}\ncolumns: {listed}",
        path=path,
        name=given,
        role=role,
        hint=did_you_mean(given, names),
        listed=listed(names),
    )


# --- dates ----------------------------------------------------------------------------------------------------------


def _date_columns(looks: Sequence[Look]) -> tuple[str, ...]:
    """One column, a date with a time beside it, or year, month, day and so on; the first where there are several."""
    dated = [look for look in looks if look.dated]
    parts = _parts(looks)
    found = next((look for look in dated if look.says_date), dated[0] if dated else None)
    if found is None or found.name in parts:
        return parts or (() if found is None else (found.name,))
    if any(":" in value for value in found.filled):
        return (found.name,)
    clock = next((look for look in looks if look.is_clock and look is not found), None)
    if clock is None and len(set(found.filled)) < len(found.filled):
        clock = next((look for look in looks if look.name.strip().casefold() in _PARTS["hour"] and _whole(look)), None)
    return (found.name,) if clock is None else (found.name, clock.name)


def _parts(looks: Sequence[Look]) -> tuple[str, ...]:
    """Year, month, day, hour and minute as far as they are there, without a gap; none if it is the year alone."""
    found: list[str] = []
    for names in _PARTS.values():
        part = next((look for look in looks if look.name.strip().casefold() in names and _whole(look)), None)
        if part is None:
            break
        found.append(part.name)
    return tuple(found) if len(found) > 1 else ()


def _whole(look: Look) -> bool:
    return bool(look.filled) and all(value.isdecimal() and len(value) <= 4 for value in look.filled)


def date_texts(columns: Sequence[Sequence[str]]) -> Sequence[str]:
    """The texts of the dates that stand in one or several columns."""
    if len(columns) == 1:
        return columns[0]
    rows = zip(*columns, strict=True)
    if len(columns) == 2 and any(len(value.strip()) > 4 for value in columns[0]):
        return [f"{date} {clock.replace('.', ':')}" for date, clock in rows]
    separators = ("-", "-", " ", ":")
    return [_put_together(row, separators) for row in rows]


def _put_together(parts: Sequence[str], separators: Sequence[str]) -> str:
    text = parts[0].strip()
    for separator, part in zip(separators, parts[1:], strict=False):
        text += separator + (part.strip().zfill(2) if separator == ":" else part.strip())
    return text


# --- one series per row ---------------------------------------------------------------------------------------------


def _is_series_per_row(looks: Mapping[str, Look], series: str | None) -> bool:
    """Names in the first column, numbers in the others, which end in blanks or whose names are numbers or dates. Other
    texts may follow the name."""
    name, values, _ = _row_layout(looks, series)
    if len(values) < 2 or not name:
        return False
    first, others = looks[name], [looks[value] for value in values]
    if not all(look.numeric or not look.filled for look in others) or not any(look.filled for look in others):
        return False
    if is_numbered(values) or _are_dates(values):
        return True  # and a name that comes twice is a mistake
    distinct = len(set(first.filled)) == len(first.filled)
    return len(looks) == len(values) + 1 and distinct and (series is not None or _is_ragged(others))


def _row_layout(looks: Mapping[str, Look], series: str | None) -> tuple[str, tuple[str, ...], list[str]]:
    """The column of the names, those of the values, and texts between them. The name is empty if nothing is one."""
    columns = list(looks.values())
    texts = next((at for at, look in enumerate(columns) if look.numeric or not look.filled), len(columns))
    named = [look.name for look in columns[:texts] if series in (None, look.name) and look.is_name_of_row]
    name = named[0] if named else ""
    return name, tuple(list(looks)[texts:]), [look.name for look in columns[:texts] if look.name != name]


def is_numbered(names: Sequence[str]) -> bool:
    """V2, V3, V4."""
    found = [re.fullmatch(r"(.*?)(\d{1,9})", name) for name in names]
    if not all(found) or len({match[1] for match in found if match}) > 1:
        return False
    numbers = [int(match[2]) for match in found if match]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _are_dates(names: Sequence[str]) -> bool:
    if not any(name.isdecimal() for name in names):
        return look_like_dates(names)
    return all(name.isdecimal() and len(name) == 4 and "1500" <= name <= "2200" for name in names)


def _is_ragged(others: Sequence[Look]) -> bool:
    """Whether rows end in blanks, and have none in between."""
    some_end = False
    for row in zip(*(look.values for look in others), strict=True):
        blank = [is_missing(cell) for cell in row]
        length = len(blank) - next((at for at, is_blank in enumerate(reversed(blank)) if not is_blank), len(blank))
        if any(blank[:length]):
            return False
        some_end |= length < len(blank)
    return some_end


# --- without a header -----------------------------------------------------------------------------------------------


def reads_like_row(names: Sequence[str]) -> bool:
    """Whether what should be the names of columns is a row of values: a date and numbers, a name and numbers, or
    numbers alone."""
    names = [name.strip() for name in names if name.strip() and not name.startswith("Unnamed: ")]
    if not names or (is_numbered(names) and len(names) > 1):
        return False
    first, *others = names
    numbers = [is_number(name) and not is_missing(name) for name in others]
    if not all(numbers) or (len(others) > 1 and is_numbered(others)):
        return False
    if is_number(first) and not is_missing(first):
        return True
    return len(others) >= (1 if look_like_dates([first]) else 2)
