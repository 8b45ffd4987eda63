"""A bag of words and n-grams, as in fastText: what counting short phrases achieves, without any network over time."""

from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from rnnlab.core.errors import ConfigError
from rnnlab.core.words import joined, note, retold
from rnnlab.models.base import Architecture, Encoded, Encoder, architecture
from rnnlab.models.embedding import PADDING, TokenVectors
from rnnlab.models.pooling import zero_padding
from rnnlab.models.space import Among, Between, Space

PRIME = 2_147_483_647  # of the hash; what is multiplied stays within 64 bits
FACTORS = {"linear": 1_000_003, "mixed": 950_706_376}  # the latter spreads neighbours: Fishman & Moore (1986)
END = PRIME - 1  # the id of the end of a text, in the hash; the beginning has that of padding
Hashing = Literal["linear", "mixed"]


@architecture("fasttext")
class FastText(Architecture):
    """The mean of word vectors and hashed n-gram vectors: fast, strong, and blind beyond its n-grams."""

    added: ClassVar[tuple[str, ...]] = (*Architecture.added, "ends", "hashing")
    sizes: ClassVar[tuple[str, ...]] = ()  # all of its weights are vectors
    usual_width: ClassVar[int] = 16
    text_defaults: ClassVar[dict[str, Any]] = {}
    model_defaults: ClassVar[dict[str, Any]] = {"ends": True, "hashing": "mixed"}
    training_defaults: ClassVar[dict[str, Any]] = {"optimizer": "lazy-sgd", "lr": 1.0}  # docs/decisions/0018
    space: ClassVar[Space] = {
        "model.ngrams": Among(2, 3, 4),
        "model.buckets": Among(100_000, 300_000),
        "model.embedding.width": Among(10, 16, 32),
        "model.embedding.dropout": Between(0.0, 0.5),
        "training.lr": Between(0.25, 4.0, log=True),
    }

    ngrams: int = Field(default=3, ge=2, le=10, description="Longest n-gram, in tokens; shorter ones count too.")
    buckets: int = Field(
        default=300_000, ge=1, le=10_000_000, description="Vectors that the n-grams share; each hashes to one of them."
    )
    ends: bool = Field(
        default=False,
        description="The beginning and the end of a text count as tokens: n-grams then know where they stand, and the "
        "mean how long the text is.",
    )
    hashing: Hashing = Field(
        default="linear",
        description="How n-grams find their vectors. With linear, n-grams of frequent words share them more often than "
        "chance has it; mixed spreads them evenly.",
    )

    @property
    def causal(self) -> bool:
        return True

    def check(self, input_kind: Literal["tokens", "features"]) -> list[str]:
        if input_kind == "features":
            problem = note("'fasttext' counts n-grams of words, and these are numbers; take 'linear'")
            return [note("model.kind: {problem}", problem=problem)]
        if self.embedding is not None and self.embedding.channels in ("frozen", "two"):
            return [
                note(
                    "model.embedding.channels: 'fasttext' trains its vectors, n-grams like words, and would ignore the "
                    "frozen channel of '{channels}'; take 'tuned' or 'random'",
                    channels=self.embedding.channels,
                )
            ]
        return []

    def embed(self, words: int, pretrained: Tensor | None) -> TokenVectors:
        table = super().embed(words, pretrained).table
        if table is None or self.embedding is None:
            raise ConfigError(joined([retold(problem) for problem in self.check("tokens")], "\n"))
        return NgramVectors(
            table.detach(), self, self.embedding.dropout, self.embedding.type_dropout, self.locked_dropout
        )

    def build(self, input_width: int) -> Encoder:
        return MeanEncoder(input_width)

    @property
    def factor(self) -> int:
        return FACTORS[self.hashing]

    @property
    def squares(self) -> bool:
        """Whether a hash is squared after every token. Else it is linear in the ids, and what one pair of n-grams
        shares, all pairs with the same differences share."""
        return self.hashing == "mixed"

    def bucket(self, *gram: int) -> int:
        """Of one n-gram, by Python's own arithmetic."""
        value = len(gram)
        for token in gram:
            value = (value * self.factor + token) % PRIME
            value = value * value % PRIME if self.squares else value
        return value % self.buckets


