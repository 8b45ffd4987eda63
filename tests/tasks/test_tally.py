"""Sums and counts add up to scikit-learn's scores, however the rows are cut into batches."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss

from rnnlab.data.batches import Batch
from rnnlab.tasks.answers import probabilities
from rnnlab.tasks.classify import Classify


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(2, 60), st.integers(1, 20), st.integers(0, 100))
def test_scores_equal_scikit_learn(classes, rows, batch_size, seed):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(rows, classes)).astype(np.float32)
    targets = random.integers(0, classes, rows)
    total = None
    for start in range(0, rows, batch_size):
        part = slice(start, start + batch_size)
        size = len(targets[part])
        batch = Batch(torch.zeros(size, 1), torch.ones(size, dtype=torch.int64), torch.from_numpy(targets[part]))
        counted = Classify().tally(torch.from_numpy(logits[part]), batch)
        total = counted if total is None else total + counted
    assert total is not None
    found, answers = total.score(), logits.argmax(1)
    assert total.count == rows
    assert np.isclose(found["accuracy"], accuracy_score(targets, answers))
    assert np.isclose(found["macro_f1"], f1_score(targets, answers, average="macro"))
    expected = log_loss(targets, probabilities(logits.astype(np.float64)), labels=range(classes))
    assert np.isclose(found["loss"], expected, rtol=1e-4)
