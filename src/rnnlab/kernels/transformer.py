"""A whole Transformer encoder in native code, from its input to its states, as one autograd function."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from rnnlab import kernels as native

TYPES = {torch.float32: "float", torch.float64: "double"}
A_LAYER = 11  # weights and biases
LARGEST = 1_000_000  # weights of a layer up to which native code is the faster way


class Task(ctypes.Structure):
    """The fields of Encoder in transformer.h, in its order."""

    _fields_ = [
        *((name, c_int64) for name in ("batch", "steps", "inputs", "width", "layers", "heads", "feedforward")),
        *((name, c_int64) for name in ("look_ahead", "threads", "seed")),
        ("dropout", c_double),
        *((name, c_void_p) for name in ("lengths", "x")),
        *((name, c_int64) for name in ("x_row", "x_step")),
        *((name, c_void_p) for name in ("positions", "weights", "states", "saved", "for_states")),
        *((name, c_int64) for name in ("for_states_row", "for_states_step")),
        *((name, c_void_p) for name in ("for_x", "for_positions", "gradients")),
    ]


@dataclass(frozen=True)
class Shape:
    """What the weights don't tell."""

    heads: int
    look_ahead: bool
    dropout: float  # 0 where nothing is dropped, as in evaluation


@cache
def _functions(dtype: torch.dtype) -> tuple[Any, Any, Any, Any]:
    """Forward, backward, how many numbers go from one to the other, and how many tokens there are."""
    library = native.library()
    assert library is not None  # the caller asked `suits`
    forward, backward, saved = (
        getattr(library, f"transformer_{name}_{TYPES[dtype]}") for name in ("forward", "backward", "saved")
    )
    for function in (forward, backward):
        function.argtypes, function.restype = [POINTER(Task)], None
    saved.argtypes, saved.restype = [POINTER(Task), c_int64], c_int64
    tokens = library.transformer_tokens
    tokens.argtypes, tokens.restype = [c_void_p, c_int64, c_int64], c_int64
    return forward, backward, saved, tokens


def suits(x: Tensor, width: int, feedforward: int) -> bool:
    """Whether there is native code for this here, and it is the faster way: torch wins where a layer's weights fill the
    second-level cache several times (a training step of 64 × 10 tokens, width and feedforward: 3.5 × at 64 and 128,
    1.6 × at 128 and 512, 1.2 × at 256 and 1024, 1.0 × at 320 and 1280, 0.8 × at 512 and 2048)."""
    return (
        x.device.type == "cpu"
        and x.dtype in TYPES
        and 4 * width * width + 2 * width * feedforward <= LARGEST
        and native.ready() is not None
        and not torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]  # documented, but not in __all__
        and not torch.compiler.is_compiling()
    )


def encode(shape: Shape, x: Tensor, lengths: Tensor, positions: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """States (B, T, W), zero at padding, for which nothing is computed.

    ``x`` is (B, T, D), ``lengths`` (B,) int64 on the CPU, ``positions`` (T, W). ``weights``: weight and bias of the
    projection; for each layer those of its first norm, the weight of query, key and value, then weight and bias of the
    output, of the second norm and of both layers of the feed-forward network; those of the last norm."""
    if x.stride(2) != 1:
        x = x.contiguous()
    lengths, positions, weights = lengths.contiguous(), positions.contiguous(), [w.contiguous() for w in weights]
    _check(shape, x, positions, weights)
    if lengths.dtype != torch.int64 or lengths.shape != x.shape[:1]:
        raise TypeError(f"lengths must be ({len(x)},) int64, and are {tuple(lengths.shape)} {lengths.dtype}")
    tokens = _functions(x.dtype)[3](lengths.data_ptr(), *x.shape[:2])
    if not tokens:  # native code would read beyond the end of things
        raise ValueError(f"lengths must be from 1 to {x.shape[1]}, and are {lengths.min()} to {lengths.max()}")
    seed = int(torch.empty((), dtype=torch.int64).random_()) if shape.dropout else 0
    if not torch.is_grad_enabled():
        return _forward(shape, seed, tokens, x, lengths, positions, weights, keep=False)[0]
    return TransformerStates.apply(shape, seed, tokens, x, lengths, positions, *weights)  # type: ignore[return-value]  # torch doesn't say


def _check(shape: Shape, x: Tensor, positions: Tensor, weights: Sequence[Tensor]) -> None:
    """Native code would read beyond the end of things."""
    if any(given.dtype != x.dtype for given in (positions, *weights)):
        raise TypeError(f"x is {x.dtype}, and some of the weights or positions aren't")
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
    run, _, saved_numbers, _ = _functions(x.dtype)
    task, _addresses = _task(shape, seed, x, lengths, positions, weights)
    states = x.new_empty(*x.shape[:2], task.width)
    task.states = states.data_ptr()
    saved = x.new_empty(saved_numbers(task, tokens)) if keep else None
    task.saved = None if saved is None else saved.data_ptr()
    run(task)
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
        if for_states.stride(2) != 1:
            for_states = for_states.contiguous()
        task, _addresses = _task(ctx.shape, ctx.seed, x, lengths, positions, weights)
        task.saved, task.for_states = saved.data_ptr(), for_states.data_ptr()
        task.for_states_row, task.for_states_step = for_states.stride(0), for_states.stride(1)
        for_x = for_positions = None
        if ctx.needs_input_grad[3]:
            for_x = torch.empty_like(x, memory_format=torch.contiguous_format)
            task.for_x = for_x.data_ptr()
        if ctx.needs_input_grad[5]:
            for_positions = torch.empty_like(positions)
            task.for_positions = for_positions.data_ptr()
        gradients: list[Tensor] | list[None] = [None] * len(weights)
        if any(ctx.needs_input_grad[6:]):
            gradients = [torch.empty_like(weight) for weight in weights]
            found = _addresses_of(gradients)
            task.gradients = ctypes.addressof(found)
        _functions(x.dtype)[1](task)
        return None, None, None, for_x, None, for_positions, *gradients


def _addresses_of(tensors: Sequence[Tensor]) -> Any:
    return (c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))


def _task(
    shape: Shape, seed: int, x: Tensor, lengths: Tensor, positions: Tensor, weights: Sequence[Tensor]
) -> tuple[Task, Any]:
    """The second must live as long as the first is in use."""
    batch, steps, inputs = x.shape
    addresses = _addresses_of(weights)
    layers, width, feedforward = (len(weights) - 4) // A_LAYER, len(weights[0]), len(weights[9])
    task = Task(
        batch, steps, inputs, width, layers, shape.heads, feedforward, shape.look_ahead, torch.get_num_threads(),
        seed, shape.dropout, lengths.data_ptr(), x.data_ptr(), x.stride(0), x.stride(1), positions.data_ptr(),
        ctypes.addressof(addresses),
    )  # fmt: skip
    return task, addresses
