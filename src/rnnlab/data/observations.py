"""Observations to forecast from, in a file or in memory: one or many series, one or several channels, with dates or
without."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import Both, both, joined, note
from rnnlab.data import formats
from rnnlab.data.calendar import DAY, Spacing, parse_dates, spacing_of, steps_from_start, usual_spacing
from rnnlab.data.classes import listed
from rnnlab.data.formats.base import BadRow, RowFile
from rnnlab.data.formats.delimited import Delimited
from rnnlab.data.formats.json_lines import JsonLines
from rnnlab.data.formats.source import Source
from rnnlab.data.memory import as_lines, columns_of, is_in_memory
from rnnlab.data.observation_columns import VALUE, is_numbered, look_at, reads_like_row, roles_of
from rnnlab.data.observation_rows import Gathered, gather
from rnnlab.data.pair_tables import head_of
from rnnlab.data.reading import refuse

HELD = 1 << 26  # bytes of a file that is held in memory while it is read
SHOWN = 5  # dates that one error names
MOST_FILLED = 4  # times the rows of a file that gaps may add
FEWEST = 3  # rows, or values per row, of a file that is taken for observations
SAMPLE = 1_000_000  # rows that tell whether steps are equal
IN_MEMORY = "the data in memory"  # where errors are, in the place of a file
KEYS = 6  # columns of which one or two may name the series


@dataclass(frozen=True)
class Observations:
    """All series one behind the other, each in the order of time."""

    source: str  # name of the file
    values: np.ndarray  # (N, C) float64, NaN where a value is missing
    offsets: np.ndarray  # (S + 1,) int64: series s is values[offsets[s] : offsets[s + 1]]
    series: tuple[str, ...]  # their names; ("",) for one
    channels: tuple[str, ...]
    dates: np.ndarray | None  # (N,) datetime64[s]
    spacing: Spacing | None  # of the dates
    notes: tuple[str, ...]  # what was guessed or filled in, as sentences


def read_observations(
    data: Any,
    *,
    date: str | int | None = None,
    targets: Sequence[str] = (),
    series: str | None = None,
    columns: Sequence[str] | None = None,
    skip_bad: bool = False,
) -> Observations:
    """From a table with a date column (or none) and columns of numbers; with a column that names the ``series`` of a
    row; or with one series per row, its name first. ``targets`` are the columns to read (all of numbers, if empty) and
    ``columns`` those of a file that has no header. With ``skip_bad``, cells that are no numbers are missing values, and
    rows without a date are left out. Data in memory, and a `Source` that holds its bytes, are written nowhere."""
    file = _file_of(data, columns)
    path = file.path
    head = next(iter(file.portions()), None)
    looks = {} if head is None else look_at(file, head)
    if head is None or not any(look.values for look in looks.values()):
        if head is not None and head.problems and not skip_bad:
            refuse(path, len(head.lines), [BadRow(head.lines[at], head.problems[at]) for at in sorted(head.problems)])
        raise DataError("{path}: there are no rows to read", path=path)
    roles = roles_of(path, looks, date, targets, series)
    gathered = gather(file, roles, skip_bad)
    if roles.one_per_row:
        return _rows_as_series(gathered)
    return _in_order(gathered)


def _file_of(data: Any, columns: Sequence[str] | None) -> RowFile:
    if isinstance(data, Source):
        return _opened(data, columns)
    return _in_memory(data) if is_in_memory(data) else _opened(str(data), columns)


def _in_memory(data: Any) -> RowFile:
    """Data in memory as JSON lines. An infinite number would be none there, so it is refused here."""
    columns = columns_of(_with_names(data))
    for name, values in columns.items():
        for row, value in enumerate(values, 1):
            if isinstance(value, float | np.floating) and math.isinf(value):
                raise DataError(
                    "the data in memory: {column!r} is infinite in row {row}; leave the value out", column=name, row=row
                )
    return JsonLines(Source(IN_MEMORY, as_lines(columns)))


def _with_names(data: Any) -> Any:
    """Numbers in memory as a table; a frame whose rows are named by dates, with these as a column."""
    if getattr(getattr(getattr(data, "index", None), "dtype", None), "kind", "") == "M":  # pandas
        return data.reset_index()
    if isinstance(data, np.ndarray) and data.ndim in (1, 2):
        return {f"column {number}": column for number, column in enumerate(np.atleast_2d(data.T), 1)}
    if isinstance(data, list | tuple) and data and all(isinstance(v, int | float | np.number | None) for v in data):
        return {VALUE: list(data)}
    return data


def _opened(path: str | Source, columns: Sequence[str] | None) -> RowFile:
    """With a header or without."""
    if columns is not None:
        return formats.read_whole(path, columns, holding="texts", held=HELD)
    try:
        file = formats.read_whole(path, holding="texts", held=HELD)
    except DataError:
        width = _width_without_header(path)
        if width == 0:
            raise
    else:
        if not file.takes_names or not reads_like_row(file.columns):
            return file
        width = len(file.columns)
    file = formats.read_whole(path, [f"column {n}" for n in range(1, width + 1)], holding="texts", held=HELD)
    file.notes += (note("no header: the first line is a row like the others; --columns names the columns"),)
    return file


def _width_without_header(path: str | Source) -> int:
    """Of a delimited file whose first line can't be names, because two are equal: 0 if it isn't a row either."""
    cls = formats.format_of(path.path if isinstance(path, Source) else path, holding="texts")
    if not issubclass(cls, Delimited):
        return 0
    one = formats.read_whole(path, ["any"], holding="texts", held=HELD)
    assert isinstance(one, Delimited)
    line = next((line for line in one.source.lines() if line.strip()), "").rstrip("\r\n")
    fields = [field.strip('"') for field in line.split(one.delimiter)]
    return len(fields) if reads_like_row(fields) else 0


# --- one series per row ---------------------------------------------------------------------------------------------


def _rows_as_series(found: Gathered) -> Observations:
    """Blanks at the end of a row are none of its values."""
    codes, names = found.names[found.roles.series or ""]
    lengths, notes = found.lengths, found.notes
    rows = np.flatnonzero(lengths)
    if not len(rows):
        raise DataError("{path}: there are no numbers", path=found.path)
    _refuse_same_name(found, rows)
    if len(rows) < len(lengths):
        told = listed([names[code] for code in codes[lengths == 0].tolist() if names[code]]).en
        notes.append(note("series without any number, which are left out: {names}", names=told))
    offsets = np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64)
    dates, spacing = None, None
    counts = {"count": len(rows), "fewest": int(lengths[rows].min()), "most": int(lengths.max())}
    if found.roles.dated_names:
        spacing, dates = _dates_above(found, lengths[rows])
        notes.append(
            note(
                "one series per row, its dates in the header, one step is {spacing}: {count:,} series of {fewest:,} to "
                "{most:,} values",
                spacing=spacing.told.en,
                **counts,
            )
        )
    else:
        notes.append(
            note("one series per row, without dates: {count:,} series of {fewest:,} to {most:,} values", **counts)
        )
    series = tuple(names[code] for code in codes[rows].tolist())
    return _made(found, found.values, offsets, series, (VALUE,), dates, spacing)


def _dates_above(found: Gathered, lengths: np.ndarray) -> tuple[Spacing, np.ndarray]:
    """Of a header that names the steps by their dates, for series of these lengths."""
    try:
        header = parse_dates(found.roles.values)
        spacing = spacing_of(header)
    except DataError as error:
        raise DataError("{path}: the header: {error}", path=found.path, error=error) from None
    steps = np.diff(steps_from_start(header, np.array([0, len(header)]), spacing)[0])
    if (steps > 1).any():
        raise DataError(
            "{path}: the header: {date} doesn't follow {before} after {spacing}; add a column for each date between",
            path=found.path,
            date=_told(header[steps.argmax() + 1]),
            before=_told(header[steps.argmax()]),
            spacing=spacing.told,
        )
    return spacing, np.concatenate([header[:length] for length in lengths.tolist()])


def _refuse_same_name(found: Gathered, rows: np.ndarray) -> None:
    codes, names = found.names[found.roles.series or ""]
    order = rows[np.argsort(codes[rows], kind="stable")]
    same = np.flatnonzero(codes[order[1:]] == codes[order[:-1]])
    if len(same):
        first, again = order[same[0]], order[same[0] + 1]
        raise DataError(
            "{path}: two rows are named {name!r}, lines {first} and {second}",
            path=found.path,
            name=names[codes[again]],
            first=found.lines[int(first)],
            second=found.lines[int(again)],
        )


# --- in the order of time -------------------------------------------------------------------------------------------


def _in_order(found: Gathered) -> Observations:
    """Rows by series and date, each date once, gaps filled."""
    roles = found.roles
    if not len(found.values):
        raise DataError("{path}: there are no rows to read", path=found.path)
    naming = (roles.series,) if roles.series is not None else _naming_columns(found)
    channels = tuple(name for name in roles.values if name not in naming)
    if not channels:
        raise DataError(
            "{path}: no column of numbers to forecast\ncolumns: {listed}", path=found.path, listed=listed(roles.values)
        )
    codes = _sort(found, naming)
    begins = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
    offsets = np.append(begins, len(codes)).astype(np.int64)
    names = tuple(_series_name(found, naming, row) for row in begins.tolist())
    values, dates = found.values, found.dates
    if channels != roles.values:
        values = values[:, [roles.values.index(name) for name in channels]]
    notes, columns = found.notes, listed(channels).en
    others = [name for name in roles.texts if name not in naming]
    if others:
        notes.append(note("columns that hold no numbers, which are left out: {columns}", columns=listed(others).en))
    if roles.series is None and naming:
        notes.append(
            note(
                "dates repeat, and {column} explains it: {count:,} series; --series chooses another column",
                column=listed(naming).en,
                count=len(names),
            )
        )
    if dates is None:
        notes.append(
            note("no date column: one step per row, in the order of the file; values {columns}", columns=columns)
        )
        return _made(found, values, offsets, names, channels)
    _refuse_repeated(found, dates, offsets)
    spacing = usual_spacing(dates, offsets, found.path)
    steps = _regular_steps(found, dates, offsets, spacing)
    notes.append(
        note(
            "date column {date!r}, one step is {spacing}; values {columns}",
            date=" ".join(roles.dates),
            spacing=spacing.told.en,
            columns=columns,
        )
    )
    if int((steps[offsets[1:] - 1] + 1).sum()) > len(steps):
        values, dates, offsets = _filled(found, values, dates, offsets, spacing, steps)
    return _made(found, values, offsets, names, channels, dates, spacing)


def _sort(found: Gathered, naming: Sequence[str]) -> np.ndarray:
    """Bring the rows into order, by series and date; by place where there is none. Returns the series of each."""
    codes = _codes(found, naming)
    if (codes[1:] < codes[:-1]).any():
        found.take(np.argsort(codes, kind="stable"))
        codes = _codes(found, naming)
    if found.dates is None:
        return codes
    backwards = (found.dates[1:] < found.dates[:-1]) & (codes[1:] == codes[:-1])
    if backwards.any():
        found.notes.append(
            note("rows that aren't in the order of time, which are sorted: {count:,}", count=int(backwards.sum()))
        )
        found.take(np.lexsort((found.dates, codes)))
        codes = np.sort(codes)
    return codes


# --- which column names the series ----------------------------------------------------------------------------------


def _naming_columns(found: Gathered) -> tuple[str, ...]:
    """One or two that explain why dates repeat: within a series they don't, and most steps are equal. None where no
    date repeats, or nothing explains it."""
    dates = found.dates
    if dates is None or (dates[1:] > dates[:-1]).all():
        return ()
    in_order = np.sort(dates)
    if (in_order[1:] > in_order[:-1]).all():
        return ()
    del in_order
    keys = list(found.names)[:KEYS]
    texts = [name for name in keys if name in found.roles.texts]
    for candidates in (combinations(texts, 1), combinations(keys, 1), combinations(keys, 2)):
        fitting: dict[tuple[str, ...], int] = {}  # with the number of series
        for columns in candidates:
            codes = _codes(found, columns)
            if _explains(dates, codes):
                fitting[columns] = len(np.unique(codes))
        if fitting:
            return min(fitting, key=fitting.__getitem__)
    return ()


def _explains(dates: np.ndarray, codes: np.ndarray) -> bool:
    if (codes[1:] < codes[:-1]).any() or ((dates[1:] < dates[:-1]) & (codes[1:] == codes[:-1])).any():
        order = np.lexsort((dates, codes))
        dates, codes = dates[order], codes[order]
    within = codes[1:] == codes[:-1]
    if not within.any() or ((dates[1:] == dates[:-1]) & within).any():
        return False
    steps = np.diff(dates[:SAMPLE])[within[: SAMPLE - 1]].view(np.int64)
    if not len(steps):
        return False
    if steps.min() > 27 * DAY:  # months differ by a few days
        steps = (steps + 5 * DAY) // (30 * DAY)
    return bool(np.unique(steps, return_counts=True)[1].max() * 2 >= len(steps))


def _codes(found: Gathered, columns: Sequence[str]) -> np.ndarray:
    """(N,) integers: which series a row is of, in the order in which they first come."""
    if not columns:
        return np.zeros(len(found.values), np.int8)
    (codes, _), *others = (found.names[name] for name in columns)
    for more, names in others:
        codes = codes.astype(np.int64) * len(names) + more
        _, begins, inverse = np.unique(codes, return_index=True, return_inverse=True)
        codes = np.argsort(np.argsort(begins))[inverse]
    return codes


def _series_name(found: Gathered, columns: Sequence[str], row: int) -> str:
    return " / ".join(found.names[name][1][found.names[name][0][row]] for name in columns)


# --- dates that can't be used, and gaps -----------------------------------------------------------------------------


def _refuse_repeated(found: Gathered, dates: np.ndarray, offsets: np.ndarray) -> None:
    repeated = dates[1:] == dates[:-1]
    repeated[offsets[1:-1] - 1] = False
    again = np.flatnonzero(repeated) + 1
    if not len(again):
        return
    lines = [
        both(
            "{path}:{line}: {date} again, which is in line {first} too",
            path=found.path,
            line=found.lines[row],
            date=_told(dates[row]),
            first=found.lines[row - 1],
        )
        for row in again[:SHOWN].tolist()
    ]
    raise DataError(
        "{path}: dates that are there twice: {count:,}\n{listed}\neach date is one step of a series: remove the "
        "others; if a column names the series of a row, pass --series NAME",
        path=found.path,
        count=len(again),
        listed=_with_more(lines, len(again)),
    )


def _regular_steps(found: Gathered, dates: np.ndarray, offsets: np.ndarray, spacing: Spacing) -> np.ndarray:
    """(N,) int64: the step of each date in its series; irregular dates are an error."""
    steps, fits = steps_from_start(dates, offsets, spacing)
    wrong = np.flatnonzero(~fits)
    lines = [
        both(
            "{path}:{line}: {date} comes after {before}",
            path=found.path,
            line=found.lines[row],
            date=_told(dates[row]),
            before=_told(dates[row - 1]),
        )
        for row in wrong[:SHOWN].tolist()
    ]
    if lines:
        raise DataError(
            "{path}: the dates aren't regular: most are {spacing} apart, but not {count:,} of them\n{listed}\nmend "
            "these rows, or bring the file to regular steps first",
            path=found.path,
            spacing=spacing.told,
            count=len(wrong),
            listed=_with_more(lines, len(wrong)),
        )
    total = int((steps[offsets[1:] - 1] + 1).sum())
    if total > (MOST_FILLED + 1) * len(dates) + 1_000:
        gaps = np.diff(steps)
        gaps[offsets[1:-1] - 1] = 0
        row = int(gaps.argmax()) + 1
        raise DataError(
            "{path}: one step is {spacing}, and then {count:,} steps have no row; the longest gap is before line "
            "{line}, from {before} to {date}: is that date right?",
            path=found.path,
            spacing=spacing.told,
            count=total - len(dates),
            line=found.lines[row],
            before=_told(dates[row - 1]),
            date=_told(dates[row]),
        )
    return steps


def _filled(
    found: Gathered,
    values: np.ndarray,
    dates: np.ndarray,
    offsets: np.ndarray,
    spacing: Spacing,
    steps: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With a row of missing values for every step that has none."""
    lengths = steps[offsets[1:] - 1] + 1
    filled = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(filled[:-1], np.diff(offsets)) + steps
    more = np.full((filled[-1], values.shape[1]), np.nan)
    more[places] = values
    since = np.arange(filled[-1]) - np.repeat(filled[:-1], lengths)
    all_dates = spacing.shifted(np.repeat(dates[offsets[:-1]], lengths), since)
    all_dates[places] = dates
    found.notes.append(
        note("steps without a row, which are filled with missing values: {count:,}", count=len(more) - len(values))
    )
    return more, all_dates, filled


