"""Gradients through time are exact, and below their bounds."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnlab.answers.heads import SummaryHead
from rnnlab.inspecting.gradients import gradients_by_input, gradients_through_time, jacobians_to_end, state_gradients
from rnnlab.inspecting.readings import Reading, in_double, readings
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.cells import Cell
from rnnlab.models.network import Network, build_network
from rnnlab.models.parallel import MinimalLayer
from rnnlab.models.recurrent import RecurrentEncoder

KINDS: list[dict[str, Any]] = [
    {"kind": "rnn"},
    {"kind": "rnn", "activation": "relu"},
    {"kind": "rnn", "layer_norm": True},
    {"kind": "lstm"},
    {"kind": "lstm", "layer_norm": True},
    {"kind": "gru"},
    {"kind": "gru", "reset": "before"},
    {"kind": "gru", "reset": "before", "layer_norm": True},
]
described = lambda values: "-".join(map(str, values.values()))  # noqa: E731  # a name for pytest's ids


def network_of(values: dict[str, Any], seed: int = 0, features: int = 3) -> Network:
    torch.manual_seed(seed)
    network = build_network(
        ARCHITECTURES.parse(values), words=None, features=features, pretrained=None, head=lambda w: SummaryHead(w, 2)
    )
    with torch.no_grad():
        for parameter in network.encoder.parameters():
            parameter.mul_(2)  # so that gates move
    return network


def cell_of(network: Network, layer: int = 0, backward: bool = False) -> Cell:
    encoder = network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    cell = (encoder.back if backward else encoder.ahead)[layer]
    assert isinstance(cell, Cell)
    return cell


def reading_of(values: dict[str, Any], steps: int, seed: int = 0, layer: int = 0) -> Reading:
    network = in_double(network_of(values, seed))
    x = torch.randn(1, steps, 3, generator=torch.Generator().manual_seed(seed))
    return readings(network, x, torch.tensor([steps]))[layer]


def brute_force(cell: Cell, x: Tensor, lag: int) -> Tensor:
    """∂s_T/∂s_{T-lag} of the cell as it is trained: run to T - lag, then differentiate the run of the rest."""
    head, tail = x[:, : x.shape[1] - lag], x[:, x.shape[1] - lag :]
    zeros = (torch.zeros(1, cell.hidden, dtype=x.dtype),) * cell.parts
    state = cell(head)[1] if head.shape[1] else zeros

    def rest(flat: Tensor) -> Tensor:
        parts = tuple(flat.chunk(cell.parts, dim=1))
        return torch.cat(cell(tail, parts)[1], dim=1) if tail.shape[1] else flat

    flat = torch.cat(state, dim=1).detach()
    jacobian = torch.autograd.functional.jacobian(rest, flat)
    assert isinstance(jacobian, Tensor)
    return jacobian[0, :, 0]


@pytest.mark.parametrize("values", KINDS, ids=described)
@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 100))
@settings(max_examples=5, deadline=None, derandomize=True)
def test_the_jacobian_is_exact(values, hidden, steps, seed):
    reading = reading_of({**values, "hidden": hidden}, steps, seed)
    jacobians, factors = jacobians_to_end(reading)
    assert isinstance(reading.cell, Cell)
    assert len(jacobians) == steps + 1
    assert len(factors) == steps
    for lag in range(steps + 1):
        expected = brute_force(reading.cell, reading.x, lag)
        assert torch.allclose(jacobians[lag], expected, rtol=0, atol=1e-10)
    product = torch.eye(len(jacobians[0]), dtype=torch.float64)
    for lag, factor in enumerate(factors, 1):
        product = product @ factor
        assert torch.allclose(product, jacobians[lag], rtol=0, atol=1e-10)


@pytest.mark.parametrize("values", KINDS, ids=described)
@given(st.integers(2, 6), st.integers(1, 12), st.integers(0, 1000))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_bounds_hold(values, hidden, steps, seed):
    found = state_gradients(reading_of({**values, "hidden": hidden}, steps, seed))
    for lag in range(steps + 1):
        exact = max(found.state[lag], found.cell[lag] if found.cell else 0.0)
        assert exact <= found.factors[lag] * (1 + 1e-9)
        if found.bound is not None:
            assert found.factors[lag] <= found.bound[lag] * (1 + 1e-9)
    assert (found.bound is not None) == (values["kind"] == "rnn" and not values.get("layer_norm"))
    assert (found.cell is not None) == (found.forget is not None) == (values["kind"] == "lstm")


def test_of_a_tanh_rnn_the_jacobian_is_the_product_of_the_textbooks_factors():
    network = network_of({"kind": "rnn", "hidden": 6})
    x = torch.randn(1, 9, 3, generator=torch.Generator().manual_seed(3))
    cell = cell_of(in_double(network))
    states = cell(x.double())[0][0]  # (T, H)
    (found,) = gradients_through_time(network, x)
    product = torch.eye(6, dtype=torch.float64)
    for lag in range(9):
        assert found.state[lag] == pytest.approx(float(torch.linalg.matrix_norm(product, ord=2)), rel=1e-10)
        product = product @ torch.diag(1 - states[8 - lag] ** 2) @ cell.weight_hh_l0
    norm = float(torch.linalg.svdvals(cell.weight_hh_l0)[0])
    assert found.spectral_norm == {"state": pytest.approx(norm)}
    assert found.bound == pytest.approx([norm**lag for lag in range(10)])
    assert found.spectral_radius["state"] <= norm


def test_a_rotation_has_radius_one_and_a_triangle_less_than_its_norm():
    network = network_of({"kind": "rnn", "hidden": 2})
    cell = cell_of(network)
    for weight, radius, norm in (([[0.0, -1.0], [1.0, 0.0]], 1.0, 1.0), ([[0.5, 3.0], [0.0, 0.5]], 0.5, 3.0811)):
        with torch.no_grad():
            cell.weight_hh_l0.copy_(torch.tensor(weight))
        (found,) = gradients_through_time(network, torch.zeros(1, 3, 3))
        assert found.spectral_radius["state"] == pytest.approx(radius)
        assert found.spectral_norm["state"] == pytest.approx(norm, abs=1e-4)


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_every_layer_and_direction_is_looked_at(kind):
    """Against the whole encoder: what reaches its states through one direction's first layer alone."""
    values = {"kind": kind, "hidden": 4, "bidirectional": True, "layers": 2}
    network = network_of(values)
    x = torch.randn(1, 7, 3, generator=torch.Generator().manual_seed(0))
    found = gradients_through_time(network, x)
    assert [layer.name for layer in found] == ["layer 1", "layer 1 backward", "layer 2", "layer 2 backward"]
    double = in_double(network)
    backward = cell_of(double, backward=True)
    mirrored = x.double().flip(1)
    for lag in range(8):
        whole = brute_force(backward, mirrored, lag)
        assert found[1].state[lag] == pytest.approx(float(torch.linalg.matrix_norm(whole[:4, :4], ord=2)), rel=1e-8)
    second = cell_of(double, layer=1)
    lower = torch.cat([cell_of(double)(x.double())[0], backward(mirrored)[0].flip(1)], dim=2)
    whole = brute_force(second, lower, 5)
    assert found[2].state[5] == pytest.approx(float(torch.linalg.matrix_norm(whole[:4, :4], ord=2)), rel=1e-8)


