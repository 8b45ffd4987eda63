"""From what an encoder made of a batch to outputs."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.models.base import Encoded
from rnnlab.models.embedding import TokenVectors


class SummaryHead(nn.Module):
    """(B, S) summary → (B, C)."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


class StateHead(nn.Module):
    """(B, T, H) states → (B, T, C)."""

    @property
    def outputs(self) -> int:
        return self.linear.out_features

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.states)


class TiedHead(nn.Module):
    """(B, T, H) states → (B, T, V), by the vectors of the tokens that are read (Press & Wolf 2017; Inan et al. 2017).
    States of another width than theirs are projected first."""

    def __init__(self, width: int, vectors: TokenVectors):
        super().__init__()
        assert vectors.table is not None
        assert vectors.frozen is None
        words, own = vectors.table.shape
        self.project: nn.Module = nn.Identity() if width == own else nn.Linear(width, own)
        self.bias: nn.Parameter = nn.Parameter(torch.zeros(words))
        self._vectors = (vectors,)  # not as a module: they are counted, trained and stored once

    @property
    def outputs(self) -> int:
        return len(self.bias)

    @property
    def vectors(self) -> Tensor:
        """(V, D)."""
        table = self._vectors[0].table
        assert table is not None
        return table

    def forward(self, encoded: Encoded) -> Tensor:
        return F.linear(self.project(encoded.states), self.vectors, self.bias)
