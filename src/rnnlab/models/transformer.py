"""A Transformer encoder: every token looks at every other, in one step and in parallel."""

import math
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, ValidationInfo, field_validator, model_validator
from torch import Tensor, nn

from rnnlab.core.errors import DataError, WrongValue
from rnnlab.kernels import ops
from rnnlab.models.base import Architecture, Encoded, Encoder, State, architecture
from rnnlab.models.pooling import Pooling, inside, zero_padding
from rnnlab.models.space import Among, Between, Space


@architecture("transformer")
class Transformer(Architecture):
    """Every token looks at every other: layers of self-attention and feed-forward networks.

    Each part reads its input normalised and adds to it (pre-norm); one more norm stands at the end."""

    sizes: ClassVar[tuple[str, ...]] = ("width", "feedforward")
    knows_no_longer: ClassVar[bool] = True
    training_defaults: ClassVar[dict[str, Any]] = {"lr": 0.002, "schedule": {"shape": "plateau", "rise": 400}}
    model_defaults: ClassVar[dict[str, Any]] = {"pooling": "max", "dropout": 0.0}
    text_defaults: ClassVar[dict[str, Any]] = {}
    space: ClassVar[Space] = {
        "model.width": Among(32, 64, 128),
        "model.layers": Between(1, 4),
        "model.heads": Among(2, 4, 8),
        "model.feedforward": Among(64, 128, 256, 512),
        "model.dropout": Between(0.0, 0.4),
        "model.pooling": Among("mean", "max", "attention"),
        "model.embedding.dropout": Between(0.0, 0.5),
        "training.lr": Between(1e-4, 3e-3, log=True),
    }

    width: int = Field(default=64, ge=1, description="Of the model; the input is projected to it.")
    layers: int = Field(default=2, ge=1, le=24, description="Attention and feed-forward, stacked.")
    heads: int = Field(default=4, ge=1, description="Attention heads; they share the width evenly.")
    feedforward: int = Field(default=128, ge=1, description="Inner width of the feed-forward network.")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="On attention and on what each part adds, in training.")
    positions: Literal["sinusoidal", "learned"] = Field(default="sinusoidal", description="How order is told.")
    max_length: int | None = Field(default=None, ge=1, description="Longest sequence that learned positions can take.")
    look_ahead: bool = Field(default=True, description="Whether a token sees later ones; false masks them.")
    pooling: Pooling = Field(default="mean", description="How the states become one summary.")

    @field_validator("heads")
    @classmethod
    def _heads_share_the_width(cls, heads: int, info: ValidationInfo) -> int:
        width = info.data.get("width", heads)  # absent when it is itself wrong
        if width % heads:
            right = [number for number in range(1, width + 1) if width % number == 0]
            around = [*[n for n in right if n < heads][-1:], *[n for n in right if n > heads][:1]]
            raise WrongValue(
                "{heads} heads can't share width = {width} evenly; {names} can",
                heads=heads,
                width=width,
                names=" or ".join(map(str, around)),
            )
        return heads

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if self.positions == "learned" and self.max_length is None:
            raise WrongValue("positions = 'learned' needs max_length, the longest sequence it will ever meet")
        if self.positions == "sinusoidal" and self.max_length is not None:
            raise WrongValue(
                "max_length = {max_length} would be ignored: sinusoidal positions have no end; leave it "
                "out, or take positions = 'learned'",
                max_length=self.max_length,
            )
        return self

    @property
    def causal(self) -> bool:
        return not self.look_ahead

    def build(self, input_width: int) -> Encoder:
        return TransformerEncoder(self, input_width)


class TransformerEncoder(Encoder):
    """(B, T, D) → states (B, T, width)."""

    look_ahead: bool
    causal: bool
    positions: "SinusoidalPositions | LearnedPositions"

    def __init__(self, settings: Transformer, input_width: int):
        super().__init__()
        self.heads: int = settings.heads
        self.feedforward: int = settings.feedforward
        self.look_ahead, self.causal = settings.look_ahead, settings.causal
        self.project: nn.Linear = nn.Linear(input_width, settings.width)
        if settings.max_length is None:
            self.positions = SinusoidalPositions(settings.width)
        else:
            self.positions = LearnedPositions(settings.max_length, settings.width)
        self.dropout: nn.Dropout = nn.Dropout(settings.dropout)
        self.layers: nn.ModuleList = nn.ModuleList(Layer(settings) for _ in range(settings.layers))
        self.norm: nn.LayerNorm = nn.LayerNorm(settings.width)
        self.summarise_by(settings.pooling, settings.width)
        # To look for hooks and weights by `modules()` and `parameters()` in each pass would take long
        self._inner = tuple(module for module in self.modules() if module not in (self, self.pool))
        self._weighted = tuple(m for m in self._inner if isinstance(m, nn.Linear | nn.LayerNorm))

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        states = self._natively(x, lengths)
        if states is not None:
            return Encoded(states, *self.pool(states, lengths))
        steps = x.shape[1]
        keys = inside(lengths, steps)[:, None, None]  # (B, 1, 1, T): every head and query may look at real tokens
        if not self.look_ahead:  # (B, 1, T, T): … up to itself. Token 0 is real, so every query, padding too, sees one
            keys = keys & torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril()
        x = self.dropout(self.project(x) + self.positions(steps, lengths))
        for layer in self.layers:
            x = layer(x, keys)
        states = zero_padding(self.norm(x), lengths)
        return Encoded(states, *self.pool(states, lengths))

    def _begin(self, rows: int) -> State:
        like = self.norm.weight
        empty = [like.new_zeros(rows, 0, self.state_width) for _ in range(2 * len(self.layers))]
        return like.new_zeros(rows, 0, dtype=torch.bool), *empty

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """A state holds which of the steps so far are real, (B, S), and the keys and values of each layer in turn,
        (B, S, W). Padding is kept with the rest, and never looked at."""
        real, *known = state
        steps, read = x.shape[1], inside(lengths, x.shape[1])
        place = real.sum(1, keepdim=True) + torch.arange(steps, device=x.device)  # (B, T)
        ahead = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril()
        ahead = ahead & (read[:, None] | torch.eye(steps, dtype=torch.bool, device=x.device))  # padding sees itself
        seen = torch.cat([real[:, None].expand(-1, steps, -1), ahead], dim=2)[:, None]  # (B, 1, T, S + T)
        x = self.project(x) + self.positions.at(place.where(read, 0))
        after: list[Tensor] = []
        for layer, key, value in zip(self.layers, known[::2], known[1::2], strict=True):
            assert isinstance(layer, Layer)
            x, *kept = layer.advance(x, seen, key, value)
            after += kept
        return zero_padding(self.norm(x), lengths), (torch.cat([real, read], dim=1), *after)

    def _natively(self, x: Tensor, lengths: Tensor) -> Tensor | None:
        """The states of `forward`; None where native code isn't faster. It runs past the single modules: not while
        somebody looks at one of them. What is dropped depends on one number, drawn there."""
        if any(
            module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
            for module in self._inner
        ):
            return None
        dropout = self.dropout.p if self.training else 0.0
        weights = [weight for module in self._weighted for weight in module._parameters.values() if weight is not None]
        shape = ops.TransformerShape(self.heads, self.look_ahead, dropout)
        return ops.encode_transformer(shape, x, lengths, self.positions(x.shape[1], lengths), weights)