class NgramVectors(TokenVectors):
    """Ids (B, T) → (B, T, D): at each token, its vector plus those of the n-grams that end there; with ``ends``, at the
    last token those that end behind it, too. They are rows of one table (words + buckets, D), so that an update touches
    only the rows in use. An n-gram's vector begins at zero: one that training never saw says nothing."""

    words: int
    hashed: FastText

    def __init__(
        self, table: Tensor, hashed: FastText, dropout: float, type_dropout: float = 0.0, locked: bool = False
    ):
        super().__init__(F.pad(table, (0, 0, 0, hashed.buckets)), None, dropout, type_dropout, locked)
        self.words, self.hashed = len(table), hashed

    def forward(self, ids: Tensor) -> Tensor:
        if not self.hashed.ends:
            return self._sums(ids)
        ended = with_end(ids)
        sums = self._sums(ended)  # (B, T + 1, D)
        behind = sums.gather(1, (ended == END).long().argmax(1)[:, None, None].expand(-1, 1, self.width))
        last = (ended[:, 1:] == END).unsqueeze(2)
        return sums[:, :-1].masked_fill((ids == PADDING).unsqueeze(2), 0) + last * behind

    def tell_columns(self, columns: int, width: int) -> None:
        """Added to every token of a column, a vector would tell a mean how long the columns are, and no more. N-grams
        know the column at a separator alone."""

    def _sums(self, ids: Tensor) -> Tensor:
        """(B, T, D): of the token and the n-grams that end there."""
        batch, steps = ids.shape
        sizes = range(2, self.hashed.ngrams + 1)
        features = torch.stack([self.rows_of_tokens(ids), *(self.rows_of(ids, n) for n in sizes)], dim=2)
        return super().forward(features.view(batch, -1)).view(batch, steps, self.hashed.ngrams, self.width).sum(2)

    def rows_of_tokens(self, ids: Tensor) -> Tensor:
        """(B, T): extra words stand behind the buckets; the end of a text has one of the buckets."""
        rows = torch.where(ids < self.words, ids, ids + self.hashed.buckets)
        if not self.hashed.ends:
            return rows
        return torch.where(ids == END, self.words + self.hashed.bucket(END), rows)

    def rows_of(self, ids: Tensor, n: int) -> Tensor:
        """(B, T): the row of the n-gram that ends at each token; `PADDING` where there is none."""
        steps = ids.shape[1]
        hashed = torch.full_like(ids, n)
        for back in range(n - 1, -1, -1):
            hashed = (hashed * self.hashed.factor + F.pad(ids, (back, 0))[:, :steps]) % PRIME
            if self.hashed.squares:
                hashed = hashed * hashed % PRIME
        first = n - 2 if self.hashed.ends else n - 1  # what stands before the first token is the beginning
        whole = (ids != PADDING) & (torch.arange(steps, device=ids.device) >= first)
        return torch.where(whole, self.words + hashed % self.hashed.buckets, PADDING)


def with_end(ids: Tensor) -> Tensor:
    """Ids (B, T) → (B, T + 1): `END` behind the last token of each text."""
    steps = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    ends = ((ids != PADDING) * steps).amax(1, keepdim=True)
    return F.pad(ids, (0, 1)).scatter(1, ends, END)


class MeanEncoder(Encoder):
    """(B, T, D) → states (B, T, D), the input itself; the summary is their mean."""

    def __init__(self, input_width: int):
        super().__init__()
        self.width: int = input_width
        self.state_width: int = input_width

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = zero_padding(x, lengths)
        return Encoded(states, states.sum(1) / lengths[:, None])
