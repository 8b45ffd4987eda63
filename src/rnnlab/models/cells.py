"""One recurrent layer in one direction: the weights of `rnn`, `lstm` and `gru`, and how they run over time.

A recurrence runs whole in native code where there is any (`kernels`). Elsewhere a plain one runs in torch's fused
form or ours, and options that change what happens inside a step (layer norm, the GRU's reset before the product,
recurrent dropout) run step by step.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.kernels import normalised
from rnnlab.kernels.normalised import Inside, normalise_input, recur_normalised
from rnnlab.kernels.recurrence import Direction, recur, suits
from rnnlab.models.recurrence import Recomputed, Recurrence

State = tuple[Tensor, ...]  # (h,) or, for the LSTM, (h, c); each (B, H). Empty: all zeros
RecurrentInit = Literal["uniform", "orthogonal", "xavier", "he"]


@dataclass(frozen=True)
class CellOptions:
    """What the cells of an encoder share."""

    hidden: int
    layer_norm: bool = False
    recurrent_init: RecurrentInit = "uniform"
    segments: int = 1


class Cell(nn.Module):
    """(x (B, T, D), start) → (states (B, T, H), the state after the last step).

    Weights have torch's names, order and shapes, (G · H, D), (G · H, H) and two biases (G · H,) for G gates, so that
    they move to `nn.RNN`, `nn.LSTM` and `nn.GRU` unchanged. With layer norm every gate's share of the input and of the
    state is normalised by itself over its H units, before the biases are added.
    """

    gates: ClassVar[int]
    parts: ClassVar[int] = 1
    """How many tensors make up a state."""
    resets_before: bool = False
    """Whether a reset gate acts before the product."""

    def __init__(self, options: CellOptions, input_width: int):
        super().__init__()
        self.options = options
        hidden, rows = options.hidden, self.gates * options.hidden
        self.weight_ih_l0 = nn.Parameter(torch.empty(rows, input_width))
        self.weight_hh_l0 = nn.Parameter(torch.empty(rows, hidden))
        self.bias_ih_l0 = nn.Parameter(torch.empty(rows))
        self.bias_hh_l0 = nn.Parameter(torch.empty(rows))
        bound = hidden**-0.5
        for parameter in self.parameters():  # as torch begins
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            for gate in self.weight_hh_l0.split(hidden):
                draw_recurrent(gate, options.recurrent_init)
        if options.layer_norm:
            self.input_gain = nn.Parameter(torch.ones(self.gates, hidden))
            self.state_gain = nn.Parameter(torch.ones(self.gates, hidden))

    @property
    @abstractmethod
    def kind(self) -> str:
        """What native code calls it."""

    @abstractmethod
    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        """All steps at once, as a plain recurrence: (states (B, T, H), *end)."""

    @abstractmethod
    def step(self, a: Tensor, state: State, mask: Tensor | None) -> State:
        """One step. ``a`` (B, G · H) is what the input brings, its bias included."""

    @property
    def plain(self) -> bool:
        """Whether `whole` computes what the options ask for."""
        return not self.options.layer_norm

    def runs_native(self, x: Tensor) -> bool:
        """Whether native code computes what the options ask for."""
        return self.plain and suits(self.kind, x, self.options.hidden)

    def direction(self, start: State, mask: Tensor | None) -> Direction:
        """Weights, start and mask as native code takes them."""
        h, c = (*start, None, None)[:2]
        return Direction(self.weight_ih_l0, self.weight_hh_l0, self.bias_ih_l0, self.bias_hh_l0, h, c, mask)

    def forward(
        self, x: Tensor, start: State = (), mask: Tensor | None = None, real: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """``mask`` (B, H) multiplies the state wherever it enters a product. ``real`` (B, T): where it is false the
        state stands still, so that the end is the state after the last real step."""
        if self.options.segments == 1 or not torch.is_grad_enabled():
            states, *end = self.run(x, mask, real, *start)
            return states, tuple(end)
        length = -(-x.shape[1] // self.options.segments)
        states = []
        weights = list(self.parameters())
        for first in range(0, x.shape[1], length):
            steps = slice(first, first + length)
            inputs = (x[:, steps], mask, None if real is None else real[:, steps], *start)
            part, *end = Recomputed.apply(self.run, len(inputs), *inputs, *weights)
            states.append(part)
            start = tuple(end)
        return torch.cat(states, dim=1), start

    def run(self, x: Tensor, mask: Tensor | None, real: Tensor | None, *start: Tensor) -> tuple[Tensor, ...]:
        """(states (B, T, H), *end)."""
        if real is None and self.runs_native(x):
            return recur(self.kind, x, None, self.direction(start, mask))
        if self.plain and mask is None and real is None:
            return self.whole(x, start)
        if real is None and normalised.suits(x, self.options.hidden):
            return self._whole_steps(x, mask, start)
        return self._stepwise(x, mask, real, start)

    def _whole_steps(self, x: Tensor, mask: Tensor | None, start: State) -> tuple[Tensor, ...]:
        """As `_stepwise`, in native code."""
        if self.options.layer_norm:
            a = normalise_input(x @ self.weight_ih_l0.t(), self.input_gain, self.bias_ih_l0)
        else:
            a = self.from_input(x)
        h, c = (*start, None, None)[:2]
        inside = Inside(self.weight_hh_l0, self.bias_hh_l0, *self.gains(), h, c, mask)
        return recur_normalised(self.kind, a, inside, reset_before=self.resets_before)

    def gains(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Of layer norm, inside a step: of the gates, of the cell, and the cell's bias."""
        return (self.state_gain if self.options.layer_norm else None), None, None

    def _stepwise(self, x: Tensor, mask: Tensor | None, real: Tensor | None, state: State) -> tuple[Tensor, ...]:
        state = state or self.zeros(x)
        states = []
        for t, a_t in enumerate(self.from_input(x).unbind(1)):
            new = self.step(a_t, state, mask)
            if real is not None:
                new = tuple(torch.where(real[:, t, None], one, old) for one, old in zip(new, state, strict=True))
            state = new
            states.append(state[0])
        return torch.stack(states, dim=1), *state

    def from_input(self, x: Tensor) -> Tensor:
        """What the input brings to the gates, for all steps at once: (B, T, G · H), its bias included."""
        a = x @ self.weight_ih_l0.t()
        if self.options.layer_norm:
            a = normalise(a, self.input_gain)
        return a + self.bias_ih_l0

    def from_state(self, h: Tensor, gates: slice = slice(None)) -> Tensor:
        """What the state brings to some of the gates, (B, gates · H), its bias included."""
        hidden = self.options.hidden
        rows = slice(*(at and at * hidden for at in (gates.start, gates.stop)))
        product = h @ self.weight_hh_l0[rows].t()
        if self.options.layer_norm:
            product = normalise(product, self.state_gain[gates])
        return product + self.bias_hh_l0[rows]

    def zeros(self, x: Tensor) -> State:
        zeros = x.new_zeros(x.shape[0], self.options.hidden)
        return (zeros,) * self.parts

    def _fused(self, start: State, x: Tensor) -> tuple[State, list[Tensor]]:
        """Start and weights as torch's fused recurrences take them."""
        flat: list[Tensor] = [self.weight_ih_l0, self.weight_hh_l0, self.bias_ih_l0, self.bias_hh_l0]
        return tuple(part[None] for part in start or self.zeros(x)), flat


