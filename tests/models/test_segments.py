"""Networks know which column a token is from, whatever their architecture."""

import numpy as np
import pytest
import torch

from rnnlab.answers.heads import SummaryHead
from rnnlab.data.joined import segments
from rnnlab.inspecting.cost import parameters
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.embedding import SEPARATED, Embedding, columns_of
from rnnlab.models.network import Network, build_network, parameter_counts

WORDS, WIDTH = 9, 6
KINDS = [kind for kind in ARCHITECTURES.names() if ARCHITECTURES[kind].__module__.startswith("rnnlab.")]


def architecture_of(kind: str) -> Architecture:
    return ARCHITECTURES.parse({"kind": kind}).replace(embedding=Embedding(width=WIDTH))


def network_of(kind: str, columns: int, tokens: int = 1) -> Network:
    torch.manual_seed(0)
    network = build_network(
        architecture_of(kind),
        words=WORDS,
        features=None,
        pretrained=None,
        tokens=tokens,
        columns=columns,
        head=lambda width: SummaryHead(width, 2),
    )
    if network.embedding is not None and network.embedding.segments is not None:
        torch.nn.init.normal_(network.embedding.segments)
    return network.eval()


def test_columns_are_counted_by_separators():
    ids = torch.tensor([[3, SEPARATED, 4, 5, 0], [SEPARATED, 3, SEPARATED, 7, SEPARATED]])
    assert columns_of(ids, 3).tolist() == [[0, 1, 1, 1, 1], [1, 1, 2, 2, 2]]
    both = segments(np.array([3, 2, 4, 5, 2, 3, 2, 7, 2]), np.array([0, 4, 9]), 3)
    assert both.tolist() == [0, 1, 1, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_neighbours_change_nothing(kind: str):
    network = network_of(kind, columns=2)
    row = torch.tensor([[3, 4, SEPARATED, 5, 6]])
    alone = network(row, torch.tensor([5]))
    batch = torch.full((2, 9), SEPARATED)
    batch[0, :5], batch[0, 5:] = row, 0
    together = network(batch, torch.tensor([5, 9]))
    torch.testing.assert_close(alone[0], together[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fasttext"])
def test_the_same_token_is_another_one_in_another_column(kind: str):
    told, untold = network_of(kind, columns=2), network_of(kind, columns=0)
    assert told.embedding is not None
    assert untold.embedding is not None
    ids = torch.tensor([[3, SEPARATED, 3]])
    x = told.embedding(ids)
    assert not torch.equal(x[0, 0], x[0, 2])
    assert torch.equal(untold.embedding(ids)[0, 0], untold.embedding(ids)[0, 2])
    for name, value in untold.state_dict().items():  # nothing is drawn for the columns
        assert torch.equal(value, told.state_dict()[name])
    own = parameter_counts(told)["embedding"] - parameter_counts(untold)["embedding"]
    assert own == 2 * WIDTH


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cnn2"])
def test_the_formulas_count_them(kind: str):
    counted = parameters(architecture_of(kind), words=WORDS, columns=3, classes=2)
    assert counted == parameter_counts(network_of(kind, columns=3))


def test_several_ids_per_step_have_one_column():
    network = network_of("textcnn", columns=3, tokens=2)
    assert network.embedding is not None
    assert network.embedding.segments is not None
    assert network.embedding.segments.shape == (3, 2 * WIDTH)
    ids = torch.tensor([[[3, SEPARATED], [SEPARATED, 4], [3, 5]]])  # the first id alone is the token
    x = network.embedding(ids) - network.embedding.vectors(ids)
    torch.testing.assert_close(x[0], network.embedding.segments[[0, 1, 1]])
