"""What a training step does besides the encoder, in native code: rows of the embedding, head, loss, update.

Each function does what torch does in the place where it is used, to rounding. `usable` says whether it may be
called.
"""

import math
from typing import Any

import torch
from torch import Tensor

from rnnlab.kernels.calls import function, place

# Updates


def adam(
    dense: tuple[Tensor, Tensor, Tensor, Tensor],
    rows: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] | None,
    *,
    clip: float | None,
    keep: float,
    betas: tuple[float, float],
    root: float,
    epsilon: float,
    rate: float,
) -> float:
    """One update of weights (N,), given gradient, first and second moments; and of the rows of a table (V, D), given
    its moments, which rows (R,), and their gradient (R, D). The dense gradient is cleared. Returns the norm of all
    gradients; if that isn't finite, nothing happened."""
    weights = dense[0]
    of_rows: tuple[Any, ...] = (None, None, None, None, None, 0, 0)
    if rows is not None:
        of_rows = (*(t.data_ptr() for t in rows), *rows[4].shape)
    return function("adam", weights.dtype)(
        *(t.data_ptr() for t in dense),
        weights.numel(),
        *of_rows,
        math.inf if clip is None else clip,
        keep,
        *betas,
        root,
        epsilon,
        rate,
        torch.get_num_threads(),
    )


def descend(
    dense: tuple[Tensor, Tensor, Tensor],
    rows: tuple[Tensor, Tensor, Tensor] | None,
    *,
    clip: float | None,
    decay: float,
    momentum: float,
    rate: float,
) -> float:
    """One update of weights (N,), given gradient and speed, by gradient descent with momentum; and of the rows of a
    table (V, D), given which rows (R,) and their gradient (R, D), without. As `adam` otherwise."""
    weights = dense[0]
    of_rows: tuple[Any, ...] = (None, None, None, 0, 0)
    if rows is not None:
        of_rows = (*(t.data_ptr() for t in rows), *rows[2].shape)
    return function("descend", weights.dtype)(
        *(t.data_ptr() for t in dense),
        weights.numel(),
        *of_rows,
        math.inf if clip is None else clip,
        decay,
        momentum,
        rate,
        torch.get_num_threads(),
    )


# Rows of the embedding


def pick(ids: Tensor, table: Tensor, frozen: Tensor | None, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of the tables (V, D) and (V, D') by ids (…) → vectors (…, D + D'); rows (R,), the distinct ids but for
    padding; numbers (…) int32, of each id its place among the rows, -1 for padding. ``places`` (V,) int32 is scratch
    space: zero before and after."""
    words, width = table.shape
    frozen_width = 0 if frozen is None else frozen.shape[1]
    vectors = torch.empty((*ids.shape, width + frozen_width), dtype=table.dtype)
    rows = torch.empty(ids.numel(), dtype=torch.int64)
    numbers = torch.empty(ids.shape, dtype=torch.int32)
    count = function("pick", table.dtype)(
        ids.data_ptr(),
        ids.numel(),
        table.data_ptr(),
        words,
        width,
        place(frozen),
        frozen_width,
        places.data_ptr(),
        vectors.data_ptr(),
        rows.data_ptr(),
        numbers.data_ptr(),
    )
    if count < 0:
        raise IndexError(f"an id is not in the table of {words} rows")
    return vectors, rows[:count], numbers


def gather_gradients(gradient: Tensor, numbers: Tensor, rows: int, width: int) -> Tensor:
    """The gradient (R, D) of the rows that `pick` found, from that of its vectors (…, D + D')."""
    gathered = torch.empty((rows, width), dtype=gradient.dtype)
    function("gather_gradients", gradient.dtype)(
        gradient.data_ptr(), numbers.numel(), gradient.shape[-1], width, numbers.data_ptr(), gathered.data_ptr()
    )
    return gathered


# Head and loss


def classify(x: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> tuple[float, Tensor, int]:
    """The mean cross-entropy of x (B, H) · weight (C, H)ᵀ + bias (C,), its gradient for x (B, H), and how many rows are
    right. The gradients of weight and bias are added to ``weight.grad`` and ``bias.grad``."""
    assert weight.grad is not None
    assert bias.grad is not None
    loss, d_x = torch.empty((), dtype=x.dtype), torch.empty_like(x)
    right = function("classify", x.dtype)(
        x.data_ptr(),
        weight.data_ptr(),
        bias.data_ptr(),
        targets.data_ptr(),
        *x.shape,
        len(weight),
        loss.data_ptr(),
        d_x.data_ptr(),
        weight.grad.data_ptr(),
        bias.grad.data_ptr(),
    )
    if right < 0:
        raise IndexError(f"a target is none of the {len(weight)} classes")
    return loss.item(), d_x, right
