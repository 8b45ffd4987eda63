"""Models of rnnlab as estimators of scikit-learn: in a Pipeline, in `cross_val_score`, in a grid search.

from rnnlab.sklearn import SequenceClassifier

model = SequenceClassifier("gru", epochs=5).fit(texts, labels)
model.predict(["not good at all"])
"""

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rnnlab.api.compare import train
from rnnlab.core.errors import RnnlabError
from rnnlab.data.memory import frame_columns
from rnnlab.use.predictor import Predictor, load
from rnnlab.use.stored import StoredModel

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as _error:
    raise ImportError("rnnlab.sklearn needs scikit-learn: pip install 'rnnlab[sklearn]'") from _error

LABEL = "‖label"  # no column of a frame is called so
HELD_OUT = 0.02  # of the rows, for the score in the model card: the user of this class measures by himself


if TYPE_CHECKING:  # scikit-learn says nothing of its types

    class _Classifier:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

else:

    class _Classifier(ClassifierMixin, BaseEstimator):
        pass


class SequenceClassifier(_Classifier):
    """One label per text, or per series of numbers.

    ``X`` holds texts; or a frame of several columns of texts, which are read together; or series: an array (rows,
    steps) or (rows, steps, channels), or a list of arrays (steps, channels) of any length. A tenth of the rows
    (``valid_fraction``) decides when training stops.

    ``model`` is a name such as lstm, bigru or textcnn (``rnnlab list models``); ``settings`` are texts as for
    ``--set``, for example ``["model.hidden=64", "task.tokenizer=chars"]``. ``random_state`` is the seed of the run.
    Runs are kept in the folder ``out``, where the same fit is found again; without one, nothing is kept.
    """

    classes_: np.ndarray
    feature_names_in_: np.ndarray
    n_features_in_: int

    def __init__(
        self,
        model: str = "lstm",
        *,
        epochs: int | None = None,
        vectors: str | None = None,
        settings: Sequence[str] = (),
        valid_fraction: float = 0.1,
        random_state: int | None = None,
        out: str | None = None,
    ):
        self.model = model
        self.epochs = epochs
        self.vectors = vectors
        self.settings = settings
        self.valid_fraction = valid_fraction
        self.random_state = random_state
        self.out = out

    def fit(self, X: Any, y: Any) -> Self:
        inputs = self._checked(X, reset=True)
        if _holds_sets(y):
            raise ValueError(
                "y holds several labels per row, and SequenceClassifier gives one: use rnnlab.train((X, y), "
                "task={'multi_label': ';'}), or one estimator per label (sklearn.multiclass.OneVsRestClassifier)"
            )
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        if len(labels) != len(inputs):
            raise ValueError(f"X has {len(inputs)} rows and y has {len(labels)}: they must be equally many")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only, {self.classes_[0]!r}: a classifier needs at least two classes")
        kept = nullcontext(self.out) if self.out else tempfile.TemporaryDirectory(prefix="rnnlab-fit-")
        with kept as folder:
            try:
                run = train(
                    self._table(inputs, [str(number) for number in numbers]),
                    model=self.model,
                    seed=self.random_state or 0,
                    task={"valid_fraction": self.valid_fraction, "test_fraction": HELD_OUT, **self._columns()},
                    training={} if self.epochs is None else {"epochs": self.epochs},
                    vectors=self.vectors,
                    settings=list(self.settings),
                    out=folder,
                )
                self._keep(load(run.path).stored)
            except RnnlabError as error:
                raise ValueError(str(error)) from None
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(rows, classes), in the order of ``classes_``: calibrated on the validation rows."""
        check_is_fitted(self)
        inputs = self._checked(X, reset=False)
        order = [str(number) for number in range(len(self.classes_))]
        answers = self._predictor.predict(inputs)
        return np.array([[answer.probabilities[label] for label in order] for answer in answers])

    def predict(self, X: Any) -> np.ndarray:
        most_likely = self.predict_proba(X).argmax(1)
        return self.classes_[most_likely]

    def _table(self, inputs: list[Any], labels: list[str]) -> Any:
        """The rows to learn from."""
        if not self._columns():
            return inputs, labels
        by_name = zip(self.feature_names_in_, zip(*inputs, strict=True), strict=True)
        return {str(name): list(texts) for name, texts in by_name} | {LABEL: labels}

    def _columns(self) -> dict[str, Any]:
        """Settings of the task: which columns of a frame are the text, where there are several."""
        names = list(getattr(self, "feature_names_in_", ()))
        return {"text": names, "label": LABEL} if len(names) > 1 else {}

    def _keep(self, stored: StoredModel) -> None:
        self.stored_ = stored
        self._predictor = Predictor(stored)

    def _checked(self, X: Any, reset: bool) -> list[Any]:
        """Texts, or arrays (steps, channels)."""
        frame = _text_frame(X)
        if frame is not None:
            return self._rows_of(frame, reset)
        if _holds_texts(X):
            if reset:
                self.n_features_in_ = 1
                self.__dict__.pop("feature_names_in_", None)
            return [str(text) for text in X]
        if isinstance(X, list | tuple) and any(np.shape(row) != np.shape(X[0]) for row in X):
            return [np.asarray(row, np.float32) for row in X]
        given: Any = X
        array: Any = validate_data(self, given, reset=reset, allow_nd=True, dtype=np.float32)
        return list(array[:, :, None] if array.ndim == 2 else array)

    def _rows_of(self, frame: dict[str, list[str]], reset: bool) -> list[Any]:
        """Texts; or, of several columns, tuples of them."""
        names = list(frame)
        if reset:
            self.feature_names_in_, self.n_features_in_ = np.array(names, object), len(names)
        known = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if set(names) != set(known):
            raise ValueError(f"X has the columns {names}, and the model was fitted with {known}")
        rows = list(zip(*(frame[name] for name in known), strict=True))
        return rows if len(known) > 1 else [row[0] for row in rows]

    def __getstate__(self) -> dict[str, Any]:
        given: Any = super().__getstate__()
        state = dict(given)
        state.pop("_predictor", None)
        if "stored_" in state:
            own = state["stored_"]
            state["stored_"] = StoredModel(own.name, own.spec, own.preprocessor, own.weights, own.card)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "stored_"):
            self._keep(self.stored_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.three_d_array = True
        return tags


def _text_frame(X: Any) -> dict[str, list[str]] | None:
    """The columns of a frame that holds nothing but texts; one that is missing is empty."""
    found: dict[str, list[str]] = {}
    for name, values in (frame_columns(X) or {}).items():
        texts = [value if isinstance(value, str) else "" for value in values]
        missing = [value for value in values if not isinstance(value, str)]
        if len(missing) == len(texts) or not all(value is None or value != value for value in missing):
            return None
        found[name] = texts
    return found or None


def _holds_texts(X: Any) -> bool:
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and len(values) > 0 and all(isinstance(value, str) for value in values)
    return isinstance(values, list | tuple) and len(values) > 0 and all(isinstance(value, str) for value in values)


def _holds_sets(y: Any) -> bool:
    """Lists of labels, or a table of which rows have which."""
    several = (list, tuple, set, frozenset)
    if isinstance(y, list | tuple):
        return any(isinstance(labels, several) and len(labels) != 1 for labels in y)
    shape = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1
