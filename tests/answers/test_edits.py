"""Fewest edits, against jiwer and against the table of `align`."""

import random

import jiwer
import numpy as np
import pytest

from rnnlab.answers.edits import MISSED, align, distance, edit_counts, exact_counts
from rnnlab.answers.words import EXACT, WER


def made_up(rng: random.Random, most: int) -> list[str]:
    return [rng.choice("abcd") for _ in range(rng.randint(0, most))]


def test_distances_are_those_of_the_table():
    rng = random.Random(2)
    for most in [3, 9, 40] * 30:
        true, heard = made_up(rng, most), made_up(rng, most)
        numbers = {letter: number for number, letter in enumerate("abcd")}
        found, added = align([numbers[one] for one in true], [numbers[one] for one in heard])
        wrong = sum(a == MISSED or a != numbers[b] for a, b in zip(found, true, strict=True))
        assert distance(true, heard) == wrong + len(added)
        assert distance(heard, true) == distance(true, heard)


def test_distances_of_long_texts():
    true = list(range(3000))
    assert distance(true, true[5:] + [7]) == 6
    assert distance(true, []) == 3000
    assert distance([], true) == 3000
    assert distance([], []) == 0


def test_word_error_rates_are_those_of_jiwer():
    rng = random.Random(3)
    true = [["a", *made_up(rng, 9)] for _ in range(80)]
    heard = [made_up(rng, 9) for _ in true]
    counts = edit_counts(heard, [[row] for row in true])
    assert WER.of(counts) == pytest.approx(jiwer.wer([" ".join(row) for row in true], [" ".join(row) for row in heard]))


def test_of_several_references_the_one_with_the_lowest_rate_counts():
    rng = random.Random(4)
    true = [[["a", *made_up(rng, 9)] for _ in range(rng.randint(1, 4))] for _ in range(60)]
    heard = [made_up(rng, 9) for _ in true]
    counts = edit_counts(heard, true)
    for row, (one, references) in enumerate(zip(heard, true, strict=True)):
        best = min(jiwer.wer(" ".join(reference), " ".join(one)) for reference in references)
        assert counts["edits"][row] / counts["words"][row] == pytest.approx(best)


def test_exact_is_one_of_the_references_to_the_letter():
    counts = exact_counts([" a b ", "A b", "ａ", "", "c"], [["x", "a b\n"], ["a b"], ["a"], [" "], ["d", "e"]])
    assert counts["right_rows"].tolist() == [1, 0, 0, 1, 0]
    assert EXACT.of(counts) == pytest.approx(0.4)
    assert np.array_equal(counts["rows"], np.ones(5))
