"""A whole Transformer encoder in native code, from its input to its states, as one autograd function."""

from collections.abc import Sequence
from ctypes import Structure, addressof, byref
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlab.kernels import calls
from rnnlab.kernels.calls import N, P, R, fields

A_LAYER = 11  # weights and biases
LARGEST = 1_000_000  # weights of a layer up to which native code is the faster way


class Task(Structure):
    """The fields of Encoder in transformer.h, in its order."""

    _fields_ = fields(
        *(N, "batch steps inputs width layers heads feedforward look_ahead threads seed", R, "dropout"),
        *(P, "lengths x", N, "x_row x_step", P, "positions weights states saved for_states"),
        *(N, "for_states_row for_states_step", P, "for_x for_positions gradients"),
    )


@dataclass(frozen=True)
class Shape:
    """What the weights don't tell."""

    heads: int
    look_ahead: bool
    dropout: float  # 0 where nothing is dropped, as in evaluation


def suits(x: Tensor, width: int, feedforward: int) -> bool:
    """Whether there is native code for this here, and it is the faster way: torch wins where a layer's weights fill the
    second-level cache several times (a training step of 64 × 10 tokens, width and feedforward: 3.5 × at 64 and 128,
    1.6 × at 128 and 512, 1.2 × at 256 and 1024, 1.0 × at 320 and 1280, 0.8 × at 512 and 2048)."""
    return (
        4 * width * width + 2 * width * feedforward <= LARGEST
        and calls.known(x)
        and not torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]  # documented, but not in __all__
        and not torch.compiler.is_compiling()
    )


def encode(shape: Shape, x: Tensor, lengths: Tensor, positions: Tensor, weights: Sequence[Tensor]) -> Tensor | None:
    """States (B, T, W), zero at padding, for which nothing is computed. None: torch is the way; the naive form is
    `models.transformer`.

    ``x`` is (B, T, D), ``lengths`` (B,) int64 on the CPU, ``positions`` (T, W). ``weights``: weight and bias of the
    projection; for each layer those of its first norm, the weight of query, key and value, then weight and bias of the
    output, of the second norm and of both layers of the feed-forward network; those of the last norm."""
    if not suits(x, len(weights[0]), len(weights[9])):
        return None
    x = calls.side_by_side(x)
    lengths, positions, weights = lengths.contiguous(), positions.contiguous(), [w.contiguous() for w in weights]
    _check(shape, x, positions, weights)
    tokens = calls.count_tokens(lengths, x)
    seed = int(torch.empty((), dtype=torch.int64).random_()) if shape.dropout else 0
    if not torch.is_grad_enabled():
        return _forward(shape, seed, tokens, x, lengths, positions, weights, keep=False)[0]
    return TransformerStates.apply(shape, seed, tokens, x, lengths, positions, *weights)  # type: ignore[return-value]  # torch doesn't say


def _check(shape: Shape, x: Tensor, positions: Tensor, weights: Sequence[Tensor]) -> None:
    """Native code would read beyond the end of things."""
    calls.check_precision(x, positions, *weights)
    width = len(weights[0])
    if (
        (len(weights) - 4) % A_LAYER
        or weights[0].shape[1] != x.shape[2]
        or width % shape.heads
        or positions.shape != (x.shape[1], width)
    ):
        raise ValueError("weights, positions and x don't fit each other")


def _forward(
    shape: Shape,
    seed: int,
    tokens: int,
    x: Tensor,
    lengths: Tensor,
    positions: Tensor,
    weights: Sequence[Tensor],
    keep: bool,
) -> tuple[Tensor, Tensor | None]:
    """The states, and what the backward pass needs."""
    task, _addresses = _task(shape, seed, x, lengths, positions, weights)
    states = x.new_empty(*x.shape[:2], task.width)
    saved = x.new_empty(calls.function("transformer_saved", x.dtype)(byref(task), tokens)) if keep else None
    task.states, task.saved = states.data_ptr(), calls.place(saved)
    calls.run("transformer_forward", x.dtype, task)
    return states, saved


class TransformerStates(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, shape: Shape, seed: int, tokens: int, x: Tensor, lengths: Tensor, positions: Tensor, *weights: Tensor
    ) -> Tensor:
        keep = any(ctx.needs_input_grad)
        states, saved = _forward(shape, seed, tokens, x, lengths, positions, weights, keep)
        ctx.shape, ctx.seed = shape, seed
        ctx.save_for_backward(saved, x, lengths, positions, *weights)
        return states

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  # the decorator hides the names
        ctx: Any, for_states: Tensor
    ) -> tuple[Tensor | None, ...]:
        saved, x, lengths, positions, *weights = ctx.saved_tensors
        for_states = calls.side_by_side(for_states)
        task, _addresses = _task(ctx.shape, ctx.seed, x, lengths, positions, weights)
        task.saved, task.for_states = saved.data_ptr(), for_states.data_ptr()
        task.for_states_row, task.for_states_step = for_states.stride()[:2]
        for_x = torch.empty_like(x, memory_format=torch.contiguous_format) if ctx.needs_input_grad[3] else None
        for_positions = torch.empty_like(positions) if ctx.needs_input_grad[5] else None
        task.for_x, task.for_positions = calls.place(for_x), calls.place(for_positions)
        gradients: list[Tensor] | list[None] = [None] * len(weights)
        if any(ctx.needs_input_grad[6:]):
            gradients = [torch.empty_like(weight) for weight in weights]
            found = calls.places(gradients)
            task.gradients = addressof(found)
        calls.run("transformer_backward", x.dtype, task)
        return None, None, None, for_x, None, for_positions, *gradients


def _task(
    shape: Shape, seed: int, x: Tensor, lengths: Tensor, positions: Tensor, weights: Sequence[Tensor]
) -> tuple[Task, Any]:
    """The second must live as long as the first is in use."""
    batch, steps, inputs = x.shape
    addresses = calls.places(weights)
    layers, width, feedforward = (len(weights) - 4) // A_LAYER, len(weights[0]), len(weights[9])
    task = Task(
        batch, steps, inputs, width, layers, shape.heads, feedforward, shape.look_ahead, torch.get_num_threads(),
        seed, shape.dropout, lengths.data_ptr(), x.data_ptr(), *x.stride()[:2], positions.data_ptr(),
        addressof(addresses),
    )  # fmt: skip
    return task, addresses
