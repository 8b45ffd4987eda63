"""What an architecture is: settings that build an encoder. An encoder knows no task."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from rnnlab.config import Config
from rnnlab.models.embedding import Embedding
from rnnlab.registry import Registry


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of a batch."""

    states: Tensor  # (B, T, H), zero at padding
    summary: Tensor  # (B, S), what pooling made of them


class Architecture(Config):
    """Pure data: its fields are its schema, its documentation and its sweep axes."""

    causal: ClassVar[bool] = False
    """Whether ``states[:, t]`` depends on inputs up to t only; ``check_architecture`` holds it to that."""

    embedding: Embedding | None = Field(None, description="Token embedding; filled in for text, refused for numbers.")
    output_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout on the summary, before the head.")

    def build(self, input_width: int) -> nn.Module:
        """An encoder: ``(x (B, T, input_width), lengths (B,)) -> Encoded``, with ``.width`` = S of the summary
        and ``.state_width`` = H of the states."""
        raise NotImplementedError


ARCHITECTURES: Registry[Architecture] = Registry(
    "model",
    (
        "rnnlab.models.recurrent",
        "rnnlab.models.convolution",
        "rnnlab.models.transformer",
        "rnnlab.models.linear",
    ),
)
architecture = ARCHITECTURES.register
