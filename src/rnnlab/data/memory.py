"""Data in memory: frames, columns, pairs, arrays. They are written down once, in the cache, under a name that their
content makes: so all that can be done with a file can be done with them, by other processes too, and their runs are
those of the same rows in a file."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rnnlab.core.cache import cache_dir
from rnnlab.core.errors import DataError
from rnnlab.core.files import write_atomically

SPLITS = {"train": "data", "valid": "valid", "validation": "valid", "dev": "valid", "test": "test"}
TEXT, SERIES, LABEL = "text", "series", "label"


def is_in_memory(data: Any) -> bool:
    return not isinstance(data, str | os.PathLike | None)


def as_files(data: Any) -> dict[str, str]:
    """The settings of a task that say where it is: ``data`` and, if there are such splits, ``valid`` and ``test``.

    - a frame (pandas, polars, Arrow), a ``datasets.Dataset``, or a dict of columns; a list of dicts;
    - a list of (text, label) pairs, or a tuple of inputs and labels: texts, or arrays of (steps,) or (steps, channels);
    - a dict of these by split: ``{"train": …, "test": …}``, such as a ``datasets.DatasetDict``.
    """
    if isinstance(data, Mapping) and set(data) <= SPLITS.keys() and all(map(_is_table, data.values())):
        if "train" not in data:
            raise DataError("the data in memory have no split 'train', only {names}", names=", ".join(map(str, data)))
        return {SPLITS[name]: _written(part) for name, part in data.items()}
    return {"data": _written(data)}


def _is_table(part: Any) -> bool:
    """Rather than a column: of a dict whose only columns are called train and test."""
    return (
        isinstance(part, Mapping | tuple)
        or hasattr(part, "columns")
        or hasattr(part, "column_names")
        or _is_pairs(part)
    )


def _is_pairs(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], tuple | list | Mapping)


def _written(data: Any) -> str:
    """The file that holds it, as JSON lines."""
    content = as_lines(columns_of(data))
    path = cache_dir() / "memory" / f"in-memory-{hashlib.sha256(content).hexdigest()[:16]}.jsonl"
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    return str(path)


def as_lines(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """A table as JSON lines, whose columns are equally long."""
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} {length:,}" for name, length in lengths.items())
        raise DataError("the columns in memory must be equally long, found {told}", told=told)
    if not any(lengths.values()):
        raise DataError("the data in memory hold no rows")
    lines = (_line(row) for row in _rows(columns))
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def columns_of(data: Any) -> dict[str, Sequence[Any]]:
    """By name; labels that are numbers of a `datasets.ClassLabel` are its names."""
    if isinstance(data, Mapping):
        return {str(name): _listed(values) for name, values in data.items()}
    if isinstance(data, tuple) and len(data) == 2:
        inputs, labels = (_listed(part) for part in data)
        return {_kind_of_input(inputs): inputs, LABEL: labels}
    if isinstance(data, list):
        return _of_list(data)
    frame = frame_columns(data)
    if frame is None:
        raise DataError(
            "data in memory are a frame, a dict of columns, a list of (text, label), a list of dicts, or a tuple of "
            "inputs and labels (got {kind})",
            kind=type(data).__name__,
        )
    features = getattr(data, "features", None) or {}
    return {name: _named(_listed(values), features, name) for name, values in frame.items()}


def frame_columns(data: Any) -> dict[str, Any] | None:
    """The columns of a frame (pandas, polars, Arrow) by name, as it has them; None where it is no frame."""
    if not hasattr(data, "__getitem__") and hasattr(data, "__dataframe__"):
        data = _from_interchange(data)
    names = getattr(data, "column_names", None)
    names = getattr(data, "columns", None) if names is None else names
    if names is None or not hasattr(data, "__getitem__"):
        return None
    return {str(name): data[name] for name in names}


def _of_list(data: list[Any]) -> dict[str, Sequence[Any]]:
    if all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(chain.from_iterable(data))
        return {str(name): [row.get(name) for row in data] for name in names}
    if all(isinstance(row, tuple | list) and len(row) == 2 for row in data):
        inputs = [row[0] for row in data]
        return {_kind_of_input(inputs): inputs, LABEL: [row[1] for row in data]}
    wrong = next((row for row in data if not isinstance(row, tuple | list) or len(row) != 2), None)
    raise DataError("a list of data holds (text, label) pairs, or dicts (got {kind})", kind=_described(wrong))


def _described(row: Any) -> str:
    return f"{type(row).__name__} of {len(row)}" if isinstance(row, tuple | list) else type(row).__name__


def _kind_of_input(inputs: Sequence[Any]) -> str:
    return TEXT if all(isinstance(value, str) or value is None for value in inputs) else SERIES


def _listed(values: Any) -> Sequence[Any]:
    """A column as a list; of an array of several dimensions, a list of arrays."""
    if isinstance(values, np.ndarray):
        return values.tolist() if values.ndim == 1 else list(values)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError("a column in memory is a list of values (got {kind})", kind=type(values).__name__)
    return list(values)


def _named(values: Sequence[Any], features: Any, name: str) -> Sequence[Any]:
    names = getattr(features.get(name), "names", None) if isinstance(features, Mapping) else None
    if not names:
        return values
    return [names[value] if isinstance(value, int) and 0 <= value < len(names) else None for value in values]


def _from_interchange(data: Any) -> Any:
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise DataError(
            "reading {kind} in memory needs pyarrow: pip install 'rnnlab[parquet]'", kind=type(data).__name__
        ) from None
    return from_dataframe(data)


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        yield {name: _plain(value) for name, value in zip(columns, values, strict=True)}


def _plain(value: Any) -> Any:
    """What a CSV file of it would say; an array of numbers stays one."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str | list):
        return value
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if missing or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return None
    return str(value)


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False, default=lambda value: value.tolist())
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError("a row in memory can't be written down: {error}", error=error) from None
