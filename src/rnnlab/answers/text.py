"""What comes next, at every step of a running text: each token of the vocabulary has a probability."""

import math
from typing import ClassVar, Literal

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.heads import StateHead
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, Targets

NATS = ratio("loss", "nats per token", "nats", "tokens", lower_is_better=True, unit="number", metric="nats")
PERPLEXITY = Score(
    "perplexity",
    "perplexity",
    ("nats", "tokens"),
    lambda totals: math.exp(min(700.0, totals[0] / totals[1])),
    lower_is_better=True,
    margin=1.0,
    unit="number",
)
BITS = Score(
    "bits_per_character",
    "bits per character",
    ("nats", "characters"),
    lambda totals: float(totals[0] / totals[1] / math.log(2)),
    lower_is_better=True,
    unit="number",
)


class Text(Answer):
    """Outputs (B, T, V), targets (B, T): the next token, `IGNORE` at padding and where a token is context alone. Of the
    outputs, each token's surprise is kept."""

    reads: ClassVar[Literal["summary", "states"]] = "states"
    kernel: ClassVar[str | None] = "class a step"
    continues: ClassVar[bool] = True
    scores: tuple[Score, ...] = (NATS, BITS, PERPLEXITY)
    beside: str = BITS.name
    counts_whole: bool = False
    baselines: tuple[str, ...] = ("unigram", "kneser-ney")

    def outputs(self, preprocessor: Preprocessor) -> int:
        assert preprocessor.vocabulary is not None
        return len(preprocessor.vocabulary)

    def head(self, width: int, outputs: int) -> nn.Module:
        return StateHead(width, outputs)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE)

    def right(self, out: Tensor, batch: Batch) -> float:
        asked = batch.targets != IGNORE
        hits = ((out.argmax(2) == batch.targets) & asked).sum(1)
        return float((hits / asked.sum(1).clamp(min=1)).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        nats = F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE, reduction="none")
        return {"nats": nats.view(batch.targets.shape)}

    def kept_of(self, outputs: np.ndarray, data: Sequences, chain: np.ndarray | None = None) -> Kept:
        """Of a baseline, which gives each token's surprise: (N,)."""
        return {"nats": outputs.astype(np.float32)}

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        asked = targets.values != IGNORE
        tokens = targets.sum_by_row(asked)
        characters = (
            tokens if targets.characters is None else targets.sum_by_row(np.where(asked, targets.characters, 0))
        )
        return {
            "tokens": tokens,
            "characters": characters,
            "nats": targets.sum_by_row(np.where(asked, kept["nats"], 0.0)),
        }

    def chance(self, targets: Targets) -> float:
        """Of one and the same distribution for all tokens, at its best: that of the tokens themselves."""
        counts = np.bincount(targets.values[targets.values != IGNORE])
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())
