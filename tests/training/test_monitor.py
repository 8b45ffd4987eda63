"""The probe: right, blind to padding, and without a trace in the network."""

import numpy as np
import pytest
import torch
from torch import Tensor

from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.answers.label import Label
from rnnlab.data.batches import Batch
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.network import Network, Reads, build_network
from rnnlab.training.monitor import (
    PROBE_STEPS,
    input_gradients,
    mean_by_lag,
    memory_length,
    probe,
    probe_batch,
    spaced_lags,
)

SMALL = {"hidden": 5, "width": 8, "feedforward": 6, "filters": 3, "buckets": 50, "heads": 2, "layers": 2}
LENGTHS = torch.tensor([6, 1, 4])


def network_of(kind: str, reads: Reads = "summary", **settings: object) -> Network:
    cls = ARCHITECTURES[kind]
    small = {name: size for name, size in SMALL.items() if name in cls.model_fields}
    values = {"kind": kind, **small, "embedding": {"width": 4, "channels": "random"}, **settings}
    architecture: Architecture = ARCHITECTURES.parse(values)
    torch.manual_seed(0)
    head = StateHead if reads == "states" else SummaryHead
    return build_network(
        architecture, words=30, features=None, pretrained=None, head=lambda width: head(width, 3), reads=reads
    )


def tokens() -> Tensor:
    ids = torch.randint(2, 30, (3, 6), generator=torch.Generator().manual_seed(1))
    return torch.where(torch.arange(6) < LENGTHS[:, None], ids, 0)


@pytest.mark.parametrize("kind", ARCHITECTURES.names())
def test_input_gradients_are_those_of_the_winning_output_of_each_sequence_alone(kind):
    network = network_of(kind).eval()
    found = input_gradients(network, tokens(), LENGTHS)
    assert found.shape == (3, 6)
    for row, length in enumerate(LENGTHS.tolist()):
        assert network.embedding is not None
        x = network.embedding(tokens()[row : row + 1, :length]).detach().requires_grad_()
        outputs = network.head(network.encoder(x, LENGTHS[row : row + 1]))[0]
        expected = torch.autograd.grad(outputs[outputs.argmax()], x)[0][0].norm(dim=1)
        assert torch.allclose(found[row, :length], expected, rtol=1e-4, atol=1e-7)
        assert expected.any()
        assert not found[row, length:].any()


def test_with_an_output_at_every_step_it_is_the_last_real_one():
    network = network_of("rnn", reads="states").eval()
    found = input_gradients(network, tokens(), LENGTHS)
    assert network.embedding is not None
    x = network.embedding(tokens()).detach().requires_grad_()
    out = network.head(network.encoder(x, LENGTHS))
    expected = torch.autograd.grad(out[2, 3].max(), x)[0][2].norm(dim=1)
    assert torch.allclose(found[2], expected, atol=1e-7)


@pytest.mark.parametrize("settings", [{"state": "carried"}, {"initial_state": "normal", "recurrent_dropout": 0.5}])
def test_the_probe_leaves_no_trace(settings):
    network = network_of("lstm", output_dropout=0.5, **settings).train()
    network.head.eval()  # a mode of its own, to be kept
    assert network.embedding is not None
    network.embedding.lazy = True
    network(tokens(), LENGTHS).sum().backward()
    gradients = [p.grad.clone() if p.grad is not None else None for p in network.parameters()]
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    modes = [module.training for module in network.modules()]
    picked, carried, random = network.embedding.picked, network.encoder.carried, torch.get_rng_state()

    first = probe(network, Batch(tokens(), LENGTHS, torch.zeros(3, dtype=torch.long)))

    assert [module.training for module in network.modules()] == modes
    assert torch.equal(torch.get_rng_state(), random)
    assert network.embedding.picked is picked
    assert network.encoder.carried is carried
    for before, parameter in zip(gradients, network.parameters(), strict=True):
        assert (before is None) == (parameter.grad is None)
        assert before is None or parameter.grad is None or torch.equal(before, parameter.grad)
    assert all(torch.equal(weights[name], value) for name, value in network.state_dict().items())
    assert probe(network, Batch(tokens(), LENGTHS, torch.zeros(3, dtype=torch.long))) == first


def test_the_probe_works_where_gradients_are_off():
    network = network_of("gru")
    batch = Batch(tokens(), LENGTHS, torch.zeros(3, dtype=torch.long))
    with torch.no_grad():
        assert probe(network, batch) == probe(network, batch)


def test_a_probe_says_lags_norms_and_rows():
    network = network_of("rnn").eval()
    norms = input_gradients(network, tokens(), LENGTHS).double()
    found = probe(network, Batch(tokens(), LENGTHS, torch.zeros(3, dtype=torch.long)))
    assert found["lags"] == [0, 1, 2, 4]
    assert found["rows"] == [3, 2, 2, 1]
    at_one = (norms[0, 4] + norms[2, 2]) / 2  # the sequences of 6 and of 4 steps, one before their last
    assert found["norms"][1] == pytest.approx(float(at_one))
    assert found["norms"][3] == pytest.approx(float(norms[0, 1]))


def test_means_are_over_the_sequences_that_reach_so_far():
    means, rows = mean_by_lag(torch.tensor([[1.0, 2.0, 3.0], [5.0, 0.0, 0.0]]), torch.tensor([3, 1]))
    assert means.tolist() == [4.0, 2.0, 1.0]
    assert rows.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("norms", "reference", "memory"),
    [
        ([1.0, 0.1, 0.009, 0.001], None, 2),
        ([1.0, 0.1, 0.01], None, None),  # not below
        ([1.0, 0.001, 0.5, 0.001], None, 3),  # the furthest counts
        ([0.5, 2.0, 0.006], 1.0, 2),
        ([0.5, 2.0, 0.006], None, 2),
        ([0.5, 2.0, 0.015], 1.0, None),
        ([0.5, 2.0, 0.015], None, 2),
        ([0.0, 0.0], None, 0),
        ([1.0, float("nan")], 1.0, None),
    ],
)
def test_memory_length(norms, reference, memory):
    assert memory_length(norms, reference) == memory


@pytest.mark.parametrize(("length", "lags"), [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (9, [0, 1, 2, 4, 8])])
def test_lags_double(length, lags):
    assert spaced_lags(length) == lags


def test_the_batch_of_the_probe_is_fixed_and_has_all_lengths():
    lengths = np.random.default_rng(0).integers(1, 90, 500)
    lengths[7] = PROBE_STEPS + 1
    offsets = offsets_of(lengths)
    values = np.arange(offsets[-1], dtype=np.int32) % 97 + 2
    zeros = np.zeros(len(lengths), np.int64)
    data = Sequences.end_to_end(values, offsets, zeros, zeros)
    batch = probe_batch(data, Label())
    assert len(batch.lengths) == 32
    assert int(batch.lengths.max()) == np.sort(lengths)[-2]
    assert int(batch.lengths.min()) == lengths.min()
    assert torch.equal(batch.inputs, probe_batch(data, Label()).inputs)
