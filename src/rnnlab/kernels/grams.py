"""N-grams of many rows in native code (grams.cpp), and beside it in numpy: arrays in and out."""

import numpy as np

from rnnlab.kernels.calls import active, function

WORTH = 20_000  # keys, from which on a table of all grams is made sooner than they are looked up one by one


def _at(array: np.ndarray, dtype: type) -> int:
    """Where an array lies. It must be as the kernels read it; the caller holds on to it."""
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    return array.ctypes.data


def count_grams(keys: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of keys (n,) int64, negative ones left out, in any order; and in how many rows each stands.
    ``rows`` (n,) int32 ascend."""
    if not active():
        return _count_naively(keys, rows)
    found, counts = np.empty(len(keys), np.int64), np.empty(len(keys), np.int32)
    distinct = function("count_grams")(
        _at(keys, np.int64), _at(rows, np.int32), len(keys), _at(found, np.int64), _at(counts, np.int32)
    )
    return found[:distinct], counts[:distinct]


def _count_naively(keys: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    real = keys >= 0
    found, numbers = np.unique(keys[real], return_inverse=True)
    order = np.lexsort((rows[real], numbers))
    number, row = numbers[order], rows[real][order]
    first = np.append(True, (number[1:] != number[:-1]) | (row[1:] != row[:-1]))[: len(number)]
    return found, np.bincount(number[first], minlength=len(found))


def find_grams(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """(n,) int32: the place of each key among the known ones, which ascend, or -1."""
    if not len(known) or len(keys) < WORTH or not active():
        return _find_naively(known, keys)
    places = np.empty(len(keys), np.int32)
    function("find_grams")(_at(known, np.int64), len(known), _at(keys, np.int64), len(keys), _at(places, np.int32))
    return places


def _find_naively(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    if not len(known):
        return np.full(len(keys), -1, np.int32)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, at, -1).astype(np.int32)


def list_grams(places: np.ndarray, offsets: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (levels, tokens) of the gram that ends at each token, -1 for none → indices, the distinct ones row by row
    and level by level, and ends (rows, levels) of each level of each row among them."""
    if not active():
        return _list_naively(places, offsets, features)
    levels, rows = len(places), len(offsets) - 1
    indices, ends = np.empty(places.size, np.int32), np.empty((rows, levels), np.int64)
    used = function("list_grams")(
        _at(places, np.int32), _at(offsets, np.int64), rows, levels, features, _at(indices, np.int32),
        _at(ends, np.int64),
    )  # fmt: skip
    return indices[:used].copy(), ends


def _list_naively(places: np.ndarray, offsets: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    rows, levels = len(offsets) - 1, len(places)
    row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(offsets))
    found, ends = [], np.zeros((rows, levels), np.int64)
    for level, at in enumerate(places):
        pairs = np.unique((row * features + at)[at >= 0])
        found.append(pairs)
        ends[:, level] = np.bincount(pairs // features, minlength=rows)
    pairs = np.sort(np.concatenate(found))  # of a row, levels ascend with the numbers of their grams
    return (pairs % features).astype(np.int32), np.cumsum(ends).reshape(rows, levels)


GramRows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Indices int32, and of each row its start and end among them, int64, and the value of all its grams, float32."""


def _rows(x: GramRows) -> tuple[int, int, int, int, int]:
    indices, starts, ends, scale = x
    return (
        _at(indices, np.int32), _at(starts, np.int64), _at(ends, np.int64), _at(scale, np.float32), len(scale)
    )  # fmt: skip


def gram_product(x: GramRows, table: np.ndarray) -> np.ndarray | None:
    """X (rows, features) · table (features, width); the naive form is scipy's."""
    if not active():
        return None
    out = np.empty((len(x[3]), table.shape[1]), np.float32)
    function("gram_product")(*_rows(x), table.shape[1], _at(table, np.float32), _at(out, np.float32))
    return out


def gram_transposed(x: GramRows, delta: np.ndarray, features: int) -> np.ndarray | None:
    """Xᵀ · delta (rows, width); the naive form is scipy's."""
    if not active():
        return None
    out = np.zeros((features, delta.shape[1]), np.float32)
    function("gram_transposed")(*_rows(x), delta.shape[1], _at(delta, np.float32), _at(out, np.float32))
    return out


def gram_descend(
    x: GramRows, order: np.ndarray, squares: np.ndarray, norms: np.ndarray, columns: np.ndarray,
    strengths: np.ndarray, softmax: bool, duals: np.ndarray, table: np.ndarray, bias: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Where `active`: one pass over the rows in ``order`` (rows,) int32, that changes duals (rows, width), table
    (features, width) and bias (width,). ``strengths`` (rows,): what a row's loss counts. Returns (width,): the squares
    of how far the duals moved. Elsewhere another algorithm finds the same: `models.nbsvm`."""
    moved = np.zeros(len(bias))
    function("gram_descend")(
        *_rows(x), len(bias), _at(order, np.int32), _at(squares, np.float32), _at(norms, np.float32),
        _at(columns, np.int32), _at(strengths, np.float32), softmax, _at(duals, np.float32), _at(table, np.float32),
        _at(bias, np.float32), _at(moved, np.float64),
    )  # fmt: skip
    return moved
