"""How much of what a language model wrote stands verbatim in the text that it was trained on."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlab.core.words import Both, both
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.inspecting.copying import LEAST, TrainingText
from rnnlab.tasks.base import Task
from rnnlab.use.writing import Writer

SHOWN = 60  # characters of the longest run


@dataclass(frozen=True)
class CopiedText:
    """Of a text, the runs of at least so many tokens that stand in the training text."""

    least: int
    share: float  # of its tokens, those in such a run
    longest: int  # tokens of the longest run, however short
    longest_text: str
    pieces: tuple[tuple[str, bool], ...]  # the text, cut where such runs begin and end; whether a piece is copied

    def to_dict(self) -> dict[str, Any]:
        return {"share": self.share, "least": self.least, "longest": self.longest, "text": self.longest_text}

    @property
    def sentence(self) -> Both:
        shown = " ".join(self.longest_text.split())
        return both(
            "{share:.1f} % stand verbatim in the training text, in runs of {least} tokens or more; the longest run has "
            "{longest}: “{text}”",
            share=100 * self.share,
            least=self.least,
            longest=self.longest,
            text=shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…",
        )


def training_text(task: Task) -> TrainingText:
    """Of a language model. `DataError` where it can't be read any more."""
    truth = task.load().train.truth
    assert truth.offsets is not None
    return TrainingText.sort(truth.values, truth.offsets)


def least_run(tokenizer: Tokenizer) -> int:
    """Tokens from which on a run counts as copied."""
    return LEAST["characters" if tokenizer.name == "chars" else "words"]


def copied_text(writer: Writer, text: str, trained: TrainingText) -> CopiedText:
    ids = writer.ids_of(text)[1:]
    tokens = [writer.vocabulary.words[token] for token in ids.tolist()]
    least = least_run(writer.tokenizer)
    found = trained.copied(ids, least)
    run = slice(found.longest.start, found.longest.end) if found.longest else slice(0, 0)
    return CopiedText(
        least=least,
        share=found.share,
        longest=run.stop - run.start,
        longest_text=writer.tokenizer.join(tokens[run]),
        pieces=cut_by(found.inside, tokens, writer.tokenizer),
    )


def cut_by(inside: np.ndarray, tokens: Sequence[str], tokenizer: Tokenizer) -> tuple[tuple[str, bool], ...]:
    """The text of some tokens, cut where ``inside`` (tokens,) changes; what stands between two pieces, such as a space,
    belongs to the second."""
    text, at, found = tokenizer.join(tokens), 0, list[tuple[str, bool]]()
    edges = [0, *(np.flatnonzero(np.diff(inside)) + 1).tolist(), len(tokens)]
    for start, end in itertools.pairwise(edges):
        if start == end:
            continue
        piece = tokenizer.join(tokens[start:end])
        place = text.find(piece, at)
        till = len(text) if end == len(tokens) or place < 0 else place + len(piece)
        found.append((text[at:till], bool(inside[start])))
        at = till
    return tuple(piece for piece in found if piece[0])
