"""The chain of tags against sums over all paths, native code against numpy, and what both must bear."""

import itertools
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.data.sequences import IGNORE, offsets_of
from rnnlab.kernels import library, ops, switched_off
from rnnlab.models.chain import FORBIDDEN, best_paths, chain_loss, marginals, path_losses

Given = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
WAYS = ["native", "numpy"]  # without native kernels, the same twice


def by(way: str) -> AbstractContextManager[None]:
    return switched_off() if way == "numpy" else nullcontext()


def all_of(given: Given) -> tuple[np.ndarray, ...]:
    """Losses, their gradients, probabilities, and best paths."""
    return *path_losses(*given), marginals(*given[:3]), best_paths(*given[:3])


def drawn(lengths: list[int], tags: int, seed: int = 0, size: float = 2.0, forbidden: float = 0.0) -> Given:
    random = np.random.default_rng(seed)
    offsets = offsets_of(np.array(lengths))
    emissions = (size * random.standard_normal((offsets[-1], tags))).astype(np.float32)
    chain = random.standard_normal((tags + 2, tags)).astype(np.float32)
    chain[random.random(chain.shape) < forbidden] = FORBIDDEN
    return emissions, offsets, chain, random.integers(0, tags, offsets[-1])


def score(emissions: np.ndarray, chain: np.ndarray, path: tuple[int, ...]) -> float:
    """Of one row and one path, as the docstring has it."""
    tags = emissions.shape[1]
    wide, own = emissions.astype(np.float64), chain.astype(np.float64)
    total = own[tags, path[0]] + own[tags + 1, path[-1]] + sum(wide[t, tag] for t, tag in enumerate(path))
    return float(total + sum(own[i, j] for i, j in itertools.pairwise(path)))


def by_brute_force(given: Given) -> tuple[np.ndarray, ...]:
    """The same, from all paths of every row."""
    emissions, offsets, chain, targets = given
    tags = emissions.shape[1]
    losses, shares, best = np.zeros(len(offsets) - 1), np.zeros(emissions.shape), np.zeros(len(emissions), np.int64)
    expected = np.zeros(chain.shape)
    for row, (first, end) in enumerate(itertools.pairwise(offsets.tolist())):
        paths = list(itertools.product(range(tags), repeat=end - first))
        scores = np.array([score(emissions[first:end], chain, path) for path in paths])
        log_z = np.logaddexp.reduce(scores)
        highest = [path for path, one in zip(paths, scores, strict=True) if one == scores.max()]
        best[first:end] = min(highest, key=lambda path: path[::-1])
        losses[row] = log_z - score(emissions[first:end], chain, tuple(targets[first:end]))
        pairs = [*zip(paths, np.exp(scores - log_z), strict=True), (tuple(targets[first:end]), -1.0)]
        for number, (path, p) in enumerate(pairs):
            for t, tag in enumerate(path):
                shares[first + t, tag] += p if number < len(paths) else 0
            for i, j in itertools.pairwise(path):
                expected[i, j] += p
            expected[tags, path[0]] += p
            expected[tags + 1, path[-1]] += p
    gold = np.eye(tags)[targets]
    return losses, shares - gold, expected, shares, best


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    tags=st.integers(2, 4),
    seed=st.integers(0, 1000),
    size=st.sampled_from([0.0, 2.0, 30.0, 1000.0]),
    forbidden=st.sampled_from([0.0, 0.3, 0.9]),
    way=st.sampled_from(WAYS),
)
def test_everything_is_what_a_sum_over_all_paths_says(
    lengths: list[int], tags: int, seed: int, size: float, forbidden: float, way: str
) -> None:
    rows = drawn(lengths, tags, seed, size, forbidden)
    with by(way):
        found = all_of(rows)
    wanted = by_brute_force(rows)
    for one, other in zip(found[:4], wanted[:4], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[4], wanted[4])


@pytest.mark.parametrize("way", WAYS)
def test_of_equal_paths_the_lowest_tags_win(way: str) -> None:
    emissions, offsets, chain, targets = drawn([4, 1, 3], 3)
    with by(way):
        assert not best_paths(np.zeros_like(emissions), offsets, np.zeros_like(chain)).any()
        rounded = np.round(emissions), offsets, np.round(chain), targets  # many equal paths
        np.testing.assert_array_equal(best_paths(*rounded[:3]), by_brute_force(rounded)[4])


@pytest.mark.skipif(library() is None, reason="there are no native kernels")
@pytest.mark.parametrize("tags", [2, 3, 8, 9, 17, 33, 70, 200])
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_native_code_finds_what_numpy_finds(tags: int, forbidden: float, dtype: type) -> None:
    emissions, offsets, chain, targets = drawn([1, 2, 7, 0, 1, 30], tags, tags, 3.0, forbidden)
    rows = emissions.astype(dtype), offsets, chain.astype(dtype), targets
    native = ops.chain_losses(rows[0], offsets, rows[2], targets)
    assert native is not None
    assert not np.isnan(native[0]).any()  # none was left to numpy
    found = all_of(rows)
    with switched_off():
        wanted = all_of(rows)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("size", "forbidden"), [(1.0, 0.5), (1000.0, 0.0)])
