"""The native Transformer encoder against its torch path: states, every gradient, and what dropout does."""

import copy
import ctypes
import warnings
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnlab import kernels as native
from rnnlab.core.errors import DataError
from rnnlab.kernels.transformer import LARGEST, Shape, encode, suits
from rnnlab.models.transformer import Layer, Transformer, TransformerEncoder

pytestmark = pytest.mark.skipif(native.library() is None, reason="there are no native kernels")

CLOSE = {torch.float32: (2e-5, 2e-5), torch.float64: (1e-12, 1e-10)}  # of states, of gradients
RAGGED = [3, 7, 1, 5, 7, 2]
ODD: dict[str, Any] = {"width": 6, "heads": 3, "feedforward": 10}


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def built(inputs: int, dtype: torch.dtype = torch.float64, **settings: Any) -> TransformerEncoder:
    """With norms that aren't trivial."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = Transformer(**{"dropout": 0.0, **settings}).build(inputs).to(dtype)
        assert isinstance(encoder, TransformerEncoder)
        with torch.no_grad():
            for parameter in encoder.parameters():
                parameter += 0.2 * torch.randn(parameter.shape, dtype=torch.float64).to(dtype)
    return encoder


def results(encoder: TransformerEncoder, x: Tensor, lengths: Tensor, wants_x: bool = True) -> dict[str, Tensor]:
    """States, and all gradients of something that reads them, padding too."""
    encoder.zero_grad()
    x = x.detach().requires_grad_(wants_x)
    states = encoder(x, lengths).states
    states.backward(drawn(1, *states.shape, dtype=states.dtype))
    found = {"states": states.detach()}
    if x.grad is not None:
        found["x"] = x.grad
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None
        found[name] = parameter.grad.clone()
    return found


def runs_native(encoder: TransformerEncoder, x: Tensor) -> bool:
    return encoder._natively(x, torch.ones(len(x), dtype=torch.int64)) is not None


def assert_right(encoder: TransformerEncoder, x: Tensor, lengths: list[int], wants_x: bool = True) -> None:
    assert runs_native(encoder, x)
    ours = results(encoder, x, torch.tensor(lengths), wants_x)
    with native.switched_off():
        assert not runs_native(encoder, x)
        expected = results(encoder, x, torch.tensor(lengths), wants_x)
    assert ours.keys() == expected.keys()
    assert ("x" in ours) == wants_x
    for name, tensor in expected.items():
        close = CLOSE[x.dtype][name != "states"] * max(1.0, float(tensor.abs().max()))
        torch.testing.assert_close(ours[name], tensor, rtol=0, atol=close, msg=lambda told, n=name: f"{n}: {told}")


# Values and gradients


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 21), min_size=1, max_size=6),  # one vector of keys, and more than one
    spare=st.integers(0, 3),
    inputs=st.sampled_from([1, 5, 17, 50]),
    heads=st.sampled_from([1, 2, 3, 4]),
    head_width=st.sampled_from([1, 2, 5, 8, 16, 19]),
    feedforward=st.sampled_from([1, 10, 32, 70]),
    layers=st.integers(1, 3),
    look_ahead=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_states_and_gradients_are_those_of_torch(
    lengths: list[int],
    spare: int,
    inputs: int,
    heads: int,
    head_width: int,
    feedforward: int,
    layers: int,
    look_ahead: bool,
    dtype: torch.dtype,
) -> None:
    width = heads * head_width
    if width < 5:
        return  # the norm of so few numbers magnifies rounding, in both
    encoder = built(
        inputs, dtype, width=width, heads=heads, feedforward=feedforward, layers=layers, look_ahead=look_ahead
    )
    assert_right(encoder, drawn(2, len(lengths), max(lengths) + spare, inputs, dtype=dtype), lengths)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("settings", "inputs", "lengths", "spare"),
    [
        ({}, 50, [7, 10, 3, 8, 1, 9], 0),
        ({}, 50, [1], 0),
        ({}, 50, [1, 1, 1], 4),
        (ODD, 5, RAGGED, 2),
        ({**ODD, "heads": 1, "layers": 3}, 5, RAGGED, 0),
        ({**ODD, "look_ahead": False, "layers": 1}, 5, RAGGED, 1),
        ({**ODD, "positions": "learned", "max_length": 7}, 5, RAGGED, 3),
        ({**ODD, "positions": "learned", "max_length": 9, "look_ahead": False}, 5, RAGGED, 1),
        ({"width": 24, "heads": 2, "feedforward": 40}, 9, [130, 1, 49, 48], 2),
        ({"width": 24, "heads": 2, "feedforward": 40, "look_ahead": False}, 9, [130, 1, 49, 48], 2),
        ({"width": 150, "heads": 3, "feedforward": 300, "layers": 1}, 140, [5, 9], 0),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_these_are_right_too(
    settings: dict[str, Any], inputs: int, lengths: list[int], spare: int, dtype: torch.dtype
) -> None:
    encoder = built(inputs, dtype, **settings)
    assert_right(encoder, drawn(3, len(lengths), max(lengths) + spare, inputs, dtype=dtype), lengths)


def test_an_input_that_wants_no_gradient_gets_none() -> None:
    assert_right(built(5, **ODD), drawn(4, 6, 7, 5), RAGGED, wants_x=False)


def test_an_input_alone_gets_its_gradient() -> None:
    encoder = built(5, **ODD).requires_grad_(False)
    found = []
    for _ in range(2):
        x = drawn(4, 6, 7, 5).requires_grad_()
        encoder(x, torch.tensor(RAGGED)).states.square().sum().backward()
        found.append(x.grad)
        encoder.requires_grad_()
    assert torch.equal(found[0], found[1])


def test_an_input_need_not_lie_in_one_piece() -> None:
    encoder, x = built(5, **ODD), drawn(5, 5, 7, 6)
    assert_right(encoder, x.permute(2, 1, 0), RAGGED)
    assert_right(encoder, drawn(5, 6, 9, 8)[:, 1:8, 2:7], RAGGED)


def test_without_gradients_the_states_are_the_same_and_nothing_is_kept() -> None:
    encoder, x, lengths = built(50, torch.float32), drawn(6, 6, 7, 50, dtype=torch.float32), torch.tensor(RAGGED)
    kept = encoder(x, lengths).states
    with torch.no_grad():
        states = encoder(x, lengths).states
    assert kept.requires_grad
    assert not states.requires_grad
    assert torch.equal(states, kept)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_padding_changes_nothing(dropout: float) -> None:
    """Whatever stands there, and however much of it: values, gradients, and what is dropped."""
    encoder = built(5, **ODD, dropout=dropout)
    x, lengths, found = drawn(7, 6, 7, 5), torch.tensor(RAGGED), []
    real = (torch.arange(7) < lengths[:, None])[:, :, None]
    for spare, noise in ((0, 0.0), (0, 1e6), (5, torch.nan)):
        padded = torch.cat([torch.where(real, x, noise), torch.full((6, spare, 5), noise, dtype=x.dtype)], dim=1)
        padded = padded.requires_grad_()
        encoder.zero_grad()
        torch.manual_seed(1)
        states = encoder(padded, lengths).states
        assert not states[~torch.nn.functional.pad(real, (0, 0, 0, spare)).expand_as(states)].any()
        states[:, :7].backward(drawn(8, 6, 7, 6))
        assert padded.grad is not None
        assert not padded.grad[:, 7:].any()
        gradients = [p.grad for p in encoder.parameters() if p.grad is not None]
        found.append([states[:, :7].detach(), padded.grad[:, :7], *gradients])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert torch.equal(one, two)


@pytest.mark.parametrize("look_ahead", [True, False])
def test_bits_do_not_depend_on_the_number_of_threads(look_ahead: bool) -> None:
    encoder = built(50, torch.float32, look_ahead=look_ahead, dropout=0.2)
    lengths = torch.randint(1, 40, (33,), generator=torch.Generator().manual_seed(0))
    x, found, before = drawn(9, 33, 40, 50, dtype=torch.float32), [], torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        torch.manual_seed(2)
        found.append(results(encoder, x, lengths))
    torch.set_num_threads(before)
    for other in found[1:]:
        for name, tensor in found[0].items():
            assert torch.equal(tensor, other[name]), name


def test_what_is_not_a_number_stays_so_and_stays_in_its_row() -> None:
    encoder, x = built(5, **ODD), drawn(10, 3, 4, 5)
    x[1, 2] = torch.nan
    states = encoder(x, torch.tensor([4, 4, 4])).states
    assert states[1].isnan().all()
    assert states[[0, 2]].isfinite().all()


def test_erf_is_right_to_2e_7() -> None:
    library = native.library()
    assert library is not None
    x = torch.cat(
        [torch.linspace(-6, 6, 400_001), torch.tensor([0.0, -0.0, 1e-30, 40.0, -40.0, torch.inf, -torch.inf])]
    )
    found = torch.empty_like(x)
    library.transformer_erf_float(
        ctypes.c_int64(len(x)), ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(found.data_ptr())
    )
    assert float((found.double() - torch.erf(x.double())).abs().max()) < 2e-7


# Dropout


def scrambled(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def factors(p: float, seed: int, site: int, row: int, steps: int, columns: int) -> Tensor:
    """What native code multiplies with, (steps, columns): 0 or 1 / (1 - p)."""
    mask = torch.full((steps, columns), 1 / (1 - p), dtype=torch.float64)
    of_site = scrambled((seed + 0x9E3779B97F4A7C15 * (site + 1)) % 2**64)
    for step in range(steps):
        token = scrambled((of_site + (row << 32 | step)) % 2**64)
        for column in range(columns):
            z = (column + token) % 2**32
            z = (z ^ z >> 16) * 0x21F0AAAD % 2**32
            z = ((z ^ z >> 15) + (token >> 32)) % 2**32
            z = (z ^ z >> 16) * 0xD35A2D97 % 2**32
            if z ^ z >> 15 < int(p * 2**32):
                mask[step, column] = 0
    return mask


def by_masks(encoder: TransformerEncoder, x: Tensor, lengths: list[int]) -> Tensor:
    """The states in training, row by row, with what native code drops."""
    seed = int(torch.empty((), dtype=torch.int64).random_())
    p, heads, width, rows = encoder.dropout.p, encoder.heads, encoder.state_width, []
    for b, n in enumerate(lengths):
        h = encoder.project(x[b, :n]) + encoder.positions(x.shape[1], torch.tensor(lengths))[:n]
        h = h * factors(p, seed, 0, b, n, width)
        for number, layer in enumerate(encoder.layers):
            assert isinstance(layer, Layer)
            site = 1 + number * (heads + 2)
            split = layer.query_key_value(layer.attention_norm(h)).view(n, 3, heads, width // heads)
            query, key, value = split.permute(1, 2, 0, 3)
            scores = query @ key.transpose(1, 2) * (width // heads) ** -0.5
            if not encoder.look_ahead:
                scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
            weights = scores.softmax(2) * torch.stack(
                [factors(p, seed, site + 2 + head, b, n, n) for head in range(heads)]
            )
            seen = (weights @ value).transpose(0, 1).reshape(n, width)
            h = h + layer.output(seen) * factors(p, seed, site, b, n, width)
            h = h + layer.feedforward(h) * factors(p, seed, site + 1, b, n, width)
        rows.append(torch.nn.functional.pad(encoder.norm(h), (0, 0, 0, x.shape[1] - n)))
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("settings", "lengths"),
    [
        (ODD, RAGGED),
        ({**ODD, "look_ahead": False}, RAGGED),
        ({"width": 18, "heads": 2, "feedforward": 5, "positions": "learned", "max_length": 53}, [53, 2, 17]),
        ({"width": 18, "heads": 2, "feedforward": 5, "look_ahead": False}, [53, 2, 17]),
    ],
    ids=["short", "short causal", "long", "long causal"],
)
def test_the_same_numbers_are_dropped_both_ways(
    settings: dict[str, Any], lengths: list[int], dtype: torch.dtype
) -> None:
    encoder, double = (built(5, t, **settings, layers=2, dropout=0.3) for t in (dtype, torch.float64))
    double.load_state_dict(encoder.state_dict())
    x = drawn(11, len(lengths), max(lengths) + 1, 5, dtype=dtype)
    torch.manual_seed(3)
    ours = results(encoder, x, torch.tensor(lengths))
    torch.manual_seed(3)
    given = x.double().requires_grad_()
    states = by_masks(double, given, lengths)
    states.backward(drawn(1, *states.shape, dtype=dtype).double())
    expected = {"states": states, "x": given.grad, **{name: p.grad for name, p in double.named_parameters()}}
    for name, tensor in expected.items():
        assert tensor is not None
        close = CLOSE[dtype][name != "states"] * max(1.0, float(tensor.detach().abs().max()))
        torch.testing.assert_close(ours[name].double(), tensor.detach(), rtol=0, atol=close)


def test_gradients_with_dropout_are_those_of_central_differences() -> None:
    encoder, x, lengths = built(5, **ODD, dropout=0.4), drawn(12, 6, 7, 5), torch.tensor(RAGGED)
    direction = drawn(13, 6, 7, 6)
    leaves = [x, *encoder.parameters()]
    ways = [drawn(20 + number, *leaf.shape) for number, leaf in enumerate(leaves)]

    def value() -> Tensor:
        torch.manual_seed(4)
        return (encoder(x, lengths).states * direction).sum()

    x.requires_grad_()
    gradients = torch.autograd.grad(value(), leaves)
    slope = sum(float((way * gradient).sum()) for way, gradient in zip(ways, gradients, strict=True))
    found = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            for leaf, way in zip(leaves, ways, strict=True):
                leaf += step * way
            found.append(float(value()))
    assert (found[0] - found[1]) / 2e-6 == pytest.approx(slope, rel=1e-6)


def kept_inputs(seed: int, dropout: float) -> Tensor:
    """(B, T, W) bool: where an input of ones was kept, by an encoder whose layers add nothing."""
    encoder = built(32, width=32, heads=1, feedforward=1, layers=1, dropout=dropout, positions="learned", max_length=25)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
        encoder.project.weight.copy_(torch.eye(32))
        encoder.norm.weight.fill_(1)
    torch.manual_seed(seed)
    with torch.no_grad():
        states = encoder(torch.ones(40, 25, 32, dtype=torch.float64), torch.full((40,), 25)).states
    return states >= 0  # a norm leaves two values, below and above 0; one, 0, where nothing was dropped


@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_as_many_are_dropped_as_should_be(dropout: float) -> None:
    kept = torch.stack([kept_inputs(seed, dropout) for seed in range(5)]).double()  # (5, B, T, W)
    for over in ((0, 1, 2, 3), (0, 1, 2), (0, 2, 3), (1, 2, 3)):  # all, by column, by row, by seed
        share = kept.mean(over)
        sigma = (dropout * (1 - dropout) * share.numel() / kept.numel()) ** 0.5
        assert float((share - (1 - dropout)).abs().max()) < 4 * sigma


def test_what_is_dropped_here_tells_nothing_about_there() -> None:
    """Neighbours of every kind: seeds, rows, steps, columns."""
    kept = torch.stack([kept_inputs(seed, 0.5) for seed in range(5)]).double() * 2 - 1
    for axis in range(4):
        for apart in (1, 2, 3):
            pairs = kept.narrow(axis, apart, kept.shape[axis] - apart) * kept.narrow(axis, 0, kept.shape[axis] - apart)
            assert abs(float(pairs.mean())) < 4 * pairs.numel() ** -0.5


def test_the_mean_over_seeds_is_what_nothing_dropped_would_be() -> None:
    """Of the factors, by which everything is multiplied at every site."""
    found = torch.stack([factors(0.2, seed, 3, 5, 4, 50) for seed in range(500)])
    assert float((found.mean() - 1).abs()) < 4 * (0.2 / 0.8 / found.numel()) ** 0.5


def test_a_seed_repeats_and_nothing_is_drawn_in_vain() -> None:
    encoder, x, lengths = built(5, **ODD, dropout=0.4), drawn(12, 6, 7, 5), torch.tensor(RAGGED)

    def states(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return encoder(x, lengths).states

    assert torch.equal(states(1), states(1))
    assert not torch.equal(states(1), states(2))
    plain = built(5, **ODD)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    plain(x, lengths)
    encoder.eval()(x, lengths)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(encoder(x, lengths).states, plain(x, lengths).states)


# When it is used


@pytest.mark.parametrize("name", ["project", "layers.1.query_key_value", "layers.0.dropout", "norm"])
def test_whoever_looks_at_a_part_sees_it(name: str) -> None:
    encoder, x, lengths = built(5, **ODD), drawn(12, 6, 7, 5), torch.tensor(RAGGED)
    seen = []
    hook = encoder.get_submodule(name).register_forward_hook(lambda module, given, out: seen.append(out))
    watched = encoder(x, lengths).states
    hook.remove()
    assert len(seen) == (2 if "dropout" in name else 1)
    torch.testing.assert_close(encoder(x, lengths).states, watched)
    assert len(seen) == (2 if "dropout" in name else 1)


def test_a_copy_looks_at_its_own_parts() -> None:
    encoder = built(5, torch.float32, **ODD)
    double = copy.deepcopy(encoder).double()
    encoder.norm.register_forward_hook(lambda module, given, out: None)
    x = drawn(12, 6, 7, 5)
    assert not runs_native(encoder, x.float())
    assert runs_native(double, x)
    with torch.no_grad():
        double.norm.weight.zero_()
        double.norm.bias.fill_(3)
    assert (double(x, torch.tensor([7] * 6)).states == 3).all()


def test_a_trace_follows_torch() -> None:
    encoder = built(5, **ODD).requires_grad_(False)
    x, lengths = drawn(12, 6, 7, 5), torch.tensor(RAGGED)
    ways = []

    def run(given: Tensor) -> Tensor:
        ways.append(runs_native(encoder, given))
        return encoder(given, lengths).states

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch would rather export, and doubts its trace
        torch.jit.trace(run, x, check_trace=False)
    assert ways == [False]


def test_wide_models_run_on_torch() -> None:
    x = torch.zeros(1, 2, 3)
    assert suits(x, 100, LARGEST // 200 - 200)
    assert not suits(x, 100, LARGEST // 200 - 199)


def test_a_sequence_beyond_learned_positions_is_the_same_error() -> None:
    encoder = built(5, **ODD, positions="learned", max_length=6)
    with pytest.raises(DataError, match=r"a sequence has 7 steps.*max_length = 6"):
        encoder(drawn(12, 6, 7, 5), torch.tensor(RAGGED))


def test_what_would_be_read_beyond_its_end_is_refused() -> None:
    encoder, x = built(5, **ODD), drawn(12, 2, 7, 5)
    for lengths in ([8, 1], [0, 1], [-1, 7]):
        with pytest.raises(ValueError, match="lengths must be from 1 to 7"):
            encoder(x, torch.tensor(lengths))
    for wrong in (torch.tensor([1, 1, 1]), torch.tensor([1, 1], dtype=torch.int32)):
        with pytest.raises(TypeError, match=r"lengths must be \(2,\) int64"):
            encoder(x, wrong)
    weights = [parameter.detach() for parameter in encoder.parameters()]
    with pytest.raises(TypeError, match="some of the weights, starts, masks or positions aren't"):
        encode(Shape(3, True, 0.0), x, torch.tensor([7, 7]), torch.zeros(7, 6), weights)
    for positions, all_weights in ((torch.zeros(6, 6).double(), weights), (torch.zeros(7, 6).double(), weights[:-1])):
        with pytest.raises(ValueError, match="don't fit"):
            encode(Shape(3, True, 0.0), x, torch.tensor([7, 7]), positions, all_weights)
