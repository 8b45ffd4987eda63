import pytest
import torch
from torch import Tensor, nn

from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Encoded
from rnnlab.models.embedding import Embedding
from rnnlab.models.fasttext import END, FastText, Hashing, NgramVectors
from rnnlab.models.network import Network, build_network
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training

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


def vectors(ngrams: int = 3, buckets: int = 1000, ends: bool = False, hashing: Hashing = "linear") -> NgramVectors:
    torch.manual_seed(0)
    module = NgramVectors(
        torch.randn(WORDS, WIDTH), FastText(ngrams=ngrams, buckets=buckets, ends=ends, hashing=hashing), 0.0
    )
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
        return WORDS + module.hashed.bucket(*gram)

    expected = torch.zeros(2, 4, WIDTH)
    for text, words in enumerate(([5, 7, 5, 9], [8, 6])):
        for t, word in enumerate(words):
            grams = [words[t + 1 - n : t + 1] for n in (2, 3) if t + 1 >= n]
            expected[text, t] = table[word] + sum(table[row(*gram)] for gram in grams)
    torch.testing.assert_close(module(ids), expected)


@pytest.mark.parametrize("hashing", ["linear", "mixed"])
def test_with_ends_the_ngrams_across_them_count(hashing: Hashing) -> None:
    module = vectors(ends=True, hashing=hashing)
    table = module.table
    assert table is not None
    found = module(torch.tensor([[5, 7, 9, 0], [8, 0, 0, 0]])).detach()

    def of(*grams: tuple[int, ...]) -> Tensor:
        return sum((table[WORDS + module.hashed.bucket(*gram)] for gram in grams), torch.zeros(WIDTH)).detach()

    torch.testing.assert_close(found[0, 0], table[5] + of((0, 5)))
    torch.testing.assert_close(found[0, 1], table[7] + of((5, 7), (0, 5, 7)))
    torch.testing.assert_close(found[0, 2], table[9] + of((7, 9), (5, 7, 9), (END,), (9, END), (7, 9, END)))
    torch.testing.assert_close(found[1, 0], table[8] + of((0, 8), (END,), (8, END), (0, 8, END)))
    assert not found[0, 3].any(), "padding"
    assert not found[1, 1:].any(), "padding"


def test_the_mean_knows_the_length_with_ends_alone() -> None:
    texts = torch.tensor([[5, 0, 0], [5, 5, 5]]), torch.tensor([1, 3])
    for ends in (False, True):
        settings = FastText(embedding=Embedding(width=WIDTH), buckets=50, ends=ends, hashing="mixed")
        model = network(settings)
        assert model.embedding is not None
        assert model.embedding.table is not None
        with torch.no_grad():  # of the n-grams, the end of a text alone says something
            model.embedding.table[WORDS + FastText(buckets=50, hashing="mixed").bucket(END)] = 1.0
            if not ends:
                model.embedding.table[WORDS:] = 0
        one, three = model.encode(*texts).summary
        assert torch.allclose(one, three) != ends


def test_neighbouring_ngrams_share_vectors_by_chance_alone() -> None:
    """Frequent words have the smallest ids, so pairs of small ids are what a text is full of."""
    ids = torch.cartesian_prod(torch.arange(2, 150), torch.arange(2, 150))

    def shared(hashing: Hashing) -> float:
        module = vectors(ngrams=2, buckets=200_000, hashing=hashing)
        return 1 - len(module.rows_of(ids, 2)[:, 1].unique()) / len(ids)

    assert shared("linear") > 0.5
    assert 0.04 < shared("mixed") < 0.07, "as many as chance has"


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


@pytest.mark.parametrize("kind", ["lazy-adam", "lazy-sgd"])
def test_a_lazy_step_touches_only_the_rows_in_use(kind: str) -> None:
    model = network(FastText(embedding=Embedding(width=WIDTH), buckets=500, ngrams=2))
    optimizer = Optimizer(model, Training.model_validate({"optimizer": kind}))
    assert model.embedding is not None
    assert model.embedding.table is not None
    before = model.embedding.table.detach().clone()
    assert before.shape == (WORDS + 500, WIDTH)
    assert not before[WORDS:].any(), "an n-gram that was never seen says nothing"
    model(torch.tensor([[5, 6, 7]]), torch.tensor([3])).square().sum().backward()
    optimizer.step(0.1, None)
    largest = max(value.numel() for value in optimizer.memory.values())
    assert (largest < before.numel()) == (kind == "lazy-sgd"), "which needs no memory of the table's size"
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
