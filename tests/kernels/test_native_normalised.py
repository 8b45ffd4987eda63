"""Layer norm and the GRU's reset before the product in native code, against the same steps in torch: what they compute
and every gradient."""

from collections.abc import Iterator, Sequence

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.kernels.normalised import Inside, normalise_input, recur_normalised
from rnnlab.kernels.recurrence import LARGEST_LSTM
from rnnlab.models.cells import Cell, LSTMCell, State
from rnnlab.models.recurrent import GRU, LSTM, RNN, Recurrent

pytestmark = pytest.mark.skipif(not native.status().active, reason=native.status().reason)

KINDS = ["tanh", "relu", "lstm", "gru", "gru before", "gru before, no norm"]
DTYPES = [torch.float32, torch.float64]
CLOSE = {torch.float32: 2e-5, torch.float64: 1e-12}  # times the largest number of a tensor, if that is above 1


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def cell_of(kind: str, hidden: int, inputs: int = 7, dtype: torch.dtype = torch.float64, segments: int = 1) -> Cell:
    """With gains and biases that are all different."""
    plain: dict[str, Recurrent] = {
        "tanh": RNN(),
        "relu": RNN(activation="relu"),
        "lstm": LSTM(),
        "gru": GRU(),
        "gru before": GRU(reset="before"),
    }
    settings = plain[kind.removesuffix(", no norm")].replace(
        hidden=hidden, layer_norm="no norm" not in kind, checkpoint_segments=segments
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        cell = settings.cell(settings, inputs).to(dtype)
    with torch.no_grad():
        for number, parameter in enumerate(cell.parameters()):
            weak = 0.2 if parameter.dim() == 1 or parameter.shape[0] <= 4 else hidden**-0.5
            parameter += weak * drawn(number, *parameter.shape, dtype=dtype)
    return cell


def inputs_of(cell: Cell, batch: int, steps: int, start: bool, mask: bool) -> tuple[Tensor, State, Tensor | None]:
    dtype, hidden = cell.weight_hh_l0.dtype, cell.hidden
    x = drawn(50, batch, steps, cell.weight_ih_l0.shape[1], dtype=dtype)
    begin = tuple(drawn(51 + part, batch, hidden, dtype=dtype) for part in range(cell.parts)) if start else ()
    kept = (drawn(53, batch, hidden, dtype=dtype) > -0.5).to(dtype) / 0.7 if mask else None
    return x, begin, kept


def results(
    cell: Cell, x: Tensor, start: State, mask: Tensor | None, of: Sequence[int] = (0, 1, 2)
) -> dict[str, Tensor]:
    """What the cell makes of it, and the gradients of some of that: of states, last state and last cell."""
    x, start = x.detach().requires_grad_(), tuple(part.detach().requires_grad_() for part in start)
    states, end = cell(x, start, mask)
    outputs = dict(zip(("states", "h", "c"), (states, *end), strict=False))
    chosen = [output for number, output in enumerate(outputs.values()) if number in of]
    loss = sum(
        ((output * drawn(60 + i, *output.shape, dtype=x.dtype)).sum() for i, output in enumerate(chosen)), x.sum()
    )
    names = ["x", *(f"start {i}" for i in range(len(start))), *dict(cell.named_parameters())]
    leaves = [x, *start, *cell.parameters()]
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    zeros = (torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, found, strict=True))
    return {name: output.detach() for name, output in outputs.items()} | dict(zip(names, zeros, strict=True))


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor], close: float) -> None:
    assert one.keys() == other.keys()
    for name in other:
        scale = max(1.0, other[name].abs().max().item())
        worst = (one[name] - other[name]).abs().max().item() / scale
        assert worst <= close, f"{name}: {worst:.2g}"


