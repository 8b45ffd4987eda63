"""Linear chains of tags in native code (chains.cpp): arrays in and out. The naive form: `models.chain`."""

from typing import Any

import numpy as np
import torch

from rnnlab.kernels.calls import active, function

PRECISIONS: dict[Any, torch.dtype] = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}


def chain_losses(
    emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray, targets: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Losses (rows,) float64, and the gradients of their sum for emissions (N, C) and chain (C + 2, C) float64, without
    those rows whose loss is NaN: native code doesn't do them. Without targets: log Z, and probabilities (N, C). None:
    it does none of them."""
    if not active():
        return None
    rows, tags = len(offsets) - 1, emissions.shape[1]
    losses, for_emissions = np.empty(rows), np.empty_like(emissions)
    for_chain = np.zeros(chain.shape)
    done = function("chain_losses", PRECISIONS[emissions.dtype])(
        rows, tags, *_places(emissions, offsets, chain), None if targets is None else targets.ctypes.data,
        losses.ctypes.data, for_emissions.ctypes.data, None if targets is None else for_chain.ctypes.data,
    )  # fmt: skip
    return None if done < 0 else (losses, for_emissions, for_chain)


def chain_paths(emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray) -> np.ndarray | None:
    """(N,) int64: the best path of every row."""
    if not active():
        return None
    paths = np.empty(len(emissions), np.int64)
    given = _places(emissions, offsets, chain)
    function("best_paths", PRECISIONS[emissions.dtype])(len(offsets) - 1, emissions.shape[1], *given, paths.ctypes.data)
    return paths


def chain_descend(
    order: np.ndarray, rate: float, offsets: np.ndarray, targets: np.ndarray, indices: np.ndarray,
    starts: np.ndarray, pulls: np.ndarray, pull: float, table: np.ndarray, squares: np.ndarray, chain: np.ndarray,
    chain_squares: np.ndarray,
) -> int:  # fmt: skip
    """Where `active`: one pass of AdaGrad over the rows of a conditional random field in ``order`` (n,) int32, that
    changes table and squares (features, C), chain and chain_squares (C + 2, C). Returns how many rows were done: all,
    or those before one that native code doesn't do. The naive form: `models.crf`."""
    kinds = np.int32, np.int64, np.int64, np.int32, np.int64, np.float32
    given = [
        _at(array, kind) for array, kind in zip((order, offsets, targets, indices, starts, pulls), kinds, strict=True)
    ]
    changed = [_at(array, np.float32) for array in (table, squares, chain, chain_squares)]
    return function("chain_descend")(len(order), table.shape[1], *given, pull, rate, *changed)


def _places(emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray) -> tuple[int, int, int]:
    """Where they lie. They must be as the kernels read them; the caller holds on to them."""
    kind = emissions.dtype.type
    return _at(emissions, kind), _at(offsets, np.int64), _at(chain, kind)


def _at(array: np.ndarray, kind: type) -> int:
    assert array.dtype == kind
    assert array.flags.c_contiguous
    return array.ctypes.data