def test_ten_thousand_tokens_of_extreme_scores(way: str, size: float, forbidden: float) -> None:
    emissions, offsets, chain, targets = drawn([10_000, 3], 5, 1, 1.0, forbidden)
    emissions = np.clip(size * emissions, -1000, 1000)
    with by(way):
        losses, for_emissions, for_chain, shares, paths = all_of((emissions, offsets, chain, targets))
    for array in (losses, for_emissions, for_chain, shares):
        assert np.isfinite(array).all()
    assert (losses >= 0).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(for_emissions.sum(1), 0, atol=1e-5)
    np.testing.assert_allclose(for_chain[:5].sum(), 0, atol=0.05)  # 10,001 expected less 10,001 there
    best = path_losses(emissions, offsets, chain, paths)[0]
    assert (best <= losses).all()


@pytest.mark.parametrize("way", WAYS)
def test_a_path_that_only_later_steps_make_probable_is_not_lost(way: str) -> None:
    """Two tags that can't follow each other: at first one of them is better by 900 a step, then the other, by more."""
    emissions = np.zeros((6, 2), np.float32)
    emissions[:3, 0], emissions[3:, 1] = 900, 901
    chain = np.zeros((4, 2), np.float32)
    chain[0, 1] = chain[1, 0] = FORBIDDEN
    with by(way):
        shares = marginals(emissions, np.array([0, 6]), chain)
    np.testing.assert_allclose(shares[:, 1], 1 / (1 + np.exp(-3)), rtol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_where_every_path_is_forbidden_one_is_still_the_best(way: str) -> None:
    emissions, offsets, chain, targets = drawn([3, 1], 3)
    chain[3] = FORBIDDEN
    chain[:3] = FORBIDDEN
    with by(way):
        found = all_of((emissions, offsets, chain, targets))
    for one, other in zip(found, by_brute_force((emissions, offsets, chain, targets)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [2.0, 600.0])
def test_neighbours_change_nothing(way: str, size: float) -> None:
    emissions, offsets, chain, targets = drawn([3, 9, 1, 5], 4, 2, size, 0.2)
    with by(way):
        together = all_of((emissions, offsets, chain, targets))
        for row, (first, end) in enumerate(itertools.pairwise(offsets.tolist())):
            own = slice(first, end)
            alone = all_of((emissions[own], np.array([0, end - first]), chain, targets[own]))
            np.testing.assert_allclose(alone[0], together[0][row : row + 1], rtol=1e-12)
            np.testing.assert_allclose(alone[1], together[1][own], atol=1e-7)
            np.testing.assert_allclose(alone[3], together[3][own], atol=1e-7)
            np.testing.assert_array_equal(alone[4], together[4][own])


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_are_none_give_no_path_that_is_none(way: str) -> None:
    emissions, offsets, chain, targets = drawn([3, 2], 3)
    emissions[1] = np.nan
    with by(way):
        losses, _, _ = path_losses(emissions, offsets, chain, targets)
        paths = best_paths(emissions, offsets, chain)
    assert np.isnan(losses[0])
    assert np.isfinite(losses[1])
    assert ((paths >= 0) & (paths < 3)).all()


@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_a_batch(way: str) -> None:
    torch.manual_seed(0)
    lengths = torch.tensor([4, 1, 3])
    out = torch.randn(3, 5, 3, dtype=torch.float64, requires_grad=True)
    chain = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 3, (3, 5))
    with by(way):
        assert torch.autograd.gradcheck(lambda o, c: 2 * chain_loss(o, lengths, c, targets), (out, chain))


@pytest.mark.parametrize("way", WAYS)
def test_padding_never_matters(way: str) -> None:
    torch.manual_seed(0)
    lengths, targets = torch.tensor([4, 1, 3]), torch.randint(0, 3, (3, 5))
    chain = torch.randn(5, 3)
    real = torch.arange(5) < lengths[:, None]
    found = []
    for padding in (0.0, 1e6, float("nan")):
        out = torch.where(real[:, :, None], torch.arange(45.0).view(3, 5, 3).sin(), padding).requires_grad_()
        with by(way):
            loss = chain_loss(out, lengths, chain, torch.where(real, targets, IGNORE))
        loss.backward()
        assert out.grad is not None
        assert not out.grad[~real].any()
        found.append((loss.item(), out.grad))
    for loss, gradient in found[1:]:
        assert loss == found[0][0]
        assert torch.equal(gradient, found[0][1])


def test_what_has_the_wrong_shape_is_refused() -> None:
    emissions, offsets, chain, targets = drawn([3, 2], 3)
    with pytest.raises(ValueError, match="chain of 3 tags"):
        path_losses(emissions, offsets, chain[:4], targets)
    with pytest.raises(ValueError, match="offsets"):
        best_paths(emissions, offsets[:-1], chain)
    with pytest.raises(ValueError, match="tags from 0 to 2"):
        path_losses(emissions, offsets, chain, targets + 3)