def _told(date: Any) -> str:
    """Without a time of day where there is none."""
    return str(date).replace("T", " ").removesuffix(" 00:00:00")


def _with_more(lines: list[Both], count: int) -> Both:
    more = [both("... and {more:,} more", more=count - len(lines))] if count > len(lines) else []
    return joined([*lines, *more], "\n")


def _made(
    found: Gathered,
    values: np.ndarray,
    offsets: np.ndarray,
    names: tuple[str, ...],
    channels: tuple[str, ...],
    dates: np.ndarray | None = None,
    spacing: Spacing | None = None,
) -> Observations:
    """With what there is to say of the values."""
    notes = found.notes
    lowest, highest = np.fmin.reduce(values), np.fmax.reduce(values)
    empty = [name for name, value in zip(channels, lowest, strict=True) if np.isnan(value)]
    if len(empty) == len(channels):
        raise DataError("{path}: there are no numbers in {columns}", path=found.path, columns=listed(channels))
    notes += [note("the column {name!r} has no numbers, and is left out", name=name) for name in empty]
    constant = [name for name, low, high in zip(channels, lowest, highest, strict=True) if low == high]
    notes += [note("the column {name!r} is constant", name=name) for name in constant]
    if empty:
        values = values[:, [number for number, name in enumerate(channels) if name not in empty]]
        channels = tuple(name for name in channels if name not in empty)
    missing = int(np.isnan(values).sum())
    if missing:
        notes.append(note("missing values: {count:,} of {total:,}", count=missing, total=values.size))
    return Observations(found.path, values, offsets, names, channels, dates, spacing, tuple(notes))


