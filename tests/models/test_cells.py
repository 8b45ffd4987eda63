"""Every way of running a cell against the formulas, written out once more, a step at a time."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rnnlab.models.cells import Cell, draw_recurrent
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent

B, T, D, H = 4, 6, 3, 5
KINDS: dict[str, Recurrent] = {
    "rnn": RNN(hidden=H),
    "relu": RNN(hidden=H, activation="relu"),
    "lstm": LSTM(hidden=H),
    "gru": GRU(hidden=H),
    "gru-before": GRU(hidden=H, reset="before"),
}


def cell_of(kind: str, **options: Any) -> Cell:
    torch.manual_seed(0)
    settings = KINDS[kind].replace(**options)
    cell = settings.cell(settings, D).double()
    for name, parameter in cell.named_parameters():
        if "gain" in name or name == "cell_bias":
            nn.init.uniform_(parameter, 0.5, 1.5)  # as if trained: a gain of one would hide a mistake
    return cell


def inputs(cell: Cell) -> tuple[Tensor, tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(B, T, D, generator=generator, dtype=torch.float64)
    start = [torch.randn(B, H, generator=generator, dtype=torch.float64) for _ in range(cell.parts)]
    return x, tuple(start)


def norm(v: Tensor, gain: Tensor) -> Tensor:
    centred = v - v.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True) + 1e-5).sqrt() * gain


def by_the_book(kind: str, cell: Cell, x: Tensor, state: tuple[Tensor, ...], mask: Tensor) -> tuple[Tensor, ...]:
    """One step, gate by gate."""
    weights = dict(cell.named_parameters())
    gates = len(cell.gates)
    w_x, w_h = weights["weight_ih_l0"].chunk(gates), weights["weight_hh_l0"].chunk(gates)
    b_x, b_h = weights["bias_ih_l0"].chunk(gates), weights["bias_hh_l0"].chunk(gates)

    def from_input(gate: int) -> Tensor:
        product = x @ w_x[gate].T
        return (norm(product, weights["input_gain"][gate]) if "input_gain" in weights else product) + b_x[gate]

    def from_state(gate: int, h: Tensor) -> Tensor:
        product = (h * mask) @ w_h[gate].T
        return (norm(product, weights["state_gain"][gate]) if "state_gain" in weights else product) + b_h[gate]

    h = state[0]
    if kind in ("rnn", "relu"):
        z = from_input(0) + from_state(0, h)
        return (z.tanh() if kind == "rnn" else z.relu(),)
    if kind == "lstm":
        i, f, g, o = (from_input(gate) + from_state(gate, h) for gate in range(4))
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        seen = norm(c, weights["cell_gain"][0]) + weights["cell_bias"] if "cell_gain" in weights else c
        return o.sigmoid() * seen.tanh(), c
    r, z = ((from_input(gate) + from_state(gate, h)).sigmoid() for gate in (0, 1))
    n = from_input(2) + (from_state(2, r * h) if kind == "gru-before" else r * from_state(2, h))
    return ((1 - z) * n.tanh() + z * h,)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("segments", [1, 3])
def test_states_and_gradients_are_those_of_the_formulas(kind, layer_norm, masked, started, segments):
    cell = cell_of(kind, layer_norm=layer_norm, checkpoint_segments=segments)
    x, start = inputs(cell)
    sources = [x.requires_grad_(), *(part.requires_grad_() for part in start)]
    mask = torch.rand(B, H, dtype=torch.float64) * 2 if masked else torch.ones(B, H, dtype=torch.float64)
    states, end = cell(x, start if started else (), mask if masked else None)

    state = start if started else tuple(torch.zeros_like(part) for part in start)
    expected = []
    for t in range(T):
        state = by_the_book(kind, cell, x[:, t], state, mask)
        expected.append(state[0])
    wanted = torch.stack(expected, 1)
    torch.testing.assert_close(states, wanted, rtol=0, atol=1e-10)
    assert len(end) == cell.parts
    for one, other in zip(end, state, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)

    back = torch.randn_like(states)
    sources = [*sources[: None if started else 1], *cell.parameters()]
    found = torch.autograd.grad((states * back).sum() + sum(part.sin().sum() for part in end), sources)
    right = torch.autograd.grad((wanted * back).sum() + sum(part.sin().sum() for part in state), sources)
    for one, other in zip(found, right, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("segments", [1, 4])
def test_the_end_is_the_state_after_the_last_real_step(kind, segments):
    cell = cell_of(kind, checkpoint_segments=segments)
    x, start = inputs(cell)
    lengths = [6, 1, 4, 2]
    real = torch.tensor([[t < length for t in range(T)] for length in lengths])
    _, end = cell(x, start, None, real)
    for row, length in enumerate(lengths):
        _, alone = cell(x[row : row + 1, :length], tuple(part[row : row + 1] for part in start))
        for one, other in zip(end, alone, strict=True):
            torch.testing.assert_close(one[row], other[0], rtol=0, atol=1e-10)


def test_only_segments_are_kept():
    """What the backward pass needs shrinks with the number of segments."""

    def kept(segments: int) -> int:
        cell = cell_of("lstm", checkpoint_segments=segments)
        x = torch.randn(2, 64, D, dtype=torch.float64)
        seen: dict[int, int] = {}  # storage → bytes

        def pack(tensor: Tensor) -> Tensor:
            seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            cell(x)
        return sum(seen.values())

    assert kept(8) < kept(1) / 3


@pytest.mark.parametrize("how", ["orthogonal", "xavier", "he"])
def test_recurrent_weights_are_drawn_gate_by_gate(how):
    torch.manual_seed(0)
    cell = LSTM.cell(LSTM(hidden=64, recurrent_init=how), 10)
    for gate in cell.weight_hh_l0.detach().split(64):
        if how == "orthogonal":
            torch.testing.assert_close(gate @ gate.T, torch.eye(64), rtol=0, atol=1e-5)
        else:
            variance = {"xavier": 1 / 64, "he": 2 / 64}[how]
            assert abs(float(gate.var()) / variance - 1) < 0.1
    bound = 64**-0.5
    assert float(cell.weight_ih_l0.detach().abs().max()) <= bound, "input weights begin as torch's"


def test_uniform_is_torch_to_the_bit():
    for kind, torch_class in (("rnn", nn.RNN), ("gru", nn.GRU)):
        torch.manual_seed(3)
        theirs = torch_class(D, H)
        torch.manual_seed(3)
        ours = KINDS[kind].cell(KINDS[kind], D)
        assert all(torch.equal(p, dict(theirs.named_parameters())[name]) for name, p in ours.named_parameters())


def test_he_of_one_unit_is_a_number():
    weight = torch.empty(1, 1)
    draw_recurrent(weight, "he")
    assert bool(weight.isfinite().all())
