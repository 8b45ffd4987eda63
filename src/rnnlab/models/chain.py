"""A linear chain over the tags of a row: the probability of a path, those of single tags, and the best path.

Tokens of all rows lie end to end: emissions (N, C) are the scores of each token's tags, offsets (rows + 1,) say where
rows begin. A chain (C + 2, C) scores what follows what: ``chain[i, j]`` is for tag j after tag i, ``chain[C, j]`` for j
at the start of a row, ``chain[C + 1, j]`` for j at its end. A path y of a row scores

    chain[C, y₁] + Σₜ emissions[t, yₜ] + Σₜ chain[yₜ₋₁, yₜ] + chain[C + 1, y_T]

and has the probability exp(score) / Z, Z being the sum of exp(score) over all paths: a conditional random field
(Lafferty et al. 2001). With αₜ(j), the log of the sum over all beginnings that end in tag j at step t, and βₜ(j), that
over all ends that follow it,

    αₜ(j) = emissions[t, j] + log Σᵢ exp(αₜ₋₁(i) + chain[i, j])
    βₜ(i) = log Σⱼ exp(chain[i, j] + emissions[t + 1, j] + βₜ₊₁(j))
    log Z = log Σⱼ exp(α_T(j) + chain[C + 1, j])
    p(yₜ = j) = exp(αₜ(j) + βₜ(j) - log Z)

The gradient of -log p is what is expected less what is there: for ``emissions[t, j]``, p(yₜ = j) - [yₜ = j]. Native
code does the same with probabilities in place of their logarithms; it leaves what they can't hold to what stands here.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlab.data.sequences import gather_rows
from rnnlab.kernels import ops

FORBIDDEN = -1e4
"""The score of what must not follow: less than any path can make up for."""
TOGETHER = 1 << 20  # numbers of a step of several rows, (rows, C, C), at most


def path_losses(
    emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-log p (rows,) float64 of the paths ``targets`` (N,), and the gradients of their sum: (N, C) and (C + 2, C), of
    the precision of the emissions. A row without tokens has the loss 0."""
    emissions, offsets, chain = _prepared(emissions, offsets, chain)
    targets = np.ascontiguousarray(targets, np.int64)
    tags = emissions.shape[1]
    if targets.shape != emissions.shape[:1] or (len(targets) and not 0 <= targets.min() <= targets.max() < tags):
        raise ValueError(f"targets must be ({len(emissions)},) tags from 0 to {tags - 1}")
    losses, for_emissions, for_chain = _passed(emissions, offsets, chain, targets)
    return losses, for_emissions, for_chain.astype(chain.dtype)


def marginals(emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray) -> np.ndarray:
    """(N, C): how probable each tag of each token is."""
    return _passed(*_prepared(emissions, offsets, chain), None)[1]


def best_paths(emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray) -> np.ndarray:
    """(N,) int64: the path of the highest score of every row (Viterbi 1967). Of equal ones, that with the lowest tag at
    the last step where they differ."""
    given = _prepared(emissions, offsets, chain)
    found = ops.chain_paths(*given)
    return _best_paths_naively(*given) if found is None else found


def chain_loss(out: Tensor, lengths: Tensor, chain: Tensor, targets: Tensor) -> Tensor:
    """The sum of -log p of the paths ``targets`` (B, T) over the rows, with its gradient for emissions ``out``
    (B, T, C) and chain (C + 2, C). What stands beyond a row's length never matters."""
    total: Any = _ChainLoss.apply(out, lengths, chain, targets)
    return total


class _ChainLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, out: Tensor, lengths: Tensor, chain: Tensor, targets: Tensor) -> Tensor:
        real = torch.arange(out.shape[1]) < lengths.cpu()[:, None]  # (B, T)
        offsets = np.concatenate([[0], np.cumsum(real.sum(1).numpy())])
        emissions, paths = out.detach().cpu()[real], targets.cpu()[real]
        losses, for_emissions, for_chain = path_losses(
            emissions.numpy(), offsets, chain.detach().cpu().numpy(), paths.numpy()
        )
        ctx.save_for_backward(real, torch.from_numpy(for_emissions), torch.from_numpy(for_chain))
        ctx.shape, ctx.device = out.shape, out.device
        return out.new_tensor(losses.sum())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]  # torch has it vague
        real, for_emissions, for_chain = ctx.saved_tensors
        for_out = for_emissions.new_zeros(ctx.shape)
        for_out[real] = for_emissions
        return for_out.to(ctx.device) * gradient, None, for_chain.to(ctx.device) * gradient, None


