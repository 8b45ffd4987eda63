"""Sums and carries agree with Python's whole numbers, and no pair is in two parts."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.seeding import generator
from rnnlab.data import digit_pairs

IDS = np.arange(2, 12)
NUMBERS = st.integers(1, 200).flatmap(lambda digits: st.integers(0, 10**digits - 1))
NINES = st.integers(0, 200).map(lambda digits: 10**digits - 1)  # sums of them carry far
PAIRS = st.tuples(NUMBERS | NINES, NUMBERS | NINES)
DRAWS = {"uniform": digit_pairs.uniform, "by-digits": digit_pairs.by_digits}


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def numbers(pairs: np.ndarray) -> list[tuple[int, int]]:
    """Arrays of digits → Python's whole numbers."""
    return [(int(digit_pairs.written(a)), int(digit_pairs.written(b))) for a, b in pairs]


def furthest_carry(a: int, b: int) -> int:
    """By hand: a carry is born at a sum above 9, and goes on while the sum is 9."""
    longest = travelled = 0
    while a or b:
        digits = a % 10 + b % 10
        if digits > 9:
            travelled = 1
        elif digits == 9 and travelled:
            travelled += 1
        else:
            travelled = 0
        longest = max(longest, travelled)
        a, b = a // 10, b // 10
    return longest


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_sums_and_carries_are_those_of_whole_numbers(wanted: list[tuple[int, int]]) -> None:
    pairs = digit_pairs.pairs_from([(str(a), str(b)) for a, b in wanted])
    assert numbers(pairs) == wanted
    total, carry = digit_pairs.add(pairs)
    assert [digit_pairs.written(row) for row in total] == [str(a + b) for a, b in wanted]
    assert carry.tolist() == [furthest_carry(a, b) for a, b in wanted]
    assert digit_pairs.number_of_digits(pairs).tolist() == [[len(str(a)), len(str(b))] for a, b in wanted]


def test_the_longest_question_does_not_overflow() -> None:
    total, carry = digit_pairs.add(digit_pairs.pairs_from([("9" * 10_000, "1")]))
    assert digit_pairs.written(total[0]) == "1" + "0" * 10_000
    assert carry.tolist() == [10_000]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(PAIRS, st.integers(0, 20))
def test_a_pair_has_one_part_whatever_its_order_and_zeros_in_front(pair: tuple[int, int], zeros: int) -> None:
    a, b = map(str, pair)
    written = [(a, b), (b, a), ("0" * zeros + a, b), (a, "0" * zeros + b)]
    assert len({int(digit_pairs.pair_hash(digit_pairs.pairs_from([way]))[0]) for way in written}) == 1
    assert len(set(digit_pairs.pair_hash(digit_pairs.pairs_from(written)).tolist())) == 1


def test_hashes_are_distinct_and_the_parts_have_their_sizes() -> None:
    a, b = np.triu_indices(1000)
    digits = np.arange(1000)[:, None] // 10 ** np.arange(3) % 10
    pairs = np.stack([digits[a], digits[b]], 1).astype(np.uint8)  # every pair of numbers below 1000
    assert len(np.unique(digit_pairs.pair_hash(pairs))) == len(pairs) == 500_500
    number = digit_pairs.part_of(pairs)
    for low, high in digit_pairs.PARTS.values():
        assert np.mean((low <= number) & (number < high)) == pytest.approx((high - low) / 100, abs=0.002)
    tiny = number[(a < 10) & (b < 10)]
    for low, high in digit_pairs.PARTS.values():
        assert ((low <= tiny) & (tiny < high)).sum() >= 5  # one digit: 55 pairs, and no part is empty


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("kind", DRAWS)
def test_parts_never_overlap_and_held_out_pairs_are_distinct(digits: int, kind: str) -> None:
    draw = partial(DRAWS[kind], digits=digits)
    stream = digit_pairs.draw_pairs(rng(), 50_000, "train", draw)
    assert stream.shape == (50_000, 2, digits)
    seen = [{frozenset(pair) for pair in numbers(stream)}]
    for part in ("valid", "test"):
        held_out = digit_pairs.draw_distinct(rng(), 1000, part, draw)
        seen.append({frozenset(pair) for pair in numbers(held_out)})
        assert len(seen[-1]) == len(held_out)
    train, valid, test = seen
    assert not train & valid
    assert not train & test
    assert not valid & test
    if digits == 1:
        assert len(train | valid | test) == 55  # all there are, each in its part
    if digits == 3:
        assert len(valid) == len(test) == 1000


