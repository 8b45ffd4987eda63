"""Scores from sums and counts, against scikit-learn's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from rnnlab.analysis.metrics import Bucket, Count, accuracy, by_bucket, by_tag, confusion, macro_f1

CLASSES = 5
ZERO: Any = 0  # scikit-learn takes 0 for zero_division, its inferred type says str
answers = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1)), min_size=1, max_size=40)


@given(answers)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_agrees_with_scikit_learn(pairs: list[tuple[int, int]]):
    """Few rows and five classes: most examples lack a class among targets, predictions or both."""
    targets, predicted = np.array(pairs).T
    present = sorted({*targets.tolist(), *predicted.tolist()})
    matrix = confusion(targets, predicted, CLASSES)
    assert np.array_equal(matrix, confusion_matrix(targets, predicted, labels=range(CLASSES)))
    score = macro_f1(matrix)
    assert score.value == pytest.approx(
        f1_score(targets, predicted, average="macro", labels=present, zero_division=ZERO)
    )
    theirs = precision_recall_fscore_support(targets, predicted, labels=present, zero_division=ZERO)
    ours = [[one.precision, one.recall, one.f1, one.support] for one in score.by_class]
    assert [one.index for one in score.by_class] == present
    assert np.array(ours) == pytest.approx(np.array(theirs).T)
    assert score.rows == len(pairs)
    assert accuracy(targets, predicted).share == pytest.approx(accuracy_score(targets, predicted))


def test_a_class_without_rows_counts_only_if_it_is_predicted():
    targets = np.array([0, 0, 1, 1])
    never_predicted = macro_f1(confusion(targets, np.array([0, 0, 1, 1]), 3))
    assert never_predicted.value == 1.0
    predicted = macro_f1(confusion(targets, np.array([0, 0, 1, 2]), 3))
    assert predicted.value == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_several_runs_are_added_up_before_dividing():
    """Macro-F1 of all answers of two runs together, which is not the mean of the two runs' macro-F1."""
    targets = np.array([0, 0, 0, 1])
    runs = np.array([[0, 0, 0, 1], [1, 1, 1, 1]])
    matrix = confusion(targets, runs, 2)
    assert matrix.tolist() == [[3, 3], [0, 2]]
    by_run = np.mean([macro_f1(confusion(targets, run, 2)).value for run in runs])
    assert macro_f1(matrix).value == pytest.approx(f1_score(np.tile(targets, 2), runs.ravel(), average="macro"))
    assert macro_f1(matrix).value != pytest.approx(by_run)
    assert accuracy(targets, runs) == Count(5, 8)


def test_nothing_measured_is_zero_rows_and_no_nan():
    nothing = np.zeros(0, dtype=int)
    assert accuracy(nothing, nothing) == Count(0, 0)
    assert Count(0, 0).share == 0.0
    assert macro_f1(confusion(nothing, nothing, 3)).value == 0.0
    assert by_bucket(nothing, nothing) == []
    assert by_tag([], nothing) == {}


def test_a_class_out_of_range_is_refused():
    with pytest.raises(ValueError, match="predicted must be classes 0 to 1, found 0 to 2"):
        confusion(np.array([0, 1]), np.array([0, 2]), 2)
    with pytest.raises(ValueError, match="targets must be classes 0 to 1, found -1 to 1"):
        confusion(np.array([-1, 1]), np.array([0, 1]), 2)


def test_counts_add_up():
    assert Count(1, 2) + Count(8, 8) == Count(9, 10)
    assert (Count(1, 2) + Count(8, 8)).share == 0.9


def test_accuracy_by_length_in_doubling_buckets():
    lengths = np.array([1, 2, 3, 4, 7, 8, 40])
    right = np.array([1, 1, 0, 1, 1, 0, 1])
    assert by_bucket(lengths, right) == [
        Bucket(1, 2, Count(1, 1)),
        Bucket(2, 4, Count(1, 2)),
        Bucket(4, 8, Count(2, 2)),
        Bucket(8, 16, Count(0, 1)),
        Bucket(32, 64, Count(1, 1)),
    ]


def test_buckets_by_given_edges_over_several_runs():
    values = np.array([0, 5, 9, 10])
    right = np.array([[1, 1, 0, 1], [1, 0, 0, 1]])
    assert by_bucket(values, right, edges=[0, 5, 10, 20]) == [
        Bucket(0, 5, Count(2, 2)),
        Bucket(5, 10, Count(1, 4)),
        Bucket(10, 20, Count(2, 2)),
    ]
    with pytest.raises(ValueError, match="don't cover the values 0 to 10"):
        by_bucket(values, right, edges=[0, 5, 10])


@given(st.lists(st.tuples(st.integers(0, 500), st.booleans()), min_size=1, max_size=60))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_buckets_lose_no_row(rows: list[tuple[int, bool]]):
    values, right = np.array(rows).T
    buckets = by_bucket(values, right)
    total = sum((bucket.count for bucket in buckets), Count(0, 0))
    assert total == Count(int(right.sum()), len(rows))
    assert all(bucket.count.rows for bucket in buckets)
    assert [bucket.low for bucket in buckets] == sorted({bucket.low for bucket in buckets})


def test_accuracy_by_tag_commonest_first():
    tags = ["plain", "negated", "plain", "but", "negated", "plain"]
    right = np.array([[1, 0, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1]])
    by = by_tag(tags, right)
    assert list(by.items()) == [("plain", Count(5, 6)), ("negated", Count(1, 4)), ("but", Count(1, 2))]
