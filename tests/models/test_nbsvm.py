"""NB-SVM against scikit-learn's own, and the laws that every baseline keeps."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from rnnlab import kernels as native
from rnnlab.models import logistic, nbsvm
from rnnlab.models.baselines import Labelled, Learnt
from rnnlab.models.gram_rows import learn_grams, read_grams, spelled_out
from rnnlab.models.nbsvm import NbSvm

Rows = list[list[int]]


def flat(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return np.array([token for row in rows for token in row], np.int32), offsets


def made_up(rows: int, classes: int, seed: int) -> tuple[Rows, np.ndarray]:
    random = np.random.default_rng(seed)
    targets = random.integers(0, classes, rows)
    return [random.integers(2 + 2 * t, 10 + 2 * t, random.integers(1, 9)).tolist() for t in targets], targets


def labelled(rows: Rows, targets: np.ndarray) -> Labelled:
    return Labelled(*flat(rows), targets)


def fitted(classes: int = 3, **settings: float | str) -> tuple[NbSvm, Learnt]:
    model = NbSvm(**settings)  # type: ignore[arg-type]
    return model, model.fit_chosen(labelled(*made_up(300, classes, 0)), labelled(*made_up(80, classes, 1)), classes)


@pytest.fixture(params=["native", "numpy"])
def kernels(request):
    if request.param == "native":
        if native.library() is None:
            pytest.skip("no compiler")
        yield
    else:
        with native.switched_off():
            yield


@pytest.fixture
def exact(monkeypatch):
    """Nearer to the optimum than an answer needs."""
    monkeypatch.setattr(nbsvm, "TOLERANCE", 1e-4)
    monkeypatch.setattr(nbsvm, "MOST_PASSES", 2000)
    monkeypatch.setattr(logistic, "TOLERANCE", 1e-7)
    monkeypatch.setattr(logistic, "MOST_STEPS", 2000)


def by_scikit_learn(
    rows: Rows, targets: np.ndarray, others: Rows, strength: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Margins (rows, classes), of 1- to 3-grams, 2- and 3-grams in at least two rows."""
    texts, new = ([" ".join(map(str, row)) for row in part] for part in (rows, others))
    vectorizer = CountVectorizer(ngram_range=(1, 3), binary=True, token_pattern=r"\S+")
    counts, of_new = sparse.csr_array(vectorizer.fit_transform(texts)), sparse.csr_array(vectorizer.transform(new))
    single = np.array([" " not in name for name in vectorizer.get_feature_names_out()])
    kept = single | (np.asarray(counts.sum(0)).ravel() >= nbsvm.FEWEST)
    counts, of_new = counts[:, kept].astype(float), of_new[:, kept].astype(float)
    margins = []
    for k in np.unique(targets):
        inside = np.asarray(counts[targets == k].sum(0)).ravel() + nbsvm.SMOOTHING
        outside = np.asarray(counts[targets != k].sum(0)).ravel() + nbsvm.SMOOTHING
        ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
        weighed = sparse.csr_array(normalize(counts)).multiply(ratio)
        svm = LinearSVC(C=strength, tol=1e-7, max_iter=200_000).fit(weighed, targets == k, sample_weight=weights)
        margins.append(svm.decision_function(sparse.csr_array(normalize(of_new)).multiply(ratio)))
    return np.stack(margins, axis=1)


@pytest.mark.parametrize("strength", [0.1, 3.0])
def test_equals_scikit_learn(kernels, exact, strength):
    rows, targets = made_up(150, 3, 0)
    others, _ = made_up(100, 3, 1)
    model = NbSvm(C=strength)
    ours = model.logits(model.fit(*flat(rows), targets, 3), *flat(others))
    np.testing.assert_allclose(ours, by_scikit_learn(rows, targets, others, strength), atol=1e-2)


@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_classes_equal_scikit_learn(kernels, exact, classes):
    rows, targets = made_up(300, classes, 0)
    kept = np.flatnonzero((targets != 1) | (np.arange(300) % 10 == 0))  # class 1 is rare
    rows, targets = [rows[i] for i in kept], targets[kept]
    others, _ = made_up(100, classes, 1)
    model = NbSvm(C=1.0, class_weights="balanced")
    ours = model.logits(model.fit(*flat(rows), targets, classes), *flat(others))
    weights = compute_sample_weight("balanced", targets)
    theirs, plain = (by_scikit_learn(rows, targets, others, 1.0, given) for given in (weights, None))
    if classes == 2:
        ours, theirs, plain = ours @ [-1, 1], theirs[:, 1], plain[:, 1]
    np.testing.assert_allclose(ours, theirs, atol=1e-2)
    assert np.abs(ours - plain).max() > 0.1


