"""A bag of words and n-grams, as in fastText: what counting short phrases achieves, without any network over time."""

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from rnnlab.errors import ConfigError
from rnnlab.models.base import Architecture, Encoded, Encoder, architecture
from rnnlab.models.embedding import PADDING, TokenVectors
from rnnlab.models.pooling import zero_padding
from rnnlab.models.space import Among, Between, Space

PRIME, FACTOR = 2_147_483_647, 1_000_003  # of the hash; their product stays within 64 bits


@architecture("fasttext")
class FastText(Architecture):
    """The mean of word vectors and hashed n-gram vectors: fast, strong, and blind beyond its n-grams."""

    sizes: ClassVar[tuple[str, ...]] = ()  # all of its weights are vectors
    space: ClassVar[Space] = {
        "model.ngrams": Among(2, 3, 4),
        "model.buckets": Among(50_000, 200_000),
        "model.embedding.width": Among(10, 50, 100),
        "model.embedding.dropout": Between(0.0, 0.5),
        "training.lr": Between(1e-3, 3e-2, log=True),
    }

    ngrams: int = Field(default=2, ge=2, le=10, description="Longest n-gram, in tokens; shorter ones count too.")
    buckets: int = Field(
        default=50_000, ge=1, le=10_000_000, description="Vectors that the n-grams share; each hashes to one of them."
    )

    @property
    def causal(self) -> bool:
        return True

    def check(self, input_kind: Literal["tokens", "features"]) -> list[str]:
        if input_kind == "features":
            return ["model.kind: 'fasttext' counts n-grams of words, and these are numbers; take 'linear'"]
        if self.embedding is not None and self.embedding.channels in ("frozen", "two"):
            return [
                f"model.embedding.channels: 'fasttext' trains its vectors, n-grams like words, and would ignore the "
                f"frozen channel of '{self.embedding.channels}'; take 'tuned' or 'random'"
            ]
        return []

    def embed(self, words: int, pretrained: Tensor | None) -> TokenVectors:
        table = super().embed(words, pretrained).table
        if table is None or self.embedding is None:
            raise ConfigError("\n".join(self.check("tokens")))
        return NgramVectors(table.detach(), self.ngrams, self.buckets, self.embedding.dropout)

    def build(self, input_width: int) -> Encoder:
        return MeanEncoder(input_width)


class NgramVectors(TokenVectors):
    """Ids (B, T) → (B, T, D): at each token, its vector plus those of the n-grams that end there. They are rows of one
    table (words + buckets, D), so that an update touches only the rows in use. An n-gram's vector begins at zero: one
    that training never saw says nothing."""

    def __init__(self, table: Tensor, ngrams: int, buckets: int, dropout: float):
        super().__init__(F.pad(table, (0, 0, 0, buckets)), None, dropout)
        self.words, self.ngrams, self.buckets = len(table), ngrams, buckets

    def forward(self, ids: Tensor) -> Tensor:
        batch, steps = ids.shape
        words = torch.where(ids < self.words, ids, ids + self.buckets)  # extra words stand behind the buckets
        features = torch.stack([words, *(self.rows_of(ids, n) for n in range(2, self.ngrams + 1))], dim=2)
        return super().forward(features.view(batch, -1)).view(batch, steps, self.ngrams, self.width).sum(2)

    def rows_of(self, ids: Tensor, n: int) -> Tensor:
        """(B, T): the row of the n-gram that ends at each token; `PADDING` where there is none."""
        steps = ids.shape[1]
        hashed = torch.full_like(ids, n)
        for back in range(n - 1, -1, -1):
            hashed = (hashed * FACTOR + F.pad(ids, (back, 0))[:, :steps]) % PRIME
        whole = (ids != PADDING) & (torch.arange(steps, device=ids.device) >= n - 1)
        return torch.where(whole, self.words + hashed % self.buckets, PADDING)


class MeanEncoder(Encoder):
    """(B, T, D) → states (B, T, D), the input itself; the summary is their mean."""

    def __init__(self, input_width: int):
        super().__init__()
        self.width = self.state_width = input_width

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = zero_padding(x, lengths)
        return Encoded(states, states.sum(1) / lengths[:, None])
