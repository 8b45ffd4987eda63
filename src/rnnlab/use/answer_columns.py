"""Answers as columns behind those of a table: what they are called, and what is in them."""

import json
from collections.abc import Sequence
from typing import Any

from rnnlab.answers.prediction import Prediction
from rnnlab.answers.tags import TagsPrediction
from rnnlab.core.words import note
from rnnlab.data.formats.base import Cell
from rnnlab.use.predictor import Predictor


def added_columns(
    model: Predictor, there: Sequence[str], top: int, probabilities: bool, has_tokens: bool = False
) -> tuple[dict[str, type], tuple[str, ...]]:
    """The new columns, and what to say of names that are ``there`` already. ``has_tokens``: those that are tagged are
    among them."""
    wanted: dict[str, type] = {"prediction": str, "probability": float}
    if model.preprocessor.thresholds:
        wanted, probabilities = {"prediction": str}, True
    if model.tags_tokens:
        wanted = {**({} if has_tokens else {"tokens": str}), **wanted, **({"entities": str} if model.scheme else {})}
    for place in range(2, min(top, len(model.labels)) + 1):
        wanted |= {f"prediction {place}": str, f"probability {place}": float}
    if probabilities:
        wanted |= {f"p({label})": float for label in model.labels}
    taken = set(there)
    added: dict[str, type] = {}
    notes = []
    for name, kind in wanted.items():
        free = name
        while free in taken:
            free += "_new"
        if free != name:
            notes.append(note("there is a column {name!r} already; the new one is {free!r}", name=name, free=free))
        taken.add(free)
        added[free] = kind
    return added, tuple(notes)


def cells_of(model: Predictor, answer: Any, top: int, probabilities: bool) -> list[Cell]:
    """Of a prediction; what isn't one leaves them empty."""
    if model.tags_tokens:
        return tag_cells(answer, as_text=True) or [None] * (4 if model.scheme else 3)
    if model.preprocessor.thresholds:
        given = [answer.label, *answer.probabilities.values()] if isinstance(answer, Prediction) else []
        return given or [None] * (1 + len(model.labels))
    places = max(1, min(top, len(model.labels)))
    if not isinstance(answer, Prediction):
        return [None] * (2 * places + (len(model.labels) if probabilities else 0))
    cells: list[Cell] = [answer.label, answer.probability]
    if places > 1:
        for label, probability in answer.top(places)[1:]:
            cells += [label, probability]
        cells += [None] * (2 * places - len(cells))  # of words there may be fewer
    if probabilities:
        cells += [answer.probabilities[label] for label in model.labels]
    return cells


def tag_cells(answer: Any, as_text: bool, has_tokens: bool = False) -> list[Cell]:
    """Of what tags tokens. A table of texts has cells of texts: tokens and tags with spaces between, entities as
    JSON."""
    if not isinstance(answer, TagsPrediction):
        return []
    entities = None if answer.entities is None else [entity._asdict() for entity in answer.entities]
    tokens: list[Cell] = [] if has_tokens else [" ".join(answer.tokens) if as_text else list(answer.tokens)]
    tags = answer.label if as_text else [tag for tag, _ in answer.steps]
    found: list[Cell] = [*tokens, tags, answer.probability]
    if entities is not None:
        found.append(json.dumps(entities, ensure_ascii=False) if as_text else entities)
    return found
