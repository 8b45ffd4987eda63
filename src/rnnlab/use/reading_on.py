"""A text that grows: what arrives is read from where the model stopped, and the answer is that to all of it so far."""

import numpy as np
import torch

from rnnlab.answers.prediction import Prediction
from rnnlab.core.errors import ConfigError, RunError
from rnnlab.core.words import both
from rnnlab.data.sequences import Sequences
from rnnlab.models.baselines import Baseline
from rnnlab.tasks.base import Task
from rnnlab.use.predictor import Predictor

UNLESS = both("without --stream every line is a text by itself")


class ReadingOn:
    """Answers after every part of a text, in the time of the new tokens alone, whatever came before. Only for models
    that read the past alone: what others made of the first tokens changes with every new one."""

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
