"""The hand-written backward pass against central differences and against torch's own recurrence."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from rnnlab.models.recurrence import FastRNN, Recurrence


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 4), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_gradients_equal_central_differences(batch, steps, width, hidden, relu, seed):
    torch.manual_seed(seed)
    shapes = ((batch, steps, width), (hidden, width), (hidden, hidden), (hidden,))
    values = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(lambda *v: Recurrence.apply(*v, relu), values, eps=1e-7, atol=1e-4)


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_equal_to_torch(nonlinearity, steps):
    torch.manual_seed(0)
    ours = FastRNN(5, 7, nonlinearity=nonlinearity, batch_first=True).double()
    theirs = nn.RNN(5, 7, nonlinearity=nonlinearity, batch_first=True).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(3, steps, 5, dtype=torch.float64, requires_grad=True)
    given_back = torch.randn(3, steps, 7, dtype=torch.float64)
    found = [module(x)[0] for module in (ours, theirs)]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-12)
    gradients = [
        torch.autograd.grad(states, [x, *module.parameters()], given_back)
        for states, module in zip(found, (ours, theirs), strict=True)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
