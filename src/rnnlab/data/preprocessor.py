"""What goes into a model and what comes out: all that is needed to use it on new rows, without its training data."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from rnnlab.core.errors import DataError, RunError
from rnnlab.core.words import Both, both
from rnnlab.data.sequences import Sequences, Targets, offsets_of
from rnnlab.data.text import encode_texts
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import END, UNKNOWN, Vocabulary

FORMAT = 1


@dataclass(frozen=True)
class Scaler:
    """Mean and standard deviation of each channel over all steps of the training rows."""

    mean: tuple[float, ...]
    std: tuple[float, ...]  # 1 for a channel that never changes

    def apply(self, values: np.ndarray) -> np.ndarray:
        """(N, D) → (N, D) float32, standardised."""
        return ((values - np.array(self.mean)) / np.array(self.std)).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Side:
    """How rows become the numbers that a model reads, or those that it writes."""

    tokenizer: Tokenizer | None = None  # texts only
    vocabulary: Vocabulary | None = None  # texts and symbols only
    scaler: Scaler | None = None  # series only
    max_length: int | None = None  # longer rows are cut
    tokens: int = 1  # token ids per step, whose vectors are concatenated

    @property
    def features(self) -> int | None:
        """Channels of a series; None for texts."""
        return None if self.scaler is None else len(self.scaler.mean)

    def encode(self, inputs: Sequence[str] | Sequence[np.ndarray]) -> tuple[Sequences, np.ndarray]:
        """New rows as the model was trained to see them, and the share of each row's tokens that it knows."""
        if self.tokenizer is not None and self.vocabulary is not None:
            values, offsets = self._ids(inputs)
            known = np.add.reduceat(values != UNKNOWN, offsets[:-1]) / np.diff(offsets)
            values = self.vocabulary.with_ngrams(values, offsets)
        else:
            assert self.scaler is not None
            series = [self._checked(array) for array in inputs]
            offsets = offsets_of(np.array([len(array) for array in series], np.int64))
            values, known = self.scaler.apply(np.concatenate(series)), np.ones(len(series))
        rows = len(offsets) - 1
        return Sequences.end_to_end(values, offsets, np.zeros(rows, np.int64), np.arange(rows)), known

    def targets(self, texts: Sequence[str]) -> Targets:
        """What is to be written: the tokens of each text, and behind them `</s>`, also where the text was cut."""
        values, offsets = self._ids(texts)
        ended = np.insert(values.astype(np.int64), offsets[1:], END)
        return Targets(ended, offsets + np.arange(len(offsets)))

    def written(self, ids: Iterable[int]) -> str:
        """What was written, up to the first `</s>`, as a text."""
        assert self.tokenizer is not None
        assert self.vocabulary is not None
        words = []
        for number in ids:
            if number == END:
                break
            words.append(self.vocabulary.words[number])
        return ("" if self.tokenizer.name in ("chars", "jieba") else " ").join(words)

    def _ids(self, texts: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        assert self.tokenizer is not None
        assert self.vocabulary is not None
        texts = [text if isinstance(text, str) else _wrong(both("texts"), text) for text in texts]
        return encode_texts(texts, self.tokenizer, self.vocabulary, self.max_length)

    def _checked(self, array: Any) -> np.ndarray:
        """(T, D) float32, cut to the model's length."""
        if isinstance(array, str):
            return _wrong(both("numeric sequences"), array)
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

    def to_dict(self) -> dict[str, Any]:
        """Without ``tokens`` where that is 1: it wasn't there from the first."""
        values = {
            "tokenizer": self.tokenizer and self.tokenizer.to_dict(),
            "vocabulary": self.vocabulary and self.vocabulary.to_dict(),
            "scaler": self.scaler and asdict(self.scaler),
            "features": self.features,
            "max_length": self.max_length,
        }
        return values if self.tokens == 1 else values | {"tokens": self.tokens}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **more: Any) -> Self:
        """``more`` are the fields of a subclass."""
        scaler = values["scaler"]
        side = cls(
            tokenizer=values["tokenizer"] and Tokenizer.from_dict(values["tokenizer"]),
            vocabulary=values["vocabulary"] and Vocabulary.from_dict(values["vocabulary"]),
            scaler=scaler and Scaler(tuple(scaler["mean"]), tuple(scaler["std"])),
            max_length=values["max_length"],
            tokens=values.get("tokens", 1),
            **more,
        )
        if side.features != values["features"]:
            raise ValueError(f"'features' is {values['features']!r}, but {side.features} are scaled")
        return side


@dataclass(frozen=True, kw_only=True)
class Preprocessor(Side):
    """The side that is read; what its answers are called; and, where a text is written, the other side."""

    labels: tuple[str, ...] = ()  # target i is the label labels[i]
    writes: Side | None = None

    @classmethod
    def of(cls, data: "Preprocessor") -> "Preprocessor":
        """Without what else there is in encoded data."""
        return Preprocessor(**{field.name: getattr(data, field.name) for field in fields(Preprocessor)})

    def to_dict(self) -> dict[str, Any]:
        values = {"labels": self.labels, **super().to_dict()}
        return values if self.writes is None else values | {"writes": self.writes.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **more: Any) -> Self:
        writes = Side.from_dict(values["writes"]) if "writes" in values else None
        return super().from_dict(values, labels=tuple(values["labels"]), writes=writes, **more)

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **self.to_dict()}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        values = json.loads(text)
        if values.get("format") != FORMAT:
            raise RunError(
                "model.json has format {found!r}; this version of rnnlab reads {ours}",
                found=values.get("format"),
                ours=FORMAT,
            )
        return cls.from_dict(values)


def _wrong(expected: Both, got: Any) -> Any:
    raise DataError("this model reads {expected} (got {kind})", expected=expected, kind=type(got).__name__)
