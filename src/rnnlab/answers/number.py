"""One number per row."""

from typing import ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.heads import SummaryHead
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Targets

LOSS = ratio("loss", "loss", "squared_error", "rows", lower_is_better=True, unit="number")


class Number(Answer):
    """Outputs (B, 1), targets (B,) float. The loss is the squared error, and by it epochs are chosen. An answer that is
    not further off than ``close`` counts as right."""

    kernel: ClassVar[str | None] = "number"

    def __init__(self, close: float):
        self.close = close
        self.scores: tuple[Score, ...] = (ratio("accuracy", f"share within {close:g}", "close", "rows"), LOSS)
        self.chosen_by: str | None = "loss"

    def outputs(self, preprocessor: Preprocessor) -> int:
        return 1

    def head(self, width: int, outputs: int) -> nn.Module:
        return SummaryHead(width, outputs)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.mse_loss(out[:, 0], batch.targets)

    def right(self, out: Tensor, batch: Batch) -> float:
        return float(((out[:, 0] - batch.targets).abs() <= self.close).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        return {"logits": out}

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        error = kept["logits"][:, 0].astype(np.float64) - targets.values
        return {
            "rows": np.ones(len(targets)),
            "close": (np.abs(error) <= self.close).astype(np.float64),
            "squared_error": error**2,
        }

    def chance(self, targets: Targets) -> float:
        return float(np.var(targets.values, dtype=np.float64))
