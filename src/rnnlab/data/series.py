"""Numeric sequences from files: UEA ``.ts``, and JSON lines with an array in every row.

In JSON a series is ``[1.5, 2.0, …]`` (one channel) or ``[[1.5, 0.1], [2.0, 0.2], …]`` (T × D: time first, one inner
array a step). In ``.ts`` it is the other way round: one comma-separated list for each channel, joined by colons."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.data.decoding import encoding_of, load, open_lines
from rnnlab.data.examples import BadRow
from rnnlab.data.tables import JSON_LINES, Row, Table, json_rows, tabulate

SUPPORTED = (".ts", *JSON_LINES)
LABEL = "label"  # the one column of a .ts file
PEEK = 100  # objects to look at for a column of arrays

_Found = dict[int, np.ndarray]  # by line, because a row with a good series may yet be bad for another reason


@dataclass(frozen=True)
class Series:
    """``arrays[i]`` is row i of the table. All have the same D; a row of another D is a bad row of the table."""

    table: Table  # the other columns as strings; for .ts the one column "label", or none if it is unlabelled
    column: str  # which column the arrays were in; empty for .ts
    arrays: list[np.ndarray]  # each (T, D) float32, T >= 1, finite


def read(path: str | Path, *, column: str | None = None) -> Series:
    """Read series. ``column`` says where in a JSON object the array is; it isn't needed if there is only one.

    D is what a .ts file declares, otherwise that of the first row with a good series."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUPPORTED:
        raise DataError(f"{path}: can't read '{suffix}' files as series; supported: {', '.join(SUPPORTED)}")
    data = load(path)
    encoding, notes = encoding_of(path, data)
    lines = open_lines(data, encoding)
    found: _Found = {}
    if suffix == ".ts":
        if column is not None:
            raise DataError(f"{path}: a .ts file has no columns; leave out {column!r}")
        rows = _ts_rows(path, lines, found)
    else:
        column = _choose_column(path, open_lines(data, encoding), column)
        rows = _json_series(lines, column, found)
    table = tabulate(path, data, rows, notes)
    return Series(table, column or "", [found[line] for line in table.lines])


# JSON lines


def peek(path: str | Path) -> tuple[list[str], list[str]]:
    """The columns of a JSON lines file that hold arrays of numbers, and the others, as far as its first rows tell."""
    data = load(path)
    encoding, _ = encoding_of(path, data)
    arrays, seen = _peek(open_lines(data, encoding))
    return arrays, [name for name in seen if name not in arrays]


def _peek(lines: Iterator[str]) -> tuple[list[str], list[str]]:
    """Columns of number arrays, and all columns, of the first rows."""
    arrays: dict[str, None] = {}
    seen: dict[str, None] = {}
    for row in itertools.islice(json_rows(lines), PEEK):
        if not isinstance(row, BadRow):
            seen.update(dict.fromkeys(row[1]))
            arrays.update({name: None for name, value in row[1].items() if _holds_numbers(value)})
    return list(arrays), list(seen)


def _holds_numbers(value: Any) -> bool:
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    return isinstance(value, list) and bool(value) and type(value[0]) in (int, float)


def _choose_column(path: str | Path, lines: Iterator[str], column: str | None) -> str:
    arrays, seen = _peek(lines)
    if column is not None:
        if column not in seen:
            raise DataError(f"{path}: no column {column!r}{did_you_mean(column, seen)}\ncolumns: {_listed(seen)}")
        return column
    if len(arrays) != 1:
        found = f"several columns hold arrays of numbers: {_listed(arrays)}" if arrays else "no arrays of numbers"
        raise DataError(f"{path}: {found}; say which column to use with --text\ncolumns: {_listed(seen)}")
    return arrays[0]


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _json_series(lines: Iterator[str], column: str, found: _Found) -> Iterator[Row]:
    """The other columns of every row with a good series, which goes to ``found``."""
    for row in json_rows(lines):
        if isinstance(row, BadRow):
            yield row
            continue
        line, cells = row
        try:
            array = _from_json(cells.pop(column, None))
            _check_width(array, found)
        except ValueError as error:
            yield BadRow(line, f"{column!r}: {error}")
        else:
            found[line] = array
            yield line, cells


def _from_json(value: Any) -> np.ndarray:
    """An array of numbers, or of arrays of numbers, as (T, D) float32."""
    if not isinstance(value, list):
        raise ValueError("no array of numbers")
    if not value:
        raise ValueError("the series is empty")
    steps = value if isinstance(value[0], list) else [[number] for number in value]
    if not steps[0]:
        raise ValueError("step 1 is empty")
    for place, step in enumerate(steps, 1):
        if not isinstance(step, list) or not set(map(type, step)) <= {int, float}:
            raise ValueError(f"step {place} isn't made of numbers")
        if len(step) != len(steps[0]):
            raise ValueError(f"step {place} has width {len(step)}, step 1 has width {len(steps[0])}")
    return _finite(steps, "step {} isn't a finite 32-bit number")


