"""The three shapes of an answer: one label a sequence, a label a step, one number a sequence."""

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.data.batches import Batch
from rnnlab.data.interface import Interface
from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.models.base import Encoded
from rnnlab.tasks.base import Task
from rnnlab.tasks.prediction import Prediction
from rnnlab.tasks.tally import ClassTally, NumberTally, StepTally, Tally


class OneLabel(Task):
    """Outputs (B, C), targets (B,)."""

    question: ClassVar[str | None] = "…"

    def head(self, width: int, interface: Interface) -> nn.Module:
        return SummaryHead(width, len(interface.labels))

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(out, batch.targets)

    def tally(self, out: Tensor, batch: Batch) -> ClassTally:
        classes = out.shape[1]
        cells = batch.targets * classes + out.argmax(1)
        confusion = torch.bincount(cells, minlength=classes * classes).reshape(classes, classes)
        return ClassTally(float(F.cross_entropy(out, batch.targets, reduction="sum")), confusion.cpu().numpy())

    def count_right(self, out: Tensor, batch: Batch) -> float:
        return float((out.argmax(1) == batch.targets).sum())

    def right(self, outputs: np.ndarray, data: Sequences) -> np.ndarray:
        return (outputs.argmax(1) == data.targets).astype(np.float64)

    def chance(self, data: Sequences) -> float:
        return float(np.bincount(data.targets).max() / len(data))

    def answers(
        self, outputs: np.ndarray, data: Sequences, known: np.ndarray, interface: Interface
    ) -> list[Prediction]:
        labels, shares = interface.labels, probabilities(outputs)
        return [
            Prediction(labels[best], row[best], dict(zip(labels, row, strict=True)), share)
            for best, row, share in zip(shares.argmax(1).tolist(), shares.tolist(), known.tolist(), strict=True)
        ]


class LabelPerStep(Task):
    """Outputs (B, T, C), targets (B, T): `IGNORE` at padding and at steps that aren't asked for."""

    per_step: ClassVar[bool] = True
    recurrent_pooling: ClassVar[str] = "last"

    def head(self, width: int, interface: Interface) -> nn.Module:
        return StateHead(width, len(interface.labels))

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE)

    def tally(self, out: Tensor, batch: Batch) -> Tally:
        asked = batch.targets != IGNORE
        right = (out.argmax(2) == batch.targets) & asked
        loss = F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE, reduction="sum")
        whole = right.sum(1) == asked.sum(1)
        return StepTally(float(loss), int(asked.sum()), int(right.sum()), len(out), int(whole.sum()))

    def count_right(self, out: Tensor, batch: Batch) -> float:
        asked = batch.targets != IGNORE
        return float(((out.argmax(2) == batch.targets).sum(1) / asked.sum(1)).sum())

    def right(self, outputs: np.ndarray, data: Sequences) -> np.ndarray:
        """``outputs`` (N, C), for all steps of all rows."""
        asked = data.targets != IGNORE
        hits = (outputs.argmax(1) == data.targets) & asked
        starts = data.offsets[:-1]
        return np.add.reduceat(hits, starts, dtype=np.float64) / np.add.reduceat(asked, starts, dtype=np.float64)


class OneNumber(Task):
    """Outputs (B, 1), targets (B,) float. The loss is the squared error, and by it epochs are chosen."""

    metric: ClassVar[str] = "loss"
    lower_is_better: ClassVar[bool] = True
    close: ClassVar[float]
    """An answer that is not further off counts as right."""

    def head(self, width: int, interface: Interface) -> nn.Module:
        return SummaryHead(width, 1)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.mse_loss(out[:, 0], batch.targets)

    def tally(self, out: Tensor, batch: Batch) -> NumberTally:
        error = (out[:, 0] - batch.targets).double()
        return NumberTally(float(error.square().sum()), int((error.abs() <= self.close).sum()), len(out))

    def count_right(self, out: Tensor, batch: Batch) -> float:
        return float(((out[:, 0] - batch.targets).abs() <= self.close).sum())

    def right(self, outputs: np.ndarray, data: Sequences) -> np.ndarray:
        return (np.abs(outputs[:, 0].astype(np.float64) - data.targets) <= self.close).astype(np.float64)

    def chance(self, data: Sequences) -> float:
        return float(np.var(data.targets, dtype=np.float64))


class SummaryHead(nn.Module):
    """(B, S) summary → (B, C)."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


class StateHead(nn.Module):
    """(B, T, H) states → (B, T, C)."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.states)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Softmax over the last axis, (N, C) → (N, C)."""
    exp = np.exp(logits - logits.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)
