"""Gates as a loop by hand sees them; the states they make are the network's own."""

from typing import Any

import pytest
import torch
from torch import Tensor

from rnnlab.answers.heads import SummaryHead
from rnnlab.inspecting.gates import gate_statistics, layer_gates, open_up
from rnnlab.inspecting.readings import Reading, in_double, readings
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.cells import Cell
from rnnlab.models.network import Network, build_network
from rnnlab.models.recurrent import RecurrentEncoder

LENGTHS = torch.tensor([5, 2, 7])
KINDS: list[dict[str, Any]] = [
    {"kind": "rnn"},
    {"kind": "rnn", "activation": "relu"},
    {"kind": "lstm"},
    {"kind": "lstm", "layer_norm": True},
    {"kind": "gru"},
    {"kind": "gru", "reset": "before"},
    {"kind": "gru", "layer_norm": True},
    {"kind": "mingru"},
    {"kind": "minlstm"},
    {"kind": "lstm", "initial_state": "learned"},
]


def network_of(**values: Any) -> Network:
    torch.manual_seed(0)
    network = build_network(
        ARCHITECTURES.parse({"hidden": 6, **values}),
        words=None,
        features=3,
        pretrained=None,
        head=lambda width: SummaryHead(width, 2),
    )
    with torch.no_grad():
        for parameter in network.encoder.parameters():
            parameter.mul_(3).add_(torch.randn(parameter.shape) * 0.3)
    return network


def cell_of(network: Network, layer: int = 0, backward: bool = False) -> Cell:
    encoder = network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    cell = (encoder.back if backward else encoder.ahead)[layer]
    assert isinstance(cell, Cell)
    return cell


def batch() -> Tensor:
    x = torch.randn(3, 7, 3, generator=torch.Generator().manual_seed(1))
    return torch.where((torch.arange(7) < LENGTHS[:, None])[:, :, None], x, 0)


@pytest.mark.parametrize("values", KINDS, ids=lambda v: "-".join(map(str, v.values())))
@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_gates_make_the_states_of_the_network(values, bidirectional):
    network = network_of(bidirectional=bidirectional, **values)
    double = in_double(network)
    states = double.encoder(batch().double(), LENGTHS).states
    found = readings(double, batch(), LENGTHS)
    assert [reading.backward for reading in found] == [False, True][: 1 + bidirectional]
    for number, reading in enumerate(found):
        opened = open_up(reading)
        for row, length in enumerate(LENGTHS.tolist()):
            read = opened.states[row, :length]
            expected = states[row, :length, 6 * number : 6 * number + 6]
            assert torch.allclose(read.flip(0) if reading.backward else read, expected, atol=1e-12)
        for gate in opened.gates.values():
            assert gate.shape == opened.states.shape


def test_an_lstm_by_hand():
    network = network_of(kind="lstm", forget_bias=-0.2)
    found = gate_statistics(network, batch(), LENGTHS)[0]
    cell = cell_of(in_double(network))
    w_x, w_h = cell.weight_ih_l0, cell.weight_hh_l0
    b = cell.bias_ih_l0 + cell.bias_hh_l0
    forget, kept = [], []
    for row, length in enumerate(LENGTHS.tolist()):
        h = c = torch.zeros(6, dtype=torch.float64)
        for t in range(length):
            z = w_x @ batch()[row, t].double() + w_h @ h + b
            i, f, g, o = z[:6].sigmoid(), z[6:12].sigmoid(), z[12:18].tanh(), z[18:].sigmoid()
            kept.append((f * c).abs() / ((f * c).abs() + (i * g).abs()))
            c = f * c + i * g
            h = o * c.tanh()
            forget.append(f)
    forget, kept = torch.stack(forget), torch.stack(kept)
    gate = found.gates[1]
    assert (gate.name, found.steps, found.units) == ("forget", 14, 6)
    assert gate.mean == pytest.approx(float(forget.mean()))
    assert gate.low == pytest.approx(float((forget < 0.1).double().mean()))
    assert gate.high == pytest.approx(float((forget > 0.9).double().mean()))
    assert gate.low > 0
    assert gate.high > 0
    assert gate.by_unit == pytest.approx(forget.mean(0).tolist())
    assert gate.high_by_unit == pytest.approx((forget > 0.9).double().mean(0).tolist())
    assert gate.low_by_unit == pytest.approx((forget < 0.1).double().mean(0).tolist())
    assert found.kept == pytest.approx(float(kept.mean()))
    assert (gate.by_token, gate.values, found.kept_by_token) == (None, None, None)


