"""A tree of n-grams in native code (gram_tree.cpp), and beside it in numpy: arrays in and out, all int32.

An n-gram is the child of its first n - 1 tokens, and is told from its sisters by its last token. The children of a
parent lie side by side, by token, and the parents one after another: ``starts`` (parents + 1,) says where.
"""

import numpy as np

from rnnlab.kernels.calls import active, function


def _at(array: np.ndarray) -> int:
    """Where an array lies. It must be as the kernels read it; the caller holds on to it."""
    assert array.dtype == np.int32
    assert array.flags.c_contiguous
    return array.ctypes.data


def _check(numbers: np.ndarray, least: int, end: int) -> None:
    """Native code would read and write beyond the end of things."""
    assert not len(numbers) or least <= numbers.min() <= numbers.max() < end


def number_children(
    parents: np.ndarray, tokens: np.ndarray, all_parents: int, all_tokens: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of occurrences (n,), in any order, each below ``all_parents`` and ``all_tokens``: the number of each one's gram
    (n,), and of each gram its token (grams,) and how often it occurs (grams,); and the starts."""
    if not active():
        return _number_naively(parents, tokens, all_parents, all_tokens)
    n = len(parents)
    _check(parents, 0, all_parents)
    _check(tokens, 0, all_tokens)
    assert len(tokens) == n
    grams, last_tokens, counts = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    starts = np.empty(all_parents + 1, np.int32)
    distinct = function("number_children")(
        _at(parents), _at(tokens), n, all_parents, all_tokens, _at(grams), _at(last_tokens), _at(counts), _at(starts)
    )
    return grams, last_tokens[:distinct].copy(), counts[:distinct].copy(), starts


def _number_naively(
    parents: np.ndarray, tokens: np.ndarray, all_parents: int, all_tokens: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    keys = parents.astype(np.int64) * all_tokens + tokens
    found, grams, counts = np.unique(keys, return_inverse=True, return_counts=True)
    starts = np.searchsorted(found, np.arange(all_parents + 1, dtype=np.int64) * all_tokens)
    whole = [array.astype(np.int32) for array in (grams, found % all_tokens, counts, starts)]
    return whole[0], whole[1], whole[2], whole[3]


def find_children(starts: np.ndarray, last_tokens: np.ndarray, parents: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """(n,): the child of each parent that has this token; -1 where there is none, or no parent (-1)."""
    if not active():
        return _find_naively(starts, last_tokens, parents, tokens)
    _check(parents, -1, len(starts) - 1)
    assert len(tokens) == len(parents)
    children = np.empty(len(parents), np.int32)
    function("find_children")(_at(starts), _at(last_tokens), _at(parents), _at(tokens), len(parents), _at(children))
    return children


def _find_naively(starts: np.ndarray, last_tokens: np.ndarray, parents: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """All are halved at the same time."""
    children = np.full(len(parents), -1, np.int32)
    if not len(last_tokens):
        return children
    real = parents >= 0
    low, end = starts[parents] * real, starts[parents + 1] * real
    high = end
    while np.any(open_ := low < high):
        middle = low + (high - low) // 2
        less = open_ & (last_tokens[np.minimum(middle, len(last_tokens) - 1)] < tokens)
        low, high = np.where(less, middle + 1, low), np.where(open_ & ~less, middle, high)
    at = np.minimum(low, len(last_tokens) - 1)
    return np.where((low < end) & (last_tokens[at] == tokens), at, children)
