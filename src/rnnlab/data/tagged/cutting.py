"""From a text to its tokens and back: how a text is cut where a corpus has words or characters, and where tokens are in
a text."""

from collections.abc import Sequence

from rnnlab.data.tagged.sentences import Unit
from rnnlab.data.tokenizers import word_places

Place = tuple[int, int]  # in characters, the end exclusive


def places_of(text: str, unit: Unit) -> list[Place]:
    """Where the tokens of a text are: its words as the tokenizer ``words`` cuts them, or its characters but spaces."""
    if unit == "words":
        return word_places(text)
    return [(at, at + 1) for at, character in enumerate(text) if not character.isspace()]


def tokens_of(text: str, unit: Unit) -> list[str]:
    """The tokens of a text as they stand there; none where it is blank."""
    return [text[start:end] for start, end in places_of(text, unit)]


def token_offsets(text: str, tokens: Sequence[str]) -> list[Place]:
    """Where given tokens are in their text, in order. Tokens that aren't there as they are (the words of *au*, which
    are *à* and *le*) share the place between their neighbours."""
    places: list[Place] = []
    missing, at = 0, 0
    for token in tokens:
        start = text.find(token, at)
        if start < 0 or (not missing and text[at:start].strip()):  # only spaces may stand between
            missing += 1
            continue
        places += _shared(text, at, start, missing)
        missing, at = 0, start + len(token)
        places.append((start, at))
    return places + _shared(text, at, len(text), missing)


def _shared(text: str, start: int, end: int, count: int) -> list[Place]:
    """The text between, without the spaces around it, so many times."""
    between = text[start:end]
    start += len(between) - len(between.lstrip())
    return [(start, max(start, start + len(between.strip())))] * count
