"""One label per recording: spoken words, or any sounds that differ in kind."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, field_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.label import Label
from rnnlab.core.config import digest_of
from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.words import note
from rnnlab.data import catalogue, store
from rnnlab.data.encoded import EncodedData, divide, encode, natural_order
from rnnlab.data.examples import Examples
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.data.sound.augment import Augment
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.names import Pattern, Where
from rnnlab.data.sound.recordings import Recordings, content_of_recordings, is_table, read_recordings
from rnnlab.data.sound.straddling import straddling
from rnnlab.data.sound.wav import Waveform
from rnnlab.data.unchanged import Changed, Content, until_unchanged
from rnnlab.tasks.base import Task, task

HIGHEST_RATE = 16_000  # Hz, unless asked for: speech has little above half of it
SPEAKER = "speaker"  # the field by which results are told, if there is one and no other is asked for


@task("speech")
class Speech(Task):
    """One label for a whole recording: a spoken word, for example."""

    shape: ClassVar[Answer] = Label()
    question: ClassVar[str | None] = "….wav"
    split_by: ClassVar[str | None] = "split_seed"
    training_defaults: ClassVar[dict[str, Any]] = {"epochs": 20, "patience": None, "schedule": {"shape": "one-cycle"}}

    data: str = Field(
        default="fsdd",
        min_length=1,
        description="A folder or an archive (.zip .tar .tar.gz) of WAV files, a table with their paths, or a catalogue "
        "name.",
    )
    valid: str | None = Field(default=None, description="The same, with the validation recordings.")
    test: str | None = Field(default=None, description="The same, with the test recordings.")
    pattern: str | None = Field(
        default=None,
        description="What file names tell, for example '{label}_{speaker}_{n}.wav'; without it there is a folder per "
        "label. Where it has folders, that many are looked at.",
    )
    text: str | None = Field(default=None, description="Of a table: the column with the paths; guessed.")
    label: str | None = Field(default=None, description="Field or column that is the label (label).")
    group: str | None = Field(default=None, description="Field whose equal values never straddle a split.")
    tag: str | None = Field(default=None, description="Field for the result table by tag (the group, or speaker).")
    test_where: str | None = Field(
        default=None, description="Test recordings by a field, for example 'speaker=theo', 'n=0,1,2' or 'n<5'."
    )
    valid_where: str | None = Field(default=None, description="Validation recordings by a field.")
    leave_out: str | None = Field(
        default=None,
        description="Field whose values take turns as the test recordings, one by one: split_seed says which. With "
        "vary_split the seeds go through all of them.",
    )
    skip_bad: bool = Field(default=False, description="Leave out recordings that can't be read, instead of stopping.")
    rate: int | None = Field(
        default=None,
        ge=4_000,
        le=48_000,
        description="Samples per second; others are resampled. That of the first recording, at most 16,000.",
    )
    window: float = Field(default=25.0, ge=1, le=1000, description="Milliseconds that a frame hears.")
    hop: float = Field(default=10.0, ge=1, le=1000, description="Milliseconds from a frame to the next.")
    bands: int = Field(default=24, ge=4, le=256, description="Mel bands of a frame.")
    coefficients: int = Field(
        default=13,
        ge=0,
        le=256,
        description="Cepstral coefficients, which are read instead of the bands (MFCC); 0: the bands themselves.",
    )
    slopes: bool = Field(default=True, description="Read beside each number how fast it changes.")
    places: int = Field(
        default=3, ge=0, le=100, description="Numbers of a frame that tell how far in the recording it is; 0: none."
    )
    centred: bool = Field(default=False, description="Take each band's mean over the recording away.")
    levelled: bool = Field(default=True, description="Make the loudest moment of all recordings equally loud.")
    power: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Energies to this power (e^p - 1) / p, which hears less of the background than their logarithm; 0: "
        "the logarithm.",
    )
    trimmed: bool = Field(default=True, description="Leave out the silence before and after.")
    augment: Augment = Field(
        default=Augment(), description="How training recordings are changed, each time they are read."
    )
    max_length: int | None = Field(default=None, ge=1, description="Cut longer recordings to their first frames.")
    valid_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share split off for validation.")
    test_fraction: float = Field(default=0.2, gt=0, lt=0.5, description="Share split off for the test.")
    split_seed: int = Field(default=0, ge=0, description="Which recordings are split off.")

    @field_validator("pattern")
    @classmethod
    def _pattern(cls, text: str | None) -> str | None:
        return None if text is None else Pattern(text).text

    @field_validator("test_where", "valid_where")
    @classmethod
    def _where(cls, text: str | None) -> str | None:
        return None if text is None else Where(text).text

    def given_split(self) -> str | None:
        given = [name for name in ("valid", "test", "valid_where", "test_where") if getattr(self, name) is not None]
        if given:
            return note(
                "'{names}' gives rows, so no seed can draw them; leave out {names}, or vary_split",
                names=" and ".join(given),
            )
        if self.data in catalogue.names() and self.leave_out is None and self.group is None:
            return note(
                "'{data}' is published with test rows, so no seed can draw them; leave out vary_split, or say "
                "leave_out or group",
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
            settings = self.to_dict() | dict.fromkeys(("fingerprint", "data", "valid", "test", "metric", "augment"))
            return store.cached(digest_of([settings, content.lines]), lambda: self._encode(content))

        return until_unchanged(attempt, self.data)

    def _encode(self, content: Content) -> EncodedData:
        try:
            parts, known, sound = self._read()
        finally:
            if self._content() != content:
                raise Changed
        splitting: dict[str, Any] = {
            "valid_fraction": self.valid_fraction,
            "test_fraction": self.test_fraction,
            "split_seed": self.split_seed,
        }
        data = encode(parts, max_length=self.max_length, **splitting)
        divided = divide(parts, **splitting)
        warnings = straddling(known, divided.rows, divided.targets)
        return replace(
            data,
            sound=sound,
            profile=data.profile | {"warnings": [*data.profile["warnings"], *warnings]},
        )

    # What is heard in training

    @property
    def augments(self) -> bool:
        return self.augment.active

    def varied(self, rows: Sequences, preprocessor: Preprocessor, rng: np.random.Generator) -> Sequences:
        assert preprocessor.sound is not None
        assert preprocessor.scaler is not None
        heard = self.augment.vary((rows.values, rows.offsets), preprocessor.sound, preprocessor.scaler, rng)
        return Sequences.end_to_end(*heard, rows.targets, rows.groups)

    def identity(self) -> dict[str, Any]:
        found = super().identity()
        return found | {"augment": self.augment.to_dict()} if self.fingerprint and self.augments else found

    # Where the recordings are

    @property
    def _published(self) -> bool:
        return self.data in catalogue.names()

    def _sources(self) -> dict[str, Path]:
        given = {"train": self.data, "valid": self.valid, "test": self.test}
        found = {split: Path(path) for split, path in given.items() if path is not None}
        if self._published:
            found["train"] = catalogue.recordings(self.data)[0]
        for path in found.values():
            if not path.exists():
                raise DataError(
                    "{path}: no such file or folder{hint}", path=path, hint=did_you_mean(str(path), catalogue.names())
                )
        return found

    def _content(self) -> Content:
        """What stands for the bytes to be read. A table is summed with all files that it names."""
        lines: list[str] = []
        stamps: list[tuple[int, ...]] = []
        for split, path in self._sources().items():
            found = content_of_recordings(path, self.text)
            lines += [split, *found.lines]
            stamps += found.stamps
        return Content(tuple(lines), tuple(stamps))

    # What is in them

    def _read(self) -> tuple[dict[str, Examples], dict[str, list[str]], LogMel]:
        """The parts, as `encode` takes them; what is known of all their rows, laid end to end; how they were heard."""
        ear = _Ear(self)
        sources = self._sources()
        pattern = self.pattern or (catalogue.recordings(self.data)[1].pattern if self._published else None)
        read = {
            split: read_recordings(
                path,
                ear.hear,
                pattern=None if is_table(path) else pattern,
                column=self.text,
                label=self.label,
                skip_bad=self.skip_bad,
            )
            for split, path in sources.items()
        }
        if self._published:
            read["train"].source = self.data
        read["train"].notes += ear.notes()
        for split, where in self._conditions(read["train"]).items():
            if split in read:
                raise DataError(
                    "{split}_where: the {split} rows are given by '{split}'; leave one of them out", split=split
                )
            read |= _divided(read["train"], split, where)
        order = [split for split in ("train", "valid", "test") if split in read]
        names = [name for name in read["train"].fields if all(name in read[split].fields for split in order)]
        known = {name: [value for split in order for value in read[split].fields[name]] for name in names}
        assert ear.sound is not None
        return {split: self._examples(read[split]) for split in order}, known, ear.sound

    def _conditions(self, found: Recordings[np.ndarray]) -> dict[str, Where]:
        """Which recordings are test and validation rows, where fields say it."""
        conditions = {}
        if self.leave_out is not None:
            values = set(found.column(self.leave_out, "leave_out"))
            ordered = sorted(values, key=natural_order(values))
            conditions["test"] = Where(f"{self.leave_out}={ordered[self.split_seed % len(ordered)]}")
        elif self.test_where is not None:
            conditions["test"] = Where(self.test_where)
        elif self._published and self.group is None and self.test is None:
            conditions["test"] = Where(catalogue.recordings(self.data)[1].test_where)
        if self.valid_where is not None:
            conditions["valid"] = Where(self.valid_where)
        return conditions

    def _examples(self, found: Recordings[np.ndarray]) -> Examples:
        tag = self.tag or self.group or (SPEAKER if SPEAKER in found.fields else None)
        return Examples(
            source=found.source,
            labels=found.labels,
            series=found.heard,
            groups=None if self.group is None else found.column(self.group, "group"),
            tags=None if tag is None else found.column(tag, "tag"),
            skipped=tuple(found.skipped),
            notes=tuple(found.notes),
        )


class _Ear:
    """Turns recordings to frames as a task says. The rate that is left open is that of the first one."""

    def __init__(self, settings: Speech):
        self.settings = settings
        self.sound: LogMel | None = None
        self.resampled: dict[int, int] = {}  # how many recordings of each other rate

    def hear(self, sound: Waveform) -> np.ndarray:
        said = self.settings
        if self.sound is None:
            rate = said.rate or min(sound.rate, HIGHEST_RATE)
            names = {field.name for field in fields(LogMel)} & Speech.model_fields.keys()
            given: dict[str, Any] = {name: getattr(said, name) for name in names} | {"rate": rate}
            self.sound = LogMel(**given)
        if sound.rate != self.sound.rate:
            self.resampled[sound.rate] = self.resampled.get(sound.rate, 0) + 1
        return self.sound.frames(sound)

    def notes(self) -> list[str]:
        assert self.sound is not None
        said = [
            note(
                "{bands} mel bands, a frame of {window:g} ms every {hop:g} ms, at {rate:,} samples per second",
                bands=self.sound.bands,
                window=self.sound.window,
                hop=self.sound.hop,
                rate=self.sound.rate,
            )
        ]
        if self.resampled:
            rates = ", ".join(f"{rate:,} Hz" for rate in sorted(self.resampled))
            said.append(
                note(
                    "{count:,} recordings of another rate are resampled: {rates}",
                    count=sum(self.resampled.values()),
                    rates=rates,
                )
            )
        return said


def _divided(found: Recordings[np.ndarray], split: str, where: Where) -> dict[str, Recordings[np.ndarray]]:
    """The recordings for which it holds apart from the others."""
    held = np.array(where.holds(found.column(where.field, f"{split}_where")), bool)
    if held.all() or not held.any():
        raise DataError(
            "{source}: {split}_where: {where!r} holds for {held:,} of {rows:,} recordings; some must be left on either "
            "side\nvalues: {values}",
            source=found.source,
            split=split,
            where=where.text,
            held=int(held.sum()),
            rows=len(found),
            values=", ".join(sorted(set(found.fields[where.field]))[:20]),
        )
    return {"train": _some(found, np.flatnonzero(~held)), split: replace(_some(found, np.flatnonzero(held)), notes=[])}


def _some(found: Recordings[np.ndarray], rows: np.ndarray) -> Recordings[np.ndarray]:
    def of(column: Sequence[Any]) -> list[Any]:
        return [column[row] for row in rows]

    return replace(
        found,
        names=of(found.names),
        labels=of(found.labels),
        heard=of(found.heard),
        fields={name: of(column) for name, column in found.fields.items()},
        skipped=[] if rows[0] else found.skipped,
    )
