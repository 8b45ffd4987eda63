"""Frames in memory are answered as files are: what comes back has the same rows and columns, with the answers behind.

pandas, polars and Arrow are never imported here: a frame makes the new one by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.data.formats.base import texts_of
from rnnlab.data.joined import join
from rnnlab.data.memory import columns_of
from rnnlab.data.tables import Table
from rnnlab.use.answer_columns import added_columns, cells_of, tag_cells
from rnnlab.use.predictor import Predictor


def is_frame(inputs: Any) -> bool:
    """A frame, or a dict of columns; rather than a list of inputs."""
    return isinstance(inputs, Mapping) or hasattr(inputs, "columns") or hasattr(inputs, "column_names")


def predict_frame(model: Predictor, frame: Any, text: str | Sequence[str] | None) -> Any:
    """The frame with the columns of ``predict -o --probabilities`` behind its own: of the same kind, with the same
    index."""
    columns = columns_of(frame)
    if model.tags_tokens:
        return _extended(frame, _tagged(model, columns, text, type(frame).__name__))
    inputs = _inputs(model, columns, text, type(frame).__name__) if any(map(len, columns.values())) else []
    probabilities = model.task.answer.reads != "states"  # of an answer per step, there would be too many
    added, _ = added_columns(model, list(columns), 1, probabilities)
    rows = [cells_of(model, answer, 1, probabilities) for answer in model.predict(inputs)]
    return _extended(frame, {name: [row[at] for row in rows] for at, name in enumerate(added)})


def _tagged(
    model: Predictor, columns: Mapping[str, Sequence[Any]], text: str | Sequence[str] | None, kind: str
) -> dict[str, list[Any]]:
    """Tags as lists; where texts had to be cut, their tokens, too."""
    name = _token_column(model, columns, text)
    if name is not None:
        inputs: list[Any] = [_tokens(cell, row, name) for row, cell in enumerate(columns[name], 1)]
    else:
        inputs = _inputs(model, columns, text, kind) if any(map(len, columns.values())) else []
    added, _ = added_columns(model, list(columns), 1, False, has_tokens=name is not None)
    rows = [tag_cells(answer, as_text=False, has_tokens=name is not None) for answer in model.predict(inputs)]
    return {new: [row[at] for row in rows] for at, new in enumerate(added)}


def _tokens(cell: Any, row: int, name: str) -> list[str]:
    if not isinstance(cell, list | tuple | np.ndarray) or not len(cell):
        raise DataError("row {row}: the column {name!r} has no list of tokens here", row=row, name=name)
    return [str(token) for token in cell]


def _token_column(
    model: Predictor, columns: Mapping[str, Sequence[Any]], text: str | Sequence[str] | None
) -> str | None:
    """That holds lists of tokens: the named one, that of training, or one that is called so; None: texts are read."""
    from rnnlab.data.tagged.token_table import TOKENS

    found = [name for name, values in columns.items() if _holds_arrays(values)]
    if text is not None:
        return text if isinstance(text, str) and text in found else None
    likely = (getattr(model.task, "tokens", None), *(name for name in found if name.lower() in TOKENS))
    return next((name for name in likely if name in found), None)


def _inputs(
    model: Predictor, columns: Mapping[str, Sequence[Any]], text: str | Sequence[str] | None, kind: str
) -> list[Any]:
    from rnnlab.use.input_file import chosen_columns  # which is loaded for tables alone

    rows = len(next(iter(columns.values())))
    if model.preprocessor.vocabulary is None:
        return [np.asarray(value, np.float32) for value in columns[_series_column(columns, text)]]
    texts = {name: texts_of(name, values)[0] for name, values in columns.items() if not _holds_arrays(values)}
    table = Table(kind, tuple(texts), texts, np.arange(1, rows + 1), [], "")
    own = getattr(model.task, "text", None)  # as it was named for training
    named = text if text is not None or not isinstance(own, str) or own not in texts else own
    chosen = chosen_columns(table, named, model.preprocessor.text_columns)
    parts = [texts[name] for name in chosen]
    return parts[0] if len(parts) == 1 else list(map(join, zip(*parts, strict=True)))


def _series_column(columns: Mapping[str, Sequence[Any]], text: str | Sequence[str] | None) -> str:
    found = [name for name, values in columns.items() if _holds_arrays(values)]
    named = [text] if isinstance(text, str) else list(text) if text is not None else found
    if len(named) != 1 or named[0] not in found:
        raise DataError(
            "this model reads numbers, and one column of the frame must hold arrays of them; name it with text=… "
            "(columns with arrays: {names})",
            names=", ".join(found) or "–",
        )
    return named[0]


def _holds_arrays(values: Sequence[Any]) -> bool:
    first = next((value for value in values if value is not None), None)
    return isinstance(first, list | tuple | np.ndarray)


def _extended(frame: Any, answers: dict[str, list[Any]]) -> Any:
    if isinstance(frame, Mapping):
        return {**frame, **answers}
    if hasattr(frame, "assign"):  # pandas: lists are put beside its rows, whatever the index is
        return frame.assign(**answers)
    if hasattr(frame, "hstack"):  # polars
        return frame.hstack(type(frame)(answers))
    for method in ("append_column", "add_column"):  # Arrow, datasets.Dataset
        if hasattr(frame, method):
            for name, values in answers.items():
                frame = getattr(frame, method)(name, [values] if method == "append_column" else values)
            return frame
    return {**columns_of(frame), **answers}
