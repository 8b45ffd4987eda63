"""A head whose tags are scored by those beside them, too: the last layer of a BiLSTM-CRF."""

import numpy as np
import torch
from torch import Tensor, nn

from rnnlab.models.base import Encoded


class ChainHead(nn.Module):
    """(B, T, H) states → (B, T + C + 2, C): what ``head`` makes of each step, and below it the chain, the same for
    every row (`models.chain` says what its rows are)."""

    forbidden: Tensor  # (C + 2, C): added to what is learnt

    def __init__(self, head: nn.Module, forbidden: np.ndarray):
        super().__init__()
        self.head = head
        self.learnt: nn.Parameter = nn.Parameter(torch.zeros(forbidden.shape))
        self.register_buffer("forbidden", torch.from_numpy(forbidden), persistent=False)

    @property
    def chain(self) -> Tensor:
        return self.learnt + self.forbidden

    def forward(self, encoded: Encoded) -> Tensor:
        emissions = self.head(encoded)
        return torch.cat([emissions, self.chain.expand(len(emissions), -1, -1)], dim=1)
