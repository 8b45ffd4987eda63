from typing import get_args

import pytest
import torch
from torch import Tensor

from rnnlab.models.pooling import Pool, Pooling, inside, zero_padding

LENGTHS = torch.tensor([4, 1, 3])


def states() -> Tensor:
    """(3, 4, 6), all negative at real positions: a maximum over padding would be 0."""
    x = -1 - torch.rand(3, 4, 6, generator=torch.Generator().manual_seed(0))
    return zero_padding(x, LENGTHS)


def expected(kind: Pooling, row: Tensor, query: Tensor | None = None) -> Tensor:
    """The pooling of one unpadded sequence (T, 6) whose last two columns read backwards."""
    if kind == "last":
        return torch.cat([row[-1, :4], row[0, 4:]])
    if kind == "first+last":
        return torch.cat([row[0], row[-1]])
    if kind == "mean":
        return row.mean(0)
    if kind == "max":
        return row.max(0).values
    assert query is not None
    return (row @ query).softmax(0) @ row


@pytest.mark.parametrize("kind", get_args(Pooling))
def test_pooling_is_that_of_each_sequence_by_itself(kind: Pooling) -> None:
    torch.manual_seed(0)
    pool = Pool(kind, 6, backward_width=2)
    summary, weights = pool(states(), LENGTHS)
    assert summary.shape == (3, pool.width)
    assert pool.width == (12 if kind == "first+last" else 6)
    query = pool.query if kind == "attention" else None
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(summary[row], expected(kind, states()[row, :length], query))
    assert (weights is None) == (kind != "attention")


def test_last_without_a_backward_part_is_the_last_real_state() -> None:
    summary, _ = Pool("last", 6)(states(), LENGTHS)
    assert torch.equal(summary, torch.stack([states()[0, 3], states()[1, 0], states()[2, 2]]))


def test_attention_weights_tell_where_it_looked() -> None:
    torch.manual_seed(0)
    pool = Pool("attention", 6)
    with torch.no_grad():
        pool.query.mul_(3)
    summary, weights = pool(states(), LENGTHS)
    assert weights.shape == (3, 4)
    assert torch.equal(weights > 0, inside(LENGTHS, 4))
    torch.testing.assert_close(weights.sum(1), torch.ones(3))
    torch.testing.assert_close((weights[:, :, None] * states()).sum(1), summary)
    assert float(weights[0].detach().std()) > 0.01


def test_inside_and_zero_padding() -> None:
    assert inside(LENGTHS, 5).int().tolist() == [[1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]]
    x = torch.full((3, 5, 2), 3.0)
    assert torch.equal(zero_padding(x, LENGTHS), 3.0 * inside(LENGTHS, 5)[:, :, None].expand(3, 5, 2))
