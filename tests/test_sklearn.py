"""rnnlab's models in scikit-learn: its own checks, a pipeline, cross-validation."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from rnnlab.sklearn import SequenceClassifier

RNG = np.random.default_rng(0)
GOOD, BAD = ["lovely", "great", "fine", "warm", "bright"], ["dull", "poor", "awful", "cold", "dreary"]
LABELS = np.array(["bad", "good"] * 60)
FILLING = ["a", "the", "film", "was", "rather", "very"]
TEXTS = [
    f"{' '.join(RNG.choice([*FILLING, *(GOOD if label == 'good' else BAD)], 9))} {n}" for n, label in enumerate(LABELS)
]


def test_scikit_learns_own_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(SequenceClassifier("gru", epochs=15), on_fail=None, on_skip=None)
    assert {check["check_name"]: str(check["exception"]) for check in done if check["status"] == "failed"} == {}
    assert sum(check["status"] == "passed" for check in done) > 45


def test_texts_in_a_pipeline_under_cross_validation():
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, SequenceClassifier("fasttext", epochs=20))
    scores = cross_val_score(pipeline, TEXTS, LABELS, cv=3)
    assert scores.mean() > 0.9
    search = GridSearchCV(SequenceClassifier("fasttext"), {"epochs": [1, 20]}, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_ == {"epochs": 20}


def test_classes_come_back_as_they_were_given():
    for classes in (np.array([3, 11]), np.array(["坏", "好"]), np.array([False, True])):
        labels = classes[(LABELS == "good").astype(int)]
        model = SequenceClassifier("fasttext", epochs=20).fit(np.array(TEXTS, dtype=object), labels)
        assert model.classes_.tolist() == classes.tolist()
        assert model.predict(TEXTS).dtype == labels.dtype
        assert (model.predict(TEXTS) == labels).mean() > 0.9
        chances = model.predict_proba(TEXTS[:5])
        assert chances.shape == (5, 2)
        assert np.allclose(chances.sum(1), 1)


def test_a_frame_of_texts_is_read_column_by_column(tmp_path: Path):
    other = ["a film about a dog", "a play about a cat"]
    frame = pd.DataFrame({"review": TEXTS, "about": other * 60, "empty": [None, "x"] * 60})
    model = SequenceClassifier("textcnn", epochs=8).fit(frame, LABELS)
    assert model.feature_names_in_.tolist() == ["review", "about", "empty"]
    assert model.n_features_in_ == 3
    assert model.stored_.preprocessor.text_columns == ("review", "about", "empty")
    assert (model.predict(frame) == LABELS).mean() > 0.9
    assert (model.predict(frame[["empty", "about", "review"]]) == model.predict(frame)).all()  # by name
    with pytest.raises(ValueError, match="X has the columns"):
        model.predict(frame[["review"]])
    one = SequenceClassifier("fasttext", epochs=20).fit(frame[["review"]], LABELS)
    assert (one.predict(frame[["review"]]) == LABELS).mean() > 0.9


def test_what_was_fitted_can_be_pickled_and_the_runs_kept(tmp_path: Path):
    model = SequenceClassifier("gru", epochs=2, out=str(tmp_path), random_state=3).fit(TEXTS, LABELS)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(TEXTS), model.predict_proba(TEXTS))
    (run,) = (path for path in tmp_path.iterdir() if path.is_dir())
    before = (run / "weights.safetensors").stat().st_mtime_ns
    again = SequenceClassifier("gru", epochs=2, out=str(tmp_path), random_state=3).fit(TEXTS, LABELS)
    assert (run / "weights.safetensors").stat().st_mtime_ns == before  # found, not trained again
    assert np.array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_series_of_any_length():
    series = [RNG.normal(1 if label == "good" else -1, 1, (RNG.integers(3, 9), 2)) for label in LABELS]
    model = SequenceClassifier("gru", epochs=15).fit(series, LABELS)
    assert (model.predict(series) == LABELS).mean() > 0.9


def test_mistakes_are_value_errors():
    with pytest.raises(ValueError, match="no_such_model"):
        SequenceClassifier("no_such_model").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="X has 120 rows and y has 3"):
        SequenceClassifier().fit(TEXTS, LABELS[:3])
    with pytest.raises(ValueError, match="one class only"):
        SequenceClassifier().fit(TEXTS, ["good"] * 120)


@pytest.mark.parametrize("labels", [[["a", "b"], ["a"], []] * 20, np.tile([[1, 0], [1, 1], [0, 1]], (20, 1))])
def test_several_labels_per_row_are_refused_with_a_remedy(labels: Any):
    with pytest.raises(ValueError, match=r"several labels per row.*task={'multi_label': ';'}"):
        SequenceClassifier("gru").fit([f"row number {n}" for n in range(60)], labels)
