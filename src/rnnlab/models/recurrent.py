"""Recurrent networks: a state carried from step to step, in one direction or both.

Sequences are never packed. A forward recurrence reaches padding only after the real steps, so padding can't touch
them; a backward one reads each sequence mirrored within its own length, so it starts at the last real step.
"""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from rnnlab.models.base import Architecture, Encoded, Encoder, architecture
from rnnlab.models.pooling import Pool, Pooling, inside, zero_padding
from rnnlab.models.recurrence import FastRNN


class Recurrent(Architecture):
    """What the recurrent architectures share."""

    hidden: int = Field(default=128, ge=1, description="Width of the state, in each direction.")
    layers: int = Field(default=1, ge=1, le=8, description="Recurrences stacked on each other.")
    bidirectional: bool = Field(default=False, description="Read from the end, too; states lie side by side.")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="Between layers, in training.")
    pooling: Pooling = Field(default="last", description="How the states become one summary.")

    @model_validator(mode="after")
    def _dropout_has_a_place(self) -> Self:
        if self.dropout > 0 and self.layers == 1:
            raise ValueError(
                f"dropout = {self.dropout:g} lies between layers and would be ignored with layers = 1; "
                "use output_dropout or embedding.dropout, or more layers"
            )
        return self

    @property
    def causal(self) -> bool:
        return not self.bidirectional

    def cell(self, input_width: int) -> nn.RNNBase:
        """One layer in one direction: (B, T, input_width) → (B, T, hidden)."""
        raise NotImplementedError

    def build(self, input_width: int) -> Encoder:
        return RecurrentEncoder(self, input_width)


@architecture("rnn")
class RNN(Recurrent):
    """h_t = activation(W_xh x_t + W_hh h_{t-1} + b)."""

    activation: Literal["tanh", "relu"] = Field(default="tanh", description="Of the state.")

    def cell(self, input_width: int) -> nn.RNNBase:
        return FastRNN(input_width, self.hidden, nonlinearity=self.activation, batch_first=True)


@architecture("lstm")
class LSTM(Recurrent):
    """Input, forget and output gates around a cell that is added to, not multiplied through."""

    forget_bias: float = Field(default=1.0, description="Of the forget gate at first; 1 begins by remembering.")

    def cell(self, input_width: int) -> nn.RNNBase:
        lstm = nn.LSTM(input_width, self.hidden, batch_first=True)
        forget = slice(self.hidden, 2 * self.hidden)  # torch's order: input, forget, cell, output
        input_bias, state_bias = lstm.get_parameter("bias_ih_l0"), lstm.get_parameter("bias_hh_l0")
        with torch.no_grad():
            input_bias[forget] = self.forget_bias
            state_bias[forget] = 0  # torch adds the two
        return lstm


@architecture("gru")
class GRU(Recurrent):
    """Update and reset gates, in PyTorch's convention: reset after the matrix product (docs/decisions/0003)."""

    def cell(self, input_width: int) -> nn.RNNBase:
        return nn.GRU(input_width, self.hidden, batch_first=True)


class RecurrentEncoder(Encoder):
    """(B, T, D) → states (B, T, H): H = hidden, or 2 hidden with the backward direction in the second half."""

    def __init__(self, settings: Recurrent, input_width: int):
        super().__init__()
        directions = 2 if settings.bidirectional else 1
        self.state_width = directions * settings.hidden
        widths = [input_width] + [self.state_width] * (settings.layers - 1)
        self.ahead = nn.ModuleList(settings.cell(width) for width in widths)
        self.back = nn.ModuleList(settings.cell(width) for width in widths if settings.bidirectional)
        self.dropout = nn.Dropout(settings.dropout)
        self.pool = Pool(settings.pooling, self.state_width, backward_width=self.state_width - settings.hidden)
        self.width = self.pool.width

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        order = mirror_order(lengths, x.shape[1]) if len(self.back) else None
        for layer, ahead in enumerate(self.ahead):
            if layer > 0:
                x = self.dropout(x)
            states, _ = ahead(x)
            if order is not None:
                mirrored, _ = self.back[layer](mirror(x, order))
                states = torch.cat([states, mirror(mirrored, order)], dim=2)
            x = states
        states = zero_padding(x, lengths)
        return Encoded(states, *self.pool(states, lengths))


def mirror_order(lengths: Tensor, steps: int) -> Tensor:
    """(T · B,): for each step and sequence, which row of (T · B, ·) stands there once every sequence is mirrored within
    its own length. Padding stays where it is."""
    step = torch.arange(steps, device=lengths.device)
    source = torch.where(inside(lengths, steps), lengths[:, None] - 1 - step, step)  # (B, T)
    batch = lengths.shape[0]
    return (source.t() * batch + torch.arange(batch, device=lengths.device)).reshape(-1)


def mirror(x: Tensor, order: Tensor) -> Tensor:
    """(B, T, D) → (B, T, D), each sequence mirrored; mirroring twice gives ``x``.
    Rows are taken step by step because torch's recurrences store their states so: no copy, and 2.5 × faster than
    ``gather``."""
    batch, steps, width = x.shape
    rows = x.transpose(0, 1).reshape(steps * batch, width)
    return rows.index_select(0, order).view(steps, batch, width).transpose(0, 1)
