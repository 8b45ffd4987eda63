"""Attributions that add up, occlusion that is what it says, attention that is what the network uses."""

from typing import Any

import pytest
import torch
from torch import Tensor

from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.inspecting.readings import in_double
from rnnlab.inspecting.saliency import (
    CLOSE,
    FIRST_POINTS,
    LONGEST_MAP,
    MOST_POINTS,
    attention,
    fired_filters,
    integrated_gradients,
    saliency,
)
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import UNKNOWN
from rnnlab.models.network import Network, Reads, build_network
from rnnlab.models.transformer import TransformerEncoder

IDS = torch.tensor([[5, 9, 3, 9, 12, 7, 20]])


def network_of(kind: str, features: int | None = None, reads: Reads = "summary", **values: Any) -> Network:
    torch.manual_seed(0)
    if features is None:
        values = {"embedding": {"width": 5, "channels": "random"}, **values}
    network = build_network(
        ARCHITECTURES.parse({"kind": kind, **values}),
        words=None if features else 30,
        features=features,
        pretrained=None,
        head=lambda width: (StateHead if reads == "states" else SummaryHead)(width, 3),
        reads=reads,
    ).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2)
    return network.requires_grad_(False)


@pytest.mark.parametrize("kind", ARCHITECTURES.names())
def test_integrated_gradients_add_up(kind):
    network = network_of(kind)
    found = saliency(network, IDS)
    outputs = network(IDS, torch.tensor([7]))[0]
    assert found.target == int(outputs.argmax())
    assert found.output == pytest.approx(float(outputs.max()), abs=1e-5)
    assert network.embedding is not None
    blank = network.head(network.encoder(torch.zeros(1, 7, 5), torch.tensor([7])))[0, found.target]
    assert found.baseline == pytest.approx(float(blank), abs=1e-5)
    distance = found.output - found.baseline
    assert sum(found.integrated) + found.gap == pytest.approx(distance, abs=1e-9)
    assert abs(found.gap) <= CLOSE * abs(distance)
    assert len(found.integrated) == 7
    assert any(found.integrated)


def test_points_can_be_limited():
    """No round beyond the first; what is missing of the sum shows."""
    network = in_double(network_of("lstm"))
    rough = integrated_gradients(network, IDS, target=2, first_points=3, most_points=3)
    assert (rough.target, rough.points, len(rough.shares)) == (2, 3, 7)
    assert rough.outputs == pytest.approx(network(IDS, torch.tensor([7]))[0].tolist())
    exact = integrated_gradients(network, IDS, target=2)
    assert exact.points >= FIRST_POINTS
    distance = exact.outputs[2] - exact.baseline
    assert abs(distance - sum(exact.shares)) < abs(distance - sum(rough.shares)) < 0.2 * abs(distance)


def test_of_a_linear_model_they_are_its_terms():
    network = network_of("linear", hidden=4)
    found = saliency(network, IDS, target=1)
    double = in_double(network)
    assert double.embedding is not None
    layer, head = double.encoder.layer, double.head.linear  # type: ignore[union-attr]
    terms = double.embedding(IDS)[0] @ (head.weight[1] @ layer.weight) / 7  # type: ignore[union-attr,index,operator]
    assert found.target == 1
    assert found.integrated == pytest.approx(terms.tolist())


@pytest.mark.parametrize("kind", ["lstm", "transformer", "fasttext"])
def test_occlusion_is_the_output_without_the_token(kind):
    network = network_of(kind)
    assert network.embedding is not None
    assert network.embedding.table is not None
    network.embedding.table[UNKNOWN] = 0.5  # training may have moved it
    found = saliency(network, IDS, target=2)
    for at in range(7):
        without = IDS.clone()
        without[0, at] = UNKNOWN
        expected = float(network(IDS, torch.tensor([7]))[0, 2] - network(without, torch.tensor([7]))[0, 2])
        assert found.occlusion[at] == pytest.approx(expected, abs=1e-5)


def test_numbers_are_occluded_by_zeros():
    network = network_of("gru", features=2)
    x = torch.randn(1, 4, 2, generator=torch.Generator().manual_seed(0))
    found = saliency(network, x, target=0)
    without = x.clone()
    without[0, 2] = 0
    lengths = torch.tensor([4])
    assert found.occlusion[2] == pytest.approx(float((network(x, lengths) - network(without, lengths))[0, 0]), abs=1e-5)


def test_with_an_output_at_every_step_the_last_is_explained():
    network = network_of("rnn", reads="states")
    found = saliency(network, IDS)
    assert found.output == pytest.approx(float(network(IDS, torch.tensor([7]))[0, -1].max()), abs=1e-5)
    assert abs(found.gap) <= CLOSE * abs(found.output - found.baseline)


@pytest.mark.parametrize("look_ahead", [True, False])
def test_attention_maps_are_those_that_the_transformer_uses(look_ahead):
    network = network_of("transformer", width=8, heads=2, look_ahead=look_ahead)
    found = attention(network, IDS)
    assert found is not None
    assert found.pooling is None
    maps = torch.tensor(found.maps, dtype=torch.float64)
    assert maps.shape == (2, 2, 7, 7)  # layers, heads, from, to
    assert torch.allclose(maps.sum(3), torch.ones(2, 2, 7, dtype=torch.float64))
    assert bool(maps.triu(1).any()) == look_ahead
    mixed, values = mixed_by(network)
    for layer in range(2):
        by_map = torch.einsum("hts,shd->thd", maps[layer], values[layer].view(7, 2, 4))
        assert torch.allclose(by_map.reshape(7, 8), mixed[layer], atol=1e-10)


