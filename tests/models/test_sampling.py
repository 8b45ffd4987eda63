"""The next token: what is drawn, how often, and that nothing but the row's own numbers matters."""

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from rnnlab.kernels import switched_off
from rnnlab.models.sampling import FEW, choose, uniforms

MANY = 20_000


@pytest.fixture(params=["native", "numpy"], autouse=True)  # without native kernels, the same twice
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    with switched_off() if request.param == "numpy" else nullcontext():
        yield


def drawn(shares: np.ndarray, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0) -> np.ndarray:
    """(V,): how often each token is chosen in MANY rows that say the same."""
    logits = np.repeat(np.log(shares)[None], MANY, axis=0)
    found = choose(logits, temperature, top_k, top_p, uniforms(7, np.arange(MANY), 3))
    return np.bincount(found, minlength=len(shares))


def agrees(counts: np.ndarray, shares: np.ndarray) -> bool:
    """None that can't be, and a chi-square that isn't astonishing."""
    real = shares > 0
    return not counts[~real].any() and chisquare(counts[real], shares[real] / shares.sum() * MANY).pvalue > 0.001


def by_the_book(
    logits: np.ndarray, temperature: float, top_k: int | None, top_p: float, uniform: float
) -> int:  # of one row
    shares = np.exp(logits.astype(np.float64) / temperature - np.max(logits / temperature))
    order = sorted(range(len(shares)), key=lambda i: (-shares[i], i))[:top_k]
    if top_p < 1:
        kept, wanted = [], top_p * sum(shares[i] for i in order)
        for i in order:
            if sum(shares[k] for k in kept) < wanted:
                kept.append(i)
        order = kept
    total, reached = sum(shares[i] for i in order), 0.0
    for i in sorted(order):
        reached += shares[i]
        if reached > uniform * total:
            return i
    raise AssertionError


SHARES = np.array([0.05, 0.4, 0.1, 0.25, 0.1, 0.07, 0.03])


def test_tokens_are_drawn_as_often_as_their_shares_say() -> None:
    assert agrees(drawn(SHARES), SHARES)
    assert not agrees(drawn(SHARES), SHARES[::-1])  # a control
    assert agrees(drawn(SHARES, temperature=0.5), SHARES**2)
    assert agrees(drawn(SHARES, temperature=2), SHARES**0.5)


def test_top_k_keeps_the_most_likely_and_of_equals_those_with_lower_ids() -> None:
    assert agrees(drawn(SHARES, top_k=2), SHARES * (SHARES >= 0.25))
    assert agrees(drawn(SHARES, top_k=3), SHARES * [0, 1, 1, 1, 0, 0, 0])
    assert agrees(drawn(SHARES, top_k=100), SHARES)
    assert drawn(SHARES, top_k=1).tolist() == [0, MANY, 0, 0, 0, 0, 0]


def test_top_p_keeps_the_fewest_that_reach_it_with_the_one_that_crosses() -> None:
    assert drawn(SHARES, top_p=0.39).tolist() == [0, MANY, 0, 0, 0, 0, 0]
    assert agrees(drawn(SHARES, top_p=0.41), SHARES * [0, 1, 0, 1, 0, 0, 0])
    assert agrees(drawn(SHARES, top_p=0.7), SHARES * [0, 1, 1, 1, 0, 0, 0])
    assert drawn(SHARES, top_k=2, top_p=0.6).tolist() == [0, MANY, 0, 0, 0, 0, 0]  # 0.4 of 0.65
    exact = np.array([0.5, 0.25, 0.125, 0.125])
    assert agrees(drawn(exact, top_p=0.75), exact * [1, 1, 0, 0])


@settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 10_000), size=st.sampled_from([1, 2, 9, FEW, FEW + 1, 3 * FEW]), tied=st.booleans(),
    temperature=st.sampled_from([0.05, 0.7, 1.0, 3.0]), top_k=st.sampled_from([None, 1, 2, 5, 130, 1000]),
    top_p=st.sampled_from([0.001, 0.5, 0.9, 0.999, 1.0]), lost=st.sampled_from([0.0, 0.5]),
)  # fmt: skip
def test_it_is_what_the_definition_says(
    seed: int, size: int, tied: bool, temperature: float, top_k: int | None, top_p: float, lost: float
) -> None:
    random = np.random.default_rng(seed)
    logits = random.standard_normal((6, size)) * random.choice([0.1, 1, 4], (6, 1))
    if tied:
        logits = np.round(logits)
    logits[:, 1:][random.random((6, size - 1)) < lost] = -np.inf
    uniform = uniforms(seed, np.arange(6), 0)
    found = choose(logits, temperature, top_k, top_p, uniform)
    assert found.tolist() == [
        by_the_book(row, temperature, top_k, top_p, u) for row, u in zip(logits, uniform, strict=True)
    ]
    for row in range(6):  # alone, and in single precision, where the neighbours might matter, too
        alone = choose(logits[row : row + 1], temperature, top_k, top_p, uniform[row : row + 1])
        assert alone.tolist() == found[row : row + 1].tolist()
    short = logits.astype(np.float32)
    together = choose(short, temperature, top_k, top_p, uniform)
    apart = [choose(short[i : i + 1], temperature, top_k, top_p, uniform[i : i + 1])[0] for i in range(6)]
    assert together.tolist() == apart


