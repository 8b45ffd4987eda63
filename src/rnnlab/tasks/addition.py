"""Digit addition: the sum of two numbers, digit by digit, from the least significant one on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.label import probabilities
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.answers.tags import Tags
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError
from rnnlab.core.seeding import generator
from rnnlab.core.words import note
from rnnlab.data import digit_pairs, store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.tasks.base import Task, task

VERSION = 1  # raised when the same settings would draw other numbers
LONGEST = 200  # digits of a number that is drawn
LONGEST_ASKED = 10_000  # digits of a number that a trained model is asked about
SAMPLE = 1000  # training pairs kept with the data, to show what they are like; training draws its own

DIGITS = tuple("0123456789")
VOCABULARY = Vocabulary((*SPECIAL, *DIGITS))
IDS = np.array([VOCABULARY.index[digit] for digit in DIGITS])
FULL_WIDTH = str.maketrans("０１２３４５６７８９＋", "0123456789+")  # as Chinese input methods write them
WRITTEN = re.compile(r"\s*([0-9]+)\s*\+\s*([0-9]+)\s*")

Carries = Literal["natural", "long"]
HELD_OUT, TRAINING = 0, 1  # random streams: of the data's seed, and of the seed of a run


@dataclass(frozen=True)
class SumPrediction(Prediction):
    """A sum as people write it; its probability is what the model gives to all of its digits together. What would be
    right is known, too."""

    digits: tuple[tuple[str, float], ...]  # each with its probability, the last carry first
    expected: str
    trained_length: int  # digits of the longest number in training

    @classmethod
    def of(cls, outputs: np.ndarray, total: np.ndarray, trained_length: int) -> Self:
        """``outputs`` (T, 10) where the digits ``total`` (T,) were due, least significant first."""
        answer = outputs.argmax(1)
        label, sure = digit_pairs.written(answer), probabilities(outputs.astype(np.float64)).max(1)
        probability = float(np.exp(np.log(sure).sum()))
        return cls(
            label=label,
            probability=probability,
            probabilities={label: probability},
            known=1.0,
            digits=tuple(zip(map(str, answer[::-1]), sure[::-1].tolist(), strict=True)),
            expected=digit_pairs.written(total),
            trained_length=trained_length,
        )

    @property
    def right(self) -> bool:
        return self.label == self.expected

    @property
    def remark(self) -> str:
        unseen = len(self.digits) - 1 > self.trained_length
        told = note("right") if self.right else note("wrong: {expected}", expected=self.expected)
        if not unseen:
            return told
        return note("{told}; longer than the {length} digits of its training", told=told, length=self.trained_length)

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "right": self.right,
            "expected": self.expected,
            "probability": self.probability,
            "digits": [{"digit": digit, "probability": share} for digit, share in self.digits],
        }


@task("addition")
class Addition(Task):
    """Adding two numbers digit by digit, from the last digit on: a carry has to be remembered.

    A step has a digit of either number; its answer is that digit of the sum. One more step asks for the last carry.
    Every training batch is drawn afresh."""

    shape: ClassVar[Answer] = Tags(title="exact match", whole=True)
    recurrent_pooling: ClassVar[str] = "last"
    fresh_batches: ClassVar[bool] = True
    causal: ClassVar[bool] = True
    regularised: ClassVar[bool] = False
    question: ClassVar[str | None] = "123+989"
    training_defaults: ClassVar[dict[str, Any]] = {
        "epochs": None,
        "steps": 500,
        "eval_every": 50,
        "patience": None,
        "schedule": {"shape": "constant"},
        "batch_size": 200,
    }

    split_by: ClassVar[str | None] = "data_seed"

    length: int = Field(
        default=10, ge=1, le=LONGEST, description="The most digits of a number in training and in validation."
    )
    test_length: int | None = Field(
        default=None, ge=1, le=LONGEST, description="The most digits of a test number (length); 90 to see if it scales."
    )
    numbers: Literal["uniform", "by-digits"] = Field(
        default="uniform",
        description="uniform: every number below 10^length is equally likely, so that most are long. by-digits: every "
        "number of digits is.",
    )
    carries: Carries = Field(
        default="natural",
        description="long: in half of the pairs a carry travels far, any distance up to the number of digits alike.",
    )
    test_carries: Carries | None = Field(
        default=None, description="The same of the test pairs (carries): long shows what hides in natural sums."
    )
    held_out: int = Field(
        default=1000, ge=1, le=1_000_000, description="Validation pairs, and test pairs; fewer if there are no more."
    )
    data_seed: int = Field(default=0, ge=0, description="Which pairs are held out.")

    def identity(self) -> dict[str, Any]:
        """All settings: the training pairs follow from them, and aren't in the encoded data."""
        return self.to_dict() | {"version": VERSION}

    def encoded(self) -> EncodedData:
        settings = self.to_dict() | {"fingerprint": None}
        return store.cached(digest_of([VERSION, settings]), self._held_out)

    def draw(self, seed: int, step: int, rows: int) -> Sequences:
        rng = generator(seed, "data", TRAINING, step)
        return digit_pairs.sequences(digit_pairs.draw_pairs(rng, rows, "train", self._draw_of("train")), IDS)

    def _draw_of(self, part: str) -> digit_pairs.Draw:
        """How pairs of a split are drawn, before those that belong to another are left out."""
        length, carries = self.length, self.carries
        if part == "test":
            length, carries = self.test_length or length, self.test_carries or carries
        draw = partial(digit_pairs.uniform if self.numbers == "uniform" else digit_pairs.by_digits, digits=length)
        return draw if carries == "natural" else lambda rng, rows: digit_pairs.lengthen_carries(rng, draw(rng, rows))

    def _held_out(self) -> EncodedData:
        rows = {"train": SAMPLE, "valid": self.held_out, "test": self.held_out}
        pairs = {
            part: digit_pairs.draw_distinct(
                generator(self.data_seed, "data", HELD_OUT, number), count, part, self._draw_of(part)
            )
            for number, (part, count) in enumerate(rows.items())
        }
        scores = _without_learning(pairs["test"])
        lines = [
            note(
                "addition: {kind_of_numbers}; fresh training pairs for every update",
                kind_of_numbers=self._kind_of_numbers(),
            ),
            note(
                "held out, and never trained on in either order: {valid} validation pairs of {of_valid} digits, {test} "
                "test pairs of {of_test} digits",
                valid=f"{len(pairs['valid']):,}",
                of_valid=_digits(pairs["valid"]),
                test=f"{len(pairs['test']):,}",
                of_test=_digits(pairs["test"]),
            ),
            note(
                "of the test sums {exact:.1f} % are right without carries, and {exact_one:.1f} % with carries from the "
                "digit before alone (of their digits, {digits:.1f} % and {digits_one:.1f} %); guessing a digit is "
                "right once in ten",
                exact=100 * scores["no_carry"]["exact"],
                exact_one=100 * scores["one_back"]["exact"],
                digits=100 * scores["no_carry"]["digit_accuracy"],
                digits_one=100 * scores["one_back"]["digit_accuracy"],
            ),
        ]
        splits: dict[str, Any] = {part: digit_pairs.sequences(found, IDS, _bucket) for part, found in pairs.items()}
        return EncodedData(
            **splits,
            tokens=2,
            labels=DIGITS,
            tag_names=tuple(_bucket_name(number) for number in range(_bucket(np.array([LONGEST]))[0] + 1)),
            vocabulary=VOCABULARY,
            profile={"lines": lines, "without_learning": scores},
        )

    def texts(self, rows: Sequence[int]) -> list[str] | None:
        """``"123+989"``, as `encode` reads it."""
        test = self.load().test
        pairs = (_pairs_of(test.row(row)[None])[0] for row in rows)
        return [f"{digit_pairs.written(one)}+{digit_pairs.written(two)}" for one, two in pairs]

    def _kind_of_numbers(self) -> str:
        kind = note("uniform") if self.numbers == "uniform" else note("any number of digits alike")
        if self.carries == "long":
            kind = note("{kind}, in half of the pairs a carry that travels far", kind=kind)
        if self.length == 1:
            return note("numbers of 1 digit ({kind})", kind=kind)
        return note("numbers of up to {length:d} digits ({kind})", length=self.length, kind=kind)

    def details(self, kept: Kept, data: Sequences) -> dict[str, Any]:
        """How many sums and digits are right, by the digits of the longer number, and by how far a carry travels."""
        counts = self.answer.counts(kept, data.truth)
        table = np.stack([counts[name] for name in ("rows", "right_rows", "steps", "right_steps")])  # (4, rows)
        carry = np.concatenate([digit_pairs.add(_pairs_of(data.row(row)[None]))[1] for row in range(len(data))])
        return {"by_digits": _shares(table, data.lengths - 1), "by_carry": _shares(table, carry)}

    # Asking a trained model

    def encode(self, inputs: Sequence[Any], preprocessor: Preprocessor) -> tuple[Sequences, np.ndarray]:
        """``"123+989"`` and the like. The targets are the digits of the true sums."""
        data = digit_pairs.sequences(digit_pairs.pairs_from([_numbers_of(text) for text in inputs]), IDS)
        return data, np.ones(len(data))

    def predictions(self, outputs: np.ndarray, asked: Asked) -> list[SumPrediction]:
        data, outputs = asked.data, outputs.astype(np.float64)
        rows = zip(data.starts, data.ends, strict=True)
        return [SumPrediction.of(outputs[a:b], data.targets[a:b], self.length) for a, b in rows]


