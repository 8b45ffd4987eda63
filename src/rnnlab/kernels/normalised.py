"""Recurrences that do more inside a step, in native code: layer norm, the GRU's reset before the product."""

from ctypes import Structure
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rnnlab.kernels.calls import N, P, check_precision, fields, function, known, place, run, side_by_side
from rnnlab.kernels.recurrence import KINDS, Direction

FEW = 6  # tokens
SMALL = 128  # units


class Task(Structure):
    """The fields of Steps in normalised.h, in its order."""

    _fields_ = fields(
        *(N, "kind batch steps hidden reset_before threads", P, "a w_hh b_hh gain cell_gain cell_bias"),
        *(P, "h_start c_start mask states c_end saved for_states", N, "for_states_row for_states_step"),
        *(P, "for_c_end for_a for_w_hh for_b_hh for_gain for_cell_gain for_cell_bias for_h_start for_c_start"),
    )


class Rows(Structure):
    """The fields of Rows in normalised.h, in its order."""

    _fields_ = fields(
        *(N, "tokens gates hidden threads", P, "gain bias x out normed scales for_out for_x for_gain for_bias"),
    )


class Gains(NamedTuple):
    """Of layer norm inside a recurrence, all None without. Shapes: (G, H) twice, (1, H) and (H,)."""

    input: Tensor | None = None
    state: Tensor | None = None
    cell: Tensor | None = None  # of an LSTM's cell
    cell_bias: Tensor | None = None


class Inside(NamedTuple):
    """What the steps need besides their input. Without a gain nothing is normalised."""

    w_hh: Tensor  # (G · H, H)
    b_hh: Tensor  # (G · H,)
    gain: Tensor | None = None  # (G, H)
    cell_gain: Tensor | None = None  # (1, H), of an LSTM's cell
    cell_bias: Tensor | None = None  # (H,)
    h_start: Tensor | None = None  # (B, H)
    c_start: Tensor | None = None
    mask: Tensor | None = None  # multiplies the state where it enters a product


def suits(x: Tensor, hidden: int) -> bool:
    """Whether there is native code for x (B, T, D) here, and it is the faster way: to bring the weights into its order
    takes as long as a few tokens do (measured at 512 units: 0.5 × for one token, 1.1 × for 7)."""
    few = hidden > SMALL and x.shape[0] * x.shape[1] < FEW
    return not few and known(x)


def recur_inside(
    kind: str | None, x: Tensor, way: Direction, gains: Gains, *, reset_before: bool
) -> tuple[Tensor, ...] | None:
    """A layer that does more inside a step, in one direction and without padding: (states (B, T, H), the last one, and
    of an LSTM the last cell). None: torch is the way; the naive form is `models.cells.Cell.drive`."""
    if kind is None or not suits(x, way.w_hh.shape[1]):
        return None
    a = x @ way.w_ih.t()
    a = a + way.b_ih if gains.input is None else normalise_input(a, gains.input, way.b_ih)
    return recur_normalised(kind, a, Inside(way.w_hh, way.b_hh, *gains[1:], *way[4:]), reset_before=reset_before)


def recur_normalised(kind: str, a: Tensor, inside: Inside, *, reset_before: bool = False) -> tuple[Tensor, ...]:
    """All steps of one layer: (states (B, T, H), the last state (B, H), and of an LSTM the last cell). ``a``, of shape
    (B, T, G · H), is what the input brings to the gates, its bias included."""
    _check(a, inside)
    states, *cell = _Normalised.apply(kind, reset_before, a, *inside)  # type: ignore[misc]  # torch types it as Any
    return states, states[:, -1], *cell


def _check(a: Tensor, inside: Inside) -> None:
    """Native code would read beyond the end of things."""
    check_precision(a, *inside)
    batch, steps, rows = a.shape
    if not steps:
        raise ValueError("sequences of no steps")
    if inside.w_hh.shape[0] != rows:
        raise ValueError(f"the input brings {rows} numbers a step, and the weights have {inside.w_hh.shape[0]} rows")
    for given in (inside.h_start, inside.c_start, inside.mask):
        if given is not None and given.shape != (batch, inside.w_hh.shape[1]):
            raise ValueError(f"a start or mask must be {(batch, inside.w_hh.shape[1])}, and is {tuple(given.shape)}")


