"""The baselines against scikit-learn's own pipeline."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rnnlab.models.baselines import BASELINES, Majority, Statistics, TfIdf


def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return np.array([token for row in rows for token in row], np.int32), offsets


def made_up(rows: int, classes: int, seed: int) -> tuple[list[list[int]], np.ndarray]:
    random = np.random.default_rng(seed)
    targets = random.integers(0, classes, rows)
    return [random.integers(2 + 3 * t, 14 + 3 * t, random.integers(1, 9)).tolist() for t in targets], targets


@pytest.mark.parametrize("classes", [2, 4])
def test_tfidf_equals_scikit_learn(classes):
    rows, targets = made_up(200, classes, 0)
    others, _ = made_up(100, classes, 1)
    baseline = TfIdf()
    learnt = baseline.fit(*flat(rows), targets, classes)
    logits = baseline.logits(learnt, *flat(others))
    ours = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    pipeline = make_pipeline(vectorizer, LogisticRegression(C=baseline.C, max_iter=1000, tol=1e-8))
    pipeline.fit([" ".join(map(str, row)) for row in rows], targets)
    theirs = pipeline.predict_proba([" ".join(map(str, row)) for row in others])
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_majority_is_the_commonest_class():
    rows, _ = made_up(5, 2, 0)
    baseline = Majority()
    learnt = baseline.fit(*flat(rows), np.array([2, 1, 2, 0, 2]), 4)
    assert baseline.logits(learnt, *flat(rows)).argmax(1).tolist() == [2] * 5


def test_a_class_without_training_rows_is_never_the_answer():
    rows, targets = made_up(60, 3, 0)
    learnt = TfIdf().fit(*flat(rows), targets + 1, 5)
    answers = TfIdf().logits(learnt, *flat(rows)).argmax(1)
    assert set(answers.tolist()) <= {1, 2, 3}


def test_channel_statistics_by_hand():
    values = np.array([[1.0], [3.0], [5.0], [2.0]], np.float32)
    offsets = np.array([0, 3, 4])
    from rnnlab.models.baselines import _statistics

    expected = [[3, np.sqrt(8 / 3), 1, 5, 1, 5, 3], [2, 0, 2, 2, 2, 2, 1]]
    np.testing.assert_allclose(_statistics(values, offsets), expected, rtol=1e-6)


def test_channel_statistics_learn_a_level():
    random = np.random.default_rng(0)
    targets = random.integers(0, 3, 90)
    lengths = random.integers(2, 9, 90)
    values = np.concatenate([random.normal(t, 0.3, (n, 2)) for t, n in zip(targets, lengths, strict=True)])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    learnt = Statistics().fit(values.astype(np.float32), offsets, targets, 3)
    answers = Statistics().logits(learnt, values.astype(np.float32), offsets).argmax(1)
    assert (answers == targets).mean() > 0.95


def test_every_baseline_says_what_it_reads():
    assert {cls.kind: cls.inputs for cls in BASELINES} == {
        "majority": "any",
        "lookup": "any",
        "nbsvm": "tokens",
        "tfidf": "tokens",
        "statistics": "features",
        "frequent-tag": "tokens",
        "hmm": "tokens",
        "crf": "tokens",
        "mfcc": "sound",
        "segments": "sound",
        "unigram": "tokens",
        "kneser-ney": "tokens",
        "copy": "tokens",
        "translation-memory": "tokens",
        "ibm1": "tokens",
        **dict.fromkeys(("last-value", "seasonal-naive", "moving-average", "ridge"), "features"),
        **dict.fromkeys(("auto-ets", "auto-arima", "theta", "lightgbm"), "features"),
    }
