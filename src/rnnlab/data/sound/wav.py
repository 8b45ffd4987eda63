"""WAV files: PCM of 8, 16, 24 or 32 bits and floats of 32 or 64, of any rate and any number of channels."""

import struct
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import Both, both

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # what a 'fmt ' chunk calls them
STREAMED = 0xFFFFFFFF  # the size that a writer gives who doesn't know it: all that follows is sound
RATES = (4_000, 384_000)  # Hz: below there is no speech, above there is no recorder
MOST_CHANNELS = 64
MOST_SECONDS = 1_800  # of one recording
LOUDEST = 65_536.0  # of a float sample, which should be at most 1: some programs store 16-bit numbers as floats
FINEST = 1_000  # denominator of a ratio of rates: others are rounded, by less than one part in a million


@dataclass(frozen=True)
class Waveform:
    """One channel of sound."""

    samples: np.ndarray  # (N,) float32, N >= 1, finite; within -1 to 1 as a rule
    rate: int  # samples per second

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    def at(self, rate: int) -> "Waveform":
        """The same sound at another rate; itself where it has that rate."""
        if rate == self.rate:
            return self
        return Waveform(_resampled(self.samples, Fraction(rate, self.rate)), rate)

    def faster(self, factor: float) -> "Waveform":
        """As if it were played faster: shorter, and all frequencies higher, by the factor."""
        return Waveform(_resampled(self.samples, 1 / Fraction(factor)), self.rate)


class _Layout(NamedTuple):
    """What a 'fmt ' chunk says."""

    coding: int  # PCM or FLOAT
    channels: int
    rate: int
    bits: int


def is_wav(content: bytes | memoryview) -> bool:
    """Whether bytes begin as those of a WAV file do."""
    return bytes(content[:4]) == b"RIFF" and bytes(content[8:12]) == b"WAVE"


def decode(content: bytes | memoryview, name: str) -> Waveform:
    """The sound in the bytes of a WAV file, its channels mixed down to one. ``name`` is how errors call the file."""
    content = memoryview(content)
    if not is_wav(content):
        raise _wrong(name, both("no WAV file (it doesn't begin with RIFF … WAVE); convert it, for example with ffmpeg"))
    layout: _Layout | None = None
    at = 12
    while at + 8 <= len(content):
        kind, size = bytes(content[at : at + 4]), struct.unpack_from("<I", content, at + 4)[0]
        start, there = at + 8, len(content) - at - 8
        if kind == b"fmt ":
            if size > there:
                raise _cut(name, "fmt ", size, there)
            layout = _layout(content[start : start + size], name)
        elif kind == b"data":
            if layout is None:
                raise _wrong(name, both("damaged: the sound comes before the chunk 'fmt ' that says how it is stored"))
            if size == STREAMED:
                size = there
            if size > there:
                raise _cut(name, "data", size, there)
            return Waveform(_samples(content[start : start + size], layout, name), layout.rate)
        at = start + size + size % 2  # chunks begin at even places
    missing = "fmt " if layout is None else "data"
    raise _wrong(name, both("damaged: the file ends without a chunk '{missing}'", missing=missing))


def heard(given: Any) -> Waveform:
    """What a model of sound may be asked: the path of a WAV file, its bytes, or a `Waveform`."""
    if isinstance(given, Waveform):
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return decode(bytes(given), "WAV")
    if not isinstance(given, str | PathLike):
        raise DataError(
            "this model hears recordings: give the path of a WAV file, its bytes, or a Waveform (got {kind})",
            kind=type(given).__name__,
        )
    try:
        return decode(Path(given).read_bytes(), str(given))
    except OSError as error:
        raise DataError("{path}: can't be read: {error}", path=given, error=error.strerror) from None


