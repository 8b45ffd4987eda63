"""A stored model is opened and asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from os import PathLike
from typing import Any, Protocol, TypeVar, overload

import numpy as np
import torch

from rnnlab.answers.forecast import Forecast
from rnnlab.answers.prediction import Asked, Explanation, Prediction
from rnnlab.answers.text import Text
from rnnlab.answers.translation import Translation
from rnnlab.core.errors import ConfigError, DataError, RunError
from rnnlab.core.words import both
from rnnlab.data.batches import collate, evaluation_batches
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import State
from rnnlab.models.baselines import Baseline
from rnnlab.models.network import Network
from rnnlab.tasks.base import Task
from rnnlab.use.card import Card
from rnnlab.use.explanation import Explainer
from rnnlab.use.folded import Answers, fold
from rnnlab.use.forecasting import Forecaster, SeriesForecast
from rnnlab.use.stored import StoredModel, open_model
from rnnlab.use.translating import TranslationPrediction, Translator
from rnnlab.use.writing import Sample, Surprise, Writer

CHUNK = 4096  # rows encoded at a time, so that a long stream needs little memory
FEWEST = 16  # rows in a batch: MKL multiplies fewer ones in another order, and over many steps that can be seen
MOST_TOKENS = 16384  # in a batch, unless a row alone has more
UNLESS = both("without --stream every line is a text by itself")


class HasColumns(Protocol):
    """A frame of pandas or polars."""

    @property
    def columns(self) -> Any: ...


Frame = TypeVar("Frame", bound=HasColumns)


class Predictor:
    """Answers for texts (or numeric sequences), the same whatever the batch. How a row is read and what is told of it
    is the task's affair. Probabilities are calibrated: the logits are divided by the temperature of the card."""

    def __init__(self, stored: StoredModel):
        self.stored = stored
        self.card: Card = stored.card
        self.preprocessor: Preprocessor = stored.preprocessor
        self.labels: tuple[str, ...] = stored.preprocessor.labels
        self.task: Task = stored.spec.task
        if self.task.question is None and not isinstance(self.task.answer, Text | Translation | Forecast):
            raise RunError(
                "{name}: predict answers with one label per sequence, and '{kind}' doesn't",
                name=stored.name,
                kind=self.task.kind,
            )

    @property
    def tags_tokens(self) -> bool:
        """Whether what it reads are sentences, whose tokens it tags."""
        return self.preprocessor.spelling is not None

    @property
    def scheme(self) -> str | None:
        """In which its tags mark entities; None where they don't."""
        return getattr(self.task.answer, "scheme", None)

    @overload
    def predict(self, inputs: Frame, *, text: str | Sequence[str] | None = None) -> Frame: ...
    @overload
    def predict(self, inputs: Mapping[str, Any], *, text: str | Sequence[str] | None = None) -> dict[str, Any]: ...
    @overload
    def predict(self, inputs: Iterable[Any]) -> list[Prediction]: ...
    def predict(self, inputs: Any, *, text: str | Sequence[str] | None = None) -> Any:
        """A list of inputs gives one prediction for each: strings for a text model, (T, D) arrays for a numeric one; a
        model of several text columns takes dicts of them, or tuples in their order.

        A frame (pandas, polars, Arrow) or a dict of columns gives one back with the same rows: its own columns, and
        behind them ``prediction``, ``probability`` and one ``p(label)`` per label. ``text`` names the column or
        columns to read, where they aren't called as in training."""
        from rnnlab.use.frames import is_frame, predict_frame

        if is_frame(inputs):
            return predict_frame(self, inputs, text)
        if text is not None:
            raise DataError("text names columns of a frame, and these inputs have none; leave it out")
        return list(self.stream(inputs))

    def stream(self, inputs: Iterable[Any]) -> Iterator[Prediction]:
        """As `predict` of a list, for inputs of any number, in constant memory."""
        if isinstance(inputs, str | np.ndarray | Mapping):  # whose letters, steps or names would be taken for inputs
            raise DataError("give a list of inputs, for example predict([text]), not a single one")
        inputs = iter(inputs)
        while chunk := list(islice(inputs, CHUNK)):
            yield from self._answers(chunk)

    def explain(
        self,
        text: Any,
        label: str | None = None,
        most_points: int | None = None,
        token: int | str | None = None,
    ) -> Explanation:
        """The answer to one text and how much each of its tokens speaks for it, or for another ``label``. With at most
        so many points of integration it is quicker and, for a network with sharp corners, less exact. Where every token
        has a tag, that of one ``token`` is explained: by its number, from 1, or its text; by default the least sure."""
        tokens = self.tags_tokens and isinstance(text, list)
        if not isinstance(text, str) and not self.preprocessor.text_columns and not tokens:
            raise DataError("explain takes one text, for example explain('not good at all')")
        explainer = self._explainer  # first: it may refuse
        (prediction,) = self._answers([text])
        return explainer.explain(text, prediction, label, most_points, token)

    def logits(self, data: Sequences) -> np.ndarray:
        """(rows, C), not calibrated; or (N, C) for all steps of all rows where there is an answer at every step."""
        lookup, outputs = self.stored.lookup, self._outputs(data)
        return outputs if lookup is None else lookup.answer(outputs, data)

    @cached_property
    def translator(self) -> Translator:
        """Of a model that writes texts for texts: `Translator.translate`, with a beam and alternatives."""
        return Translator(self.stored)

    def translate(
        self, texts: Sequence[str], *, beam: int | None = None, alternatives: int | None = None
    ) -> list[TranslationPrediction]:
        """A text for each: see `Translator.search_by` and `Translator.translate`."""
        if beam is not None or alternatives is not None:
            self.translator.search_by(beam, alternatives)
        return self.translator.translate(texts)

    @property
    def forecasts(self) -> bool:
        """Whether it is asked for the next steps of series."""
        return isinstance(self.task.answer, Forecast)

    @cached_property
    def forecaster(self) -> Forecaster:
        """Of a model that forecasts series."""
        return Forecaster(self.stored)

    def forecast(self, data: Any, *, series: str | None = None, date: str | int | None = None) -> list[SeriesForecast]:
        """The next steps of each series of a file, a frame, columns or numbers: see `Forecaster.forecast`."""
        return self.forecaster.forecast(data, series=series, date=date)

    @cached_property
    def writer(self) -> Writer:
        """Of a language model: what writes (`Writer.generate`, `Writer.stream`) and scores texts (`Writer.score`)."""
        return Writer(self.stored)

    def generate(self, prompt: str = "", **how: Any) -> list[Sample]:
        """A language model goes on with a prompt: see `Writer.generate`."""
        return self.writer.generate([prompt], **how)

    def score(self, text: str) -> Surprise:
        """How surprised a language model is by each token of a text."""
        return self.writer.score(text)

    def _answers(self, chunk: Sequence[Any]) -> Sequence[Prediction]:
        if isinstance(self.task.answer, Text):
            raise RunError(
                "{name}: a language model is asked for no label; let it write with 'rnnlab generate', or see how "
                "surprised it is with 'rnnlab predict MODEL --score FILE'",
                name=self.stored.name,
            )
        if self.forecasts:
            raise RunError(
                "{name}: a model that forecasts is given series, not rows: 'rnnlab predict MODEL --file FILE', or "
                "forecast(data) in Python",
                name=self.stored.name,
            )
        if self.task.answer.writes:
            return self.translate(chunk)
        data, known = self.task.encode(chunk, self.preprocessor)
        return self.tell(chunk, data, known, self.logits(data))

    def tell(
        self, inputs: Sequence[Any], data: Sequences, known: np.ndarray, outputs: np.ndarray
    ) -> Sequence[Prediction]:
        """What to tell of each row that was encoded, given all outputs as `logits` has them."""
        return self.task.predictions(outputs, Asked(inputs, data, known, self.preprocessor, self.card.temperature))

    @cached_property
    def _outputs(self) -> Callable[[Sequences], np.ndarray]:
        model = self.stored.spec.model
        if isinstance(model, Baseline):
            learnt = self.stored.learnt
            return lambda data: model.logits(learnt, *model.rows(data, self.preprocessor))
        return outputs_of(self.stored.network)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.stored)


