"""Splits of pairs of texts. Pairs that share a side belong together, and so do those that share one with these: such a
component never straddles a split."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rnnlab.data import splits
from rnnlab.data.encoded import SPLITS


def keys_of(texts: Iterable[str]) -> np.ndarray:
    """(rows,) int64: a number from 0 for each text, the same for texts that differ in case, spaces or width alone."""
    numbers: dict[str, int] = {}
    return np.fromiter((numbers.setdefault(_plain(text), len(numbers)) for text in texts), np.int64)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def components(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(rows,) int64: the component of each row, by the keys of both sides; numbered by the first row that has it."""
    from scipy import sparse

    sides = int(first.max(initial=-1)) + 1
    size = sides + int(second.max(initial=-1)) + 1
    ones = np.ones(len(first), np.int8)
    graph = sparse.coo_array((ones, (first, sides + second)), shape=(size, size))
    _, found = sparse.csgraph.connected_components(graph, directed=False)
    _, at, rows = np.unique(found[first], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(at))[rows].astype(np.int64)


def divided(
    sizes: Mapping[str, int], groups: np.ndarray, fractions: Mapping[str, float], seed: int, source: str
) -> dict[str, np.ndarray]:
    """Row numbers of each split, counted through the parts, which have so many rows and "train" first; what isn't given
    is split off it, component by component."""
    train = sizes["train"]
    wanted = {name: fractions[name] for name in ("test", "valid") if name not in sizes}
    _, units = np.unique(groups[:train], return_inverse=True)
    rows = splits.assign(np.zeros(train, np.int64), units, wanted, seed, source)
    start = train
    for name in SPLITS[1:]:
        if name in sizes:
            rows[name] = np.arange(start, start + sizes[name])
            start += sizes[name]
    return {name: rows[name] for name in SPLITS}


def shared_if_random(first: np.ndarray, second: np.ndarray, train: float) -> float:
    """The share of held-out rows that would share a side with a training row, if ``train`` of all rows were drawn at
    random: a row with n others beside it has none of them there in (1 - train) ** n of the cases."""
    _, pair = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    beside = sum(np.bincount(keys)[keys] for keys in (first, second)) - np.bincount(pair)[pair] - 1
    return float(1 - ((1 - train) ** beside).mean()) if len(first) else 0.0


def shares_with(sides: Sequence[np.ndarray], rows: np.ndarray, train: np.ndarray) -> float:
    """The share of ``rows`` that share a side with a training row."""
    seen = np.zeros(len(rows), bool)
    for keys in sides:
        seen |= np.isin(keys[rows], keys[train])
    return float(seen.mean()) if len(rows) else 0.0
