"""One label per row."""

from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.calibration import Calibration, calibrate
from rnnlab.answers.heads import SummaryHead
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Targets


def macro_f1(totals: np.ndarray) -> float:
    """Of true positives, answers and rows of each class, (3 C,): F1 over the classes that occur, in truth or answer."""
    right, answered, true = totals.reshape(3, -1)
    occurring = answered + true > 0
    return float((2 * right[occurring] / (answered + true)[occurring]).mean()) if occurring.any() else 0.0


def balanced_accuracy(totals: np.ndarray) -> float:
    """Of right answers and rows of each class, (2 C,): the mean recall over the classes that have rows."""
    right, rows = totals.reshape(2, -1)
    occurring = rows > 0
    return float((right[occurring] / rows[occurring]).mean())


ACCURACY = ratio("accuracy", "accuracy", "right", "rows")
MACRO_F1 = Score("macro_f1", "macro-F1", ("right_by_class", "answered_by_class", "rows_by_class"), macro_f1)
BALANCED = Score("balanced_accuracy", "balanced accuracy", ("right_by_class", "rows_by_class"), balanced_accuracy)
LOSS = ratio("loss", "loss", "nats", "rows", lower_is_better=True, unit="number", metric="log-loss")


class Label(Answer):
    """Outputs (B, C), targets (B,). All outputs are kept: they are small, and calibration needs them."""

    scores: tuple[Score, ...] = (ACCURACY, MACRO_F1, LOSS, BALANCED)
    beside: str = "macro_f1"
    baselines: tuple[str, ...] = ("lookup", "majority", "mfcc", "nbsvm", "statistics", "tfidf")
    kernel: ClassVar[str | None] = "class"
    looks_up: ClassVar[bool] = True
    balances: ClassVar[bool] = True

    def outputs(self, preprocessor: Preprocessor) -> int:
        return len(preprocessor.labels)

    def head(self, width: int, outputs: int) -> nn.Module:
        return SummaryHead(width, outputs)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(out, batch.targets)

    def weighted_loss(self, out: Tensor, batch: Batch, weights: Tensor) -> Tensor:
        return (weights[batch.targets] * F.cross_entropy(out, batch.targets, reduction="none")).mean()

    def right(self, out: Tensor, batch: Batch) -> float:
        return float((out.argmax(1) == batch.targets).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        return {"logits": out}

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        logits, true = kept["logits"], targets.values
        each = np.eye(logits.shape[1])
        answered, wanted = each[logits.argmax(1)], each[true]
        return {
            "rows": np.ones(len(true)),
            "right": (logits.argmax(1) == true).astype(np.float64),
            "nats": surprise(logits, true),
            "right_by_class": answered * wanted,
            "answered_by_class": answered,
            "rows_by_class": wanted,
        }

    def totals(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """As the sums of `counts`, without a table of rows × classes."""
        cells = confusion(kept["logits"], targets.values).astype(np.float64)
        right = np.diag(cells)
        by_class = {"right_by_class": right, "answered_by_class": cells.sum(0), "rows_by_class": cells.sum(1)}
        sums = {"rows": cells.sum(), "right": right.sum(), "nats": surprise(kept["logits"], targets.values).sum()}
        return {name: np.array([total]) for name, total in (sums | by_class).items()}

    def details(self, kept: Kept, targets: Targets) -> dict[str, Any]:
        found: dict[str, Any] = {"confusion": confusion(kept["logits"], targets.values).tolist()}
        if self.judged is LOSS:
            classes = kept["logits"].shape[1]
            rows = np.maximum(np.bincount(targets.values, minlength=classes), 1)
            sums = np.bincount(targets.values, surprise(kept["logits"], targets.values), classes)
            found["loss_by_class"] = (sums / rows).tolist()
        return found

    def chance(self, targets: Targets) -> float:
        shares = np.bincount(targets.values) / len(targets)
        logits = np.log(np.maximum(shares, np.finfo(np.float64).tiny))  # the answer is the most frequent class
        return self.chosen.of(self.totals({"logits": np.tile(logits, (len(targets), 1))}, targets))

    def classes(self, kept: Kept) -> np.ndarray | None:
        return kept["logits"].argmax(1)

    def calibration(self, valid: tuple[Kept, Targets], test: tuple[Kept, Targets]) -> Calibration | None:
        return calibrate(valid[0]["logits"], valid[1].values, test[0]["logits"], test[1].values)

    def predictions(self, outputs: np.ndarray, asked: Asked) -> list[Prediction]:
        labels, shares = asked.preprocessor.labels, probabilities(outputs / np.float64(asked.temperature))
        return [
            Prediction(labels[best], row[best], dict(zip(labels, row, strict=True)), share)
            for best, row, share in zip(shares.argmax(1).tolist(), shares.tolist(), asked.known.tolist(), strict=True)
        ]


def confusion(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(C, C) int64: rows are true classes, columns are answers."""
    classes = logits.shape[1]
    return np.bincount(targets * classes + logits.argmax(1), minlength=classes**2).reshape(classes, classes)


def surprise(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(N,): -log p of each target."""
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(1, keepdims=True)
    return np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(targets)), targets]


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Softmax over the last axis, (N, C) → (N, C)."""
    exp = np.exp(logits - logits.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)
