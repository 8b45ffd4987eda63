"""The scores of additive attention, as one native pass each way."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnlab.kernels.calls import call, usable


def additive_scores(queries: Tensor, keys: Tensor, v: Tensor, real: Tensor) -> Tensor | None:
    """v · tanh(q + k) of queries (B, L, H) and keys (B, S, H): (B, L, S), anything where ``real`` (B, S) is false, as
    it is from the end of each row on. None: native code doesn't take such tensors; the naive form is
    `models.attention`."""
    queries, keys = queries.contiguous(), keys.contiguous()
    if not usable(queries, keys, v) or real.device.type != "cpu":
        return None
    return _AdditiveScores.apply(queries, keys, v, real.sum(1))  # type: ignore[return-value]  # torch types it as Any


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
        scores = queries.new_zeros((*queries.shape[:2], keys.shape[1]))
        call("additive_forward", queries.dtype, *_sizes(queries, keys), lengths, queries, keys, v, scores,
             torch.get_num_threads())  # fmt: skip
        ctx.save_for_backward(queries, keys, v, lengths)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, for_scores: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]  # the decorator hides ctx
        queries, keys, v, lengths = ctx.saved_tensors
        found = tuple(torch.empty_like(given) for given in (queries, keys, v))
        call("additive_backward", queries.dtype, *_sizes(queries, keys), lengths, queries, keys, v,
             for_scores.contiguous(), *found, torch.get_num_threads())  # fmt: skip
        return *found, None


def _sizes(queries: Tensor, keys: Tensor) -> tuple[int, ...]:
    return *queries.shape[:2], *keys.shape[1:]
