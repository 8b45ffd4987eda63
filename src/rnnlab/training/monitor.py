"""A probe while training: how much of the answer's gradient reaches an input, by its distance from the end.

One small batch, one backward pass. Nothing of the network changes: not its gradients, its mode or its random numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlab.answers.base import Answer
from rnnlab.data.batches import Batch, collate
from rnnlab.data.sequences import Sequences
from rnnlab.models.network import Network
from rnnlab.models.pooling import inside

FALLEN = 0.01  # the share of the gradient from which on it counts as forgotten
PROBE_ROWS = 32
PROBE_STEPS = 512  # longer rows are left out of the probe: they would cost more than they tell


def probe(network: Network, batch: Batch) -> dict[str, Any]:
    """``lags`` 0, 1, 2, 4, 8 … from the end; ``norms``, the mean ‖∂ highest output / ∂ input‖ of the ``rows`` that
    reach so far; ``memory``, as `memory_length` of the whole curve."""
    by_lag, rows = mean_by_lag(input_gradients(network, batch.inputs, batch.lengths), batch.lengths)
    lags = spaced_lags(len(by_lag))
    return {
        "lags": lags,
        "norms": [float(by_lag[lag]) for lag in lags],
        "rows": [int(rows[lag]) for lag in lags],
        "memory": memory_length(by_lag.tolist()),
    }


def probe_batch(data: Sequences, answer: Answer) -> Batch:
    """The same rows in every epoch, as the network reads them: `PROBE_ROWS` of all lengths, the longest among them."""
    order = np.argsort(data.lengths, kind="stable")
    usable = order[data.lengths[order] <= PROBE_STEPS]
    order = usable if len(usable) else order[:PROBE_ROWS]
    chosen = np.linspace(0, len(order) - 1, min(PROBE_ROWS, len(order))).round().astype(int)
    batch = collate(data, order[chosen])
    return replace(batch, inputs=answer.given(batch)[0])


def input_gradients(network: Network, inputs: Tensor, lengths: Tensor) -> Tensor:
    """‖∂ highest output / ∂ x_t‖ for each input vector x_t (an embedded token or a step of numbers): (B, T), zero at
    padding. Where there is an output at every step, it is the last one's."""
    with undisturbed(network), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):  # cuDNN can't in eval
        x = embedded(network, inputs).detach().requires_grad_()
        highest = final_outputs(network.head(network.encoder(x, lengths)), lengths).amax(1)
        (gradients,) = torch.autograd.grad(highest.sum(), x)  # rows don't know each other: each gets its own
    return gradients.norm(dim=2) * inside(lengths, x.shape[1])


def embedded(network: Network, inputs: Tensor) -> Tensor:
    """(B, T, D), what the encoder reads."""
    return inputs if network.embedding is None else network.embedding(inputs)


def final_outputs(out: Tensor, lengths: Tensor) -> Tensor:
    """(B, C): the outputs for a sequence, or at its last real step where every step has its own (B, T, C)."""
    return out[torch.arange(len(out), device=out.device), lengths - 1] if out.ndim == 3 else out


@contextmanager
def undisturbed(network: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode, in which nothing is drawn and nothing carried; afterwards every part has its mode again."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def mean_by_lag(norms: Tensor, lengths: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """From (B, T) to the mean at each distance from the end (L,), and how many sequences reach so far (L,)."""
    longest = int(lengths.max())
    at = lengths[:, None] - 1 - torch.arange(longest, device=lengths.device)  # (B, L): where that distance is
    reached = at >= 0
    picked = norms.gather(1, at.clamp(min=0)).double() * reached
    rows = reached.sum(0)
    return (picked.sum(0) / rows).cpu().numpy(), rows.cpu().numpy()


def spaced_lags(length: int) -> list[int]:
    """0, 1, 2, 4, 8 … below ``length``."""
    lags = [0, 1]
    while 2 * lags[-1] < length:
        lags.append(2 * lags[-1])
    return lags[: max(1, min(len(lags), length))]


def memory_length(norms: Sequence[float], reference: float | None = None) -> int | None:
    """The smallest lag from which on every norm is below 1 % of the ``reference`` (the largest norm); None when even
    the last is not. A gradient of zero everywhere has a memory of 0."""
    limit = FALLEN * (max(norms) if reference is None else reference)
    if limit == 0:
        return 0
    above = [lag for lag, norm in enumerate(norms) if not norm < limit]  # NaN counts as above
    memory = above[-1] + 1 if above else 0
    return memory if memory < len(norms) else None
