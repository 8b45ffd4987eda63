"""From which probability on a label is given: chosen on the validation rows, for each label by itself. numpy alone.

Let f be the F1 that is reached, and 2 · right - f · answers the gain. The best threshold of a label is the one with the
greatest gain: a fraction is as high as can be where its numerator less its value times its denominator can't be above
zero (Dinkelbach 1967). With honest probabilities that is a threshold of f / 2 (Lipton et al. 2014): half where labels
are easy, much less where they are hard to tell. With f = 1 the gain counts right decisions, and the threshold is a
half.

A label that few validation rows have would be given whatever suits these. So its rows are counted beside what the
probabilities themselves promise, which weighs as much as `BELIEF` rows that have the label.
"""

from typing import Literal

import numpy as np

BELIEF = 10  # rows with the label that the probabilities count for
ROUNDS = 20  # of f and thresholds; about six are needed
LOWEST = 1e-6  # and 1 less that is the highest: log odds stay finite

By = Literal["all", "each", "decision"]


def choose_thresholds(probabilities: np.ndarray, wanted: np.ndarray, by: By = "all") -> np.ndarray:
    """(C,) thresholds for probabilities (N, C), given which labels the rows have, (N, C) bool. ``by`` says what is as
    high as can be: the F1 of all labels together, the F1 of each, or the number of right decisions."""
    rows, classes = probabilities.shape
    if not rows:
        return np.full(classes, 0.5)
    order = np.argsort(-probabilities, axis=0, kind="stable")
    falling = np.take_along_axis(probabilities, order, 0)
    true = wanted.sum(0)
    believed = BELIEF / (BELIEF + true)  # (C,)
    hits = (1 - believed) * np.take_along_axis(wanted, order, 0) + believed * falling
    right = np.vstack([np.zeros(classes), np.cumsum(hits, 0)])  # (N + 1, C), if the first so many rows get the label
    between = np.vstack([np.ones(classes, bool), falling[:-1] > falling[1:], np.ones(classes, bool)])
    given, each = np.arange(rows + 1)[:, None], np.arange(classes)
    f1 = np.zeros(classes) if by != "decision" else np.ones(classes)
    counts = np.zeros(classes, np.int64)
    for _ in range(ROUNDS):
        counts = np.where(between, 2 * right - f1 * given, -np.inf).argmax(0)
        if by == "decision":
            break
        found, possible = 2 * right[counts, each], right[-1] + counts
        together = found.sum() / max(possible.sum(), 1e-12)
        after = np.full(classes, together)
        if by == "each":
            after = (1 - believed) * found / np.maximum(possible, 1e-12) + believed * together
        if np.abs(after - f1).max() < 1e-9:
            break
        f1 = after
    return _in_the_gap(falling, counts, np.clip(f1 / 2, LOWEST, 1 - LOWEST))


def _in_the_gap(falling: np.ndarray, counts: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Between the last probability that gets the label and the first one that doesn't: ``usual`` if it lies there, else
    the middle."""
    each = np.arange(len(counts))
    edged = np.vstack([np.ones(len(counts)), falling, np.zeros(len(counts))])
    high, low = edged[counts, each], edged[counts + 1, each]
    inside = (low < usual) & (usual < high)
    return np.clip(np.where(inside, usual, (low + high) / 2), LOWEST, 1 - LOWEST)