@pytest.mark.parametrize("kind", ["mingru", "minlstm"])
def test_minimal_recurrences(kind):
    """∂h_T/∂h_t by nudging: their state is reached through the candidate of one step."""
    network = network_of({"kind": kind, "hidden": 4})
    x = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(0))
    (found,) = gradients_through_time(network, x)
    (reading,) = readings(in_double(network), x, torch.tensor([6]))
    layer = reading.cell
    assert isinstance(layer, MinimalLayer)
    states = layer(reading.x)[0]
    keep = torch.sigmoid(-layer.update(layer.project(reading.x)[0, :, : layer.split[0]]))
    nudged = states[2] + torch.tensor([1e-3, 0, 0, 0], dtype=torch.float64)
    again = nudged
    for t in range(3, 6):
        again = keep[t] * again + (states[t] - keep[t] * states[t - 1])
    products = keep[3:].prod(0)
    assert float((again - states[5])[0] / 1e-3) == pytest.approx(float(products[0]), rel=1e-6)
    assert found.state[3] == pytest.approx(float(products.max()))
    assert all(exact <= product * (1 + 1e-12) for exact, product in zip(found.state, found.factors, strict=True))


def test_the_forget_gates_alone():
    network = network_of({"kind": "lstm", "hidden": 3})
    cell = cell_of(network)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.bias_ih_l0[3:6] = torch.tensor([0.0, 1.0, 2.0])  # forget
    (found,) = gradients_through_time(network, torch.zeros(1, 4, 3))
    kept = float(torch.tensor(2.0, dtype=torch.float64).sigmoid())
    assert found.forget == pytest.approx([kept**lag for lag in range(5)])
    assert found.cell == pytest.approx(found.forget)  # nothing else leads from c to c
    assert found.state[1:] == (0.0, 0.0, 0.0, 0.0)
    assert (found.memory, found.cell_memory) == (1, None)


def test_far_lags_are_left_out():
    network = network_of({"kind": "gru", "hidden": 3})
    x = torch.randn(1, 30, 3, generator=torch.Generator().manual_seed(0))
    near, far = gradients_through_time(network, x, furthest=10), gradients_through_time(network, x)
    assert near[0].lags == 10
    assert near[0].state == far[0].state[:11]


def test_an_infinite_product_is_none_in_json():
    found = state_gradients(reading_of({"kind": "rnn", "hidden": 3}, 5))
    broken = type(found)(**{**found.__dict__, "factors": (1.0, float("inf"))})
    assert broken.to_dict()["factors"] == [1.0, None]


@pytest.mark.parametrize("kind", ARCHITECTURES.names())
def test_input_gradients_work_for_every_architecture(kind):
    torch.manual_seed(0)
    architecture = ARCHITECTURES.parse({"kind": kind, "embedding": {"width": 6, "channels": "random"}})
    network = build_network(architecture, words=50, features=None, pretrained=None, head=lambda w: SummaryHead(w, 2))
    inputs = torch.randint(2, 50, (3, 12), generator=torch.Generator().manual_seed(0))
    found = gradients_by_input(network, inputs, torch.tensor([12, 5, 1]))
    assert found.rows == (3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1)
    assert all(norm >= 0 for norm in found.norms)
    assert any(found.norms)
    assert gradients_by_input(network, torch.nn.functional.pad(inputs, (0, 4)), torch.tensor([12, 5, 1])).norms == (
        pytest.approx(found.norms, rel=1e-4, abs=1e-7)
    )
