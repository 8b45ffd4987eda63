"""Recurrences whose gates see the input alone: h_t = keep_t ⊙ h_{t-1} + value_t, linear in the state.

No step waits for a matrix product of the one before: all products are one, and what is left of the recurrence can be
computed step by step or, by combining neighbours, in about 2 log₂ T rounds. docs/decisions/0007 compares the ways.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from rnnlab.core.errors import WrongValue
from rnnlab.models.base import Encoded, Encoder, State, architecture
from rnnlab.models.pooling import Pooling, last_states, zero_padding
from rnnlab.models.recurrent import Layered, LayeredEncoder, mirror, mirror_order

Scan = Callable[[Tensor, Tensor, bool], Tensor]


class Minimal(Layered):
    """What the minimal recurrences share."""

    gates: ClassVar[int]
    """How many gates a unit has."""
    speed_only: ClassVar[tuple[str, ...]] = ("scan",)

    pooling: Pooling = Field(default="max", description="How the states become one summary.")
    scan: Literal["parallel", "sequential"] = Field(
        default="sequential",
        description="How the steps are computed, with the same result: one by one, or all at once in rounds.",
    )

    @model_validator(mode="after")
    def _dropout_has_a_place(self) -> Self:
        if self.dropout > 0 and self.layers == 1:
            raise WrongValue(
                "dropout = {dropout:g} lies between layers and would be ignored with layers = 1; use "
                "output_dropout or embedding.dropout, or more layers",
                dropout=self.dropout,
            )
        return self

    def update(self, gates: Tensor) -> Tensor:
        """From (…, gates · hidden), before any sigmoid, to the logit of the candidate's share in the new state."""
        raise NotImplementedError

    def build(self, input_width: int) -> Encoder:
        return MinimalEncoder(self, input_width)


@architecture("mingru")
class MinGRU(Minimal):
    """A GRU whose update gate and candidate see the input alone, not the state (Feng et al. 2024).

    h_t = (1 - z_t) ⊙ h_{t-1} + z_t ⊙ g(W_h x_t + b_h), z_t = σ(W_z x_t + b_z)."""

    gates: ClassVar[int] = 1

    def update(self, gates: Tensor) -> Tensor:
        return gates


@architecture("minlstm")
class MinLSTM(Minimal):
    """An LSTM whose gates and candidate see the input alone; forget and input gate sum to 1 (Feng et al. 2024).

    h_t = f_t / (f_t + i_t) ⊙ h_{t-1} + i_t / (f_t + i_t) ⊙ g(W_h x_t + b_h), f_t = σ(W_f x_t + b_f), i_t alike."""

    gates: ClassVar[int] = 2

    def update(self, gates: Tensor) -> Tensor:
        forget, take = gates.chunk(2, dim=-1)
        return F.logsigmoid(take) - F.logsigmoid(forget)  # i / (f + i) = σ(log i - log f), also where both underflow


class MinimalEncoder(LayeredEncoder):
    def __init__(self, settings: Minimal, input_width: int):
        super().__init__(settings, MinimalLayer, input_width)

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        order = mirror_order(lengths, x.shape[1]) if len(self.back) else None
        for layer, ahead in enumerate(self.ahead):
            if layer > 0:
                x = self.dropout(x)
            states = ahead(x)
            if order is not None:
                states = torch.cat([states, mirror(self.back[layer](mirror(x, order)), order)], dim=2)
            x = states
        states = zero_padding(x, lengths)
        return Encoded(states, *self.pool(states, lengths))

    def _begin(self, rows: int) -> State:
        like = next(self.parameters())
        return tuple(like.new_zeros(rows, self.state_width) for _ in self.ahead)

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """A state holds the last h of each layer, (B, H)."""
        after: list[Tensor] = []
        for layer, start in zip(self.ahead, state, strict=True):
            x = layer(x, start)
            after.append(last_states(x, lengths, start))
        return zero_padding(x, lengths), tuple(after)