def mixed_by(network: Network) -> tuple[list[Tensor], list[Tensor]]:
    """What attention gave in each layer, and the values that it mixed."""
    double = in_double(network)
    assert isinstance(double.encoder, TransformerEncoder)
    mixed, values = [], []
    for layer in double.encoder.layers:
        layer.output.register_forward_pre_hook(lambda _, given: mixed.append(given[0][0]))  # type: ignore[union-attr]
        layer.query_key_value.register_forward_hook(lambda _, __, out: values.append(out[0, :, 16:]))  # type: ignore[union-attr]
    double(IDS, torch.tensor([7]))
    return mixed, values


def test_attention_pooling():
    network = network_of("gru", pooling="attention")
    found = attention(network, IDS)
    assert found is not None
    weights = network.encode(IDS, torch.tensor([7])).weights
    assert weights is not None
    assert found.pooling == pytest.approx(weights[0].tolist(), abs=1e-6)
    assert found.maps == ()
    assert attention(network_of("gru"), IDS) is None


def test_maps_of_long_sequences_are_left_out():
    found = attention(network_of("transformer", layers=1), torch.full((1, LONGEST_MAP + 1), 3))
    assert found is not None
    assert found.maps == ()


@pytest.mark.parametrize("kind", ["textcnn", "gru-cnn"])
def test_filters_that_fired(kind):
    network = network_of(kind, widths=[2, 4], filters=3)
    everything = fired_filters(network, IDS, target=1, most=100)
    assert len(everything) == 6
    assert all(one.width == (2, 4)[one.filter // 3] for one in everything)  # the narrow ones come first
    encoder = network.encoder if kind == "textcnn" else network.encoder.cnn
    assert network.embedding is not None
    encoded = encoder(network.embedding(IDS), torch.tensor([7]))  # type: ignore[operator]
    weights = network.head.linear.weight[1, -6:]  # type: ignore[union-attr,index]
    for one in everything:
        assert one.contribution == pytest.approx(float(weights[one.filter] * encoded.summary[0, one.filter]), abs=1e-5)
        if one.contribution:
            assert one.start == int(encoded.states[0, :, one.filter].argmax())
            assert one.activation == pytest.approx(float(encoded.states[0, :, one.filter].max()), abs=1e-5)
    sizes = [abs(one.contribution) for one in everything]
    assert sizes == sorted(sizes, reverse=True)
    assert fired_filters(network, IDS, target=1, most=2) == everything[:2]
    assert fired_filters(network_of("lstm"), IDS) == []


def test_a_window_in_the_middle_begins_before_its_token():
    found = fired_filters(network_of("textcnn", widths=[2, 5], filters=3, centred=True), IDS, target=1, most=100)
    from_token = fired_filters(network_of("textcnn", widths=[2, 5], filters=3), IDS, target=1, most=100)
    narrow = [[one for one in fired if one.width == 2] for fired in (found, from_token)]
    assert len(narrow[0]) == 3
    assert {one.filter: one.start for one in narrow[0]} == {one.filter: one.start for one in narrow[1]}
    wide = {one.filter: one for one in found if one.width == 5}
    network = network_of("textcnn", widths=[2, 5], filters=3, centred=True)
    assert network.embedding is not None
    states = network.encoder(network.embedding(IDS), torch.tensor([7])).states[0]
    assert len(wide) == 3
    for number, one in wide.items():
        if one.contribution:
            assert one.start == int(states[:, number].argmax()) - 2


def test_the_network_is_not_touched():
    network = network_of("transformer").train().requires_grad_()
    before = torch.get_rng_state()
    saliency(network, IDS)
    attention(network, IDS)
    assert network.training
    assert torch.equal(torch.get_rng_state(), before)
    assert all(p.dtype == torch.float32 and p.grad is None and p.requires_grad for p in network.parameters())


def test_a_saturated_network_gets_its_points_where_it_needs_them():
    """Beside 20,000 points spread evenly."""
    network = network_of("lstm", hidden=8)
    assert network.embedding is not None
    assert network.embedding.table is not None
    network.embedding.table.mul_(100)
    found = saliency(network, IDS)
    assert FIRST_POINTS < found.points < MOST_POINTS
    double = in_double(network)
    assert double.embedding is not None
    x, total = double.embedding(IDS), torch.zeros(7, dtype=torch.float64)
    for places in ((torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000).split(2000):
        path = (places[:, None, None] * x).requires_grad_()
        outputs = double.head(double.encoder(path, torch.full((2000,), 7)))[:, found.target]
        total += (torch.autograd.grad(outputs.sum(), path)[0] * x).sum((0, 2)) / 20_000
    assert found.integrated == pytest.approx(total.tolist(), abs=CLOSE * abs(found.output - found.baseline))
    assert abs(found.gap) <= CLOSE * abs(found.output - found.baseline)