def test_what_is_left_open_is_chosen_by_the_given_score():
    """Validation rows of which a score wants the rare class right."""
    train, valid = (labelled(*made_up(200, 3, seed)) for seed in (0, 1))
    asked: list[int] = []

    def by(logits: np.ndarray, targets: np.ndarray) -> float:
        asked.append(len(logits))
        return -len(asked)  # the first one that is tried

    assert NbSvm().fit_chosen(train, valid, 3, by)["C"] == [nbsvm.STRENGTHS[0]]
    assert set(asked) == {200}


def test_two_classes_share_the_weights(kernels, exact):
    rows, targets = made_up(300, 2, 0)
    others, _ = made_up(100, 2, 1)
    model = NbSvm(C=1.0)
    learnt = model.fit(*flat(rows), targets, 2)
    margins = by_scikit_learn(rows, targets, others, 1.0)[:, 1]
    assert learnt["coef"].shape[1] == 1
    np.testing.assert_allclose(model.logits(learnt, *flat(others)) @ [-1, 1], margins, atol=1e-2)


def test_more_classes_than_kernels_have_a_width_for(kernels, exact):
    rows, targets = made_up(600, 11, 0)
    model = NbSvm(C=1.0)
    ours = model.logits(model.fit(*flat(rows), targets, 11), *flat(rows[:50]))
    np.testing.assert_allclose(ours, by_scikit_learn(rows, targets, rows[:50], 1.0), atol=1e-2)


@pytest.mark.parametrize("classes", [3, pytest.param(11, marks=pytest.mark.long)])
@pytest.mark.parametrize("strength", [0.3, pytest.param(30.0, marks=pytest.mark.long)])
def test_softmax_is_at_the_optimum(kernels, exact, classes, strength):
    """Against SciPy, in float64 and from the formula."""
    rows, targets = made_up(100, classes, 0)
    values, offsets = flat(rows)
    x = read_grams(learn_grams(values, offsets, 2, 2), values, offsets)
    ratios = nbsvm.log_count_ratios(x, targets, classes)
    problem = nbsvm.Problem(x, targets, ratios, "softmax")
    problem.solve(strength / 10)  # from a solution nearby, as on a path
    table, bias = problem.solve(strength)
    matrix, wide, features = x.matrix.toarray().astype(np.float64), ratios.astype(np.float64), x.features

    def loss(flat_weights):
        weights = flat_weights.reshape(features + 1, classes)
        logits = matrix @ (wide * weights[:-1]) + weights[-1]
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=1)[:, None])
        delta = strength * (shares - np.eye(classes)[targets])
        gradient = weights + np.vstack([wide * (matrix.T @ delta), delta.sum(0)])
        missed = -np.log(shares[np.arange(len(targets)), targets]).sum()
        return (weights**2).sum() / 2 + strength * missed, gradient.ravel()

    start = np.zeros((features + 1) * classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8})
    weights = found.x.reshape(features + 1, classes)
    np.testing.assert_allclose(x.product(table) + bias, matrix @ (wide * weights[:-1]) + weights[-1], atol=3e-2)


def test_grams_by_hand(kernels):
    rows = [[5, 6, 5, 6], [5, 6], [7], [6, 5, 6]]
    values, offsets = flat(rows)
    levels = learn_grams(values, offsets, 3, 2)
    spelled = [[tuple(gram) for gram in of_length.tolist()] for of_length in spelled_out(levels)]
    assert spelled == [[(5,), (6,), (7,)], [(5, 6), (6, 5)], [(6, 5, 6)]]
    x = read_grams(levels, values, offsets)
    names = [name for of_length in spelled for name in of_length]
    found = [{names[i] for i in x.indices[a:b]} for a, b in zip(x.starts, x.ends[:, -1], strict=True)]
    assert found[1:] == [{(5,), (6,), (5, 6)}, {(7,)}, {(5,), (6,), (5, 6), (6, 5), (6, 5, 6)}]
    shorter = x.up_to(1)
    assert shorter.features == 3
    np.testing.assert_allclose(shorter.scale, [2**-0.5, 2**-0.5, 1, 2**-0.5])


def test_order_and_company_of_rows_do_not_matter(kernels):
    model, learnt = fitted()
    rows, _ = made_up(50, 3, 2)
    together = model.logits(learnt, *flat(rows))
    np.testing.assert_array_equal(model.logits(learnt, *flat(rows[::-1])), together[::-1])
    np.testing.assert_array_equal(np.vstack([model.logits(learnt, *flat([row])) for row in rows]), together)


