"""What language models read and write, as parts of the page: strips of surprise, contested tokens, samples."""

from dataclasses import dataclass

import numpy as np

from rnnlab.comparing.chapters import Chapter, WritingByEpoch, WrittenText
from rnnlab.core.words import same
from rnnlab.data.vocabulary import END, WRITTEN
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.table import Cell, Column, Row, Table

REDDEST = 95  # per cent of all tokens are below the nats that are shown in full colour
SIGNS = {"\n": "↵\n", WRITTEN[END]: f"{WRITTEN[END]}\n"}  # after which a new line begins


@dataclass(frozen=True)
class StripToken:
    text: str
    nats: str
    share: str  # of the full colour


@dataclass(frozen=True)
class Strip:
    arm: str
    mean: float  # nats per token of the passage
    tokens: tuple[StripToken, ...]
    spaced: bool


def strips(chapter: Chapter) -> list[Strip]:
    """The same passage for every arm, in one and the same scale of colours."""
    found = chapter.differences.continued
    if found is None:
        return []
    full = float(np.percentile([value for one in found.passage for value in one.nats], REDDEST)) or 1.0
    texts = [SIGNS.get(token, token) for token in found.tokens]
    return [
        Strip(
            one.arm,
            float(np.mean(one.nats)),
            tuple(
                StripToken(text, f"{nats:.2f}", f"{min(1.0, nats / full):.2f}")
                for text, nats in zip(texts, one.nats, strict=True)
            ),
            found.spaced,
        )
        for one in found.passage
    ]


def contested_table(chapter: Chapter) -> Table | None:
    found = chapter.differences.continued
    if found is None or not found.contested:
        return None
    columns = [*words.CONTESTED_COLUMNS.values()]
    columns += [Column(same(one.arm), words.CONTESTED_ARM.format(arm=one.arm)) for one in found.passage]
    rows = [
        Row(
            [
                Cell({"\n": "↵", " ": "␣"}.get(one.token, one.token)),
                Cell("…" + one.before.replace("\n", "↵ ")),
                *(Cell(f"{nats:.2f}", value=nats, strong=nats == min(one.nats)) for nats in one.nats),
            ]
        )
        for one in found.contested
    ]
    return Table(words.CONTESTED, columns, rows, words.CONTESTED_NOTE)


def written_by_arm(chapter: Chapter) -> list[tuple[str, list[WrittenText]]]:
    found = chapter.differences.continued
    by_arm: dict[str, list[WrittenText]] = {}
    for text in found.written if found else ():
        by_arm.setdefault(text.arm, []).append(text)
    return list(by_arm.items())


def written_by_epoch(chapter: Chapter) -> tuple[WritingByEpoch, ...]:
    found = chapter.differences.continued
    return found.by_epoch if found else ()
