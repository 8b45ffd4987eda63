"""What goes into a model and what comes out: all that is needed to use it on new rows, without its training data."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from rnnlab.core.errors import DataError, RunError
from rnnlab.core.words import Both, both
from rnnlab.data.joined import columns_of_text, encode_joined, tokenize_joined
from rnnlab.data.marks import Marks
from rnnlab.data.observed import Observed
from rnnlab.data.sequences import Sequences, Targets, offsets_of
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.wav import heard
from rnnlab.data.spelling import Spelling
from rnnlab.data.tagged.cutting import places_of
from rnnlab.data.text import encode_texts
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import END, SPECIAL, UNKNOWN, Vocabulary

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
    sound: LogMel | None = None  # recordings only: how they become series
    max_length: int | None = None  # longer rows are cut
    tokens: int = 1  # token ids per step, whose vectors are concatenated
    text_columns: tuple[str, ...] = ()  # texts of several columns, joined: their names
    marks: Marks | None = None  # what is seen of a token: ids behind its own and those of n-grams
    spelling: Spelling | None = None  # where tokens are read as they stand there; letters are ids behind theirs

    @property
    def features(self) -> int | None:
        """Channels of a series; None for texts."""
        return None if self.scaler is None else len(self.scaler.mean)

    @property
    def narrow(self) -> bool:
        """Whether of several ids per step the first alone has a frozen channel; not where that came first."""
        return self.spelling is not None

    @property
    def letters(self) -> int:
        """Of how many kinds those are that are inputs beside their words; 0 where none are."""
        return len(self.spelling.letters) if self.spelling is not None and self.spelling.length else 0

    @property
    def ids_per_step(self) -> int:
        """Those that are looked up, and those of letters behind them."""
        return self.tokens + (0 if self.spelling is None else self.spelling.length)

    def encode(self, inputs: Sequence[Any]) -> tuple[Sequences, np.ndarray]:
        """New rows as the model was trained to see them, and the share of each row's tokens that it knows."""
        if self.tokenizer is not None and self.vocabulary is not None:
            values, offsets = self._ids(inputs)
            separators = len(self.text_columns[1:])  # in each row
            known = np.add.reduceat(values != UNKNOWN, offsets[:-1]) - separators
            known = known / (np.diff(offsets) - separators)
            values = self.vocabulary.with_ngrams(values, offsets)
            if self.spelling is not None:
                words = [word for given in inputs for word in self.words_of(given)]
                values = self.with_looks(values, words, offsets)
        else:
            assert self.scaler is not None
            series = [self._checked(array) for array in inputs]
            offsets = offsets_of(np.array([len(array) for array in series], np.int64))
            values, known = self.scaler.apply(np.concatenate(series)), np.ones(len(series))
        rows = len(offsets) - 1
        return Sequences.end_to_end(values, offsets, np.zeros(rows, np.int64), np.arange(rows)), known

    def with_looks(self, values: np.ndarray, words: Sequence[str], offsets: np.ndarray) -> np.ndarray:
        """Ids (N,) or (N, K), and behind them those of the marks and of the letters of the words, if these are
        inputs."""
        assert self.vocabulary is not None
        columns = [values]
        if self.marks is not None:
            columns.append(self.marks.ids(words, offsets, self.vocabulary.first_mark))
        if self.spelling is not None and self.spelling.length:
            columns.append(self.spelling.encode(words))
        return np.column_stack(columns) if columns[1:] else values

    def words_of(self, text: Any) -> list[str]:
        """The tokens of a text that the model reads, as many as its ids; also those that it doesn't know. A list is
        taken for the tokens."""
        assert self.tokenizer is not None
        if not self.text_columns and isinstance(text, list):
            return [str(token) for token in text[: self.max_length]] or [SPECIAL[UNKNOWN]]
        if self.spelling is not None and self.tokenizer.name in ("words", "chars"):
            places = places_of(text, "characters" if self.tokenizer.name == "chars" else "words")
            return [text[start:end] for start, end in places[: self.max_length]] or [SPECIAL[UNKNOWN]]
        if not self.text_columns:
            return self.tokenizer.tokenize(text)[: self.max_length] or [SPECIAL[UNKNOWN]]
        joined = columns_of_text(text, self.text_columns)
        found = tokenize_joined([joined], len(self.text_columns), self.tokenizer, self.max_length)
        return [found.tokens[number] for number in found.values.tolist()]

    def text_of(self, given: Any) -> str:
        """An input as a text; tokens given as a list, as if a space stood between them (none between characters)."""
        if not isinstance(given, list):
            return str(given)
        return ("" if self.tokenizer is not None and self.tokenizer.name == "chars" else " ").join(map(str, given))

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
        return self.tokenizer.join(words)

    def _ids(self, texts: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        assert self.tokenizer is not None
        assert self.vocabulary is not None
        if self.text_columns:
            joined = [columns_of_text(given, self.text_columns) for given in texts]
            return encode_joined(joined, len(self.text_columns), self.tokenizer, self.vocabulary, self.max_length)
        if self.spelling is not None or any(isinstance(text, list) for text in texts):
            return self._ids_of_words([self.words_of(text) for text in texts])
        texts = [text if isinstance(text, str) else _wrong(both("texts"), text) for text in texts]
        return encode_texts(texts, self.tokenizer, self.vocabulary, self.max_length)

    def _ids_of_words(self, rows: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """Of tokens as they stand there: a vocabulary of words in lower case has them so."""
        assert self.tokenizer is not None
        assert self.vocabulary is not None
        lower = self.tokenizer.lowercase if self.spelling is None else self.spelling.lowercase
        words = [word.lower() if lower else word for row in rows for word in row]
        offsets = offsets_of(np.array([len(row) for row in rows], np.int64))
        return np.array(self.vocabulary.encode(words), np.int32), offsets

    def _checked(self, array: Any) -> np.ndarray:
        """(T, D) float32, cut to the model's length."""
        if self.sound is not None:
            array = self.sound.frames(heard(array))
        elif isinstance(array, str):
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
        """Without ``tokens`` where that is 1, ``text_columns`` where there is one, and ``sound`` where there is none:
        those weren't there from the first."""
        values = {
            "tokenizer": self.tokenizer and self.tokenizer.to_dict(),
            "vocabulary": self.vocabulary and self.vocabulary.to_dict(),
            "scaler": self.scaler and asdict(self.scaler),
            "features": self.features,
            "max_length": self.max_length,
        }
        if self.text_columns:
            values["text_columns"] = list(self.text_columns)
        if self.marks is not None:
            values["marks"] = self.marks.to_dict()
        if self.spelling is not None:
            values["spelling"] = self.spelling.to_dict()
        if self.sound is not None:
            values["sound"] = self.sound.to_dict()
        return values if self.tokens == 1 else values | {"tokens": self.tokens}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **more: Any) -> Self:
        """``more`` are the fields of a subclass."""
        scaler = values["scaler"]
        side = cls(
            tokenizer=values["tokenizer"] and Tokenizer.from_dict(values["tokenizer"]),
            vocabulary=values["vocabulary"] and Vocabulary.from_dict(values["vocabulary"]),
            scaler=scaler and Scaler(tuple(scaler["mean"]), tuple(scaler["std"])),
            sound=LogMel.from_dict(values["sound"]) if "sound" in values else None,
            max_length=values["max_length"],
            tokens=values.get("tokens", 1),
            text_columns=tuple(values.get("text_columns", ())),
            marks=Marks.from_dict(values["marks"]) if "marks" in values else None,
            spelling=Spelling.from_dict(values["spelling"]) if "spelling" in values else None,
            **more,
        )
        if bool(side.text_columns) != (side.vocabulary is not None and side.vocabulary.joined):
            raise ValueError("several text columns have a vocabulary with a separator, and others have none")
        marks = 0 if side.vocabulary is None else side.vocabulary.marks
        if marks != (0 if side.marks is None else len(side.marks)):
            raise ValueError(f"the vocabulary has numbers for {marks} marks, which aren't there")
        if side.features != values["features"]:
            raise ValueError(f"'features' is {values['features']!r}, but {side.features} are scaled")
        return side


@dataclass(frozen=True, kw_only=True)
class Preprocessor(Side):
    """The side that is read; what its answers are called; and, where a text is written, the other side."""

    labels: tuple[str, ...] = ()  # target i is the label labels[i]
    writes: Side | None = None
    thresholds: tuple[float, ...] = ()  # probabilities from which on a label is given, where a row may have several
    observed: Observed | None = None  # of a forecaster: its windows
    chain: tuple[tuple[float, ...], ...] = ()  # (C + 2, C), where tags are scored by those beside them: `models.chain`

    @classmethod
    def of(cls, data: "Preprocessor") -> "Preprocessor":
        """Without what else there is in encoded data."""
        return Preprocessor(**{field.name: getattr(data, field.name) for field in fields(Preprocessor)})

    def to_dict(self) -> dict[str, Any]:
        """Without what few models have, where it is missing: it wasn't there from the first."""
        values = {"labels": self.labels, **super().to_dict()}
        values |= {"thresholds": self.thresholds} if self.thresholds else {}
        values |= {"chain": self.chain} if self.chain else {}
        values |= {} if self.observed is None else {"observed": self.observed.to_dict()}
        return values if self.writes is None else values | {"writes": self.writes.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], **more: Any) -> Self:
        writes = Side.from_dict(values["writes"]) if "writes" in values else None
        thresholds = tuple(values.get("thresholds", ()))
        chain = tuple(tuple(map(float, row)) for row in values.get("chain", ()))
        labels = tuple(values["labels"])
        if chain and [len(row) for row in chain] != [len(labels)] * (len(labels) + 2):
            raise ValueError(f"a chain of {len(labels)} tags has {len(labels) + 2} rows of {len(labels)} numbers")
        observed = Observed.from_dict(values["observed"]) if "observed" in values else None
        further = {"writes": writes, "thresholds": thresholds, "chain": chain, "observed": observed}
        return super().from_dict(values, labels=labels, **further, **more)

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
