"""The optimum of logistic regression, as scikit-learn finds it when it is given time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

from rnnlab.models.logistic import _Problem, fit_logistic

STRENGTH = 4.0


def rows_of(classes: int, form: str) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Features of which some are frequent and most are rare, and targets that depend on them."""
    random = np.random.default_rng(0)
    shares = np.geomspace(0.5, 0.005, 60)
    features = (random.random((500, 60)) < shares) * random.random((500, 60))
    logits = features @ random.normal(size=(60, classes)) * 3 + random.gumbel(size=(500, classes))
    features = features.astype(np.float32)
    return (sparse.csr_array(features) if form == "sparse" else features), logits.argmax(1)


def loss_of(features: np.ndarray | sparse.csr_array, targets: np.ndarray, coef: np.ndarray, bias: np.ndarray) -> float:
    """In double precision, written down once more."""
    logits = np.asarray(features @ coef.T.astype(np.float64) + bias)
    shifted = logits - logits.max(1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(targets)), targets]
    return float(losses.mean() + np.square(coef.astype(np.float64)).sum() / (2 * STRENGTH * len(targets)))


@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_optimum_is_that_of_scikit_learn(classes, form):
    features, targets = rows_of(classes, form)
    coef, bias = fit_logistic(features, targets, classes, STRENGTH)
    expected = LogisticRegression(C=STRENGTH, max_iter=5000, tol=1e-8).fit(features, targets)
    if classes == 2:
        expected.coef_ = np.vstack([np.zeros_like(expected.coef_), expected.coef_])
        expected.intercept_ = np.append(0, expected.intercept_)
    ours, theirs = (
        loss_of(features, targets, *found) for found in ((coef, bias), (expected.coef_, expected.intercept_))
    )
    assert ours == pytest.approx(theirs, abs=1e-5)
    assert np.abs(coef - expected.coef_).max() < 0.03 * np.abs(expected.coef_).max()
    same = (features @ coef.T + bias).argmax(1) == expected.predict(features)
    assert same.mean() > 0.99


@pytest.mark.parametrize("classes", [2, 4])
def test_weighted_rows_equal_scikit_learn(classes):
    features, targets = rows_of(classes, "sparse")
    weights = compute_sample_weight({0: 5.0, **dict.fromkeys(range(1, classes), 0.5)}, targets)
    weights /= weights.mean()
    coef, bias = fit_logistic(features, targets, classes, STRENGTH, weights.astype(np.float32))
    expected = LogisticRegression(C=STRENGTH, max_iter=5000, tol=1e-8).fit(features, targets, sample_weight=weights)
    theirs = expected.predict_proba(features)
    ours = np.exp(features @ coef.T + bias)
    assert np.abs(ours / ours.sum(1, keepdims=True) - theirs).max() < 0.01
    plain = LogisticRegression(C=STRENGTH).fit(features, targets).predict_proba(features)
    assert np.abs(plain - theirs).max() > 0.05


def test_a_class_without_rows_is_never_the_answer():
    features, targets = rows_of(3, "sparse")
    coef, bias = fit_logistic(features, targets * 2, 6, STRENGTH)
    assert coef.shape == (6, 60)
    answers = (features @ coef.T + bias).argmax(1)
    assert set(answers) == {0, 2, 4}
    only = fit_logistic(features, np.full(len(targets), 1), 3, STRENGTH)
    assert set((features @ only[0].T + only[1]).argmax(1)) == {1}


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gradient_is_that_of_the_loss(classes):
    features, targets = rows_of(classes, "dense")
    rows = 1 if classes == 2 else classes
    problem = _Problem(features, targets, rows, 0.01)
    random = np.random.default_rng(1)
    weights = random.normal(size=(rows, 61)).astype(np.float32)
    along = random.normal(size=weights.shape).astype(np.float32)
    change = (problem(weights + 1e-2 * along)[0] - problem(weights - 1e-2 * along)[0]) / 2e-2
    assert change == pytest.approx(float((problem(weights)[1] * along).sum()), rel=2e-3)
