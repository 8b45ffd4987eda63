"""Dilated convolutions: blocks whose windows have gaps that double, so that few layers see far."""

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from rnnlab.models.base import Architecture, Encoded, Encoder, State, architecture
from rnnlab.models.convolution import ACTIVATIONS, Activation
from rnnlab.models.dropout import dropout_of
from rnnlab.models.pooling import Pooling, zero_padding
from rnnlab.models.space import Among, Between, Space


@architecture("dilated")
class Dilated(Architecture):
    """A temporal convolutional network: blocks of dilation 1, 2, 4 … with residual connections (Bai et al. 2018).

    Block b adds activation(convolution(x)) to x, its window taking every 2^b-th step. Together they see
    1 + (width - 1)(2^layers - 1) steps. There is one convolution a block, where the paper has two, and no weight
    normalisation."""

    sizes: ClassVar[tuple[str, ...]] = ("hidden",)
    locks_dropout: ClassVar[bool] = True
    space: ClassVar[Space] = {
        "model.hidden": Between(32, 256, log=True),
        "model.layers": Between(2, 6),
        "model.width": Among(2, 3, 5),
        "model.dropout": Between(0.0, 0.5),
        "model.pooling": Among("max", "mean", "attention"),
        "model.embedding.dropout": Between(0.0, 0.5),
        "training.lr": Between(5e-4, 1e-2, log=True),
    }

    hidden: int = Field(default=128, ge=1, description="Channels of each block.")
    layers: int = Field(default=4, ge=1, le=10, description="Blocks; each doubles the dilation of the one before.")
    width: int = Field(default=3, ge=2, le=100, description="Of the window, in steps of the block's dilation.")
    activation: Activation = Field(default="relu", description="After each convolution.")
    residual: bool = Field(default=True, description="Whether a block adds to its input; false replaces it.")
    look_ahead: bool = Field(
        default=True,
        description="Windows centred on a token (an even width has one step more ahead); false: the past only.",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="On what each convolution gives, in training.")
    pooling: Pooling = Field(default="max", description="How the states become one summary.")

    @property
    def causal(self) -> bool:
        return not self.look_ahead

    def build(self, input_width: int) -> Encoder:
        return DilatedEncoder(self, input_width)


class DilatedEncoder(Encoder):
    """(B, T, D) → states (B, T, hidden)."""

    def __init__(self, settings: Dilated, input_width: int):
        super().__init__()
        widths = [input_width] + [settings.hidden] * (settings.layers - 1)
        self.blocks: nn.ModuleList = nn.ModuleList(
            Block(settings, width, 2**layer) for layer, width in enumerate(widths)
        )
        self.causal: bool = settings.causal
        self.summarise_by(settings.pooling, settings.hidden)

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        x = zero_padding(x, lengths)
        for block in self.blocks:
            x = zero_padding(block(x), lengths)  # biases fill the padding, and the next window would see it
        return Encoded(x, *self.pool(x, lengths))

    def _begin(self, rows: int) -> State:
        like = next(self.parameters())
        return tuple(like.new_zeros(rows, *block.memory) for block in self.blocks if isinstance(block, Block))

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """A state holds what each block has still to look back to: its last inputs, (B, steps, D)."""
        after: list[Tensor] = []
        x = zero_padding(x, lengths)
        for block, before in zip(self.blocks, state, strict=True):
            known = torch.cat([before, x], dim=1)
            kept = lengths[:, None] + torch.arange(before.shape[1], device=x.device)  # (B, steps): the last real ones
            after.append(known[torch.arange(len(x), device=x.device)[:, None], kept])
            x = zero_padding(block(x, before), lengths)
        return x, tuple(after)


class Block(nn.Module):
    """(B, T, D) → (B, T, hidden): one dilated convolution and the way around it."""

    def __init__(self, settings: Dilated, input_width: int, dilation: int):
        super().__init__()
        self.convolution: DilatedWindows = DilatedWindows(settings, input_width, dilation)
        self.activation: Callable[[Tensor], Tensor] = ACTIVATIONS[settings.activation]
        self.dropout: nn.Dropout = dropout_of(settings.dropout, locked=settings.locked_dropout)
        self.around: nn.Module | None = None
        if settings.residual:
            same = input_width == settings.hidden
            self.around = nn.Identity() if same else nn.Linear(input_width, settings.hidden, bias=False)

    @property
    def memory(self) -> tuple[int, int]:
        """(steps, D) of the past that the next window may see."""
        offsets, filters = self.convolution.offsets, self.convolution.filters
        return -int(offsets[0]), filters.in_features // len(offsets)

    def forward(self, x: Tensor, before: Tensor | None = None) -> Tensor:
        """``before`` (B, steps, D): what stood ahead of ``x``, for windows of the past; zeros unless it is given."""
        added = self.dropout(self.activation(self.convolution(x, before)))
        return added if self.around is None else self.around(x) + added


class DilatedWindows(nn.Module):
    """(B, T, D) → (B, T, hidden): filters over each token's window, which sees zeros beyond either end.

    One matrix product over the steps of a window laid side by side. Forward and backward at (B, T, D, H) = (64, 25, 50,
    128), width 3, one thread: 2.3 ms against 4.3 with ``nn.Conv1d``."""

    offsets: Tensor  # (width,), of a window's steps from its token

    def __init__(self, settings: Dilated, input_width: int, dilation: int):
        super().__init__()
        behind = (settings.width - 1) // 2 if settings.look_ahead else settings.width - 1
        self.register_buffer("offsets", dilation * (torch.arange(settings.width) - behind), persistent=False)
        self.filters: nn.Linear = nn.Linear(settings.width * input_width, settings.hidden)  # begins as nn.Conv1d does

    def forward(self, x: Tensor, before: Tensor | None = None) -> Tensor:
        batch, steps, width = x.shape
        seen = torch.arange(steps, device=x.device)[:, None] + self.offsets  # (T, width)
        if before is not None:
            windows = torch.cat([before, x], dim=1).index_select(1, seen.reshape(-1) + before.shape[1])
        else:
            rows = seen.clamp(-1, steps).reshape(-1) + 1  # beyond the ends: the zeros put there below
            windows = F.pad(x, (0, 0, 1, 1)).index_select(1, rows)
        return self.filters(windows.view(batch, steps, len(self.offsets) * width))
