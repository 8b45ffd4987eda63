"""What a recurrent cell is, and three of them: `rnn`, `lstm` and `gru`.

A cell is its fields and one step with named gates. `Cell` has the weights and runs the steps over time; layers,
directions, starts, masks and pooling belong to the driver (`models.recurrent`). A new cell writes ``gates`` and
``step``, and has all of that: see examples/mgu.py. Whoever looks inside (gates, gradients, divergence, export) drives
``step``, so that a cell's formulas stand here, in native code and in `reference`, and nowhere else.

A recurrence runs whole in native code where there is any (`kernels.ops`). Elsewhere a plain one runs in torch's fused
form or ours, and options that change what happens inside a step (layer norm, the GRU's reset before the product,
recurrent dropout) run step by step.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.kernels import ops

if TYPE_CHECKING:  # settings name their cells
    from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent

State = tuple[Tensor, ...]  # (h,) or, for the LSTM, (h, c); each (B, H). Empty: all zeros
Entered = dict[str, Tensor]  # what enters the sigmoid or tanh of each gate, (B, H) by name
RecurrentInit = Literal["uniform", "orthogonal", "xavier", "he"]
NO_GATES = ("candidate", "state")


class Cell(nn.Module):
    """One layer in one direction: (x (B, T, D), start) → (states (B, T, H), the state after the last step).

    Weights have torch's names, order and shapes, (G · H, D), (G · H, H) and two biases (G · H,) for G gates, so that
    they move to `nn.RNN`, `nn.LSTM` and `nn.GRU` unchanged. With layer norm every gate's share of the input and of the
    state is normalised by itself over its H units, before the biases are added.
    """

    hidden: int
    layer_norm: bool

    gates: ClassVar[tuple[str, ...]]
    """Names, in the order of the weights' rows. Each is a sigmoid, but for a ``candidate`` or a ``state``."""
    parts: ClassVar[int] = 1
    """How many tensors make up a state."""
    native: str | None = None
    """What native code calls it; None: it doesn't know it."""
    dropped: tuple[Tensor, ...] = ()  # the recurrent weights of this pass, where some are dropped; not a weight itself
    resets_before: bool = False
    """Whether a reset gate acts before the product."""

    def __init__(self, settings: "Recurrent", input_width: int):
        super().__init__()
        self.settings = settings
        self.hidden, self.layer_norm = settings.hidden, settings.layer_norm
        hidden, rows = settings.hidden, len(self.gates) * settings.hidden
        self.weight_ih_l0: nn.Parameter = nn.Parameter(torch.empty(rows, input_width))
        self.weight_hh_l0: nn.Parameter = nn.Parameter(torch.empty(rows, hidden))
        self.bias_ih_l0: nn.Parameter = nn.Parameter(torch.empty(rows))
        self.bias_hh_l0: nn.Parameter = nn.Parameter(torch.empty(rows))
        bound = hidden**-0.5
        for parameter in self.parameters():  # as torch begins
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            for gate in self.weight_hh_l0.split(hidden):
                draw_recurrent(gate, settings.recurrent_init)
        if settings.layer_norm:
            self.input_gain: nn.Parameter = nn.Parameter(torch.ones(len(self.gates), hidden))
            self.state_gain: nn.Parameter = nn.Parameter(torch.ones(len(self.gates), hidden))

    def drop_weights(self) -> None:
        """For the next pass: zeros instead of some recurrent weights, in training (DropConnect, Merity et al. 2018)."""
        p = self.settings.weight_dropout
        self.dropped = (F.dropout(self.weight_hh_l0, p),) if p and self.training else ()

    @property
    def recurrent_weight(self) -> Tensor:
        """(G · H, H), as the steps see it."""
        return self.dropped[0] if self.dropped else self.weight_hh_l0

    # What a cell writes

    def step(self, a: Tensor, state: State, heard: Tensor) -> tuple[State, Entered]:
        """One step: the state after it, and what entered each gate. ``a`` (B, G · H) is what the input brings, its bias
        included; ``heard`` (B, H) is h as products hear it: with recurrent dropout."""
        raise NotImplementedError

    def keep(self, entered: Entered) -> Tensor | None:
        """(B, H): by what the last part of the old state is multiplied on its way into the new one; None: no gate
        decides that."""
        return None

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...] | None:
        """All steps at once, as a plain recurrence of torch: (states (B, T, H), *end). None: torch has none."""
        return None

    # What it has of that

    @property
    def plain(self) -> bool:
        """Whether `whole` computes what the options ask for."""
        return not self.layer_norm

    def from_input(self, x: Tensor) -> Tensor:
        """What the input brings to the gates, for all steps at once: (B, T, G · H), its bias included."""
        a = x @ self.weight_ih_l0.t()
        if self.layer_norm:
            a = normalise(a, self.input_gain)
        return a + self.bias_ih_l0

    def from_state(self, h: Tensor, *gates: str) -> Tensor:
        """What the state brings to some neighbouring gates (all: none named), (B, gates · H), its bias included."""
        first = self.gates.index(gates[0]) if gates else 0
        some = slice(first, first + (len(gates) or len(self.gates)))
        rows = slice(some.start * self.hidden, some.stop * self.hidden)
        product = h @ self.recurrent_weight[rows].t()
        if self.layer_norm:
            product = normalise(product, self.state_gain[some])
        return product + self.bias_hh_l0[rows]

    def named(self, *entered: Tensor) -> Entered:
        return dict(zip(self.gates, entered, strict=True))

    def forward(
        self, x: Tensor, start: State = (), mask: Tensor | None = None, real: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """``mask`` (B, H) multiplies the state wherever it enters a product. ``real`` (B, T): where it is false the
        state stands still, so that the end is the state after the last real step."""
        segments = self.settings.checkpoint_segments
        if segments == 1 or not torch.is_grad_enabled():
            states, *end = self.run(x, mask, real, *start)
            return states, tuple(end)
        length = -(-x.shape[1] // segments)
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
        """(states (B, T, H), *end), in the fastest way that does what is asked for."""
        found: tuple[Tensor, ...] | None = None
        if self.plain and real is None:
            found = ops.recur(self.native, x, None, self.direction(start, mask))
            if found is None and mask is None:
                found = self.whole(x, start)
        if found is None and real is None:
            found = ops.recur_inside(
                self.native, x, self.direction(start, mask), self.gains(), reset_before=self.resets_before
            )
        if found is not None:
            return found
        states, state = [], start
        for state, _ in self.drive(x, start, mask, real):
            states.append(state[0])
        return torch.stack(states, dim=1), *state

    def drive(
        self, x: Tensor, start: State = (), mask: Tensor | None = None, real: Tensor | None = None
    ) -> Iterator[tuple[State, Entered]]:
        """As `forward`, step by step: the state after each, and what entered its gates."""
        state = start or self.zeros(x)
        for t, a_t in enumerate(self.from_input(x).unbind(1)):
            new, entered = self.step(a_t, state, state[0] if mask is None else state[0] * mask)
            if real is not None:
                new = tuple(torch.where(real[:, t, None], one, old) for one, old in zip(new, state, strict=True))
            state = new
            yield state, entered

    def zeros(self, x: Tensor) -> State:
        zeros = x.new_zeros(x.shape[0], self.hidden)
        return (zeros,) * self.parts

    # As native code and torch's fused recurrences take it

    def direction(self, start: State, mask: Tensor | None) -> ops.Direction:
        h, c = (*start, None, None)[:2]
        return ops.Direction(*self.weights(), h, c, mask)

    def gains(self) -> ops.Gains:
        return ops.Gains(self.input_gain, self.state_gain) if self.layer_norm else ops.Gains()

    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.weight_ih_l0, self.recurrent_weight, self.bias_ih_l0, self.bias_hh_l0

    def _begun(self, start: State, x: Tensor) -> State:
        return tuple(part[None] for part in start or self.zeros(x))


class RNNCell(Cell):
    """h_t = activation(W_xh x_t + W_hh h_{t-1} + b)."""

    gates: ClassVar[tuple[str, ...]] = ("state",)
    native: str | None

    def __init__(self, settings: "RNN", input_width: int):
        super().__init__(settings, input_width)
        self.activation = self.native = settings.activation

    def step(self, a: Tensor, state: State, heard: Tensor) -> tuple[State, Entered]:
        z = a + self.from_state(heard)
        return (z.relu() if self.activation == "relu" else z.tanh(),), self.named(z)

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        b = self.bias_ih_l0 + self.bias_hh_l0
        h_0 = start[0] if start else None
        states = Recurrence.apply(x, h_0, self.weight_ih_l0, self.recurrent_weight, b, self.activation == "relu")
        return states, states[:, -1]


class LSTMCell(Cell):
    """c_t = f ⊙ c_{t-1} + i ⊙ g,  h_t = o ⊙ tanh(c_t); layer norm also on c_t inside the tanh."""

    gates: ClassVar[tuple[str, ...]] = ("input", "forget", "candidate", "output")
    parts = 2
    native: str | None = "lstm"

    def __init__(self, settings: "LSTM", input_width: int):
        super().__init__(settings, input_width)
        forget = slice(self.hidden, 2 * self.hidden)
        with torch.no_grad():
            self.bias_ih_l0[forget] = settings.forget_bias
            self.bias_hh_l0[forget] = 0  # the two are added
        if self.layer_norm:
            self.cell_gain: nn.Parameter = nn.Parameter(torch.ones(1, self.hidden))
            self.cell_bias: nn.Parameter = nn.Parameter(torch.zeros(self.hidden))

    def step(self, a: Tensor, state: State, heard: Tensor) -> tuple[State, Entered]:
        i, f, g, o = (a + self.from_state(heard)).chunk(4, dim=1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        seen = normalise(c, self.cell_gain) + self.cell_bias if self.layer_norm else c
        return (o.sigmoid() * seen.tanh(), c), self.named(i, f, g, o)

    def keep(self, entered: Entered) -> Tensor:
        return entered["forget"].sigmoid()

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        states, h, c = torch.lstm(x, self._begun(start, x), self.weights(), True, 1, 0.0, self.training, False, True)
        return states, h[0], c[0]

    def gains(self) -> ops.Gains:
        return (
            super().gains()._replace(cell=self.cell_gain, cell_bias=self.cell_bias) if self.layer_norm else ops.Gains()
        )


class GRUCell(Cell):
    """h_t = (1 - z) ⊙ n + z ⊙ h_{t-1}; the reset gate acts on the product or on the state (docs/decisions/0003)."""

    gates: ClassVar[tuple[str, ...]] = ("reset", "update", "candidate")
    native: str | None = "gru"

    def __init__(self, settings: "GRU", input_width: int):
        super().__init__(settings, input_width)
        self.resets_before: bool = settings.reset == "before"

    @property
    def plain(self) -> bool:
        return super().plain and not self.resets_before

    def step(self, a: Tensor, state: State, heard: Tensor) -> tuple[State, Entered]:
        a_r, a_z, a_n = a.chunk(3, dim=1)
        if self.resets_before:
            u_r, u_z = self.from_state(heard, "reset", "update").chunk(2, dim=1)
            r = a_r + u_r
            n = a_n + self.from_state(r.sigmoid() * heard, "candidate")
        else:
            u_r, u_z, u_n = self.from_state(heard).chunk(3, dim=1)
            r = a_r + u_r
            n = a_n + r.sigmoid() * u_n
        z = a_z + u_z
        update = z.sigmoid()
        return ((1 - update) * n.tanh() + update * state[0],), self.named(r, z, n)

    def keep(self, entered: Entered) -> Tensor:
        return entered["update"].sigmoid()

    def whole(self, x: Tensor, start: State) -> tuple[Tensor, ...]:
        states, h = torch.gru(x, self._begun(start, x)[0], self.weights(), True, 1, 0.0, self.training, False, True)
        return states, h[0]


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


class Recurrence(torch.autograd.Function):
    """h_t = f(W_xh x_t + W_hh h_{t-1} + b), with its backward pass written out: x (B, T, D), h_0 (B, H) or None for
    zeros, W_xh (H, D), W_hh (H, H), b (H,) → states (B, T, H).

    `nn.RNN` on a CPU leaves every step to autograd. Written by hand a step is one matrix product and one activation in
    either direction, and the weights get their gradients from one product over all steps. Measured forward and backward
    at (B, T, D, H) = (64, 7, 50, 128), two threads: 0.93 ms against 1.28."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, start: Tensor | None, W_xh: Tensor, W_hh: Tensor, b: Tensor, relu: bool) -> Tensor:
        batch, steps, width = x.shape
        x = x.transpose(0, 1).reshape(steps * batch, width)  # time first: a step is then one block of memory
        h = torch.addmm(b, x, W_xh.t()).view(steps, batch, -1)  # z_t without W_hh h_{t-1}, for all t at once
        before = start
        for t in range(steps):
            if before is not None:
                h[t].addmm_(before, W_hh.t())
            h[t].relu_() if relu else h[t].tanh_()
            before = h[t]
        ctx.save_for_backward(x, start, h, W_xh, W_hh)
        ctx.relu = relu
        return h.transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """δ_t = ∂L/∂z_t = f'(z_t) ⊙ (∂L/∂h_t + W_hhᵀ δ_{t+1}), with f' = 1 - h² for tanh and [h > 0] for relu."""
        x, start, h, W_xh, W_hh = ctx.saved_tensors
        steps, batch, hidden = h.shape
        slope = (h > 0).to(h.dtype) if ctx.relu else 1 - h * h
        direct = gradients[0].transpose(0, 1)  # (T, B, H)
        delta = torch.empty_like(h)
        torch.mul(direct[-1], slope[-1], out=delta[-1])
        for t in range(steps - 2, -1, -1):
            torch.addmm(direct[t], delta[t + 1], W_hh, out=delta[t]).mul_(slope[t])
        every = delta.view(steps * batch, hidden)
        later, earlier = delta[1:].reshape(-1, hidden), h[:-1].reshape(-1, hidden)
        for_state = later.t() @ earlier
        if start is not None:
            for_state.addmm_(delta[0].t(), start)
        return (
            (every @ W_xh).view(steps, batch, -1).transpose(0, 1),
            delta[0] @ W_hh if start is not None else None,
            every.t() @ x,
            for_state,
            every.sum(0),
            None,
        )


class Recomputed(torch.autograd.Function):
    """``run(*inputs)``, a tuple of tensors, of which nothing but the inputs and outputs is kept: the backward pass runs
    it again. ``weights`` are the parameters that ``run`` uses; they are inputs too, as far as autograd is concerned."""

    @staticmethod
    def forward(
        ctx: Any, run: Callable[..., tuple[Tensor, ...]], inputs: int, *tensors: Tensor | None
    ) -> tuple[Tensor, ...]:
        """``tensors`` are ``inputs`` inputs, then the weights."""
        ctx.run, ctx.inputs = run, inputs
        ctx.save_for_backward(*tensors)
        return run(*tensors[:inputs])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        needed: Sequence[bool] = ctx.needs_input_grad[2:]
        kept: Sequence[Tensor | None] = ctx.saved_tensors
        inputs = [
            t if t is None else t.detach().requires_grad_(wanted)
            for t, wanted in zip(kept[: ctx.inputs], needed, strict=False)
        ]
        with torch.enable_grad():
            outputs = ctx.run(*inputs)
        sources = [*inputs, *kept[ctx.inputs :]]
        wanted = [t for t, want in zip(sources, needed, strict=True) if want and t is not None]
        found = iter(torch.autograd.grad(outputs, wanted, gradients))
        return None, None, *(next(found) if want else None for want in needed)
