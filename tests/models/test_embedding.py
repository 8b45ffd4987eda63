import pytest
import torch
from torch import Tensor, nn

from rnnlab.core.config import digest_of, parse
from rnnlab.core.errors import ConfigError
from rnnlab.models.embedding import Embedding, TokenVectors

WORDS = 9
IDS = torch.tensor([[3, 5, 3, 1], [5, 8, 0, 0]])


def vectors() -> Tensor:
    """(9, 4): padding and two words have none."""
    found = torch.randn(WORDS, 4, generator=torch.Generator().manual_seed(1)) * 0.3 + 2
    found[[0, 1, 6]] = 0
    return found


def pretrained(channels: str, **more) -> Embedding:
    return parse(Embedding, {"vectors": "some.txt", "channels": channels, "width": 4, **more})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"channels": "frozen"}, "channels = 'frozen' needs pre-trained vectors; pass vectors .--vectors FILE"),
        ({"channels": "two"}, "channels = 'two' needs pre-trained vectors"),
        ({"vectors": "a.txt", "channels": "random"}, "'random' would ignore the vectors 'a.txt'"),
        ({"vectors_digest": "ab"}, "vectors_digest is given, but no vectors"),
        ({"width": 0}, "width: "),
        ({"dropout": 1.0}, "dropout: "),
        ({"chanels": "two"}, "chanels: unknown key; did you mean 'channels'?"),
    ],
)
def test_settings_that_contradict_each_other_are_errors(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        parse(Embedding, settings)


def test_channels_are_random_without_vectors_and_left_to_the_caller_with_them() -> None:
    assert Embedding().channels == "random"
    assert Embedding(vectors="a.txt").channels is None
    assert Embedding(vectors="a.txt").replace(channels="two").channels == "two"
    assert digest_of(Embedding()) == digest_of(Embedding(channels="random"))


def test_random_vectors_are_small_and_an_unknown_word_says_nothing() -> None:
    torch.manual_seed(0)
    table = Embedding(width=20).build(2000).state_dict()["table"]
    assert table.shape == (2000, 20)
    assert abs(float(table.mean())) < 0.002
    assert abs(float(table.std()) - 0.1) < 0.002
    assert not table[:2].any()


@pytest.mark.parametrize("channels", ["random", "frozen", "tuned", "two"])
def test_padding_is_zero_and_the_same_id_gets_the_same_vector(channels: str) -> None:
    torch.manual_seed(0)
    settings = Embedding(width=4) if channels == "random" else pretrained(channels)
    module = settings.build(WORDS, None if channels == "random" else vectors())
    x = module(IDS)
    assert x.shape == (2, 4, module.width)
    assert module.width == (8 if channels == "two" else 4)
    assert not x[1, 2:].any()
    assert x[IDS > 1].all()
    assert torch.equal(x[0, 0], x[0, 2])
    assert torch.equal(x[0, 1], x[1, 0])


def test_two_channels_are_random_first_then_frozen_and_may_differ_in_width() -> None:
    torch.manual_seed(0)
    module = pretrained("two", width=3).build(WORDS, vectors())
    x = module(IDS)
    assert x.shape == (2, 4, 7)
    assert module.table is not None
    assert torch.equal(x[..., :3], module.table[IDS])
    assert torch.equal(x[0, 0, 3:], vectors()[3])
    assert [name for name, _ in module.named_parameters()] == ["table"]


def test_frozen_vectors_are_saved_but_not_trained() -> None:
    module = pretrained("frozen").build(WORDS, vectors())
    assert module.table is None
    assert not list(module.parameters())
    assert set(module.state_dict()) == {"frozen"}
    assert not module(IDS).requires_grad


def test_tuned_vectors_are_trained() -> None:
    given = vectors()
    module = pretrained("tuned").build(WORDS, given)
    assert module.frozen is None
    assert module.table is not None
    assert torch.equal(module.table[3], given[3])
    with torch.no_grad():
        module.table.add_(1)
    assert torch.equal(given, vectors()), "the caller's vectors are not ours to change"


@pytest.mark.parametrize("channels", ["frozen", "tuned"])
def test_words_without_a_vector_get_one_like_the_found_ones(channels: str) -> None:
    found = torch.randn(4000, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([0.1, 1, 3]) + 2
    found[0] = 0
    found[2000:] = 0
    torch.manual_seed(0)
    module = pretrained(channels, width=3).build(4000, found)
    drawn = module(torch.arange(2000, 4000)[None])[0].detach()
    torch.testing.assert_close(drawn.mean(0), torch.full((3,), 2.0), atol=0.2, rtol=0)
    torch.testing.assert_close(drawn.std(0), torch.tensor([0.1, 1, 3]), atol=0, rtol=0.1)
    assert len(drawn.unique(dim=0)) == 2000, "they stay distinct"
    assert torch.equal(module(torch.arange(1, 2000)[None])[0], found[1:2000])


def test_without_any_found_word_the_vectors_are_standard_normal() -> None:
    torch.manual_seed(0)
    table = pretrained("tuned").build(3000, torch.zeros(3000, 4)).state_dict()["table"]
    assert abs(float(table.std()) - 1) < 0.05
    assert not table[0].any()


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        (
            pretrained("frozen", width=50),
            vectors(),
            "width: 50, but 'some.txt' has vectors of 4 numbers; write width = 4",
        ),
        (pretrained("tuned"), torch.ones(5, 4), "5 vectors for a vocabulary of 9 words"),
        (pretrained("two"), None, "'some.txt' were not looked up"),
        (Embedding(vectors="some.txt"), vectors(), "no channels chosen"),
    ],
)
def test_vectors_that_do_not_fit_are_errors(settings: Embedding, given: Tensor | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings.build(WORDS, given)


@pytest.mark.parametrize("channels", ["tuned", "two"])
@pytest.mark.parametrize("ids", [IDS, IDS[:, :2]], ids=["padded", "not padded"])
def test_lazy_rows_carry_the_dense_gradient(channels: str, ids: Tensor) -> None:
    torch.manual_seed(0)
    module = pretrained(channels).build(WORDS, vectors())
    assert module.table is not None
    weight = torch.randn(*ids.shape, module.width)

    dense = module(ids)
    (dense * weight).sum().backward()
    expected = module.table.grad
    assert expected is not None
    assert not expected[0].any()
    module.table.grad = None

    module.lazy = True
    lazy = module(ids)
    assert torch.equal(lazy, dense)
    (lazy * weight).sum().backward()
    assert module.table.grad is None
    assert {0, *module.rows.tolist()} == {0, *ids.flatten().tolist()}
    gradient = module.picked.grad
    assert gradient is not None
    assert gradient.shape == (len(module.rows), 4)
    torch.testing.assert_close(torch.zeros(WORDS, 4).index_add(0, module.rows, gradient), expected)
    assert gradient[module.rows > 0].any(dim=1).all(), "the first real row is not taken for padding"


def test_each_lazy_pass_starts_without_a_gradient_and_reads_the_table_anew() -> None:
    torch.manual_seed(0)
    module = Embedding(width=4).build(WORDS)
    module.lazy = True
    module(IDS).sum().backward()
    assert module.table is not None
    with torch.no_grad():
        module.table.index_fill_(0, torch.tensor([3]), 7.0)
    x = module(IDS)
    assert module.picked.grad is None
    assert (x[0, 0] == 7).all()


def test_evaluation_ignores_lazy() -> None:
    module = Embedding(width=4).build(WORDS).eval()
    module.lazy = True
    module(IDS)
    assert not hasattr(module, "picked")


def test_dense_training_never_moves_padding() -> None:
    torch.manual_seed(0)
    module = Embedding(width=4).build(WORDS)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1, weight_decay=0.1)
    before = module(IDS).detach()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(module(IDS), torch.ones(2, 4, 4)).backward()
        optimizer.step()
    after = module(IDS).detach()
    assert not after[1, 2:].any()
    assert not torch.equal(after[0], before[0])


