"""From a state a time step to one summary a sequence. Padding never takes part."""

from typing import Literal

import torch
from torch import Tensor, nn

Pooling = Literal["last", "first+last", "mean", "max", "attention"]


def inside(lengths: Tensor, steps: int) -> Tensor:
    """(B, T) bool: True at real positions, False at padding."""
    return torch.arange(steps, device=lengths.device) < lengths[:, None]


def zero_padding(x: Tensor, lengths: Tensor) -> Tensor:
    """``x`` (B, T, H) with zeros at padding. A product, because it costs less than half of ``where``."""
    return x * inside(lengths, x.shape[1])[:, :, None].to(x.dtype)


class Pool(nn.Module):
    """``(states (B, T, H), zero at padding; lengths (B,)) -> (summary (B, width), weights (B, T) or None)``.

    - ``last``: the final state: at length - 1; of the last ``backward_width`` columns, which read from the end, at 0.
    - ``first+last``: the states at 0 and at length - 1, side by side: 2 H wide.
    - ``mean``, ``max``: over the real positions.
    - ``attention``: a mean weighted by softmax(states · query), with a learned query. Only this one has weights.
    """

    def __init__(self, kind: Pooling, state_width: int, backward_width: int = 0):
        super().__init__()
        self.kind = kind
        self.width = 2 * state_width if kind == "first+last" else state_width
        self.ahead_width = state_width - backward_width
        if kind == "attention":
            bound = state_width**-0.5
            self.query = nn.Parameter(torch.empty(state_width).uniform_(-bound, bound))

    def forward(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.kind == "last":
            ends = _ends(states, lengths)
            if self.ahead_width == states.shape[2]:
                return ends, None
            return torch.cat([ends[:, : self.ahead_width], states[:, 0, self.ahead_width :]], dim=1), None
        if self.kind == "first+last":
            return torch.cat([states[:, 0], _ends(states, lengths)], dim=1), None
        if self.kind == "mean":
            return states.sum(1) / lengths[:, None], None
        if self.kind == "max":
            return (states + _minus_infinity_at_padding(states, lengths)[:, :, None]).amax(1), None
        scores = states @ self.query + _minus_infinity_at_padding(states, lengths)  # (B, T)
        weights = scores.softmax(1)
        return (weights[:, None] @ states).squeeze(1), weights


def _ends(states: Tensor, lengths: Tensor) -> Tensor:
    """The states at length - 1, (B, H)."""
    return states[torch.arange(states.shape[0], device=states.device), lengths - 1]


def _minus_infinity_at_padding(states: Tensor, lengths: Tensor) -> Tensor:
    """(B, T): 0 at real positions. Added rather than filled in, which costs half as much."""
    real = inside(lengths, states.shape[1])
    return torch.zeros(real.shape, dtype=states.dtype, device=states.device).masked_fill(~real, -torch.inf)
