"""How many n-grams of a text stand in its references, for all rows at once: what BLEU and chrF are made of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Matches:
    """N-grams of one length. References of all rows stand one behind the other: R of them."""

    hypothesis: np.ndarray  # (rows,) n-grams of the hypothesis
    reference: np.ndarray  # (R,) n-grams of each reference
    with_each: np.ndarray  # (R,) those of the hypothesis that stand in the reference, too, each as often as there
    with_any: np.ndarray  # (rows,) the same, as often as in the reference that has it most often


def matches(
    hypotheses: Sequence[np.ndarray], references: Sequence[Sequence[np.ndarray]], longest: int
) -> list[Matches]:
    """Of n-grams of 1, 2 … ``longest`` tokens; texts are numbers of tokens (T,), not negative."""
    rows = len(hypotheses)
    texts = [*hypotheses, *(text for row in references for text in row)]
    sizes = np.array([len(row) for row in references], np.int64)
    row_of = np.concatenate([np.arange(rows), np.repeat(np.arange(rows), sizes)])
    return [_matches_of(grams, text, row_of, rows) for grams, text in _grams(texts, row_of, longest)]


def _grams(texts: Sequence[np.ndarray], row_of: np.ndarray, longest: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All n-grams (N,) of each length, numbered so that equal numbers are equal n-grams of one row, and the text (N,)
    in which each stands. An n-gram is the number of the one that lacks its last token, and that token: there are no
    hashes, so different ones are never taken for the same."""
    tokens = np.concatenate([np.zeros(0, np.int64), *texts]).astype(np.int64)
    lengths = np.array([len(text) for text in texts], np.int64)
    text = np.repeat(np.arange(len(texts)), lengths)
    place = np.arange(len(tokens))
    end = np.repeat(lengths.cumsum(), lengths)
    kinds = int(tokens.max(initial=0)) + 1
    grams = row_of[text]
    for length in range(longest):
        inside = place + length < end
        place, end, text, grams = place[inside], end[inside], text[inside], grams[inside]
        grams = np.unique(grams * kinds + tokens[place + length], return_inverse=True)[1]
        yield grams, text


def _matches_of(grams: np.ndarray, text: np.ndarray, row_of: np.ndarray, rows: int) -> Matches:
    texts, kinds = len(row_of), int(grams.max(initial=-1)) + 1
    sizes = np.bincount(text, minlength=texts)
    mine = text < rows
    in_hypothesis = np.bincount(grams[mine], minlength=kinds)
    pairs, often = np.unique(grams[~mine] * texts + text[~mine], return_counts=True)
    gram, reference = pairs // texts, pairs % texts
    shared = np.minimum(often, in_hypothesis[gram])
    first = np.flatnonzero(np.diff(gram, prepend=-1))  # of each n-gram: pairs are sorted by it
    most = np.maximum.reduceat(shared, first) if len(first) else shared
    return Matches(
        hypothesis=sizes[:rows],
        reference=sizes[rows:],
        with_each=np.bincount(reference, shared, texts)[rows:].astype(np.int64),
        with_any=np.bincount(row_of[reference[first]], most, rows).astype(np.int64),
    )
