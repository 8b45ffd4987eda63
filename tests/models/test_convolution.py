import pytest
import torch
from torch import nn

from rnnlab.config import parse
from rnnlab.errors import ConfigError
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.embedding import Embedding

TWO = Embedding(vectors="some.txt", channels="two")


@pytest.mark.parametrize("widths", [(2, 3, 4, 5), (1,), (3, 2), (9, 2)])
def test_windows_are_convolutions_over_zeros_beyond_the_end(widths: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    encoder = TextCNN(widths=widths, filters=4).build(6)
    x, lengths = torch.randn(3, 7, 6), torch.tensor([7, 1, 5])
    states = encoder(x, lengths).states
    bias = encoder.get_parameter("convolution.bias")
    for row, length in enumerate(lengths.tolist()):
        for number, width in enumerate(widths):
            conv = nn.Conv1d(6, 4, width)
            weight = encoder.get_parameter(f"convolution.weights.{number}").view(4, width, 6)
            conv.load_state_dict({"weight": weight.transpose(1, 2), "bias": bias[4 * number : 4 * number + 4]})
            padded = nn.functional.pad(x[row, :length].T, (0, width - 1))
            expected = conv(padded).relu().T  # (length, 4)
            torch.testing.assert_close(states[row, :length, 4 * number : 4 * number + 4], expected)


def test_weights_begin_as_those_of_torch_convolutions() -> None:
    torch.manual_seed(0)
    encoder = TextCNN(filters=200).build(50)
    for number, width in enumerate((2, 3, 4, 5)):
        reference = nn.Conv1d(50, 200, width)
        for ours, theirs in (
            (encoder.get_parameter(f"convolution.weights.{number}"), reference.weight),
            (encoder.get_parameter("convolution.bias")[200 * number : 200 * number + 200], reference.bias),
        ):
            assert theirs is not None
            assert ours.numel() == theirs.numel()
            assert abs(float(ours.detach().abs().max() / theirs.detach().abs().max()) - 1) < 0.05
            assert abs(float(ours.detach().std() / theirs.detach().std()) - 1) < 0.2


def test_the_sizes_of_the_document() -> None:
    """Four widths of 16 filters over two channels of 50: 16 · (2 + 3 + 4 + 5) · 100 weights."""
    encoder = CNN2().build(100)
    assert sum(p.numel() for name, p in encoder.named_parameters() if "weights" in name) == 22_400
    assert encoder.width == 64


def test_the_strongest_answer_over_time() -> None:
    torch.manual_seed(0)
    encoder = TextCNN(activation="tanh").build(6)
    encoded = encoder(torch.randn(2, 5, 6), torch.tensor([5, 2]))
    torch.testing.assert_close(encoded.summary[1], encoded.states[1, :2].amax(0))
    assert bool((encoded.summary < 0).any())


def test_cnn2_says_what_it_needs() -> None:
    assert CNN2.needs_vectors
    assert not TextCNN.needs_vectors
    assert [cls.kind for cls in ARCHITECTURES if cls.needs_vectors] == ["cnn2"]
    assert CNN2(embedding=TWO).check("tokens") == []
    for embedding in (None, Embedding(), Embedding(vectors="some.txt", channels="frozen")):
        (problem,) = CNN2(embedding=embedding).check("tokens")
        assert "pass --vectors FILE or --vectors glove-6b-50d" in problem
    (problem,) = CNN2().check("features")
    assert "'cnn2' reads words" in problem


def test_textcnn_takes_any_input_but_no_embedding_for_numbers() -> None:
    assert TextCNN().check("tokens") == TextCNN(embedding=TWO).check("tokens") == TextCNN().check("features") == []
    (problem,) = TextCNN(embedding=TWO).check("features")
    assert problem.startswith("model.embedding: the sequences are numbers")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"widths": []}, "widths: "),
        ({"widths": [3, 0]}, r"widths\.1: "),
        ({"widths": [3, 3]}, r"widths: \[3, 3\] has a width twice"),
        ({"activation": "sine"}, "activation: "),
    ],
)
def test_impossible_windows_are_errors(values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(TextCNN, values)


def test_causal_only_when_a_window_is_one_token() -> None:
    assert TextCNN(widths=(1,)).causal
    assert not TextCNN(widths=(1, 2)).causal
