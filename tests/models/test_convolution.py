import pytest
import torch
from torch import Tensor, nn
from variant_laws import VARIANT_LAWS

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.models.base import ARCHITECTURES, Encoded
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.embedding import Embedding
from rnnlab.models.hybrid import GruCnn
from rnnlab.models.network import build_network
from rnnlab.testing import ARCHITECTURE_LAWS

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


@pytest.mark.parametrize("widths", [(2, 3, 4, 5), (3,), (4, 1), (9, 2)])
@pytest.mark.parametrize("training", [False, True], ids=["torch", "native"])
def test_centred_windows_have_their_token_in_the_middle(widths: tuple[int, ...], training: bool) -> None:
    torch.manual_seed(0)
    encoder = TextCNN(widths=widths, filters=4, centred=True).build(6).train(training)
    x, lengths = torch.randn(3, 7, 6), torch.tensor([7, 1, 5])
    encoded = encoder(x, lengths)
    bias = encoder.get_parameter("convolution.bias")
    for row, length in enumerate(lengths.tolist()):
        for number, width in enumerate(widths):
            weight = encoder.get_parameter(f"convolution.weights.{number}").view(4, width, 6)
            before = {1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 9: 4}[width]  # an even width has one token more ahead
            padded = nn.functional.pad(x[row, :length].T, (before, width - 1 - before))
            columns = slice(4 * number, 4 * number + 4)
            expected = nn.functional.conv1d(padded[None], weight.transpose(1, 2), bias[columns])[0].relu().T
            torch.testing.assert_close(encoded.states[row, :length, columns], expected)
            torch.testing.assert_close(encoded.summary[row, columns], expected.amax(0))


@pytest.mark.parametrize("settings", [TextCNN, GruCnn])
def test_centred_is_refused_where_it_changes_nothing(settings: type[TextCNN | GruCnn]) -> None:
    assert settings(widths=(2, 3), centred=True).centred
    with pytest.raises(ConfigError, match="centred = true changes nothing for windows of one or two tokens"):
        parse(settings, {"widths": [1, 2], "centred": True})


@pytest.mark.parametrize("law", VARIANT_LAWS)
@pytest.mark.parametrize(
    "settings",
    [
        TextCNN(widths=(3, 4, 9), filters=3, centred=True),
        CNN2(widths=(2, 5), filters=3, activation="tanh", pooling="attention", centred=True),
        GruCnn(hidden=4, widths=(4,), filters=3, centred=True),
    ],
    ids=["textcnn", "cnn2", "gru-cnn"],
)
def test_laws_hold_for_centred_windows(settings: TextCNN | CNN2 | GruCnn, law: str) -> None:
    ARCHITECTURE_LAWS[law](settings)


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


@pytest.mark.parametrize("width", [2, 3, 4, 5])
def test_a_filter_over_both_channels_is_the_document_s_convolution(width: int) -> None:
    """c_i = relu(Σ_c Σ_j Σ_k W[c, j, k] X[c, i + j, k] + b): ``nn.Conv2d`` with two input channels."""
    torch.manual_seed(0)
    random, pretrained = torch.randn(2, 9, 50), torch.randn(2, 9, 50)
    encoder = CNN2(widths=(width,)).build(100)
    weight = encoder.get_parameter("convolution.weights.0").view(16, width, 2, 50).transpose(1, 2)
    conv = nn.Conv2d(2, 16, (width, 50))
    conv.load_state_dict({"weight": weight, "bias": encoder.get_parameter("convolution.bias")})
    two_channels = torch.stack([random, pretrained], dim=1)  # (B, 2, T, 50)
    expected = conv(two_channels).squeeze(3).relu().transpose(1, 2)  # (B, T - width + 1, 16)
    states = encoder(torch.cat([random, pretrained], dim=2), torch.tensor([9, 9])).states
    torch.testing.assert_close(states[:, : 10 - width], expected)


def test_cnn2_says_what_it_needs() -> None:
    assert CNN2.needs_vectors
    assert not TextCNN.needs_vectors
    assert [cls.kind for cls in ARCHITECTURES if cls.needs_vectors] == ["cnn2"]
    assert CNN2(embedding=TWO).check("tokens") == []
    for embedding in (None, Embedding(vectors="some.txt")):
        (problem,) = CNN2(embedding=embedding).check("tokens")
        assert "pass --vectors FILE or --vectors glove-6b-50d" in problem
        assert "or choose one channel: 'frozen', 'tuned' or 'random'" in problem
    (problem,) = CNN2().check("features")
    assert "'cnn2' reads words" in problem


@pytest.mark.parametrize(
    ("channels", "vectors", "width"),
    [("two", "some.txt", 14), ("frozen", "some.txt", 7), ("tuned", "some.txt", 7), ("random", None, 7)],
)
def test_cnn2_with_one_channel_has_half_the_weights(channels: str, vectors: str | None, width: int) -> None:
    embedding = parse(Embedding, {"channels": channels, "vectors": vectors, "width": 7})
    settings = CNN2(embedding=embedding)
    pretrained = None if vectors is None else torch.randn(20, 7)
    network = build_network(settings, words=20, features=None, pretrained=pretrained, head=Head)
    assert network.encoder.get_parameter("convolution.weights.0").shape == (16, 2 * width)
    assert network(torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([3, 1])).shape == (2, 5)


class Head(nn.Linear):
    def __init__(self, width: int):
        super().__init__(width, 5)

    def forward(self, encoded: Encoded) -> Tensor:  # type: ignore[override]  # a head takes what an encoder gives
        return super().forward(encoded.summary)


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
