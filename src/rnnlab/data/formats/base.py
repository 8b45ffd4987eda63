"""What every file format has in common: rows in portions, each row with its line, and a problem where a row is bad."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from rnnlab.core.errors import ConfigError
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
        self.path = source.path

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
