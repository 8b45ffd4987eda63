"""Where to look: each query gets a weighted mean of what was read, and the weights can be seen."""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.kernels import ops

Scoring = Literal["dot", "scaled", "general", "additive"]


class Attention(nn.Module):
    """Queries (B, L, H) look at what was read (B, S, M), by a score of each query and each place:

    - ``dot``: q · k; ``scaled``: the same by √H (Vaswani et al. 2017);
    - ``general``: q · W k (Luong et al. 2015);
    - ``additive``: v · tanh(U q + W k) (Bahdanau et al. 2015).

    For ``dot`` and ``scaled``, k is what was read, projected where it has another width than the queries."""

    def __init__(self, scoring: Scoring, query_width: int, memory_width: int):
        super().__init__()
        self.scoring: Scoring = scoring
        projected = scoring in ("general", "additive") or query_width != memory_width
        self.key: nn.Module = nn.Linear(memory_width, query_width, bias=False) if projected else nn.Identity()
        if scoring == "additive":
            self.query: nn.Linear = nn.Linear(query_width, query_width)
            self.score: nn.Parameter = nn.Parameter(torch.empty(query_width).uniform_(-1, 1) / math.sqrt(query_width))

    def keys(self, memory: Tensor) -> Tensor:
        """(B, S, M) → (B, S, H): once per text, however many queries come."""
        return self.key(memory)

    def forward(self, queries: Tensor, keys: Tensor, memory: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """The means (B, L, M) and the weights (B, L, S). ``real`` (B, S) is false at padding, which weighs nothing."""
        if self.scoring == "additive":
            asks = self.query(queries)
            scores = ops.additive_scores(asks, keys, self.score, real)
            if scores is None:
                scores = torch.tanh(asks[:, :, None] + keys[:, None]) @ self.score
        else:
            scores = queries @ keys.transpose(1, 2)
        if self.scoring == "scaled":
            scores = scores / math.sqrt(queries.shape[2])
        weights = F.softmax(scores.masked_fill(~real[:, None], -math.inf), dim=2)
        return weights @ memory, weights
