"""What every layout of a tagged corpus has in common: sentences, one after the other, and the file with other tags."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rnnlab.data.formats.source import Source
from rnnlab.data.tagged.sentences import Unit

LONGEST = 10_000  # tokens; a longer sentence is a file without blank lines between its sentences
HEAD = 2_000  # lines from which the layout is told


@dataclass(slots=True)
class Sentence:
    """One of a file. One with a problem can't be used."""

    line: int  # where it begins; of a problem, where that is
    tokens: Sequence[str] = ()
    tags: Sequence[str] = ()  # none where they aren't asked for
    text: str | None = None
    token_lines: Sequence[int] = ()  # in a file of one token per line
    problem: str = ""


class Unusable(Exception):
    """What makes a sentence unusable: its text is a `note`."""


class Layout(ABC):
    """A file, opened: its head has told the columns, the sentences aren't read."""

    marks_spans: ClassVar[bool] = False  # whether tags are made from spans, in the scheme BIOES
    unit: Unit | None = None  # None: told from the tokens
    column: str = ""  # that the tags are from

    def __init__(self, source: Source):
        self.source = source
        self.path: str = source.path
        self.notes: list[str] = []

    @property
    @abstractmethod
    def has_tags(self) -> bool:
        """Whether there are any in the head."""

    @abstractmethod
    def sentences(self, tagged: bool) -> Iterator[Sentence]:
        """All of them, those with a problem, too; with tags if ``tagged``. Every call reads from the start."""

    def notes_read(self) -> list[str]:
        """What the last reading of all sentences met."""
        return []

    @abstractmethod
    def answered(self, answers: Iterator[Sequence[str]], scheme: str | None) -> Iterator[bytes]:
        """The file with these tags instead of its own, piece by piece: one answer per sentence without a problem."""


def lines_of(numbers: Sequence[int]) -> str:
    """The first of some lines, as a note names them."""
    return ", ".join(map(str, numbers[:5])) + (" …" if len(numbers) > 5 else "")
