"""The way back takes some steps at a time; long batches have many such chunks, and nothing may show of them."""

import itertools

import pytest
import torch
from recurrences import recur
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rnnlab import kernels as native
from rnnlab.kernels.recurrence import GATES, Direction

pytestmark = pytest.mark.skipif(native.library() is None, reason="there is no native library here")
MODULES = {"tanh": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
NAMES = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
BATCH, STEPS, HIDDEN = 40, 30, 20  # some 600 tokens


@pytest.mark.parametrize(
    ("kind", "inputs", "started"), list(itertools.product(MODULES, (1, 5, 6, 16, 50), (False, True)))
)
def test_many_chunks_give_what_torch_gives_with_the_same_bits_for_all_threads(
    kind: str, inputs: int, started: bool
) -> None:
    random = torch.Generator().manual_seed(inputs)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=random)

    lengths = torch.randint(1, STEPS + 1, (BATCH,), generator=random)
    lengths[0] = STEPS
    rows = GATES[kind] * HIDDEN
    weights = [(draw(*shape) / 5).requires_grad_() for shape in ((rows, inputs), (rows, HIDDEN), (rows,), (rows,))]
    x, for_states = draw(BATCH, STEPS, inputs).requires_grad_(), draw(BATCH, STEPS, HIDDEN)
    starts = [draw(BATCH, HIDDEN).requires_grad_() for _ in range(started * (2 if kind == "lstm" else 1))]

    def all_of(states: Tensor) -> list[Tensor]:
        return [states.detach(), *torch.autograd.grad(states, [x, *weights, *starts], for_states)]

    found = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(all_of(recur(kind, x, lengths, Direction(*weights, *starts))[0]))
    finally:
        torch.set_num_threads(before)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    start = None if not started else tuple(s[None] for s in starts) if kind == "lstm" else starts[0][None]
    module = MODULES[kind](inputs, HIDDEN, batch_first=True).double()
    states, _ = torch.func.functional_call(module, dict(zip(NAMES, weights, strict=True)), (packed, start))
    expected = all_of(pad_packed_sequence(states, batch_first=True, total_length=STEPS)[0])
    for one, two, three, right in zip(*found, expected, strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, three)
        torch.testing.assert_close(one, right, rtol=1e-9, atol=1e-10)
