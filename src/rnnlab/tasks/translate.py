"""Write a text for a text: a translation, or anything else that pairs of texts show."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from rnnlab.answers.base import Answer
from rnnlab.answers.bleu import bleu_tokenizer_for
from rnnlab.answers.translation import ExactTranslation, Translation
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data import catalogue, store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.made_pairs import VERSION, made_pairs
from rnnlab.data.pairs import Pairs, encode_pairs, read_pairs, texts_of_test
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.unchanged import Changed, Content, forget_contents, until_unchanged
from rnnlab.models.search import Manner
from rnnlab.tasks.base import Task, task

RECURRENT: dict[str, Any] = {"hidden": 256, "bidirectional": True, "embedding": {"width": 256}}
MADE_FRACTION = 0.1  # of the pairs by a known rule, split off to choose by, and to test
TOKENIZERS = Literal["auto", "words", "chars", "whitespace", "jieba", "bpe"]


class Writing(Task):
    """What tasks share whose answers are texts that are written for others."""

    shape: ClassVar[Answer] = Translation()
    default_models: ClassVar[tuple[str, ...]] = ("gru", "lstm", "gru-plain", "transformer")
    training_defaults: ClassVar[dict[str, Any]] = {"batch_size": 64, "lr": 0.002}
    recurrent_pooling: ClassVar[str] = "last"
    split_by: ClassVar[str | None] = "split_seed"
    model_defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "rnn": RECURRENT,
        "lstm": RECURRENT,
        "gru": RECURRENT,
        "transformer": {"width": 256, "feedforward": 512, "embedding": {"width": 256}},
    }

    beam: int = Field(default=5, ge=1, le=100, description="Beginnings that are followed at a time; 1: greedily.")
    length_penalty: float = Field(
        default=1.0,
        ge=0,
        le=5,
        description="Of a finished text, the power of its length by which its log probability is divided.",
    )
    longest: int = Field(default=100, ge=1, le=10_000, description="Tokens that are written at most.")
    split_seed: int = Field(default=0, ge=0, description="Which pairs are split off.")

    @property
    def manner(self) -> Manner:
        return Manner(self.beam, self.length_penalty, self.longest)

    @property
    def example(self) -> str | None:
        return "…"

    def read(self) -> dict[str, Pairs]:
        """The pairs by split; all under "train" where no others are given."""
        raise NotImplementedError

    def texts(self, rows: Sequence[int]) -> list[str] | None:
        """Read from the source again: encoded data hold no texts. That these are the rows is checked by encoding
        them."""
        data = self.load()
        fractions = {name: getattr(self, name, MADE_FRACTION) for name in ("valid_fraction", "test_fraction")}
        every = texts_of_test(self.read(), **fractions, split_seed=self.split_seed)
        if len(every) == len(data.test):
            found = [every[row] for row in rows]
            encoded, _ = self.encode(found, Preprocessor.of(data))
            if all(np.array_equal(encoded.row(at), data.test.row(row)) for at, row in enumerate(rows)):
                return found
        raise DataError(
            "{data}: not the rows that were trained and tested on; the source changed since",
            data=getattr(self, "data", self.kind),
        )

    def identity(self) -> dict[str, Any]:
        """How texts are searched for decides the scores of a run."""
        found = super().identity()
        return {**found, "search": [self.beam, self.length_penalty, self.longest]} if self.fingerprint else found


@task("translate")
class Translate(Writing):
    """A text in one language, or of one kind, for a text in another."""

    data: str = Field(min_length=1, description="A table with two columns of texts, or a name of the catalogue.")
    source: str | int | None = Field(default=None, description="Column of the texts that are read: a name, or 1, 2 …")
    target: str | int | None = Field(default=None, description="Column of the texts that are written.")
    columns: tuple[str, ...] | None = Field(default=None, description="Names of the columns, where there is no header.")
    valid: str | None = Field(default=None, description="A file with the validation pairs; else they are split off.")
    test: str | None = Field(default=None, description="A file with the test pairs; else they are split off.")
    skip_bad: bool = Field(default=False, description="Leave bad rows out and count them.")
    tokenizer: TOKENIZERS = Field(default="auto", description="How texts that are read are cut.")
    target_tokenizer: TOKENIZERS | Literal["shared"] = Field(
        default="auto",
        description="How texts that are written are cut; shared: by the byte-pair encoding of both sides together.",
    )
    merges: int = Field(default=8000, ge=1, le=1_000_000, description="Of byte-pair encoding (bpe).")
    min_count: int = Field(default=2, ge=1, description="Tokens seen less often in training are unknown.")
    max_size: int | None = Field(default=None, ge=5, description="At most so many kinds of tokens per side.")
    max_length: int | None = Field(
        default=None, ge=1, description="Training pairs longer than so many tokens are left out."
    )
    valid_fraction: float = Field(default=0.05, gt=0, lt=0.5, description="Share of the pairs split off to choose by.")
    test_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share of the pairs split off for the test.")
    words_of_bleu: str | None = Field(
        default=None, description="By which rules BLEU cuts texts into words (13a, zh, char, none); filled in."
    )

    def answered(self) -> Answer:
        return Translation(self.words_of_bleu or "13a", self.manner)

    def given_split(self) -> str | None:
        given = [part for part in ("valid", "test") if part in self._files()]
        if not given:
            return None
        return note(
            "a file gives the {names} rows, so no seed can draw them; leave out {names}, or vary_split",
            names=" and ".join(given),
        )

    def resolve(self) -> Self:
        data = self.encoded()
        cut_by = self.words_of_bleu or bleu_tokenizer_for([text for row in data.references["test"] for text in row])
        return self.replace(words_of_bleu=cut_by, fingerprint=store.fingerprint(data))

    def encoded(self) -> EncodedData:
        return until_unchanged(self._attempt, self.data)

    def _attempt(self) -> EncodedData:
        content = self._content()
        left_out = ("fingerprint", "data", "valid", "test", "metric", "beam", "length_penalty", "longest")
        settings = {name: value for name, value in self.to_dict().items() if name not in (*left_out, "words_of_bleu")}

        def make() -> EncodedData:
            try:
                parts = self.read()
            finally:
                if self._content() != content:
                    raise Changed
            return self._encode(parts)

        try:
            return store.cached(digest_of([settings, content.lines]), make)
        finally:
            forget_contents()

    def _content(self) -> Content:
        return Content.of({f"{split} {path.suffix.lower()}": path for split, path in self._files().items()})

    def _files(self) -> dict[str, Path]:
        """By split, those that are given."""
        named = {"train": self.data, "valid": self.valid, "test": self.test}
        if self.data in catalogue.names():
            [file] = catalogue.entry(self.data).files
            named["train"] = str(catalogue.get(self.data) / file)
        return {split: Path(path) for split, path in named.items() if path is not None}

    def read(self) -> dict[str, Pairs]:
        return {
            split: read_pairs(
                path, source=self.source, target=self.target, columns=self.columns, skip_bad=self.skip_bad
            )
            for split, path in self._files().items()
        }

    def _encode(self, parts: dict[str, Pairs]) -> EncodedData:
        return encode_pairs(
            parts,
            tokenizer=self.tokenizer,
            target_tokenizer=self.target_tokenizer,
            bpe_merges=self.merges,
            min_count=self.min_count,
            max_size=self.max_size,
            target_min_count=self.min_count,
            target_max_size=self.max_size,
            max_length=self.max_length,
            target_max_length=self.max_length,
            valid_fraction=self.valid_fraction,
            test_fraction=self.test_fraction,
            split_seed=self.split_seed,
        )

    def use(self, run: str | PathLike[str]) -> str | None:
        return f'rnnlab predict {run} "…" --beam {self.beam}'


class MadePairs(Writing):
    """Pairs by a rule that is known: one text alone is right."""

    shape: ClassVar[Answer] = ExactTranslation()
    regularised: ClassVar[bool] = False
    training_defaults: ClassVar[dict[str, Any]] = {**Writing.training_defaults, "until": 1e-4}
    """Nats per token: all is learnt that there is."""

    rows: int = Field(
        default=10_000, ge=100, le=1_000_000, description="Pairs in all: 10 % each to choose and to test."
    )
    length: int = Field(default=20, ge=2, le=1_000, description="Letters of a text, at most.")

    def answered(self) -> Answer:
        return ExactTranslation("char", self.manner)

    def read(self) -> dict[str, Pairs]:
        return {"train": made_pairs(self.kind, self.rows, self.length, self.split_seed)}

    def encoded(self) -> EncodedData:
        def make() -> EncodedData:
            return encode_pairs(self.read(), tokenizer="chars", target_tokenizer="chars", valid_fraction=MADE_FRACTION,
                                test_fraction=MADE_FRACTION, split_seed=self.split_seed)  # fmt: skip

        return store.cached(digest_of([VERSION, self.kind, self.rows, self.length, self.split_seed]), make)


@task("reverse")
class Reverse(MadePairs):
    """The letters of a text backwards: the last one that was read is the first to be written."""


@task("sort")
class Sort(MadePairs):
    """The letters of a text in the order of the alphabet."""


@task("dates")
class Dates(MadePairs):
    """A date as people write it (3rd of May 1998) as machines do (1998-05-03)."""
