"""What single units follow, and which tokens have vectors alike."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rnnlab.data.encoded import EncodedData
from rnnlab.inspecting import units as looking
from rnnlab.inspecting.neighbours import neighbours
from rnnlab.inspecting.text_features import features_of
from rnnlab.inspecting.units import correlations, followed_units
from rnnlab.models.network import Network
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec


def test_features_are_counted_from_what_was_read():
    found = features_of(list('ab (c)\n"d" 1,E'), characters=True)
    assert found["line"].tolist() == [1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7]
    assert found["word"].tolist() == [1, 2, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1]
    assert found["brackets"].tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found["quotes"].tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert found["capital"].tolist() == [0] * 13 + [1]
    assert found["digit"].tolist() == [0] * 11 + [1, 0, 0]
    assert found["vowel"].tolist() == [1] + [0] * 12 + [1]
    chinese = features_of(list("「明月」，\n几"), characters=True)
    assert chinese["quotes"].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert chinese["mark"].tolist() == [0, 1, 2, 0, 0, 0, 1]
    assert "word" not in features_of(["a", "word"], characters=False)


def test_correlations_are_pearsons():
    rng = np.random.default_rng(0)
    states, values = rng.normal(size=(500, 3)), rng.normal(size=500)
    states[:, 2] = 7.0
    found = correlations(states, values)
    assert found[:2] == pytest.approx([np.corrcoef(states[:, at], values)[0, 1] for at in (0, 1)])
    assert found[2] == 0


@pytest.fixture
def network_and_data(tmp_path: Path) -> tuple[Network, EncodedData]:
    rng = np.random.default_rng(0)
    lines = ["".join(rng.choice(list("abcde  ,"), rng.integers(5, 40))) for _ in range(900)]
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    tree = experiment_tree(str(path), models=["lstm"], task={"context": 50, "block": 100}, settings=["model.hidden=6"])
    experiment, data = plan(tree)
    assert data is not None
    torch.manual_seed(0)
    arm = experiment.arms["lstm"]
    return assemble(RunSpec(experiment.task, arm.model, arm.training, 0), data).eval(), data


def test_a_unit_that_counts_is_found(network_and_data: tuple[Network, EncodedData]):
    network, data = network_and_data
    assert data.vocabulary is not None
    plain = followed_units(network, None, data.test, data.vocabulary, True)
    counting = _with_a_counter(network, data.vocabulary.index["\n"])
    found = followed_units(counting, network, data.test, data.vocabulary, True)
    assert found is not None
    assert plain is not None
    line = next(one for one in found.followed if one.feature == "line")
    before = next(one for one in plain.followed if one.feature == "line")
    assert (line.part, line.unit) == ("c", 2)
    assert line.held_out > 0.99
    assert line.at_first == pytest.approx(before.held_out)
    assert abs(before.held_out) < 0.9
    strip = next(one for one in found.strips if one.feature == "line")
    values = np.array(strip.values)
    ends = [at for at, token in enumerate(strip.tokens) if token == "\n"]
    assert values[ends].max() < -0.5  # the counter begins anew
    assert [one.remembered for one in found.followed] == sorted(
        (one.remembered for one in found.followed), reverse=True
    )


def test_units_are_reported_on_rows_that_chose_none(
    network_and_data: tuple[Network, EncodedData], monkeypatch: pytest.MonkeyPatch
):
    """A feature that is chance: of many units one fits well where it was found, and not elsewhere."""
    network, data = network_and_data
    assert data.vocabulary is not None
    rng = np.random.default_rng(1)
    monkeypatch.setattr(looking, "features_of", lambda tokens, _: {"line": rng.normal(size=len(tokens))})
    found = followed_units(network, None, data.test, data.vocabulary, True)
    assert found is not None
    [one] = found.followed
    assert abs(one.found) > abs(one.held_out)
    assert not one.noteworthy
    assert found.strips == ()


def _with_a_counter(network: Network, line_end: int) -> Network:
    """Unit 2: its cell adds a constant at every token, and forgets at a line end."""
    made = copy.deepcopy(network)
    assert made.embedding is not None
    assert made.embedding.table is not None
    cell: Any = made.encoder.ahead[0]  # type: ignore[index]
    with torch.no_grad():
        made.embedding.table[:, 0] = 0.0
        made.embedding.table[line_end, 0] = 1.0
        for gate, bias in enumerate((12.0, 12.0, 0.02, 0.0)):  # input, forget, candidate, output
            row = 6 * gate + 2
            for weights in (cell.weight_ih_l0, cell.weight_hh_l0, cell.bias_ih_l0, cell.bias_hh_l0):
                weights[row] = 0.0
            cell.bias_ih_l0[row] = bias
        cell.weight_ih_l0[[2, 8], 0] = -30.0  # a line end closes the input and the forget gate
    return made


def test_neighbours_point_the_same_way(network_and_data: tuple[Network, EncodedData]):
    network, data = network_and_data
    vocabulary = data.vocabulary
    assert vocabulary is not None
    assert network.embedding is not None
    assert network.embedding.table is not None
    assert neighbours(network, vocabulary, characters=True) == ()  # five letters have no five neighbours
    words = [*vocabulary.words[:4], *"abcdefgh", " "]
    known = type(vocabulary)(tuple(words), written=True)
    with torch.no_grad():
        table = network.embedding.table
        network.embedding.table = torch.nn.Parameter(torch.randn(len(words), table.shape[1]))
        network.embedding.table[words.index("c")] = 2 * network.embedding.table[words.index("a")]
    found = neighbours(network, known, characters=True)
    assert [one.token for one in found] == list("abcdefgh")
    token, cosine = found[0].nearest[0]
    assert token == "c"
    assert cosine == pytest.approx(1.0, abs=1e-5)
    assert all(" " not in [token for token, _ in one.nearest] for one in found)
    assert neighbours(network, known, characters=False) == ()
