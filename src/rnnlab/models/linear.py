"""No mixing over time: what order and context are worth is the distance to this one."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from rnnlab.models.base import Architecture, Encoded, Encoder, State, architecture
from rnnlab.models.pooling import Pooling, zero_padding
from rnnlab.models.space import DROPOUT, LEARNING_RATE, Among, Between, Space

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"none": lambda x: x, "tanh": torch.tanh, "relu": F.relu}


@architecture("linear")
class Linear(Architecture):
    """One layer on each token by itself, then a mean: the others are worth what they add to this.

    With activation none it is a linear model of the bag of words, with tanh ``rnn`` without its recurrence."""

    text_defaults: ClassVar[dict[str, Any]] = {}  # it gains nothing by dropout: docs/decisions/0022
    space: ClassVar[Space] = {
        "model.hidden": Between(32, 256, log=True),
        "model.activation": Among("none", "tanh", "relu"),
        "model.pooling": Among("mean", "max", "attention"),
        **DROPOUT,
        **LEARNING_RATE,
    }

    hidden: int = Field(default=128, ge=1, description="Width of the layer.")
    activation: Literal["none", "tanh", "relu"] = Field(default="none", description="After the layer.")
    pooling: Pooling = Field(default="mean", description="How the tokens become one summary.")

    @property
    def causal(self) -> bool:
        return True

    def build(self, input_width: int) -> Encoder:
        return LinearEncoder(self, input_width)


class LinearEncoder(Encoder):
    """(B, T, D) → states (B, T, hidden), each from its own token alone."""

    def __init__(self, settings: Linear, input_width: int):
        super().__init__()
        self.causal = True
        self.layer: nn.Linear = nn.Linear(input_width, settings.hidden)
        self.activation: Callable[[Tensor], Tensor] = ACTIVATIONS[settings.activation]
        self.summarise_by(settings.pooling, settings.hidden)

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = zero_padding(self.activation(self.layer(x)), lengths)
        return Encoded(states, *self.pool(states, lengths))

    def _begin(self, rows: int) -> State:
        return ()  # no step hears of another

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        return zero_padding(self.activation(self.layer(x)), lengths), state
