"""A table of scores, one per model, seed and test row: from a file or from memory, its columns found by their names."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import ConfigError, DataError, did_you_mean
from rnnlab.core.words import Both, both
from rnnlab.data import formats
from rnnlab.data.memory import frame_columns
from rnnlab.data.tables import tabulate

REQUIRED = ("model", "seed", "row", "score")
OPTIONAL = ("group", "cost", "baseline", "diverged")
NAMES = REQUIRED + OPTIONAL
IN_MEMORY = "the table"
ALIKE = 0.8  # of difflib: "gruop" is "group" mistyped, "host" isn't "cost"
FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1, "": 0}
MISSING = {"None", "nan", "NaN", "NaT", "<NA>"}  # how Python, numpy and frames print a value that isn't there


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as its distinct texts, in the order in which they are first seen, and their numbers ``codes (N,)``."""

    texts: list[str]
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class ResultTable:
    """The columns that have a meaning here, by that meaning. ``lines`` are those of the file, None in memory."""

    source: str
    values: Mapping[str, Any]  # a list or an array each
    lines: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def where(self, entry: int) -> str:
        """``results.csv:7``, or the position in a table that has no lines."""
        return f"{self.source}, entry {entry}" if self.lines is None else f"{self.source}:{self.lines[entry]}"

    def coded(self, name: str) -> Coded:
        """A column of names, in which every entry says something."""
        found = self._code(name)
        complaint = both("{where}: the {name} is empty{in_all}; every score needs its {name}")
        self._refuse_unread(name, found, [text or None for text in found.texts], complaint)
        return found

    def scores(self) -> np.ndarray:
        plain = _plain_numbers(self.values["score"])
        complaint = both(
            "{where}: the score is {shown}{in_all}; write a number, or 0 and 1 (or true and false) for wrong and right"
        )
        return self._read("score", _number, complaint) if plain is None else plain

    def costs(self) -> np.ndarray:
        """NaN where none is given."""
        complaint = both(
            "{where}: the {name} is {shown}{in_all}; write a number that isn't negative, or leave it empty"
        )
        return self._read("cost", lambda text: _number(text, least=0) if text else math.nan, complaint)

    def flags(self, name: str) -> np.ndarray:
        """1 and 0."""
        complaint = both("{where}: {name} is {got!r}{in_all}; write 0 or 1, true or false")
        return self._read(name, lambda text: FLAGS.get(text.lower()), complaint)

    def _code(self, name: str) -> Coded:
        try:
            return code(self.values[name])
        except TypeError:  # lists and dicts have no hash
            raise DataError(
                "{source}: the {name} must be a text or a number in every entry", source=self.source, name=name
            ) from None

    def _read(self, name: str, read: Callable[[str], float | None], complaint: Both) -> np.ndarray:
        """A column of numbers; one that isn't there says of every entry what an empty text says."""
        if name not in self:
            return np.full(len(self.values["score"]), read(""), np.float64)
        found = self._code(name)
        numbers = [read(text) for text in found.texts]
        self._refuse_unread(name, found, numbers, complaint)
        return np.array(numbers, np.float64)[found.codes]

    def _refuse_unread(self, name: str, found: Coded, read: Sequence[Any], complaint: Both) -> None:
        """``complaint`` about the first entry whose text was ``read`` as None."""
        entries = np.flatnonzero(np.array([one is None for one in read])[found.codes])
        if len(entries):
            got = found.texts[found.codes[entries[0]]]
            shown, in_all = repr(got) if got else "empty", _in_all(len(entries))
            raise DataError(
                complaint.format(where=self.where(entries[0]), name=name, got=got, shown=shown, in_all=in_all)
            )


def code(values: Any) -> Coded:
    """Python code sees every distinct value once, and C alone sees every entry: there may be a million of them."""
    entries = values if isinstance(values, list) else _listed(values)
    numbers: dict[str, int] = {}
    of_value = {value: numbers.setdefault(text_of(value), len(numbers)) for value in dict.fromkeys(entries)}
    codes = np.fromiter(map(of_value.__getitem__, entries), np.int64, len(entries))
    return Coded(list(numbers), codes)


