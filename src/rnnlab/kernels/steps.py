"""What a training step does besides the encoder, in native code: rows of the embedding, head, loss, update.

Each function does what torch does in the place where it is used, to rounding: the naive forms are those of
`models.embedding`, `training.optimizer` and `training.update`. None: native code doesn't take such tensors.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from rnnlab.kernels.calls import call, place, usable

LARGEST_HEAD = 8192  # weights up to which the native kernel is faster than torch's products


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
) -> float | None:
    """One update of weights (N,), given gradient, first and second moments; and of the rows of a table (V, D), given
    its moments, which rows (R,), and their gradient (R, D). The dense gradient is cleared. Returns the norm of all
    gradients; if that isn't finite, nothing happened."""
    settings = (math.inf if clip is None else clip, keep, *betas, root, epsilon, rate)
    return _update("adam", dense, rows or (None,) * 5, settings)


def descend(
    dense: tuple[Tensor, Tensor, Tensor],
    rows: tuple[Tensor, Tensor, Tensor] | None,
    *,
    clip: float | None,
    decay: float,
    momentum: float,
    rate: float,
) -> float | None:
    """One update of weights (N,), given gradient and speed, by gradient descent with momentum; and of the rows of a
    table (V, D), given which rows (R,) and their gradient (R, D), without. As `adam` otherwise."""
    settings = (math.inf if clip is None else clip, decay, momentum, rate)
    return _update("descend", dense, rows or (None,) * 3, settings)


def _update(
    name: str, dense: tuple[Tensor, ...], rows: tuple[Tensor | None, ...], settings: tuple[float, ...]
) -> float | None:
    weights, gradient = dense[0], rows[-1]
    if not usable(weights) if gradient is None else not usable(weights, gradient):
        return None
    sizes = (0, 0) if gradient is None else gradient.shape
    return call(name, weights.dtype, *dense, weights.numel(), *rows, *sizes, *settings, torch.get_num_threads())


def pick(
    ids: Tensor, table: Tensor, frozen: Tensor | None, places: Callable[[], Tensor]
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Rows of the tables (V, D) and (V, D') by ids (…) → vectors (…, D + D'); rows (R,), the distinct ids but for
    padding; numbers (…) int32, of each id its place among the rows, -1 for padding. ``places()`` (V,) int32 is scratch
    space: zero before and after."""
    if not ids.is_contiguous() or not usable(*(table, frozen) if frozen is not None else (table,)):
        return None
    words, width = table.shape
    frozen_width = 0 if frozen is None else frozen.shape[1]
    vectors = torch.empty((*ids.shape, width + frozen_width), dtype=table.dtype)
    rows, numbers = torch.empty(ids.numel(), dtype=torch.int64), torch.empty(ids.shape, dtype=torch.int32)
    sources = (ids, ids.numel(), table, words, width, frozen, frozen_width, places())
    count = call("pick", table.dtype, *sources, vectors, rows, numbers)
    if count < 0:
        raise IndexError(f"an id is not in the table of {words} rows")
    return vectors, rows[:count], numbers


def gather_gradients(gradient: Tensor, numbers: Tensor, rows: int, width: int) -> Tensor:
    """The gradient (R, D) of the rows that `pick` found, from that of its vectors (…, D + D')."""
    gathered = torch.empty((rows, width), dtype=gradient.dtype)
    call("gather_gradients", gradient.dtype, gradient, numbers.numel(), gradient.shape[-1], width, numbers, gathered)
    return gathered


def classify(
    x: Tensor, linear: nn.Linear, targets: Tensor, weights: Tensor | None = None
) -> tuple[float, Tensor, int] | None:
    """The mean cross-entropy of a linear head on x (B, H), its gradient for x, and how many rows are right. Those of
    the head are added to what it has. ``weights`` (C,): what a row of each class counts."""
    weight, bias = linear.weight, linear.bias
    if weight.numel() > LARGEST_HEAD or weight.grad is None or bias.grad is None or not targets.is_contiguous():
        return None
    if not usable(x, weight, bias, weight.grad, bias.grad, *(() if weights is None else (weights,))):
        return None
    loss, d_x = torch.empty((), dtype=x.dtype), torch.empty_like(x)
    found = (loss, d_x, weight.grad, bias.grad)
    right = call("classify", x.dtype, x, weight, bias, targets, place(weights), *x.shape, len(weight), *found)
    if right < 0:
        raise IndexError(f"a target is none of the {len(weight)} classes")
    return loss.item(), d_x, right
