"""Sequences that isolate memory: what must be remembered, and for how long, is known and adjustable.

Every function draws from one generator and returns ``rows`` sequences. Lengths are drawn uniformly from ``shortest`` to
``longest``.
"""

import numpy as np

from rnnlab.data.sequences import IGNORE, Sequences, offsets_of

OPENING, CLOSING = "([{<", ")]}>"


def first_and_last(
    rng: np.random.Generator, rows: int, shortest: int, longest: int, channels: int
) -> tuple[list[np.ndarray], list[str]]:
    """Normal numbers (T, channels); the label is the sign of the first plus the last number of channel 0."""
    series = [
        rng.standard_normal((length, channels)).astype(np.float32) for length in _draw(rng, rows, shortest, longest)
    ]
    return series, ["positive" if x[0, 0] + x[-1, 0] > 0 else "negative" for x in series]


def parity(rng: np.random.Generator, rows: int, shortest: int, longest: int) -> tuple[list[str], list[str]]:
    """Zeros and ones; the label says whether the number of ones is odd."""
    bits = [rng.integers(0, 2, length) for length in _draw(rng, rows, shortest, longest)]
    return [" ".join(map(str, row)) for row in bits], ["odd" if row.sum() % 2 else "even" for row in bits]


def brackets(
    rng: np.random.Generator, rows: int, shortest: int, longest: int, depth: int, kinds: int
) -> tuple[list[str], list[str]]:
    """Half of the rows are well-formed and at most ``depth`` deep; in the others one bracket was replaced."""
    texts, labels = [], []
    for number, length in enumerate(_draw(rng, rows, shortest, longest)):
        row = _well_formed(rng, max(1, int(length) // 2), depth, kinds)
        if number % 2:
            at = int(rng.integers(len(row)))
            others = [b for b in OPENING[:kinds] + CLOSING[:kinds] if b != row[at]]
            row[at] = others[int(rng.integers(len(others)))]  # no replacement of one bracket keeps it well-formed
        texts.append(" ".join(row))
        labels.append("broken" if number % 2 else "balanced")
    return texts, labels


def _well_formed(rng: np.random.Generator, pairs: int, depth: int, kinds: int) -> list[str]:
    """A walk from 0 to 0 that never leaves 0 … depth; each way down closes the last kind that was opened."""
    row: list[str] = []
    open_kinds: list[int] = []
    left = pairs  # brackets still to be opened
    while left or open_kinds:
        may_open, may_close = left > 0 and len(open_kinds) < depth, bool(open_kinds)
        if may_open and (not may_close or rng.random() < 0.5):
            open_kinds.append(int(rng.integers(kinds)))
            row.append(OPENING[open_kinds[-1]])
            left -= 1
        else:
            row.append(CLOSING[open_kinds.pop()])
    return row


def adding(rng: np.random.Generator, rows: int, shortest: int, longest: int) -> Sequences:
    """Two channels: numbers uniform in [0, 1), and marks. One number of the first half and one of the second are marked
    by 1, the others by 0. The target is the sum of the two marked numbers: between 0 and 2, with mean 1 and variance
    1/6, which is the error of answering 1 always."""
    lengths = _draw(rng, rows, max(2, shortest), longest)
    offsets = offsets_of(lengths)
    values = np.zeros((offsets[-1], 2), np.float32)
    values[:, 0] = rng.random(offsets[-1], dtype=np.float32)
    half = lengths // 2
    first = offsets[:-1] + (rng.random(rows) * half).astype(np.int64)
    second = offsets[:-1] + half + (rng.random(rows) * (lengths - half)).astype(np.int64)
    values[first, 1] = values[second, 1] = 1
    targets = values[first, 0] + values[second, 0]
    return Sequences.end_to_end(values, offsets, targets, np.arange(rows))


def copying(rng: np.random.Generator, rows: int, gap: int, symbols: int, kinds: int, ids: dict[str, int]) -> Sequences:
    """``symbols`` tokens to remember, ``gap`` blanks, then as many times ``go``: at each go the next symbol is due. The
    steps before are not asked for. ``ids`` numbers blank, go and the symbols "0", "1" … of ``kinds`` kinds."""
    steps = 2 * symbols + gap
    wanted = rng.integers(0, kinds, (rows, symbols))
    values = np.full((rows, steps), ids["blank"], np.int32)
    values[:, :symbols] = np.array([ids[str(kind)] for kind in range(kinds)])[wanted]
    values[:, -symbols:] = ids["go"]
    targets = np.full((rows, steps), IGNORE, np.int64)
    targets[:, -symbols:] = wanted
    offsets = np.arange(rows + 1, dtype=np.int64) * steps
    return Sequences.end_to_end(
        values.reshape(-1), offsets, targets.reshape(-1), np.arange(rows), target_offsets=offsets
    )


def _draw(rng: np.random.Generator, rows: int, shortest: int, longest: int) -> np.ndarray:
    return rng.integers(shortest, longest + 1, rows)
