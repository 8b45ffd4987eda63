"""Whole recurrences in native code: a layer in one direction or both, as one autograd function."""

import ctypes
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rnnlab import kernels as native

KINDS = {"tanh": 0, "relu": 1, "lstm": 2, "gru": 3}
GATES = {"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}
LARGEST_LSTM = 400  # units
TYPES = {torch.float32: "float", torch.float64: "double"}


class Task(ctypes.Structure):
    """The fields of Task in recurrence.h, in its order."""

    _fields_ = [
        *((name, c_int64) for name in ("kind", "batch", "steps", "inputs", "hidden", "reverse", "threads")),
        *((name, c_void_p) for name in ("lengths", "x")),
        *((name, c_int64) for name in ("x_row", "x_step")),
        *((name, c_void_p) for name in ("w_ih", "w_hh", "b_ih", "b_hh", "h_start", "c_start", "mask", "states")),
        *((name, c_int64) for name in ("states_row", "states_step")),
        *((name, c_void_p) for name in ("h_end", "c_end")),
        ("end_row", c_int64),
        *((name, c_void_p) for name in ("saved", "for_states")),
        *((name, c_int64) for name in ("for_states_row", "for_states_step")),
        *((name, c_void_p) for name in ("for_h_end", "for_c_end", "highest", "for_highest", "for_x")),
        ("add_to_x", c_int64),
        *((name, c_void_p) for name in ("for_w_ih", "for_w_hh", "for_b_ih", "for_b_hh", "for_h_start", "for_c_start")),
    ]


class Direction(NamedTuple):
    """What one direction of a layer needs. Shapes: (G · H, D), (G · H, H), (G · H,) twice, and (B, H) or None."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor
    b_hh: Tensor
    h_start: Tensor | None = None
    c_start: Tensor | None = None
    mask: Tensor | None = None  # multiplies the state where it enters a product


@cache
def _functions(dtype: torch.dtype) -> tuple[Any, Any, Any, Any]:
    """Forward, backward, how many numbers go from one to the other, and a check of lengths."""
    library = native.library()
    assert library is not None  # the caller asked `suits`
    forward, backward, saved = (
        getattr(library, f"recurrence_{name}_{TYPES[dtype]}") for name in ("forward", "backward", "saved")
    )
    for function in (forward, backward):
        function.argtypes, function.restype = [ctypes.POINTER(Task)], None
    saved.argtypes, saved.restype = [c_int64] * 3, c_int64
    library.recurrence_lengths_fit.argtypes, library.recurrence_lengths_fit.restype = (
        [c_void_p, c_int64, c_int64],
        c_int64,
    )
    return forward, backward, saved, library.recurrence_lengths_fit


def suits(kind: str, x: Tensor, hidden: int) -> bool:
    """Whether there is native code for this here, and it is the faster way: torch's own LSTM (oneDNN) wins where the
    weights don't fit into the second-level cache (measured: 0.9 × at 512 units, 1.2 × at 256)."""
    return (
        x.device.type == "cpu"
        and not (kind == "lstm" and hidden > LARGEST_LSTM)
        and native.ready() is not None
        and x.dtype in TYPES
    )


def recur(kind: str, x: Tensor, lengths: Tensor | None, *directions: Direction) -> tuple[Tensor, ...]:
    """One layer, forward and, with a second direction, backward in time: (states (B, T, n · H), the states after each
    sequence's last step (B, n · H), and of an LSTM the cells then).

    ``x`` is (B, T, D), ``lengths`` (B,) int64 on the CPU, or None when all have T steps. States at padding are zero,
    and nothing is computed for it."""
    if x.stride(2) != 1:
        x = x.contiguous()
    flat = [None if given is None else given.contiguous() for direction in directions for given in direction]
    if any(given is not None and given.dtype != x.dtype for given in flat):
        raise TypeError(f"x is {x.dtype}, and some of the weights, starts or masks aren't")
    if lengths is not None:
        lengths = lengths.contiguous()
        _check(lengths, x)
    elif not x.shape[1]:
        raise ValueError("sequences of no steps")
    if not torch.is_grad_enabled():
        return _forward(kind, x, lengths, flat, keep=False)[0]
    return Recurrence.apply(kind, x, lengths, *flat)


def _check(lengths: Tensor, x: Tensor) -> None:
    """Native code would read beyond the end of things."""
    batch, steps = x.shape[:2]
    if lengths.dtype != torch.int64 or lengths.shape != (batch,):
        raise TypeError(f"lengths must be ({batch},) int64, and are {tuple(lengths.shape)} {lengths.dtype}")
    if not _functions(x.dtype)[3](lengths.data_ptr(), batch, steps):
        raise ValueError(f"lengths must be from 1 to {steps}, and are {lengths.min()} to {lengths.max()}")


def _forward(
    kind: str, x: Tensor, lengths: Tensor | None, flat: Sequence[Tensor | None], keep: bool
) -> tuple[tuple[Tensor, ...], Tensor | None]:
    """The outputs, and what the backward pass needs besides."""
    run, _, saved_numbers, _ = _functions(x.dtype)
    batch, steps, _ = x.shape
    directions = _directions(flat)
    count, hidden = len(directions), directions[0].w_hh.shape[1]
    size = saved_numbers(KINDS[kind], batch * steps, hidden) if keep else 0
    states = x.new_empty(batch, steps, count * hidden)
    ends = x.new_empty(2 if kind == "lstm" else 1, batch, count * hidden)
    saved = x.new_empty(count, size) if size else None
    for number, direction in enumerate(directions):
        task = _task(kind, x, lengths, direction, states, number)
        _point_to_ends(task, ends, number * hidden)
        if saved is not None:
            task.saved = saved[number].data_ptr()
        run(task)
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
        run = _functions(x.dtype)[1]
        for_states, for_h, for_c = (*gradients, None)[:3]
        if for_states is not None and for_states.stride(2) != 1:
            for_states = for_states.contiguous()
        for_h, for_c = (None if given is None else given.contiguous() for given in (for_h, for_c))
        hidden = states.shape[2] // ctx.count
        for_x = torch.empty_like(x, memory_format=torch.contiguous_format) if ctx.needs_input_grad[1] else None
        found: list[Tensor | None] = []
        for number, direction in enumerate(_directions(flat)):
            task = _task(ctx.kind, x, lengths, direction, states, number)
            at = number * hidden
            if saved is not None:
                task.saved = saved[number].data_ptr()
            if for_states is not None:
                task.for_states = for_states.data_ptr() + at * x.element_size()
                task.for_states_row, task.for_states_step = for_states.stride(0), for_states.stride(1)
            task.end_row = states.shape[2]
            if for_h is not None:
                task.for_h_end = for_h.data_ptr() + at * x.element_size()
            if for_c is not None:
                task.for_c_end = for_c.data_ptr() + at * x.element_size()
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
            task.for_h_start, task.for_c_start = (None if start is None else start.data_ptr() for start in starts)
            run(task)
            found += [*weights, *(s if want else None for s, want in zip(starts, wanted[4:6], strict=True)), None]
        return None, for_x, None, *found


def _directions(flat: Sequence[Any]) -> list[Direction]:
    size = len(Direction._fields)
    return [Direction(*flat[at : at + size]) for at in range(0, len(flat), size)]


def _task(kind: str, x: Tensor, lengths: Tensor | None, direction: Direction, states: Tensor, number: int) -> Task:
    batch, steps, inputs = x.shape
    hidden = direction.w_hh.shape[1]
    w_ih, w_hh, b_ih, b_hh, h_start, c_start, mask = (None if t is None else t.data_ptr() for t in direction)
    return Task(
        KINDS[kind], batch, steps, inputs, hidden, number, torch.get_num_threads(),
        None if lengths is None else lengths.data_ptr(), x.data_ptr(), x.stride(0), x.stride(1),
        w_ih, w_hh, b_ih, b_hh, h_start, c_start, mask,
        states.data_ptr() + number * hidden * x.element_size(), states.stride(0), states.stride(1),
    )  # fmt: skip


def _point_to_ends(task: Task, ends: Tensor, at: int) -> None:
    task.end_row = ends.shape[2]
    task.h_end = ends.data_ptr() + at * ends.element_size()
    if len(ends) > 1:
        task.c_end = ends[1].data_ptr() + at * ends.element_size()
