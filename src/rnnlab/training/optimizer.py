"""The update step: Adam, AdamW and SGD on all dense weights at once, and on rows in use alone for the embedding.

The dense weights of a network lie end to end in one vector, of which the parameters are views, and so do their
gradients. An update is then one native pass over one vector, or a handful of torch's operations on it, whatever the
number of parameters: for the small networks trained here, `torch.optim` spends several times longer on its bookkeeping
than on the arithmetic.
"""

import math

import torch
from torch import Tensor, nn

from rnnlab.answers.heads import TiedHead
from rnnlab.kernels import ops
from rnnlab.models.embedding import PADDING, TokenVectors
from rnnlab.models.network import Network
from rnnlab.training.spec import Training

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
ADAMW_DECAY = 0.01


class Optimizer:
    """Updates a network. The embedding gathers a gradient for the rows that a batch used alone. With ``lazy-adam`` and
    ``lazy-sgd`` only those rows are touched, and the moments of the others stand still; the other kinds move all rows,
    as dense gradients would."""

    lazy: bool
    descends: bool
    weights: Tensor
    gradient: Tensor
    steps: int

    def __init__(self, network: Network, training: Training):
        self.kind = training.optimizer
        self.momentum: float = training.momentum or 0.0
        self.decay = training.weight_decay if training.weight_decay is not None else 0.0
        if self.kind == "adamw" and training.weight_decay is None:
            self.decay: float = ADAMW_DECAY
        self.steps = 0
        self.memory: dict[str, Tensor] = {}  # what must survive a checkpoint

        table = network.embedding.table if network.embedding is not None else None
        self.embedding: TokenVectors | None = network.embedding if table is not None else None
        self.tied: bool = isinstance(network.head, TiedHead)  # then every word is in use in every batch
        self.lazy = self.kind in ("lazy-adam", "lazy-sgd") and table is not None and not self.tied
        self.descends = self.kind in ("sgd", "lazy-sgd")
        if self.embedding is not None:
            self.embedding.lazy = True
        if self.lazy and table is not None:
            self.table: Tensor = table.data  # (V, D)
        if self.lazy and not self.descends:
            self.memory |= {"row_moment1": torch.zeros_like(self.table), "row_moment2": torch.zeros_like(self.table)}
        dense = [p for p in network.parameters() if p.requires_grad and not (self.lazy and p is table)]
        self.weights, self.gradient = _lay_end_to_end(dense)  # (N,) each
        self.table_gradient: Tensor | None = (
            None if self.lazy or table is None else table.grad
        )  # (V, D), a view of the gradient
        self.memory |= {"moment1": torch.zeros_like(self.weights)}
        if not self.descends:
            self.memory |= {"moment2": torch.zeros_like(self.weights)}

    @torch.no_grad()
    def step(self, lr: float, clip: float | None) -> float:
        """One update from the gradients of one backward pass, which are then cleared. Returns their norm before
        clipping; when it isn't finite, nothing is changed."""
        rows, gradient = self._rows()
        if gradient is not None and self.table_gradient is not None:
            self.table_gradient.index_add_(0, rows, gradient)
            gradient = None
        if self.tied and self.table_gradient is not None:
            self.table_gradient[PADDING] = 0  # it stays zero
        norm = self._step_natively(rows, gradient, lr, clip)
        if norm is None:
            norm = self._step_in_torch(rows, gradient, lr, clip)
        if math.isfinite(norm):
            self.steps += 1
            if self.embedding is not None:
                self.embedding.picked.grad = None
        return norm

    def _rows(self) -> tuple[Tensor, Tensor | None]:
        """The rows of the embedding that the batch used (R,), and their gradient (R, D)."""
        if self.embedding is None:
            return self.weights, None
        return self.embedding.rows, self.embedding.picked.grad

    def _step_natively(self, rows: Tensor, gradient: Tensor | None, lr: float, clip: float | None) -> float | None:
        memory, steps = self.memory, self.steps + 1
        if self.descends:
            return ops.descend(
                (self.weights, self.gradient, memory["moment1"]),
                None if gradient is None else (self.table, rows, gradient),
                clip=clip,
                decay=self.decay,
                momentum=self.momentum,
                rate=lr,
            )
        return ops.adam(
            (self.weights, self.gradient, memory["moment1"], memory["moment2"]),
            None if gradient is None else (self.table, memory["row_moment1"], memory["row_moment2"], rows, gradient),
            clip=clip,
            keep=1 - lr * self.decay,
            betas=(BETA1, BETA2),
            root=(1 - BETA2**steps) ** -0.5,
            epsilon=EPSILON,
            rate=lr / (1 - BETA1**steps),
        )

    def _step_in_torch(self, rows: Tensor, of_rows: Tensor | None, lr: float, clip: float | None) -> float:
        square = self.gradient.dot(self.gradient).item() + (0.0 if of_rows is None else of_rows.square().sum().item())
        norm = math.sqrt(square) if square >= 0 else math.nan
        if not math.isfinite(norm):
            return norm
        if clip is not None and norm > clip:
            self.gradient.mul_(clip / norm)
            if of_rows is not None:
                of_rows.mul_(clip / norm)
        self._step_dense(lr, self.steps + 1)
        if of_rows is not None:
            self._step_rows(rows, of_rows, lr, self.steps + 1)
        self.gradient.zero_()
        return norm

    def _step_dense(self, lr: float, steps: int) -> None:
        weights, gradient, moment1 = self.weights, self.gradient, self.memory["moment1"]
        if self.descends:
            gradient.add_(weights, alpha=self.decay)
            weights.sub_(moment1.mul_(self.momentum).add_(gradient), alpha=lr)
            return
        weights.mul_(1 - lr * self.decay)  # AdamW's decay; 0 for Adam
        moment2 = self.memory["moment2"]
        moment1.lerp_(gradient, 1 - BETA1)
        moment2.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        weights.addcdiv_(moment1, _root(moment2.sqrt(), steps), value=-lr / (1 - BETA1**steps))

    def _step_rows(self, rows: Tensor, gradient: Tensor, lr: float, steps: int) -> None:
        """An update of ``table[rows]`` alone; rows (R,) are distinct, gradient is (R, D)."""
        if self.descends:
            self.table.index_add_(0, rows, gradient, alpha=-lr)
            return
        moment1 = self.memory["row_moment1"].index_select(0, rows).lerp_(gradient, 1 - BETA1)
        moment2 = self.memory["row_moment2"].index_select(0, rows).mul_(BETA2)
        moment2.addcmul_(gradient, gradient, value=1 - BETA2)
        self.memory["row_moment1"].index_copy_(0, rows, moment1)
        self.memory["row_moment2"].index_copy_(0, rows, moment2)
        change = moment1.div_(_root(moment2.sqrt_(), steps))
        self.table.index_add_(0, rows, change, alpha=-lr / (1 - BETA1**steps))

    def restore(self, memory: dict[str, Tensor], steps: int) -> None:
        """Go on from a checkpoint: ``memory`` and ``steps`` as they were."""
        self.steps = steps
        for name, value in memory.items():
            self.memory[name].copy_(value)


def _lay_end_to_end(parameters: list[nn.Parameter]) -> tuple[Tensor, Tensor]:
    """One vector of all weights and one of all gradients; the parameters become views of them."""
    weights = torch.cat([p.detach().reshape(-1) for p in parameters])
    gradient = torch.zeros_like(weights)
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = weights[start:end].view_as(parameter)
        parameter.grad = gradient[start:end].view_as(parameter)
        start = end
    return weights, gradient


def _root(root: Tensor, steps: int) -> Tensor:
    """√v → √v̂ + ε, in place."""
    return root.mul_((1 - BETA2**steps) ** -0.5).add_(EPSILON)
