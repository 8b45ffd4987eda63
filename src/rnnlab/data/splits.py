"""Train, validation and test rows: balanced by label, and what belongs together stays together.

Rows of one group stay on one side. Where there is no group column, rows of equal content stay on one side. Where
there is one, groups rule alone: where the rows are phrases of sentences, a phrase such as "the" would tie thousands
of sentences into one. How many held-out rows then also stand in train is counted and reported by the profile.
"""

import hashlib
import itertools
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.seeding import generator
from rnnlab.data.examples import Examples
from rnnlab.data.sequences import gather_rows, offsets_of

KEY = 16  # bytes that stand for the content of a row
BLOCK = 4096  # units looked at together


def split(
    examples: Examples, *, valid_fraction: float | None = 0.1, test_fraction: float | None = 0.2, seed: int = 0
) -> dict[str, np.ndarray]:
    """Row numbers of ``train`` and of what is split off it, ascending. ``None``: that part isn't wanted, since it is
    given as a file of its own."""
    fractions = {"test": test_fraction, "valid": valid_fraction}
    [together] = units([examples], contents([examples]))
    numbers = {label: number for number, label in enumerate(sorted(set(examples.labels)))}
    targets = np.array([numbers[label] for label in examples.labels], np.int64)
    return assign(targets, together, {k: f for k, f in fractions.items() if f is not None}, seed, examples.source)


