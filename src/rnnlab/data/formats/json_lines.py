"""JSON lines: one object per line, of texts or of series. A series is ``[1.5, 2.0, …]`` (one channel) or
``[[1.5, 0.1], [2.0, 0.2], …]`` (T × D: time first, one inner array per step)."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data.formats.base import (
    Answered,
    Cell,
    Portion,
    RowFile,
    check_names,
    file_format,
    in_portions,
    refuse_unreadable,
    unicode_problem,
)
from rnnlab.data.formats.source import Source

COLUMN_CAP = 1_000  # different keys: every one costs a cell in every row


@file_format(".jsonl", ".ndjson")
class JsonLines(RowFile):
    """Columns are known when all rows have been read. What is added to a row goes before its closing brace; the rest
    of the line, and every line that can't be read, stays as it is."""

    holds: ClassVar[frozenset[str]] = frozenset({"texts", "numbers"})
    columns: tuple[str, ...]

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        super().__init__(source)
        self.notes: tuple[str, ...] = source.notes

    def portions(self) -> Iterator[Portion]:
        seen: dict[str, None] = {}
        filled = ((number, line) for number, line in enumerate(self.source.lines(), 1) if line.strip())
        for numbered in in_portions(filled, weigh=lambda row: len(row[1])):
            rows: list[dict[str, Any]] = []
            problems: dict[int, str] = {}
            for at, (number, line) in enumerate(numbered):
                row = parse(line)
                if isinstance(row, str):
                    problems[at], row = row, {}
                rows.append(row)
                if not row.keys() <= seen.keys():
                    seen.update(dict.fromkeys(row))
                    if len(seen) > COLUMN_CAP:
                        raise DataError(
                            "{path}:{number}: more than {column_cap:,} different keys; is this a table?",
                            path=self.path,
                            number=number,
                            column_cap=COLUMN_CAP,
                        )
            if len(seen) > len(self.columns):
                self.columns = tuple(seen)
                check_names(self.path, self.columns)
            columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(itertools.chain(*rows))}
            yield Portion([number for number, _ in numbered], columns, problems, [line for _, line in numbered])

    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        yield self.source.mark
        for portion, cells in answered:
            lines = (
                line.rstrip() if at in portion.problems else _with_more(line, added, more)
                for at, (line, more) in enumerate(zip(portion.content, cells, strict=True))
            )
            yield self.source.encode("".join(line + self.source.newline for line in lines))

    @classmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        check_names("the columns", columns)
        for row in rows:
            values = [value.tolist() if isinstance(value, np.ndarray) else value for value in row]
            for column, value in zip(columns, values, strict=True):
                refuse_unreadable(column, value if isinstance(value, str) else "")
            yield f"{_with_more('{}', columns, values)}\n".encode()


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # decoding was strict, so only an escape can be one


def parse(line: str) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it. Refused beside what JSON refuses: NaN, Infinity, a key given
    twice, non-objects, characters that aren't valid Unicode."""
    try:
        value = json.loads(line, object_pairs_hook=_object, parse_constant=_refuse_constant)
        if isinstance(value, dict) and _SURROGATE.search(line):
            _refuse_half_pairs(value)
    except json.JSONDecodeError as error:
        return note("not valid JSON: {msg} (column {colno})", msg=error.msg, colno=error.colno)
    except RecursionError:
        return note("nested too deeply")
    except ValueError as error:
        return str(error)
    return value if isinstance(value, dict) else note("not a JSON object, {example}", example="{…}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(note("the key {twice!r} is given twice", twice=twice))
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(note("{name} isn't JSON", name=name))


def _refuse_half_pairs(row: dict[str, Any]) -> None:
    """Wherever the half of a pair is: in a key, a value, or deep inside one."""
    for name, value in row.items():
        if problem := unicode_problem(json.dumps([name, value], ensure_ascii=False)):
            raise ValueError(note("{name!r}: {problem}", name=name, problem=problem))


def _with_more(line: str, added: Iterable[str], cells: Sequence[Cell]) -> str:
    """The line of an object with more keys."""
    values = [round(cell, 6) if isinstance(cell, float) else cell for cell in cells]
    more = json.dumps(dict(zip(added, values, strict=True)), ensure_ascii=False, allow_nan=False)
    begun = line.rstrip()[:-1].rstrip()
    return f"{begun}{'' if begun.lstrip() == '{' else ', '}{more[1:]}"
