"""Native recurrences against torch's, against a loop over steps, and against the hand-derived reference: what they
compute and every gradient."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from recurrences import recur
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from rnnlab import kernels as native
from rnnlab.kernels.recurrence import GATES, Direction, suits
from rnnlab.reference.bidirectional import bidirectional
from rnnlab.reference.gates import draw_gates
from rnnlab.reference.gru import draw_gru, gru
from rnnlab.reference.layer import below, named
from rnnlab.reference.lstm import lstm
from rnnlab.reference.rnn import rnn
from rnnlab.reference.weights import cell_weights

pytestmark = pytest.mark.skipif(not native.status().active, reason=native.status().reason)

KINDS = list(GATES)
DTYPES = [torch.float32, torch.float64]
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-12}  # times the largest number of a tensor, if that is above 1
RAGGED = [3, 7, 1, 5, 7, 2, 4, 1, 6]  # unsorted; seven steps at most
Run = Callable[..., tuple[Tensor, ...]]


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def directions_of(
    kind: str, inputs: int, hidden: int, count: int = 1, *, rows: int = 0, mask: bool = False, dtype=torch.float64
) -> list[Direction]:
    """With start states for so many ``rows``, and with masks for dropout."""
    width, directions = GATES[kind] * hidden, []
    for number in range(count):
        shapes = [(width, inputs), (width, hidden), (width,), (width,)]
        tensors = [drawn(10 * number + i, *shape, dtype=dtype) * hidden**-0.5 for i, shape in enumerate(shapes)]
        start = drawn(10 * number + 5, rows, hidden, dtype=dtype) if rows else None
        cells = drawn(10 * number + 6, rows, hidden, dtype=dtype) if rows and kind == "lstm" else None
        kept = (drawn(10 * number + 7, rows, hidden, dtype=dtype) > 0).to(dtype) / 0.5 if mask else None
        directions.append(Direction(*tensors, h_start=start, c_start=cells, mask=kept))
    return directions


def changed(direction: Direction, change: Callable[[Tensor], Tensor]) -> Direction:
    tensors: list[Any] = [None if tensor is None else change(tensor) for tensor in direction]
    return Direction(*tensors)


# Three ways that are known to be right


def by_torch(kind: str, x: Tensor, lengths: Tensor | None, *directions: Direction) -> tuple[Tensor, ...]:
    """What `nn.RNN`, `nn.LSTM` and `nn.GRU` run, over packed sequences."""
    batch, steps, _ = x.shape
    lengths = torch.full((batch,), steps) if lengths is None else lengths
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    order, back = packed.sorted_indices, packed.unsorted_indices
    assert order is not None
    zeros = x.new_zeros(batch, directions[0].w_hh.shape[1])
    given = [[d.h_start for d in directions], [d.c_start for d in directions]][: 2 if kind == "lstm" else 1]
    starts = [torch.stack([zeros if start is None else start for start in part])[:, order] for part in given]
    weights = [tensor for direction in directions for tensor in direction[:4]]
    run = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu, "gru": torch.gru, "lstm": torch.lstm}[kind]
    begin = tuple(starts) if kind == "lstm" else starts[0]
    states, *ends = run(packed.data, packed.batch_sizes, begin, weights, True, 1, 0.0, False, len(directions) == 2)
    padded, _ = pad_packed_sequence(
        PackedSequence(states, packed.batch_sizes, order, back), batch_first=True, total_length=steps
    )
    return padded, *(end[:, back].transpose(0, 1).flatten(1) for end in ends)


def by_steps(kind: str, x: Tensor, lengths: Tensor | None, *directions: Direction) -> tuple[Tensor, ...]:
    """One row, one direction and one step after the other."""
    batch, steps, _ = x.shape
    ends: list[list[Tensor]] = [[], []]
    states = []
    for b in range(batch):
        length = steps if lengths is None else int(lengths[b])
        row = []
        for number, direction in enumerate(directions):
            mask = None if direction.mask is None else direction.mask[b]
            zeros = x.new_zeros(direction.w_hh.shape[1])
            h, c = (zeros if start is None else start[b] for start in (direction.h_start, direction.c_start))
            after = []
            for t in reversed(range(length)) if number else range(length):
                h, c = step(kind, x[b, t], h, c, direction, mask)
                after.append(h)
            row.append(torch.stack([*(reversed(after) if number else after), *[zeros] * (steps - length)]))
            ends[0].append(h)
            ends[1].append(c)
        states.append(torch.cat(row, dim=1))
    told = (torch.stack(end).view(batch, -1) for end in ends[: 2 if kind == "lstm" else 1])
    return torch.stack(states), *told


def step(
    kind: str, x: Tensor, h: Tensor, c: Tensor, direction: Direction, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    seen = h if mask is None else h * mask
    a, u = direction.w_ih @ x + direction.b_ih, direction.w_hh @ seen + direction.b_hh
    if kind == "lstm":
        i, f, g, o = (a + u).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "gru":
        (a_r, a_z, a_n), (u_r, u_z, u_n) = a.chunk(3), u.chunk(3)
        z = (a_z + u_z).sigmoid()
        return (1 - z) * (a_n + (a_r + u_r).sigmoid() * u_n).tanh() + z * h, c
    return (a + u).tanh() if kind == "tanh" else (a + u).relu(), c


def results(
    run: Run,
    kind: str,
    x: Tensor,
    lengths: Tensor | None,
    directions: Sequence[Direction],
    of: str = "shc",
    wanted: str = "all",
) -> dict[str, Tensor]:
    """Outputs, and gradients of some of them: the states (s), their ends (h) and the ends of the cells (c). What they
    are gradients for is ``wanted``: names like "x" and "w_ih 0", of the first direction."""
    numbers = range(len(directions))
    leaves: dict[str, Any] = {f"{name} {n}": t for n in numbers for name, t in directions[n]._asdict().items()}
    leaves["x"] = x
    leaves = {name: None if tensor is None else tensor.detach() for name, tensor in leaves.items()}
    learned = {
        name: tensor.requires_grad_()
        for name, tensor in leaves.items()
        if tensor is not None and not name.startswith("mask") and (wanted == "all" or name in wanted)
    }
    own = [Direction(*(leaves[f"{name} {n}"] for name in Direction._fields)) for n in numbers]
    outputs = dict(zip("shc", run(kind, leaves["x"], lengths, *own), strict=False))
    seen = [outputs[name] for name in of if name in outputs]
    gradients = torch.autograd.grad(
        seen, list(learned.values()), [drawn(20, *t.shape, dtype=t.dtype) for t in seen], materialize_grads=True
    )
    return {
        **{name: t.detach() for name, t in outputs.items()},
        **{f"for {n}": g for n, g in zip(learned, gradients, strict=True)},
    }


def assert_right(
    truth: Run,
    kind: str,
    x: Tensor,
    lengths: list[int] | None,
    directions: Sequence[Direction],
    of: str = "shc",
    wanted: str = "all",
) -> None:
    """The truth is computed in double precision, from the same numbers."""
    given = torch.tensor(lengths) if lengths is not None else None
    double = [changed(direction, Tensor.double) for direction in directions]
    ours = results(recur, kind, x, given, directions, of, wanted)
    expected = results(truth, kind, x.double(), given, double, of, wanted)
    assert ours.keys() == expected.keys()
    for name, tensor in expected.items():
        assert ours[name].dtype == x.dtype
        close = CLOSE[x.dtype] * max(1.0, float(tensor.abs().max()))
        torch.testing.assert_close(
            ours[name].double(), tensor, rtol=0, atol=close, msg=lambda told, n=name: f"{n}: {told}"
        )


@contextmanager
def threads(n: int):
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    yield
    torch.set_num_threads(before)


# Values and gradients


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    data=st.data(),
    kind=st.sampled_from(KINDS),
    dtype=st.sampled_from(DTYPES),
    steps=st.integers(1, 7),
    inputs=st.integers(1, 40),
    hidden=st.integers(1, 70),
    count=st.integers(1, 2),
    start=st.booleans(),
    cores=st.integers(1, 2),
)
def test_any_shape_gives_what_torch_gives(data, kind, dtype, steps, inputs, hidden, count, start, cores) -> None:
    lengths = data.draw(st.none() | st.lists(st.integers(1, steps), min_size=1, max_size=20))
    batch = data.draw(st.integers(1, 20)) if lengths is None else len(lengths)
    directions = directions_of(kind, inputs, hidden, count, rows=batch * start, dtype=dtype)
    with threads(cores):
        assert_right(by_torch, kind, drawn(1, batch, steps, inputs, dtype=dtype), lengths, directions)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("batch", "steps", "inputs", "hidden"),
    [(1, 1, 1, 1), (1, 9, 5, 16), (9, 1, 5, 17), (9, 7, 1, 64), (7, 4, 300, 128), (9, 3, 50, 256), (65, 3, 15, 33)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_at_the_edges(kind: str, batch: int, steps: int, inputs: int, hidden: int, dtype: torch.dtype) -> None:
    """One of everything; whole vectors and one more; sums that are computed in several parts; many tokens."""
    x, both = (
        drawn(1, batch, steps, inputs, dtype=dtype),
        directions_of(kind, inputs, hidden, 2, rows=batch, dtype=dtype),
    )
    assert_right(by_torch, kind, x, None, both)
    assert_right(by_torch, kind, x, [1 + 5 * b % steps for b in range(batch)], both[:1])


@pytest.mark.parametrize("lengths", [None, [1] * 9, RAGGED, sorted(RAGGED), [2] * 9])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_lengths_in_any_order(kind: str, count: int, lengths: list[int] | None) -> None:
    """Where all are short, the longest doesn't fill the steps."""
    assert_right(by_torch, kind, drawn(1, 9, 7, 6), lengths, directions_of(kind, 6, 20, count))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_dropout_of_the_state_is_that_of_a_loop_over_steps(
    kind: str, count: int, start: bool, dtype: torch.dtype
) -> None:
    directions = directions_of(kind, 5, 19, count, rows=9, mask=True, dtype=dtype)
    if not start:
        directions = [direction._replace(h_start=None, c_start=None) for direction in directions]
    assert_right(by_steps, kind, drawn(1, 9, 7, 5, dtype=dtype), RAGGED, directions)
    assert_right(by_steps, kind, drawn(1, 9, 7, 5, dtype=dtype), None, directions)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_hand_derived_recurrence(kind: str, both: bool) -> None:
    layer = {"tanh": rnn, "relu": partial(rnn, activation="relu"), "lstm": lstm, "gru": gru}[kind]
    draw = (
        draw_gru
        if kind == "gru"
        else lambda *sizes: draw_gates(sizes[0], "ifgo" if kind == "lstm" else "h", *sizes[1:])
    )
    generator, inputs, hidden, lengths = np.random.default_rng(3), 4, 18, np.array(RAGGED)
    places = ["ahead", "back"] if both else ["ahead"]
    parameters = {key: value for p in places for key, value in named(p, draw(generator, inputs, hidden)).items()}
    starts = {
        f"{p}.{v}_0": generator.normal(size=(9, hidden)) for p in places for v in ("hc" if kind == "lstm" else "h")
    }
    x, direct = generator.normal(size=(9, 7, inputs)), generator.normal(size=(9, 7, hidden * len(places)))
    if both:
        states, backward = bidirectional(layer)(x, lengths, parameters, starts)
    else:
        states, backward = layer(x, lengths, below("ahead", parameters), below("ahead", starts))
    truth = backward(direct)

    def learned(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).requires_grad_()

    given, directions = learned(x), []
    for p in places:
        of_torch = cell_weights(below(p, parameters)).values()
        directions.append(Direction(*map(learned, of_torch), *map(learned, below(p, starts).values())))
    ours, *_ = recur(kind, given, torch.from_numpy(lengths), *directions)
    (ours * torch.from_numpy(direct)).sum().backward()

    def equal(tensor: Tensor | None, array: np.ndarray) -> None:
        assert tensor is not None
        np.testing.assert_allclose(tensor.detach().numpy(), array, rtol=1e-10, atol=1e-12)

    equal(ours, states)
    equal(given.grad, truth.x)
    for p, direction in zip(places, directions, strict=True):
        gradients = cell_weights(below(p, truth.parameters) if both else truth.parameters)
        equal(direction.w_ih.grad, gradients["weight_ih_l0"])
        equal(direction.w_hh.grad, gradients["weight_hh_l0"])
        equal(direction.b_ih.grad, gradients["bias_ih_l0"])
        second = gradients["bias_ih_l0"].copy()  # the textbook has one bias, but for the candidate of the GRU
        if kind == "gru":
            second[-hidden:] = gradients["bias_hh_l0"][-hidden:]
        equal(direction.b_hh.grad, second)
        for start, array in zip(
            direction[4:6], (below(p, truth.start) if both else truth.start).values(), strict=False
        ):
            equal(start.grad, array)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_small_differences(kind: str, masked: bool) -> None:
    both = directions_of(kind, 3, 5, 2, rows=3, mask=masked)
    tensors = [t.requires_grad_() for d in both for t in d[:6] if t is not None]
    lengths, kept = torch.tensor([2, 4, 1]), [d.mask for d in both]

    def run(x: Tensor, *flat: Tensor) -> tuple[Tensor, ...]:
        size = len(flat) // 2
        parts = [flat[:size], flat[size:]]
        return recur(
            kind,
            x,
            lengths,
            *(Direction(*p[:4], *(*p[4:], None)[:2], mask=m) for p, m in zip(parts, kept, strict=True)),
        )

    assert torch.autograd.gradcheck(run, (drawn(1, 3, 4, 3).requires_grad_(), *tensors))