def test_dropout_acts_in_training_only() -> None:
    torch.manual_seed(0)
    module = Embedding(width=40, dropout=0.5).build(WORDS)
    x = module(IDS)
    assert 0.3 < float((x[IDS > 1] == 0).float().mean()) < 0.7
    module.eval()
    assert module(IDS)[IDS > 1].all()


# Several ids a step

PAIRS = torch.tensor([[[3, 5], [5, 5], [8, 1]], [[4, 3], [0, 0], [0, 0]]])  # (B, T, 2)


@pytest.mark.parametrize("channels", ["random", "frozen", "tuned", "two"])
def test_the_vectors_of_a_step_lie_one_after_the_other(channels: str) -> None:
    torch.manual_seed(0)
    settings = Embedding(width=4) if channels == "random" else pretrained(channels)
    module = settings.build(WORDS, None if channels == "random" else vectors())
    x = module(PAIRS)
    assert x.shape == (2, 3, 2 * module.width)
    assert torch.equal(x, torch.cat([module(PAIRS[..., 0]), module(PAIRS[..., 1])], dim=2))


def test_the_gradient_of_a_word_adds_up_over_both_places() -> None:
    """Dense and lazy: what each place of a step brings to a word's vector is summed."""
    torch.manual_seed(0)
    weights = torch.randn(2, 3, 8)
    dense = Embedding(width=4).build(WORDS)
    assert dense.table is not None
    (dense(PAIRS) * weights).sum().backward()
    expected = torch.zeros(WORDS, 4)
    for ids, ways in ((PAIRS[..., 0], weights[..., :4]), (PAIRS[..., 1], weights[..., 4:])):
        expected.index_add_(0, ids.flatten(), ways.reshape(-1, 4))
    expected[0] = 0  # padding
    torch.testing.assert_close(dense.table.grad, expected)

    lazy = Embedding(width=4).build(WORDS)
    lazy.load_state_dict(dense.state_dict())
    lazy.lazy = True
    (lazy(PAIRS) * weights).sum().backward()
    assert {0, *lazy.rows.tolist()} == {0, 1, 3, 4, 5, 8}
    torch.testing.assert_close(lazy.picked.grad, expected[lazy.rows])


