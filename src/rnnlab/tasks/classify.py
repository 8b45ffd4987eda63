"""One label per sequence: text from a file, a public data set or the embedded generator; numeric sequences too."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.label import Label
from rnnlab.answers.multi_label import MultiLabel
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError, WrongValue, did_you_mean
from rnnlab.core.words import both, note, say
from rnnlab.data import catalogue, reviews, store, vectors
from rnnlab.data.classes import check_labels
from rnnlab.data.encoded import EncodedData, divide, encode
from rnnlab.data.examples import Examples, drawn
from rnnlab.data.joined import join
from rnnlab.data.ngrams import SIZES
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.reading import read_examples
from rnnlab.data.sequences import gather_rows
from rnnlab.data.unchanged import LARGEST_HELD, Changed, Content, forget_contents, until_unchanged
from rnnlab.tasks.base import Task, task

_GENERATED = {"language": "en", "rows": 6000, "data_seed": 0}  # settings of the embedded generator
_COLUMNS = ("valid", "test", "text", "label", "group", "tag", "columns", "skip_bad", "multi_label")  # settings of files


_last_read: tuple[str, dict[str, Examples]] | None = None  # of this process


@task("classify")
class Classify(Task):
    """One label for a whole sequence: a text, or a series of numbers."""

    shape: ClassVar[Answer] = Label()
    question: ClassVar[str | None] = "…"
    added: ClassVar[tuple[str, ...]] = ("sample", "phrases", "extra_words", "ngrams", "ngram_size", "multi_label")
    split_by: ClassVar[str | None] = "split_seed"

    data: str = Field(
        default="reviews", min_length=1, description="A file, a catalogue name, or 'reviews', the embedded generator."
    )
    valid: str | None = Field(default=None, description="A file with the validation rows; else they are split off.")
    test: str | None = Field(default=None, description="A file with the test rows; else they are split off.")
    text: str | tuple[str, ...] | None = Field(
        default=None,
        description="Column with the text or the numbers, guessed when unambiguous; several text columns are read "
        'together: "subject,body" or ["subject", "body"].',
    )
    label: str | None = Field(default=None, description="Column with the label; guessed when unambiguous.")
    group: str | None = Field(default=None, description="Column whose equal values never straddle a split.")
    tag: str | None = Field(default=None, description="Column for the result table by tag.")
    columns: tuple[str, ...] | None = Field(default=None, description="Names of the columns, if there is no header.")
    skip_bad: bool | None = Field(default=None, description="Leave bad rows out and count them, instead of stopping.")
    language: Literal["en", "zh"] | None = Field(default=None, description="Of the embedded reviews (en).")
    rows: int | None = Field(default=None, ge=50, le=1_000_000, description="Of the embedded reviews (6,000).")
    data_seed: int | None = Field(default=None, ge=0, description="Of the embedded reviews (0).")
    tokenizer: Literal["auto", "words", "chars", "whitespace", "jieba"] = Field(
        default="auto", description="How text becomes tokens; auto goes by the language of the text."
    )
    min_count: int = Field(default=1, ge=1, description="Words seen less often in training are unknown.")
    max_size: int | None = Field(default=None, ge=1, description="At most so many words, the most frequent ones.")
    max_length: int | None = Field(default=None, ge=1, description="Cut longer rows to their first tokens.")
    valid_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share of the rows split off for validation.")
    test_fraction: float = Field(default=0.2, gt=0, lt=0.5, description="Share of the rows split off for the test.")
    split_seed: int = Field(default=0, ge=0, description="Which rows are split off.")
    sample: int | None = Field(
        default=None, ge=50, description="Use at most so many rows of each given part, drawn by split_seed."
    )

    phrases: bool = Field(
        default=False,
        description="sst: train on every labelled phrase of the training sentences; test on whole sentences.",
    )

    extra_words: str | None = Field(
        default=None,
        description="Pre-trained vectors (a file or a name) whose words the vocabulary has too, though the training "
        "rows lack them; an unknown word is then zero. --vectors sets it; none switches it off.",
    )

    multi_label: str | None = Field(
        default=None,
        min_length=1,
        max_length=3,
        description="What stands between the labels of a row that may have several or none, for example ';'; lists in "
        "JSON are read as they are.",
    )

    ngrams: tuple[int, ...] = Field(
        default=(),
        description="Sizes of n-grams whose vectors are inputs beside those of the tokens, for example [2, 3]; those "
        "that the training rows hold once have none.",
    )
    ngram_size: int = Field(default=200_000, ge=1, le=5_000_000, description="At most so many n-grams.")

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

    @field_validator("text")
    @classmethod
    def _columns_of_text(cls, text: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        """One column is its name, however it was given."""
        if isinstance(text, str | None):
            return text
        if not text or not all(name.strip() for name in text):
            raise WrongValue("the names of columns are needed (got {names})", names=list(text))
        if len(set(text)) < len(text):
            raise WrongValue("a column stands there twice; name each column once (got {names})", names=list(text))
        return text[0] if len(text) == 1 else text

    @field_validator("extra_words", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value == "none" else value  # TOML has no null

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("data", "reviews") == "reviews":
            return {**_GENERATED, **{k: v for k, v in values.items() if v is not None or k not in _GENERATED}}
        return values

    @model_validator(mode="after")
    def _refuse_unused(self) -> Self:
        embedded, public = self.data == "reviews", self.data in catalogue.names()
        unused = [*(() if embedded else _GENERATED), *(_COLUMNS if embedded or public else ())]
        for name in unused:
            if getattr(self, name) is not None:
                whose = both("the embedded reviews") if name in _GENERATED else both("a file")
                raise WrongValue(
                    "'{name}' is a setting of {whose}; with data = \"{data}\" it would be ignored",
                    name=name,
                    whose=whose,
                    data=self.data,
                )
        if self.phrases and self.data not in catalogue.with_phrases():
            whose = ", ".join(catalogue.with_phrases())
            raise WrongValue(
                "'phrases' is a setting of {whose}; with data = \"{data}\" it would be ignored",
                whose=whose,
                data=self.data,
            )
        if not self.ngrams and self.ngram_size != type(self).model_fields["ngram_size"].default:
            raise WrongValue(
                "'ngram_size' = {ngram_size} would be ignored without 'ngrams'", ngram_size=self.ngram_size
            )
        return self

    def answered(self) -> Answer:
        return self.shape if self.multi_label is None else MultiLabel(self.multi_label)

    @property
    def example(self) -> str | None:
        return self.question if isinstance(self.text, str | None) else join([f"…{name}…" for name in self.text])

    @classmethod
    def ignored(cls, training: Mapping[str, Any], path: str, settings: Mapping[str, Any]) -> list[str]:
        found = super().ignored(training, path, settings)
        if training.get("class_weights") not in (None, "none") and settings.get("multi_label") is not None:
            found.append(
                say(
                    "{path}.class_weights: with 'multi_label' a row belongs to no single class, and each label has a "
                    'threshold of its own instead; leave it out, and set task.metric = "macro-f1"',
                    path=path,
                )
            )
        return found

    def given_split(self) -> str | None:
        given = [part for part in ("valid", "test") if getattr(self, part) is not None]
        if given:
            names = " and ".join(given)
            return note(
                "a file gives the {names} rows, so no seed can draw them; leave out {names}, or vary_split", names=names
            )
        published = catalogue.held_out(self.data) if self.data in catalogue.names() else ()
        if published:
            return note(
                "'{data}' is published with {names} rows, so no seed can draw them; leave out vary_split, "
                "or give one file with all rows",
                data=self.data,
                names=" and ".join(published),
            )
        return None

    def resolve(self) -> Self:
        return self._resolved(self.encoded())

    def resolve_splits(self, seeds: Iterable[int]) -> Iterator[Self]:
        """The source is read at most once, unless it changes meanwhile, and not at all where the cache has every
        split."""
        seeds = list(seeds)
        if not seeds:
            return
        first, *others = seeds

        def begin() -> tuple[Self, Callable[[int], Self]]:
            content = self._content()
            read = functools.cache(functools.partial(self._read_as, content))

            def resolved(seed: int) -> Self:
                task = self.with_split(seed)
                return task._resolved(task._encoded(content, read))

            return resolved(first), resolved

        task, resolved = until_unchanged(begin, self.data)
        yield task
        for seed in others:  # from what was read, or would have been, for the first
            try:
                yield resolved(seed)
            except Changed:
                raise DataError(
                    "{data}: it changed while it was read; start the command again", data=self.data
                ) from None

    def _resolved(self, data: EncodedData) -> Self:
        tokenizer = data.tokenizer.name if data.tokenizer else self.tokenizer
        changes: dict[str, Any] = {"fingerprint": store.fingerprint(data), "tokenizer": tokenizer}
        if data.text_columns:
            changes["text"] = data.text_columns  # "a,b" may name one column, and these are several
        return self.replace(**changes)

    def encoded(self) -> EncodedData:
        def attempt() -> EncodedData:
            content = self._content()
            return self._encoded(content, lambda: self._read_as(content))

        return until_unchanged(attempt, self.data)

    def _encoded(self, content: Content, read: Callable[[], dict[str, Examples]]) -> EncodedData:
        settings = self.to_dict() | dict.fromkeys(("fingerprint", "data", "valid", "test"))
        settings.pop("metric", None)  # rows are rows
        settings.pop("extra_words", None)  # like those files, it is in the content
        try:
            return store.cached(digest_of([settings, content.lines]), lambda: self._encode(read(), content))
        finally:
            forget_contents()

    def _read_as(self, content: Content) -> dict[str, Examples]:
        """The rows, if they are what the sums were made of. The last ones are kept: a report shows some of them."""
        global _last_read
        key = self._reading(content)
        if _last_read is not None and _last_read[0] == key:
            return _last_read[1]
        try:
            parts = self.read()
        finally:  # a row that can't be read may be half of one: then too it is the change that counts
            if self._content() != content:
                raise Changed
        small = sum(stamp[1] for stamp in content.stamps) <= LARGEST_HELD
        _last_read = (key, parts) if small else None
        return parts

    def _reading(self, content: Content) -> str:
        """All that `read` depends on."""
        names = (*_COLUMNS, *_GENERATED, "data", "phrases")
        return digest_of([{name: getattr(self, name) for name in names}, content.lines])

    def _content(self) -> Content:
        """What stands for the bytes to be read."""
        rows = self._content_of_rows()
        if self.extra_words is None:
            return rows
        return replace(rows, lines=(*rows.lines, _extra_line(vectors.digest_of_source(self.extra_words))))

    def _content_of_rows(self) -> Content:
        if self.data == "reviews":
            return Content.of({"reviews": Path(reviews.__file__), **reviews.FILES})
        if self.data in catalogue.names():
            return Content.of(catalogue.paths(self.data))
        roles = {"data": self.data, "valid": self.valid, "test": self.test}
        files = {role: _existing(path) for role, path in roles.items() if path}
        return Content.of({f"{role} {path.suffix.lower()}": path for role, path in files.items()})

    def _encode(self, parts: dict[str, Examples], content: Content) -> EncodedData:
        return encode(
            self._sampled(parts),
            tokenizer=self.tokenizer,
            min_count=self.min_count,
            max_size=self.max_size,
            max_length=self.max_length,
            ngrams=self.ngrams,
            ngram_size=self.ngram_size,
            extra_words=self._extra_words(content),
            **self._splitting(),
        )

    def _extra_words(self, content: Content) -> Sequence[str]:
        if self.extra_words is None:
            return ()
        loaded = vectors.load(self.extra_words)
        if _extra_line(loaded.digest) not in content.lines:
            raise Changed
        return loaded.words

    def _sampled(self, parts: dict[str, Examples]) -> dict[str, Examples]:
        if self.sample is None:
            return parts
        return {name: drawn(part, self.sample, self.split_seed) for name, part in parts.items()}

    def _splitting(self) -> dict[str, Any]:
        return {
            "valid_fraction": self.valid_fraction,
            "test_fraction": self.test_fraction,
            "split_seed": self.split_seed,
        }

    def texts(self, rows: Sequence[int]) -> list[str] | None:
        """Read from the source again: encoded data hold no texts. That these are the rows is checked by encoding them:
        a source that changed since is an error, unless it changed elsewhere."""
        data = self.load()
        if data.vocabulary is None:
            return None
        divided = divide(self._sampled(self._read_as(self._content())), **self._splitting())
        test = divided.rows["test"]
        if np.array_equal(divided.targets[test], data.test.targets):
            every = divided.texts("test") or []
            texts = [every[row] for row in rows]
            if _encode_alike(texts, data, np.array(rows, np.int64)):
                return texts
        raise DataError(
            "{data}: not the rows that were trained and tested on; the source changed since", data=self.data
        )

    def read(self) -> dict[str, Examples]:
        """The labelled rows, by split where the splits are given; all under "train" where they aren't."""
        if self.data == "reviews":
            return {"train": reviews.generate(self.rows or 0, self.language or "en", self.data_seed or 0)}  # filled in
        if self.data in catalogue.names():
            return catalogue.load(self.data, phrases=self.phrases)
        given = {"train": self.data, "valid": self.valid, "test": self.test}
        parts = {
            split: read_examples(
                str(_existing(path)),
                text=self.text,
                label=self.label,
                group=self.group,
                tag=self.tag,
                columns=self.columns,
                skip_bad=bool(self.skip_bad),
                multi_label=self.multi_label,
            )
            for split, path in given.items()
            if path
        }
        check_labels(parts["train"])
        return parts


def _encode_alike(texts: Sequence[str], data: EncodedData, rows: np.ndarray) -> bool:
    """Whether these texts are what the test rows were made of."""
    if not texts:
        return True
    values, offsets = gather_rows(np.asarray(data.test.values), np.asarray(data.test.offsets), rows)
    again, _ = Preprocessor.of(data).encode(texts)
    return np.array_equal(again.offsets, offsets) and np.array_equal(again.values, values)


def _extra_line(digest: str) -> str:
    return f"extra_words {digest}"


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        known = [*catalogue.names(), "reviews"]
        hint = did_you_mean(path, [*known, *(p.name for p in Path(path).parent.glob("*") if p.is_file())])
        raise DataError(
            "{path}: no such file, and not a data set of the catalogue ({names}){hint}",
            path=path,
            names=", ".join(known),
            hint=hint,
        )
    return Path(path)
