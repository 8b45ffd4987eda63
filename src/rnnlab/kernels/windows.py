"""Filters over windows of tokens, relu, and the highest of each over time, as one native pass each way."""

from collections.abc import Sequence
from ctypes import c_int64
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnlab.kernels.calls import call, places, usable


def highest_answers(
    x: Tensor, lengths: Tensor, bias: Tensor, weights: Sequence[Tensor], before: Sequence[int]
) -> tuple[Tensor, Tensor] | None:
    """From x (B, T, D), bias (F,), and of each width filters (F / widths, width · D): the relu of all filters over the
    window that begins so many tokens ``before`` each token, states (B, T, F), zero at padding; and the highest of each,
    (B, F). None: native code doesn't take such tensors; the naive form is `models.convolution`."""
    if not usable(x, bias, *weights) or not lengths.is_contiguous():
        return None
    return _HighestAnswers.apply(x, lengths, tuple(before), bias, *weights)  # type: ignore[return-value]  # torch types it as Any


class _HighestAnswers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, lengths: Tensor, before: tuple[int, ...], bias: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        batch, steps, _ = x.shape
        states, summary = x.new_empty((batch, steps, len(bias))), x.new_empty((batch, len(bias)))
        given = (places(weights), bias, x, lengths)
        call("windows_forward", x.dtype, *_sizes(x, weights, before), *given, states, summary, torch.get_num_threads())
        ctx.before = before
        ctx.save_for_backward(x, lengths, states, summary, *weights)
        ctx.set_materialize_grads(False)  # nobody reads the states, as a rule, and then backward is short
        return states, summary

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:  # type: ignore[override]  # the decorator hides ctx
        x, lengths, states, summary, *weights = ctx.saved_tensors
        for_states, for_summary = (None if g is None else g.contiguous() for g in gradients)
        for_x, for_bias = torch.empty_like(x), x.new_empty(states.shape[2])
        for_weights = [torch.empty_like(weight) for weight in weights]
        given = (places(weights), x, lengths, states, summary, for_states, for_summary)
        found = (for_x, places(for_weights), for_bias)
        call("windows_backward", x.dtype, *_sizes(x, weights, ctx.before), *given, *found, torch.get_num_threads())
        return for_x, None, None, for_bias, *for_weights


def _sizes(x: Tensor, weights: Sequence[Tensor], before: tuple[int, ...]) -> tuple[Any, ...]:
    batch, steps, inputs = x.shape
    widths = [weight.shape[1] // inputs for weight in weights]
    numbers = c_int64 * len(widths)
    return batch, steps, inputs, len(weights), len(weights[0]), numbers(*widths), numbers(*before)