def contents(parts: Sequence[Examples]) -> list[np.ndarray]:
    """A number from 0 for each row of each part, the same for the same content: a text apart from case and spacing,
    or a series to the bit. Doesn't depend on the tokeniser, so neither does the split."""
    keys = bytearray()
    for part in parts:
        for key in _keys(part):
            keys += key
    return _per_part(parts, _in_order_of_appearance(np.frombuffer(keys, np.uint64).reshape(-1, KEY // 8)))


def units(parts: Sequence[Examples], contents: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A number for each row of each part, the same for rows that must stay together: those of one group, or, for a
    row without a group, those of the same content."""
    if all(part.groups is None for part in parts):
        content = np.concatenate(contents)
        return _per_part(parts, (content.max(initial=0) - content).astype(np.int64))  # as below, without sorting
    seen: dict[str, int] = {}
    numbered = []
    for part, content in zip(parts, contents, strict=True):
        groups = part.groups or [""] * len(part)
        of_group = np.array([seen.setdefault(g, len(seen)) if g else -1 for g in groups], np.int64)
        numbered.append(np.where(of_group >= 0, of_group, -2 - content))  # content below, groups above: never equal
    _, compact = np.unique(np.concatenate(numbered), return_inverse=True)
    return _per_part(parts, compact)


def assign(
    targets: np.ndarray, units: np.ndarray, fractions: Mapping[str, float], seed: int, source: str = "the data"
) -> dict[str, np.ndarray]:
    """Row numbers for ``train`` and each of ``fractions``, of targets (rows,), or (rows, C) where rows may have several
    labels. Every label has its fraction of rows in each split, to within one row when no rows belong together and each
    has one label. A label found in a single unit goes to train; a second unit goes to the first of ``fractions``, a
    third to the next, however small the fractions are."""
    share = _shares(fractions)
    row, labels = _labelled(targets)
    sizes = np.bincount(units)
    if not sizes.all():  # a number that no row has: units are counted from 0 without gaps
        units = (np.cumsum(sizes > 0) - 1)[units]
        sizes = sizes[sizes > 0]
    counts = _LabelCounts.of(labels, units if row is None else units[row], len(sizes))
    order = _order(sizes, seed)
    home = _place(order, counts, np.bincount(labels).tolist(), list(share.values()))
    rows = {name: np.flatnonzero(home[units] == number) for number, name in enumerate(share)}
    for name, found in rows.items():
        if not len(found):
            raise DataError(
                "{source}: {count:,} rows in {count_2:,} separate groups are too few to split off "
                "{name!r}: at least one label needs {count_3} of them; give more rows, or a file of its "
                "own for {name!r}",
                source=source,
                count=len(targets),
                count_2=len(sizes),
                name=name,
                count_3=len(share),
            )
    return rows


def _labelled(targets: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Of targets (rows, C) the row and the label of each 1. As if they were labels more, to be divided alike: rows
    without any, and all rows. Targets (rows,) are the labels themselves."""
    if targets.ndim == 1:
        return None, targets
    none = ~targets.any(1, keepdims=True)
    row, label = np.nonzero(np.hstack([targets, none, np.ones_like(none)]))
    return row, label


def _shares(fractions: Mapping[str, float]) -> dict[str, float]:
    for name, fraction in fractions.items():
        if not 0 < fraction < 1:
            raise ConfigError(
                "{name}_fraction: must be between 0 and 1, both excluded (got {fraction!r})",
                name=name,
                fraction=fraction,
            )
    if sum(fractions.values()) >= 1:
        raise ConfigError(
            "{names}: must leave rows to train on (sum below 1)", names=" + ".join(f"{n}_fraction" for n in fractions)
        )
    return {"train": 1 - sum(fractions.values()), **fractions}


@dataclass(frozen=True)
class _LabelCounts:
    """How many rows each unit has of each of its labels: those of unit i stand at ``starts[i]:starts[i + 1]``."""

    labels: np.ndarray  # (pairs,) int32
    rows: np.ndarray  # (pairs,) int32
    starts: np.ndarray  # (units + 1,) int64

    @classmethod
    def of(cls, targets: np.ndarray, units: np.ndarray, count: int) -> Self:
        labels = int(targets.max(initial=0)) + 1
        pairs, rows = np.unique(units * labels + targets, return_counts=True)
        starts = offsets_of(np.bincount(pairs // labels, minlength=count))
        return cls((pairs % labels).astype(np.int32), rows.astype(np.int32), starts)

    def pairs(self, units: np.ndarray) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Each of the units, with its (label, rows) pairs. In blocks: a million pairs as objects take much memory."""
        for start in range(0, len(units), BLOCK):
            block = units[start : start + BLOCK]
            labels, ends = gather_rows(self.labels, self.starts, block)
            rows, _ = gather_rows(self.rows, self.starts, block)
            pairs = list(zip(labels.tolist(), rows.tolist(), strict=True))
            for unit, (first, last) in zip(block.tolist(), itertools.pairwise(ends.tolist()), strict=True):
                yield unit, pairs[first:last]


def _order(sizes: np.ndarray, seed: int) -> np.ndarray:
    """Units at random, but the large ones first: the small ones then even out what these leave. Only the magnitude
    counts, or else a few large units of different sizes would be placed alike under every seed."""
    shuffled = generator(seed, "split").permutation(len(sizes))
    magnitude = np.frexp(sizes[shuffled].astype(float))[1]
    return shuffled[np.argsort(-magnitude, kind="stable")]


def _place(order: np.ndarray, counts: _LabelCounts, total: list[int], shares: list[float]) -> np.ndarray:
    """The split of each unit, as a number (units,): train is 0. ``total`` rows has each label."""
    room = [[share * count for share in shares] for count in total]  # rows that each split still wants, per label
    weight = [[share * count**2 for share in shares] for count in total]
    first = _first_of_each(order, counts, len(shares))
    home = array("b", [-1]) * len(order)

    def put(unit: int, pairs: list[tuple[int, int]], where: int) -> None:
        home[unit] = where
        for label, count in pairs:
            room[label][where] -= count

    for unit, pairs in counts.pairs(np.array(list(first), np.int64)):
        put(unit, pairs, first[unit])
    for unit, pairs in counts.pairs(order):
        if home[unit] >= 0:
            continue
        best, where = (-math.inf, 0.0), 0
        for candidate in range(len(shares)):
            overflow = need = 0.0  # least overflow wins, then the split that is emptiest, rare labels weighing more
            for label, count in pairs:
                left = room[label][candidate]
                if left < count:
                    overflow += left - count
                need += count * left / weight[label][candidate]
            if (overflow, need) > best:
                best, where = (overflow, need), candidate
        put(unit, pairs, where)
    return np.frombuffer(home, np.int8)


def _first_of_each(order: np.ndarray, counts: _LabelCounts, splits: int) -> dict[int, int]:
    """For every label: a large unit for train, then a small one for each other split that has none of that label, as
    long as the label has units to spare. Units of several labels may thwart the latter, never the former."""
    labels, ends = gather_rows(counts.labels, counts.starts, order)
    by_label = np.repeat(order, np.diff(ends))[np.argsort(labels, kind="stable")]
    units_of = np.split(by_label, np.cumsum(np.bincount(labels))[:-1])
    home: dict[int, int] = {}
    for where in range(splits):
        there: set[int] = set()  # labels that this split has
        for label, found in enumerate(units_of):
            if len(found) <= where or label in there:
                continue
            free = next((unit for unit in map(int, found if where == 0 else found[::-1]) if unit not in home), None)
            if free is not None:
                home[free] = where
                there.update(counts.labels[counts.starts[free] : counts.starts[free + 1]].tolist())
    return home


def _keys(part: Examples) -> Iterator[bytes]:
    """What a row says, in 16 bytes."""
    if part.texts is not None:
        return (_hash(" ".join(text.lower().split()).encode("utf-8", "surrogatepass")) for text in part.texts)
    return (_hash(repr(series.shape).encode() + series.tobytes()) for series in part.series or ())


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=KEY).digest()


def _in_order_of_appearance(keys: np.ndarray) -> np.ndarray:
    """Keys (rows, …) to numbers from 0 (rows,) int32, in the order in which they are first seen."""
    order = np.lexsort(keys.T)  # stable: of equal keys, the first row comes first
    new = np.zeros(len(order), bool)
    new[:1] = True
    for half in keys.T:
        half = half[order]
        new[1:] |= half[1:] != half[:-1]
    first = np.zeros(len(order), bool)
    first[order[new]] = True
    numbers = (np.cumsum(first) - 1)[order[new]]  # of each distinct key, as sorted
    found = np.empty(len(order), np.int32)
    found[order] = np.repeat(numbers, np.diff(np.flatnonzero(new), append=len(order)))
    return found


def _per_part(parts: Sequence[Examples], values: np.ndarray) -> list[np.ndarray]:
    return np.split(values, np.cumsum([len(part) for part in parts])[:-1])
