"""Sentences with their tags, as lines for the page: the right tags, then those of models, equal ones together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rnnlab.comparing.chapters import Differences, DisputedSentence, TaggedBy, Tagging
from rnnlab.comparing.tagging import NO_TYPE, SHOWN_TOKENS
from rnnlab.data.tagged.schemes import Span, spans
from rnnlab.show.figures.palette import PALETTE, rgb

Kind = Literal["right", "wrong", "missed"]


@dataclass(frozen=True)
class Piece:
    """Some tokens of a sentence, with their tag where one is shown."""

    text: str
    tag: str | None = None
    kind: Kind = "right"


@dataclass(frozen=True)
class Line:
    arms: tuple[str, ...]  # none: the right tags
    right: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class TaggedSentence:
    row: int
    lines: tuple[Line, ...]
    cut: int  # tokens that are left out at the end
    spaced: bool


def tagged_sentences(found: Tagging) -> list[TaggedSentence]:
    return [
        TaggedSentence(one.row, tuple(_lines(one, found)), max(0, len(one.tokens) - SHOWN_TOKENS), found.spaced)
        for one in found.disputed
    ]


def type_colours(found: Differences) -> dict[str, str]:
    """Of types of entities, none of plain tags: red, green and blue from 0 to 255, as a style takes them, ``"0, 114,
    178"``. The most frequent types get the colours that differ most."""
    if found.counted != "entities":
        return {}
    entities = {score.label: score.rows for score in found.classes}
    frequent = sorted(found.labels, key=lambda kind: -entities.get(kind, 0))
    return {
        kind: ", ".join(str(round(255 * part)) for part in rgb(PALETTE[at % len(PALETTE)]))
        for at, kind in enumerate(frequent)
    }


def _lines(sentence: DisputedSentence, found: Tagging) -> Iterator[Line]:
    """The right tags; those who have them; then the others, those of many arms before those of few."""
    joint, true = " " if found.spaced else "", sentence.tags
    camps: dict[tuple[str, ...], list[TaggedBy]] = {}
    for said in sentence.answers:
        camps.setdefault(said.tags[:SHOWN_TOKENS], []).append(said)

    def line(tags: Sequence[str], arms: tuple[str, ...] = ()) -> Line:
        right = tags[:SHOWN_TOKENS] == true[:SHOWN_TOKENS]
        if found.scheme is None:
            pieces = _words(sentence.tokens, tags, true, joint, every=not arms)
        else:
            pieces = _entities(sentence.tokens, spans(tags, found.scheme), spans(true, found.scheme), joint)
        return Line(arms, right, tuple(pieces))

    yield line(true)
    answered = [line(camp[0].tags, tuple(said.arm for said in camp)) for camp in camps.values()]
    yield from sorted(answered, key=lambda one: (not one.right, -len(one.arms)))


def _words(tokens: Sequence[str], tags: Sequence[str], true: Sequence[str], joint: str, every: bool) -> Iterator[Piece]:
    """Every word with its tag, or only those whose tag is wrong."""
    plain: list[str] = []
    for token, tag, right in list(zip(tokens, tags, true, strict=True))[:SHOWN_TOKENS]:
        if tag == right and not every:
            plain.append(token)
            continue
        if plain:
            yield Piece(joint.join(plain))
            plain = []
        yield Piece(token, tag, "right" if tag == right else "wrong")
    if plain:
        yield Piece(joint.join(plain))


def _entities(tokens: Sequence[str], said: Sequence[Span], true: Sequence[Span], joint: str) -> Iterator[Piece]:
    """Entities, what lies between them, and the true ones that no entity of the answer touches."""
    missed = [span for span in true if not any(start < span[1] and span[0] < end for start, end, _ in said)]
    at = 0
    for span in sorted([*said, *missed]):
        start, end, tag = span
        if start >= SHOWN_TOKENS:
            break
        if start > at:
            yield Piece(joint.join(tokens[at:start]))
        kind: Kind = "missed" if span in missed else "right" if span in true else "wrong"
        yield Piece(joint.join(tokens[start:end]), tag or NO_TYPE, kind)
        at = end
    if at < min(len(tokens), SHOWN_TOKENS):
        yield Piece(joint.join(tokens[at:SHOWN_TOKENS]))