def _numbers_of(text: Any) -> tuple[str, str]:
    """The two numbers of ``"123 + 989"``, without zeros in front."""
    if not isinstance(text, str):
        raise DataError("this model reads texts such as 123+989 (got {kind})", kind=type(text).__name__)
    found = WRITTEN.fullmatch(text.translate(FULL_WIDTH))
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    if found is None:
        raise DataError("this model adds two whole numbers, written like 123+989 (got {shown!r})", shown=shown)
    one, two = (number.lstrip("0") or "0" for number in found.groups())
    if max(len(one), len(two)) > LONGEST_ASKED:
        raise DataError(
            "{shown!r}: {longest:,} digits; at most {longest_asked:,} can be asked for",
            shown=shown,
            longest=max(len(one), len(two)),
            longest_asked=LONGEST_ASKED,
        )
    return one, two


def _pairs_of(inputs: np.ndarray) -> np.ndarray:
    """Token ids (B, T, 2), padded → digits (B, 2, T); padding is 0, as in every array of pairs."""
    return np.where(inputs >= IDS[0], inputs - IDS[0], 0).astype(np.uint8).transpose(0, 2, 1)


def _bucket(carry: np.ndarray) -> np.ndarray:
    """0, 1, 2–3, 4–7 … digits that a carry travels → 0, 1, 2, 3 …"""
    return np.frexp(carry)[1].astype(np.int64)


