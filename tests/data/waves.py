"""WAV files for tests, made by hand: another way than the reader's."""

import struct
from pathlib import Path

import numpy as np


def wav(
    channels: np.ndarray,
    rate: int = 8000,
    bits: int = 16,
    coding: int = 1,
    *,
    extensible: bool = False,
    extra: bytes = b"",
) -> bytes:
    """The bytes of samples (N,) or (N, channels) within -1 to 1; ``extra`` are chunks before the sound."""
    channels = np.asarray(channels, float)
    channels = channels[:, None] if channels.ndim == 1 else channels
    if coding == 3:
        data = channels.astype(f"<f{bits // 8}").tobytes()
    elif bits == 8:
        data = np.clip(np.round(channels * 128 + 128), 0, 255).astype(np.uint8).tobytes()
    else:
        whole = np.clip(np.round(channels * 2 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1).astype("<i8")
        data = whole.reshape(-1, 1).view(np.uint8)[:, : bits // 8].tobytes()
    block = channels.shape[1] * bits // 8
    layout = struct.pack(
        "<HHIIHH", 0xFFFE if extensible else coding, channels.shape[1], rate, rate * block, block, bits
    )
    if extensible:
        layout += struct.pack("<HHIH", 22, bits, 0, coding) + bytes.fromhex("000000001000800000aa00389b71")
    body = b"WAVE" + chunk(b"fmt ", layout) + extra + chunk(b"data", data)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def tone(label: int, speaker: int, take: int, seconds: float = 0.2, rate: int = 8000) -> np.ndarray:
    """A tone whose height rises with the label; speakers differ a little, takes in noise."""
    t = np.arange(int(seconds * rate)) / rate
    noise = np.random.default_rng([label, speaker, take]).normal(0, 0.01, len(t))
    return 0.5 * np.sin(2 * np.pi * (300 + 500 * label + 20 * speaker) * t) * np.hanning(len(t)) + noise


def folder_of_tones(folder: Path, labels: int = 3, speakers: int = 4, takes: int = 5) -> Path:
    """``{label}_{speaker}_{n}.wav``"""
    folder.mkdir(parents=True, exist_ok=True)
    for label in range(labels):
        for speaker in range(speakers):
            for take in range(takes):
                name = f"{label}_{['anna', 'bert', 'carl', 'dora', 'eva', 'finn'][speaker]}_{take}.wav"
                (folder / name).write_bytes(wav(tone(label, speaker, take)))
    return folder
