"""Convolutions over windows of tokens, as in TextCNN, and the two-channel CNN2."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import AfterValidator, Field, model_validator
from torch import Tensor, nn

from rnnlab.core.errors import WrongValue
from rnnlab.core.words import note
from rnnlab.kernels import ops
from rnnlab.models.base import Architecture, Encoded, Encoder, architecture
from rnnlab.models.pooling import Pooling, zero_padding
from rnnlab.models.space import DROPOUT, LEARNING_RATE, Among, Between, Space

Activation = Literal["relu", "tanh", "gelu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "tanh": torch.tanh, "gelu": F.gelu}


def _no_width_twice(widths: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(widths)) < len(widths):
        raise WrongValue("{lengths} has a width twice; raise filters instead", lengths=list(widths))
    return widths


Widths = Annotated[
    tuple[Annotated[int, Field(ge=1, le=100)], ...], Field(min_length=1), AfterValidator(_no_width_twice)
]


CENTRED = (
    "Windows have their token in the middle (an even width has one token more ahead), as suits an answer for every "
    "token; false: they start there."
)


def tokens_before(width: int, centred: bool) -> int:
    """How many tokens of a window lie before its own."""
    return (width - 1) // 2 if centred else 0


def refuse_centred_without_effect(widths: tuple[int, ...], centred: bool) -> None:
    if centred and max(widths) <= 2:
        raise WrongValue(
            "centred = true changes nothing for windows of one or two tokens, which start at theirs; leave it out"
        )


def centred_where_it_matters(widths: tuple[int, ...]) -> dict[str, Any]:
    return {"centred": True} if max(widths) > 2 else {}


class Convolutional(Architecture):
    """What the convolutions share."""

    added: ClassVar[tuple[str, ...]] = (*Architecture.added, "centred")
    sizes: ClassVar[tuple[str, ...]] = ("filters",)
    space: ClassVar[Space] = {
        "model.filters": Between(16, 128, log=True),
        "model.widths": Among((2, 3, 4, 5), (3, 4, 5), (1, 2, 3)),
        **DROPOUT,
        **LEARNING_RATE,
    }

    widths: Widths = Field(
        default=(2, 3, 4, 5), examples=[(1, 2, 3), (2, 3, 4, 5, 6)], description="Window widths, in tokens."
    )
    filters: int = Field(default=16, ge=1, description="Filters of each width.")
    activation: Activation = Field(default="relu", description="Of each filter.")
    pooling: Pooling = Field(default="max", description="How the windows become one summary.")
    centred: bool = Field(default=False, description=CENTRED)

    @model_validator(mode="after")
    def _centred_matters(self) -> Self:
        refuse_centred_without_effect(self.widths, self.centred)
        return self

    @property
    def defaults_per_token(self) -> dict[str, Any]:
        return centred_where_it_matters(self.widths)

    @property
    def causal(self) -> bool:
        return max(self.widths) == 1

    def build(self, input_width: int) -> Encoder:
        return ConvolutionalEncoder(self, input_width)


@architecture("textcnn")
class TextCNN(Convolutional):
    """Filters of several widths side by side, then the strongest answer of each over time."""


@architecture("cnn2")
class CNN2(Convolutional):
    """TextCNN over two channels, a random one that is trained and a pre-trained one that is frozen.

    One kernel lies over both channels and sums over them: of width h it has 2 · h · D weights, and its answer is one
    number. ``embedding.channels`` = frozen, tuned or random leaves one channel, to see what the second is worth."""

    needs_vectors: ClassVar[bool] = True

    def check(self, input_kind: Literal["tokens", "features"]) -> list[str]:
        if input_kind == "features":
            problem = note("'cnn2' reads words through two embeddings, and these are numbers; take 'textcnn'")
            return [note("model.kind: {problem}", problem=problem)]
        if self.embedding is None or self.embedding.channels is None:
            return [
                note(
                    "model.embedding.channels: 'cnn2' needs 'two', one of them pre-trained: pass --vectors FILE or "
                    "--vectors glove-6b-50d; or choose one channel: 'frozen', 'tuned' or 'random'"
                )
            ]
        return []


class ConvolutionalEncoder(Encoder):
    """(B, T, D) → states (B, T, H), H = filters × number of widths: state i is of the windows that start at token i, or
    have it in the middle."""

    def __init__(self, settings: Convolutional, input_width: int):
        super().__init__()
        self.convolution: Windows = Windows(settings.widths, settings.filters, input_width, settings.centred)
        self.activation: Callable[[Tensor], Tensor] = ACTIVATIONS[settings.activation]
        self.causal: bool = settings.causal
        self.summarise_by(settings.pooling, settings.filters * len(settings.widths))
        self.native: bool = settings.activation == "relu" and settings.pooling == "max"  # what the native kernel can do

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        if self.native and self.training and torch.is_grad_enabled():  # elsewhere, every layer can be looked at
            windows = self.convolution
            found = ops.highest_answers(x, lengths, windows.bias, list(windows.weights), windows.before)
            if found is not None:
                return Encoded(*found)
        windows = self.convolution(zero_padding(x, lengths))
        states = zero_padding(self.activation(windows), lengths)
        return Encoded(states, *self.pool(states, lengths))


class Windows(nn.Module):
    """(B, T, D) → (B, T, filters · widths): filters over the window of each width that starts at each token, or has it
    in the middle. Beyond either end a window sees zeros, so a sequence of any length has an answer.

    All widths are one matrix product: every token is laid beside its neighbours, as far as the widest window goes, and
    narrow filters are filled up with zeros. That takes less than half the time of one ``nn.Conv1d`` per width."""

    def __init__(self, widths: tuple[int, ...], filters: int, input_width: int, centred: bool = False):
        super().__init__()
        self.widest: int = max(widths)
        self.before: tuple[int, ...] = tuple(tokens_before(width, centred) for width in widths)
        self.weights: nn.ParameterList = nn.ParameterList(torch.empty(filters, width * input_width) for width in widths)
        self.bias: nn.Parameter = nn.Parameter(torch.empty(filters * len(widths)))
        with torch.no_grad():  # uniform within 1 / sqrt(inputs of a filter), as nn.Conv1d begins
            for weight, bias in zip(self.weights, self.bias.split(filters), strict=True):
                bound = weight.shape[1] ** -0.5
                weight.uniform_(-bound, bound)
                bias.uniform_(-bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        batch, steps, width = x.shape
        furthest = max(self.before)  # tokens before its own that the widest window sees
        offsets = torch.arange(self.widest, device=x.device)
        neighbours = (torch.arange(steps, device=x.device)[:, None] + offsets).reshape(-1)  # (T · widest,)
        x = F.pad(x, (0, 0, furthest, self.widest - 1 - furthest))
        windows = x.index_select(1, neighbours).view(batch, steps, self.widest * width)
        filled = []
        for weight, before in zip(self.weights, self.before, strict=True):
            ahead = (furthest - before) * width
            filled.append(F.pad(weight, (ahead, self.widest * width - ahead - weight.shape[1])))
        return F.linear(windows, torch.cat(filled), self.bias)
