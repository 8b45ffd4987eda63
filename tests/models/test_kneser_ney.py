"""Kneser-Ney against an implementation written straight from the formulas; its laws; native code against numpy."""

import itertools
import math
import os
from collections import Counter, defaultdict
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from rnnlab.data.sequences import offsets_of
from rnnlab.kernels import ops, switched_off
from rnnlab.models.kneser_ney import FALLBACK, cut, fit, fit_chosen, highest_order, nats, next_shares

WAYS = ["native", "numpy"]  # without native kernels, the same twice
Rows = list[list[int]]
BEGIN = -1


def by(way: str) -> AbstractContextManager[None]:
    return switched_off() if way == "numpy" else nullcontext()


def flat(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return np.array([i for row in rows for i in row], np.int32), offsets_of(np.array([len(row) for row in rows], int))


def drawn(seed: int, lengths: list[int], words: int) -> Rows:
    """Few words are frequent and many are rare, so that counts of 1 to 4 are there."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, words + 1)
    return [random.choice(words, n, p=shares / shares.sum()).tolist() for n in lengths]


class ByTheBook:
    """Sets, dictionaries and recursion; every sum is a sum over the vocabulary."""

    def __init__(self, rows: Rows, words: int, order: int) -> None:
        self.words, self.order = words, order
        seen: Counter[tuple[int, ...]] = Counter()
        for row in rows:
            whole = (BEGIN, *row)
            for end in range(2, len(whole) + 1):
                for n in range(1, order + 1):
                    if end - n >= 0:
                        seen[whole[end - n : end]] += 1
        before = defaultdict(set)
        for gram in seen:
            before[gram[1:]].add(gram[0])
        whole_order = {g: c for g, c in seen.items() if len(g) == order}
        begun = {g: c for g, c in seen.items() if len(g) < order and g[0] == BEGIN}
        lower = {g: len(before[g]) for g in seen if len(g) < order and g[0] != BEGIN}
        self.counts = {**lower, **begun, **whole_order}
        self.discounts = {n: self.estimate(n) for n in range(1, order + 1)}

    def estimate(self, n: int) -> tuple[float, float, float]:
        tally = Counter(count for gram, count in self.counts.items() if len(gram) == n)
        n1, n2, n3, n4 = (tally[c] for c in (1, 2, 3, 4))
        if not (n1 and n2):
            return FALLBACK
        y = n1 / (n1 + 2 * n2)
        found = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3 if n3 else 0
        d1, d2, d3 = (own if own > 0 else fallback for own, fallback in zip(found, FALLBACK, strict=True))
        return d1, d2, d3

    def share(self, word: int, context: tuple[int, ...]) -> float:
        """Of one word after a context that is at most order - 1 long."""
        after = [self.counts.get((*context, w), 0) for w in range(self.words)]
        shorter = self.share(word, context[1:]) if context else 1 / self.words
        if not sum(after):
            return shorter
        d = self.discounts[len(context) + 1]
        freed = d[0] * after.count(1) + d[1] * after.count(2) + d[2] * sum(c >= 3 for c in after)
        count = after[word]
        own = count - d[min(count, 3) - 1] if count else 0.0
        return own / sum(after) + freed / sum(after) * shorter

    def nats(self, rows: Rows) -> list[float]:
        found = []
        for row in rows:
            whole = (BEGIN, *row)
            contexts = [whole[max(0, end - self.order + 1) : end] for end in range(1, len(whole))]
            found += [-math.log(self.share(word, context)) for word, context in zip(row, contexts, strict=True)]
        return found


LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=5)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 10_000), lengths=LENGTHS, words=st.sampled_from([1, 2, 3, 6, 20, 60]),
    order=st.integers(1, 5), way=st.sampled_from(WAYS),
)  # fmt: skip
def test_it_is_what_the_formulas_say(seed: int, lengths: list[int], words: int, order: int, way: str) -> None:
    rows, others = drawn(seed, lengths, words), drawn(seed + 1, [0, 1, 30], words)
    with by(way):
        learnt = fit(*flat(rows), words, order)
        for lower in range(1, order + 1):
            book = ByTheBook(rows, words, lower)
            for asked in (rows, others):
                found = nats(learnt, *flat(asked), order=lower)
                np.testing.assert_allclose(found, book.nats(asked), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_longer_text_has_discounts_of_its_own_and_they_are_those_of_the_formulas(order: int) -> None:
    rows, others = drawn(3, [900, 200, 100], 30), drawn(4, [100], 30)
    book, learnt = ByTheBook(rows, 30, order), fit(*flat(rows), 30, order)
    assert not set(book.discounts[order]) & set(FALLBACK)
    assert book.discounts[order] == pytest.approx(learnt["discounts"][-1, 0])
    np.testing.assert_allclose(nats(learnt, *flat(others)), book.nats(others), rtol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000), lengths=LENGTHS, words=st.sampled_from([1, 2, 5, 40]), order=st.integers(1, 6),
    spare=st.integers(0, 3), way=st.sampled_from(WAYS),
)  # fmt: skip
def test_shares_sum_to_one_and_are_those_of_the_answers(
    seed: int, lengths: list[int], words: int, order: int, spare: int, way: str
) -> None:
    """After contexts that were seen and such that were not, at a row's beginning and far from it."""
    rows = drawn(seed, lengths, words)
    random = np.random.default_rng(seed)
    asked = [row[:k] for row in rows for k in range(0, len(row), 7)]
    asked += [random.integers(0, words + 3, k).tolist() for k in (0, 1, 3, 9)]  # 3 words that never occur
    words += 3
    with by(way):
        learnt = fit(*flat(rows), words, order)
        width = max(max(map(len, asked)), 0) + spare
        contexts = random.integers(0, words, (len(asked), width)).astype(np.int32)  # what follows is anything
        for row, one in zip(contexts, asked, strict=True):
            row[: len(one)] = one
        shares = next_shares(learnt, contexts, np.array([len(one) for one in asked]))
        np.testing.assert_allclose(shares.sum(1), 1, atol=1e-12)
        assert shares.min() > 0
        for word in random.integers(0, words, 3).tolist():
            last = offsets_of(np.array([len(one) + 1 for one in asked]))[1:] - 1
            found = nats(learnt, *flat([[*one, word] for one in asked]))[last]
            np.testing.assert_allclose(shares[:, word], np.exp(-found), rtol=1e-9)


def test_recent_tokens_say_the_same_as_the_whole_row() -> None:
    rows = drawn(0, [200], 4)
    learnt = fit(*flat(rows), 4, 4)
    row = np.array(rows, np.int32)
    whole = next_shares(learnt, row, np.array([50]))
    np.testing.assert_array_equal(next_shares(learnt, row[:, 47:50], np.array([3])), whole)
    assert not np.allclose(next_shares(learnt, row[:, 48:50], np.array([2])), whole)  # a row that began there


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), lengths=LENGTHS, words=st.sampled_from([1, 3, 30]), way=st.sampled_from(WAYS))
def test_neighbours_dont_matter(seed: int, lengths: list[int], words: int, way: str) -> None:
    rows, others = drawn(seed, lengths, words), drawn(seed + 1, [9, 0, 20, 1], words)
    with by(way):
        learnt, turned = fit(*flat(rows), words, 4), fit(*flat(rows[::-1]), words, 4)
        together = nats(learnt, *flat(others))
        alone = [nats(learnt, *flat([row])) for row in others]
        np.testing.assert_array_equal(together, np.concatenate(alone))
    assert learnt.keys() == turned.keys()
    for name, array in learnt.items():
        np.testing.assert_array_equal(array, turned[name])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 1000), lengths=LENGTHS, words=st.sampled_from([1, 2, 30, 500]), order=st.integers(1, 8))
