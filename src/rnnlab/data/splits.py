"""Train, validation and test rows: balanced by label, and what belongs together stays together.

Rows of one group stay on one side. Where there is no group column, rows of equal content stay on one side. Where
there is one, groups rule alone: where the rows are phrases of sentences, a phrase such as "the" would tie thousands
of sentences into one. How many held-out rows then also stand in train is counted and reported by the profile.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence

import numpy as np

from rnnlab.data.examples import Examples
from rnnlab.errors import ConfigError, DataError
from rnnlab.seeding import generator


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
    """A number for each row of each part, the same for the same content: a text apart from case and spacing, or a
    series to the bit. Doesn't depend on the tokeniser, so neither does the split."""
    seen: dict[bytes, int] = {}
    return [np.array([seen.setdefault(key, len(seen)) for key in _keys(part)], np.int64) for part in parts]


def units(parts: Sequence[Examples], contents: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A number for each row of each part, the same for rows that must stay together: those of one group, or, for a
    row without a group, those of the same content."""
    seen: dict[str, int] = {}
    numbered = []
    for part, content in zip(parts, contents, strict=True):
        groups = part.groups or [""] * len(part)
        of_group = np.array([seen.setdefault(g, len(seen)) if g else -1 for g in groups], np.int64)
        numbered.append(np.where(of_group >= 0, of_group, -2 - content))  # content below, groups above: never equal
    _, compact = np.unique(np.concatenate(numbered), return_inverse=True)
    return np.split(compact, np.cumsum([len(part) for part in parts])[:-1])


def assign(
    targets: np.ndarray, units: np.ndarray, fractions: Mapping[str, float], seed: int, source: str = "the data"
) -> dict[str, np.ndarray]:
    """Row numbers for ``train`` and each of ``fractions``. Every label has its fraction of rows in each split, to
    within one row when no rows belong together. A label found in a single unit goes to train; a second unit goes to
    the first of ``fractions``, a third to the next, however small the fractions are."""
    share = _shares(fractions)
    unit, labels_of, sizes = _label_counts(targets, units)
    order = _order(sizes, seed)
    home = _place(order, labels_of, targets, list(share.values()))
    rows = {name: np.flatnonzero(home[unit] == number) for number, name in enumerate(share)}
    for name, found in rows.items():
        if not len(found):
            raise DataError(
                f"{source}: {len(targets):,} rows in {len(sizes):,} separate groups are too few to split off {name!r}: "
                f"at least one label needs {len(share)} of them; give more rows, or a file of its own for {name!r}"
            )
    return rows


def _shares(fractions: Mapping[str, float]) -> dict[str, float]:
    for name, fraction in fractions.items():
        if not 0 < fraction < 1:
            raise ConfigError(f"{name}_fraction: must be between 0 and 1, both excluded (got {fraction!r})")
    if sum(fractions.values()) >= 1:
        raise ConfigError(
            f"{' + '.join(f'{n}_fraction' for n in fractions)}: must leave rows to train on (sum below 1)"
        )
    return {"train": 1 - sum(fractions.values()), **fractions}


def _label_counts(targets: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, list[list[tuple[int, int]]], np.ndarray]:
    """Units renumbered from 0 (rows,), the (label, rows) pairs of each unit, and the rows of each unit (units,)."""
    _, unit = np.unique(units, return_inverse=True)
    labels = int(targets.max(initial=0)) + 1
    pairs, counts = np.unique(unit * labels + targets, return_counts=True)
    sizes = np.bincount(unit)
    labels_of: list[list[tuple[int, int]]] = [[] for _ in range(len(sizes))]
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        labels_of[pair // labels].append((pair % labels, count))
    return unit, labels_of, sizes


def _order(sizes: np.ndarray, seed: int) -> list[int]:
    """Units at random, but the large ones first: the small ones then even out what these leave. Only the magnitude
    counts, or else a few large units of different sizes would be placed alike under every seed."""
    shuffled = generator(seed, "split").permutation(len(sizes))
    magnitude = np.frexp(sizes[shuffled].astype(float))[1]
    return shuffled[np.argsort(-magnitude, kind="stable")].tolist()


def _place(
    order: list[int], labels_of: list[list[tuple[int, int]]], targets: np.ndarray, shares: list[float]
) -> np.ndarray:
    """The split of each unit, as a number: train is 0."""
    total = np.bincount(targets).tolist()
    room = [[share * count for share in shares] for count in total]  # rows that each split still wants, per label
    home = [-1] * len(labels_of)

    def put(unit: int, where: int) -> None:
        home[unit] = where
        for label, count in labels_of[unit]:
            room[label][where] -= count

    for unit, where in _first_of_each(order, labels_of, len(shares)):
        put(unit, where)
    for unit in order:
        if home[unit] >= 0:
            continue
        best, where = (-math.inf, 0.0), 0
        for candidate, share in enumerate(shares):
            overflow = need = 0.0  # least overflow wins, then the split that is emptiest, rare labels weighing more
            for label, count in labels_of[unit]:
                left = room[label][candidate]
                if left < count:
                    overflow += left - count
                need += count * left / (share * total[label] ** 2)
            if (overflow, need) > best:
                best, where = (overflow, need), candidate
        put(unit, where)
    return np.array(home)


def _first_of_each(order: list[int], labels_of: list[list[tuple[int, int]]], splits: int) -> list[tuple[int, int]]:
    """For every label: a large unit for train, then a small one for each other split that has none of that label, as
    long as the label has units to spare. Units of several labels may thwart the latter, never the former."""
    units_of: dict[int, list[int]] = {}
    for unit in order:
        for label, _ in labels_of[unit]:
            units_of.setdefault(label, []).append(unit)
    home: dict[int, int] = {}
    for where in range(splits):
        for _, found in sorted(units_of.items()):
            if len(found) <= where or any(home.get(unit) == where for unit in found):
                continue
            free = next((unit for unit in (found if where == 0 else reversed(found)) if unit not in home), None)
            if free is not None:
                home[free] = where
    return list(home.items())


def _keys(part: Examples) -> list[bytes]:
    """What a row says, in 16 bytes."""
    if part.texts is not None:
        return [_hash(" ".join(text.lower().split()).encode("utf-8", "surrogatepass")) for text in part.texts]
    return [_hash(repr(array.shape).encode() + array.tobytes()) for array in part.series or ()]


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
