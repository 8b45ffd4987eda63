"""The models that are served, by name. They can be read again while requests are answered."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rnnlab.answers.text import Text as Written
from rnnlab.core.errors import ConfigError, DataError, RnnlabError, RunError, english
from rnnlab.data.joined import columns_of_text, join
from rnnlab.data.observed import Observed
from rnnlab.data.sequences import Sequences
from rnnlab.data.sound.wav import Waveform, decode
from rnnlab.data.tagged.schemes import types_of
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.runs.bundle import SUFFIX
from rnnlab.serving.limits import Refusal
from rnnlab.serving.requests import Text
from rnnlab.serving.series import SeriesQuestion, history_of, observations_of
from rnnlab.use import Prediction, Predictor, load
from rnnlab.use.card import by_label
from rnnlab.use.explanation import Explainer

log: logging.Logger = logging.getLogger(__name__)


Does = Literal["labels", "texts", "forecasts"]
"""What is asked of a model: to answer texts, to write and score them, or to continue series."""
WHO = {"labels": "a model of labels", "texts": "a language model", "forecasts": "a forecaster"}
WHY = {
    "labels": "which has no labels",
    "texts": "and only those write and score texts",
    "forecasts": "and only those continue series",
}
ASK = {
    "labels": "POST /v1/predict",
    "texts": "POST /v1/generate or /v1/score",
    "forecasts": "POST /v1/forecast",
}

SEVERAL = ("labels", "thresholds", "tags", "entities")  # what an answer of more than one label has
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
        if self.does == "forecasts":
            return self._info_of_forecaster()
        labels, card = list(self.predictor.labels), self.predictor.card
        columns = {"columns": list(self.columns)} if self.columns else {}
        scheme = self.predictor.scheme
        types = {} if scheme is None else {"types": types_of(labels, scheme)}
        found = [asdict(one) for one in by_label(card.metrics)]
        told = {"labels": labels, **types, **columns, "card": asdict(card), "by_label": found}
        answers = "text" if self.writes else "tags" if self.predictor.tags_tokens else "label"
        answers = "translation" if self.translates else answers
        asked = {"reads": "recording" if self.hears else "text", "answers": answers}
        if self.writes:
            asked["unit"] = "chars" if self.predictor.writer.tokenizer.name == "chars" else "words"
        return {"name": self.name, "kind": self.kind, **asked, **told}

    def _info_of_forecaster(self) -> dict[str, Any]:
        forecaster = self.predictor.forecaster
        observed = forecaster.observed
        return {
            "name": self.name,
            "kind": self.kind,
            "reads": "series",
            "answers": "forecast",
            "horizon": observed.horizon,
            "lookback": observed.lookback,
            "channels": list(forecaster.channels),
            "quantiles": list(forecaster.answer.quantiles),
            "spacing": None if observed.spacing is None else observed.spacing.told.en,
            "reads_dates": observed.calendar and observed.spacing is not None,
            "labels": [],
            "card": asdict(self.predictor.card),
            "by_label": [],
        }

    @property
    def does(self) -> Does:
        return "forecasts" if self.predictor.forecasts else "texts" if self.writes else "labels"

    @property
    def writes(self) -> bool:
        """Whether it is a language model, which continues texts and has no labels."""
        return isinstance(self.predictor.task.answer, Written)

    @property
    def translates(self) -> bool:
        """Whether it writes a text for another one, and has no labels either."""
        return self.predictor.task.answer.writes

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a model of several text columns, their names."""
        return self.predictor.preprocessor.text_columns

    @property
    def hears(self) -> bool:
        """Whether it is asked about recordings."""
        return self.predictor.preprocessor.sound is not None

    def read(self, texts: Sequence[Text]) -> list[Any]:
        """As the model reads them: of several columns, joined; of recordings, decoded."""
        found: list[Any] = []
        for number, text in enumerate(texts):
            if self.hears or isinstance(text, bytes):
                found.append(self._sound(text, number))
            elif self.columns:
                try:
                    found.append(columns_of_text(text, self.columns))
                except DataError as error:
                    raise Refusal(422, "invalid", english(error)) from None
            elif isinstance(text, str):
                found.append(text)
            else:
                raise Refusal(422, "invalid", "text: this model reads one text, and a string is needed (got an object)")
        return found

    def _sound(self, given: Text, number: int) -> Waveform:
        if not isinstance(given, bytes):
            raise Refusal(422, "invalid", "text: this model hears recordings; send a WAV file in base64 as 'wav'")
        if not self.hears:
            raise Refusal(422, "invalid", "wav: this model reads texts; send a 'text'")
        try:
            return decode(given, f"wav {number + 1}")
        except DataError as error:
            raise Refusal(422, "invalid", english(error)) from None

    def answer(self, texts: Sequence[Any]) -> tuple[list[dict[str, Any]], int]:
        """As they are sent, and how many tokens were read. What `Predictor.predict` says."""
        model = self.predictor
        if model.forecasts:
            return self._forecasts(texts)
        data, known = model.task.encode(texts, model.preprocessor)
        said: Sequence[Prediction]
        if model.task.answer.writes:
            said = model.translate(texts)
        else:
            said = model.tell(texts, data, known, model.logits(data))
        return [_sent(one) for one in said], int(data.offsets[-1])

    def _forecasts(self, asked: Sequence[SeriesQuestion]) -> tuple[list[dict[str, Any]], int]:
        """Of each question all its series, and how many steps were read."""
        forecaster = self.predictor.forecaster
        answers, read = [], 0
        for question in asked:
            seen = observations_of(forecaster, question)
            told = [found.to_dict() for found in forecaster.continued(seen)]
            if question.history:
                told = [one | {"history": history_of(forecaster, seen, at)} for at, one in enumerate(told)]
            answers.append({"forecasts": told})
            read += int(np.minimum(np.diff(seen.offsets), forecaster.observed.lookback).sum())
        return answers, read

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
    several = {name: value for name, value in said.to_dict().items() if name in SEVERAL}
    return several | {
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

    def find(self, name: str | None, does: Does = "labels") -> ServedModel:
        """That of this name, or the first that can do what is asked for."""
        models = self._models  # `reload` puts another in its place, from another thread
        if name is not None and name not in models:
            raise Refusal(404, "unknown_model", f"no model has this name; the models are {', '.join(models)}")
        asked = list(models.values() if name is None else [models[name]])
        found = next((model for model in asked if model.does == does), None)
        if found is not None:
            return found
        others = list(dict.fromkeys(model.does for model in asked))
        instead = " or ".join(ASK[other] for other in others)
        if does == "labels" and len(others) == 1:
            who = "every model here is" if name is None else f"the model {name!r} is"
            raise Refusal(422, "wrong_model", f"{who} {WHO[others[0]]}, {WHY[does]}; ask {instead}")
        who = "no model here is" if name is None else f"the model {name!r} isn't"
        raise Refusal(422, "wrong_model", f"{who} {WHO[does]}, {WHY[does]}; ask {instead}")

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
    if predictor.forecasts:
        predictor.forecaster.of_windows(
            _nothing(predictor.forecaster.observed)
        )  # what is made on first use is made now
        return ServedModel(name, predictor, explains=False)
    if predictor.preprocessor.features is not None and predictor.preprocessor.sound is None:
        raise RunError(
            "{path}: this model reads numeric sequences, and serve answers for texts: use rnnlab predict", path=path
        )
    if isinstance(predictor.task.answer, Written):
        predictor.writer.generate([""], length=1)  # what is made on first use is made now
        return ServedModel(name, predictor, explains=False)
    explains = False
    with suppress(RnnlabError):
        Explainer(predictor.stored)
        explains = not predictor.tags_tokens  # whose tags are explained one by one: `rnnlab predict --explain --token`
    if predictor.preprocessor.tokenizer is not None:
        predictor.predict(
            [join([""] * len(predictor.preprocessor.text_columns))]
        )  # what is made on first use is made now
    return ServedModel(name, predictor, explains)


def _nothing(observed: Observed) -> Sequences:
    """A window of one step."""
    one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
    values = np.concatenate([np.zeros((1, observed.width), np.float32), observed.steps_ahead(None)])
    ahead = np.full((1 + observed.horizon, observed.channels), np.nan, np.float32)
    return Sequences(values, none, one, ahead, none, horizon=observed.horizon, known_from=observed.known_from,
                     series=none, scales=observed.scales)  # fmt: skip
