"""Strings of words: recordings of one speaker, drawn and joined, with quiet between them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.data.sound.wav import Waveform

BLOCK = 10  # held-out recordings that are drawn from together, at least: strings of two blocks have none in common
FLUTTER = 0.5  # of a pause, by which it is longer or shorter
SPEEDS = 20  # of which a speed is a multiple of one: other fractions take long to resample
STILLEST = 0.01  # of the level of the quietest moment of words, down to which rooms are quieter (40 dB)


class Drawn(NamedTuple):
    """One string."""

    recordings: np.ndarray  # numbers, in their order
    pauses: np.ndarray  # seconds: before the first, between each two, after the last
    speed: float  # at which all of it is played
    level: float  # of the quiet, as a share of that of the quietest moment of what is beside it
    group: int  # strings of different groups have no recording in common


@dataclass(frozen=True)
class Recipe:
    """How strings are made."""

    shortest: int
    longest: int
    pause: float  # milliseconds, on average
    speed: float = 0.0  # by which share training strings are slower or faster, at most


def divide_speakers(speakers: Sequence[str], valid: float, test: float, seed: int) -> dict[str, tuple[str, ...]]:
    """Whole speakers to each split, by shares, at least one each; the seeds take turns through all of them."""
    every = sorted(set(speakers))
    if len(every) < 3:
        raise DataError(
            "{count} speakers are too few to hold out whole ones for validation and test: three are needed; take more, "
            "or split = 'recordings'",
            count=len(every),
        )
    sizes = {"test": max(1, round(test * len(every))), "valid": max(1, round(valid * len(every)))}
    start = seed * sizes["test"] % len(every)
    turned = every[start:] + every[:start]
    ends = sizes["test"], sizes["test"] + sizes["valid"]
    return {
        "train": tuple(sorted(turned[ends[1] :])),
        "valid": tuple(sorted(turned[ends[0] : ends[1]])),
        "test": tuple(sorted(turned[: ends[0]])),
    }


def held_out_recordings(kinds: Sequence[tuple[str, str]], share: float, rng: np.random.Generator) -> np.ndarray:
    """(recordings,) bool: that share of every kind, which is a speaker and a word, at least one unless it is the only
    one."""
    held = np.zeros(len(kinds), bool)
    by_kind: dict[tuple[str, str], list[int]] = {}
    for number, kind in enumerate(kinds):
        by_kind.setdefault(kind, []).append(number)
    for kind in sorted(by_kind):
        numbers = rng.permutation(by_kind[kind])
        held[numbers[: max(min(1, len(numbers) - 1), round(share * len(numbers)))]] = True
    return held


def blocks_of(numbers: np.ndarray, longest: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Some recordings of one speaker, shuffled, in blocks of about the same size, none too small for a string."""
    count = max(1, len(numbers) // max(BLOCK, longest))
    return [np.sort(block) for block in np.array_split(rng.permutation(numbers), count)]


def draw(
    pools: Sequence[np.ndarray], count: int, recipe: Recipe, rng: np.random.Generator, *, speeds: bool = False
) -> list[Drawn]:
    """So many strings, each of recordings of one pool, none of them twice; of a large pool as many more as it is
    larger. With ``speeds``, each at a speed of its own."""
    sizes = np.array([len(pool) for pool in pools], float)
    found = []
    for _ in range(count):
        group = int(rng.choice(len(pools), p=sizes / sizes.sum()))
        words = min(int(rng.integers(recipe.shortest, recipe.longest + 1)), len(pools[group]))
        chosen = rng.choice(pools[group], words, replace=False)
        pauses = recipe.pause / 1000 * rng.uniform(1 - FLUTTER, 1 + FLUTTER, words + 1)
        level, speed = float(STILLEST ** rng.random()), 1.0
        if speeds and recipe.speed:
            speed = round(SPEEDS * (1 + recipe.speed) ** rng.uniform(-1, 1)) / SPEEDS
        found.append(Drawn(chosen, pauses, speed, level, group))
    return found


def join(drawn: Drawn, recordings: Sequence[Waveform], rng: np.random.Generator) -> Waveform:
    """One sound. The quiet is noise: a model that knew one level of it alone would hear words in any other."""
    said = [recordings[number] for number in drawn.recordings]
    rate, quiet = said[0].rate, [_quietest(one) for one in said]
    levels = [quiet[0], *map(min, itertools.pairwise(quiet)), quiet[-1]]
    parts = []
    for at, (pause, level) in enumerate(zip(drawn.pauses, levels, strict=True)):
        parts.append(rng.normal(0, drawn.level * level, max(1, round(pause * rate))).astype(np.float32))
        if at < len(said):
            parts.append(said[at].samples)
    joined = Waveform(np.concatenate(parts), rate)
    return joined if drawn.speed == 1 else joined.faster(drawn.speed)


def _quietest(sound: Waveform) -> float:
    """The level of the quietest 20 milliseconds."""
    size = max(1, sound.rate // 50)
    whole = sound.samples[: max(1, len(sound.samples) // size) * size]
    windows = whole.reshape(-1, size) if len(whole) >= size else whole[None]
    return float(np.sqrt((windows.astype(np.float64) ** 2).mean(1).min()))


def by_speaker(numbers: np.ndarray, speakers: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Those numbers of recordings, per speaker."""
    found: dict[str, list[int]] = {}
    for number in map(int, numbers):
        found.setdefault(speakers[number], []).append(number)
    return {name: np.array(found[name]) for name in sorted(found)}