class Layer(nn.Module):
    """x + attention(norm(x)), then x + feedforward(norm(x)); (B, T, W) → (B, T, W)."""

    def __init__(self, settings: Transformer):
        super().__init__()
        width = settings.width
        self.heads: int = settings.heads
        self.attention_norm: nn.LayerNorm = nn.LayerNorm(width)
        self.query_key_value: nn.Linear = nn.Linear(width, 3 * width, bias=False)  # softmax cancels a bias of the keys
        self.output: nn.Linear = nn.Linear(width, width)
        self.feedforward: nn.Sequential = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, settings.feedforward),
            nn.GELU(),
            nn.Linear(settings.feedforward, width),
        )
        self.dropout: nn.Dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, keys: Tensor) -> Tensor:
        x = x + self.dropout(self._attend(self.attention_norm(x), keys))
        return x + self.dropout(self.feedforward(x))

    def advance(self, x: Tensor, seen: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same for new steps alone, given keys and values (B, S, W) of those before, which are returned with the
        new ones; ``seen`` (B, 1, T, S + T)."""
        query, *new = self.query_key_value(self.attention_norm(x)).chunk(3, dim=2)
        key, value = (torch.cat(both, dim=1) for both in zip((key, value), new, strict=True))
        query, keys, values = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (query, key, value))
        found = F.scaled_dot_product_attention(query, keys, values, attn_mask=seen)
        x = x + self.output(found.transpose(1, 2).flatten(2))
        return x + self.feedforward(x), key, value

    def _attend(self, x: Tensor, keys: Tensor) -> Tensor:
        batch, steps, width = x.shape
        split = self.query_key_value(x).view(batch, steps, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (B, heads, T, width / heads)
        dropout = self.dropout.p if self.training else 0.0
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=keys, dropout_p=dropout)
        return self.output(seen.transpose(1, 2).reshape(batch, steps, width))


class SinusoidalPositions(nn.Module):
    """Sines and cosines, in turn, of wavelengths from 2π to 10,000 · 2π; (T, W), for any T."""

    frequency: Tensor  # (W,)
    phase: Tensor  # (W,)

    def __init__(self, width: int):
        super().__init__()
        channel = torch.arange(width)
        frequency = torch.exp(-math.log(10_000) * (channel - channel % 2) / width)
        self.register_buffer("frequency", frequency, persistent=False)
        self.register_buffer("phase", channel % 2 * (math.pi / 2), persistent=False)

    def forward(self, steps: int, lengths: Tensor) -> Tensor:
        return self.at(torch.arange(steps, device=lengths.device))

    def at(self, place: Tensor) -> Tensor:
        """(…) numbers of steps → (…, W)."""
        return torch.sin(place[..., None] * self.frequency + self.phase)


class LearnedPositions(nn.Module):
    """A trained vector for each position below ``max_length``; (T, W). Padding may go further, a sequence may not."""

    def __init__(self, max_length: int, width: int):
        super().__init__()
        self.max_length = max_length
        self.table: nn.Parameter = nn.Parameter(torch.randn(max_length, width) * 0.02)

    def forward(self, steps: int, lengths: Tensor) -> Tensor:
        if steps <= self.max_length:
            return self.table[:steps]
        self._check(int(lengths.max()))
        return F.pad(self.table, (0, 0, 0, steps - self.max_length))

    def at(self, place: Tensor) -> Tensor:
        """(…) numbers of steps → (…, W)."""
        self._check(int(place.max()) + 1)
        return self.table[place]

    def _check(self, longest: int) -> None:
        if longest > self.max_length:
            raise DataError(
                "a sequence has {longest} steps, but the learned positions of this transformer end at "
                "model.max_length = {max_length}; cut the sequence, or train with a larger max_length or "
                "with positions = 'sinusoidal'",
                longest=longest,
                max_length=self.max_length,
            )
