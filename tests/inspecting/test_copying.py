"""What is copied, against looking everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.data.sequences import offsets_of
from rnnlab.inspecting.copying import BLOCK, Passage, TrainingText

Rows = list[list[int]]


def flat(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return np.array([i for row in rows for i in row], np.int32), offsets_of(np.array([len(row) for row in rows], int))


def stands(run: list[int], rows: Rows) -> bool:
    return any(row[i : i + len(run)] == run for row in rows for i in range(len(row) - len(run) + 1))


def longest_from(sample: list[int], start: int, rows: Rows) -> int:
    return max([n for n in range(len(sample) - start + 1) if stands(sample[start : start + n], rows)], default=0)


def of_text(text: str) -> TrainingText:
    return TrainingText.sort(np.frombuffer(text.encode(), np.uint8), np.array([0, len(text)]))


@settings(derandomize=True, deadline=None, max_examples=120)
@given(
    rows=st.lists(st.lists(st.integers(0, 2), max_size=30), max_size=4),
    sample=st.lists(st.integers(-1, 3), max_size=25),
    least=st.integers(1, 6),
)
def test_it_is_what_looking_everywhere_finds(rows: Rows, sample: list[int], least: int) -> None:
    text = TrainingText.sort(*flat(rows))
    lengths, places = text.longest_runs(np.array(sample, np.int64))
    assert lengths.tolist() == [longest_from(sample, start, rows) for start in range(len(sample))]
    ids = flat(rows)[0].tolist()
    for start, (length, place) in enumerate(zip(lengths.tolist(), places.tolist(), strict=True)):
        assert ids[place : place + length] == sample[start : start + length]

    found = text.copied(np.array(sample, np.int64), least)
    runs = [
        (start, end)
        for start in range(len(sample))
        for end in range(start + least, len(sample) + 1)
        if stands(sample[start:end], rows)
    ]
    inside = [any(start <= i < end for start, end in runs) for i in range(len(sample))]
    assert found.inside.tolist() == inside
    assert found.share == (sum(inside) / len(sample) if sample else 0)
    whole = {(s, e) for s, e in runs if not any((s, e) != (a, b) and a <= s and e <= b for a, b in runs)}
    assert [(p.start, p.end) for p in found.passages] == sorted(whole)
    assert (found.longest.end - found.longest.start if found.longest else 0) == max([0, *lengths.tolist()])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    words=st.sampled_from([1, 2, 70, 40_000, 2**31 - 4]), size=st.integers(0, 200), period=st.integers(1, 90),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_places_are_sorted_by_what_follows_them(words: int, size: int, period: int, seed: int) -> None:
    """Text that repeats itself, too, and ids of any size."""
    ids = np.resize(np.random.default_rng(seed).integers(0, words, period), size).astype(np.int32)
    half = size // 2
    text = TrainingText.sort(ids, np.array([0, half, size]))
    whole = text.ids.tolist()
    assert whole == [*ids[:half].tolist(), -1, *ids[half:].tolist(), -1]
    assert text.order.tolist() == sorted(range(len(whole)), key=lambda i: whole[i:])


@pytest.mark.parametrize("length", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_long_runs_are_found_to_their_last_token(length: int) -> None:
    ids = np.random.default_rng(0).integers(0, 5, 2000).astype(np.int32)
    text = TrainingText.sort(ids, np.array([0, len(ids)]))
    sample = np.concatenate([[9, 9], ids[700 : 700 + length], [9], ids[100:140]])
    found = text.copied(sample, 30)
    assert found.longest == Passage(2, 2 + length, 700) or length < 40
    assert found.passages[0] == Passage(2, 2 + length, 700)
    assert found.passages[-1] == Passage(len(sample) - 40, len(sample), 100)
    assert found.share == pytest.approx((length + 40) / len(sample))


def test_a_passage_is_marked_where_it_stands() -> None:
    text = of_text("to be or not to be, that is the question")
    found = text.copied(np.frombuffer(b"so not to be!", np.uint8), 5)
    assert found.longest == Passage(2, 12, 8)  # " not to be"
    assert found.passages == (Passage(2, 12, 8),)
    assert "".join("x" if copied else "." for copied in found.inside) == "..xxxxxxxxxx."
    found = text.copied(np.frombuffer(b"so not to be seen", np.uint8), 5)
    assert found.passages == (Passage(2, 12, 8), Passage(7, 13, 0))  # "to be " stands elsewhere: they overlap


def test_a_run_ends_with_its_row() -> None:
    rows = [[1, 2, 3], [4, 5, 6]]
    sample = np.array([2, 3, 4, 5])
    assert TrainingText.sort(*flat(rows)).copied(sample, 3).passages == ()
    assert TrainingText.sort(*flat([[1, 2, 3, 4, 5, 6]])).copied(sample, 3).passages == (Passage(0, 4, 1),)
    assert TrainingText.sort(*flat(rows)).copied(np.array([9, 5, 6]), 2).passages == (Passage(1, 3, 4),)


def test_nothing_is_copied_from_nothing() -> None:
    nothing = TrainingText.sort(*flat([]))
    for sample in ([], [1, 2]):
        found = nothing.copied(np.array(sample, np.int64), 1)
        assert (found.longest, found.share, found.passages) == (None, 0.0, ())


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 on, and are from -1 on"):
        TrainingText.sort(*flat([[0, -1]]))
    with pytest.raises(ValueError, match="least must be at least 1"):
        TrainingText.sort(*flat([[0]])).copied(np.array([0]), 0)
