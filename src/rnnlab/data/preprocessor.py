"""What goes into a model and what comes out: all that is needed to use it on new rows, without its training data."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from rnnlab.core.errors import DataError, RunError
from rnnlab.data.encoded import EncodedData, Scaler
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.text import encode_texts
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import UNKNOWN, Vocabulary

FORMAT = 1


@dataclass(frozen=True)
class Preprocessor:
    labels: tuple[str, ...]
    tokenizer: Tokenizer | None  # texts only
    vocabulary: Vocabulary | None  # texts only
    scaler: Scaler | None  # series only
    features: int | None  # channels of a series
    max_length: int | None  # longer rows are cut
    tokens: int = 1  # token ids a step, whose vectors are concatenated

    @classmethod
    def of(cls, data: EncodedData) -> Self:
        return cls(
            data.labels, data.tokenizer, data.vocabulary, data.scaler, data.features, data.max_length, data.tokens
        )

    def to_json(self) -> str:
        values: dict[str, Any] = {
            "format": FORMAT,
            "labels": self.labels,
            "tokenizer": self.tokenizer and self.tokenizer.to_dict(),
            "vocabulary": self.vocabulary and self.vocabulary.to_dict(),
            "scaler": self.scaler and asdict(self.scaler),
            "features": self.features,
            "max_length": self.max_length,
        }
        if self.tokens != 1:
            values["tokens"] = self.tokens
        return json.dumps(values, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        values = json.loads(text)
        if values.get("format") != FORMAT:
            raise RunError(
                "model.json has format {found!r}; this version of rnnlab reads {ours}",
                found=values.get("format"),
                ours=FORMAT,
            )
        scaler = values["scaler"]
        return cls(
            tuple(values["labels"]),
            values["tokenizer"] and Tokenizer.from_dict(values["tokenizer"]),
            values["vocabulary"] and Vocabulary.from_dict(values["vocabulary"]),
            scaler and Scaler(tuple(scaler["mean"]), tuple(scaler["std"])),
            values["features"],
            values["max_length"],
            values.get("tokens", 1),
        )

    def encode(self, inputs: Sequence[str] | Sequence[np.ndarray]) -> tuple[Sequences, np.ndarray]:
        """New rows as the model was trained to see them, and the share of each row's tokens that it knows."""
        if self.tokenizer is not None and self.vocabulary is not None:
            texts = [text if isinstance(text, str) else _wrong("texts", text) for text in inputs]
            values, offsets = encode_texts(texts, self.tokenizer, self.vocabulary, self.max_length)
            known = np.add.reduceat(values != UNKNOWN, offsets[:-1]) / np.diff(offsets)
            values = self.vocabulary.with_ngrams(values, offsets)
        else:
            assert self.scaler is not None
            series = [self._checked(array) for array in inputs]
            offsets = offsets_of(np.array([len(array) for array in series], np.int64))
            values, known = self.scaler.apply(np.concatenate(series)), np.ones(len(series))
        rows = len(offsets) - 1
        return Sequences.end_to_end(values, offsets, np.zeros(rows, np.int64), np.arange(rows)), known

    def _checked(self, array: Any) -> np.ndarray:
        """(T, D) float32, cut to the model's length."""
        if isinstance(array, str):
            return _wrong("numeric sequences", array)
        array = np.asarray(array, np.float32)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != self.features or not len(array) or not np.isfinite(array).all():
            raise DataError(
                "this model reads sequences of {features} finite numbers per step, time first (got an array "
                "of shape {shape})",
                features=self.features,
                shape=array.shape,
            )
        return array[: self.max_length]


def _wrong(expected: str, got: Any) -> Any:
    raise DataError("this model reads {expected} (got {kind})", expected=expected, kind=type(got).__name__)
