"""Sums and counts that can be added up over batches, never means of means."""

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Tally:
    """Of a classifier: the summed loss and the confusion counts."""

    loss_sum: float
    confusion: np.ndarray  # (C, C) int64: rows are true classes, columns are answers

    def __add__(self, other: Self) -> Self:
        return type(self)(self.loss_sum + other.loss_sum, self.confusion + other.confusion)

    @property
    def count(self) -> int:
        return int(self.confusion.sum())

    def score(self) -> dict[str, float]:
        """Accuracy, macro-F1 over the classes that occur (in truth or answer), and the mean loss."""
        right = np.diag(self.confusion)
        occurring = self.confusion.sum(0) + self.confusion.sum(1)  # 2 TP + FP + FN
        f1 = 2 * right[occurring > 0] / occurring[occurring > 0]
        return {
            "accuracy": float(right.sum() / self.count),
            "macro_f1": float(f1.mean()),
            "loss": self.loss_sum / self.count,
        }
