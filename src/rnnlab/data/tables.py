"""Tables from files: CSV, TSV, JSON lines and Parquet as columns of strings, and every unusable row with its line."""

import hashlib
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.data import delimited
from rnnlab.data.cells import check_names, field_problem, unicode_problem
from rnnlab.data.columns import Column
from rnnlab.data.decoding import encoding_of, load, open_lines
from rnnlab.data.examples import BadRow

COLUMN_CAP = 1_000  # different keys in JSON lines: every one costs a cell in every row
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
SUPPORTED = (*DELIMITERS, *JSON_LINES, ".parquet")

Row = tuple[int, dict[str, Any]] | BadRow  # the line where it starts, and its values by name


@dataclass(frozen=True)
class Table:
    """Columns of strings of equal length. A missing value is an empty string; a nested one is its JSON text."""

    path: str
    columns: tuple[str, ...]
    values: Mapping[str, Sequence[str]]
    lines: np.ndarray  # (rows,) int64: the line where each row starts, from 1; in Parquet, the number of the row
    bad: list[BadRow]  # rows that can't be used; they are not in ``values``
    digest: str  # SHA-256 of the file
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)


def read(path: str | Path, *, columns: Sequence[str] | None = None) -> Table:
    """Read a table. ``columns`` names the columns of a delimited file that has no header line."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUPPORTED:
        raise DataError(f"{path}: can't read '{suffix}' files as a table; supported: {', '.join(SUPPORTED)}")
    if columns is not None:
        if suffix not in DELIMITERS:
            raise DataError(f"{path}: a {suffix} file names its columns itself; leave out the column names")
        check_names(f"{path}: the given columns", columns)
    data = load(path)
    if suffix == ".parquet":
        return tabulate(path, data, _parquet_rows(path, data))
    encoding, notes = encoding_of(path, data)
    if suffix in JSON_LINES:
        return tabulate(path, data, json_rows(open_lines(data, encoding)), notes)
    rows, decided = delimited.read(path, data, encoding, DELIMITERS[suffix], columns)
    values, lines = dict(zip(rows.names, rows.columns, strict=True)), np.frombuffer(rows.lines, np.int64)
    return Table(str(path), rows.names, values, lines, rows.bad, _digest(data), notes + decided)


# JSON lines and Parquet

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # decoding was strict, so only an escape can be one


def json_rows(lines: Iterable[str]) -> Iterator[Row]:
    """One object a line, as parsed. Refused beside what JSON refuses: NaN, Infinity, a key given twice, non-objects,
    characters that aren't valid Unicode."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_object, parse_constant=_refuse_constant)
            if isinstance(value, dict) and _SURROGATE.search(line):
                _refuse_half_pairs(value)
        except json.JSONDecodeError as error:
            yield BadRow(number, f"not valid JSON: {error.msg} (column {error.colno})")
        except RecursionError:
            yield BadRow(number, "nested too deeply")
        except ValueError as error:
            yield BadRow(number, str(error))
        else:
            yield (number, value) if isinstance(value, dict) else BadRow(number, "not a JSON object, {…}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} is given twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} isn't JSON")


def _refuse_half_pairs(row: dict[str, Any]) -> None:
    """Wherever the half of a pair is: in a key, a value, or deep inside one."""
    for name, value in row.items():
        if problem := unicode_problem(json.dumps([name, value], ensure_ascii=False)):
            raise ValueError(f"{name!r}: {problem}")


def _parquet_rows(path: str | Path, data: bytes) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'rnnlab[parquet]'") from None
    number = 0
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        check_names(str(path), file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=4096):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pyarrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from None


def tabulate(path: str | Path, data: bytes, rows: Iterable[Row], notes: tuple[str, ...] = ()) -> Table:
    """Rows of named values to columns of strings, in the order in which the names are first seen."""
    values: dict[str, Column] = {}
    lines, bad = array("q"), []
    for row in rows:
        if isinstance(row, BadRow):
            bad.append(row)
            continue
        line, cells = row
        try:
            texts = {name: _cell(name, value) for name, value in cells.items()}
        except ValueError as error:
            bad.append(BadRow(line, str(error)))
            continue
        if not texts.keys() <= values.keys():
            for name in texts:
                if name not in values:
                    values[name] = Column([""] * len(lines))
            if len(values) > COLUMN_CAP:
                raise DataError(f"{path}:{line}: more than {COLUMN_CAP:,} different keys; is this a table?")
        for name, column in values.items():
            column.append(texts.get(name, ""))
        lines.append(line)
    check_names(str(path), tuple(values))
    return Table(str(path), tuple(values), values, np.frombuffer(lines, np.int64), bad, _digest(data), notes)


def _cell(name: str, value: Any) -> str:
    """A value as text; a ValueError says why there is none. Parquet may mark a missing number as NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    try:
        if isinstance(value, bool | int | float | list | dict):
            return json.dumps(value, allow_nan=False, default=str)
        text = value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeError:
        raise ValueError(f"{name!r} isn't valid Unicode text") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{name!r}: a number too large, or nested too deeply") from None
    if problem := field_problem([text]):
        raise ValueError(f"{name!r}: {problem}")
    return text


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
