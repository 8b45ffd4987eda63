"""The .ts format of the UEA archive: one comma-separated list of numbers per channel, joined by colons, and a label."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data.formats.base import SERIES, Answered, Cell, Portion, RowFile, as_text, file_format, in_portions
from rnnlab.data.formats.delimited import DELIMITERS, to_lines
from rnnlab.data.formats.source import Source

LABEL = "label"


@dataclass(frozen=True)
class _Header:
    end: int  # the line of @data
    channels: int | None
    labels: frozenset[str] | None  # None where the rows have none


@file_format(".ts")
class Ts(RowFile):
    """It has no columns to add to: what `extended` writes is a table of line numbers and answers."""

    holds: ClassVar[frozenset[str]] = frozenset({"numbers"})
    fixed: ClassVar[tuple[str, ...] | None] = (SERIES, LABEL)

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        super().__init__(source)
        self.notes: tuple[str, ...] = source.notes
        self.header: _Header = _read_header(self.path, source.lines())
        self.columns: tuple[str, ...] = (SERIES,) if self.header.labels is None else (SERIES, LABEL)

    def portions(self) -> Iterator[Portion]:
        for numbered in in_portions(self._filled(), weigh=lambda row: len(row[1])):
            arrays: list[np.ndarray | None] = []
            labels: list[str] = []
            problems: dict[int, str] = {}
            for at, (_, content) in enumerate(numbered):
                try:
                    array, label = self._row(content)
                except ValueError as error:
                    array, label, problems[at] = None, "", str(error)
                arrays.append(array)
                labels.append(label)
            columns = dict(zip(self.columns, (arrays, labels), strict=False))
            yield Portion([number for number, _ in numbered], columns, problems)

    def _filled(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self.source.lines(), 1):
            content = line.strip()
            if number > self.header.end and content and not content.startswith(("#", "%")):
                yield number, content

    def _row(self, content: str) -> tuple[np.ndarray, str]:
        *channels, label = content.split(":") if self.header.labels is not None else [*content.split(":"), ""]
        array, label = _from_channels(channels, self.header.channels), label.strip()
        if self.header.labels is not None and label not in self.header.labels:
            raise ValueError(note("the label {label!r} isn't one of those that @classLabel declares", label=label[:40]))
        return array, label

    def endings(self) -> tuple[str, ...]:
        return (".csv", ".tsv")

    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        yield self.source.mark + self.source.encode(to_lines([["line", *added]], DELIMITERS[suffix]))
        for portion, cells in answered:
            rows = ([str(line), *map(as_text, more)] for line, more in zip(portion.lines, cells, strict=True))
            yield self.source.encode(to_lines(rows, DELIMITERS[suffix]))

    @classmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        """Of (T, D) arrays and labels, which are held until all classes are known."""
        rows = list(rows)
        classes = sorted({label for _, label in rows})
        for label in classes:
            if not re.fullmatch(r"[^\s:\0]+", label):
                raise DataError("{label!r}: the label of a .ts file is one word without colons", label=label)
        yield f"@timeStamps false\n@classLabel true {' '.join(classes)}\n@data\n".encode()
        for array, label in rows:
            channels = [",".join(map(repr, channel)) for channel in array.T.astype(np.float64).tolist()]
            yield f"{':'.join(channels)}:{label}\n".encode()


def _read_header(path: str, lines: Iterable[str]) -> _Header:
    """Read up to ``@data``. What rnnlab can't use is refused here, before any row."""
    channels: int | None = None
    labels: frozenset[str] | None = frozenset()
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith(("#", "%")):
            continue
        where, key, values = f"{path}:{number}", words[0].lower(), words[1:]
        yes = values[:1] != [] and values[0].lower() == "true"
        if not key.startswith("@"):
            raise DataError(
                "{where}: a .ts file begins with lines like '@timeStamps false' and then '@data'", where=where
            )
        if key == "@data":
            if labels == frozenset():
                raise DataError(
                    "{where}: the header lacks '@classLabel true' and the classes, or '@classLabel false'", where=where
                )
            return _Header(number, channels, labels)
        if key == "@timestamps" and yes:
            raise DataError(
                "{where}: time stamps aren't supported; resample to equal steps and set @timeStamps false", where=where
            )
        if key == "@targetlabel" and yes:
            raise DataError(
                "{where}: a numeric target means regression, which rnnlab doesn't do; it needs classes", where=where
            )
        if key == "@univariate" and yes:
            channels = 1
        if key in ("@dimensions", "@dimension"):
            if len(values) != 1 or not re.fullmatch(r"[1-9][0-9]{0,5}", values[0]):
                raise DataError("{where}: {words} needs one number from 1", where=where, words=words[0])
            channels = int(values[0])
        if key == "@classlabel":
            labels = frozenset(values[1:]) if yes else None
    raise DataError("{path}: no '@data' line; a .ts file has its rows after it", path=path)


def _from_channels(channels: list[str], declared: int | None) -> np.ndarray:
    """Comma-separated numbers for every channel as (T, D) float32."""
    if not channels:
        raise ValueError(note("no ':' between the values and the label"))
    if declared is not None and len(channels) != declared:
        raise ValueError(
            note(
                "the number of channels is {count}, the header declares {declared}",
                count=len(channels),
                declared=declared,
            )
        )
    rows = [_channel(text, place) for place, text in enumerate(channels, 1)]
    for place, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(
                note(
                    "channel {place} has length {count}, channel 1 has length {count_2}",
                    place=place,
                    count=len(row),
                    count_2=len(rows[0]),
                )
            )
    with np.errstate(over="ignore"):
        array = np.array(rows, np.float64).astype(np.float32)
    beyond = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(beyond):
        raise ValueError(note("channel {beyond} has a number beyond 32 bits", beyond=beyond[0] + 1))
    return np.ascontiguousarray(array.T)


_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


def _channel(text: str, place: int) -> list[float]:
    if not text.strip():
        raise ValueError(note("channel {place} is empty", place=place))
    values = text.split(",")
    for step, value in enumerate(values, 1):
        if not _NUMBER.fullmatch(value):  # float() would also take 1_000, nan and Chinese digits
            missing = note(" (a missing value)") if value.strip().lower() in ("?", "nan", "") else ""
            raise ValueError(
                note(
                    "channel {place}, step {step}: {value!r} isn't a number{missing}",
                    place=place,
                    step=step,
                    value=value.strip()[:40],
                    missing=missing,
                )
            )
    return list(map(float, values))