class ReadingOn:
    """A text that grows: what arrives is read from where the model stopped, and the answer is that to all of it so far,
    in the time of the new tokens alone. Only for models that read the past alone: what others made of the first tokens
    changes with every new one."""

    model: Predictor
    preprocessor: Preprocessor
    network: Network
    known: float
    tokens: int
    state: State
    recent: np.ndarray

    def __init__(self, model: Predictor):
        stored = model.stored
        kind = stored.spec.model.kind
        if isinstance(stored.spec.model, Baseline):
            raise RunError(
                "--stream: '{kind}' counts whole texts, and has no state to go on from; {unless}",
                kind=kind,
                unless=UNLESS,
            )
        if stored.preprocessor.tokenizer is None or type(model.task).encode is not Task.encode:
            raise RunError(
                "--stream is for models that read texts, and '{kind}' doesn't ask for one", kind=model.task.kind
            )
        if stored.preprocessor.text_columns:
            raise RunError(
                "--stream: this model reads the columns {names}, and a text that grows is one; {unless}",
                names=", ".join(stored.preprocessor.text_columns),
                unless=UNLESS,
            )
        if stored.lookup is not None:
            raise RunError(
                "--stream: this model looks whole texts up in its training rows (model.lookup); {unless}", unless=UNLESS
            )
        if stored.preprocessor.chain:
            raise RunError(
                "--stream: '{kind}' chooses the best path of tags through a whole text (model.crf), and earlier tags "
                "would change with every new token; {unless}",
                kind=kind,
                unless=UNLESS,
            )
        if stored.preprocessor.marks is not None and "segments" in stored.preprocessor.marks.kinds:
            raise RunError(
                "--stream: this model reads where characters stand in words (segments), which is found in whole texts; "
                "{unless}",
                unless=UNLESS,
            )
        self.model, self.preprocessor, self.network = model, stored.preprocessor, stored.network
        try:
            self.network.begin(1)
        except ConfigError as error:
            raise RunError(
                "--stream: '{kind}' can't answer while a text grows. {error}; {unless}",
                kind=kind,
                error=error,
                unless=UNLESS,
            ) from None
        self.begin()

    def begin(self) -> None:
        """A new text."""
        self.state = self.network.begin(1)
        self.tokens, self.known = 0, 0.0
        self.recent = np.zeros(0, np.int32)  # tokens that an n-gram of the next part may begin with
        self.last: Prediction | None = None

    def add(self, text: str) -> Prediction:
        """The answer to the text so far, this part included; where every step has an answer, those to this part. What a
        model was never shown, because texts were cut at its ``max_length``, changes nothing here either."""
        data, (share,) = self.preprocessor.encode([text])
        ids = self._with_ngrams(data.values)
        left = None if self.preprocessor.max_length is None else self.preprocessor.max_length - self.tokens
        ids = ids[:left] if left is None or left > 0 else ids[:0]
        if len(ids) or self.last is None:
            self.known += float(share) * len(ids)
            self.tokens += len(ids)
            inputs = torch.from_numpy(np.ascontiguousarray(ids))[None].long()
            with torch.inference_mode():
                out, self.state = self.network.advance(inputs, torch.tensor([len(ids)]), self.state)
            read = Sequences.end_to_end(ids, np.array([0, len(ids)]), np.zeros(1, np.int64), np.zeros(1, np.int64))
            known = np.array([self.known / self.tokens])
            (self.last,) = self.model.tell([text], read, known, out.flatten(0, -2).numpy())  # (1, C), or (T, C)
        return self.last

    def _with_ngrams(self, ids: np.ndarray) -> np.ndarray:
        """(T,) or (T, K), as they are; where n-grams are inputs, with those that began in the part before."""
        vocabulary = self.preprocessor.vocabulary
        if vocabulary is None or vocabulary.ngrams is None:
            return ids
        both = np.concatenate([self.recent, ids[:, 0]])
        found = vocabulary.with_ngrams(both, np.array([0, len(both)]))[len(self.recent) :]
        self.recent = both[1 - max(vocabulary.ngrams.sizes) :]
        return np.column_stack([found, ids[:, found.shape[1] :]])  # behind them, what is seen of the tokens themselves