def _prepared(
    emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    emissions = np.ascontiguousarray(emissions, np.float64 if emissions.dtype == np.float64 else np.float32)
    offsets = np.ascontiguousarray(offsets, np.int64)
    tags = emissions.shape[1]
    if chain.shape != (tags + 2, tags):
        raise ValueError(f"the chain of {tags} tags must be {(tags + 2, tags)}, and is {chain.shape}")
    if offsets[0] != 0 or offsets[-1] != len(emissions) or (np.diff(offsets) < 0).any():
        raise ValueError(f"offsets must ascend from 0 to {len(emissions)}")
    return emissions, offsets, np.ascontiguousarray(chain, emissions.dtype)


def _passed(
    emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray, targets: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `path_losses`; without targets log Z and probabilities."""
    found = ops.chain_losses(emissions, offsets, chain, targets)
    if found is None:
        return _passed_naively(emissions, offsets, chain, targets)
    losses, for_emissions, for_chain = found
    left = np.flatnonzero(np.isnan(losses))
    if len(left):
        some, own = gather_rows(emissions, offsets, left)
        at = gather_rows(np.arange(len(emissions)), offsets, left)[0]
        losses[left], for_emissions[at], more = _passed_naively(
            some, own, chain, None if targets is None else targets[at]
        )
        for_chain += more
    return losses, for_emissions, for_chain


def _passed_naively(
    emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray, targets: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tags = emissions.shape[1]
    scores, chain = emissions.astype(np.float64), chain.astype(np.float64)
    moves, starts, ends = chain[:tags], chain[tags], chain[tags + 1]
    losses, shares, expected = np.zeros(len(offsets) - 1), np.zeros_like(scores), np.zeros_like(chain)
    alpha, beta = np.zeros_like(scores), np.zeros_like(scores)
    for rows in _some_at_once(offsets, tags):
        first, last = offsets[rows], offsets[rows + 1] - 1
        longest = int((last - first).max(initial=-1)) + 1
        alpha[first] = starts + scores[first]
        for t in range(1, longest):
            at = first[first + t <= last] + t
            alpha[at] = scores[at] + _log_sum(alpha[at - 1, :, None] + moves, 1)
        log_z = _log_sum(alpha[last] + ends, 1)
        losses[rows] = log_z
        beta[last] = ends
        for t in range(longest - 2, -1, -1):
            goes_on = first + t < last
            at = first[goes_on] + t
            paths = moves + (scores[at + 1] + beta[at + 1])[:, None, :]  # (rows, from, to)
            beta[at] = _log_sum(paths, 2)
            if targets is not None:
                expected[:tags] += np.exp(alpha[at, :, None] + paths - log_z[goes_on, None, None]).sum(0)
        for row, z in zip(rows.tolist(), log_z.tolist(), strict=True):
            own = slice(offsets[row], offsets[row + 1])
            shares[own] = np.exp(alpha[own] + beta[own] - z)
        expected[tags] += shares[first].sum(0)
        expected[tags + 1] += shares[last].sum(0)
    shares /= np.maximum(shares.sum(1, keepdims=True), 1e-300)  # log Z of a long row is a large number, of few decimals
    if targets is not None:
        token = np.arange(len(targets))
        inside = np.ones(len(targets), bool)  # not the first of a row
        filled = offsets[:-1] < offsets[1:]
        first, last = offsets[:-1][filled], offsets[1:][filled] - 1
        inside[first] = False
        here = token[inside]
        scored = scores[token, targets]
        scored[here] += moves[targets[here - 1], targets[here]]
        scored[first] += starts[targets[first]]
        scored[last] += ends[targets[last]]
        losses[filled] -= np.add.reduceat(scored, first) if len(first) else 0
        shares[token, targets] -= 1
        np.subtract.at(expected, (targets[here - 1], targets[here]), 1)
        np.subtract.at(expected, (tags, targets[first]), 1)
        np.subtract.at(expected, (tags + 1, targets[last]), 1)
    return losses, shares.astype(emissions.dtype), expected


def _best_paths_naively(emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray) -> np.ndarray:
    tags = emissions.shape[1]
    scores, chain = emissions.astype(np.float64), chain.astype(np.float64)
    moves, starts, ends = chain[:tags], chain[tags], chain[tags + 1]
    paths, came_from = np.zeros(len(scores), np.int64), np.zeros(scores.shape, np.int64)
    for rows in _some_at_once(offsets, tags):
        first, last = offsets[rows], offsets[rows + 1] - 1
        longest = int((last - first).max(initial=-1)) + 1
        scores[first] += starts
        for t in range(1, longest):
            at = first[first + t <= last] + t
            reached = scores[at - 1, :, None] + moves  # (rows, from, to)
            came_from[at] = reached.argmax(1)
            scores[at] += reached.max(1)
        paths[last] = (scores[last] + ends).argmax(1)
        for t in range(longest - 2, -1, -1):
            at = first[first + t < last] + t
            paths[at] = came_from[at + 1, paths[at + 1]]
    return paths


def _some_at_once(offsets: np.ndarray, tags: int) -> list[np.ndarray]:
    """Rows that have tokens, in groups whose steps fit into memory."""
    rows = np.flatnonzero(offsets[:-1] < offsets[1:])
    return np.array_split(rows, -(-len(rows) * tags**2 // TOGETHER)) if len(rows) else []


def _log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """log Σ exp(x)"""
    highest = x.max(axis, keepdims=True)
    return np.log(np.exp(x - highest).sum(axis)) + highest.squeeze(axis)