def test_a_gru_keeps_what_its_update_gate_says():
    found = gate_statistics(network_of(kind="gru"), batch()[2:], LENGTHS[2:])[0]
    assert [gate.name for gate in found.gates] == ["reset", "update"]
    cell = cell_of(in_double(network_of(kind="gru")))
    x = batch()[2].double()
    r_z = cell.weight_ih_l0[:12] @ x[0] + cell.bias_ih_l0[:12] + cell.bias_hh_l0[:12]  # at the first step h is 0
    for gate, expected in zip(found.gates, r_z.sigmoid().split(6), strict=True):
        assert gate.values is not None
        assert gate.values[0] == pytest.approx(expected.tolist())
    assert found.kept_by_token is not None
    assert found.kept_by_token[0] == 0  # there was nothing before
    assert 0 < found.kept_by_token[1] < 1


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_by_token_is_in_the_order_of_the_text(kind):
    """A backward layer reads the end first; its figures stand where the tokens do."""
    network = network_of(kind=kind, bidirectional=True)
    x = batch()[2:]
    ahead, back = gate_statistics(network, x, torch.tensor([7]))
    double = in_double(network)
    alone = layer_gates(Reading("", False, cell_of(double, backward=True), x.double().flip(1), (), torch.tensor([7])))
    for gate, mirrored in zip(back.gates, alone.gates, strict=True):
        assert gate.by_token is not None
        assert mirrored.by_token is not None
        assert gate.by_token == pytest.approx(mirrored.by_token[::-1])
        assert gate.values is not None
        assert [sum(row) / 6 for row in gate.values] == pytest.approx(list(gate.by_token))
    assert ahead.gates[0].by_token != back.gates[0].by_token


def test_a_saturated_and_a_dead_unit_are_found():
    network = network_of(kind="rnn")
    cell = cell_of(network)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.mul_(0.1)
        cell.bias_ih_l0[4] = 20.0  # always at its upper limit, so dead too
        cell.bias_ih_l0[1] = -20.0
    found = gate_statistics(network, batch(), LENGTHS)[0]
    (state,) = found.gates
    assert state.high_by_unit == (0, 0, 0, 0, 1, 0)
    assert state.low_by_unit == (0, 1, 0, 0, 0, 0)
    assert found.dead == (1, 4)
    assert found.kept is None


def test_a_relu_unit_that_is_off():
    network = network_of(kind="rnn", activation="relu")
    cell = cell_of(network)
    with torch.no_grad():
        cell.bias_ih_l0[2] = -1000.0
    (state,) = gate_statistics(network, batch(), LENGTHS)[0].gates
    assert state.low_by_unit[2] == 1
    assert state.high == 0
    assert gate_statistics(network, batch(), LENGTHS)[0].dead == (2,)


def test_hybrids_are_opened_and_others_have_no_gates():
    assert [layer.name for layer in gate_statistics(network_of(kind="rcnn"), batch(), LENGTHS)] == [
        "context layer 1",
        "context layer 1 backward",
    ]
    torch.manual_seed(0)
    textcnn = build_network(
        ARCHITECTURES.parse({"kind": "textcnn"}),
        words=None,
        features=3,
        pretrained=None,
        head=lambda w: SummaryHead(w, 2),
    )
    assert gate_statistics(textcnn, batch(), LENGTHS) == []


def test_the_network_is_not_touched():
    network = network_of(kind="lstm").train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    gate_statistics(network, batch(), LENGTHS)
    assert network.training
    assert all(p.dtype == torch.float32 and p.requires_grad for p in network.parameters())
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert not any(module._forward_pre_hooks for module in network.modules())