def load(model: str | PathLike[str] | None) -> Predictor:
    """The model of a run directory (or the beginning of its name) or of a bundle; None, which is what
    ``result.recommended_run`` may be, is refused with the reason."""
    if model is None:
        raise RunError(
            "load: there is no run to load, because nothing is recommended; result.verdict.sentence says why, and "
            "result.arms[0].runs[0].path is a run of the model with the highest score"
        )
    return Predictor(open_model(model))


def outputs_of(network: Network) -> Callable[[Sequences], np.ndarray]:
    """The fastest way to the outputs of a network in evaluation mode."""
    folded = fold(network)
    return Answers(folded).outputs if folded is not None else partial(network_outputs, network)


def network_outputs(network: Network, data: Sequences) -> np.ndarray:
    """(rows, C), or (N, C) for all steps of all rows where there is an answer at every step."""
    outputs: np.ndarray | None = None
    by_step = network.reads == "states"
    with torch.inference_mode():
        for rows, batch in evaluation_batches(data, MOST_TOKENS):
            room = MOST_TOKENS // batch.inputs.shape[1]
            if len(rows) < min(FEWEST, room):
                batch = collate(data, np.resize(rows, min(FEWEST, room)))
            out = network(batch.inputs, batch.lengths).numpy()[: len(rows)]
            if outputs is None:
                outputs = np.empty((data.ends[-1] if by_step else len(data), out.shape[-1]), np.float32)
            if by_step:
                for row, steps in zip(rows, out, strict=True):
                    outputs[data.starts[row] : data.ends[row]] = steps[: data.ends[row] - data.starts[row]]
            else:
                outputs[rows] = out
    assert outputs is not None  # a chunk has rows
    return outputs
