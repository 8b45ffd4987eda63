"""What is dropped at all steps alike, of whole words, and of recurrent weights."""

from typing import Any

import pytest
import torch

from rnnlab.answers.heads import StateHead
from rnnlab.core.errors import ConfigError
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.dropout import LockedDropout
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, build_network
from rnnlab.sweeps.plan import experiment_tree, plan

IDS, LENGTHS = torch.randint(2, 12, (5, 7), generator=torch.Generator().manual_seed(0)), torch.tensor([7, 7, 3, 5, 1])


def network_of(**settings: Any) -> Network:
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"embedding": {"width": 6}, **settings})
    return build_network(
        model, words=12, features=None, pretrained=None, head=lambda width: StateHead(width, 3), reads="states"
    )


def test_locked_dropout_drops_the_same_units_at_every_step_of_a_row():
    dropped = LockedDropout(0.5).train()(torch.ones(40, 9, 30))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(dropped[0], dropped[1])
    assert 0.4 < float((dropped > 0).float().mean()) < 0.6
    assert torch.equal(LockedDropout(0.5).eval()(torch.ones(2, 3, 4)), torch.ones(2, 3, 4))


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru", "mingru", "minlstm", "dilated"])
def test_each_place_is_locked(kind: str):
    """Embedded tokens, between layers, and what the head reads."""
    network = network_of(
        kind=kind, hidden=8, layers=2, dropout=0.5, output_dropout=0.5, locked_dropout=True,
        embedding={"width": 6, "dropout": 0.5},
    )  # fmt: skip
    places = [module for module in network.modules() if isinstance(module, torch.nn.Dropout)]
    assert len(places) >= 3
    assert all(isinstance(module, LockedDropout) and module.p == 0.5 for module in places)


def test_a_word_is_dropped_wherever_it_stands():
    vectors = Embedding(width=6, type_dropout=0.5).build(12).train()
    found, whole = vectors(IDS), vectors.eval()(IDS)
    dropped = (found == 0).all(2)
    known = IDS > 1  # the unknown word is zero anyway
    for word in IDS[known].unique():
        assert len(dropped[word == IDS].unique()) == 1
    assert 0 < int(dropped[known].sum()) < int(known.sum())
    torch.testing.assert_close(found[~dropped], 2 * whole[~dropped])


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("native", [True, False])
def test_recurrent_weights_are_dropped_in_training_alone(kind: str, native: bool):
    def states(network: Network) -> torch.Tensor:
        torch.manual_seed(1)
        if native:
            return network.encode(IDS, LENGTHS).states
        with switched_off():
            return network.encode(IDS, LENGTHS).states

    plain, dropping = network_of(kind=kind, hidden=8), network_of(kind=kind, hidden=8, weight_dropout=0.5)
    torch.testing.assert_close(states(plain.eval()), states(dropping.eval()))
    found = states(dropping.train())
    cell: Any = dropping.encoder.ahead[0]  # type: ignore[index]
    masked = cell.dropped[0].detach().clone()
    kept = masked != 0
    assert 0.3 < float(kept.float().mean()) < 0.7
    torch.testing.assert_close(masked[kept], 2 * cell.weight_hh_l0[kept])
    found.sum().backward()
    assert not cell.weight_hh_l0.grad[~kept].any()
    assert cell.weight_hh_l0.grad[kept].any()
    with torch.no_grad():
        plain.encoder.ahead[0].weight_hh_l0.copy_(masked)  # type: ignore[index]
    torch.testing.assert_close(states(plain.eval()), found.detach(), rtol=1e-4, atol=1e-5)


def test_what_would_be_ignored_is_refused():
    with pytest.raises(ConfigError, match=r"weight_dropout = 0\.5 draws weights once per update"):
        network_of(kind="gru", weight_dropout=0.5, checkpoint_segments=2)
    reviews = {"data": "reviews", "task": {"rows": 300}}
    for model, settings, told in (
        ("gru", ["model.embedding.dropout=0", "model.output_dropout=0.5"], "nothing is dropped at single steps"),
        ("transformer", ["model.dropout=0.1"], r"'transformer' draws its own dropout = 0\.1"),
    ):
        with pytest.raises(ConfigError, match=told):
            plan(experiment_tree(**reviews, models=[model], settings=["model.locked_dropout=true", *settings]))
    plan(experiment_tree(**reviews, models=["gru"], settings=["model.locked_dropout=true"]))  # texts have dropout


def test_specs_without_these_settings_are_what_they_were():
    written = ARCHITECTURES.parse({"kind": "lstm", "embedding": {"width": 6}}).to_dict()
    assert not {"locked_dropout", "weight_dropout"} & set(written)
    assert "type_dropout" not in written["embedding"]
