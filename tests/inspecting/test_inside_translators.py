"""Inside models that write a text for another: attention, gradients, and their own tokens."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from rnnlab.answers.heads import StateHead
from rnnlab.answers.translation import tokens_before
from rnnlab.data.made_pairs import made_pairs
from rnnlab.data.pairs import encode_pairs
from rnnlab.data.sequences import IGNORE
from rnnlab.data.vocabulary import END
from rnnlab.inspecting.translating import attention_map, gradient_map, writing_exposure
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import Network, build_network

READ, WRITTEN = [7, 5, 9, 11], [6, 4, 8, END]
WRITERS: dict[str, dict[str, Any]] = {
    "attention": {"kind": "gru", "hidden": 16, "bidirectional": True},
    "fed": {"kind": "lstm", "hidden": 16, "decoder": {"attention": "general", "input_feeding": True}},
    "none": {"kind": "gru", "hidden": 16, "decoder": {"attention": "none"}},
    "transformer": {"kind": "transformer", "width": 16, "heads": 2, "dropout": 0.3},
}


def network_of(name: str, words: int = 20) -> Network:
    torch.manual_seed(3)
    return build_network(
        ARCHITECTURES.parse({"embedding": {"width": 12}, **WRITERS[name]}),
        words=words,
        features=None,
        pretrained=None,
        head=lambda width: StateHead(width, words),
        reads="states",
        written=words,
    )


@pytest.mark.parametrize("name", ["attention", "fed", "transformer"])
def test_every_written_token_looks_with_a_weight_of_one(name: str) -> None:
    network = network_of(name)
    found = attention_map(network, READ, WRITTEN)
    weights = np.array(found)
    assert weights.shape == (4, 4)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)
    assert network.training  # as it was
    assert attention_map(network, READ, WRITTEN) == found  # nothing is drawn
    changed = np.array(attention_map(network, READ, [6, 4, 5, END]))
    np.testing.assert_allclose(changed[:3], weights[:3], atol=1e-6)  # what is written later has no say


def test_without_attention_there_is_no_map() -> None:
    assert attention_map(network_of("none"), READ, WRITTEN) is None


@pytest.mark.parametrize("name", WRITERS)
def test_gradients_are_those_of_small_steps(name: str) -> None:
    """Along the gradient, log p rises by its norm."""
    network = network_of(name)
    found = np.array(gradient_map(network, READ, WRITTEN))
    assert found.shape == (4, 4)
    assert (found > 0).all()
    double = network.double().eval()
    assert double.embedding is not None
    assert double.embedding.table is not None
    table = double.embedding.table
    targets = torch.tensor([WRITTEN])

    def chances() -> torch.Tensor:
        out = double(torch.tensor([READ]), torch.tensor([len(READ)]), tokens_before(targets))
        return F.log_softmax(out, 2)[0, torch.arange(4), targets[0]]

    for at in range(4):
        (slope,) = torch.autograd.grad(chances()[at], table)
        for place, token in enumerate(READ):  # each comes once, so its vector is that of its place
            direction = slope[token] / slope[token].norm()
            with torch.no_grad():
                table[token] += 1e-5 * direction
                above = chances()[at].item()
                table[token] -= 2e-5 * direction
                below = chances()[at].item()
                table[token] += 1e-5 * direction
            assert (above - below) / 2e-5 == pytest.approx(found[at, place], rel=1e-4)


def test_forced_nats_are_those_of_the_loss_and_the_first_token_is_free() -> None:
    data = encode_pairs({"train": made_pairs("reverse", 300, 6)}, tokenizer="chars", target_tokenizer="chars")
    assert data.vocabulary is not None
    assert data.writes is not None
    network = network_of("attention", words=max(len(data.vocabulary), len(data.writes.vocabulary or ())))
    found = writing_exposure(network, data.test)
    assert found.rows == len(data.test)
    nats: dict[int, list[float]] = {}
    with torch.no_grad():
        network.eval()
        for row in range(len(data.test)):
            own = data.test.targets[data.test.target_offsets[row] : data.test.target_offsets[row + 1]]  # type: ignore[index]
            targets = torch.from_numpy(own)[None]
            inputs = torch.from_numpy(data.test.row(row)).long()[None]
            out = network(inputs, torch.tensor([inputs.shape[1]]), tokens_before(targets))
            surprise = F.cross_entropy(out[0], targets[0], ignore_index=IGNORE, reduction="none")
            for step, value in enumerate(surprise.tolist()):
                nats.setdefault(step, []).append(value)
    for step, one in enumerate(found.forced):
        assert one.mean == pytest.approx(np.mean(nats[step]), rel=1e-4)
    assert found.free[0] == found.forced[0]
    assert any(one.mean != other.mean for one, other in zip(found.free, found.forced, strict=True))
    means = [free.mean - forced.mean for free, forced in zip(found.free, found.forced, strict=True)]
    np.testing.assert_allclose([one.mean for one in found.gap], means, atol=1e-9)


def test_a_model_that_says_the_same_whatever_it_reads_has_no_gap() -> None:
    data = encode_pairs({"train": made_pairs("sort", 200, 6)}, tokenizer="chars", target_tokenizer="chars")
    network = network_of("none", words=40)
    with torch.no_grad():
        for weight in network.head.parameters():
            weight.zero_()
    found = writing_exposure(network, data.test)
    assert found.mean_gap.mean == 0
    assert found.forced[1].mean == pytest.approx(np.log(40))
