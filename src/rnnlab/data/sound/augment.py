"""Recordings that are never heard twice the same way in training: other tempos, voices, microphones, and gaps."""

import itertools
from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab.core.config import Config
from rnnlab.data.preprocessor import Scaler
from rnnlab.data.sequences import offsets_of
from rnnlab.data.sound.mel import LogMel, hertz, mel

NATS = np.log(10) / 10  # per dB
WAVES = 3  # cosines that make up what another microphone does to the bands
MASKS = 2  # of each kind
SHORTEST = 3  # frames that are left at least

Frames = tuple[np.ndarray, np.ndarray]
"""Values (N, bands) float32 and offsets (rows + 1,)."""


class Augment(Config):
    """How much training recordings are changed, each time they are read; 0 switches a change off."""

    added: ClassVar[tuple[str, ...]] = ()

    tempo: float = Field(default=0.2, ge=0, lt=1, description="Slower or faster by up to this share.")
    warp: float = Field(default=0.05, ge=0, lt=0.5, description="All frequencies lower or higher by up to this share.")
    gain: float = Field(default=0.0, ge=0, le=60, description="Softer or louder by up to so many dB.")
    microphone: float = Field(default=1.5, ge=0, le=60, description="Bands softer or louder, smoothly: deviation, dB.")
    noise: float = Field(
        default=0.2, ge=0, le=5, description="Deviation of what is added to each band, in its own deviations."
    )
    bands: int = Field(default=4, ge=0, description="Bands of a mask, at most; there are two masks.")
    frames: float = Field(
        default=0.1, ge=0, lt=0.5, description="Share of the frames under a mask, at most; two masks."
    )

    @property
    def active(self) -> bool:
        return any(getattr(self, name) for name in type(self).model_fields)

    def vary_stacked(self, heard: Frames, sound: LogMel, scaler: Scaler, rng: np.random.Generator) -> Frames:
        """The same, of steps (N, stack · numbers): it is frames that are changed."""
        values, offsets = heard
        stack, alone = sound.stack, replace(sound, stack=1)
        mean, std = (np.array(each).reshape(stack, -1).mean(0) for each in (scaler.mean, scaler.std))
        of_frames = Scaler(tuple(mean.tolist()), tuple(std.tolist()))
        raw = (values * np.array(scaler.std) + np.array(scaler.mean)).reshape(len(values) * stack, -1)
        frames, ends = self.vary((of_frames.apply(raw), offsets * stack), alone, of_frames, rng)
        steps = [sound.stacked(frames[first:end] * std + mean) for first, end in itertools.pairwise(ends.tolist())]
        return scaler.apply(np.concatenate(steps)), offsets_of(np.array([len(row) for row in steps]))

    def vary(self, heard: Frames, sound: LogMel, scaler: Scaler, rng: np.random.Generator) -> Frames:
        """Standardised frames of some rows, each changed in its own way."""
        values, offsets = heard
        mean, std = np.array(scaler.mean, np.float32), np.array(scaler.std, np.float32)
        spectra, usual = sound.spectra(values * std + mean), sound.spectra(mean[None])[0]
        spread = sound.spread(std)
        rows, bands = len(offsets) - 1, spectra.shape[1]
        if self.tempo:
            spectra, offsets = _stretched(spectra, offsets, _factors(rng, rows, self.tempo))
        lengths = np.diff(offsets)
        each = np.repeat(np.arange(rows), lengths)  # the row of each frame
        if self.warp:
            spectra = _warped(spectra, each, _factors(rng, rows, self.warp), sound)
        louder = np.zeros((rows, bands), np.float32)
        if self.gain:
            louder += rng.uniform(-self.gain, self.gain, (rows, 1)).astype(np.float32)
        if self.microphone:
            louder += _curves(rng, rows, bands, self.microphone)
        spectra = spectra + (louder * np.float32(NATS))[each]
        if self.noise:
            spectra += rng.standard_normal(spectra.shape, np.float32) * (np.float32(self.noise) * spread)
        for _ in range(MASKS if self.bands else 0):
            first, last = _spans(rng, np.full(rows, bands), np.full(rows, self.bands))
            masked = (np.arange(bands) >= first[:, None]) & (np.arange(bands) < last[:, None])
            spectra = np.where(masked[each], usual, spectra)
        values = (sound.from_spectra(spectra, lengths) - mean) / std
        for _ in range(MASKS if self.frames else 0):
            first, last = _spans(rng, lengths, (lengths * self.frames).astype(np.int64))
            at = np.arange(len(values)) - offsets[:-1][each]
            values[(at >= first[each]) & (at < last[each])] = 0
        return values, offsets


def _factors(rng: np.random.Generator, rows: int, share: float) -> np.ndarray:
    """(rows,) from 1 / (1 + share) to 1 + share, as many below 1 as above."""
    return np.exp(rng.uniform(-1, 1, rows) * np.log1p(share))


def _stretched(values: np.ndarray, offsets: np.ndarray, factors: np.ndarray) -> Frames:
    """Each row at another tempo, by linear interpolation."""
    lengths = np.diff(offsets)
    longer = np.maximum(np.minimum(SHORTEST, lengths), np.rint(lengths * factors)).astype(np.int64)
    made = offsets_of(longer)
    each = np.repeat(np.arange(len(longer)), longer)
    at = (np.arange(made[-1]) - made[:-1][each]) * ((lengths - 1) / np.maximum(longer - 1, 1))[each]
    whole = np.minimum(at.astype(np.int64), np.maximum(lengths - 2, 0)[each])
    part = (at - whole).astype(np.float32)[:, None]
    first = offsets[:-1][each] + whole
    second = np.minimum(first + 1, offsets[1:][each] - 1)
    return values[first] * (1 - part) + values[second] * part, made


def _warped(values: np.ndarray, each: np.ndarray, factors: np.ndarray, sound: LogMel) -> np.ndarray:
    """Each row as from a longer or shorter throat: a band hears what its frequency times the factor had."""
    bands = values.shape[1]
    centres = np.linspace(0, mel(sound.rate / 2), bands + 2)[1:-1]  # mel
    wanted = mel(hertz(centres)[None] * factors[:, None])  # (rows, bands)
    at = np.clip((wanted - centres[0]) / (centres[1] - centres[0]), 0, bands - 1)
    low = np.minimum(at.astype(np.int64), bands - 2)
    part = (at - low).astype(np.float32)[each]
    low = low[each]
    return np.take_along_axis(values, low, 1) * (1 - part) + np.take_along_axis(values, low + 1, 1) * part


def _curves(rng: np.random.Generator, rows: int, bands: int, deviation: float) -> np.ndarray:
    """(rows, bands) float32: smooth curves over the bands."""
    waves = np.cos(np.pi * np.arange(1, WAVES + 1)[:, None] * (np.arange(bands) + 0.5) / bands)
    return (rng.normal(0, deviation, (rows, WAVES)) @ waves).astype(np.float32)


def _spans(rng: np.random.Generator, sizes: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows,) where a mask begins, and where it ends: up to ``most`` of ``sizes`` wide."""
    width = np.minimum((rng.random(len(sizes)) * (most + 1)).astype(np.int64), sizes)
    first = (rng.random(len(sizes)) * (sizes - width + 1)).astype(np.int64)
    return first, first + width
