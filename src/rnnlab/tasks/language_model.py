"""Continue a text: a probability for every next character or word."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.text import Text
from rnnlab.core.config import digest_of
from rnnlab.core.errors import WrongValue
from rnnlab.core.words import note
from rnnlab.data import catalogue, store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import VERSION, nested_sentences
from rnnlab.data.passages import Passages, TextPer, encode_passages, read_passages
from rnnlab.data.unchanged import Changed, Content, forget_contents, until_unchanged
from rnnlab.tasks.base import Task, task

WINDOW = {"chars": 128, "words": 64}
FAST = ("lstm", "gru")  # what learns well at twice the usual rate; the table: decision 32
USUAL: dict[str, dict[str, Any]] = {
    "chars": {"output_dropout": 0.2, "embedding": {"width": 64, "dropout": 0.0}},
    "words": {"output_dropout": 0.4, "embedding": {"width": 300, "dropout": 0.3}},
}
SIZES: dict[str, int] = {"chars": 256, "words": 300}  # units of a recurrence with gates
MADE = 20_000  # sentences
CONTEXT = {"chars": 256, "words": 128}


@task("language-model")
class LanguageModel(Task):
    """What comes next in a text: characters or words, of one long stream or of rows such as poems and names."""

    shape: ClassVar[Answer] = Text()
    causal: ClassVar[bool] = True
    default_models: ClassVar[tuple[str, ...]] = ("rnn", "lstm", "gru", "mingru", "dilated", "transformer")
    training_defaults: ClassVar[dict[str, Any]] = {"batch_size": 32, "lr": 0.002}
    text_defaults: ClassVar[dict[str, Any]] = {}
    split_by: ClassVar[str | None] = "split_seed"
    recurrent_pooling: ClassVar[str] = "last"  # nothing is pooled
    model_defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "transformer": {"look_ahead": False},
        "dilated": {"look_ahead": False},
    }

    data: str | None = Field(
        default=None,
        min_length=1,
        description="A text file, or a name of the catalogue; else sentences are made by rules that are known, and so "
        "is what a model can at best achieve.",
    )
    sentences_made: int | None = Field(
        default=None, ge=100, le=1_000_000, description="Without data: so many sentences are made (20,000)."
    )
    valid: str | None = Field(default=None, description="A file with the validation text; else it is split off.")
    test: str | None = Field(default=None, description="A file with the test text; else it is split off.")
    unit: Literal["chars", "words"] = Field(default="chars", description="What a token is: a character or a word.")
    text_per: TextPer = Field(
        default="file",
        description="Where a text begins: one per file, which is then a stream; or one per paragraph (between blank "
        "lines) or per line, such as poems or names.",
    )
    window: int | None = Field(
        default=None,
        ge=2,
        le=10_000,
        description="Tokens per row of an update: gradients reach back so far (128 characters, 64 words).",
    )
    context: int | None = Field(
        default=None,
        ge=0,
        le=100_000,
        description="Tokens that are read before those that are scored (256 characters, 128 words).",
    )
    block: int = Field(default=1000, ge=10, description="Scored tokens per block; intervals go by blocks.")
    min_count: int = Field(default=1, ge=1, description="Tokens seen less often in training are unknown.")
    max_size: int | None = Field(default=None, ge=5, description="At most so many tokens, the most frequent ones.")
    valid_fraction: float = Field(default=0.05, gt=0, lt=0.5, description="Share of the text split off for validation.")
    test_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share of the text split off for the test.")
    split_seed: int = Field(default=0, ge=0, description="Which rows are split off; a stream is split by position.")

    @model_validator(mode="after")
    def _made_or_read(self) -> Self:
        if self.data is not None and self.sentences_made is not None:
            raise WrongValue(
                "sentences_made = {made} would be ignored: the text is that of data", made=self.sentences_made
            )
        if self.data is None and (self.text_per != "file" or self.valid or self.test):
            raise WrongValue("text_per, valid and test are for texts that are read; give data, or leave them out")
        return self

    @classmethod
    def usual_training(cls, settings: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
        values = {**cls.training_defaults, "lr": 0.004 if kind in FAST else 0.002}
        large = settings.get("unit") == "words" and settings.get("data") is not None
        return {**values, "softmax_samples": 1000} if large else values

    def usual_model(self, kind: str) -> dict[str, Any]:
        """Characters are few, and a vector of theirs that is dropped is a character that isn't read; words have the
        same vectors where they are read and where they are scored."""
        if self.data is None:
            return super().usual_model(kind)
        found = {**USUAL[self.unit], **super().usual_model(kind)}
        if kind in FAST:
            found["hidden"] = SIZES[self.unit]
        return {**found, "tied": True} if self.unit == "words" else found

    @property
    def streams(self) -> bool:
        return self.text_per == "file"

    @property
    def steps(self) -> int:
        return self.window or WINDOW[self.unit]

    def use(self, run: str | PathLike[str]) -> str | None:
        return f"rnnlab generate {run} --temperature 0.8"

    def given_split(self) -> str | None:
        if self.streams:
            return note("a stream is split by position, so no seed can draw the test tokens; leave vary_split out")
        given = [part for part in ("valid", "test") if part in self._files()]
        if not given:
            return None
        return note(
            "a file gives the {names} rows, so no seed can draw them; leave out {names}, or vary_split",
            names=" and ".join(given),
        )

    def resolve(self) -> Self:
        filled: dict[str, Any] = {"context": CONTEXT[self.unit] if self.context is None else self.context}
        whole = self.replace(window=self.steps, **filled)
        return whole.replace(fingerprint=store.fingerprint(whole.encoded()))

    def encoded(self) -> EncodedData:
        if self.data is None:
            return self._made()
        return until_unchanged(self._attempt, self.data)

    def _made(self) -> EncodedData:
        """Of sentences by rule, with the nats per token that nobody can do better than."""
        left_out = ("fingerprint", "metric", "window")
        settings = {name: value for name, value in self.to_dict().items() if name not in left_out}

        def make() -> EncodedData:
            made = nested_sentences(self.sentences_made or MADE, self.split_seed)
            data = self._encode({"train": Passages(self.kind, (made.text,))})
            nats = made.nats_of_characters if self.unit == "chars" else made.nats
            floor = float(nats[-int((data.test.truth.values >= 0).sum()) :].mean())
            line = note(
                "made by rules that are known: no model can have less than {floor:.4f} nats per token on the test text",
                floor=floor,
            )
            profile = {**data.profile, "lines": [*data.profile["lines"], line], "floor": floor}
            return replace(data, profile=profile)

        return store.cached(digest_of([VERSION, settings]), make)

    def _encode(self, parts: dict[str, Passages]) -> EncodedData:
        return encode_passages(
            parts,
            text_per=self.text_per,
            unit=self.unit,
            min_count=self.min_count,
            max_size=self.max_size,
            context=CONTEXT[self.unit] if self.context is None else self.context,
            block=self.block,
            valid_fraction=self.valid_fraction,
            test_fraction=self.test_fraction,
            split_seed=self.split_seed,
        )

    def _attempt(self) -> EncodedData:
        content = Content.of({f"{split} {path.suffix.lower()}": path for split, path in self._files().items()})
        left_out = ("fingerprint", "data", "valid", "test", "metric", "window")
        settings = {name: value for name, value in self.to_dict().items() if name not in left_out}

        def make() -> EncodedData:
            try:
                parts = self.read()
            finally:
                if Content.of({f"{split} {p.suffix.lower()}": p for split, p in self._files().items()}) != content:
                    raise Changed
            return self._encode(parts)

        try:
            return store.cached(digest_of([settings, content.lines]), make)
        finally:
            forget_contents()

    def _files(self) -> dict[str, Path]:
        """By split, those that are given."""
        named = {"train": self.data, "valid": self.valid, "test": self.test}
        if self.data is not None and self.data in catalogue.names():
            [file] = catalogue.entry(self.data).files
            named["train"] = str(catalogue.get(self.data) / file)
        return {split: Path(path) for split, path in named.items() if path is not None}

    def read(self) -> dict[str, Passages]:
        """The texts by split; all under "train" where no others are given."""
        return {split: read_passages(path, self.text_per) for split, path in self._files().items()}

    def identity(self) -> dict[str, Any]:
        found = super().identity()
        return {**found, "window": self.steps} if self.fingerprint and self.streams else found
