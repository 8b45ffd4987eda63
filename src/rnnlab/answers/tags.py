"""A label for every step, or for those that are asked for."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.heads import StateHead
from rnnlab.answers.label import probabilities, surprise
from rnnlab.answers.prediction import Prediction
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, Targets

LOSS = ratio("loss", "loss", "nats", "steps", lower_is_better=True, unit="number")


@dataclass(frozen=True)
class TagsPrediction(Prediction):
    """A label for each step; its probability is that of all of them together."""

    steps: tuple[tuple[str, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"label": self.label, "tags": [{"label": label, "probability": p} for label, p in self.steps]}


class Tags(Answer):
    """Outputs (B, T, C), targets (B, T): `IGNORE` at padding and at steps that aren't asked for. Of the outputs the
    answer and its surprise are kept, not C numbers per step."""

    reads: ClassVar[Literal["summary", "states"]] = "states"
    kernel: ClassVar[str | None] = "class a step"

    def __init__(self, title: str = "accuracy", whole: bool = False):
        """``whole``: a row counts as right when all of its steps are, and by that epochs are chosen; else every step
        counts by itself."""
        exact = ratio("exact", "exact match", "right_rows", "rows")
        steps = ratio("digit_accuracy" if whole else "accuracy", title, "right_steps", "steps")
        of_rows = ratio("accuracy", title, "right_rows", "rows")
        self.scores: tuple[Score, ...] = (of_rows, exact, steps, LOSS) if whole else (steps, exact, LOSS)
        self.chosen_by = "exact" if whole else None
        self.counts_whole = whole

    def outputs(self, preprocessor: Preprocessor) -> int:
        return len(preprocessor.labels)

    def head(self, width: int, outputs: int) -> nn.Module:
        return StateHead(width, outputs)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE)

    def right(self, out: Tensor, batch: Batch) -> float:
        asked = batch.targets != IGNORE
        hits = ((out.argmax(2) == batch.targets) & asked).sum(1)
        asked = asked.sum(1)
        return float((hits == asked).sum() if self.counts_whole else (hits / asked.clamp(min=1)).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        nats = F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE, reduction="none")
        return {"answers": out.argmax(2).to(torch.int32), "nats": nats.view(batch.targets.shape)}

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        asked = targets.values != IGNORE
        right = (kept["answers"] == targets.values) & asked
        steps, right_steps = targets.sum_by_row(asked), targets.sum_by_row(right)
        return {
            "rows": np.ones(len(targets)),
            "right_rows": (right_steps == steps).astype(np.float64),
            "steps": steps,
            "right_steps": right_steps,
            "nats": targets.sum_by_row(np.where(asked, kept["nats"], 0.0)),
        }

    def upgrade(self, kept: dict[str, np.ndarray], targets: Targets) -> dict[str, np.ndarray]:
        """Format 1 kept all logits (N, C)."""
        if "logits" not in kept:
            return kept
        return {
            "answers": kept["logits"].argmax(1),
            "nats": surprise(kept["logits"], np.where(targets.values == IGNORE, 0, targets.values)),
        }

    def predictions(
        self, outputs: np.ndarray, data: Sequences, known: np.ndarray, preprocessor: Preprocessor
    ) -> list[TagsPrediction]:
        shares = probabilities(outputs.astype(np.float64))
        best, sure = shares.argmax(1), shares.max(1)
        found = []
        for first, end, share in zip(data.starts, data.ends, known.tolist(), strict=True):
            names = [preprocessor.labels[number] for number in best[first:end]]
            steps = tuple(zip(names, sure[first:end].tolist(), strict=True))
            label, p = " ".join(names), float(np.exp(np.log(sure[first:end]).sum()))
            found.append(TagsPrediction(label, p, {label: p}, share, steps))
        return found
