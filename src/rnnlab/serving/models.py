"""The models that are served, by name. They can be read again while requests are answered."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import ConfigError, RnnlabError, RunError
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.runs.bundle import SUFFIX
from rnnlab.serving.limits import Refusal
from rnnlab.use import Prediction, Predictor, load
from rnnlab.use.explanation import Explainer

log = logging.getLogger(__name__)


EXPLAINED_POINTS = 64  # of integration: a page waits for the answer


@dataclass(frozen=True, eq=False)
class ServedModel:
    name: str
    predictor: Predictor
    explains: bool

    @property
    def kind(self) -> str:
        return self.predictor.stored.spec.model.kind

    @property
    def info(self) -> dict[str, Any]:
        """For ``GET /v1/models``."""
        labels, card = list(self.predictor.labels), asdict(self.predictor.card)
        return {"name": self.name, "kind": self.kind, "labels": labels, "card": card}

    def answer(self, texts: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        """As they are sent, and how many tokens were read. What `Predictor.predict` says."""
        model = self.predictor
        data, known = model.task.encode(texts, model.preprocessor)
        calibrated = model.logits(data) / np.float64(model.card.temperature)
        said = model.task.predictions(calibrated, data, known, model.preprocessor)
        return [_sent(one) for one in said], int(data.offsets[-1])

    def explain(self, texts: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        """The same, each with what its tokens weigh; without, if this model can't tell."""
        if not self.explains:
            return self.answer(texts)
        answers, read = [], 0
        for text in texts:
            said = self.predictor.explain(text, most_points=EXPLAINED_POINTS)
            tokens = [{"text": token, "weight": float(weight)} for token, weight in said.tokens]
            ids = self.predictor.preprocessor.encode([text])[0].tokens
            if not self.predictor.stored.is_baseline:  # whose tokens may be pairs of words
                for token, number in zip(tokens, ids, strict=True):
                    token["known"] = bool(number != UNKNOWN)
            answers.append(_sent(said.prediction) | {"tokens": tokens})
            read += len(ids)
        return answers, read


def _sent(said: Prediction) -> dict[str, Any]:
    return {
        "label": said.label,
        "probability": float(said.probability),
        "probabilities": said.probabilities,
        "known": float(said.known),
    }


class Models:
    """In the order in which they were given; the first is the default."""

    def __init__(self, arguments: Sequence[str]):
        self._paths = named(arguments)
        self._models = {name: open_served(name, path) for name, path in self._paths.items()}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(tuple(self._models.values()))

    def find(self, name: str | None) -> ServedModel:
        models = self._models  # `reload` puts another in its place, from another thread
        if name is None:
            return next(iter(models.values()))
        if name not in models:
            raise Refusal(404, "unknown_model", f"no model has this name; the models are {', '.join(models)}")
        return models[name]

    def reload(self) -> dict[str, bool]:
        """Reads all files again and says of each model whether that went well. What can't be read stays as it is."""
        read: dict[str, ServedModel] = {}
        went_well: dict[str, bool] = {}
        for name, path in self._paths.items():
            try:
                read[name] = open_served(name, path)
            except (RnnlabError, OSError) as error:
                log.error("%s isn't reloaded and stays as it is: %s", name, error)
            except Exception:  # whatever is wrong with new files, the old model still works
                log.exception("%s isn't reloaded and stays as it is", name)
            went_well[name] = name in read
        self._models = {name: read.get(name, old) for name, old in self._models.items()}
        return went_well


def named(arguments: Sequence[str]) -> dict[str, str]:
    """``"reviews=runs/1f0c"`` or ``"reviews.rnnlab"`` → the path by its name."""
    paths: dict[str, str] = {}
    for argument in arguments:
        name, sign, path = argument.partition("=")
        if not sign or Path(argument).exists():
            name, path = Path(argument).resolve().name.removesuffix(SUFFIX), argument
        if not name or not name.isprintable() or not path:
            raise ConfigError("{argument!r}: a model is given as PATH, or as NAME=PATH", argument=argument)
        if name in paths:
            raise ConfigError(
                "two models are called {name!r}: give one another name, NAME={path}", name=name, path=path
            )
        paths[name] = path
    return paths


def open_served(name: str, path: str) -> ServedModel:
    predictor = load(path)
    if predictor.preprocessor.features is not None:
        raise RunError(
            "{path}: this model reads numeric sequences, and serve answers for texts: use rnnlab predict", path=path
        )
    explains = False
    with suppress(RnnlabError):
        Explainer(predictor.stored)
        explains = True
    if predictor.preprocessor.tokenizer is not None:
        predictor.predict([""])  # what is made on first use is made now
    return ServedModel(name, predictor, explains)
