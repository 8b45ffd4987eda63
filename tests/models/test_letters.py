"""The letters of a word as a vector."""

import pytest
import torch

from rnnlab.models.letters import LetterVectors, Reader


@pytest.fixture(params=["cnn", "bilstm"])
def reader(request: pytest.FixtureRequest) -> LetterVectors:
    torch.manual_seed(0)
    kind: Reader = request.param
    return LetterVectors(9, 5, 6, kind).eval()


def words(*spelled: str, length: int = 8) -> torch.Tensor:
    """(1, words, L): a to g are 2 to 8."""
    rows = [[2 + "abcdefg".index(letter) for letter in word] + [0] * (length - len(word)) for word in spelled]
    return torch.tensor([rows])


def test_a_word_is_read_alike_wherever_it_stands(reader: LetterVectors):
    alone = reader(words("bad"))[0, 0]
    among = reader(words("a", "bad", "abcdefg", "bad"))[0]
    wider = reader(words("bad", length=20))[0, 0]
    for other in (among[1], among[3], wider):
        torch.testing.assert_close(other, alone, rtol=1e-5, atol=1e-6)


def test_padding_is_zero_and_order_counts(reader: LetterVectors):
    found = reader(words("", "ab", "ba", "ac"))[0]
    assert not found[0].any()
    assert (found[1] - found[2]).abs().max() > 1e-3
    assert (found[1] - found[3]).abs().max() > 1e-3


def test_each_place_of_a_word_adds_to_its_gradient(reader: LetterVectors):
    twice = reader(words("bad", "bad")).sum()
    (gradient,) = torch.autograd.grad(twice, reader.table)
    (once,) = torch.autograd.grad(reader(words("bad")).sum(), reader.table)
    torch.testing.assert_close(gradient, 2 * once)
