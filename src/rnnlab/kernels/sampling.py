"""Drawing tokens, and finding the best ones, in native code (sampling.cpp). The naive form of drawing:
`models.sampling`."""

import numpy as np
import torch
from torch import Tensor

from rnnlab.kernels.calls import active, call, function, usable

PRECISIONS: dict[np.dtype, torch.dtype] = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
}


def draw_tokens(shares: np.ndarray, top_k: int | None, top_p: float, uniform: np.ndarray) -> np.ndarray | None:
    """(B,) int64: a token for each row of shares (B, V), from 0 to 1, which need not sum to 1. Of the ``top_k`` most
    likely ones (None: of all), and of these the fewest whose share is ``top_p`` or more."""
    if not active() or shares.dtype not in PRECISIONS:
        return None
    shares, uniform = np.ascontiguousarray(shares), np.ascontiguousarray(uniform, np.float64)
    rows, size = shares.shape
    assert uniform.shape == (rows,)
    found = np.empty(rows, np.int64)
    function("draw_tokens", PRECISIONS[shares.dtype])(
        shares.ctypes.data, rows, size, min(top_k or 0, size), top_p, uniform.ctypes.data, found.ctypes.data
    )
    return found


def best_tokens(outputs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Of outputs (B, V) the ``count`` highest of each row, as log probabilities and ids, (B, count) each."""
    if not usable(outputs):
        found = torch.log_softmax(outputs, 1).topk(count, dim=1)
        return found.values, found.indices
    best = outputs.new_empty((len(outputs), count))
    ids = torch.empty((len(outputs), count), dtype=torch.int64)
    call("best_tokens", outputs.dtype, outputs, *outputs.shape, count, best, ids, torch.get_num_threads())
    return best, ids
