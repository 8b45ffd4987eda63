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
        self.width: int = 2 * state_width if kind == "first+last" else state_width
        self.ahead_width: int = state_width - backward_width
        if kind == "attention":
            bound = state_width**-0.5
            self.query: nn.Parameter = nn.Parameter(torch.empty(state_width).uniform_(-bound, bound))

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

    # The same as values that are carried, so that what comes later can be added

    def begin(self, rows: int, like: Tensor) -> tuple[Tensor, ...]:
        """Before the first step of so many sequences, with the precision and device of ``like``: tensors (B, …)."""
        width = self.ahead_width
        zeros, count = like.new_zeros(rows, width), torch.zeros(rows, dtype=torch.int64, device=like.device)
        least = like.new_full((rows,), -torch.inf)
        return {
            "last": (zeros,),
            "first+last": (zeros, zeros.clone(), count),
            "mean": (zeros, count),
            "max": (zeros - torch.inf,),
            "attention": (zeros, like.new_zeros(rows), least),
        }[self.kind]

    def advance(self, states: Tensor, lengths: Tensor, known: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The summary (B, width) of all steps so far, given the states of new ones, zero at padding; and what is
        carried on. ``lengths`` may be 0. It is for encoders that read the past alone."""
        if self.kind == "last":
            last = last_states(states, lengths, known[0])
            return last, (last,)
        if self.kind == "first+last":
            first, last, count = known
            first = torch.where(((lengths > 0) & (count == 0))[:, None], states[:, 0], first)
            last = last_states(states, lengths, last)
            return torch.cat([first, last], dim=1), (first, last, count + lengths)
        if self.kind == "mean":
            total, count = known[0] + states.sum(1), known[1] + lengths
            return total / count[:, None], (total, count)
        if self.kind == "max":
            highest = (states + _minus_infinity_at_padding(states, lengths)[:, :, None]).amax(1)
            highest = torch.maximum(known[0], highest)
            return highest, (highest,)
        # Attention: sums of e^score, scaled by the highest score so far
        total, weight, highest = known
        scores = states @ self.query + _minus_infinity_at_padding(states, lengths)  # (B, T)
        higher = torch.maximum(highest, scores.amax(1))
        anchor = higher.masked_fill(higher == -torch.inf, 0)  # of a row that has read nothing
        shares, before = (scores - anchor[:, None]).exp(), (highest - anchor).exp()
        total = total * before[:, None] + (shares[:, None] @ states).squeeze(1)
        weight = weight * before + shares.sum(1)
        return total / weight[:, None], (total, weight, higher)


def _ends(states: Tensor, lengths: Tensor) -> Tensor:
    """The states at length - 1, (B, H)."""
    return states[torch.arange(states.shape[0], device=states.device), lengths - 1]


def last_states(states: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
    """(B, H): the states at length - 1, or what was ``before`` where the length is 0."""
    return torch.where((lengths > 0)[:, None], _ends(states, lengths.clamp(min=1)), before)


def _minus_infinity_at_padding(states: Tensor, lengths: Tensor) -> Tensor:
    """(B, T): 0 at real positions. Added rather than filled in, which costs half as much."""
    real = inside(lengths, states.shape[1])
    return torch.zeros(real.shape, dtype=states.dtype, device=states.device).masked_fill(~real, -torch.inf)
