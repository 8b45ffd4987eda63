"""Recurrent and convolutional parts in one encoder."""

from typing import Any, ClassVar, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from rnnlab.models.base import Architecture, Encoded, Encoder, architecture
from rnnlab.models.convolution import (
    CENTRED,
    Activation,
    TextCNN,
    Widths,
    centred_where_it_matters,
    refuse_centred_without_effect,
)
from rnnlab.models.pooling import Pooling, zero_padding
from rnnlab.models.recurrent import GRU, LSTM
from rnnlab.models.space import DROPOUT, LEARNING_RATE, Among, Between, Space


@architecture("gru-cnn")
class GruCnn(Architecture):
    """A shallow bidirectional GRU beside TextCNN: order from the one, telling phrases from the other.

    Both read the tokens; neither reads the other. The summary is the GRU's last state of each direction beside the
    strongest answer of each filter over time."""

    added: ClassVar[tuple[str, ...]] = (*Architecture.added, "centred")
    sizes: ClassVar[tuple[str, ...]] = ("hidden", "filters")
    space: ClassVar[Space] = {
        "model.hidden": Between(32, 128, log=True),
        "model.filters": Between(16, 128, log=True),
        "model.widths": Among((2, 3, 4, 5), (3, 4, 5), (1, 2, 3)),
        **DROPOUT,
        **LEARNING_RATE,
    }

    hidden: int = Field(default=64, ge=1, description="Width of the GRU's state, in each direction.")
    widths: Widths = Field(
        default=(2, 3, 4, 5),
        examples=[(1, 2, 3), (2, 3, 4, 5, 6)],
        description="Window widths of the convolution, in tokens.",
    )
    filters: int = Field(default=16, ge=1, description="Filters of each width.")
    activation: Activation = Field(default="relu", description="Of each filter.")
    centred: bool = Field(default=False, description=CENTRED)

    @model_validator(mode="after")
    def _centred_matters(self) -> Self:
        refuse_centred_without_effect(self.widths, self.centred)
        return self

    @property
    def defaults_per_token(self) -> dict[str, Any]:
        return centred_where_it_matters(self.widths)

    def build(self, input_width: int) -> Encoder:
        return GruCnnEncoder(self, input_width)


class GruCnnEncoder(Encoder):
    """(B, T, D) → states (B, T, 2 hidden + filters · widths), summary as wide."""

    gru: Encoder
    cnn: Encoder

    def __init__(self, settings: GruCnn, input_width: int):
        super().__init__()
        gru = GRU(hidden=settings.hidden, bidirectional=True, pooling="last")
        cnn = TextCNN(
            widths=settings.widths,
            filters=settings.filters,
            activation=settings.activation,
            centred=settings.centred,
            pooling="max",
        )
        self.gru, self.cnn = gru.build(input_width), cnn.build(input_width)
        self.state_width: int = self.gru.state_width + self.cnn.state_width
        self.width: int = self.gru.width + self.cnn.width

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        gru, cnn = self.gru(x, lengths), self.cnn(x, lengths)
        return Encoded(torch.cat([gru.states, cnn.states], dim=2), torch.cat([gru.summary, cnn.summary], dim=1))


@architecture("rcnn")
class RCNN(Architecture):
    """A bidirectional LSTM gives each token its context, a layer joins the two, then a max (Lai et al. 2015).

    state = tanh(W [states of both directions; the token's own vector] + b). In the paper the context stops beside the
    token and comes from plain recurrences; here, as in most later code, the LSTM's states have read the token too."""

    sizes: ClassVar[tuple[str, ...]] = ("hidden", "width")
    space: ClassVar[Space] = {
        "model.hidden": Between(32, 128, log=True),
        "model.width": Between(32, 256, log=True),
        "model.pooling": Among("max", "mean", "attention"),
        **DROPOUT,
        **LEARNING_RATE,
    }

    hidden: int = Field(default=64, ge=1, description="Width of the LSTM's state, in each direction.")
    width: int = Field(default=128, ge=2, description="Of the layer that joins a token and its context.")
    pooling: Pooling = Field(
        default="max", description="How the states become one summary; last takes half of a state at either end."
    )

    def build(self, input_width: int) -> Encoder:
        return RCNNEncoder(self, input_width)


class RCNNEncoder(Encoder):
    """(B, T, D) → states (B, T, width)."""

    def __init__(self, settings: RCNN, input_width: int):
        super().__init__()
        self.context: Encoder = LSTM(hidden=settings.hidden, bidirectional=True, pooling="last").build(input_width)
        self.join: nn.Linear = nn.Linear(self.context.state_width + input_width, settings.width)
        # At the last token the backward LSTM has read one token only: ``last`` takes half of the columns at the first.
        self.summarise_by(settings.pooling, settings.width, backward_width=settings.width // 2)

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        context = self.context(x, lengths).states
        states = zero_padding(torch.tanh(self.join(torch.cat([context, x], dim=2))), lengths)
        return Encoded(states, *self.pool(states, lengths))
