"""Series of numbers from files: a column of arrays, whatever the format."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import both, note
from rnnlab.data import formats
from rnnlab.data.formats.base import SERIES, Portion, RowFile
from rnnlab.data.tables import Table, tabulate

PEEK = 100  # rows to look at for a column of arrays


@dataclass(frozen=True)
class Series:
    """``arrays[i]`` is row i of the table. All have the same D; a row of another D is a bad row of the table."""

    table: Table  # the other columns as strings; for .ts the one column "label", or none if it is unlabelled
    column: str  # which column the arrays were in; empty for .ts
    arrays: list[np.ndarray]  # each (T, D) float32, T >= 1, finite


def read(path: str | Path, *, column: str | None = None) -> Series:
    """Read series. ``column`` says where in a JSON object the array is; it isn't needed if there is only one."""
    return gather(formats.read_whole(path, holding="numbers"), column)


def gather(file: RowFile, column: str | None) -> Series:
    column = choose_column(file, column)
    by_line: dict[int, np.ndarray] = {}  # a row with a good series may yet be bad for another reason

    def portions() -> Iterator[Portion]:
        for portion, arrays in with_arrays(file, column):
            found = zip(portion.lines, arrays, strict=True)
            by_line.update({line: array for line, array in found if array is not None})
            yield portion

    table = tabulate(file, portions(), leave_out=column)
    return Series(table, column, [by_line[line] for line in table.lines])


def with_arrays(file: RowFile, column: str) -> Iterator[tuple[Portion, list[np.ndarray | None]]]:
    """Every portion with its arrays, and with a problem where there is none, or where its D isn't that of the first."""
    width: int | None = None
    for portion in file.portions():
        arrays: list[np.ndarray | None] = []
        problems = dict(portion.problems)
        for at, value in enumerate(portion.values(column)):
            array = None
            if at not in problems:
                try:
                    array = value if isinstance(value, np.ndarray) else _from_json(value)
                    width = width or array.shape[1]
                    if array.shape[1] != width:
                        raise ValueError(
                            note(
                                "the number of channels is {shape}, in the first row {width}",
                                shape=array.shape[1],
                                width=width,
                            )
                        )
                except ValueError as error:
                    array, problems[at] = None, f"{column!r}: {error}" if column != SERIES else str(error)
            arrays.append(array)
        yield replace(portion, problems=problems), arrays


# Which column


def peek(file: RowFile) -> tuple[list[str], list[str]]:
    """The columns that hold arrays of numbers, and all columns, as far as the first rows tell."""
    first = next(file.portions(), None)
    if first is None:
        return [], []
    arrays = [name for name, values in first.columns.items() if any(map(_holds_numbers, values[:PEEK]))]
    return arrays, list(first.columns)


def _holds_numbers(value: Any) -> bool:
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    return isinstance(value, list) and bool(value) and type(value[0]) in (int, float)


def choose_column(file: RowFile, column: str | None) -> str:
    if file.fixed is not None:
        if column is not None:
            raise DataError(
                "{path}: a {suffix} file has no columns; leave out {column!r}",
                path=file.path,
                suffix=file.source.suffix,
                column=column,
            )
        return SERIES
    arrays, seen = peek(file)
    if column is not None:
        if column not in seen:
            raise DataError(
                "{path}: no column {column!r}{hint}\ncolumns: {listed}",
                path=file.path,
                column=column,
                hint=did_you_mean(column, seen),
                listed=_listed(seen),
            )
        return column
    if len(arrays) != 1:
        found = both("no arrays of numbers")
        if arrays:
            found = both("several columns hold arrays of numbers: {names}", names=_listed(arrays))
        raise DataError(
            "{path}: {found}; say which column to use with --text\ncolumns: {listed}",
            path=file.path,
            found=found,
            listed=_listed(seen),
        )
    return arrays[0]


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


# Arrays


def _from_json(value: Any) -> np.ndarray:
    """An array of numbers, or of arrays of numbers, as (T, D) float32."""
    if not isinstance(value, list):
        raise ValueError(note("no array of numbers"))
    if not value:
        raise ValueError(note("the series is empty"))
    steps = value if isinstance(value[0], list) else [[number] for number in value]
    if not steps[0]:
        raise ValueError(note("step {place} is empty", place=1))
    for place, step in enumerate(steps, 1):
        if not isinstance(step, list) or not set(map(type, step)) <= {int, float}:
            raise ValueError(note("step {place} isn't made of numbers", place=place))
        if len(step) != len(steps[0]):
            raise ValueError(
                note(
                    "step {place} has width {count}, step 1 has width {count_2}",
                    place=place,
                    count=len(step),
                    count_2=len(steps[0]),
                )
            )
    try:
        with np.errstate(over="ignore"):
            array = np.array(steps, np.float64).astype(np.float32)
    except OverflowError:
        raise ValueError(note("a number too large")) from None
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(note("step {bad} isn't a finite 32-bit number", bad=bad[0] + 1))
    return array
