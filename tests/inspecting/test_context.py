"""Nats by how much is read before."""

from pathlib import Path

import numpy as np
import pytest
import torch

from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.sequences import IGNORE
from rnnlab.inspecting.context import CONTEXTS, asked_tokens, network_by_context, ngrams_by_context
from rnnlab.models import kneser_ney
from rnnlab.models.network import Network
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec


@pytest.fixture
def network_and_data(tmp_path: Path) -> tuple[Network, EncodedData]:
    path = tmp_path / "novel.txt"
    path.write_text(nested_sentences(400, 1).text, encoding="utf-8")
    settings = ["model.hidden=8", "model.output_dropout=0.5"]
    tree = experiment_tree(str(path), models=["gru"], task={"context": 220, "block": 100}, settings=settings)
    experiment, data = plan(tree)
    assert data is not None
    torch.manual_seed(0)
    arm = experiment.arms["gru"]
    network = assemble(RunSpec(experiment.task, arm.model, arm.training, 0), data)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(3)  # so that what stood before matters
    return network, data


def test_tokens_are_scored_ones_with_enough_before_them(network_and_data: tuple[Network, EncodedData]):
    test = network_and_data[1].test
    places, contexts = asked_tokens(test)
    assert contexts == CONTEXTS
    assert len(np.unique(places)) == len(places) == 1000
    assert (test.truth.values[places] != IGNORE).all()
    assert test.target_offsets is not None
    row = np.searchsorted(test.target_offsets, places, side="right") - 1
    assert (places - test.target_offsets[row] >= 199).all()


def test_a_network_reads_the_last_tokens_alone(network_and_data: tuple[Network, EncodedData]):
    network, data = network_and_data
    test = data.test
    places, _ = asked_tokens(test)
    places = places[::100]
    found = network_by_context(network.train(), test, places, (1, 5, 50), longest=20)
    assert list(found) == [1, 5]
    assert network.training
    network.eval()
    for context, mean in found.items():
        nats = []
        for place in places.tolist():
            row = int(np.searchsorted(test.target_offsets, place, side="right")) - 1  # type: ignore[arg-type]
            until = place - int(test.target_offsets[row]) + 1  # type: ignore[index]
            ids = torch.from_numpy(test.row(row)[until - context : until]).long()[None]
            with torch.no_grad():
                shares = network(ids, torch.tensor([context]))[0, -1].log_softmax(0)
            nats.append(-float(shares[int(test.targets[place])]))
        assert mean == pytest.approx(np.mean(nats), rel=1e-5)
    assert found[1] != pytest.approx(found[5], rel=1e-3)


def test_ngrams_know_no_more_than_their_order(network_and_data: tuple[Network, EncodedData]):
    data = network_and_data[1]
    assert data.train.target_offsets is not None
    assert data.vocabulary is not None
    ids = data.train.targets.astype(np.int32)
    learnt = kneser_ney.fit(ids, data.train.target_offsets, len(data.vocabulary), 4)
    places, contexts = asked_tokens(data.test)
    found = ngrams_by_context(learnt, data.test, places, contexts)
    assert list(found) == [0, *CONTEXTS]
    assert found[0] > found[1] > found[2] > found[5]
    assert {found[context] for context in CONTEXTS[2:]} == {found[5]}
    whole = kneser_ney.nats(learnt, data.test.targets.astype(np.int32), data.test.target_offsets)  # type: ignore[arg-type]
    assert found[200] == pytest.approx(whole[places].mean())