class MinimalLayer(nn.Module):
    """One layer in one direction, from h_0 = 0 unless it is given: (B, T, D) → (B, T, hidden)."""

    def __init__(self, settings: Minimal, input_width: int):
        super().__init__()
        self.update: Callable[[Tensor], Tensor] = settings.update
        self.scan: Scan = SCANS[settings.scan]
        self.split: list[int] = [settings.gates * settings.hidden, settings.hidden]
        self.project: nn.Linear = nn.Linear(input_width, sum(self.split))  # rows: the gates, then the candidate

    def forward(self, x: Tensor, start: Tensor | None = None) -> Tensor:
        x = x.transpose(0, 1).contiguous()  # time first: a step is then one block of memory
        gates, candidate = self.project(x).split(self.split, dim=2)
        update = self.update(gates)
        keep = torch.sigmoid(-update)  # 1 - σ(update) would round small shares away
        values = torch.sigmoid(update) * positive(candidate)
        if start is not None:
            values = torch.cat([torch.addcmul(values[:1], keep[:1], start[None]), values[1:]])
        return LinearRecurrence.apply(keep, values, self.scan).transpose(0, 1)


def positive(x: Tensor) -> Tensor:
    """g of the paper, continuous and above 0: x + 0.5 from 0 on, σ(x) below. Without ``where`` and ``clamp``, whose
    backward passes took longer than the recurrence."""
    above = F.relu(x)
    return above + torch.sigmoid(x - above)


class LinearRecurrence(torch.autograd.Function):
    """h_t = keep_t ⊙ h_{t-1} + value_t from h_0 = 0: keep and values (T, B, H) → h (T, B, H).

    Backward, with g_t = ∂L/∂h_t, is the same recurrence from the end: δ_t = g_t + keep_{t+1} ⊙ δ_{t+1}. Then
    ∂L/∂value_t = δ_t and ∂L/∂keep_t = δ_t ⊙ h_{t-1}, which is 0 at the first step."""

    @staticmethod
    def forward(ctx: Any, keep: Tensor, values: Tensor, scan: Scan) -> Tensor:
        h = scan(keep[1:], values, False)
        ctx.save_for_backward(keep, h)
        ctx.scan = scan
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        keep, h = ctx.saved_tensors
        delta = ctx.scan(keep[1:], gradients[0], True)
        of_keep = torch.empty_like(keep)
        of_keep[0] = 0
        torch.mul(delta[1:], h[:-1], out=of_keep[1:])
        return of_keep, delta, None


def step_by_step(keep: Tensor, values: Tensor, from_end: bool) -> Tensor:
    """keep (T - 1, B, H), where ``keep[t]`` joins steps t and t + 1; values (T, B, H) → (T, B, H). Each step adds its
    share of the one before it or, from the end, after it."""
    h = values.clone(memory_format=torch.contiguous_format)
    joins, rows = keep.unbind(0), h.unbind(0)
    if from_end:
        joins, rows = joins[::-1], rows[::-1]
    for join, row, following in zip(joins, rows[:-1], rows[1:], strict=True):
        following.addcmul_(join, row)
    return h


def by_pairs(keep: Tensor, values: Tensor, from_end: bool) -> Tensor:
    """The same in about 2 log₂ T rounds: two neighbours are combined into one step, the recurrence of half as many
    steps is solved likewise, and what it gives for every second step completes the steps between. Some 4 T steps of
    work; sums and products only, so nothing cancels."""
    if from_end:
        return by_pairs(keep.flip(0), values.flip(0), False).flip(0)
    steps = len(values)
    if steps == 1:
        return values.clone()
    paired = torch.addcmul(values[1::2], keep[::2], values[: steps - 1 : 2])  # steps 1, 3, 5 … with the one before
    halves = len(paired)
    odd = by_pairs(keep[1 : 2 * halves - 2 : 2] * keep[2 : 2 * halves - 1 : 2], paired, False)
    h = torch.empty_like(values)
    h[0] = values[0]
    h[1::2] = odd
    h[2::2] = torch.addcmul(values[2::2], keep[1::2], odd[: (steps - 1) // 2])
    return h


SCANS: dict[str, Scan] = {"parallel": by_pairs, "sequential": step_by_step}
