"""Numbers that a native recurrence must not lose or make up: not finite, very large, and in between."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from recurrences import recur
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.kernels.recurrence import GATES, Direction

pytestmark = pytest.mark.skipif(not native.status().active, reason=native.status().reason)

KINDS = list(GATES)
DTYPES = [torch.float32, torch.float64]
OWN_NAN = float(np.array(0x7FC12345, dtype=np.uint32).view(np.float32))  # its lower bits aren't zero


def all_ones(kind: str, hidden: int, dtype: torch.dtype, of_state: float = 0.0) -> Direction:
    """Every gate gets the input itself, of width 1, and every state times ``of_state``."""
    rows = GATES[kind] * hidden
    return Direction(
        torch.ones(rows, 1, dtype=dtype),
        torch.full((rows, hidden), of_state, dtype=dtype),
        *torch.zeros(2, rows, dtype=dtype).unbind(0),
    )


def learned(direction: Direction) -> Direction:
    return Direction(*(None if t is None else t.clone().requires_grad_() for t in direction))  # type: ignore[arg-type]  # the first four are there


# Not finite


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hidden", [1, 16, 21])
@pytest.mark.parametrize("bad", [math.nan, -math.nan, OWN_NAN])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_number_is_seen_from_its_step_on(kind: str, bad: float, hidden: int, dtype: torch.dtype) -> None:
    x = torch.full((5, 6, 1), 0.1, dtype=dtype)
    x[2, 3] = bad
    direction = learned(all_ones(kind, hidden, dtype, 0.1))
    states, *ends = recur(kind, x, None, direction)
    assert states[2, 3:].isnan().all()
    assert all(end[2].isnan().all() for end in ends)
    others = torch.ones(5, 6, dtype=torch.bool)
    others[2, 3:] = False
    assert states[others].isfinite().all()
    states.sum().backward()
    assert direction.w_ih.grad is not None
    assert direction.w_ih.grad.isnan().any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("where", ["w_ih", "w_hh", "b_ih", "b_hh", "h_start"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_number_in_a_weight_is_seen(kind: str, where: str, dtype: torch.dtype) -> None:
    """In the last row: of a GRU or an LSTM one gate is spoilt, and the state with it."""
    direction = all_ones(kind, 21, dtype, 0.1)._replace(h_start=torch.zeros(3, 21, dtype=dtype))
    spoilt = direction._asdict()[where].clone()
    spoilt[-1] = math.nan
    states, *_ = recur(kind, torch.ones(3, 2, 1, dtype=dtype), None, direction._replace(**{where: spoilt}))
    assert states[-1, 0, -1].isnan()
    assert states[-1, 1].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [math.inf, -math.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_infinity_does_what_it_does_in_torch(kind: str, bad: float, dtype: torch.dtype) -> None:
    """It saturates gates and stays in a relu; and where it meets its opposite, nothing is a number."""
    x = torch.full((3, 4, 2), 0.1, dtype=dtype)
    x[0, 2, 0] = bad
    x[1, 1, 0], x[1, 1, 1] = bad, -bad
    module = {"tanh": torch.nn.RNN, "relu": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind]
    options = {"nonlinearity": kind} if kind in ("tanh", "relu") else {}
    torch.manual_seed(0)
    layer = module(2, 21, batch_first=True, dtype=dtype, **options)
    with torch.no_grad():
        layer.weight_ih_l0.abs_()
        expected, _ = layer(x)
        states, *_ = recur(kind, x, None, Direction(*layer.parameters()))
    torch.testing.assert_close(states, expected, equal_nan=True)
    assert expected[1, 1:].isnan().all()


def test_an_explosion_ends_in_infinity() -> None:
    """Of a relu whose states double: 2^128 is beyond single precision."""
    direction = all_ones("relu", 1, torch.float32, 2.0)
    states, *_ = recur("relu", torch.ones(1, 200, 1), None, direction)
    assert states[0, 100].isfinite().all()
    assert states[0, 130:].isinf().all()


# Very large


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [100.0, 1e4, 1e30])
def test_large_inputs_saturate_exactly(size: float, dtype: torch.dtype) -> None:
    x = torch.tensor([size, -size], dtype=dtype).view(2, 1, 1).expand(2, 3, 1)
    nothing = 1e-37  # what is left of a gate that is closed
    states = {kind: recur(kind, x, None, all_ones(kind, 21, dtype)) for kind in KINDS}
    assert (states["tanh"][0][0] == 1).all()
    assert (states["tanh"][0][1] == -1).all()
    assert (states["relu"][0][0] == x[0]).all()
    assert (states["relu"][0][1] == 0).all()
    assert (states["gru"][0][0].abs() <= nothing).all()  # z = 1: the start is kept
    assert (states["gru"][0][1] == -1).all()  # z = 0: the candidate
    cells = states["lstm"][2]
    assert (cells[0] == 3).all()  # i = f = g = 1: one more each step
    assert (cells[1].abs() <= nothing).all()
    torch.testing.assert_close(states["lstm"][0][0, :, 0], torch.tensor([1.0, 2.0, 3.0], dtype=dtype).tanh())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [100.0, 1e4])
@pytest.mark.parametrize("kind", KINDS)
def test_large_inputs_have_finite_gradients(kind: str, size: float, dtype: torch.dtype) -> None:
    x = torch.tensor([size, -size], dtype=dtype).view(2, 1, 1).repeat(1, 3, 1).requires_grad_()
    direction = learned(all_ones(kind, 21, dtype))
    sum(out.sum() for out in recur(kind, x, None, direction)).backward()  # type: ignore[union-attr]  # a tensor
    for tensor in (x, *direction[:4]):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    if kind == "tanh":
        assert not x.grad.any()  # type: ignore[union-attr]  # looked at above


# In between: a recurrence of one step and one unit is the function itself


def values(dtype: torch.dtype) -> Tensor:
    dense = torch.linspace(-30, 30, 60_001, dtype=torch.float64)
    small = torch.logspace(-30, 0, 2_000, dtype=torch.float64)
    return torch.cat([dense, small, -small]).to(dtype)


def tanh_of(x: Tensor) -> Tensor:
    return recur("tanh", x.view(-1, 1, 1), None, all_ones("tanh", 1, x.dtype))[0].view(-1)


def sigmoid_of(x: Tensor) -> Tensor:
    """The input gate of an LSTM that forgets everything and whose candidate is 1."""
    direction = all_ones("lstm", 1, x.dtype)
    w_ih = torch.tensor([[1.0], [0.0], [0.0], [0.0]], dtype=x.dtype)
    b_ih = torch.tensor([0.0, -100.0, 100.0, 0.0], dtype=x.dtype)
    return recur("lstm", x.view(-1, 1, 1), None, direction._replace(w_ih=w_ih, b_ih=b_ih))[2].view(-1)


@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 5e-7), (torch.float64, 1e-15)])
def test_tanh_is_right_to_the_last_bits(dtype: torch.dtype, close: float) -> None:
    x = values(dtype)
    found = tanh_of(x)
    torch.testing.assert_close(found.double(), x.double().tanh(), rtol=close, atol=0)
    assert found.abs().max() == 1
    assert torch.equal(tanh_of(-x), -found)


@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 5e-7), (torch.float64, 1e-15)])
def test_sigmoid_is_right_to_the_last_bits(dtype: torch.dtype, close: float) -> None:
    """Of a gate that is nearly closed, e^-|x| at most, the bits that |x| itself has lost can't be right."""
    x = values(dtype)
    found, expected = sigmoid_of(x), x.double().sigmoid()
    allowed = close * x.double().abs().clamp(min=5) / 5
    assert ((found.double() - expected).abs() <= allowed * expected).all()
    assert found.min() > 0
    assert found.max() <= 1
    assert sigmoid_of(torch.zeros(1, dtype=dtype)) == 0.5


@pytest.mark.parametrize("function", [tanh_of, sigmoid_of])
def test_slopes_are_right(function: Callable[[Tensor], Tensor]) -> None:
    """A slope is computed from a rounded value: where the function is flat, its error is that of rounding."""
    x = torch.linspace(-30, 30, 6_001).requires_grad_()
    (found,) = torch.autograd.grad(function(x).sum(), x)
    double = x.detach().double()
    expected = 1 - double.tanh() ** 2 if function is tanh_of else double.sigmoid() * (-double).sigmoid()
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=1e-6)