def test_uniform_numbers() -> None:
    pairs = digit_pairs.uniform(rng(), 20_000, 3)
    found = np.array(numbers(pairs))
    assert (found.min(), found.max()) == (0, 999)
    assert found.mean() == pytest.approx(499.5, rel=0.01)
    assert np.mean(found < 100) == pytest.approx(0.1, abs=0.005)


def test_numbers_by_digits_have_every_number_of_digits_equally_often() -> None:
    pairs = digit_pairs.by_digits(rng(), 20_000, 8)
    digits = digit_pairs.number_of_digits(pairs)
    for column in digits.T:
        shares = np.bincount(column, minlength=9)[1:] / len(pairs)
        assert shares == pytest.approx(np.full(8, 1 / 8), abs=0.01)
    assert abs(np.corrcoef(digits.T)[0, 1]) < 0.02  # each of the two for itself
    first = np.bincount(pairs[digits[:, 0] == 8, 0, 7], minlength=10)
    assert first[0] == 0
    assert first[1:] / first.sum() == pytest.approx(np.full(9, 1 / 9), abs=0.03)
    single = np.bincount(pairs[digits[:, 0] == 1, 0, 0], minlength=10)
    assert single / single.sum() == pytest.approx(np.full(10, 1 / 10), abs=0.03)


@pytest.mark.parametrize("kind", DRAWS)
def test_long_carries(kind: str) -> None:
    before = DRAWS[kind](rng(), 20_000, 12)
    after = digit_pairs.lengthen_carries(np.random.default_rng(1), before)
    assert np.array_equal(before[1::2], after[1::2])  # the other half
    ours = after[::2]
    digits = digit_pairs.number_of_digits(ours).max(1)
    assert np.array_equal(digits, digit_pairs.number_of_digits(before[::2]).max(1))
    shorter = [digit_pairs.number_of_digits(pairs[::2]).min(1) for pairs in (before, after)]
    assert (shorter[1] <= shorter[0]).all()  # it is the longer number that is changed
    assert ours.max() <= 9
    carry = digit_pairs.add(ours)[1]
    assert (carry >= 1).all()
    assert (carry <= digits).all()
    longest = digits == 12
    # at least so far as drawn evenly: at a share of 1/12 each, a little more where the digits above happen to add to 9
    assert np.mean(carry[longest] >= 7) == pytest.approx(6 / 12, abs=0.06)
    assert np.mean(carry[longest] == 12) == pytest.approx(1 / 12, abs=0.03)
    natural = digit_pairs.add(before)[1]
    assert np.mean(natural >= 7) < 0.01


def test_sequences_lay_out_both_digits_and_the_last_carry() -> None:
    pairs = digit_pairs.pairs_from([("123", "989"), ("0", "0"), ("40", "5")])
    data = digit_pairs.sequences(pairs, IDS, tags=lambda carry: carry)
    assert data.lengths.tolist() == [4, 2, 3]  # the digits of the longer number, and a carry
    assert (data.values - 2).tolist() == [
        *([3, 9], [2, 8], [1, 9], [0, 0]),
        *([0, 0], [0, 0]),
        *([0, 5], [4, 0], [0, 0]),
    ]
    assert data.targets.tolist() == [2, 1, 1, 1, 0, 0, 5, 4, 0]
    assert data.tags is not None
    assert data.tags.tolist() == [1, 0, 0]
    assert data.target_offsets is not None
    assert data.values.dtype == np.int32


def test_a_batch_depends_on_its_generator_alone() -> None:
    draw = partial(digit_pairs.by_digits, digits=20)
    steps = (5, 5, 6)
    one, again, other = (digit_pairs.draw_pairs(generator(3, "data", 1, s), 200, "train", draw) for s in steps)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