@pytest.mark.parametrize("lazy", [False, True])
def test_further_ids_need_no_frozen_channel(lazy: bool):
    """Narrow vectors are those of before, without the frozen ones of further ids; so are their gradients."""
    torch.manual_seed(0)
    ids = torch.tensor([[[2, 5, 0], [3, 6, 7]], [[4, 0, 6], [0, 0, 0]]])
    wide, narrow = (TokenVectors(torch.randn(8, 3), torch.randn(8, 2), 0.0) for _ in range(2))
    narrow.load_state_dict(wide.state_dict())
    assert wide.table is not None
    assert narrow.table is not None
    narrow.narrow = True
    narrow.lazy = lazy
    with torch.no_grad():
        wide.table[0] = narrow.table[0] = 0
    before, found = wide(ids).view(2, 2, 3, 5), narrow(ids)
    assert found.shape[2] == narrow.step_width(3) == 11
    torch.testing.assert_close(found[..., :9].reshape(2, 2, 3, 3), before[..., :3])
    torch.testing.assert_close(found[..., 9:], before[:, :, 0, 3:])
    weights = torch.randn(2, 2, 9)
    (found[..., :9] * weights).sum().backward()
    (before[..., :3].reshape(2, 2, 9) * weights).sum().backward()
    gradient = narrow.table.grad
    if lazy:
        assert narrow.picked.grad is not None
        gradient = torch.zeros(8, 3).index_add_(0, narrow.rows, narrow.picked.grad)
    torch.testing.assert_close(gradient, wide.table.grad)


def test_words_beyond_training_have_their_frozen_vectors_alone():
    torch.manual_seed(0)
    table = torch.randn(4, 3)
    table[0] = 0
    vectors = TokenVectors(table, torch.randn(4, 2), 0.0).eval()
    vectors.narrow, vectors.extra = True, torch.cat([torch.zeros(2, 3), torch.randn(2, 2)], 1)
    found = vectors(torch.tensor([[[5, 2]]]))[0, 0]
    torch.testing.assert_close(found[6:], vectors.extra[1, 3:])
    assert not found[:3].any()
    whole = TokenVectors(torch.randn(4, 3), torch.randn(4, 2), 0.0).eval()
    whole.load_state_dict(vectors.state_dict())
    whole.append(vectors.extra)
    whole.narrow = True
    torch.testing.assert_close(whole(torch.tensor([[[5, 2]]]))[0, 0], found)