@pytest.mark.parametrize("top_k", [None, 50, 9000])
@pytest.mark.parametrize("top_p", [1 - 2.0**-53, 1.0, 0.97, 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_vocabulary_is_drawn_from_alike_by_both(top_k: int | None, top_p: float, dtype: type) -> None:
    random = np.random.default_rng(0)
    logits = (random.standard_normal((8, 10_000)) * random.choice([0.01, 1, 4], (8, 1))).astype(dtype)
    logits[::2] = np.round(logits[::2], 1)
    uniform = uniforms(5, np.arange(8), 1)
    found = choose(logits, 0.8, top_k, top_p, uniform)
    with switched_off():
        np.testing.assert_array_equal(choose(logits, 0.8, top_k, top_p, uniform), found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("temperature", [0, 1e-300, 1e-30, 1e-4])
def test_without_temperature_it_is_the_highest_and_the_first_of_equals(temperature: float, dtype: type) -> None:
    logits = np.array([[1, 3, 2, 3], [-np.inf, -5, -4, -np.inf]], dtype)
    for uniform in (0.0, 0.4):
        found = choose(logits, temperature, 1, 1.0, np.full(2, uniform))
        assert found.tolist() == [1, 2]
    last = choose(logits[1:], temperature, None, 0.9, np.array([1 - 2.0**-53]))
    assert last.tolist() == [2]


def test_temperature_is_a_division_of_the_logits() -> None:
    random = np.random.default_rng(0)
    logits = random.standard_normal((500, 40))
    uniform = uniforms(0, np.arange(500), 0)
    warm = choose(logits, 2.0, None, 1.0, uniform)
    np.testing.assert_array_equal(warm, choose(logits / 2, 1.0, None, 1.0, uniform))
    assert (warm != choose(logits, 1.0, None, 1.0, uniform)).any()


def test_what_is_forbidden_is_never_drawn() -> None:
    logits = np.log(np.repeat(SHARES[None], MANY, axis=0))
    before = logits.copy()
    uniform = uniforms(7, np.arange(MANY), 0)
    found = choose(logits, 1.0, None, 1.0, uniform, forbidden=np.array([1, 3]))
    assert agrees(np.bincount(found, minlength=7), SHARES * [1, 0, 1, 0, 1, 1, 1])
    assert set(choose(logits, 0, None, 1.0, uniform, forbidden=np.array([1, 3]))) == {2}
    np.testing.assert_array_equal(logits, before)


def test_extreme_numbers() -> None:
    logits = np.array([[-np.inf, 3e38, -3e38, -np.inf]], np.float32)
    for top_k, top_p in ((None, 1.0), (2, 0.5), (None, 0.5)):
        for uniform in (0.0, 1 - 2.0**-53):
            assert choose(logits, 0.001, top_k, top_p, np.array([uniform])).tolist() == [1]


def test_uniform_numbers_are_those_of_seed_row_and_step() -> None:
    rows = np.arange(1000)
    numbers = uniforms(1, rows, 5)
    np.testing.assert_array_equal(uniforms(1, rows[::-1], 5), numbers[::-1])
    np.testing.assert_array_equal(uniforms(1, rows[7:9], 5), numbers[7:9])
    others = [uniforms(2, rows, 5), uniforms(1, rows, 6), uniforms(1, rows + 1000, 5)]
    assert len(set(np.concatenate([numbers, *others]).tolist())) == 4000
    assert uniforms(1, np.array([0, 1]), 0).tolist() == [0.7720053644612845, 0.9693613315275672]  # for good
    assert uniforms(1, np.array([2**40]), 10**9).tolist() == [0.37670606397447726]


@pytest.mark.parametrize("along", ["rows", "steps", "seeds"])
def test_uniform_numbers_are_uniform_and_neighbours_know_nothing_of_each_other(along: str) -> None:
    several = {
        "rows": lambda: uniforms(0, np.arange(MANY), 0),
        "steps": lambda: np.concatenate([uniforms(0, np.array([3]), step) for step in range(2000)]),
        "seeds": lambda: np.concatenate([uniforms(seed, np.arange(4), 0) for seed in range(500)]),
    }
    numbers = several[along]()
    assert 0 <= numbers.min() <= numbers.max() < 1
    assert chisquare(np.bincount((numbers * 16).astype(int), minlength=16)).pvalue > 0.001
    pairs = (numbers[:-1] * 4).astype(int) * 4 + (numbers[1:] * 4).astype(int)
    assert chisquare(np.bincount(pairs[::2], minlength=16)).pvalue > 0.001


def test_wrong_arguments_are_refused() -> None:
    logits, uniform = np.zeros((1, 3)), np.zeros(1)
    for temperature in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="temperature must be"):
            choose(logits, temperature, None, 1.0, uniform)
    with pytest.raises(ValueError, match="top_k must be at least 1, and is 0"):
        choose(logits, 1.0, 0, 1.0, uniform)
    for top_p in (0, 1.1, np.nan):
        with pytest.raises(ValueError, match="top_p must be above 0"):
            choose(logits, 1.0, None, top_p, uniform)
    for wrong in (np.full((1, 3), -np.inf), np.array([[0, np.nan, 0]]), np.array([[0, np.inf, 0]])):
        with pytest.raises(ValueError, match="row 0: the highest logit is"):
            choose(wrong, 1.0, None, 1.0, uniform)
    with pytest.raises(ValueError, match="row 0"):
        choose(logits, 1.0, None, 1.0, uniform, forbidden=np.arange(3))
