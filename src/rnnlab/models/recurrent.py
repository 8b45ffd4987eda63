"""Recurrent networks: a state carried from step to step, in one direction or both.

Sequences are never packed. A forward recurrence reaches padding only after the real steps, so padding can't touch
them; a backward one reads each sequence mirrored within its own length, so it starts at the last real step.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from rnnlab.core.errors import WrongValue
from rnnlab.kernels import ops
from rnnlab.models.base import Architecture, Encoded, Encoder, State, architecture
from rnnlab.models.cells import Cell, GRUCell, LSTMCell, RecurrentInit, RNNCell
from rnnlab.models.dropout import dropout_of
from rnnlab.models.pooling import Pooling, inside, zero_padding
from rnnlab.models.space import DROPOUT, LEARNING_RATE, Among, Between, Space

Way = tuple[Cell, State, Tensor | None]  # a cell, where it begins, and what it drops of its state
InitialState = Literal["zeros", "normal", "xavier", "xavier-he", "learned"]


class Layered(Architecture):
    """What all recurrences share: layers of one width, in one direction or both."""

    reads_in_turn: ClassVar[bool] = True
    locks_dropout: ClassVar[bool] = True
    space: ClassVar[Space] = {
        "model.hidden": Between(32, 256, log=True),
        "model.layers": Among(1, 2),
        "model.dropout": Between(0.0, 0.5, when={"model.layers": (2,)}),
        "model.pooling": Among("max", "mean", "attention", "last"),
        **DROPOUT,
        **LEARNING_RATE,
    }

    hidden: int = Field(default=128, ge=1, description="Width of the state, in each direction.")
    layers: int = Field(default=1, ge=1, le=8, description="Recurrences stacked on each other.")
    bidirectional: bool = Field(default=False, description="Read from the end, too; states lie side by side.")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="Between layers, in training.")

    @property
    def causal(self) -> bool:
        return not self.bidirectional


class Recurrent(Layered):
    """What the recurrent architectures share: all but the cell."""

    added: ClassVar[tuple[str, ...]] = (*Architecture.added, "weight_dropout")
    cell: ClassVar[type[Cell]]
    """Of one layer in one direction, built from these settings and the width of its input."""

    recurrent_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="On the state where it enters a step, in training; one mask per sequence."
    )
    weight_dropout: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Share of the recurrent weights that are zero in an update, the same ones at all of its steps.",
    )
    layer_norm: bool = Field(
        default=False, description="Normalise what input and state bring to each gate, inside the cell."
    )
    residual: bool = Field(default=False, description="Add its input to what each layer after the first makes.")
    recurrent_init: RecurrentInit = Field(
        default="uniform", description="Recurrent weights at first; uniform is PyTorch's, within ±1/√hidden."
    )
    initial_state: InitialState = Field(
        default="zeros",
        description="Where a sequence starts. normal, xavier (variance 1/hidden) and xavier-he (2/hidden) are drawn "
        "for each sequence in training; evaluation then starts from their mean, zeros.",
    )
    initial_scale: float | None = Field(
        default=None, gt=0, description="Of a normal initial_state: its standard deviation (1)."
    )
    state: Literal["reset", "carried"] = Field(
        default="reset",
        description="Between training batches: start afresh, or, row by row, where the last batch ended. Evaluation "
        "then starts from the mean of where the last training batch ended.",
    )
    checkpoint_segments: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="Parts of a sequence that the backward pass computes again: less memory, more time.",
    )
    pooling: Pooling = Field(default="max", description="How the states become one summary.")

    @model_validator(mode="after")
    def _every_option_has_a_place(self) -> Self:
        if self.dropout > 0 and self.layers == 1:
            raise WrongValue(
                "dropout = {dropout:g} lies between layers and would be ignored with layers = 1; use "
                "output_dropout, recurrent_dropout or embedding.dropout, or more layers",
                dropout=self.dropout,
            )
        if self.weight_dropout > 0 and self.checkpoint_segments > 1:
            raise WrongValue(
                "weight_dropout = {weight_dropout:g} draws weights once per update, and checkpoint_segments = "
                "{segments} computes parts of it again; leave one of them out",
                weight_dropout=self.weight_dropout,
                segments=self.checkpoint_segments,
            )
        if self.residual and self.layers == 1:
            raise WrongValue("residual = true leads around the layers after the first, and layers = 1; take 2 or more")
        if self.layer_norm and self.hidden == 1:
            raise WrongValue("layer_norm = true would turn the one unit of hidden = 1 into zero; take more units")
        if self.initial_scale is not None and self.initial_state != "normal":
            raise WrongValue(
                "initial_scale = {initial_scale:g} would be ignored with initial_state = "
                "'{initial_state}'; take initial_state = 'normal', or leave it out",
                initial_scale=self.initial_scale,
                initial_state=self.initial_state,
            )
        return self

    @model_validator(mode="after")
    def _state_can_be_carried(self) -> Self:
        if self.state == "carried" and self.bidirectional:
            raise WrongValue(
                "state = 'carried' needs bidirectional = false: a backward reading ends at a first token, "
                "where no other sequence goes on"
            )
        if self.state == "carried" and self.initial_state == "learned":
            raise WrongValue(
                "state = 'carried' would leave initial_state = 'learned' untrained after the first batch; "
                "take state = 'reset', or another initial_state"
            )
        return self

    def build(self, input_width: int) -> Encoder:
        return RecurrentEncoder(self, input_width)


@architecture("rnn")
class RNN(Recurrent):
    """The simple recurrence: h_t = activation(W_xh x_t + W_hh h_{t-1} + b)."""

    cell: ClassVar[type[Cell]] = RNNCell

    activation: Literal["tanh", "relu"] = Field(default="tanh", description="Of the state.")


@architecture("lstm")
class LSTM(Recurrent):
    """Input, forget and output gates around a cell that is added to, not multiplied through."""

    cell: ClassVar[type[Cell]] = LSTMCell

    forget_bias: float = Field(default=1.0, description="Of the forget gate at first; 1 begins by remembering.")


@architecture("gru")
class GRU(Recurrent):
    """Update and reset gates: fewer weights than the LSTM, no separate cell."""

    cell: ClassVar[type[Cell]] = GRUCell

    reset: Literal["after", "before"] = Field(
        default="after", description="Where the reset gate acts: after the matrix product (PyTorch) or before it."
    )


class LayeredEncoder(Encoder):
    """(B, T, D) → states (B, T, H): H = hidden, or 2 hidden with the backward direction in the second half.
    ``layer(settings, width of its input)`` is one of them in one direction."""

    def __init__(self, settings: Any, layer: Callable[[Any, int], nn.Module], input_width: int):
        super().__init__()
        self.causal: bool = settings.causal
        self.state_width: int = (2 if settings.bidirectional else 1) * settings.hidden
        widths = [input_width] + [self.state_width] * (settings.layers - 1)
        self.ahead: nn.ModuleList = nn.ModuleList(layer(settings, width) for width in widths)
        self.back: nn.ModuleList = nn.ModuleList(layer(settings, width) for width in widths if settings.bidirectional)
        self.dropout: nn.Dropout = dropout_of(settings.dropout, locked=settings.locked_dropout)
        self.summarise_by(settings.pooling, self.state_width, backward_width=self.state_width - settings.hidden)


class RecurrentEncoder(LayeredEncoder):
    """The driver of cells: layers, directions, masks, where a sequence starts and what the next batch is told of its
    end."""

    resting: Tensor  # (layers, parts, H), of a state that is carried: where evaluation starts. docs/initial-state.md

    def __init__(self, settings: Recurrent, input_width: int):
        super().__init__(settings, settings.cell, input_width)
        self.settings = settings
        self.parts: int = settings.cell.parts
        if settings.initial_state == "learned":
            directions = self.state_width // settings.hidden
            self.start: nn.Parameter = nn.Parameter(
                torch.zeros(directions, settings.layers, self.parts, settings.hidden)
            )
        if settings.state == "carried":
            self.register_buffer("resting", torch.zeros(settings.layers, self.parts, settings.hidden))

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        carrying = self.training and self.settings.state == "carried"
        states, ends, last = self._run(x, lengths, lambda way, layer: self._start(way, layer, x), carrying)
        if carrying:
            self._carry(torch.stack([torch.stack(end) for end in ends]))
        if last is not None and self.settings.pooling == "last":
            return Encoded(states, last)
        return Encoded(states, *self.pool(states, lengths))

    def _begin(self, rows: int) -> State:
        zeros = next(self.parameters()).new_zeros(self.parts, self.settings.hidden)
        starts = [self.starting(0, layer) or tuple(zeros) for layer in range(self.settings.layers)]
        return tuple(part.expand(rows, -1).contiguous() for start in starts for part in start)

    def advance(self, x: Tensor, lengths: Tensor, state: State) -> tuple[Tensor, State]:
        """A state holds h, or h and c, of each layer in turn: (B, H) each."""
        read = lengths.clamp(min=1)  # a row that has nothing to read reads padding, and is put back
        states, ends, _ = self._run(
            x, read, lambda _, layer: state[layer * self.parts : (layer + 1) * self.parts], wanted=True
        )
        after = tuple(part for end in ends for part in end)
        if bool((lengths < 1).any()):
            states = zero_padding(states, lengths)
            after = tuple(torch.where((lengths > 0)[:, None], new, old) for new, old in zip(after, state, strict=True))
        return states, after

    def _run(
        self, x: Tensor, lengths: Tensor, start: Callable[[int, int], State], wanted: bool
    ) -> tuple[Tensor, list[State], Tensor | None]:
        """All layers: the states of the last one, zero at padding; of each layer the state after each sequence's last
        step, if ``wanted``; and that of the last layer where native code gave it, which has it for nothing.
        ``start(direction, layer)`` is where a cell begins."""
        ends: list[State] = []
        native: tuple[Tensor, ...] | None = None
        for layer, cells in enumerate(zip(*filter(len, (self.ahead, self.back)), strict=True)):
            given = self.dropout(x) if layer > 0 else x
            for cell in cells:
                cell.drop_weights()
            ways = [(cell, start(number, layer), self._mask(x)) for number, cell in enumerate(cells)]
            native = self._natively(given, lengths, ways)
            states, *end = native or self._in_torch(given, lengths, ways, wanted)
            ends.append(tuple(end))
            x = x + states if self.settings.residual and layer > 0 else states
        if native is None:
            return zero_padding(x, lengths), ends, None
        residual = self.settings.residual and self.settings.layers > 1
        return x, ends, None if residual else native[1]

    def _natively(self, x: Tensor, lengths: Tensor, ways: list[Way]) -> tuple[Tensor, ...] | None:
        """A layer by native code, which reads backward without copies, leaves zeros at padding, and gives the states
        after each sequence's last step. None where it doesn't do what the options ask for."""
        if self.settings.checkpoint_segments > 1 or not all(cell.plain for cell, _, _ in ways):
            return None
        directions = (cell.direction(start, mask) for cell, start, mask in ways)
        return ops.recur(ways[0][0].native, x, lengths, *directions)

    def _in_torch(self, x: Tensor, lengths: Tensor, ways: list[Way], wanted: bool) -> tuple[Tensor, ...]:
        """The same by the cells themselves, cell by cell; padding isn't zero."""
        (cell, start, mask), *backward = ways
        real = inside(lengths, x.shape[1]) if wanted and self.parts > 1 and lengths.min() < x.shape[1] else None
        states, end = cell(x, start, mask, real)
        if wanted:
            end = (states[torch.arange(len(x), device=x.device), lengths - 1], *end[1:])
        for cell, start, mask in backward:
            order = mirror_order(lengths, x.shape[1])
            mirrored, _ = cell(mirror(x, order), start, mask)
            states = torch.cat([states, mirror(mirrored, order)], dim=2)
        return states, *(end if wanted else ())

    def starting(self, direction: int, layer: int) -> State:
        """Where a layer begins in evaluation: (H,) each; empty for zeros."""
        if self.settings.initial_state == "learned":
            return tuple(self.start[direction, layer])
        return tuple(self.resting[layer]) if self.settings.state == "carried" else ()

    def _start(self, direction: int, layer: int, x: Tensor) -> State:
        """Where a layer begins, for each row of ``x``."""
        batch = x.shape[0]
        if self.settings.initial_state == "learned" or not self.training:
            return tuple(part.expand(batch, -1) for part in self.starting(direction, layer))
        if self.carried is None:
            return self._draw(batch, x)
        carried = tuple(self.carried[layer, :, :batch])  # as many rows as there are
        missing = batch - carried[0].shape[0]
        if missing == 0:
            return carried
        fresh = self._draw(missing, x) or (x.new_zeros(missing, self.settings.hidden),) * self.parts
        return tuple(torch.cat(rows) for rows in zip(carried, fresh, strict=True))

    def _draw(self, batch: int, x: Tensor) -> State:
        """A fresh start for each sequence; empty for zeros."""
        hidden = self.settings.hidden
        spread = {
            "zeros": 0.0,
            "normal": self.settings.initial_scale or 1.0,
            "xavier": hidden**-0.5,  # √(2 / (fan_in + fan_out)), both hidden
            "xavier-he": (2 / hidden) ** 0.5,
        }[self.settings.initial_state]
        if spread == 0:
            return ()
        return tuple(torch.randn(batch, hidden, dtype=x.dtype, device=x.device) * spread for _ in range(self.parts))

    def _carry(self, ends: Tensor) -> None:
        """Keep (layers, parts, B, H) for the next batch. After a smaller batch, such as the last of an epoch, the rows
        beyond it keep what they had."""
        ends = ends.detach()
        beyond = self.carried[:, :, ends.shape[2] :] if self.carried is not None else ends[:, :, :0]
        self.carried: Tensor | None = torch.cat([ends, beyond], dim=2)
        self.rest()

    def to_carry(self, rows: int) -> Tensor:
        """(layers, parts, B, H), for whoever writes the end of each batch into it: zeros at first."""
        if self.carried is None:
            self.carried = self.resting.new_zeros(*self.resting.shape[:2], rows, self.settings.hidden)
        return self.carried

    def rest(self) -> None:
        """Evaluation starts from the mean of what is carried."""
        assert self.carried is not None
        self.resting.copy_(self.carried.mean(dim=2))

    def _mask(self, x: Tensor) -> Tensor | None:
        """(B, H): zero for the units that a sequence never hears of, and 1 / (1 - p) for the others."""
        p = self.settings.recurrent_dropout
        if p == 0 or not self.training:
            return None
        return F.dropout(x.new_ones(x.shape[0], self.settings.hidden), p)


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
