from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from variant_laws import VARIANT_LAWS

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.models.parallel import SCANS, LinearRecurrence, MinGRU, Minimal, MinLSTM, positive
from rnnlab.testing import ARCHITECTURE_LAWS

LENGTHS = torch.tensor([6, 1, 4, 2])


def textbook(kind: type[Minimal], x: Tensor, weight: Tensor, bias: Tensor, hidden: int) -> Tensor:
    """The paper's formulas step by step, for one sequence (T, D) → (T, hidden)."""
    h, states = torch.zeros(hidden, dtype=x.dtype), []
    for x_t in x:
        *gates, candidate = (weight @ x_t + bias).split(hidden)
        g = torch.where(candidate >= 0, candidate + 0.5, torch.sigmoid(candidate))
        if kind is MinGRU:
            z = torch.sigmoid(gates[0])
            h = (1 - z) * h + z * g
        else:
            f, i = torch.sigmoid(gates[0]), torch.sigmoid(gates[1])
            h = f / (f + i) * h + i / (f + i) * g
        states.append(h)
    return torch.stack(states)


@pytest.mark.parametrize("scan", ["parallel", "sequential"])
@pytest.mark.parametrize("kind", [MinGRU, MinLSTM])
def test_states_are_those_of_the_paper_in_both_directions(kind: type[Minimal], scan: str) -> None:
    torch.manual_seed(0)
    encoder = parse(kind, {"hidden": 4, "layers": 2, "bidirectional": True, "pooling": "last", "scan": scan}).build(3)
    x = torch.randn(4, 6, 3)
    encoded = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        state = x[row, :length]
        for layer in range(2):
            parts = []
            for module, seen in (("ahead", state), ("back", state.flip(0))):
                weight = encoder.get_parameter(f"{module}.{layer}.project.weight")
                bias = encoder.get_parameter(f"{module}.{layer}.project.bias")
                parts.append(textbook(kind, seen, weight, bias, 4))
            state = torch.cat([parts[0], parts[1].flip(0)], dim=1)
        torch.testing.assert_close(encoded.states[row, :length], state)
        torch.testing.assert_close(encoded.summary[row], torch.cat([state[-1, :4], state[0, 4:]]))


def loop(keep: Tensor, values: Tensor) -> Tensor:
    """h_t = keep_t h_{t-1} + value_t, left to autograd."""
    h, states = torch.zeros_like(values[0]), []
    for k, v in zip(keep, values, strict=True):
        h = k * h + v
        states.append(h)
    return torch.stack(states)


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("spread", [1.0, 8.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 100, 2000])
def test_scans_are_exact_also_over_2000_steps(steps: int, spread: float, scan: str) -> None:
    """Against a plain loop in float64, outputs and gradients; a wide spread has gates that forget all or nothing."""
    generator = torch.Generator().manual_seed(steps)
    logits, values, weights = (torch.randn(steps, 2, 5, generator=generator, dtype=torch.float64) for _ in range(3))
    results = []
    for dtype in (torch.float64, torch.float32):
        a, v = (x.to(dtype).clone().requires_grad_() for x in (spread * logits, values))
        keep, value = torch.sigmoid(-a), torch.sigmoid(a) * positive(v)
        h = loop(keep, value) if dtype == torch.float64 else LinearRecurrence.apply(keep, value, SCANS[scan])
        (h * weights.to(dtype)).sum().backward()
        results.append([h.detach(), a.grad, v.grad])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [MinGRU, MinLSTM])
