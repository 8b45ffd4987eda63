"""Pairs of whole numbers as digit arrays, least significant digit first, with their sums: any number of digits.

Arrays of pairs are (rows, 2, D) uint8, zero above a number's first digit. Every unordered pair belongs to one of three
parts, by a hash of its digits: training and held-out pairs can't overlap then, at any length, and nothing has to be
looked up.
"""

from collections.abc import Callable, Sequence

import numpy as np

from rnnlab.data.sequences import Sequences, offsets_of

PARTS = {"train": (0, 80), "valid": (80, 90), "test": (90, 100)}  # hundredths of all pairs
MIN_DRAW = 1000  # pairs drawn at a time to find held-out ones
_WEIGHT = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SALT = np.uint64(8)  # with this one, few as they are, the pairs of single digits are spread over the parts

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""(generator, rows) → pairs."""


def uniform(rng: np.random.Generator, rows: int, digits: int) -> np.ndarray:
    """Both numbers uniform below 10^digits, so that nine in ten have all the digits."""
    return rng.integers(0, 10, (rows, 2, digits), np.uint8)


def by_digits(rng: np.random.Generator, rows: int, digits: int) -> np.ndarray:
    """First how many digits a number has, 1 … digits, evenly and for each of the two; then which of those numbers."""
    pairs = rng.integers(0, 10, (rows, 2, digits), np.uint8)
    wanted = rng.integers(1, digits + 1, (rows, 2, 1))
    first = rng.integers(1, 10, (rows, 2, 1), np.uint8)
    at = np.arange(digits)
    pairs *= at < wanted
    np.copyto(pairs, first, where=(at == wanted - 1) & (wanted > 1))
    return pairs


def lengthen_carries(rng: np.random.Generator, pairs: np.ndarray) -> np.ndarray:
    """Every other pair changed so that a carry travels at least so far as was drawn evenly from 1 to its number of
    digits, which stays as it is. The other pairs stay as they are."""
    changed = pairs.copy()
    ours = changed[::2]
    lengths = number_of_digits(ours)  # (rows, 2)
    longest, shortest = lengths.max(1), lengths.min(1)
    far = rng.integers(1, longest + 1)
    born = rng.integers(0, np.minimum(longest - far, shortest - 1) + 1)  # above the shorter number no carry is born
    at = np.arange(pairs.shape[2])
    travels = (at > born[:, None]) & (at < (born + far)[:, None])  # (rows, D)
    rows, longer = np.arange(len(ours)), lengths.argmax(1)
    other = ours[rows, 1 - longer]
    ours[rows, longer] = np.where(travels, 9 - other, ours[rows, longer])
    one, two = np.nonzero(np.add.outer(np.arange(10), np.arange(10)) > 9)  # the 45 ways to get a carry
    chosen = rng.integers(0, len(one), len(ours))
    ours[rows, 0, born], ours[rows, 1, born] = one[chosen], two[chosen]
    return changed


def number_of_digits(numbers: np.ndarray) -> np.ndarray:
    """(…, D) → (…), at least 1: zero is written with a digit, too."""
    above = (numbers[..., ::-1] != 0).argmax(-1)  # zeros above the first digit
    return np.where(numbers.any(-1), numbers.shape[-1] - above, 1)


def add(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The digits of the sums, (rows, D + 1), and how far the furthest carry of each travels, (rows,).

    A carry is born where two digits add up to more than 9, travels on as long as the next two add up to 9, and ends
    where they don't: 999 + 1 has one that travels over 3 digits, 999 + 999 has three that travel over 1. Where nothing
    carries it is 0. What a digit of the sum depends on reaches back so far."""
    rows, _, digits = pairs.shape
    sums = pairs[:, 0] + pairs[:, 1]  # (rows, D), at most 18
    at = np.arange(digits, dtype=np.int16)  # twice that fits, up to 16,383 digits
    # The last position so far whose digits don't add up to 9 decides whether there is a carry.
    decided = np.maximum.accumulate((sums != 9) * (2 * at + (sums > 9)), axis=1)
    carry = decided & 1
    total = np.zeros((rows, digits + 1), np.uint8)
    total[:, :-1] = sums
    total[:, 1:] += carry.astype(np.uint8)
    total -= 10 * (total > 9).view(np.uint8)
    return total, ((at + 1 - (decided >> 1)) * carry).max(1)


