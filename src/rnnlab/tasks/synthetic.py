"""Tasks that isolate memory: what has to be remembered, and for how long, is known, and lengths can be set."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.label import Label
from rnnlab.answers.number import Number
from rnnlab.answers.tags import Tags
from rnnlab.core.config import digest_of
from rnnlab.core.errors import WrongValue
from rnnlab.core.seeding import generator
from rnnlab.core.words import note
from rnnlab.data import store
from rnnlab.data.encoded import EncodedData, encode
from rnnlab.data.examples import Examples
from rnnlab.data.preprocessor import Scaler
from rnnlab.data.sequences import IGNORE, Sequences, offsets_of
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.tasks.base import Task, task

VERSION = 1  # raised when the same settings would generate other sequences
OPENING, CLOSING = "([{<", ")]}>"
READABLE = 200  # symbols of a sequence that is shown; nobody counts the ones among more


class Generated(Task):
    """Sequences drawn from a seed: once, then from the cache."""

    split_by: ClassVar[str | None] = "data_seed"
    recurrent_pooling: ClassVar[str] = "last"
    regularised: ClassVar[bool] = False

    rows: int = Field(
        default=10_000,
        ge=100,
        le=10_000_000,
        description="Sequences in all: 80 % to train on, 10 % each to choose by and to test.",
    )
    data_seed: int = Field(default=0, ge=0, description="Which sequences are drawn.")

    def encoded(self) -> EncodedData:
        settings = self.to_dict() | {"fingerprint": None}
        return store.cached(digest_of([VERSION, settings]), self.generate)

    def generate(self) -> EncodedData:
        raise NotImplementedError

    def texts(self, rows: Sequence[int]) -> list[str] | None:
        """The symbols with spaces between them."""
        data = self.load()
        if data.vocabulary is None or any(data.test.lengths[row] > READABLE for row in rows):
            return None
        words, test = data.vocabulary.words, data.test
        found = (test.row(row).tolist() for row in rows)
        return [" ".join(words[number] for number in numbers) for numbers in found]


class OfLength(Generated):
    """One whose sequences have a length, or lengths between two."""

    length: int = Field(default=50, ge=2, le=100_000, description="Steps of a sequence; the most, if shortest is set.")
    shortest: int | None = Field(
        default=None, ge=2, description="Lengths are drawn from here to length; else all are equal."
    )

    @model_validator(mode="after")
    def _lengths_agree(self) -> Self:
        if self.shortest is not None and self.shortest > self.length:
            raise WrongValue(
                "shortest = {shortest} is more than length = {length}", shortest=self.shortest, length=self.length
            )
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        return self.shortest or self.length, self.length


@task("first-last")
class FirstLast(OfLength):
    """The sign of the first plus the last number: one thing to remember over the whole length."""

    shape: ClassVar[Answer] = Label()
    question: ClassVar[str | None] = "…"

    channels: int = Field(default=3, ge=1, le=1000, description="Numbers per step; only the first one counts.")

    def generate(self) -> EncodedData:
        rng = generator(self.data_seed, "data", 0)
        series, labels = first_and_last(rng, self.rows, *self.bounds, self.channels)
        return encode({"train": Examples(self.kind, labels, series=series)}, valid_fraction=0.1, test_fraction=0.1)


@task("parity")
class Parity(OfLength):
    """Whether the number of ones is odd: every bit counts, and no part of the sequence tells anything."""

    shape: ClassVar[Answer] = Label()
    question: ClassVar[str | None] = "…"

    def generate(self) -> EncodedData:
        rng = generator(self.data_seed, "data", 0)
        texts, labels = parity(rng, self.rows, *self.bounds)
        return _encode_texts(self.kind, texts, labels)


@task("brackets")
class Brackets(OfLength):
    """Whether brackets of several kinds match: a stack as deep as depth, or one that was spoilt in one place."""

    shape: ClassVar[Answer] = Label()
    question: ClassVar[str | None] = "…"

    depth: int = Field(default=4, ge=1, le=1000, description="How deep brackets are nested, at most.")
    kinds: int = Field(default=2, ge=1, le=4, description="Of brackets.")

    def generate(self) -> EncodedData:
        rng = generator(self.data_seed, "data", 0)
        texts, labels = brackets(rng, self.rows, *self.bounds, self.depth, self.kinds)
        return _encode_texts(self.kind, texts, labels)


@task("adding")
class Adding(OfLength):
    """The adding problem: the sum of the two marked numbers, one in either half of the sequence.

    The target is x_i + x_j, between 0 and 2; answering 1 always has a mean squared error of 1/6. An answer within 0.04
    counts as right, as Hochreiter and Schmidhuber (1997) count, though their target was half as wide."""

    shape: ClassVar[Answer] = Number(close=0.04)

    def generate(self) -> EncodedData:
        parts = _three_parts(
            self.rows,
            self.data_seed,
            lambda rng, rows: adding(rng, rows, *self.bounds),
        )
        error = float(np.var(parts["test"].targets))
        lines = [
            note("adding: {counts} sequences of {lengths} steps", counts=_counts(parts), lengths=_lengths(parts)),
            note(
                "always answering the mean has a squared error of {error:.4f} on the test sequences (1/6 is expected)",
                error=error,
            ),
        ]
        return EncodedData(
            **parts,
            scaler=Scaler((0.0, 0.0), (1.0, 1.0)),
            profile={"lines": lines, "constant_error": error},
        )


@task("copy")
class Copy(Generated):
    """Copy memory: symbols, a gap, then the same symbols again, one at each go."""

    causal: ClassVar[bool] = True
    shape: ClassVar[Answer] = Tags(title="share recalled")

    gap: int = Field(default=50, ge=0, le=100_000, description="Blanks between the symbols and the first go.")
    symbols: int = Field(default=10, ge=1, le=1000, description="How many symbols are to be remembered.")
    kinds: int = Field(default=8, ge=2, le=100, description="Of symbols.")

    def generate(self) -> EncodedData:
        labels = tuple(map(str, range(self.kinds)))
        vocabulary = Vocabulary((*SPECIAL, "blank", "go", *labels))
        parts = _three_parts(
            self.rows,
            self.data_seed,
            lambda rng, rows: copying(rng, rows, self.gap, self.symbols, self.kinds, vocabulary.index),
        )
        lines = [
            note("copy: {counts} sequences of {lengths} steps", counts=_counts(parts), lengths=_lengths(parts)),
            note(
                "{symbols} symbols of {kinds} kinds, {gap:,} blanks, then the symbols again",
                symbols=self.symbols,
                kinds=self.kinds,
                gap=self.gap,
            ),
            note("guessing recalls {kinds:.1f} % of them; without memory nothing does better", kinds=100 / self.kinds),
        ]
        return EncodedData(
            **parts,
            labels=labels,
            tokenizer=Tokenizer("whitespace"),
            vocabulary=vocabulary,
            profile={"lines": lines, "constant_accuracy": 1 / self.kinds},
        )


def _encode_texts(name: str, texts: list[str], labels: list[str]) -> EncodedData:
    examples = Examples(name, labels, texts=texts)
    return encode({"train": examples}, tokenizer="whitespace", valid_fraction=0.1, test_fraction=0.1)


def _three_parts(rows: int, seed: int, draw: Any) -> dict[str, Any]:
    """Training, validation and test sequences, each from a stream of its own."""
    tenth = rows // 10
    sizes = {"train": rows - 2 * tenth, "valid": tenth, "test": tenth}
    return {name: draw(generator(seed, "data", number), size) for number, (name, size) in enumerate(sizes.items())}


def _counts(parts: dict[str, Sequences]) -> str:
    return ", ".join(f"{name} {len(part):,}" for name, part in parts.items())


def _lengths(parts: dict[str, Sequences]) -> str:
    lengths = parts["train"].lengths
    low, high = int(lengths.min()), int(lengths.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


# Drawing: lengths are uniform from ``shortest`` to ``longest``


def first_and_last(
    rng: np.random.Generator, rows: int, shortest: int, longest: int, channels: int
) -> tuple[list[np.ndarray], list[str]]:
    """Normal numbers (T, channels); the label is the sign of the first plus the last number of channel 0."""
    series = [
        rng.standard_normal((length, channels)).astype(np.float32) for length in _draw(rng, rows, shortest, longest)
    ]
    return series, ["positive" if x[0, 0] + x[-1, 0] > 0 else "negative" for x in series]


def parity(rng: np.random.Generator, rows: int, shortest: int, longest: int) -> tuple[list[str], list[str]]:
    """Zeros and ones; the label says whether the number of ones is odd."""
    bits = [rng.integers(0, 2, length) for length in _draw(rng, rows, shortest, longest)]
    return [" ".join(map(str, row)) for row in bits], ["odd" if row.sum() % 2 else "even" for row in bits]


def brackets(
    rng: np.random.Generator, rows: int, shortest: int, longest: int, depth: int, kinds: int
) -> tuple[list[str], list[str]]:
    """Half of the rows are well-formed and at most ``depth`` deep; in the others one bracket was replaced."""
    texts, labels = [], []
    for number, length in enumerate(_draw(rng, rows, shortest, longest)):
        row = _well_formed(rng, max(1, int(length) // 2), depth, kinds)
        if number % 2:
            at = int(rng.integers(len(row)))
            others = [b for b in OPENING[:kinds] + CLOSING[:kinds] if b != row[at]]
            row[at] = others[int(rng.integers(len(others)))]  # no replacement of one bracket keeps it well-formed
        texts.append(" ".join(row))
        labels.append("broken" if number % 2 else "balanced")
    return texts, labels


def _well_formed(rng: np.random.Generator, pairs: int, depth: int, kinds: int) -> list[str]:
    """A walk from 0 to 0 that never leaves 0 … depth; each way down closes the last kind that was opened."""
    row: list[str] = []
    open_kinds: list[int] = []
    left = pairs  # brackets still to be opened
    while left or open_kinds:
        may_open, may_close = left > 0 and len(open_kinds) < depth, bool(open_kinds)
        if may_open and (not may_close or rng.random() < 0.5):
            open_kinds.append(int(rng.integers(kinds)))
            row.append(OPENING[open_kinds[-1]])
            left -= 1
        else:
            row.append(CLOSING[open_kinds.pop()])
    return row


def adding(rng: np.random.Generator, rows: int, shortest: int, longest: int) -> Sequences:
    """Two channels: numbers uniform in [0, 1), and marks. One number of the first half and one of the second are marked
    by 1, the others by 0. The target is the sum of the two marked numbers: between 0 and 2, with mean 1 and variance
    1/6, which is the error of answering 1 always."""
    lengths = _draw(rng, rows, max(2, shortest), longest)
    offsets = offsets_of(lengths)
    values = np.zeros((offsets[-1], 2), np.float32)
    values[:, 0] = rng.random(offsets[-1], dtype=np.float32)
    half = lengths // 2
    first = offsets[:-1] + (rng.random(rows) * half).astype(np.int64)
    second = offsets[:-1] + half + (rng.random(rows) * (lengths - half)).astype(np.int64)
    values[first, 1] = values[second, 1] = 1
    targets = values[first, 0] + values[second, 0]
    return Sequences.end_to_end(values, offsets, targets, np.arange(rows))


def copying(rng: np.random.Generator, rows: int, gap: int, symbols: int, kinds: int, ids: dict[str, int]) -> Sequences:
    """``symbols`` tokens to remember, ``gap`` blanks, then as many times ``go``: at each go the next symbol is due. The
    steps before are not asked for. ``ids`` numbers blank, go and the symbols "0", "1" … of ``kinds`` kinds."""
    steps = 2 * symbols + gap
    wanted = rng.integers(0, kinds, (rows, symbols))
    values = np.full((rows, steps), ids["blank"], np.int32)
    values[:, :symbols] = np.array([ids[str(kind)] for kind in range(kinds)])[wanted]
    values[:, -symbols:] = ids["go"]
    targets = np.full((rows, steps), IGNORE, np.int64)
    targets[:, -symbols:] = wanted
    offsets = np.arange(rows + 1, dtype=np.int64) * steps
    return Sequences.end_to_end(
        values.reshape(-1), offsets, targets.reshape(-1), np.arange(rows), target_offsets=offsets
    )


def _draw(rng: np.random.Generator, rows: int, shortest: int, longest: int) -> np.ndarray:
    return rng.integers(shortest, longest + 1, rows)