class _Normalised(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kind: str, reset_before: bool, a: Tensor, *given: Tensor | None) -> tuple[Tensor, ...]:
        a = a.contiguous()
        inside = Inside(*(None if tensor is None else tensor.contiguous() for tensor in given))  # pyright: ignore[reportArgumentType]
        batch, steps, _ = a.shape
        hidden = inside.w_hh.shape[1]
        keep = any(ctx.needs_input_grad)
        states = a.new_empty(batch, steps, hidden)
        cell = a.new_empty(batch, hidden) if kind == "lstm" else None
        size = function("normalised_saved", a.dtype)(KINDS[kind], batch * steps, hidden)
        saved = a.new_empty(size) if keep else None
        task = _task(kind, reset_before, a, inside, states)
        task.c_end, task.saved = place(cell), place(saved)
        run("normalised_forward", a.dtype, task)
        if keep:
            ctx.kind, ctx.reset_before = kind, reset_before
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(a, states, saved, *inside)
        return (states,) if cell is None else (states, cell)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:  # type: ignore[override]  # the decorator hides ctx
        a, states, saved, *given = ctx.saved_tensors
        inside = Inside(*given)
        for_states, for_cell = (*gradients, None)[:2]
        for_cell = None if for_cell is None else for_cell.contiguous()
        task = _task(ctx.kind, ctx.reset_before, a, inside, states)
        task.saved, task.for_c_end = place(saved), place(for_cell)
        if for_states is not None:
            for_states = side_by_side(for_states)
            task.for_states, task.for_states_row, task.for_states_step = place(for_states), *for_states.stride()[:2]
        for_a = torch.empty_like(a)
        found = Inside(*(None if tensor is None else torch.empty_like(tensor) for tensor in given))  # pyright: ignore[reportArgumentType]
        task.for_a = for_a.data_ptr()
        for name, gradient in list(found._asdict().items())[:-1]:  # masks aren't learned
            setattr(task, f"for_{name}", place(gradient))
        run("normalised_backward", a.dtype, task)
        return None, None, for_a, *found[:-1], None


def normalise_input(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Each group of H numbers in x (B, T, G · H) to mean 0 and variance 1, times gain (G, H), plus bias (G · H,)."""
    check_precision(x, gain, bias)
    return _NormalisedInput.apply(x, gain, bias)  # type: ignore[return-value]  # torch types it as Any


class _NormalisedInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        x, gain, bias = x.contiguous(), gain.contiguous(), bias.contiguous()
        out = torch.empty_like(x)
        rows = _rows(x, gain, bias)
        rows.x, rows.out = x.data_ptr(), out.data_ptr()
        if any(ctx.needs_input_grad):
            normed = x.new_empty(rows.tokens * function("normalised_input_saved", x.dtype)(*gain.shape))
            scales = x.new_empty(rows.tokens * rows.gates)
            rows.normed, rows.scales = normed.data_ptr(), scales.data_ptr()
            ctx.save_for_backward(gain, bias, normed, scales)
        run("normalised_input_forward", x.dtype, rows)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]  # the decorator hides ctx
        gain, bias, normed, scales = ctx.saved_tensors
        for_out = gradients[0].contiguous()
        for_x, for_gain, for_bias = (torch.empty_like(tensor) for tensor in (for_out, gain, bias))
        rows = _rows(for_out, gain, bias)
        rows.normed, rows.scales, rows.for_out = normed.data_ptr(), scales.data_ptr(), for_out.data_ptr()
        rows.for_x, rows.for_gain, rows.for_bias = for_x.data_ptr(), for_gain.data_ptr(), for_bias.data_ptr()
        run("normalised_input_backward", for_out.dtype, rows)
        return for_x, for_gain, for_bias


def _rows(x: Tensor, gain: Tensor, bias: Tensor) -> Rows:
    tokens = x.numel() // gain.numel()
    return Rows(tokens, *gain.shape, torch.get_num_threads(), gain.data_ptr(), bias.data_ptr())


def _task(kind: str, reset_before: bool, a: Tensor, inside: Inside, states: Tensor) -> Task:
    batch, steps, hidden = states.shape
    weights = map(place, (a, *inside, states))
    return Task(KINDS[kind], batch, steps, hidden, reset_before, torch.get_num_threads(), *weights)
