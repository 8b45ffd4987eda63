"""A stored model is opened and asked."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.core.errors import ConfigError, DataError, RunError
from rnnlab.core.words import both
from rnnlab.data.batches import collate, evaluation_batches
from rnnlab.data.sequences import Sequences
from rnnlab.models.baselines import Baseline
from rnnlab.models.network import Network
from rnnlab.tasks.base import Task
from rnnlab.use.explanation import Explainer
from rnnlab.use.folded import Answers, fold
from rnnlab.use.stored import StoredModel, open_model

CHUNK = 4096  # rows encoded at a time, so that a long stream needs little memory
FEWEST = 16  # rows in a batch: MKL multiplies fewer ones in another order, and over many steps that can be seen
MOST_TOKENS = 16384  # in a batch, unless a row alone has more
UNLESS = both("without --stream every line is a text by itself")


class Predictor:
    """Answers for texts (or numeric sequences), the same whatever the batch. How a row is read and what is told of it
    is the task's affair. Probabilities are calibrated: the logits are divided by the temperature of the card."""

    def __init__(self, stored: StoredModel):
        self.stored = stored
        self.card = stored.card
        self.preprocessor = stored.preprocessor
        self.labels = stored.preprocessor.labels
        self.task = stored.spec.task
        if self.task.question is None:
            raise RunError(
                "{name}: predict answers with one label per sequence, and '{kind}' doesn't",
                name=stored.name,
                kind=self.task.kind,
            )

    def predict(self, inputs: Iterable[str] | Iterable[np.ndarray]) -> list[Prediction]:
        """One prediction an input: strings for a text model, (T, D) arrays for a numeric one."""
        return list(self.stream(inputs))

    def stream(self, inputs: Iterable[str] | Iterable[np.ndarray]) -> Iterator[Prediction]:
        """As `predict`, for inputs of any number, in constant memory."""
        if isinstance(inputs, str | np.ndarray):  # whose letters or steps would be taken for the inputs
            raise DataError("give a list of inputs, for example predict([text]), not a single one")
        inputs = iter(inputs)
        while chunk := list(islice(inputs, CHUNK)):
            yield from self._answers(chunk)

    def explain(self, text: str, label: str | None = None, most_points: int | None = None) -> Explanation:
        """The answer to one text and how much each of its tokens speaks for it, or for another ``label``. With at most
        so many points of integration it is quicker and, for a network with sharp corners, less exact."""
        if not isinstance(text, str):
            raise DataError("explain takes one text, for example explain('not good at all')")
        explainer = self._explainer  # first: it may refuse
        (prediction,) = self._answers([text])
        return explainer.explain(text, prediction, label, most_points)

    def logits(self, data: Sequences) -> np.ndarray:
        """(rows, C), not calibrated; or (N, C) for all steps of all rows where there is an answer at every step."""
        lookup, outputs = self.stored.lookup, self._outputs(data)
        return outputs if lookup is None else lookup.answer(outputs, data)

    def _answers(self, chunk: Sequence[Any]) -> Sequence[Prediction]:
        data, known = self.task.encode(chunk, self.preprocessor)
        calibrated = self.logits(data) / np.float64(self.card.temperature)
        return self.task.predictions(calibrated, data, known, self.preprocessor)

    @cached_property
    def _outputs(self) -> Callable[[Sequences], np.ndarray]:
        model = self.stored.spec.model
        if isinstance(model, Baseline):
            learnt = self.stored.learnt
            return lambda data: model.logits(learnt, data.tokens, data.offsets)
        return outputs_of(self.stored.network)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.stored)


class ReadingOn:
    """A text that grows: what arrives is read from where the model stopped, and the answer is that to all of it so far,
    in the time of the new tokens alone. Only for models that read the past alone: what others made of the first tokens
    changes with every new one."""

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
        if stored.lookup is not None:
            raise RunError(
                "--stream: this model looks whole texts up in its training rows (model.lookup); {unless}", unless=UNLESS
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
            calibrated = out.flatten(0, -2).numpy() / np.float64(self.model.card.temperature)  # (1, C), or (T, C)
            read = Sequences.end_to_end(ids, np.array([0, len(ids)]), np.zeros(1, np.int64), np.zeros(1, np.int64))
            known = np.array([self.known / self.tokens])
            (self.last,) = self.model.task.predictions(calibrated, read, known, self.preprocessor)
        return self.last

    def _with_ngrams(self, ids: np.ndarray) -> np.ndarray:
        """(T,) as they are; or (T, K) where n-grams are inputs, with those that began in the part before."""
        vocabulary = self.preprocessor.vocabulary
        if vocabulary is None or vocabulary.ngrams is None:
            return ids
        both = np.concatenate([self.recent, ids[:, 0]])
        found = vocabulary.with_ngrams(both, np.array([0, len(both)]))[len(self.recent) :]
        self.recent = both[1 - max(vocabulary.ngrams.sizes) :]
        return found


def load(model: str | Path) -> Predictor:
    """The model of a run directory (or the beginning of its name) or of a bundle."""
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
