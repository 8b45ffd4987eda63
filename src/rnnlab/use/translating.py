"""A model that writes texts for texts is asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rnnlab.answers.prediction import Prediction
from rnnlab.answers.translation import Translation, written
from rnnlab.core.errors import DataError, RunError
from rnnlab.core.words import note
from rnnlab.models.search import Found, Manner
from rnnlab.models.translating import Translating
from rnnlab.use.stored import StoredModel

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


class Translator:
    """Of a run or a bundle of a task whose answers are written texts."""

    def __init__(self, stored: StoredModel):
        answer = stored.spec.task.answer
        if not isinstance(answer, Translation):
            raise RunError("{name}: '{kind}' writes no text for another", name=stored.name, kind=stored.spec.task.kind)
        self.stored = stored
        self.manner: Manner = answer.manner
        self.alternatives: int = 1

    def search_by(
        self, beam: int | None = None, alternatives: int | None = None, length_penalty: float | None = None
    ) -> None:
        """How to search from now on; None: as the model was judged. As many ``alternatives`` are told as are asked for,
        the best text among them, and no more than the beam is wide."""
        if isinstance(self.stored.spec.model, Translating):
            raise RunError(
                "'{kind}' finds one text, without a search; leave --beam and --alternatives out",
                kind=self.stored.spec.model.kind,
            )
        wide = max(self.manner.beam, alternatives or 1) if beam is None else beam
        if not 1 <= wide <= MOST_BEAMS:
            raise DataError("beam: from 1 to {most} (got {value})", most=MOST_BEAMS, value=wide)
        if not 1 <= (alternatives or 1) <= wide:
            raise DataError(
                "alternatives: from 1 to the beam, {beam} (got {value}); take a wider beam",
                beam=wide,
                value=alternatives,
            )
        penalty = self.manner.length_penalty if length_penalty is None else length_penalty
        self.manner = replace(self.manner, beam=wide, length_penalty=penalty)
        self.alternatives = alternatives or 1

    def translate(self, texts: Sequence[str]) -> list[TranslationPrediction]:
        """The best text for each, with the alternatives that were asked for. None depends on the others."""
        preprocessor, model = self.stored.preprocessor, self.stored.spec.model
        data, known = self.stored.spec.task.encode(texts, preprocessor)
        if isinstance(model, Translating):
            told = model.texts(self.stored.learnt, data, preprocessor, texts)
            pairs = zip(told, known.tolist(), strict=True)
            return [TranslationPrediction(text, 1.0, {text: 1.0}, share) for text, share in pairs]
        found = written(self.stored.network, data, self.manner)
        return [self._told(one[: self.alternatives], share) for one, share in zip(found, known.tolist(), strict=True)]

    def _told(self, found: Sequence[Found], known: float) -> TranslationPrediction:
        writes = self.stored.preprocessor.writes
        assert writes is not None
        chances: dict[str, float] = {}
        for one in found:  # the same text may be cut into tokens in several ways
            text = writes.written(one.ids)
            chances[text] = chances.get(text, 0.0) + math.exp(-one.nats)
        best = writes.written(found[0].ids)
        return TranslationPrediction(best, chances[best], chances, known, ended=found[0].ended)
