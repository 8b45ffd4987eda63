"""What was said and what was heard, word below word, as tables of the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rnnlab.comparing.chapters import HeardBy, HeardRow

Kind = Literal["right", "changed", "missed", "added", "nothing"]
MARKS: dict[Kind, str] = {"right": "", "changed": "≠ ", "missed": "–", "added": "+ ", "nothing": ""}


@dataclass(frozen=True)
class HeardWord:
    text: str
    kind: Kind

    @property
    def shown(self) -> str:
        return f"{MARKS[self.kind]}{self.text}"


@dataclass(frozen=True)
class HeardLine:
    arms: tuple[str, ...]
    edits: int
    words: tuple[HeardWord, ...]


@dataclass(frozen=True)
class AlignedRow:
    """Every line has as many words as ``said``; where something was added, nothing was said."""

    row: int
    tag: str | None
    said: tuple[str, ...]
    lines: tuple[HeardLine, ...]


def aligned(row: HeardRow) -> AlignedRow:
    """Arms that heard the same together: those with the fewest edits first, of equals those of many arms."""
    camps: dict[tuple[object, ...], list[HeardBy]] = {}
    for answer in row.answers:
        camps.setdefault((answer.words, answer.added, answer.unknown), []).append(answer)
    gaps = [max((len(answer.added[gap]) for answer in row.answers), default=0) for gap in range(len(row.words) + 1)]
    lines = [
        HeardLine(tuple(one.arm for one in camp), _edits(camp[0], row), tuple(_words(camp[0], row, gaps)))
        for camp in camps.values()
    ]
    said = [""] * gaps[0]
    for word, gap in zip(row.words, gaps[1:], strict=True):
        said += [word, *[""] * gap]
    return AlignedRow(row.row, row.tag, tuple(said), tuple(sorted(lines, key=lambda one: (one.edits, -len(one.arms)))))


def _words(answer: HeardBy, row: HeardRow, gaps: list[int]) -> Iterator[HeardWord]:
    for at, gap in enumerate(gaps):
        if at:
            said, heard = row.words[at - 1], answer.words[at - 1]
            yield (
                HeardWord("", "missed") if heard is None else HeardWord(heard, "right" if heard == said else "changed")
            )
        yield from (HeardWord(word, "added") for word in answer.added[at])
        yield from [HeardWord("", "nothing")] * (gap - len(answer.added[at]))


def _edits(answer: HeardBy, row: HeardRow) -> int:
    return answer.heard + sum(one != other for one, other in zip(row.words, answer.words, strict=True))
