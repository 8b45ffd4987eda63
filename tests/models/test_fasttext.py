import pytest
import torch
from torch import Tensor, nn

from rnnlab.errors import ConfigError
from rnnlab.experiment import Training
from rnnlab.models.base import Encoded
from rnnlab.models.embedding import Embedding
from rnnlab.models.fasttext import FACTOR, PRIME, FastText, NgramVectors
from rnnlab.models.network import Network, build_network
from rnnlab.training.optimizer import Optimizer

WORDS, WIDTH = 30, 4


class Head(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


def network(settings: FastText, pretrained: Tensor | None = None) -> Network:
    torch.manual_seed(0)
    return build_network(settings, words=WORDS, features=None, pretrained=pretrained, head=Head)


def vectors(ngrams: int = 3, buckets: int = 1000) -> NgramVectors:
    torch.manual_seed(0)
    module = NgramVectors(torch.randn(WORDS, WIDTH), ngrams, buckets, 0.0)
    assert module.table is not None
    with torch.no_grad():
        module.table.normal_()
        module.table[0] = 0
    return module


def test_each_token_brings_the_ngrams_that_end_there() -> None:
    module = vectors()
    table = module.table
    assert table is not None
    ids = torch.tensor([[5, 7, 5, 9], [8, 6, 0, 0]])

    def row(*gram: int) -> int:
        """The hash by Python's own arithmetic."""
        value = len(gram)
        for word in gram:
            value = (value * FACTOR + word) % PRIME
        return WORDS + value % 1000

    expected = torch.zeros(2, 4, WIDTH)
    for text, words in enumerate(([5, 7, 5, 9], [8, 6])):
        for t, word in enumerate(words):
            grams = [words[t + 1 - n : t + 1] for n in (2, 3) if t + 1 >= n]
            expected[text, t] = table[word] + sum(table[row(*gram)] for gram in grams)
    torch.testing.assert_close(module(ids), expected)


def test_the_summary_is_the_mean() -> None:
    encoder = FastText().build(WIDTH)
    x, lengths = torch.randn(2, 3, WIDTH), torch.tensor([3, 1])
    torch.testing.assert_close(encoder(x, lengths).summary, torch.stack([x[0].mean(0), x[1, 0]]))


def test_order_within_an_ngram_counts_and_beyond_it_does_not() -> None:
    module = vectors(ngrams=2)
    total = [module(torch.tensor([ids])).sum(1) for ids in ([3, 4, 5, 3, 6, 3], [3, 6, 3, 4, 5, 3], [4, 3, 5, 3, 6, 3])]
    torch.testing.assert_close(total[0], total[1])  # the same pairs in another order
    assert not torch.allclose(total[0], total[2])


def test_large_ids_do_not_overflow() -> None:
    module = vectors(ngrams=5, buckets=77)
    ids = torch.full((1, 9), 2**31 - 1)
    for n in range(2, 6):
        rows = module.rows_of(ids, n)
        assert bool((rows[0, : n - 1] == 0).all())
        assert bool(((rows[0, n - 1 :] >= WORDS) & (rows[0, n - 1 :] < WORDS + 77)).all())


def test_hashes_spread_over_the_buckets() -> None:
    module = vectors(ngrams=2, buckets=1000)
    generator = torch.Generator().manual_seed(0)
    rows = module.rows_of(torch.randint(2, 20_000, (100, 200), generator=generator), 2)[:, 1:]
    counts = torch.bincount(rows.flatten() - WORDS, minlength=1000).float()
    assert abs(float(counts.var() / counts.mean()) - 1) < 0.2, "as even as chance makes them"


def test_a_step_of_lazy_adam_touches_only_the_rows_in_use() -> None:
    model = network(FastText(embedding=Embedding(width=WIDTH), buckets=500))
    optimizer = Optimizer(model, Training())
    assert model.embedding is not None
    assert model.embedding.table is not None
    before = model.embedding.table.detach().clone()
    assert before.shape == (WORDS + 500, WIDTH)
    assert not before[WORDS:].any(), "an n-gram that was never seen says nothing"
    model(torch.tensor([[5, 6, 7]]), torch.tensor([3])).square().sum().backward()
    optimizer.step(0.1, None)
    changed = (model.embedding.table.detach() != before).any(1).nonzero().flatten()
    assert len(changed) == 5, "three words and two pairs"
    assert changed[:3].tolist() == [5, 6, 7]


def test_pretrained_words_can_be_tuned() -> None:
    pretrained = torch.randn(WORDS, WIDTH)
    settings = FastText(embedding=Embedding(vectors="some", channels="tuned", width=WIDTH))
    model = network(settings, pretrained)
    assert model.embedding is not None
    assert model.embedding.table is not None
    torch.testing.assert_close(model.embedding.table.detach()[1:WORDS], pretrained[1:])


@pytest.mark.parametrize("channels", ["frozen", "two"])
def test_a_frozen_channel_is_refused(channels: str) -> None:
    settings = FastText(embedding=Embedding(vectors="some", channels=channels, width=WIDTH))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=f"would ignore the frozen channel of '{channels}'; take 'tuned' or 'random'"):
        network(settings, torch.randn(WORDS, WIDTH))


def test_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="'fasttext' counts n-grams of words, and these are numbers; take 'linear'"):
        build_network(FastText(), words=None, features=3, pretrained=None, head=Head)
