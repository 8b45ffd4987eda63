"""From what an encoder made of a batch to outputs."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.models.base import Encoded
from rnnlab.models.embedding import TokenVectors

LITTLE = 0.1  # of the usual weights


class SummaryHead(nn.Module):
    """(B, S) summary → (B, C)."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, outputs)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


class LinearBeside(nn.Module):
    """(B, S) summary → (B, H · C · Q), to which a straight line of what was read is added: every step ahead a weighted
    sum of the last ``lookback`` values of its channel, with the same weights for all channels. So a network has to
    learn only what a line can't say (Zeng et al. 2023). `Forecast.begin` says how the line begins."""

    reads_inputs: bool = True

    def __init__(self, width: int, horizon: int, channels: int, numbers: int, lookback: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, horizon * channels * numbers)
        self.line: nn.Linear = nn.Linear(lookback, horizon * numbers)
        with torch.no_grad():
            self.linear.weight.mul_(LITTLE)  # at first the line speaks
        nn.init.zeros_(self.line.weight)
        nn.init.zeros_(self.line.bias)
        self.line.weight.requires_grad_(False)  # least squares found the best: `Forecast.begin`
        self.shape: tuple[int, int, int, int] = (horizon, channels, numbers, lookback)

    def forward(self, encoded: Encoded) -> Tensor:
        own = self.linear(encoded.summary)
        if encoded.read is None:  # who looks into the network asks what itself says
            return own
        horizon, channels, numbers, _ = self.shape
        inputs, lengths = encoded.read
        lines = self.line(self._last_values(inputs, lengths).transpose(1, 2))
        return own + lines.view(-1, channels, horizon, numbers).transpose(1, 2).flatten(1)

    def _last_values(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """(B, L, C): those of the last steps of each row; nothing lies before a short one."""
        _, channels, _, lookback = self.shape
        if inputs.shape[1] == lookback == int(lengths.min()):
            return inputs[:, :, :channels]
        back = lengths[:, None] - lookback + torch.arange(lookback, device=lengths.device)  # (B, L): which step it was
        at = back.clamp(min=0)[:, :, None].expand(-1, -1, channels)
        return inputs[:, :, :channels].gather(1, at) * (back >= 0)[:, :, None]


class ScoringHead(nn.Module):
    """(B, T, H) states → (B, T, C), each output by a vector of its own.

    Where training scores some outputs alone, it leaves behind, for the one optimiser step that follows, ``rows`` (R,),
    which ones, and ``picked`` (R, S), a leaf that stands for their vectors: ``picked.grad`` is their gradient."""

    rows: Tensor
    picked: Tensor

    @property
    def scoring(self) -> tuple[Tensor, Tensor]:
        """The vectors (C, S), and a bias (C,)."""
        raise NotImplementedError

    @property
    def outputs(self) -> int:
        return len(self.scoring[1])

    def scored(self, encoded: Encoded) -> Tensor:
        """(B, T, S): what the vectors are multiplied with."""
        return encoded.states

    def leave(self, rows: Tensor, picked: Tensor) -> None:
        """For the optimiser."""
        self.rows, self.picked = rows, picked


class StateHead(ScoringHead):
    """(B, T, H) states → (B, T, C)."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.linear: nn.Linear = nn.Linear(width, outputs)

    @property
    def scoring(self) -> tuple[Tensor, Tensor]:
        return self.linear.weight, self.linear.bias

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.states)


class TiedHead(ScoringHead):
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
    def vectors(self) -> Tensor:
        """(V, D)."""
        table = self._vectors[0].table
        assert table is not None
        return table

    @property
    def scoring(self) -> tuple[Tensor, Tensor]:
        return self.vectors, self.bias

    def scored(self, encoded: Encoded) -> Tensor:
        return self.project(encoded.states)

    def forward(self, encoded: Encoded) -> Tensor:
        return F.linear(self.scored(encoded), self.vectors, self.bias)