def is_native(states: Tensor) -> bool:
    return states.grad_fn is not None and "_Normalised" in states.grad_fn.name()


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("hidden", [2, 13, 16, 50], ids="{} units".format)
@pytest.mark.parametrize(("start", "mask"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_native_steps_and_their_gradients_are_those_of_torch(kind, dtype, start, mask, hidden):
    cell = cell_of(kind, hidden, dtype=dtype)
    given = inputs_of(cell, 9, 6, start, mask)
    with native.switched_off():
        expected = results(cell, *given)
    assert is_native(cell(*given)[0])
    # two units normalise to ±1 with a slope that is nearly infinite: rounding is then all that a gradient shows
    assert_same(results(cell, *given), expected, CLOSE[dtype] * (100 if hidden == 2 else 1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sampled_from(KINDS), st.integers(1, 20), st.integers(1, 9), st.integers(3, 70), st.booleans(), st.booleans())
def test_any_shape(kind: str, batch: int, steps: int, hidden: int, start: bool, mask: bool):
    cell = cell_of(kind, hidden, inputs=4)
    given = inputs_of(cell, batch, steps, start, mask)
    with native.switched_off():
        expected = results(cell, *given)
    assert_same(results(cell, *given), expected, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_more_tokens_than_fit_into_one_product(kind):
    cell = cell_of(kind, 150, dtype=torch.float32)
    given = inputs_of(cell, 30, 11, start=True, mask=True)
    with native.switched_off():
        expected = results(cell, *given)
    assert_same(results(cell, *given), expected, 5e-5)


@pytest.mark.parametrize("of", [(0,), (1,), (2,)], ids=["states", "last state", "last cell"])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_of_one_result_alone(kind, of):
    cell = cell_of(kind, 13)
    given = inputs_of(cell, 5, 4, start=True, mask=False)
    with native.switched_off():
        expected = results(cell, *given, of=of)
    assert_same(results(cell, *given, of=of), expected, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(kind):
    cell = cell_of(kind, 5, inputs=3)
    x, start, mask = inputs_of(cell, 3, 4, start=True, mask=True)
    learned = dict(cell.named_parameters())

    def run(x: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(learned, tensors[cell.parts :], strict=True))
        states, end = torch.func.functional_call(cell, weights, (x, tensors[: cell.parts], mask))
        assert is_native(states)
        return states, *end

    leaves = [tensor.detach().requires_grad_() for tensor in (x, *start, *learned.values())]
    assert torch.autograd.gradcheck(run, leaves)


@pytest.mark.parametrize("kind", KINDS)
def test_without_gradients_the_numbers_are_the_same(kind):
    cell = cell_of(kind, 21, dtype=torch.float32)
    given = inputs_of(cell, 5, 6, start=True, mask=True)
    states, end = cell(*given)
    with torch.no_grad():
        alone, alone_end = cell(*given)
    for one, other in zip((states, *end), (alone, *alone_end), strict=True):
        assert torch.equal(one, other)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit(kind):
    cell = cell_of(kind, 29, dtype=torch.float32)
    x, start, mask = inputs_of(cell, 7, 20, start=True, mask=True)
    a = (x @ cell.weight_ih_l0.t()).detach().requires_grad_()  # torch's own products may differ
    learned = [a, *(p for name, p in cell.named_parameters() if name != "weight_ih_l0")]

    def run(threads: int) -> list[Tensor]:
        torch.set_num_threads(threads)
        normed = normalise_input(a, cell.input_gain, cell.bias_ih_l0) if cell.layer_norm else a
        h, c = (*start, None, None)[:2]
        inside = Inside(cell.weight_hh_l0, cell.bias_hh_l0, *cell.gains()[1:], h, c, mask)
        outputs = recur_normalised(str(cell.native), normed, inside, reset_before=cell.resets_before)
        loss = torch.stack([(output * output).sum() for output in outputs]).sum()
        return [*outputs, *(g for g in torch.autograd.grad(loss, learned, allow_unused=True) if g is not None)]

    one = run(1)
    for threads in (2, 3):
        for alone, shared in zip(one, run(threads), strict=True):
            assert torch.equal(alone, shared)


@pytest.mark.parametrize("kind", KINDS)
def test_nan_stays_nan_in_its_row_from_its_step_on(kind):
    cell = cell_of(kind, 20, dtype=torch.float32)
    x, start, mask = inputs_of(cell, 5, 6, start=False, mask=False)
    with torch.no_grad():
        healthy, _ = cell(x, start, mask)
        x[3, 2, 1] = torch.nan
        states, end = cell(x, start, mask)
    touched = torch.zeros(5, 6, dtype=torch.bool)
    touched[3, 2:] = True
    assert states[touched].isnan().all()
    assert all(part[3].isnan().all() for part in end)
    assert torch.equal(states[~touched], healthy[~touched])


@pytest.mark.parametrize("kind", KINDS)
def test_a_nan_in_the_weights_reaches_every_gradient(kind):
    cell = cell_of(kind, 20)
    with torch.no_grad():
        cell.weight_hh_l0[1, 2] = torch.nan
    found = results(cell, *inputs_of(cell, 5, 6, start=True, mask=False))
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "start 0"):
        assert found[name].isnan().any(), name


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_with_gaps(kind):
    cell = cell_of(kind, 13)
    x, start, _ = inputs_of(cell, 4, 5, start=True, mask=False)
    expected = results(cell, x, start, torch.full((4, 13), 2.0, dtype=x.dtype))
    gaps = tuple(part.t().contiguous().t() for part in start)
    mask = torch.tensor(2.0, dtype=x.dtype).expand(4, 13)
    assert_same(results(cell, x.transpose(0, 1).contiguous().transpose(0, 1), gaps, mask), expected, 1e-13)

    a = drawn(70, 5, 4, len(cell.gates) * 13).transpose(0, 1).requires_grad_()
    inside = Inside(cell.weight_hh_l0, cell.bias_hh_l0, *cell.gains()[1:])
    states, *_ = recur_normalised(str(cell.native), a, inside, reset_before=cell.resets_before)
    (spread,) = torch.autograd.grad(states.sum(), a, retain_graph=True)  # the gradient of a sum is one number, repeated
    (dense,) = torch.autograd.grad(states, a, torch.ones_like(states))
    assert torch.equal(spread, dense)


@pytest.mark.parametrize("kind", ["lstm", "gru before"])
def test_segments_that_are_computed_again(kind):
    whole, parts = cell_of(kind, 13), cell_of(kind, 13, segments=3)
    given = inputs_of(whole, 5, 8, start=True, mask=True)
    assert_same(results(parts, *given), results(whole, *given), 1e-12)


def test_an_lstm_too_large_for_the_plain_kernel_drops_units_natively():
    hidden = LARGEST_LSTM + 1
    with torch.random.fork_rng():
        torch.manual_seed(0)
        cell = LSTMCell(LSTM(hidden=hidden), 3).double()
    given = inputs_of(cell, 2, 3, start=True, mask=True)
    with native.switched_off():
        expected = results(cell, *given)
    assert is_native(cell(*given)[0])
    assert_same(results(cell, *given), expected, 1e-12)


def test_a_state_that_stands_still_goes_step_by_step():
    cell = cell_of("lstm", 13)
    x, start, mask = inputs_of(cell, 4, 5, start=True, mask=False)
    real = torch.tensor([[True] * 3 + [False] * 2] * 4)
    states, (h, _) = cell(x, start, mask, real)
    assert not is_native(states)
    assert torch.equal(h, states[:, 2])


def test_a_few_tokens_are_not_worth_the_preparation():
    cell = cell_of("gru", 140)
    assert not is_native(cell(*inputs_of(cell, 1, 5, start=True, mask=False))[0])
    assert is_native(cell(*inputs_of(cell, 2, 3, start=True, mask=False))[0])
    small = cell_of("gru", 8)
    assert is_native(small(*inputs_of(small, 1, 1, start=True, mask=False))[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hidden", [7, 16, 37])
def test_the_norm_of_the_input_is_torchs(hidden, dtype):
    x = (3 + 2 * drawn(1, 5, 40, 3 * hidden, dtype=dtype)).requires_grad_()
    gain, bias = (drawn(i, *shape, dtype=dtype).requires_grad_() for i, shape in ((2, (3, hidden)), (3, (3 * hidden,))))
    pull = drawn(4, *x.shape, dtype=dtype)
    ours = normalise_input(x, gain, bias)
    theirs = (F.layer_norm(x.unflatten(-1, (3, hidden)), (hidden,)) * gain).flatten(-2) + bias
    names = ["x", "gain", "bias"]
    found, expected = (
        {"out": out.detach()} | dict(zip(names, torch.autograd.grad(out, (x, gain, bias), pull), strict=True))
        for out in (ours, theirs)
    )
    assert_same(found, expected, CLOSE[dtype])


def test_numbers_that_are_all_the_same_normalise_to_the_bias():
    x, gain, bias = torch.full((2, 3, 20), 1e4), torch.ones(2, 10), torch.arange(20.0)
    assert torch.equal(normalise_input(x, gain, bias), bias.expand(2, 3, 20))


def test_what_native_code_would_misread_is_refused():
    cell = cell_of("gru", 13)
    a, weights = drawn(1, 4, 5, 39), (cell.weight_hh_l0, cell.bias_hh_l0, *cell.gains()[1:])
    with pytest.raises(TypeError, match="float32"):
        recur_normalised("gru", a.float(), Inside(*weights))
    with pytest.raises(TypeError, match="float32"):
        normalise_input(a.float(), cell.input_gain, cell.bias_ih_l0)
    with pytest.raises(ValueError, match=r"must be \(4, 13\), and is \(1, 13\)"):
        recur_normalised("gru", a, Inside(*weights, mask=drawn(2, 1, 13)))
    with pytest.raises(ValueError, match="brings 26 numbers a step, and the weights have 39 rows"):
        recur_normalised("gru", a[:, :, :26], Inside(*weights))
    with pytest.raises(ValueError, match="no steps"):
        recur_normalised("gru", a[:, :0], Inside(*weights))