def _check_width(array: np.ndarray, found: _Found) -> None:
    first = next(iter(found.values()), array)
    if array.shape[1] != first.shape[1]:
        raise ValueError(f"the number of channels is {array.shape[1]}, in the first row {first.shape[1]}")


def _finite(rows: list[list[float]], complaint: str) -> np.ndarray:
    """``rows`` as float32; ``complaint`` is told the first row with a number that has no place there."""
    try:
        with np.errstate(over="ignore"):
            array = np.array(rows, np.float64).astype(np.float32)
    except OverflowError:
        raise ValueError("a number too large") from None
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(complaint.format(bad[0] + 1))
    return array


# The .ts format of the UEA archive


@dataclass(frozen=True)
class _Header:
    channels: int | None
    labels: frozenset[str] | None  # None where the rows have none


def _ts_rows(path: str | Path, lines: Iterator[str], found: _Found) -> Iterator[Row]:
    """The label of every row with a good series, which goes to ``found``."""
    numbered = enumerate(lines, 1)
    header = _read_header(path, numbered)
    for number, line in numbered:
        content = line.strip()
        if not content or content.startswith(("#", "%")):
            continue
        *channels, label = content.split(":") if header.labels is not None else [*content.split(":"), ""]
        try:
            array = _from_ts(channels, header.channels)
            _check_width(array, found)
            if header.labels is not None and label.strip() not in header.labels:
                raise ValueError(f"the label {label.strip()[:40]!r} isn't one of those that @classLabel declares")
        except ValueError as error:
            yield BadRow(number, str(error))
        else:
            found[number] = array
            yield number, {} if header.labels is None else {LABEL: label.strip()}


def _read_header(path: str | Path, numbered: Iterator[tuple[int, str]]) -> _Header:
    """Read up to ``@data``. What rnnlab can't use is refused here, before any row."""
    channels: int | None = None
    labels: frozenset[str] | None = frozenset()
    for number, line in numbered:
        words = line.split()
        if not words or words[0].startswith(("#", "%")):
            continue
        where, key, values = f"{path}:{number}", words[0].lower(), words[1:]
        yes = values[:1] != [] and values[0].lower() == "true"
        if not key.startswith("@"):
            raise DataError(f"{where}: a .ts file begins with lines like '@timeStamps false' and then '@data'")
        if key == "@data":
            if labels == frozenset():
                raise DataError(f"{where}: the header lacks '@classLabel true' and the classes, or '@classLabel false'")
            return _Header(channels, labels)
        if key == "@timestamps" and yes:
            raise DataError(f"{where}: time stamps aren't supported; resample to equal steps and set @timeStamps false")
        if key == "@targetlabel" and yes:
            raise DataError(f"{where}: a numeric target means regression, which rnnlab doesn't do; it needs classes")
        if key == "@univariate" and yes:
            channels = 1
        if key in ("@dimensions", "@dimension"):
            if len(values) != 1 or not re.fullmatch(r"[1-9][0-9]{0,5}", values[0]):
                raise DataError(f"{where}: {words[0]} needs one number from 1")
            channels = int(values[0])
        if key == "@classlabel":
            labels = frozenset(values[1:]) if yes else None
    raise DataError(f"{path}: no '@data' line; a .ts file has its rows after it")


def _from_ts(channels: list[str], declared: int | None) -> np.ndarray:
    """Comma-separated numbers for every channel as (T, D) float32."""
    if not channels:
        raise ValueError("no ':' between the values and the label")
    if declared is not None and len(channels) != declared:
        raise ValueError(f"the number of channels is {len(channels)}, the header declares {declared}")
    rows = [_channel(text, place) for place, text in enumerate(channels, 1)]
    for place, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(f"channel {place} has length {len(row)}, channel 1 has length {len(rows[0])}")
    return np.ascontiguousarray(_finite(rows, "channel {} has a number beyond 32 bits").T)


_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


def _channel(text: str, place: int) -> list[float]:
    if not text.strip():
        raise ValueError(f"channel {place} is empty")
    values = text.split(",")
    for step, value in enumerate(values, 1):
        if not _NUMBER.fullmatch(value):  # float() would also take 1_000, nan and Chinese digits
            missing = " (a missing value)" if value.strip().lower() in ("?", "nan", "") else ""
            raise ValueError(f"channel {place}, step {step}: {value.strip()[:40]!r} isn't a number{missing}")
    return list(map(float, values))
