"""Native recurrences for answers alone: what the ones for training compute, from tables and from products."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.kernels import build
from rnnlab.kernels.inference import Layer
from rnnlab.kernels.recurrence import GATES

needs_library = pytest.mark.skipif(not native.status().active, reason=native.status().reason)
KINDS = list(GATES)
Weights = tuple[Tensor, Tensor, Tensor, Tensor]


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def weights_of(kind: str, inputs: int, hidden: int) -> Weights:
    gates, scale = GATES[kind] * hidden, hidden**-0.5
    return (
        drawn(0, gates, inputs) * scale,
        drawn(1, gates, hidden) * scale,
        drawn(2, gates) * scale,
        drawn(3, gates) * scale,
    )


def stepwise(kind: str, x: Tensor, weights: Weights, start: list[Tensor]) -> Tensor:
    """All states (T, H) of one sequence (T, D), by torch's own cells."""
    states, zeros = [], torch.zeros(2, weights[1].shape[1])
    h, c = (part[None] for part in (*start, *zeros[len(start) :]))
    for x_t in x[:, None]:
        if kind == "lstm":
            h, c = torch.lstm_cell(x_t, [h, c], *weights)
        elif kind == "gru":
            h = torch.gru_cell(x_t, h, *weights)
        else:
            h = (torch.rnn_tanh_cell if kind == "tanh" else torch.rnn_relu_cell)(x_t, h, *weights)
        states.append(h[0])
    return torch.stack(states)


def expected(
    kind: str, x: Tensor, lengths: list[int], weights: Weights, start: list[Tensor], reverse: bool
) -> tuple[Tensor, Tensor]:
    """(states (N, H), ends (B, H))."""
    states, ends = [], []
    for part in x.split(lengths):
        found = stepwise(kind, part.flip(0) if reverse else part, weights, start)
        ends.append(found[-1])
        states.append(found.flip(0) if reverse else found)
    return torch.cat(states), torch.stack(ends)


def offsets_of(lengths: list[int]) -> Tensor:
    return torch.tensor([0, *lengths]).cumsum(0)


@needs_library
@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    hidden=st.sampled_from([1, 7, 16, 24, 33, 48, 65, 128, 130, 260]),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=20),
    reverse=st.booleans(),
    started=st.booleans(),
    table=st.booleans(),
)
def test_the_same_states_as_torch(kind, hidden, lengths, reverse, started, table):
    weights = weights_of(kind, 5, hidden)
    start = [drawn(9 + part, hidden) for part in range(2 if kind == "lstm" else 1)] if started else []
    layer = Layer(kind, *weights, tuple(start))
    tokens, words = sum(lengths), drawn(20, 11, 5)
    ids = torch.randint(0, 11, (tokens,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    brought = torch.addmm(layer.bias, words if table else words[ids], layer.from_input)
    wide, wide_ends = torch.full((tokens, hidden + 3), 7.0), torch.full((len(lengths), hidden + 3), 7.0)
    layer.read(offsets_of(lengths), brought, ids if table else None, reverse, wide_ends[:, 2:], wide[:, 2:])
    states, ends = expected(kind, words[ids], lengths, weights, start, reverse)
    torch.testing.assert_close(wide[:, 2:-1], states, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(wide_ends[:, 2:-1], ends, atol=2e-6, rtol=1e-5)
    for one in (wide, wide_ends):  # nothing beside them is touched
        assert (one[:, :2] == 7).all()
        assert (one[:, -1] == 7).all()


@needs_library
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_bits_in_every_company_and_with_any_threads(kind):
    lengths = [3, 30, 1, 7, 7, 12, 2, 5, 9, 9, 4]
    layer = Layer(kind, *weights_of(kind, 4, 150))
    brought = torch.addmm(layer.bias, drawn(1, sum(lengths), 4), layer.from_input)

    def ends(sizes: list[int], of: Tensor) -> Tensor:
        found = torch.empty(len(sizes), 150)
        layer.read(offsets_of(sizes), of, None, False, found, None)
        return found

    together = ends(lengths, brought)
    for row, part in enumerate(brought.split(lengths)):
        assert torch.equal(ends([lengths[row]], part)[0], together[row])
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            assert torch.equal(ends(lengths, brought), together)
    finally:
        torch.set_num_threads(before)


@needs_library
def test_what_is_outside_is_refused():
    layer = Layer("gru", *weights_of("gru", 4, 6))
    table, ends = torch.addmm(layer.bias, drawn(1, 10, 4), layer.from_input), torch.empty(2, 6)
    for wrong in (-1, 10):
        ids = torch.tensor([0, wrong, 9], dtype=torch.int32)
        with pytest.raises(IndexError, match="10 rows"):
            layer.read(torch.tensor([0, 1, 3]), table, ids, False, ends, None)
    ids = torch.tensor([0, 1, 9], dtype=torch.int32)
    for offsets in ([0, 1, 4], [0, 3, 3], [1, 2, 3], [0, 4, 3]):
        with pytest.raises(ValueError, match="at least one token"):
            layer.read(torch.tensor(offsets), table, ids, False, ends, None)


def begin_anew() -> None:
    """As in a new process."""
    native._loaded.cache_clear()
    native._found.cache_clear()


def test_ready_never_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(build.CACHE, str(tmp_path / "cache"))
    begin_anew()
    try:
        assert native.ready() is None
        assert not (tmp_path / "cache").exists()
    finally:
        begin_anew()


@needs_library
def test_ready_once_it_is_compiled():
    assert native.library() is not None
    begin_anew()
    assert native.ready() is not None
    with native.switched_off():
        assert native.ready() is None