def _bucket_name(number: int) -> str:
    low, high = (0, 0) if number == 0 else (2 ** (number - 1), 2**number - 1)
    return f"carry {low}" if low == high else f"carry {low}–{high}"


def _digits(pairs: np.ndarray) -> str:
    """``1 to 10``, of the longer number of each pair."""
    digits = digit_pairs.number_of_digits(pairs).max(1)
    low, high = int(digits.min()), int(digits.max())
    return note("{low:d} to {high:d}", low=low, high=high) if low < high else str(low)


def _without_learning(pairs: np.ndarray) -> dict[str, dict[str, float]]:
    """What answers get that leave carries out, or that see a carry only where the digits before make one."""
    total, _ = digit_pairs.add(pairs)
    inside = np.arange(total.shape[1]) <= digit_pairs.number_of_digits(pairs[:, 0] | pairs[:, 1])[:, None]
    sums = np.zeros_like(total)
    sums[:, :-1] = pairs.sum(1)
    one_back = sums.copy()
    one_back[:, 1:] += sums[:, :-1] > 9
    return {
        name: {
            "exact": float(((answer % 10 == total) | ~inside).all(1).mean()),
            "digit_accuracy": float((answer % 10 == total)[inside].mean()),
        }
        for name, answer in (("no_carry", sums), ("one_back", one_back))
    }


def _shares(table: np.ndarray, part: np.ndarray) -> dict[str, dict[str, float]]:
    """(4, rows): rows, right rows, digits, right digits; summed over the rows of each part."""
    counts = np.stack([np.bincount(part, weights=row) for row in table])
    return {
        str(number): {"rows": int(rows), "exact": exact / rows, "digit_accuracy": right / digits}
        for number, (rows, exact, digits, right) in enumerate(counts.T.tolist())
        if rows
    }
