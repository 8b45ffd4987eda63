"""Frames: what is heard in each short window, in bands that are as wide as the ear's, or in what is smooth of them."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from rnnlab.data.sound.wav import Waveform

FLOOR = 1e-8  # energy of a band below which nothing is heard: about that of 16-bit rounding
REACH = 2  # frames before and after, of which the slope at a frame is told
BLOCK = 4096  # windows transformed at a time
QUIET = 1e-3  # of the loudest window's energy, below which a window at either end is silence (30 dB)


@dataclass(frozen=True)
class LogMel:
    """How sound becomes frames; part of a model, so that it hears new recordings as those it was trained on."""

    rate: int = 8000  # Hz; a recording of another rate is resampled
    window: float = 25.0  # ms
    hop: float = 10.0  # ms, from one window to the next
    bands: int = 40
    centred: bool = False  # each band's mean over the recording is taken away
    trimmed: bool = False  # silence before and after is left out
    stack: int = 1  # frames that are read at a time, as one step
    levelled: bool = False  # energies are those of the loudest band of the loudest frame, or parts of it
    power: float = 0.0  # of energies, instead of their logarithm, which 0 stands for: (e^power - 1) / power
    coefficients: int = 0  # of the cosine transform over the bands, instead of these (MFCC); 0: the bands themselves
    slopes: bool = False  # beside each number, how fast it changes
    places: int = 0  # further numbers that tell how far in the recording a frame is; 0: none

    @property
    def numbers(self) -> int:
        """Of a frame, before frames are stacked."""
        return self._heard * (2 if self.slopes else 1) + self.places

    @property
    def _heard(self) -> int:
        return min(self.coefficients, self.bands) or self.bands

    def frames(self, sound: Waveform) -> np.ndarray:
        """(T, stack · numbers) float32, T >= 1: the logarithm of the energy in each band, or its coefficients; slopes
        and places."""
        samples = sound.at(self.rate).samples
        size, hop = self._samples(self.window), self._samples(self.hop)
        if len(samples) < size:
            samples = np.pad(samples, (0, size - len(samples)))
        windows = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
        blocks = [self._energies(windows[start : start + BLOCK]) for start in range(0, len(windows), BLOCK)]
        energies = np.concatenate(blocks)
        if self.trimmed:
            energies = _trimmed(energies)
        frames = self._compressed(energies)
        if self.centred:
            frames -= frames.mean(0)
        return self.stacked(self.from_spectra(frames, np.array([len(frames)])).astype(np.float32))

    def stacked(self, frames: np.ndarray) -> np.ndarray:
        """(T, numbers) → (⌈T / stack⌉, stack · numbers); the last frame stands for those that are missing."""
        missing = -len(frames) % self.stack
        return np.pad(frames, ((0, missing), (0, 0)), "edge").reshape(-1, self.stack * self.numbers)

    def _compressed(self, energies: np.ndarray) -> np.ndarray:
        if self.levelled:
            energies = energies / max(energies.max(), FLOOR)
        if not self.power:
            return np.log(np.maximum(energies, FLOOR))
        return (np.maximum(energies, FLOOR) ** self.power - 1) / self.power

    def spectra(self, frames: np.ndarray) -> np.ndarray:
        """(N, stack · numbers) → (N, stack · bands): the bands, smooth where only coefficients were kept of them."""
        heard = frames.reshape(len(frames) * self.stack, self.numbers)[:, : self._heard]
        spectra = heard @ self.cosines.astype(frames.dtype) if self.coefficients else heard
        return spectra.reshape(len(frames), self.stack * self.bands)

    def spread(self, deviations: np.ndarray) -> np.ndarray:
        """(numbers,) → (bands,): how much the bands deviate, if the coefficients do so each by itself."""
        heard = deviations[: self._heard]
        return np.sqrt(heard**2 @ (self.cosines**2).astype(heard.dtype)) if self.coefficients else heard

    def from_spectra(self, spectra: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """(N, bands) of recordings of these lengths, end to end → (N, numbers)."""
        frames = spectra @ self.cosines.T.astype(spectra.dtype) if self.coefficients else spectra
        told = [frames]
        if self.slopes:
            told.append(slopes(frames, lengths))
        if self.places:
            told.append(self.places_of(lengths).astype(frames.dtype))
        return np.hstack(told)

    def places_of(self, lengths: np.ndarray) -> np.ndarray:
        """(N, places), of recordings of these lengths, end to end: each is 1 at its own place between the first frame
        and the last, 0 at the next one, and linear between."""
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        last = np.repeat(np.maximum(lengths - 1, 1), lengths)
        at = (np.arange(lengths.sum()) - first) / last * (self.places - 1)
        return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(self.places)))

    @cached_property
    def cosines(self) -> np.ndarray:
        """(coefficients, bands)"""
        return cosines(self.bands, self.coefficients)

    def _energies(self, windows: np.ndarray) -> np.ndarray:
        """(T, size) samples → (T, bands) energies."""
        spectrum = np.fft.rfft(windows * np.hanning(windows.shape[1] + 2)[1:-1], self._points)
        power = (spectrum.real**2 + spectrum.imag**2) / windows.shape[1]
        return power @ self._filters.T

    def _samples(self, milliseconds: float) -> int:
        return max(1, round(self.rate * milliseconds / 1000))

    @property
    def _points(self) -> int:
        """Of the Fourier transform: enough that the narrowest band has some."""
        return 2 << (self._samples(self.window) - 1).bit_length()

    @cached_property
    def _filters(self) -> np.ndarray:
        """(bands, points // 2 + 1): triangles that overlap by half, evenly spaced in mel."""
        edges = hertz(np.linspace(0, mel(self.rate / 2), self.bands + 2))
        at = np.arange(self._points // 2 + 1) * self.rate / self._points
        low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
        return np.maximum(0, np.minimum((at - low) / (middle - low), (high - at) / (high - middle)))

    def to_dict(self) -> dict[str, Any]:
        """Without ``stack`` where that is 1: it wasn't there from the first."""
        values = asdict(self)
        if self.stack == 1:
            del values["stack"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return cls(**values)


def cosines(bands: int, coefficients: int) -> np.ndarray:
    """(coefficients, bands): the first rows of the orthonormal cosine transform, at most as many as there are bands."""
    wanted = np.arange(min(coefficients, bands))[:, None]
    made = np.sqrt(2 / bands) * np.cos(np.pi * wanted * (2 * np.arange(bands) + 1) / (2 * bands))
    made[0] /= np.sqrt(2)
    return made


def slopes(frames: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(N, K) → (N, K): the slope at each frame, by least squares over its neighbours within the recording."""
    steps, ends = np.arange(len(frames)), np.cumsum(lengths)
    first, last = np.repeat(ends - lengths, lengths), np.repeat(ends - 1, lengths)
    slope = np.zeros_like(frames)
    for reach in range(1, REACH + 1):
        slope += reach * (frames[np.minimum(steps + reach, last)] - frames[np.maximum(steps - reach, first)])
    return slope / (2 * sum(reach**2 for reach in range(1, REACH + 1)))


def mel(hertz: Any) -> Any:
    return 2595 * np.log10(1 + hertz / 700)


def hertz(mel: np.ndarray) -> np.ndarray:
    return 700 * (10 ** (mel / 2595) - 1)


def _trimmed(energies: np.ndarray) -> np.ndarray:
    loud = energies.sum(1)
    heard = np.flatnonzero(loud > QUIET * loud.max())
    return energies[heard[0] : heard[-1] + 1] if len(heard) else energies[:1]
