"""Words from one sound, in their order: speech recognition, small but real."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.words import Words
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError, WrongValue, did_you_mean
from rnnlab.core.seeding import generator
from rnnlab.core.words import note
from rnnlab.data import catalogue, store
from rnnlab.data.encoded import EncodedData, natural_order
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.data.sound.augment import Augment
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.names import Pattern, Where
from rnnlab.data.sound.recordings import Recordings, content_of_recordings, is_table, read_recordings
from rnnlab.data.sound.string_rows import encode_strings
from rnnlab.data.sound.strings import Recipe, divide_speakers, held_out_recordings
from rnnlab.data.sound.wav import Waveform
from rnnlab.data.unchanged import Changed, Content, until_unchanged
from rnnlab.tasks.base import Task, task

VERSION = 1  # raised when the same settings would generate other strings
HIGHEST_RATE = 16_000  # Hz, unless asked for


@task("recognise")
class Recognise(Task):
    """A sequence of words from one sound: recordings of single words, joined to strings of one speaker each."""

    shape: ClassVar[Answer] = Words()
    question: ClassVar[str | None] = "….wav"
    split_by: ClassVar[str | None] = "split_seed"
    recurrent_pooling: ClassVar[str] = "last"  # nothing is pooled
    default_models: ClassVar[tuple[str, ...]] = ("gru", "bigru", "bilstm", "textcnn", "transformer")

    data: str = Field(
        default="fsdd",
        min_length=1,
        description="A folder or an archive (.zip .tar .tar.gz) of WAV files of single words, a table with their "
        "paths, or a catalogue name.",
    )
    pattern: str | None = Field(
        default=None,
        description="What file names tell, for example '{label}_{speaker}_{n}.wav'; without it there is a folder per "
        "label. Where it has folders, that many are looked at.",
    )
    text: str | None = Field(default=None, description="Of a table: the column with the paths; guessed.")
    label: str | None = Field(default=None, description="Field or column that is the word (label).")
    group: str = Field(default="speaker", description="Field that says who speaks: a string has one speaker.")
    split: Literal["speakers", "recordings"] = Field(
        default="speakers",
        description="speakers: whole speakers are held out, and split_seed says which. recordings: of every speaker, "
        "some recordings are (the published ones, where there are such): a model knows the speakers.",
    )
    skip_bad: bool = Field(default=False, description="Leave out recordings that can't be read, instead of stopping.")
    shortest: int = Field(default=2, ge=1, le=50, description="Words of a string, at least.")
    longest: int = Field(default=5, ge=1, le=50, description="Words of a string, at most.")
    rows: int = Field(default=3_000, ge=10, le=100_000, description="Training strings that are drawn.")
    held_out: int = Field(default=400, ge=10, le=100_000, description="Strings to choose by, and as many to test.")
    pause: float = Field(
        default=150.0,
        ge=0,
        le=5000,
        description="Milliseconds of quiet around words, on average; half to one and a half.",
    )
    speed: float = Field(
        default=0.0,
        ge=0,
        le=0.5,
        description="Training strings are played slower or faster by up to this share, as if by other voices.",
    )
    augment: Augment = Field(
        default=Augment(frames=0.05), description="How training strings are changed, each time they are read."
    )
    data_seed: int = Field(default=0, ge=0, description="Which strings are drawn.")
    beam: int = Field(
        default=1, ge=1, le=1000, description="Beginnings kept while decoding; 1: greedy, the best alignment."
    )
    rate: int | None = Field(
        default=None,
        ge=4_000,
        le=48_000,
        description="Samples per second; others are resampled. That of the first recording, at most 16,000.",
    )
    window: float = Field(default=25.0, ge=1, le=1000, description="Milliseconds that a frame hears.")
    hop: float = Field(default=10.0, ge=1, le=1000, description="Milliseconds from a frame to the next.")
    bands: int = Field(default=40, ge=4, le=256, description="Mel bands, the numbers of a frame.")
    stack: int = Field(default=3, ge=1, le=20, description="Frames that are read at a time: a step.")
    centred: bool = Field(default=True, description="Take each band's mean over the string away.")
    valid_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share split off for validation.")
    test_fraction: float = Field(default=0.2, gt=0, lt=0.5, description="Share split off for the test.")
    split_seed: int = Field(default=0, ge=0, description="Which speakers, or recordings, are split off.")

    @field_validator("pattern")
    @classmethod
    def _pattern(cls, text: str | None) -> str | None:
        return None if text is None else Pattern(text).text

    @model_validator(mode="after")
    def _lengths_agree(self) -> Self:
        if self.shortest > self.longest:
            raise WrongValue(
                "shortest = {shortest} is more than longest = {longest}", shortest=self.shortest, longest=self.longest
            )
        return self

    def answered(self) -> Answer:
        return self.shape if self.beam == 1 else Words(self.beam)

    def identity(self) -> dict[str, Any]:
        found = super().identity() | ({} if self.beam == 1 else {"beam": self.beam})
        return found | {"augment": self.augment.to_dict()} if self.fingerprint and self.augments else found

    @property
    def augments(self) -> bool:
        return self.augment.active

    def varied(self, rows: Sequences, preprocessor: Preprocessor, rng: np.random.Generator) -> Sequences:
        assert preprocessor.sound is not None
        assert preprocessor.scaler is not None
        values, offsets = self.augment.vary_stacked(
            (rows.values, rows.offsets), preprocessor.sound, preprocessor.scaler, rng
        )
        return Sequences.end_to_end(values, offsets, rows.targets, rows.groups, target_offsets=rows.target_offsets)

    def given_split(self) -> str | None:
        if self.split == "recordings" and self._published:
            return note(
                "'{data}' is published with test recordings, so no seed can draw them; leave out vary_split, or take "
                "split = 'speakers'",
                data=self.data,
            )
        return None

    def resolve(self) -> Self:
        data = self.encoded()
        assert data.sound is not None
        return self.replace(fingerprint=store.fingerprint(data), rate=data.sound.rate)

    def encoded(self) -> EncodedData:
        def attempt() -> EncodedData:
            content = self._content()
            settings = self.to_dict() | dict.fromkeys(("fingerprint", "data", "metric", "beam", "augment"))
            return store.cached(digest_of([VERSION, settings, content.lines]), lambda: self._encode(content))

        return until_unchanged(attempt, self.data)

    @property
    def _published(self) -> bool:
        return self.data in catalogue.names()

    def _source(self) -> Path:
        path = catalogue.recordings(self.data)[0] if self._published else Path(self.data)
        if not path.exists():
            raise DataError(
                "{path}: no such file or folder{hint}", path=path, hint=did_you_mean(str(path), catalogue.names())
            )
        return path

    def _content(self) -> Content:
        return content_of_recordings(self._source(), self.text)

    def _encode(self, content: Content) -> EncodedData:
        try:
            found, rate = self._read()
        finally:
            if self._content() != content:
                raise Changed
        sound = LogMel(rate, self.window, self.hop, self.bands, self.centred, stack=self.stack)
        speakers = self._speakers(found)
        labels = sorted(set(found.labels), key=natural_order(set(found.labels)))
        if len(labels) < 2:
            raise DataError(
                "{source}: every recording has the label {label!r}; at least two are needed",
                source=found.source,
                label=labels[0],
            )
        return encode_strings(
            found,
            sound,
            tuple(labels),
            speakers,
            self._divided(found, speakers),
            {"train": self.rows, "valid": self.held_out, "test": self.held_out},
            Recipe(self.shortest, self.longest, self.pause, self.speed),
            self.data_seed,
        )

    def _read(self) -> tuple[Recordings[Waveform], int]:
        """All recordings, at one rate: that of the first one, unless it is set."""
        rate = self.rate

        def hear(sound: Waveform) -> Waveform:
            nonlocal rate
            rate = rate or min(sound.rate, HIGHEST_RATE)
            return sound.at(rate)

        path = self._source()
        pattern = self.pattern or (catalogue.recordings(self.data)[1].pattern if self._published else None)
        found = read_recordings(
            path,
            hear,
            pattern=None if is_table(path) else pattern,
            column=self.text,
            label=self.label,
            skip_bad=self.skip_bad,
        )
        if self._published:
            found.source = self.data
        assert rate is not None
        return found, rate

    def _speakers(self, found: Recordings[Waveform]) -> Sequence[str]:
        """Who speaks in each recording. Where nobody says it, and all are known, it is one."""
        if self.split == "recordings" and self.group == "speaker" and "speaker" not in found.fields:
            return ["–"] * len(found)
        return found.column(self.group, "group")

    def _divided(self, found: Recordings[Waveform], speakers: Sequence[str]) -> dict[str, np.ndarray]:
        """The numbers of the recordings of each split: none has a part in two."""
        if self.split == "speakers":
            held = divide_speakers(speakers, self.valid_fraction, self.test_fraction, self.split_seed)
            return {split: np.flatnonzero([speaker in names for speaker in speakers]) for split, names in held.items()}
        rng = generator(self.split_seed, "split")
        kinds = list(zip(speakers, found.labels, strict=True))
        if self._published:
            where = Where(catalogue.recordings(self.data)[1].test_where)
            test = np.array(where.holds(found.column(where.field, "split")), bool)
        else:
            test = held_out_recordings(kinds, self.test_fraction, rng)
        others = np.flatnonzero(~test)
        valid = held_out_recordings([kinds[number] for number in others], self.valid_fraction, rng)
        return {"train": others[~valid], "valid": others[valid], "test": np.flatnonzero(test)}
