"""Sums and counts that can be added up over batches, never means of means."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np


class Tally(Protocol):
    """What a task counts. Every score holds ``accuracy``, a share of right answers, and the mean ``loss``."""

    def __add__(self, other: Self, /) -> Self: ...
    def score(self) -> dict[str, float]: ...
    def details(self) -> dict[str, Any]:
        """More than a number a score, for the record of the test set."""
        ...


@dataclass(frozen=True)
class ClassTally:
    """One class a sequence: the summed loss and the confusion counts."""

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

    def details(self) -> dict[str, Any]:
        return {"confusion": self.confusion.tolist()}


@dataclass(frozen=True)
class StepTally:
    """A class for each step that is asked for, and whether all of a sequence were right."""

    loss_sum: float
    steps: int
    right_steps: int
    sequences: int
    right_sequences: int

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.loss_sum + other.loss_sum,
            self.steps + other.steps,
            self.right_steps + other.right_steps,
            self.sequences + other.sequences,
            self.right_sequences + other.right_sequences,
        )

    def score(self) -> dict[str, float]:
        """Accuracy over the steps, the share of sequences without a wrong one, and the mean loss of a step."""
        return {
            "accuracy": self.right_steps / self.steps,
            "exact": self.right_sequences / self.sequences,
            "loss": self.loss_sum / self.steps,
        }

    def details(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class NumberTally:
    """One number a sequence: the summed squared error, and how many were close enough."""

    squared_error: float
    close: int
    count: int

    def __add__(self, other: Self) -> Self:
        return type(self)(self.squared_error + other.squared_error, self.close + other.close, self.count + other.count)

    def score(self) -> dict[str, float]:
        """The share that is close enough, and the mean squared error."""
        return {"accuracy": self.close / self.count, "loss": self.squared_error / self.count}

    def details(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class SumTally:
    """Sums of numbers, digit by digit: rows, whole sums that are right, digits, and digits that are right; each by the
    number of digits of the longer number, and by how far the furthest carry travels."""

    loss_sum: float
    by_digits: np.ndarray  # (4, L) int64: column n counts numbers of n digits
    by_carry: np.ndarray  # (4, L) int64: column n counts carries that travel over n digits

    @classmethod
    def of(cls, loss_sum: float, right: np.ndarray, steps: np.ndarray, digits: np.ndarray, carry: np.ndarray) -> Self:
        """From arrays (rows,): steps that are right, steps in all, digits of the longer number, length of the carry."""
        counted = np.stack([np.ones_like(steps), right == steps, steps, right])  # (4, rows)
        return cls(loss_sum, _by(counted, digits), _by(counted, carry))

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.loss_sum + other.loss_sum,
            _sum_of(self.by_digits, other.by_digits),
            _sum_of(self.by_carry, other.by_carry),
        )

    def score(self) -> dict[str, float]:
        """``accuracy`` and ``exact`` are the share of sums without a wrong digit; the loss is the mean of a digit."""
        rows, exact, digits, right = self.by_digits.sum(1).tolist()
        return {
            "accuracy": exact / rows,
            "exact": exact / rows,
            "digit_accuracy": right / digits,
            "loss": self.loss_sum / digits,
        }

    def details(self) -> dict[str, Any]:
        return {"by_digits": _shares(self.by_digits), "by_carry": _shares(self.by_carry)}


def _by(counted: np.ndarray, part: np.ndarray) -> np.ndarray:
    """(4, rows) → (4, L): summed over the rows of each part."""
    return np.stack([np.bincount(part, weights=row) for row in counted]).astype(np.int64)


def _sum_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    total = np.zeros((len(one), max(one.shape[1], other.shape[1])), np.int64)
    total[:, : one.shape[1]] += one
    total[:, : other.shape[1]] += other
    return total


def _shares(counts: np.ndarray) -> dict[str, dict[str, float]]:
    return {
        str(number): {"rows": rows, "exact": exact / rows, "digit_accuracy": right / digits}
        for number, (rows, exact, digits, right) in enumerate(counts.T.tolist())
        if rows
    }
