"""What every file format has in common: rows in portions, each row with its line, and a problem where a row is bad;
what a cell and the name of a column may hold."""

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.words import Both, note, retold
from rnnlab.data.formats.source import Source

PORTION = 4096  # rows that are held at a time
HEAVY = 1 << 22  # characters after which a portion ends with fewer rows
SERIES = ""  # the name of the series in a format that has no names for its columns

Cell = Any  # a text, a float (a probability), a (T, D) array in formats of numbers; None stays empty
T = TypeVar("T")


@dataclass(frozen=True)
class BadRow:
    """A row that can't be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Portion:
    """Some rows of a file, in their order. A row with a problem has no values: None or an empty text in each column."""

    lines: Sequence[int]  # where each row begins, from 1; in a binary format, the number of the row
    columns: Mapping[str, Sequence[Any]]  # by name, a value for every row; a column that no row here has may be missing
    problems: Mapping[int, str] = field(default_factory=dict)  # by place in the portion
    content: Any = None  # the rows as the format wants them back in `extended`

    def values(self, name: str) -> Sequence[Any]:
        return self.columns.get(name, [None] * len(self.lines))


Answered = Iterable[tuple[Portion, Sequence[Sequence[Cell]]]]  # rows, and what is added to each


class RowFile(ABC):
    """A file of rows, opened: the header is read, the rows are not. A format is a subclass, with `file_format`."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    holds: ClassVar[frozenset[str]] = frozenset({"texts"})  # "texts", "numbers" (series), or both
    labelled: ClassVar[bool] = True  # False where a row is an input and nothing else: such a file can't be learnt from
    fixed: ClassVar[tuple[str, ...] | None] = None  # the columns, in a format that has no others
    takes_names: ClassVar[bool] = False  # whether a file may lack the names of its columns
    are_texts: ClassVar[bool] = False  # whether values are texts that need no further check

    columns: tuple[str, ...] = ()  # as far as they are known: in some formats, rows bring new ones
    notes: tuple[str, ...] = ()  # what the reader decided and a person should know

    def __init__(self, source: Source, names: Sequence[str] | None = None):
        """``names`` are those of the columns, where ``takes_names`` and the file has no header."""
        self.source = source
        self.path: str = source.path

    @abstractmethod
    def portions(self) -> Iterator[Portion]:
        """All rows; every call reads from the start."""

    def typed_columns(self) -> Any:
        """The whole file with the types of its columns, as a frame, from formats that keep columns; else None."""
        return None

    def endings(self) -> tuple[str, ...]:
        """The endings of a file that `extended` can write."""
        return (self.source.suffix,)

    @abstractmethod
    def extended(self, suffix: str, added: Mapping[str, type], answered: Answered) -> Iterator[bytes]:
        """This file with columns ``added``, each of str or float, piece by piece. Rows with a problem stay in it."""

    @classmethod
    @abstractmethod
    def written(cls, suffix: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
        """A new file, piece by piece. What couldn't be read back as it is is a ``DataError``."""


FORMATS: list[type[RowFile]] = []
F = TypeVar("F", bound=type[RowFile])


def file_format(*suffixes: str) -> Callable[[F], F]:
    """Class decorator: ``@file_format(".jsonl", ".ndjson")``."""

    def add(cls: F) -> F:
        for other in FORMATS:
            for suffix in set(suffixes) & set(other.suffixes):
                if other.labelled == cls.labelled:
                    raise ConfigError(
                        "{suffix} is registered twice: {module} and {other}",
                        suffix=suffix,
                        module=other.__module__,
                        other=cls.__module__,
                    )
        cls.suffixes = suffixes
        FORMATS.append(cls)
        return cls

    return add


def in_portions(rows: Iterable[T], weigh: Callable[[T], int] | None = None) -> Iterator[list[T]]:
    """Lists of at most `PORTION` rows; of fewer, where they weigh more than is `HEAVY`."""
    rows = iter(rows)
    if weigh is None:
        yield from iter(lambda: list(itertools.islice(rows, PORTION)), [])
        return
    while portion := list(itertools.islice(rows, 1)):
        weight = weigh(portion[0])
        for row in itertools.islice(rows, PORTION - 1):
            portion.append(row)
            weight += weigh(row)
            if weight > HEAVY:
                break
        yield portion


FIELD_CAP = 1_000_000  # characters; a longer field is a damaged file, or a whole book that no model here could read


def field_problem(fields: Iterable[str]) -> str:
    """What is wrong with the first bad field; empty if all are good."""
    for text in fields:
        if len(text) > FIELD_CAP:
            return note(
                "a field of {count:,} characters; the limit is {FIELD_CAP:,}", count=len(text), FIELD_CAP=FIELD_CAP
            )
        if "\0" in text:
            return note("a NUL character")
    return ""


def unicode_problem(text: str) -> str:
    """JSON can spell half of a surrogate pair, as in ``"\\ud83d"``, which no file or terminal would take later."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return note("a character that isn't valid Unicode (half of a surrogate pair)")
    return ""


def named_columns(header: Sequence[str]) -> tuple[str, ...]:
    """Where some columns of a header have no name, they get the one that pandas gives them: a frame that was read from
    the same file has it, too."""
    if not any(header):
        return tuple(header)
    return tuple(name or f"Unnamed: {number}" for number, name in enumerate(header))


def check_names(where: str | Both, names: Sequence[str]) -> None:
    """Every column has a name of its own, else a ``DataError`` that begins with ``where``."""
    seen = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise DataError("{where}: column {number} has no name", where=where, number=number)
        if problem := field_problem([name]) or unicode_problem(name):
            raise DataError("{where}: column {number}: {problem}", where=where, number=number, problem=retold(problem))
        if name in seen:
            raise DataError("{where}: two columns are named {name!r}", where=where, name=name)
        seen.add(name)


def texts_of(column: str, values: Iterable[Any]) -> tuple[list[str], dict[int, str]]:
    """Values as texts, and by place what is wrong with those that have none. A missing value is an empty text, and a
    nested one its JSON."""
    texts: list[str] = []
    problems: dict[int, str] = {}
    for at, value in enumerate(values):
        if type(value) is str and len(value) <= FIELD_CAP and "\0" not in value:  # the usual case
            texts.append(value)
            continue
        try:
            texts.append(_text(value))
        except UnicodeError:
            problems[at] = note("{column!r} isn't valid Unicode text", column=column)
        except (ValueError, RecursionError):
            problems[at] = note("{column!r}: a number too large, or nested too deeply", column=column)
        else:
            if problem := field_problem(texts[at : at + 1]):
                problems[at] = note("{column!r}: {problem}", column=column, problem=problem)
            continue
        texts.append("")
    return texts, problems


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):  # Parquet may mark a missing number as NaN
        return ""
    if isinstance(value, bool | int | float | list | dict):
        return json.dumps(value, allow_nan=False, default=str)
    return value.decode() if isinstance(value, bytes) else str(value)


def refuse_unreadable(column: str, text: str) -> None:
    """Nothing is written that couldn't be read again."""
    if problem := field_problem([text]) or unicode_problem(text):
        raise DataError(
            "{column!r}: {problem}, which no file that rnnlab writes can hold", column=column, problem=retold(problem)
        )


def as_text(cell: Any) -> str:
    """What is added to a row, as text: a float is a probability."""
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell or "")