def test_native_code_does_what_numpy_does(seed: int, lengths: list[int], words: int, order: int) -> None:
    rows, others = drawn(seed, lengths, words), drawn(seed + 1, [9, 0, 20, 1], words)
    learnt = fit(*flat(rows), words, order)
    answers = nats(learnt, *flat(others))
    with switched_off():
        again = fit(*flat(rows), words, order)
        np.testing.assert_array_equal(nats(again, *flat(others)), answers)
    assert learnt.keys() == again.keys()
    for name, array in learnt.items():
        assert array.dtype == again[name].dtype, name
        np.testing.assert_array_equal(array, again[name])


@pytest.mark.parametrize("way", WAYS)
def test_children_are_found_where_they_are(way: str) -> None:
    random = np.random.default_rng(0)
    parents, tokens = (random.integers(0, most, 300).astype(np.int32) for most in (40, 9))
    with by(way):
        grams, last, counts, starts = ops.number_children(parents, tokens, 50, 9)
        pairs = Counter(zip(parents.tolist(), tokens.tolist(), strict=True))
        assert [*zip(np.repeat(np.arange(50), np.diff(starts)).tolist(), last.tolist(), strict=True)] == sorted(pairs)
        assert counts.tolist() == [pairs[pair] for pair in sorted(pairs)]
        np.testing.assert_array_equal(last[grams], tokens)
        asked = np.array([*itertools.product(range(-1, 50), range(-1, 10))], np.int32)
        found = ops.find_children(starts, last, asked[:, 0].copy(), asked[:, 1].copy())
        numbers = {pair: number for number, pair in enumerate(sorted(pairs))}
        assert found.tolist() == [numbers.get((p, t), -1) for p, t in asked.tolist()]