@pytest.mark.parametrize("steps", [5, 64, 501, 2000])
def test_parallel_and_sequential_are_one_function(kind: type[Minimal], steps: int) -> None:
    torch.manual_seed(0)
    one, other = (parse(kind, {"hidden": 4, "bidirectional": True, "scan": scan}).build(3) for scan in SCANS)
    other.load_state_dict(one.state_dict())
    x, lengths = torch.randn(3, steps, 3), torch.tensor([steps, 1, steps // 2])
    weights, gradients = torch.randn(3, steps, 8) / steps, []
    for encoder in (one, other):
        given_x = x.clone().requires_grad_()
        encoded = encoder(given_x, lengths)
        ((encoded.states * weights).sum() + encoded.summary.sum()).backward()
        gradients.append([encoded.states, given_x.grad, *(p.grad for p in encoder.parameters())])
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


@given(steps=st.integers(1, 40), data=st.data())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_both_scans_agree_with_the_loop_and_its_gradients(steps: int, data: st.DataObject) -> None:
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 999)))
    keep, values, weights = (torch.randn(steps, 1, 2, generator=generator, dtype=torch.float64) for _ in range(3))
    keep = keep.clamp(-1, 1)  # nothing in a scan asks for a positive share
    results = []
    for run in (loop, *(lambda k, v, scan=scan: LinearRecurrence.apply(k, v, scan) for scan in SCANS.values())):
        k, v = keep.clone().requires_grad_(), values.clone().requires_grad_()
        h = run(k, v)
        (h * weights).sum().backward()
        results.append([h.detach(), k.grad, v.grad])
    for found in results[1:]:
        for one, other in zip(results[0], found, strict=True):
            torch.testing.assert_close(one, other)


def test_the_candidate_is_positive_and_without_a_jump() -> None:
    x = torch.linspace(-20, 20, 401, dtype=torch.float64)
    expected = torch.where(x >= 0, x + 0.5, torch.sigmoid(x))
    torch.testing.assert_close(positive(x), expected)
    assert all(0 < low < high for low, high in pairwise(positive(x).tolist()))


@pytest.mark.parametrize("kind", [MinGRU, MinLSTM])
@pytest.mark.parametrize("scan", ["parallel", "sequential"])
def test_huge_inputs_give_finite_gradients(kind: type[Minimal], scan: str) -> None:
    """Both gates of minlstm underflow here: f / (f + i) would be 0 / 0."""
    torch.manual_seed(0)
    encoder = parse(kind, {"hidden": 4, "scan": scan}).build(3)
    encoded = encoder(1e3 * torch.randn(4, 6, 3), LENGTHS)
    encoded.summary.sum().backward()
    assert bool(encoded.states.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters() if p.grad is not None)


def test_the_sizes_of_the_paper() -> None:
    """minGRU has 2 dh weights and minLSTM 3 dh, besides biases."""
    for kind, parts in ((MinGRU, 2), (MinLSTM, 3)):
        counts = [p.numel() for p in kind(hidden=16).build(10).parameters()]
        assert sum(counts) == parts * 16 * (10 + 1)


@pytest.mark.parametrize("kind", [MinGRU, MinLSTM])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"dropout": 0.2},
            "dropout = 0.2 lies between layers and would be ignored with layers = 1; use output_dropout",
        ),
        ({"layers": 9}, "model.layers: "),
        ({"scan": "log"}, "model.scan: "),
    ],
)
def test_impossible_settings_are_errors(kind: type[Minimal], values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(kind, values, "model")


def test_scan_is_what_computes_the_steps() -> None:
    for name, scan in SCANS.items():
        assert parse(MinGRU, {"scan": name}).build(3).get_submodule("ahead.0").scan is scan


def test_causal_in_one_direction_only() -> None:
    assert MinGRU().causal
    assert not MinLSTM(bidirectional=True).causal


def test_dropout_acts_between_layers() -> None:
    torch.manual_seed(0)
    encoder = MinGRU(hidden=4, layers=2, dropout=0.5).build(3)
    x = torch.randn(4, 6, 3)
    assert not torch.equal(encoder(x, LENGTHS).summary, encoder(x, LENGTHS).summary)


@pytest.mark.parametrize("law", VARIANT_LAWS)
@pytest.mark.parametrize(
    "architecture",
    [
        MinGRU(hidden=8, scan="parallel", pooling="mean"),
        MinLSTM(hidden=8, scan="parallel", bidirectional=True, layers=2, dropout=0.2),
        MinLSTM(hidden=8, layers=3, pooling="attention"),
    ],
    ids=["mingru parallel", "minlstm both ways", "minlstm deep"],
)
def test_laws_hold(architecture: Minimal, law: str) -> None:
    ARCHITECTURE_LAWS[law](architecture)
