import pytest
import torch
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Architecture, Encoded
from rnnlab.models.convolution import CNN2, TextCNN
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, build_network, parameter_counts
from rnnlab.models.recurrent import LSTM, RNN

WORDS, CLASSES = 30, 5
TWO = Embedding(vectors="some.txt", channels="two")


class Head(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, CLASSES)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


def text_network(architecture: Architecture, seed: int = 0) -> Network:
    torch.manual_seed(seed)
    vectors = torch.randn(WORDS, 50) if architecture.embedding and architecture.embedding.vectors else None
    return build_network(architecture, words=WORDS, features=None, pretrained=vectors, head=Head)


def batch() -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([6, 1, 4])
    ids = torch.randint(1, WORDS, (3, 6), generator=torch.Generator().manual_seed(0))
    return ids * (torch.arange(6) < lengths[:, None]), lengths


def test_two_channels_are_padded_alike() -> None:
    """As the law for one channel, `padded_tokens_change_nothing`."""
    network = text_network(LSTM(hidden=8, embedding=TWO)).eval()
    ids, lengths = batch()
    logits = network(ids, lengths)
    assert logits.shape == (3, CLASSES)
    torch.testing.assert_close(network(nn.functional.pad(ids, (0, 9)), lengths), logits, atol=1e-5, rtol=1e-5)


def test_numbers_go_straight_to_the_encoder() -> None:
    network = build_network(RNN(hidden=8), words=None, features=3, pretrained=None, head=Head)
    assert network.embedding is None
    assert network(torch.randn(2, 4, 3), torch.tensor([4, 2])).shape == (2, CLASSES)


def test_output_dropout_acts_on_the_summary_in_training_only() -> None:
    network = text_network(LSTM(hidden=32, embedding=Embedding(), output_dropout=0.5))
    seen: list[Encoded] = []
    network.head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    network(*batch())
    network.eval()(*batch())
    training, evaluation = seen
    dropped = training.summary == 0
    assert 0.3 < float(dropped.float().mean()) < 0.7
    torch.testing.assert_close(training.summary[~dropped], 2 * evaluation.summary[~dropped])
    torch.testing.assert_close(training.states, evaluation.states)


def test_encode_shows_where_attention_looked() -> None:
    network = text_network(RNN(hidden=8, pooling="attention", embedding=Embedding()))
    ids, lengths = batch()
    weights = network.encode(ids, lengths).weights
    assert weights is not None
    assert torch.equal(weights > 0, ids > 0)


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        (
            RNN(embedding=Embedding()),
            {"embedding": 1500, "encoder": 128 * 50 + 128 * 128 + 256, "head": 645, "frozen": 0},
        ),
        (CNN2(embedding=TWO), {"embedding": 3000, "encoder": 22_400 + 64, "head": 325, "frozen": 1500}),
        (
            TextCNN(embedding=Embedding(vectors="some.txt", channels="frozen")),
            {"embedding": 1500, "encoder": 11_200 + 64, "head": 325, "frozen": 1500},
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Architecture) else "",
)
def test_parameters_are_counted_by_part(architecture: Architecture, expected: dict[str, int]) -> None:
    counts = parameter_counts(text_network(architecture))
    frozen = expected.pop("frozen")
    total = sum(expected.values())
    assert counts == {"total": total, "trainable": total - frozen, **expected}


@pytest.mark.parametrize(
    ("architecture", "words", "features", "message"),
    [
        (RNN(), WORDS, None, "model.embedding: required for text"),
        (RNN(embedding=Embedding()), None, 3, "the sequences are numbers"),
        (CNN2(), WORDS, None, "'cnn2' needs 'two'"),
        (CNN2(), None, 3, "'cnn2' reads words"),
    ],
)
def test_settings_that_do_not_suit_the_input_are_errors(
    architecture: Architecture, words: int | None, features: int | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build_network(architecture, words=words, features=features, pretrained=None, head=Head)


def test_either_words_or_features() -> None:
    for words, features in ((None, None), (3, 3)):
        with pytest.raises(ValueError, match="either words or features"):
            build_network(RNN(), words=words, features=features, pretrained=None, head=Head)


def test_same_seed_same_network() -> None:
    settings = LSTM(hidden=8, embedding=TWO)
    one, two, other = text_network(settings), text_network(settings), text_network(settings, seed=1)
    assert all(torch.equal(value, two.state_dict()[name]) for name, value in one.state_dict().items())
    assert not torch.equal(one(*batch()), other(*batch()))


def test_the_lazy_embedding_gives_every_other_part_the_same_gradient() -> None:
    gradients = []
    for lazy in (False, True):
        network = text_network(LSTM(hidden=8, embedding=TWO))
        assert network.embedding is not None
        network.embedding.lazy = lazy
        network(*batch()).square().sum().backward()
        assert network.embedding.table is not None
        assert (network.embedding.table.grad is None) == lazy
        gradients.append({name: p.grad for name, p in network.named_parameters() if name != "embedding.table"})
    dense, lazily = gradients
    for name, gradient in dense.items():
        assert torch.equal(gradient, lazily[name]), name


def test_a_rebuilt_network_needs_no_vector_file() -> None:
    """Weights hold the frozen vectors; a table of zeros is enough to build what they are loaded into."""
    trained = text_network(CNN2(embedding=TWO)).eval()
    rebuilt = build_network(
        CNN2(embedding=TWO), words=WORDS, features=None, pretrained=torch.zeros(WORDS, 50), head=Head
    ).eval()
    rebuilt.load_state_dict(trained.state_dict())
    assert torch.equal(rebuilt(*batch()), trained(*batch()))