class RNNCell(Cell):
    """h_t = activation(W_xh x_t + W_hh h_{t-1} + b)."""

    gates = 1

    def __init__(self, options: CellOptions, input_width: int, activation: Literal["tanh", "relu"]):
        super().__init__(options, input_width)
        self.activation = activation

    @property
    def kind(self) -> str:
        return self.activation

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        b = self.bias_ih_l0 + self.bias_hh_l0
        h_0 = start[0] if start else None
        states = Recurrence.apply(x, h_0, self.weight_ih_l0, self.weight_hh_l0, b, self.activation == "relu")
        return states, states[:, -1]

    def step(self, a: Tensor, state: State, mask: Tensor | None) -> State:
        z = a + self.from_state(dropped(state[0], mask))
        return (z.relu() if self.activation == "relu" else z.tanh(),)


class LSTMCell(Cell):
    """c_t = f ⊙ c_{t-1} + i ⊙ g,  h_t = o ⊙ tanh(c_t); layer norm also on c_t inside the tanh."""

    gates = 4
    parts = 2

    def __init__(self, options: CellOptions, input_width: int, forget_bias: float):
        super().__init__(options, input_width)
        forget = slice(options.hidden, 2 * options.hidden)  # torch's order: input, forget, cell, output
        with torch.no_grad():
            self.bias_ih_l0[forget] = forget_bias
            self.bias_hh_l0[forget] = 0  # the two are added
        if options.layer_norm:
            self.cell_gain = nn.Parameter(torch.ones(1, options.hidden))
            self.cell_bias = nn.Parameter(torch.zeros(options.hidden))

    @property
    def kind(self) -> str:
        return "lstm"

    def gains(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        normed = self.options.layer_norm
        return (self.state_gain, self.cell_gain, self.cell_bias) if normed else (None, None, None)

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        begin, weights = self._fused(start, x)
        states, h, c = torch.lstm(x, begin, weights, True, 1, 0.0, self.training, False, True)
        return states, h[0], c[0]

    def step(self, a: Tensor, state: State, mask: Tensor | None) -> State:
        h, c = state
        i, f, g, o = (a + self.from_state(dropped(h, mask))).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        seen = normalise(c, self.cell_gain) + self.cell_bias if self.options.layer_norm else c
        return o.sigmoid() * seen.tanh(), c


class GRUCell(Cell):
    """h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}; the reset gate acts on the product or on the state (docs/decisions/0003)."""

    gates = 3

    def __init__(self, options: CellOptions, input_width: int, reset: Literal["after", "before"]):
        super().__init__(options, input_width)
        self.reset = reset
        self.resets_before = reset == "before"

    @property
    def plain(self) -> bool:
        return super().plain and not self.resets_before

    @property
    def kind(self) -> str:
        return "gru"

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        begin, weights = self._fused(start, x)
        states, h = torch.gru(x, begin[0], weights, True, 1, 0.0, self.training, False, True)
        return states, h[0]

    def step(self, a: Tensor, state: State, mask: Tensor | None) -> State:
        h = state[0]
        seen = dropped(h, mask)
        a_r, a_z, a_n = a.chunk(3, dim=1)
        if self.reset == "after":
            u_r, u_z, u_n = self.from_state(seen).chunk(3, dim=1)
            n = (a_n + (a_r + u_r).sigmoid() * u_n).tanh()
        else:
            u_r, u_z = self.from_state(seen, slice(0, 2)).chunk(2, dim=1)
            n = (a_n + self.from_state((a_r + u_r).sigmoid() * seen, slice(2, 3))).tanh()
        z = (a_z + u_z).sigmoid()
        return ((1 - z) * n + z * h,)


def draw_recurrent(weight: Tensor, how: RecurrentInit) -> None:
    """Draw one gate's recurrent weights (H, H) in place. ``uniform`` leaves them as torch begins, within ±1/√H;
    ``orthogonal`` keeps the length of a state; ``xavier`` has variance 1/H, ``he`` 2/H."""
    if how == "orthogonal":
        nn.init.orthogonal_(weight)
    elif how == "xavier":
        nn.init.xavier_normal_(weight)
    elif how == "he":
        nn.init.kaiming_normal_(weight, nonlinearity="relu")


def normalise(x: Tensor, gain: Tensor) -> Tensor:
    """Each group of H numbers in (…, k · H) to mean 0 and variance 1, times ``gain`` (k, H)."""
    groups = F.layer_norm(x.unflatten(-1, gain.shape), gain.shape[1:])
    return (groups * gain).flatten(-2)


def dropped(h: Tensor, mask: Tensor | None) -> Tensor:
    return h if mask is None else h * mask