def part_of(pairs: np.ndarray) -> np.ndarray:
    """(rows,) int64, 0 … 99: which hundredth of all pairs each belongs to (see `PARTS`)."""
    return _hundredth(pair_hash(pairs))


def pair_hash(pairs: np.ndarray) -> np.ndarray:
    """(rows,) uint64: the same for a + b and b + a, and whatever the width of the array."""
    weights = _mixed(np.arange(1, pairs.shape[2] + 1, dtype=np.uint64) * _WEIGHT)
    numbers = _mixed(pairs.astype(np.uint64) @ weights + _SALT)  # (rows, 2); zeros above the first digit add nothing
    return _mixed(numbers[:, 0] + numbers[:, 1])


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014): every bit of x decides about every bit."""
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return x ^ (x >> np.uint64(31))


def _hundredth(hashes: np.ndarray) -> np.ndarray:
    return (hashes % np.uint64(100)).astype(np.int64)


def draw_pairs(rng: np.random.Generator, rows: int, part: str, draw: Draw) -> np.ndarray:
    """``rows`` pairs of a part; what falls into another part is drawn again."""
    low, high = PARTS[part]
    found = np.empty((0, 2, 0), np.uint8)
    while len(found) < rows:
        missing = rows - len(found)
        drawn = draw(rng, int(missing * 100 / (high - low) * 1.1) + 10)
        number = part_of(drawn)
        drawn = drawn[(low <= number) & (number < high)][:missing]
        found = np.concatenate([found, drawn]) if len(found) else drawn
    return found


def draw_distinct(rng: np.random.Generator, rows: int, part: str, draw: Draw) -> np.ndarray:
    """As `draw_pairs`, but no pair twice, in either order. Fewer rows if there are no more: when as many again are
    drawn as were wanted and none is new."""
    pairs = draw_pairs(rng, rows, part, draw)
    while True:
        _, first = np.unique(pair_hash(pairs), return_index=True)
        kept = pairs[np.sort(first)[:rows]]
        if len(kept) == rows:
            return kept
        more = draw_pairs(rng, max(rows, MIN_DRAW), part, draw)
        if np.isin(pair_hash(more), pair_hash(kept)).all():
            return kept
        pairs = np.concatenate([kept, more])


def sequences(pairs: np.ndarray, ids: np.ndarray, tags: Callable[[np.ndarray], np.ndarray] | None = None) -> Sequences:
    """Both digits of a step side by side, and the sum's digit as its target: as many steps as the longer number has
    digits, and one for the last carry. ``ids`` (10,) are the token ids of the digits; ``tags`` numbers the pairs by
    how far their carries travel."""
    rows, _, digits = pairs.shape
    total, carried = add(pairs)
    lengths = number_of_digits(pairs[:, 0] | pairs[:, 1]) + 1
    inside = np.arange(digits + 1) < lengths[:, None]  # (rows, D + 1)
    steps = np.zeros((rows, digits + 1, 2), np.uint8)
    steps[:, :-1] = pairs.transpose(0, 2, 1)
    offsets = offsets_of(lengths)
    return Sequences.end_to_end(
        values=ids.astype(np.int32)[steps[inside]],
        offsets=offsets,
        targets=total[inside].astype(np.int64),
        groups=np.arange(rows),
        tags=None if tags is None else tags(carried),
        target_offsets=offsets,
    )


def pairs_from(numbers: Sequence[tuple[str, str]]) -> np.ndarray:
    """Numbers written with the digits 0 … 9 → pairs as wide as the longest of them."""
    width = max(len(number) for pair in numbers for number in pair)
    pairs = np.zeros((len(numbers), 2, width), np.uint8)
    for row, pair in enumerate(numbers):
        for column, number in enumerate(pair):
            pairs[row, column, : len(number)] = np.frombuffer(number.encode("ascii"), np.uint8)[::-1] - ord("0")
    return pairs


def written(digits: np.ndarray) -> str:
    """(D,), least significant first → as people write it, without zeros in front."""
    return "".join(map(str, digits[::-1].tolist())).lstrip("0") or "0"