def _layout(chunk: memoryview, name: str) -> _Layout:
    if len(chunk) < 16:
        raise _wrong(
            name, both("damaged: the chunk 'fmt ' has {size} bytes, and at least 16 are needed", size=len(chunk))
        )
    coding, channels, rate, _, block, bits = struct.unpack_from("<HHIIHH", chunk)
    if coding == EXTENSIBLE:
        if len(chunk) < 40:
            raise _wrong(
                name, both("damaged: the chunk 'fmt ' has {size} bytes, and at least 40 are needed", size=len(chunk))
            )
        coding = struct.unpack_from("<H", chunk, 24)[0]  # the first number of the subformat's GUID
    if coding not in (PCM, FLOAT):
        raise _wrong(
            name,
            both(
                "stored in the coding {coding}, and PCM and floats are read; convert it: ffmpeg -i in.wav -c:a "
                "pcm_s16le out.wav",
                coding=f"0x{coding:04x}",
            ),
        )
    if bits not in ((8, 16, 24, 32) if coding == PCM else (32, 64)):
        known = both("8, 16, 24 or 32") if coding == PCM else both("32 or 64 (floats)")
        raise _wrong(name, both("{bits} bits per sample, and {known} are read", bits=bits, known=known))
    if not 1 <= channels <= MOST_CHANNELS:
        raise _wrong(
            name, both("{channels} channels, and from 1 to {most} are read", channels=channels, most=MOST_CHANNELS)
        )
    if not RATES[0] <= rate <= RATES[1]:
        raise _wrong(
            name,
            both(
                "{rate:,} samples per second, and from {least:,} to {most:,} are read",
                rate=rate,
                least=RATES[0],
                most=RATES[1],
            ),
        )
    if block != channels * bits // 8:
        raise _wrong(
            name,
            both(
                "damaged: {block} bytes per step, where {channels} channels of {bits} bits take {wanted}",
                block=block,
                channels=channels,
                bits=bits,
                wanted=channels * bits // 8,
            ),
        )
    return _Layout(coding, channels, rate, bits)


def _samples(stored: memoryview, layout: _Layout, name: str) -> np.ndarray:
    """(N,) float32, the mean of all channels."""
    width = layout.channels * layout.bits // 8
    steps, rest = divmod(len(stored), width)
    if not steps:
        raise _wrong(name, both("there is no sound in it"))
    if rest:
        raise _wrong(
            name,
            both(
                "damaged: {size:,} bytes of sound aren't a whole number of steps of {width} bytes",
                size=len(stored),
                width=width,
            ),
        )
    if steps > MOST_SECONDS * layout.rate:
        raise _wrong(
            name,
            both(
                "{seconds:,.0f} seconds long, and recordings of up to {most:,} are read; cut it into utterances",
                seconds=steps / layout.rate,
                most=MOST_SECONDS,
            ),
        )
    channels = _numbers(stored, layout).reshape(steps, layout.channels)
    if layout.coding == FLOAT:
        _check_floats(channels, name)
    return (
        channels[:, 0].astype(np.float32)
        if layout.channels == 1
        else channels.mean(1, dtype=np.float64).astype(np.float32)
    )


def _numbers(stored: memoryview, layout: _Layout) -> np.ndarray:
    """All numbers as floats, those of PCM within -1 to 1."""
    if layout.coding == FLOAT:
        return np.frombuffer(stored, f"<f{layout.bits // 8}")
    if layout.bits == 8:
        return (np.frombuffer(stored, np.uint8).astype(np.float32) - 128) / 128
    if layout.bits == 24:
        wide = np.zeros((len(stored) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(stored, np.uint8).reshape(-1, 3)
        return wide.view("<i4")[:, 0].astype(np.float32) / 2.0**31
    return np.frombuffer(stored, f"<i{layout.bits // 8}").astype(np.float32) / 2.0 ** (layout.bits - 1)


def _check_floats(channels: np.ndarray, name: str) -> None:
    bad = np.flatnonzero(~(np.abs(channels) <= LOUDEST).all(1))  # which NaN isn't, either
    if len(bad):
        raise _wrong(
            name,
            both(
                "step {step:,} is {value}, and samples are finite numbers from -1 to 1",
                step=bad[0] + 1,
                value=", ".join(map(str, channels[bad[0]].tolist()[:2])),
            ),
        )


def _resampled(samples: np.ndarray, ratio: Fraction) -> np.ndarray:
    """(N,) → about (N · ratio,), at least one."""
    from scipy.signal import resample_poly  # which takes a moment to load

    near = ratio.limit_denominator(FINEST)
    return resample_poly(samples, near.numerator, near.denominator).astype(np.float32)


def _wrong(name: str, why: Both) -> DataError:
    return DataError("{name}: {why}", name=name, why=why)


def _cut(name: str, chunk: str, size: int, there: int) -> DataError:
    return _wrong(
        name,
        both(
            "cut off: the chunk '{chunk}' has {size:,} bytes by its header, and {there:,} follow",
            chunk=chunk,
            size=size,
            there=there,
        ),
    )
