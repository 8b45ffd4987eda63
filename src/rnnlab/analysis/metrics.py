"""Scores of one run, or of several taken together: always from sums and counts, never means of means."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Count:
    """So many right of so many rows. Counts add up, shares don't."""

    right: int
    rows: int

    @property
    def share(self) -> float:
        """Between 0 and 1; 0 where there are no rows (``rows`` says that nothing was measured)."""
        return self.right / self.rows if self.rows else 0.0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.right + other.right, self.rows + other.rows)


@dataclass(frozen=True)
class ClassScore:
    """One class: ``f1 = 2 * hits / (support + predicted)``."""

    index: int
    hits: int
    support: int  # test rows of this class
    predicted: int  # rows that were called this class

    @property
    def precision(self) -> float:
        return self.hits / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.hits / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.hits / (self.support + self.predicted)


@dataclass(frozen=True)
class MacroF1:
    """The plain mean of F1 over the classes that occur, and what it was made of."""

    value: float
    by_class: tuple[ClassScore, ...]
    rows: int


@dataclass(frozen=True)
class Bucket:
    """Rows whose value lies in ``low <= value < high``."""

    low: int
    high: int
    count: Count


def accuracy(targets: np.ndarray, predicted: np.ndarray) -> Count:
    """``targets (N,)`` against ``predicted (N,)``, or ``(S, N)`` for several runs."""
    return _count(np.asarray(targets) == np.asarray(predicted))


def confusion(targets: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Counts ``(C, C)``: row = the true class, column = the predicted one. ``predicted`` is ``(N,)`` or ``(S, N)``."""
    predicted = np.asarray(predicted, dtype=np.int64)
    targets = np.broadcast_to(np.asarray(targets, dtype=np.int64), predicted.shape)
    for name, values in (("targets", targets), ("predicted", predicted)):
        if values.size and not 0 <= values.min() <= values.max() < classes:
            raise ValueError(f"{name} must be classes 0 to {classes - 1}, found {values.min()} to {values.max()}")
    cells = np.bincount((targets * classes + predicted).ravel(), minlength=classes * classes)
    return cells.reshape(classes, classes)


def macro_f1(matrix: np.ndarray) -> MacroF1:
    """Macro-averaged F1 from a confusion matrix ``(C, C)``.

    A class counts if it occurs among the targets or the predictions; a class that occurs in neither is left out (it
    was not measured), and one that is predicted but has no test rows counts as 0 (every such call was wrong). That is
    scikit-learn's ``f1_score(average="macro", zero_division=0)``.
    """
    hits, support, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    scores = tuple(
        ClassScore(index, int(hits[index]), int(support[index]), int(predicted[index]))
        for index in np.flatnonzero(support + predicted).tolist()
    )
    value = sum(score.f1 for score in scores) / len(scores) if scores else 0.0
    return MacroF1(value, scores, int(matrix.sum()))


def by_bucket(values: np.ndarray, right: np.ndarray, edges: Sequence[int] | None = None) -> list[Bucket]:
    """Accuracy by, say, length: ``values (N,)``, ``right (N,)`` or ``(S, N)``; empty buckets are left out.

    ``edges`` are ascending and cover the values; without them each bucket is twice as wide as the one before
    (1, 2–3, 4–7, 8–15 …), because lengths of texts are spread that way.
    """
    values = np.asarray(values, dtype=np.int64)
    right = np.asarray(right, dtype=bool)
    if not values.size:
        return []
    if edges is None:
        edges = [0, *(2**power for power in range(int(values.max()).bit_length() + 1))]
    if not edges[0] <= values.min() <= values.max() < edges[-1]:
        raise ValueError(f"edges {edges[0]} to {edges[-1]} don't cover the values {values.min()} to {values.max()}")
    place = np.searchsorted(edges, values, side="right") - 1
    return [
        Bucket(int(edges[index]), int(edges[index + 1]), _count(right[..., place == index]))
        for index in np.unique(place).tolist()
    ]


def by_tag(tags: Sequence[str], right: np.ndarray) -> dict[str, Count]:
    """Accuracy by tag: ``right (N,)`` or ``(S, N)``; the commonest tag first, then by name."""
    right = np.asarray(right, dtype=bool)
    names, place = np.unique(np.asarray(tags, dtype=object).astype(str), return_inverse=True)
    counts = {str(name): _count(right[..., place == index]) for index, name in enumerate(names)}
    return dict(sorted(counts.items(), key=lambda item: (-item[1].rows, item[0])))


def _count(right: np.ndarray) -> Count:
    return Count(int(np.count_nonzero(right)), int(right.size))
