"""Strings of words as flat arrays, ready to train on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.seeding import generator
from rnnlab.core.words import note
from rnnlab.data.encoded import SPLITS, EncodedData, scaler_of
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.sound.mel import LogMel
from rnnlab.data.sound.recordings import Recordings
from rnnlab.data.sound.strings import Recipe, blocks_of, by_speaker, draw, join
from rnnlab.data.sound.wav import Waveform


@dataclass(frozen=True)
class _Rows:
    """Strings of one split: (rows,) each."""

    frames: list[np.ndarray]
    words: list[np.ndarray]
    groups: np.ndarray
    speakers: list[str]


def encode_strings(
    found: Recordings[Waveform],
    sound: LogMel,
    labels: tuple[str, ...],
    speakers: Sequence[str],
    divided: Mapping[str, np.ndarray],
    counts: Mapping[str, int],
    recipe: Recipe,
    seed: int,
) -> EncodedData:
    """``divided`` says which recordings each split draws from, ``counts`` how many strings. Training strings are drawn
    from all recordings of a speaker; those held out from blocks of them, so that many strings have none in common."""
    number = {label: target for target, label in enumerate(labels)}
    targets = np.array([number[label] for label in found.labels])
    tag_names = tuple(sorted(set(speakers)))
    rows = {}
    for at, split in enumerate(SPLITS):
        rng = generator(seed, "data", at)
        pools = list(by_speaker(divided[split], speakers).values())
        if split != "train":
            pools = [block for pool in pools for block in blocks_of(pool, recipe.longest, rng)]
        pools = [pool for pool in pools if len(pool) >= recipe.shortest]
        if not pools:
            raise DataError(
                "{source}: no speaker has {least} recordings for {split}; take more of them, or a smaller 'shortest'",
                source=found.source,
                least=recipe.shortest,
                split=split,
            )
        drawn = draw(pools, counts[split], recipe, rng, speeds=split == "train")
        rows[split] = _Rows(
            [sound.frames(join(one, found.heard, rng)) for one in drawn],
            [targets[one.recordings] for one in drawn],
            np.array([one.group for one in drawn]),
            [speakers[int(one.recordings[0])] for one in drawn],
        )
    scaler = scaler_of(np.concatenate(rows["train"].frames))
    sequences: dict[str, Any] = {
        split: Sequences.end_to_end(
            scaler.apply(np.concatenate(one.frames)),
            offsets_of(np.array([len(frames) for frames in one.frames])),
            np.concatenate(one.words),
            one.groups,
            np.array([tag_names.index(speaker) for speaker in one.speakers]) if len(tag_names) > 1 else None,
            offsets_of(np.array([len(words) for words in one.words])),
        )
        for split, one in rows.items()
    }
    return EncodedData(
        **sequences,
        scaler=scaler,
        sound=sound,
        labels=labels,
        tag_names=tag_names if len(tag_names) > 1 else (),
        profile=_profile(found, sound, labels, speakers, divided, sequences),
    )


def _profile(
    found: Recordings[Waveform],
    sound: LogMel,
    labels: Sequence[str],
    speakers: Sequence[str],
    divided: Mapping[str, np.ndarray],
    sequences: Mapping[str, Sequences],
) -> dict[str, Any]:
    """What a person should know about the data, as lines, and what others ask for by name."""
    rows = {split: len(one) for split, one in sequences.items()}
    who = {split: sorted({speakers[int(number)] for number in divided[split]}) for split in SPLITS}
    lengths = np.concatenate([one.lengths for one in sequences.values()])
    lines = [
        note(
            "{recordings:,} recordings of {words} words: {shown}",
            recordings=len(found),
            words=len(labels),
            shown=_some(labels),
        ),
        note(
            "{strings:,} strings of recordings of one speaker: train {train:,}, valid {valid:,}, test {test:,}",
            strings=sum(rows.values()),
            **rows,
        ),
        note(
            "recordings that they are drawn from, each for one split: train {train:,}, valid {valid:,}, test {test:,}",
            **{split: len(divided[split]) for split in SPLITS},
        ),
        note(
            "{bands} mel bands, a frame of {window:g} ms every {hop:g} ms, at {rate:,} samples per second",
            bands=sound.bands,
            window=sound.window,
            hop=sound.hop,
            rate=sound.rate,
        ),
        note(
            "a step is {stack} frames; strings have {median:,} of them in the median, and {longest:,} at most",
            stack=sound.stack,
            median=round(float(np.median(lengths))),
            longest=int(lengths.max()),
        ),
    ]
    known = set(who["train"]) & set(who["test"])
    if set(speakers) != {"–"}:
        lines.insert(3, _about_speakers(who, bool(known)))
    warnings = []
    for split, one in sequences.items():
        assert one.target_offsets is not None
        impossible = sum(
            one.lengths[row] < _needed(one.targets[one.target_offsets[row] : one.target_offsets[row + 1]])
            for row in range(len(one))
        )
        if impossible:
            warnings.append(
                note(
                    "{count:,} strings of {split} have more words than steps, and can't be right: take a smaller "
                    "'stack' or 'hop'",
                    count=impossible,
                    split=split,
                )
            )
    return {
        "lines": [*lines, *found.notes, *(note("warning: {text}", text=text) for text in warnings)],
        "warnings": warnings,
        "unit": "steps",
        "overlap": {"valid": 0, "test": 0},
        "rows": rows,
    }


def _about_speakers(who: Mapping[str, Sequence[str]], known: bool) -> str:
    if known:
        return note(
            "speakers: the {count} of the test are those of the training, so new ones will be understood less well",
            count=len(who["test"]),
        )
    return note(
        "speakers: train {train}; valid {valid}; test {test}", **{split: _some(names) for split, names in who.items()}
    )


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def _needed(words: np.ndarray) -> int:
    """Steps: one per word, and one between equal ones."""
    return len(words) + int((words[1:] == words[:-1]).sum())