@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("rows", [[], [[]], [[], []], [[2]], [[2], [2], []], [[2, 2, 2, 2]]], ids=str)
def test_there_may_be_hardly_anything_to_learn(rows: Rows, order: int) -> None:
    learnt = fit(*flat(rows), 4, order)
    found = np.exp(-nats(learnt, *flat([[word] for word in range(4)])))
    assert found.sum() == pytest.approx(1)
    assert found[0] == pytest.approx(found[1])
    if any(rows):
        assert found[2] > 0.25
    else:
        np.testing.assert_allclose(found, 0.25)
    assert nats(learnt, *flat([])).shape == (0,)


def test_one_that_is_cut_is_one_of_that_order() -> None:
    rows, others = drawn(5, [100, 3, 50], 12), drawn(6, [80], 12)
    learnt = fit(*flat(rows), 12, 5)
    for order in range(1, 6):
        less, own = cut(learnt, order), fit(*flat(rows), 12, order)
        assert highest_order(less) == order
        assert less.keys() == own.keys()
        for name, array in own.items():
            np.testing.assert_array_equal(array, less[name])
        np.testing.assert_array_equal(nats(less, *flat(others)), nats(learnt, *flat(others), order=order))


def test_it_is_arrays_that_a_file_holds() -> None:
    rows, others = drawn(5, [100, 3, 50], 12), drawn(6, [80], 12)
    learnt = fit(*flat(rows), 12, 4)
    again = load(save(learnt))
    np.testing.assert_array_equal(nats(again, *flat(others)), nats(learnt, *flat(others)))
    contexts, lengths = np.array(others), np.array([80])
    np.testing.assert_array_equal(next_shares(again, contexts, lengths), next_shares(learnt, contexts, lengths))


def test_the_order_is_that_which_validation_likes_best() -> None:
    pattern = [0, 1, 0, 2] * 40  # what follows 0 is told by the token before it
    learnt, tried = fit_chosen(*flat([pattern]), 3, [1, 2, 3, 4], *flat([pattern[:30]]))
    assert highest_order(learnt) == min(tried, key=lambda n: tried[n]) == 3
    assert tried == {n: nats(fit(*flat([pattern]), 3, n), *flat([pattern[:30]])).mean() for n in (1, 2, 3, 4)}
    assert tried[2] > tried[3]


def test_context_is_read_and_not_counted() -> None:
    learnt = fit(*flat(drawn(0, [200], 5)), 5, 3)
    rows = drawn(1, [10, 6, 3], 5)
    all_of_them = nats(learnt, *flat(rows))
    found = nats(learnt, *flat(rows), scored_from=np.array([4, 0, 3]))
    assert found[:4].tolist() == [0] * 4
    assert found[16:].tolist() == [0] * 3
    np.testing.assert_array_equal(found[4:16], all_of_them[4:16])


def test_a_begin_is_context_and_never_an_answer() -> None:
    """Rows that begin with 1 and go on with 0: after a begin, 1 is likely; elsewhere hardly."""
    learnt = fit(*flat([[1, 0, 0, 0]] * 20), 2, 3)
    shares = next_shares(learnt, np.array([[0, 0], [0, 0]], np.int32), np.array([0, 2]))
    assert shares[0, 1] > 0.9
    assert shares[1, 1] < 0.1


def test_wrong_arguments_are_refused() -> None:
    learnt = fit(*flat([[0, 1, 2]]), 3, 2)
    with pytest.raises(ValueError, match="from 0 to 2, and are from 0 to 3"):
        nats(learnt, *flat([[0, 3]]))
    with pytest.raises(ValueError, match="from 0 to 2, and are from -1 to 1"):
        fit(*flat([[-1, 1]]), 3, 2)
    with pytest.raises(ValueError, match="order must be from 1 to 2, and is 3"):
        nats(learnt, *flat([[0]]), order=3)
    with pytest.raises(ValueError, match="at least 1"):
        fit(*flat([[0]]), 3, 0)
    with pytest.raises(ValueError, match="ascend from 0 to 2"):
        nats(learnt, np.array([0, 1], np.int32), np.array([0, 1]))


@pytest.mark.data
@pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="RNNLAB_DATA isn't set")
def test_tiny_shakespeare_is_as_it_was_measured_elsewhere() -> None:
    """7-grams, the first 90 % and the last 10 %: 1.517 nats per character."""
    text = (Path(os.environ["RNNLAB_DATA"]) / "tiny-shakespeare" / "input.txt").read_bytes()
    ids = np.unique(np.frombuffer(text, np.uint8), return_inverse=True)[1].astype(np.int32)
    train, test = ids[: len(ids) * 9 // 10], ids[len(ids) * 9 // 10 :]
    learnt = fit(train, np.array([0, len(train)]), int(ids.max()) + 1, 7)
    assert nats(learnt, test, np.array([0, len(test)])).mean() == pytest.approx(1.517, abs=0.001)
