"""Independent random streams from one seed: what one part draws never shifts what another part draws."""

import hashlib

import numpy as np

STREAMS = (
    "split",
    "init",
    "shuffle",
    "dropout",
    "data",
    "bootstrap",
    "search",
    "augment",
    "sampling",
    "forcing",
    "candidates",
)


def stream_seed(seed: int, stream: str, *path: int) -> int:
    """A 63-bit seed for a named stream; ``path`` goes deeper, as in ``stream_seed(3, "shuffle", epoch)``."""
    if stream not in STREAMS:
        raise ValueError(f"unknown random stream {stream!r}; known: {', '.join(STREAMS)}")
    text = ":".join(map(str, (stream, seed, *path)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def generator(seed: int, stream: str, *path: int) -> np.random.Generator:
    """A numpy generator for a named stream."""
    return np.random.default_rng(stream_seed(seed, stream, *path))
