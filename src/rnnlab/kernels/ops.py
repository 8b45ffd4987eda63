"""The one seam to native code: everything else of the package imports this module of `kernels`, and no other.

An operation chooses by itself: it is done by native code where that knows the case and is measured to be the faster
way, and in its naive form elsewhere. The naive form stands beside the fast one, or is a module that people look into
(`Cell.drive`, a Transformer's layers): then the operation returns None, and the caller goes on with that. The tests
compare the two.
"""

from typing import NamedTuple

from torch import Tensor

from rnnlab.kernels import normalised, recurrence
from rnnlab.kernels.normalised import Inside
from rnnlab.kernels.recurrence import Direction

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
    inside = Inside(way.w_hh, way.b_hh, *gains[1:], *way[4:])
    return normalised.recur_normalised(kind, a, inside, reset_before=reset_before)