def test_the_order_of_the_training_rows_hardly_matters(kernels, exact):
    rows, targets = made_up(300, 3, 0)
    model = NbSvm(C=0.3)
    there = model.logits(model.fit(*flat(rows), targets, 3), *flat(rows))
    back = model.logits(model.fit(*flat(rows[::-1]), targets[::-1].copy(), 3), *flat(rows))
    np.testing.assert_allclose(back, there, atol=1e-2)


def test_an_unseen_gram_says_nothing(kernels):
    model, learnt = fitted()
    np.testing.assert_array_equal(model.logits(learnt, *flat([[999, 998]]))[0], learnt["intercept"])


def test_a_class_without_training_rows_is_never_the_answer(kernels):
    rows, targets = made_up(100, 3, 0)
    model = NbSvm()
    learnt = model.fit_chosen(labelled(rows, targets + 1), labelled([[3], [4]], np.array([0, 4])), 5)
    logits = model.logits(learnt, *flat(rows))
    assert set(logits.argmax(1).tolist()) <= {1, 2, 3}
    assert np.isfinite(logits).all()


@pytest.mark.parametrize("rows", [0, 1])
def test_few_validation_rows_are_enough(kernels, rows):
    model = NbSvm()
    part = labelled(*made_up(80, 3, 1))
    few = Labelled(part.values[: part.offsets[rows]], part.offsets[: rows + 1], part.targets[:rows])
    learnt = model.fit_chosen(labelled(*made_up(100, 3, 0)), few, 3)
    assert np.isfinite(model.logits(learnt, *flat([[3, 4]]))).all()


def test_one_class_alone(kernels):
    model = NbSvm()
    learnt = model.fit(*flat([[2, 3], [4]]), np.array([1, 1]), 2)
    assert model.logits(learnt, *flat([[2], [9]])).argmax(1).tolist() == [1, 1]


def test_what_validation_chose_is_best_there(monkeypatch):
    tried = []
    scores = nbsvm._scores
    part = labelled(*made_up(200, 3, 1))

    def spy(learnt, x):
        found = scores(learnt, x)
        tried.append(((found.argmax(1) == part.targets).sum(), float(learnt["C"][0]), len(learnt["levels"])))
        return found

    monkeypatch.setattr(nbsvm, "_scores", spy)
    model = NbSvm()
    learnt = model.fit_chosen(labelled(*made_up(100, 3, 0)), part, 3)
    tried.pop()  # of the best one again, to sharpen it
    most = max(right for right, _, _ in tried)
    assert len({right for right, _, _ in tried}) > 1
    first = next((strength, longest) for right, strength, longest in tried if right == most)
    assert model.chosen(learnt) == {"C": first[0], "ngrams": first[1], "loss": "hinge"}


def test_a_strength_that_is_set_is_used():
    model, learnt = fitted(C=0.7)
    assert model.chosen(learnt)["C"] == 0.7


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_a_loss_that_is_set_is_used(loss):
    model, learnt = fitted(loss=loss)
    assert model.chosen(learnt)["loss"] == loss


def test_the_loss_is_chosen_on_validation():
    train, valid = labelled(*made_up(300, 4, 8)), labelled(*made_up(200, 4, 9))

    def right(loss, part):
        model = NbSvm(loss=loss, ngrams=1)
        learnt = model.fit_chosen(train, part, 4)
        answers = model.logits(learnt, part.values, part.offsets).argmax(1)
        return (answers == part.targets).sum(), model.chosen(learnt)["loss"], answers

    hinge, _, answers = right("hinge", valid)
    either, chosen, _ = right("chosen", valid)
    assert either > hinge
    assert chosen == "softmax"
    assert right("chosen", Labelled(valid.values, valid.offsets, answers))[1] == "hinge"  # which has them all right


def test_a_spec_from_before_the_loss_could_be_set_keeps_its_digest():
    assert "loss" not in NbSvm().to_dict()
    assert NbSvm().loss == "hinge"
    assert NbSvm(loss="chosen").to_dict()["loss"] == "chosen"


def test_two_classes_have_the_hinge(kernels):
    model, learnt = fitted(2, loss="softmax")
    assert model.chosen(learnt)["loss"] == "hinge"


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_native_and_numpy_agree(exact, loss):
    if native.library() is None:
        pytest.skip("no compiler")
    rows, _ = made_up(60, 4, 3)
    model, learnt = fitted(4, loss=loss, C=1.0, ngrams=2)
    with native.switched_off():
        _, other = fitted(4, loss=loss, C=1.0, ngrams=2)
        theirs = model.logits(other, *flat(rows))
    assert model.chosen(learnt) == model.chosen(other)
    np.testing.assert_allclose(model.logits(learnt, *flat(rows)), theirs, atol=2e-2)