def text_of(value: Any) -> str:
    """A seed 3, 3.0 or "3 " is the same seed; what a frame marks as missing is empty."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return "" if text in MISSING else text


# From a file


def read_table(path: str | Path, columns: Mapping[str, str] | None = None) -> ResultTable:
    """``columns`` says which column is what where the names differ: ``{"model": "arm"}``."""
    file = formats.read_whole(path, holding="texts")
    typed = file.typed_columns()
    if typed is not None:
        return replace(table_of(typed, columns, str(path)), lines=np.arange(1, len(typed) + 1))
    table = tabulate(file, file.portions())
    if table.bad:
        row = table.bad[0]
        raise DataError(
            "{path}:{line}: {reason}{in_all}; mend or remove such lines",
            path=path,
            line=row.line,
            reason=row.reason,
            in_all=_in_all(len(table.bad)),
        )
    if not len(table):
        raise DataError("{path}: there are no scores, only the header", path=path)
    found, ignored = _find_columns(str(path), table.columns, columns or {})
    values = {name: list(table.values[column]) for name, column in found.items()}
    return ResultTable(str(path), values, table.lines, table.notes + ignored)


# From memory


def table_of(data: Any, columns: Mapping[str, str] | None = None, source: str = IN_MEMORY) -> ResultTable:
    """A dict of columns, a list of dicts, or a frame (pandas, polars, Arrow)."""
    given = _columns_of(data)
    lengths = {name: len(values) for name, values in given.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name!r} {length:,}" for name, length in lengths.items())
        raise DataError("{source}: columns must be equally long, found {said}", source=source, said=said)
    if not given or not next(iter(lengths.values())):
        raise DataError("{source}: there are no scores in it", source=source)
    found, ignored = _find_columns(source, tuple(given), columns or {})
    return ResultTable(source, {name: given[column] for name, column in found.items()}, None, ignored)


def _columns_of(data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return {str(name): _values(column) for name, column in data.items()}
    if isinstance(data, list | tuple):
        if not all(isinstance(entry, Mapping) for entry in data):
            raise DataError(
                "the table: a list must hold dicts, one per score, found {kind}",
                kind=_kind(data),
            )
        names = dict.fromkeys(name for entry in data for name in entry)
        return {str(name): [entry.get(name) for entry in data] for name in names}
    frame = frame_columns(data)
    if frame is None:
        raise DataError(
            "the table: a path, a dict of columns, a list of dicts, a frame, or a dict of arrays "
            "(seeds, rows) by model is needed, found {kind}",
            kind=_kind(data),
        )
    return {name: _values(column) for name, column in frame.items()}


def _values(column: Any) -> Any:
    """An array stays an array, so that its numbers need not become texts; everything else becomes a list."""
    array = column.to_numpy() if hasattr(column, "to_numpy") else column
    return array if isinstance(array, np.ndarray) and array.ndim == 1 else _listed(array)


def _listed(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _kind(data: Any) -> str:
    inside = type(data[0]).__name__ if isinstance(data, list | tuple) and data else None
    return f"{type(data).__name__} of {inside}" if inside else type(data).__name__


# Columns


def _find_columns(
    source: str, there: Sequence[str], named: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The column for each meaning, and a note of those that are ignored."""
    unknown = next((name for name in named if name not in NAMES), None)
    if unknown is not None:
        raise ConfigError(
            "columns: {unknown!r} is no column of a table of results{hint}\nknown: {names}",
            unknown=unknown,
            hint=did_you_mean(unknown, NAMES),
            names=", ".join(NAMES),
        )
    found = {name: _named(source, there, name, named.get(name)) for name in NAMES}
    missing = [name for name in REQUIRED if found[name] is None]
    if missing:
        hints = [did_you_mean(name, there) for name in missing]
        raise DataError(
            "{source}: no column {names}{hint}\ncolumns: {quoted}\na table of results has a header with "
            "{others} and one line per score; if a column has another name, pass --columns "
            "{missing}=NAME",
            source=source,
            names=", ".join(map(repr, missing)),
            hint=next(filter(None, hints), ""),
            quoted=_quoted(there),
            others=", ".join(REQUIRED),
            missing=missing[0],
        )
    ignored = [column for column in there if column not in found.values()]
    for column in ignored:
        _refuse_near_miss(source, column, [name for name in OPTIONAL if found[name] is None])
    note = (f"ignored: {', '.join(map(repr, ignored))}",) if ignored else ()
    return {name: column for name, column in found.items() if column is not None}, note


def _named(source: str, there: Sequence[str], name: str, wanted: str | None) -> str | None:
    if wanted is not None and wanted not in there:
        raise DataError(
            "{source}: no column {wanted!r} for the {name}{hint}\ncolumns: {quoted}",
            source=source,
            wanted=wanted,
            name=name,
            hint=did_you_mean(wanted, there),
            quoted=_quoted(there),
        )
    same = [column for column in there if column.strip().casefold() == name]
    if wanted is None and len(same) > 1:
        raise DataError(
            "{source}: {quoted} are all the {name}; say which with --columns {name}={same}",
            source=source,
            quoted=_quoted(same),
            name=name,
            same=same[0],
        )
    return wanted or (same[0] if same else None)


def _refuse_near_miss(source: str, column: str, open_names: Sequence[str]) -> None:
    """An optional column whose name is mistyped would be left out without a word."""
    typed = column.strip().casefold()
    near = difflib.get_close_matches(typed, open_names, n=1, cutoff=ALIKE)
    near += [name for name in open_names if sorted(name) == sorted(typed)]
    if near:
        raise DataError(
            "{source}: the column {column!r} isn't known; did you mean {near!r}?\nif it is that, pass "
            "--columns {near}={column}; if it is something else, rename it, since unknown columns are "
            "ignored",
            source=source,
            column=column,
            near=near[0],
        )


def _plain_numbers(values: Any) -> np.ndarray | None:
    """All entries at once if they are finite numbers; None if one needs a closer look. Most scores may be distinct, so
    that `code` would have to look at each."""
    try:
        written = "".join(values) if isinstance(values[0], str) else ""
        found = np.fromiter(map(float, values), np.float64, len(values))
    except (ValueError, TypeError):
        return None
    return found if np.isfinite(found).all() and "_" not in written else None


def _number(text: str, least: float = -math.inf) -> float | None:
    """None where it isn't a finite number. Python would take 1_000 too, which no other program writes."""
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= least and "_" not in text else None


def _in_all(count: int) -> Both | str:
    return "" if count == 1 else both(" (and {count:,} more like it)", count=count - 1)


def _quoted(names: Sequence[str]) -> Both | str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:39] + "…") for name in names[:20])
    return shown if len(names) <= 20 else both("{names} and {count:,} more", names=shown, count=len(names) - 20)
