"""A model that writes texts for texts is asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rnnlab.answers.prediction import Prediction
from rnnlab.answers.translation import Translation, written
from rnnlab.core.errors import DataError, RunError
from rnnlab.core.words import note
from rnnlab.data.batches import collate
from rnnlab.data.preprocessor import Side
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.models.decoder import AttendingDecoder
from rnnlab.models.sampling import choose as choose_token
from rnnlab.models.sampling import uniforms
from rnnlab.models.search import Found, Manner, draw, look
from rnnlab.models.translating import Translating
from rnnlab.use.stored import StoredModel
from rnnlab.use.writing import Manner as Choice

MOST_BEAMS = 100


@dataclass(frozen=True)
class TranslationPrediction(Prediction):
    """The label is the text that was written; probabilities are those of the best texts that were found."""

    ended: bool = True  # False: it was cut at the most tokens that may be written

    @property
    def remark(self) -> str | None:
        if not self.ended:
            return note("it didn't come to an end, and was cut")
        return super().remark

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.label, "probability": self.probability, "alternatives": self.probabilities}


def writes_for_texts(stored: StoredModel) -> bool:
    return isinstance(stored.spec.task.answer, Translation)


class Translator:
    """Of a run or a bundle of a task whose answers are written texts."""

    def __init__(self, stored: StoredModel):
        answer = stored.spec.task.answer
        if not isinstance(answer, Translation):  # as `writes_for_texts` says
            raise RunError("{name}: '{kind}' writes no text for another", name=stored.name, kind=stored.spec.task.kind)
        self.stored = stored
        self.manner: Manner = answer.manner
        self.alternatives: int = 1

    def search_by(
        self,
        beam: int | None = None,
        alternatives: int | None = None,
        length_penalty: float | None = None,
        coverage: float | None = None,
        copy_unknown: bool = False,
    ) -> None:
        """How to search from now on; None: as the model was judged. As many ``alternatives`` are told as are asked for,
        the best text among them, and no more than the beam is wide. With ``copy_unknown``, a word that the model can't
        write is the word of the source that it looked at most."""
        self._is_a_network("--beam, --alternatives, --coverage and --copy-unknown")
        wide = max(self.manner.beam, alternatives or 1) if beam is None else beam
        if not 1 <= wide <= MOST_BEAMS:
            raise DataError("beam: from 1 to {most} (got {value})", most=MOST_BEAMS, value=wide)
        if not 1 <= (alternatives or 1) <= wide:
            raise DataError(
                "alternatives: from 1 to the beam, {beam} (got {value}); take a wider beam",
                beam=wide,
                value=alternatives,
            )
        if coverage is not None and not 0 <= coverage <= 10:
            raise DataError("coverage: from 0 to 10 (got {value})", value=coverage)
        if (coverage or copy_unknown) and not self._looks:
            raise RunError(
                "{name}: a model without attention looks at no place of the source: leave --coverage and "
                "--copy-unknown out",
                name=self.stored.name,
            )
        asked = {"beam": wide, "length_penalty": length_penalty, "coverage": coverage, "unknown": copy_unknown}
        self.manner = replace(self.manner, **{name: value for name, value in asked.items() if value is not None})
        self.alternatives = alternatives or 1

    def _is_a_network(self, without: str) -> None:
        if isinstance(self.stored.spec.model, Translating):
            raise RunError(
                "'{kind}' finds one text, without a search; leave {options} out",
                kind=self.stored.spec.model.kind,
                options=without,
            )

    @property
    def _looks(self) -> bool:
        decoder = self.stored.network.decoder
        return not (isinstance(decoder, AttendingDecoder) and decoder.attention is None)

    def translate(self, texts: Sequence[str]) -> list[TranslationPrediction]:
        """The best text for each, with the alternatives that were asked for. None depends on the others."""
        preprocessor, model = self.stored.preprocessor, self.stored.spec.model
        data, known = self.stored.spec.task.encode(texts, preprocessor)
        if isinstance(model, Translating):
            told = model.texts(self.stored.learnt, data, preprocessor, texts)
            pairs = zip(told, known.tolist(), strict=True)
            return [TranslationPrediction(text, 1.0, {text: 1.0}, share) for text, share in pairs]
        found = [one[: self.alternatives] for one in written(self.stored.network, data, self.manner)]
        copied = [self._copied(text, one) for text, one in zip(texts, found, strict=True)]
        return [self._told(*row) for row in zip(found, copied, known.tolist(), strict=True)]

    def draw(
        self, text: str, choice: Choice | None = None, *, samples: int = 1, longest: int | None = None
    ) -> list[str]:
        """Texts for a text, drawn token by token; each follows from the seed and its number alone."""
        self._is_a_network("generate")
        by = choice or Choice()
        data, _ = self.stored.spec.task.encode([text], self.stored.preprocessor)
        batch = collate(data, np.zeros(samples, np.int64))

        def choose(logits: np.ndarray, rows: np.ndarray, step: int) -> np.ndarray:
            return choose_token(logits, by.temperature, by.top_k, by.top_p, uniforms(by.seed, rows, step))

        found = draw(self.stored.network, batch.inputs, batch.lengths, choose, longest or self.manner.longest)
        return [self._side.written(one.ids) for one in found]

    @property
    def _side(self) -> Side:
        assert self.stored.preprocessor.writes is not None
        return self.stored.preprocessor.writes

    def _copied(self, text: str, found: Sequence[Found]) -> list[str]:
        """The texts that were found; where one has a word that can't be written, with that of the source which was
        looked at most."""
        texts = [self._side.written(one.ids) for one in found]
        lacking = [at for at, one in enumerate(found) if UNKNOWN in one.ids]
        if not lacking:
            return texts
        tokenizer = self.stored.preprocessor.tokenizer
        assert tokenizer is not None
        assert self._side.vocabulary is not None
        assert self._side.tokenizer is not None
        tokens = tokenizer.tokenize(text)
        data, _ = self.stored.spec.task.encode([text], self.stored.preprocessor)
        batch = collate(data, np.zeros(len(lacking), np.int64))
        weights = look(self.stored.network, batch.inputs, batch.lengths, [found[at].ids for at in lacking])
        assert weights is not None
        for at, of_text in zip(lacking, weights, strict=True):
            places = of_text.argmax(1).tolist()
            words = [
                tokens[place] if word == UNKNOWN else self._side.vocabulary.words[word]
                for word, place in zip(found[at].ids, places, strict=False)
            ]
            texts[at] = self._side.tokenizer.join(words)
        return texts

    def _told(self, found: Sequence[Found], texts: Sequence[str], known: float) -> TranslationPrediction:
        chances: dict[str, float] = {}
        for one, text in zip(found, texts, strict=True):  # the same text may be cut into tokens in several ways
            chances[text] = chances.get(text, 0.0) + math.exp(-one.nats)
        return TranslationPrediction(texts[0], chances[texts[0]], chances, known, ended=found[0].ended)
