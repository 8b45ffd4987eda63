"""Whole recurrences in native code: a layer in one direction or both, as one autograd function."""

from collections.abc import Sequence
from ctypes import Structure
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rnnlab.kernels.calls import N, P, check_precision, count_tokens, fields, function, known, place, run, side_by_side

KINDS = {"tanh": 0, "relu": 1, "lstm": 2, "gru": 3}
GATES = {"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}
LARGEST_LSTM = 1024  # units, with AVX-512: nobody measured more
LARGEST_LSTM_ELSEWHERE = 400


class Task(Structure):
    """The fields of Task in recurrence.h, in its order."""

    _fields_ = fields(
        *(N, "kind batch steps inputs hidden reverse threads", P, "lengths x", N, "x_row x_step"),
        *(P, "w_ih w_hh b_ih b_hh h_start c_start mask states", N, "states_row states_step"),
        *(P, "h_end c_end", N, "end_row", P, "saved for_states", N, "for_states_row for_states_step"),
        *(P, "for_h_end for_c_end highest for_highest for_x", N, "add_to_x"),
        *(P, "for_w_ih for_w_hh for_b_ih for_b_hh for_h_start for_c_start ids"),
        *(N, "tokens kinds", P, "brought for_brought"),
    )


class Direction(NamedTuple):
    """What one direction of a layer needs. Shapes: (G · H, D), (G · H, H), (G · H,) twice, and (B, H) or None."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor
    b_hh: Tensor
    h_start: Tensor | None = None
    c_start: Tensor | None = None
    mask: Tensor | None = None  # multiplies the state where it enters a product


def suits(kind: str, x: Tensor, hidden: int) -> bool:
    """Whether there is native code for this here, and it is the faster way."""
    return not (kind == "lstm" and hidden > largest_lstm()) and known(x)


def largest_lstm() -> int:
    """Units up to which native code is faster than torch's own LSTM (oneDNN). Measured on AVX-512 with 32 and 64 rows:
    1.03 to 1.27 × at 512 units, 1.07 × at 1,024; with 8 rows 0.94 × at 512."""
    wide = torch.backends.cpu.get_cpu_capability().upper().startswith("AVX512")
    return LARGEST_LSTM if wide else LARGEST_LSTM_ELSEWHERE


def recur(kind: str | None, x: Tensor, lengths: Tensor | None, *directions: Direction) -> tuple[Tensor, ...] | None:
    """One layer, forward and, with a second direction, backward in time: (states (B, T, n · H), the states after each
    sequence's last step (B, n · H), and of an LSTM the cells then).

    ``x`` is (B, T, D), ``lengths`` (B,) int64 on the CPU, or None when all have T steps. States at padding are zero,
    and nothing is computed for it. None: torch is the way; the naive form is `models.cells.Cell.drive`."""
    if kind is None or not suits(kind, x, directions[0].w_hh.shape[1]):
        return None
    x = side_by_side(x)
    flat = [None if given is None else given.contiguous() for direction in directions for given in direction]
    check_precision(x, *flat)
    if lengths is not None:
        lengths = lengths.contiguous()
        count_tokens(lengths, x)
    elif not x.shape[1]:
        raise ValueError("sequences of no steps")
    if not torch.is_grad_enabled():
        return _forward(kind, x, lengths, flat, keep=False)[0]
    return Recurrence.apply(kind, x, lengths, *flat)


def _forward(
    kind: str, x: Tensor, lengths: Tensor | None, flat: Sequence[Tensor | None], keep: bool
) -> tuple[tuple[Tensor, ...], Tensor | None]:
    """The outputs, and what the backward pass needs besides."""
    batch, steps, _ = x.shape
    directions = _directions(flat)
    count, hidden = len(directions), directions[0].w_hh.shape[1]
    size = function("recurrence_saved", x.dtype)(KINDS[kind], batch * steps, hidden) if keep else 0
    states = x.new_empty(batch, steps, count * hidden)
    ends = x.new_empty(2 if kind == "lstm" else 1, batch, count * hidden)
    saved = x.new_empty(count, size) if size else None
    for number, direction in enumerate(directions):
        run("recurrence_forward", x.dtype, _task(kind, x, lengths, direction, states, number, saved, ends))
    return (states, *ends.unbind(0)), saved


class Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kind: str, x: Tensor, lengths: Tensor | None, *flat: Tensor | None) -> tuple[Tensor, ...]:
        outputs, saved = _forward(kind, x, lengths, flat, keep=any(ctx.needs_input_grad))
        ctx.kind, ctx.count = kind, len(_directions(flat))
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, lengths, outputs[0], saved, *flat)
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  # the decorator hides the names
        ctx: Any, *gradients: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        x, lengths, states, saved, *flat = ctx.saved_tensors
        for_states, for_h, for_c = (*gradients, None)[:3]
        for_states = None if for_states is None else side_by_side(for_states)
        for_h, for_c = (None if given is None else given.contiguous() for given in (for_h, for_c))
        hidden = states.shape[2] // ctx.count
        for_x = torch.empty_like(x, memory_format=torch.contiguous_format) if ctx.needs_input_grad[1] else None
        found: list[Tensor | None] = []
        for number, direction in enumerate(_directions(flat)):
            task = _task(ctx.kind, x, lengths, direction, states, number, saved)
            at = number * hidden * x.element_size()
            task.for_states, task.for_h_end, task.for_c_end = (place(g, at) for g in (for_states, for_h, for_c))
            if for_states is not None:
                task.for_states_row, task.for_states_step = for_states.stride()[:2]
            if for_x is not None:
                task.for_x, task.add_to_x = for_x.data_ptr(), number > 0
            weights = [torch.empty_like(weight) for weight in direction[:3]]
            weights.append(torch.empty_like(direction.b_hh) if ctx.kind == "gru" else weights[2])
            task.for_w_ih, task.for_w_hh, task.for_b_ih, task.for_b_hh = (weight.data_ptr() for weight in weights)
            wanted = ctx.needs_input_grad[3 + 7 * number : 10 + 7 * number]
            starts = [
                torch.empty_like(start) if start is not None and want else None
                for start, want in zip(direction[4:6], wanted[4:6], strict=True)
            ]
            if starts[0] is None and starts[1] is not None:
                starts[0] = torch.empty_like(starts[1])  # one is computed with the other
            task.for_h_start, task.for_c_start = map(place, starts)
            run("recurrence_backward", x.dtype, task)
            found += [*weights, *(s if want else None for s, want in zip(starts, wanted[4:6], strict=True)), None]
        return None, for_x, None, *found


def _directions(flat: Sequence[Any]) -> list[Direction]:
    size = len(Direction._fields)
    return [Direction(*flat[at : at + size]) for at in range(0, len(flat), size)]


def _task(
    kind: str,
    x: Tensor,
    lengths: Tensor | None,
    direction: Direction,
    states: Tensor,
    number: int,
    saved: Tensor | None,
    ends: Tensor | None = None,
) -> Task:
    batch, steps, inputs = x.shape
    hidden = direction.w_hh.shape[1]
    at, h_end, c_end = number * hidden * x.element_size(), None, None
    if ends is not None:
        h_end = ends.data_ptr() + at
        c_end = h_end + ends.stride(0) * x.element_size() if len(ends) > 1 else None
    weights = (None if given is None else given.data_ptr() for given in direction)
    return Task(
        KINDS[kind], batch, steps, inputs, hidden, number, torch.get_num_threads(), place(lengths), x.data_ptr(),
        x.stride(0), x.stride(1), *weights, states.data_ptr() + at, states.stride(0), states.stride(1),
        h_end, c_end, states.shape[2], None if saved is None else saved[number].data_ptr(),
    )  # fmt: skip