# --- what a file is -------------------------------------------------------------------------------------------------


def looks_like_observations(path: str | Path) -> bool:
    """Whether a table is dates and otherwise numbers, maybe with a column that names the series; or one series per
    row. Its head tells; in doubt, it isn't."""
    try:
        cls = formats.format_of(path, holding="texts")
        if not Path(path).is_file():
            return False
        file = cls(head_of(path, cls))
        head = next(iter(file.portions()), None)
        if head is None or len(head.problems) * 10 > len(head.lines):
            return False
        looks = look_at(file, head)
        roles = roles_of(str(path), looks, None, (), None)
    except DataError:
        return False
    if any(look.numeric and look.is_label for look in looks.values()):
        return False
    if roles.one_per_row:
        return (roles.dated_names or is_numbered(roles.values)) and len(roles.values) >= FEWEST
    texts = [look for look in looks.values() if look.filled and not look.numeric and look.name not in roles.dates]
    if not roles.dates or len(texts) > 1:
        return False
    days = [tuple(looks[name].values[row] for name in roles.dates) for row in range(len(looks[roles.dates[0]].values))]
    if not texts:
        return len(days) >= FEWEST
    named = set(zip(days, texts[0].values, strict=True))
    return len(set(texts[0].values)) * 2 <= len(days) and len(named) == len(days) > len(set(days))
