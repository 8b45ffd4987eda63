"""A tag for every token: parts of speech, or parts of entities."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.tags import Tags
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError, WrongValue
from rnnlab.core.words import note
from rnnlab.data import catalogue, store, vectors
from rnnlab.data.encoded import EncodedData
from rnnlab.data.marks import Kind
from rnnlab.data.ngrams import SIZES
from rnnlab.data.spelling import MOST
from rnnlab.data.tagged.encoding import encode_sentences
from rnnlab.data.tagged.finding import has_tags, parts_of
from rnnlab.data.tagged.reading import read_sentences
from rnnlab.data.tagged.sentences import Sentences
from rnnlab.data.unchanged import Changed, Content, forget_contents, until_unchanged
from rnnlab.tasks.base import Task, task

ENTITIES = "BIO"  # any scheme: the scores are the same


@task("tag")
class Tag(Task):
    """A tag for every token of a sentence: CoNLL-U, a token and its tag per line, or texts with spans."""

    shape: ClassVar[Answer] = Tags(words=True, scheme=ENTITIES)
    question: ClassVar[str | None] = "…"
    default_models: ClassVar[tuple[str, ...]] = (
        "rnn",
        "lstm",
        "gru",
        "bilstm",
        "bigru",
        "bilstm-crf",
        "textcnn",
        "transformer",
        "linear",
    )
    training_defaults: ClassVar[dict[str, Any]] = {"batch_size": 32, "lr": 0.002}
    text_defaults: ClassVar[dict[str, Any]] = {"embedding": {"word_dropout": 0.1}}
    split_by: ClassVar[str | None] = "split_seed"
    recurrent_pooling: ClassVar[str] = "last"  # nothing is pooled

    data: str = Field(min_length=1, description="A file of tagged sentences, or a folder with train, dev and test.")
    valid: str | None = Field(default=None, description="A file with the validation rows; else they are split off.")
    test: str | None = Field(default=None, description="A file with the test rows; else they are split off.")
    tags: str | None = Field(
        default=None,
        description="Which column holds the tags: of CoNLL-U upos (default), xpos, deprel, feats or a key of misc.",
    )
    tokens: str | None = Field(default=None, description="Which column of a table holds the tokens.")
    skip_bad: bool | None = Field(default=None, description="Leave bad rows out and count them, instead of stopping.")
    tokenizer: Literal["auto", "words", "chars", "whitespace", "jieba"] = Field(
        default="auto", description="How a new text becomes tokens; auto: words or chars, as the file's tokens are."
    )
    letters: int | None = Field(
        default=None,
        ge=0,
        le=MOST,
        description="So many letters of each word are inputs, too (words 20, characters 0).",
    )
    marks: tuple[Kind, ...] | None = Field(
        default=None,
        description="What is seen of tokens, as further inputs: prefix, suffix, ending and shape of words (all four), "
        "segments by jieba of Chinese characters (where it is installed); [] for none.",
    )
    lowercase: bool = Field(default=True, description="Words are looked up in lower case; letters stay as they are.")
    min_count: int = Field(default=1, ge=1, description="Words seen less often in training are unknown.")
    max_size: int | None = Field(default=None, ge=1, description="At most so many words, the most frequent ones.")
    ngrams: tuple[int, ...] = Field(
        default=(), description="Sizes of n-grams of tokens whose vectors are inputs, too, for example [2]."
    )
    ngram_size: int = Field(default=200_000, ge=1, le=5_000_000, description="At most so many n-grams.")
    extra_words: str | None = Field(
        default=None,
        description="Pre-trained vectors (a file or a name) whose words the vocabulary has too, though the training "
        "rows lack them. --vectors sets it; none switches it off.",
    )
    valid_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share of the rows split off for validation.")
    test_fraction: float = Field(default=0.2, gt=0, lt=0.5, description="Share of the rows split off for the test.")
    split_seed: int = Field(default=0, ge=0, description="Which rows are split off.")
    scheme: str | None = Field(default=None, description="How tags are parts of entities; filled in.")
    labels: tuple[str, ...] | None = Field(default=None, description="All tags; filled in.")

    @field_validator("ngrams")
    @classmethod
    def _sizes_of_ngrams(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(sizes)) < len(sizes) or not all(n in SIZES for n in sizes):
            raise WrongValue(
                "sizes from {sizes} to {SIZES_2}, each once, for example [2, 3] (got {lengths})",
                sizes=SIZES[0],
                SIZES_2=SIZES[-1],
                lengths=list(sizes),
            )
        return tuple(sorted(sizes))

    @field_validator("extra_words", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value == "none" else value  # TOML has no null

    @property
    def settled(self) -> bool:
        return self.labels is not None

    def answered(self) -> Answer:
        """Until the data are read, whatever may be asked of them."""
        if self.labels is None:
            return self.shape
        return Tags(words=True, scheme=self.scheme, labels=self.labels)

    def given_split(self) -> str | None:
        given = [part for part in ("valid", "test") if part in self._files()]
        if not given:
            return None
        names = " and ".join(given)
        return note(
            "a file gives the {names} rows, so no seed can draw them; leave out {names}, or vary_split", names=names
        )

    def resolve(self) -> Self:
        data = self.encoded()
        scheme = data.profile["scheme"]
        if scheme is None and self.metric == "entity-f1":
            raise DataError("{data}: these tags are not parts of entities, so there is no entity F1", data=self.data)
        tokenizer = data.tokenizer.name if data.tokenizer else self.tokenizer
        marks = () if data.marks is None else data.marks.kinds
        filled = {"tokenizer": tokenizer, "marks": marks, "scheme": scheme, "labels": data.labels}
        return self.replace(fingerprint=store.fingerprint(data), **filled)

    def encoded(self) -> EncodedData:
        return until_unchanged(self._attempt, self.data)

    def _attempt(self) -> EncodedData:
        content = self._content()
        settings = self.to_dict() | dict.fromkeys(("fingerprint", "data", "valid", "test", "scheme", "labels"))
        for name in ("metric", "extra_words"):  # rows are rows; and like those files, it is in the content
            settings.pop(name, None)

        def make() -> EncodedData:
            return self._encode(self._read_as(content), content)

        try:
            return store.cached(digest_of([settings, content.lines]), make)
        finally:
            forget_contents()

    def _files(self) -> dict[str, Path]:
        """By split, those that are given. Where those of the test in a folder have no tags, as is the custom of
        competitions, the validation rows are the test rows, and others are split off for validation."""
        given = {"valid": self.valid, "test": self.test}
        found = {**self._published(), **{split: Path(path) for split, path in given.items() if path}}
        if self.test is None and "test" in found and not has_tags(found["test"], self.tags):
            held_out = found.pop("valid", None)
            del found["test"]
            found |= {"test": held_out} if held_out is not None else {}
        return found

    def _published(self) -> dict[str, Path]:
        """The files of a folder or of a data set of the catalogue, by split."""
        return parts_of(catalogue.get(self.data) if self.data in catalogue.names() else Path(self.data))

    def _content(self) -> Content:
        rows = Content.of({f"{split} {path.suffix.lower()}": path for split, path in self._files().items()})
        if self.extra_words is None:
            return rows
        extra = f"extra_words {vectors.digest_of_source(self.extra_words)}"
        return Content((*rows.lines, extra), rows.stamps)

    def _read_as(self, content: Content) -> dict[str, Sentences]:
        try:
            return self.read()
        finally:
            if self._content() != content:
                raise Changed

    def read(self) -> dict[str, Sentences]:
        """The tagged sentences by split; all under "train" where no others are given."""
        files = self._files()
        how: dict[str, Any] = {"tags": self.tags, "tokens": self.tokens, "skip_bad": bool(self.skip_bad)}
        train = read_sentences(files.pop("train"), **how)
        held_out = {split: read_sentences(path, like=train, **how) for split, path in files.items()}
        if self.test is None and "test" in files and files["test"] == self._published().get("valid"):
            untagged = note(
                "the test rows of {data} have no tags: its validation rows are the test rows here, and others are "
                "split off train for validation",
                data=Path(self.data).name,
            )
            train = replace(train, notes=(untagged, *train.notes))
        return {"train": train, **held_out}

    def _encode(self, parts: Mapping[str, Sentences], content: Content) -> EncodedData:
        words: Sequence[str] = ()
        if self.extra_words is not None:
            loaded = vectors.load(self.extra_words)
            if f"extra_words {loaded.digest}" not in content.lines:
                raise Changed
            words = loaded.words
        return encode_sentences(
            parts,
            tokenizer=self.tokenizer,
            letters=self.letters,
            marks=self.marks,
            lowercase=self.lowercase,
            min_count=self.min_count,
            max_size=self.max_size,
            ngrams=self.ngrams,
            ngram_size=self.ngram_size,
            extra_words=words,
            valid_fraction=self.valid_fraction,
            test_fraction=self.test_fraction,
            split_seed=self.split_seed,
        )

    def sentences(self, rows: Sequence[int]) -> list[list[str]]:
        """The tokens of these test rows, read from the source again."""
        from rnnlab.data.tagged.encoding import divide_sentences

        data = self.load()
        divided = divide_sentences(self.read(), self.valid_fraction, self.test_fraction, self.split_seed)
        found = [divided.row("test", row) for row in rows]
        again, _ = self.encode(found, data)
        for at, row in enumerate(rows):
            if not np.array_equal(again.row(at), data.test.row(row)):
                raise DataError(
                    "{data}: not the rows that were trained and tested on; the source changed since", data=self.data
                )
        return found
