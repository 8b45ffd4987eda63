"""The hand-written backward passes against central differences and against torch's own recurrence."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rnnlab.models.cells import Recomputed, Recurrence, RNNCell
from rnnlab.models.recurrent import RNN


def same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_gradients_equal_central_differences(batch, steps, width, hidden, relu, from_zero, seed):
    torch.manual_seed(seed)
    shapes = ((batch, steps, width), (batch, hidden), (hidden, width), (hidden, hidden), (hidden,))
    x, start, *weights = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    if from_zero:
        assert torch.autograd.gradcheck(
            lambda x, *w: Recurrence.apply(x, None, *w, relu), (x, *weights), eps=1e-7, atol=1e-4
        )
    else:
        assert torch.autograd.gradcheck(
            lambda *v: Recurrence.apply(*v, relu), (x, start, *weights), eps=1e-7, atol=1e-4
        )


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize("from_zero", [True, False])
def test_equal_to_torch(nonlinearity, steps, from_zero):
    torch.manual_seed(0)
    ours = RNNCell(RNN(hidden=7, activation=nonlinearity), 5).double()
    theirs = nn.RNN(5, 7, nonlinearity=nonlinearity, batch_first=True).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, steps, 5, dtype=torch.float64, requires_grad=True)
    start = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    states, (end,) = ours(x, () if from_zero else (start,))
    expected, last = theirs(x) if from_zero else theirs(x, start[None])
    same(states, expected)
    same(end, last[0])
    given_back = torch.randn(3, steps, 7, dtype=torch.float64)
    sources = [x] if from_zero else [x, start]
    one = torch.autograd.grad(states, [*sources, *ours.parameters()], given_back)
    other = torch.autograd.grad(expected, [*sources, *theirs.parameters()], given_back)
    for mine, reference in zip(one, other, strict=True):
        same(mine, reference)


def test_recomputed_gives_the_gradients_of_what_it_runs():
    """Two outputs, an input without a gradient, an input that is None, and weights."""
    torch.manual_seed(0)
    x, scale = torch.randn(4, 3, dtype=torch.float64, requires_grad=True), torch.rand(3, dtype=torch.float64)
    layer = nn.Linear(3, 2).double()
    calls = []

    def run(x: Tensor, scale: Tensor, nothing: None) -> tuple[Tensor, ...]:
        calls.append(torch.is_grad_enabled())
        out = layer(x * scale).tanh()
        return out, out.sum(1)

    outputs = Recomputed.apply(run, 3, x, scale, None, *layer.parameters())
    assert calls == [False], "nothing is recorded in the forward pass"
    back = [torch.randn_like(out) for out in outputs]
    found = torch.autograd.grad(outputs, [x, *layer.parameters()], back)
    assert calls == [False, True], "once more in the backward pass"
    expected = torch.autograd.grad(run(x, scale, None), [x, *layer.parameters()], back)
    for one, other in zip(found, expected, strict=True):
        same(one, other)
