"""N-grams as further ids: of the row's own tokens, seen in training, and nothing else."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.data.ngrams import SEEN, Ngrams
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import offsets_of
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import PADDING, SPECIAL, UNKNOWN, Vocabulary

LEARNT = 6
ROWS = st.lists(st.lists(st.integers(0, LEARNT + 2), min_size=1, max_size=7), min_size=1, max_size=8)


def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([i for row in rows for i in row], np.int32), offsets_of(np.array([len(row) for row in rows]))


def naive(row: list[int], end: int, n: int) -> tuple[int, ...] | None:
    found = tuple(row[end - n + 1 : end + 1]) if end >= n - 1 else ()
    return found if len(found) == n and all(UNKNOWN < i < LEARNT for i in found) else None


@settings(derandomize=True, deadline=None)
@given(rows=ROWS, new=ROWS, sizes=st.sampled_from([(2,), (2, 3), (3,), (2, 3, 4)]))
def test_each_step_has_the_n_grams_that_end_there(rows, new, sizes):
    built = Ngrams.build(*flat(rows), sizes, 1000, LEARNT)
    counts = Counter(naive(row, end, n) for row in rows for n in sizes for end in range(len(row)))
    known = {gram for gram, count in counts.items() if gram is not None and count >= SEEN}
    assert len(built) == len(known)
    numbers = built.numbers(*flat(new), LEARNT)
    places = [(row, end) for row in new for end in range(len(row))]
    number_of: dict[tuple[int, ...], int] = {}
    for (row, end), found in zip(places, numbers.tolist(), strict=True):
        for n, number in zip(sizes, found, strict=True):
            gram = naive(row, end, n)
            assert (number >= 0) == (gram in known)
            if gram is not None and number >= 0:
                assert number_of.setdefault(gram, number) == number
    assert len(set(number_of.values())) == len(number_of)


def test_a_row_has_the_same_n_grams_beside_any_others():
    rows = [[2, 3, 4], [2, 3], [3, 4, 2, 3]]
    built = Ngrams.build(*flat(rows), (2, 3), 1000, LEARNT)
    together = built.numbers(*flat(rows), LEARNT)
    alone = [built.numbers(*flat([row]), LEARNT) for row in rows]
    assert np.array_equal(together, np.concatenate(alone))


def test_the_most_frequent_ones_are_kept():
    rows = [[2, 3]] * 5 + [[3, 4]] * 3 + [[4, 5]] * 2
    built = Ngrams.build(*flat(rows), (2,), 2, LEARNT)
    numbers = built.numbers(*flat([[2, 3, 4, 5]]), LEARNT)
    assert (numbers >= 0).ravel().tolist() == [False, True, True, False]


def test_ids_of_n_grams_stand_between_those_of_words_and_of_extra_words():
    words = (*SPECIAL, "a", "b")
    plain = Vocabulary(words)
    ids, offsets = flat([[2, 3, 2], [2, 3]])
    vocabulary = Vocabulary(words, ngrams=Ngrams.build(ids, offsets, (2, 3), 100, len(plain))).extended(["c"])
    assert (len(vocabulary), vocabulary.further) == (6, 1)
    assert vocabulary.index == {"a": 2, "b": 3, "c": 5}
    assert vocabulary.with_ngrams(ids, offsets).tolist() == [[2, 0, 0], [3, 4, 0], [2, 0, 0], [2, 0, 0], [3, 4, 0]]
    again = Vocabulary.from_dict(vocabulary.to_dict())
    assert again == vocabulary
    preprocessor = Preprocessor(labels=("x", "y"), tokenizer=Tokenizer("words"), vocabulary=again, tokens=3)
    data, known = preprocessor.encode(["a b c", "b", ""])
    assert data.values.tolist() == [[2, 0, 0], [3, 4, 0], [5, PADDING, PADDING], [3, 0, 0], [UNKNOWN, 0, 0]]
    assert known.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "values",
    [
        {"sizes": [], "keys": ""},
        {"sizes": [1], "keys": ""},
        {"sizes": [2], "keys": "AAAA"},
        {"sizes": [2], "keys": "AAAAAAAAAAAAAAAAAAAAAA=="},
        {"sizes": ["2"], "keys": ""},
    ],
)
def test_what_nobody_wrote_is_refused(values):
    with pytest.raises(ValueError):  # whatever it says, it is not taken
        Ngrams.from_dict(values)