# What is asked for, and how it lies in memory


@pytest.mark.parametrize("of", ["s", "h", "c", "sc", "hc"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_may_see_some_of_the_outputs(kind: str, of: str) -> None:
    if of == "c" and kind != "lstm":
        pytest.skip("it has no cells")
    assert_right(by_torch, kind, drawn(1, 9, 7, 6), RAGGED, directions_of(kind, 6, 20, 2, rows=9), of)


@pytest.mark.parametrize("wanted", ["x", "h_start 0", "c_start 1", "h_start 1 c_start 1", "w_hh 0", "b_hh 1 b_ih 1"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_some_only(kind: str, masked: bool, wanted: str) -> None:
    if wanted == "c_start 1" and kind != "lstm":
        pytest.skip("it has no cells")
    directions = directions_of(kind, 6, 20, 2, rows=9, mask=masked)
    assert_right(by_steps, kind, drawn(1, 9, 7, 6), RAGGED, directions, wanted=wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_one_start_without_the_other(kind: str) -> None:
    direction = directions_of(kind, 6, 20, rows=9)[0]
    assert_right(by_torch, kind, drawn(1, 9, 7, 6), RAGGED, [direction._replace(h_start=None)])
    assert_right(by_torch, kind, drawn(1, 9, 7, 6), RAGGED, [direction._replace(c_start=None)])


VIEWS: dict[str, Callable[[], Tensor]] = {
    "time first": lambda: drawn(1, 7, 9, 6).transpose(0, 1),
    "features first": lambda: drawn(1, 6, 9, 7).permute(1, 2, 0),
    "every second feature": lambda: drawn(1, 9, 7, 12)[..., ::2],
    "some features": lambda: drawn(1, 9, 7, 11)[..., 3:9],
    "some steps": lambda: drawn(1, 9, 12, 6)[:, 2:9],
    "every second row": lambda: drawn(1, 18, 7, 6)[::2],
    "backwards in a buffer": lambda: drawn(1, 9 * 7 * 6 + 5)[5:].view(9, 7, 6),
    "one row for all": lambda: drawn(1, 1, 7, 6).expand(9, 7, 6),
    "one step for all": lambda: drawn(1, 9, 1, 6).expand(9, 7, 6),
    "one number for all": lambda: drawn(1, 9, 7, 1).expand(9, 7, 6),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_may_lie_anyhow(kind: str, view: str) -> None:
    x = VIEWS[view]()
    directions = directions_of(kind, 6, 20, 2)
    ours = recur(kind, x, torch.tensor(RAGGED), *directions)
    for one, other in zip(ours, recur(kind, x.contiguous(), torch.tensor(RAGGED), *directions), strict=True):
        assert torch.equal(one, other)
    if "all" not in view:  # a leaf has memory for each of its numbers
        assert_right(by_torch, kind, x, RAGGED, directions)


def test_weights_and_starts_may_lie_anyhow() -> None:
    direction = directions_of("lstm", 6, 20, rows=9)[0]
    turned = changed(direction, lambda t: t if t.ndim < 2 else t.t().contiguous().t())
    assert not turned.w_ih.is_contiguous()
    assert_right(by_torch, "lstm", drawn(1, 9, 7, 6), RAGGED, [turned])


def test_lengths_may_lie_anyhow() -> None:
    direction, x = directions_of("lstm", 6, 20)[0], drawn(1, 9, 7, 6)
    spread = torch.tensor([[length, 1] for length in RAGGED])[:, 0]
    for one, other in zip(recur("lstm", x, spread, direction), by_torch("lstm", x, spread, direction), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_that_come_in_any_layout(kind: str) -> None:
    """The sum of the states sends one number for all; a pooling over time may send it time first."""
    x, lengths, direction = drawn(1, 9, 7, 6).requires_grad_(), torch.tensor(RAGGED), directions_of(kind, 6, 20)[0]
    losses: list[Callable[[Tensor], Tensor]] = [
        lambda states: states.sum(),
        lambda states: (states.transpose(0, 1).contiguous() * drawn(2, 7, 9, 20)).sum(),
        lambda states: (states.permute(2, 0, 1).contiguous() * drawn(2, 20, 9, 7)).sum(),
        lambda states: states[:, ::2, 3:].square().sum(),
    ]
    for loss in losses:
        ours, expected = (
            torch.autograd.grad(loss(run(kind, x, lengths, direction)[0]), x)[0] for run in (recur, by_torch)
        )
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_padding_is_neither_read_nor_answered(kind: str, dtype: torch.dtype) -> None:
    lengths, directions = torch.tensor(RAGGED), directions_of(kind, 6, 20, 2, rows=9, dtype=dtype)
    x, padding = drawn(1, 9, 7, 6, dtype=dtype), torch.arange(7) >= lengths[:, None]
    x[padding] = 0
    expected = results(recur, kind, x, lengths, directions)
    spoilt = x.clone()
    spoilt[padding] = torch.nan
    ours = results(recur, kind, spoilt, lengths, directions)
    for name, tensor in expected.items():
        assert torch.equal(ours[name], tensor), name
    assert not ours["s"][padding].any()
    assert not ours["for x"][padding].any()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_goes_back_from_states_at_padding(kind: str) -> None:
    lengths, direction = torch.tensor(RAGGED), directions_of(kind, 6, 20)[0]
    x, padding = drawn(1, 9, 7, 6).requires_grad_(), torch.arange(7) >= lengths[:, None]
    states, *_ = recur(kind, x, lengths, direction)
    gradient = drawn(2, 9, 7, 20)
    expected = torch.autograd.grad(states, x, gradient, retain_graph=True)[0]
    gradient[padding] = torch.nan
    assert torch.equal(torch.autograd.grad(states, x, gradient)[0], expected)


# Repeated, without gradients, on several threads


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_gives_the_same_bits(kind: str, masked: bool, dtype: torch.dtype) -> None:
    lengths = torch.tensor([1 + 7 * b % 11 for b in range(31)])
    directions = directions_of(kind, 33, 70, 2, rows=31, mask=masked, dtype=dtype)
    x = drawn(1, 31, 11, 33, dtype=dtype)
    one = results(recur, kind, x, lengths, directions)
    for n in (2, 3, 5, 40):
        with threads(n):
            many = results(recur, kind, x, lengths, directions)
        for name, tensor in one.items():
            assert torch.equal(many[name], tensor), (n, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_is_the_same_to_the_bit_in_any_batch(kind: str, dtype: torch.dtype) -> None:
    directions, x = directions_of(kind, 33, 70, 2, dtype=dtype), drawn(1, 9, 7, 33, dtype=dtype)
    together, *_ = recur(kind, x, torch.tensor(RAGGED), *directions)
    for b, length in enumerate(RAGGED):
        alone, *_ = recur(kind, x[b : b + 1, :length], None, *directions)
        assert torch.equal(alone[0], together[b, :length])


@pytest.mark.parametrize("kind", KINDS)
def test_without_gradients_the_bits_are_the_same(kind: str) -> None:
    x, both = drawn(1, 9, 7, 6, dtype=torch.float32), directions_of(kind, 6, 20, 2, rows=9, dtype=torch.float32)
    lengths, learned = torch.tensor(RAGGED), [changed(direction, Tensor.requires_grad_) for direction in both]
    trained = recur(kind, x, lengths, *learned)
    with torch.no_grad():
        quiet = recur(kind, x, lengths, *learned)
    with torch.inference_mode():
        asked = recur(kind, x, lengths, *learned)
    assert trained[0].requires_grad
    assert not quiet[0].requires_grad
    for one, two, three in zip(trained, quiet, asked, strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, three)


@pytest.mark.parametrize("kind", KINDS)
def test_going_back_twice_gives_the_same(kind: str) -> None:
    x = drawn(1, 9, 7, 6).requires_grad_()
    states, *_ = recur(kind, x, torch.tensor(RAGGED), *directions_of(kind, 6, 20, 2))
    first, second = (torch.autograd.grad(states.sum(), x, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_both_biases_have_gradients_of_their_own(kind: str) -> None:
    """Clipping in place would otherwise clip one twice."""
    direction = changed(directions_of(kind, 6, 20)[0], Tensor.requires_grad_)
    recur(kind, drawn(1, 9, 7, 6), None, direction)[0].sum().backward()
    assert direction.b_ih.grad is not None
    assert direction.b_hh.grad is not None
    before = direction.b_hh.grad.clone()
    direction.b_ih.grad.zero_()
    assert torch.equal(direction.b_hh.grad, before)


def test_a_state_that_was_changed_since_is_noticed() -> None:
    x = drawn(1, 9, 7, 6).requires_grad_()
    states, *_ = recur("tanh", x, None, *directions_of("tanh", 6, 20))
    loss = states.square().sum()
    with torch.no_grad():
        states.zero_()
    with pytest.raises(RuntimeError, match="inplace operation"):
        loss.backward()


@pytest.mark.parametrize("kind", KINDS)
def test_it_suits_both_precisions_on_a_processor(kind: str) -> None:
    assert suits(kind, torch.zeros(1), 128)
    assert suits(kind, torch.zeros(1, dtype=torch.float64), 128)
    assert not suits(kind, torch.zeros(1, dtype=torch.float16), 128)
    assert not suits(kind, torch.zeros(1, device="meta"), 128)


@pytest.mark.parametrize(
    ("lengths", "error"),
    [
        ([0, 2], ValueError),
        ([2, 4], ValueError),
        ([-1, 2], ValueError),
        ([1, 2, 3], TypeError),
        ([1.0, 2.0], TypeError),
    ],
)
def test_lengths_that_would_lead_beyond_the_end_are_refused(lengths: list[float], error: type[Exception]) -> None:
    weights = torch.nn.RNN(4, 5)
    with pytest.raises(error, match="lengths must be"):
        recur("tanh", torch.zeros(2, 3, 4), torch.tensor(lengths), Direction(*weights.parameters()))


def test_steps_and_precisions_are_checked() -> None:
    weights = Direction(*torch.nn.RNN(4, 5).parameters())
    with pytest.raises(ValueError, match="no steps"):
        recur("tanh", torch.zeros(2, 0, 4), None, weights)
    with pytest.raises(TypeError, match="float64"):
        recur("tanh", torch.zeros(2, 3, 4, dtype=torch.float64), None, weights)


def test_a_batch_of_no_rows_has_gradients_of_zero() -> None:
    network = torch.nn.LSTM(4, 5)
    states, *_ = recur("lstm", torch.zeros(0, 3, 4), None, Direction(*network.parameters()))
    states.sum().backward()
    assert states.shape == (0, 3, 5)
    assert all(weight.grad is not None and not weight.grad.any() for weight in network.parameters())
