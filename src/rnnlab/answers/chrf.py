"""chrF (Popović 2015), to the digit that of sacrebleu with its default settings: how many runs of one to six characters
a translation and a reference share, recall counting twice as much as precision. It needs no tokeniser, and gives
credit for the right stem with a wrong ending."""

from collections.abc import Sequence

import numpy as np

from rnnlab.answers.bleu import RULES, references_text
from rnnlab.answers.ngrams import matches
from rnnlab.answers.score import Score

LONGEST = 6
BETA = 2


def chrf_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """What chrF is a function of, row by row, each (rows, 6) for runs of 1 to 6 characters, spaces left out:
    ``chrf_matches``, ``chrf_hypothesis``, ``chrf_reference``. Of several references, the one counts by which the row
    alone scores best, of equals the first. Each row has at least one."""
    if len(hypotheses) != len(references) or not all(references):
        raise ValueError("chrf_counts: each hypothesis needs at least one reference")
    found = matches(
        [_characters(text) for text in hypotheses], [[_characters(text) for text in row] for row in references], LONGEST
    )
    sizes = np.array([len(row) for row in references], np.int64)
    row_of = np.repeat(np.arange(len(sizes)), sizes)
    shared = np.stack([each.with_each for each in found], axis=1)  # (R, 6) of all references
    theirs = np.stack([each.reference for each in found], axis=1)
    mine = np.where(theirs > 0, np.stack([each.hypothesis for each in found], axis=1)[row_of], 0)
    best = _best_of_each(100 * _chrf_of(shared, mine, theirs), row_of)
    return {"chrf_matches": shared[best], "chrf_hypothesis": mine[best], "chrf_reference": theirs[best]}


def _characters(text: str) -> np.ndarray:
    return np.frombuffer("".join(text.split()).encode("utf-32-le", "surrogatepass"), np.uint32)


def _best_of_each(scores: np.ndarray, row_of: np.ndarray) -> np.ndarray:
    """(rows,): the place of the highest score of each row, of equals the first; scores (R,), sorted by row."""
    order = np.lexsort((-scores, row_of))  # stable: equals stay in their order
    return order[np.flatnonzero(np.diff(row_of, prepend=-1))]


def _means(shared: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision and recall (…,), each the mean over the lengths of runs that both sides have, and their number. Added
    up length after length, as sacrebleu does: which of two references is better must not be a matter of rounding."""
    both = (mine > 0) & (theirs > 0)
    lengths = both.sum(-1).clip(1)
    precision, recall = np.zeros(shared.shape[:-1]), np.zeros(shared.shape[:-1])
    for number in range(LONGEST):
        asked = both[..., number]
        precision += np.where(asked, shared[..., number] / np.where(asked, mine[..., number], 1), 0.0)
        recall += np.where(asked, shared[..., number] / np.where(asked, theirs[..., number], 1), 0.0)
    return precision / lengths, recall / lengths, lengths


def _chrf_of(shared: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """(…,) of counts (…, 6), between 0 and 1."""
    precision, recall, _ = _means(shared, mine, theirs)
    below = BETA**2 * precision + recall
    return (1 + BETA**2) * precision * recall / np.where(below > 0, below, 1.0)


def _chrf(totals: np.ndarray) -> float:
    return float(_chrf_of(*totals.reshape(3, LONGEST)))


def _slope(totals: np.ndarray) -> np.ndarray:
    """The derivative of `_chrf`; 0 where nothing matches: no row can move the score by what it hasn't."""
    shared, mine, theirs = totals.reshape(3, LONGEST)
    precision, recall, lengths = _means(shared, mine, theirs)
    below = BETA**2 * precision + recall
    slope = np.zeros((3, LONGEST))
    if below:
        both = (mine > 0) & (theirs > 0)
        by_precision = (1 + BETA**2) * recall**2 / below**2 / lengths
        by_recall = (1 + BETA**2) * BETA**2 * precision**2 / below**2 / lengths
        mine, theirs = np.where(both, mine, np.inf), np.where(both, theirs, np.inf)
        slope[0] = by_precision / mine + by_recall / theirs
        slope[1] = -by_precision * shared / mine**2
        slope[2] = -by_recall * shared / theirs**2
    return slope.ravel()


CHRF = Score(
    "chrf", "chrF", ("chrf_matches", "chrf_hypothesis", "chrf_reference"), _chrf, unit="points", gradient=_slope
)


def chrf_signature(references: Sequence[Sequence[str]]) -> str:
    """What one has to say beside a chrF so that others can compare theirs, in sacrebleu's words."""
    return f"nrefs:{references_text(references)}|case:mixed|eff:yes|nc:{LONGEST}|nw:0|space:no|version:{RULES}"
