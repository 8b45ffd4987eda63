"""The one seam to native code: the rest of the package imports this module of `kernels`, and no other.

An operation chooses by itself: it is done by native code where that knows the case and is measured to be the faster
way. Elsewhere it is done in its naive form, which stands beside the fast one; or, where the naive form is a module that
people look into (`Cell.drive`, a Transformer's layers, the optimiser's formulas), it returns None, and the caller goes
on with that. The tests compare the two.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from rnnlab import kernels
from rnnlab.kernels import grams, normalised, recurrence, steps, transformer, windows
from rnnlab.kernels.calls import known, place, places, usable
from rnnlab.kernels.grams import Rows as GramRows
from rnnlab.kernels.grams import descend as gram_descend  # where `active`; else another algorithm: `models.descent`
from rnnlab.kernels.inference import Layer as PackedLayer  # for answers alone; the naive form: `use.folded.Direction`
from rnnlab.kernels.recurrence import KINDS, LARGEST_LSTM, Direction
from rnnlab.kernels.steps import gather_gradients  # of what `pick` found
from rnnlab.kernels.transformer import Shape as TransformerShape
from rnnlab.kernels.whole_steps import ANSWERS, POOLINGS, Member, Step, do_steps  # naively: `Updater`

LARGEST_HEAD = 8192  # weights up to which the native kernel is faster than torch's products


def active() -> bool:
    """Whether there is native code, loaded or ready to be."""
    return kernels.ready() is not None


# Recurrences: the naive form is `models.cells.Cell.drive`


class Gains(NamedTuple):
    """Of layer norm inside a recurrence, all None without. Shapes: (G, H) twice, (1, H) and (H,)."""

    input: Tensor | None = None
    state: Tensor | None = None
    cell: Tensor | None = None  # of an LSTM's cell
    cell_bias: Tensor | None = None


def recur(kind: str | None, x: Tensor, lengths: Tensor | None, *directions: Direction) -> tuple[Tensor, ...] | None:
    """One layer, forward and, with a second direction, backward in time: (states (B, T, n · H), zero at padding, the
    states after each sequence's last step (B, n · H), and of an LSTM the cells then)."""
    if kind is None or not recurrence.suits(kind, x, directions[0].w_hh.shape[1]):
        return None
    return recurrence.recur(kind, x, lengths, *directions)


def recur_inside(
    kind: str | None, x: Tensor, way: Direction, gains: Gains, *, reset_before: bool
) -> tuple[Tensor, ...] | None:
    """A layer that does more inside a step, in one direction and without padding: (states, the last one, and of an LSTM
    the last cell)."""
    if kind is None or not normalised.suits(x, way.w_hh.shape[1]):
        return None
    a = x @ way.w_ih.t()
    a = a + way.b_ih if gains.input is None else normalised.normalise_input(a, gains.input, way.b_ih)
    inside = normalised.Inside(way.w_hh, way.b_hh, *gains[1:], *way[4:])
    return normalised.recur_normalised(kind, a, inside, reset_before=reset_before)


# Other encoders: the naive forms are the modules of `models.transformer` and `models.convolution`


def encode_transformer(
    shape: TransformerShape, x: Tensor, lengths: Tensor, positions: Tensor, weights: Sequence[Tensor]
) -> Tensor | None:
    """States (B, T, W), zero at padding; arguments as `transformer.encode` has them."""
    if not transformer.suits(x, len(weights[0]), len(weights[9])):
        return None
    return transformer.encode(shape, x, lengths, positions, weights)


def highest_answers(
    x: Tensor, lengths: Tensor, bias: Tensor, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor] | None:
    """The relu of all filters over all windows, (B, T, F), and the highest of each, (B, F)."""
    if not usable(x, bias, *weights) or not lengths.is_contiguous():
        return None
    return windows.highest_answers(x, lengths, bias, weights)


# A training step besides the encoder: the naive forms are those of `models.embedding`, `training.optimizer` and
# `training.backward`


def pick(
    ids: Tensor, table: Tensor, frozen: Tensor | None, places: Callable[[], Tensor]
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Rows of two tables by ids; as `steps.pick` has them."""
    if not ids.is_contiguous() or not usable(*(table, frozen) if frozen is not None else (table,)):
        return None
    return steps.pick(ids, table, frozen, places())


def adam(dense: tuple[Tensor, ...], rows: tuple[Tensor, ...] | None, **settings: Any) -> float | None:
    """One update; as `steps.adam` has it. Returns the norm of all gradients."""
    return steps.adam(dense, rows, **settings) if _usable_for_update(dense, rows) else None  # type: ignore[arg-type]


def descend(dense: tuple[Tensor, ...], rows: tuple[Tensor, ...] | None, **settings: Any) -> float | None:
    """One update; as `steps.descend` has it. Returns the norm of all gradients."""
    return steps.descend(dense, rows, **settings) if _usable_for_update(dense, rows) else None  # type: ignore[arg-type]


def _usable_for_update(dense: tuple[Tensor, ...], rows: tuple[Tensor, ...] | None) -> bool:
    return usable(dense[0], *(() if rows is None else rows[-1:]))


def classify(x: Tensor, linear: nn.Linear, targets: Tensor) -> tuple[float, Tensor, int] | None:
    """The mean cross-entropy of a linear head on x (B, H), its gradient for x, and how many rows are right. Those of
    the head are added to what it has."""
    weight, bias = linear.weight, linear.bias
    if weight.numel() > LARGEST_HEAD or weight.grad is None or bias.grad is None or not targets.is_contiguous():
        return None
    if not x.requires_grad or not usable(x, weight, bias, weight.grad, bias.grad):
        return None
    return steps.classify(x, weight, bias, targets)


# N-grams: numpy arrays in and out


def count_grams(keys: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of keys (n,) int64, negative ones left out; and in how many rows each stands. ``rows`` (n,)
    int32 ascend."""
    return grams.count(keys, rows) if active() else grams.count_naively(keys, rows)


def find_grams(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """(n,) int32: the place of each key among the known ones, which ascend, or -1."""
    fast = len(known) and len(keys) >= grams.WORTH and active()
    return grams.find(known, keys) if fast else grams.find_naively(known, keys)


def list_grams(places: np.ndarray, offsets: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (levels, tokens) of the gram that ends at each token, -1 for none → indices, the distinct ones row by row
    and level by level, and ends (rows, levels) of each level of each row among them."""
    return (grams.list_rows if active() else grams.list_rows_naively)(places, offsets, features)


def gram_product(x: GramRows, table: np.ndarray) -> np.ndarray | None:
    """X (rows, features) · table (features, width); the naive form is scipy's."""
    return grams.product(x, table) if active() else None


def gram_transposed(x: GramRows, delta: np.ndarray, features: int) -> np.ndarray | None:
    """Xᵀ · delta (rows, width); the naive form is scipy's."""
    return grams.transposed(x, delta, features) if active() else None


__all__ = [
    "ANSWERS",
    "KINDS",
    "LARGEST_LSTM",
    "POOLINGS",
    "Direction",
    "Gains",
    "GramRows",
    "Member",
    "PackedLayer",
    "Step",
    "TransformerShape",
    "active",
    "adam",
    "classify",
    "count_grams",
    "descend",
    "do_steps",
    "encode_transformer",
    "find_grams",
    "gather_gradients",
    "gram_descend",
    "gram_product",
    "gram_transposed",
    "highest_answers",
    "known",
    "list_grams",
    "pick",
    "place",
    "places",
    "recur",
    "recur_inside",
]
