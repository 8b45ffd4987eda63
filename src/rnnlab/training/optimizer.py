"""The update step: Adam, AdamW and SGD on all dense weights at once, and on rows in use alone for the embedding.

The dense weights of a network lie end to end in one vector, of which the parameters are views, and so do their
gradients. An update is then one native pass over one vector, or a handful of torch's operations on it, whatever the
number of parameters: for the small networks trained here, `torch.optim` spends several times longer on its bookkeeping
than on the arithmetic.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rnnlab.answers.heads import ScoringHead, TiedHead
from rnnlab.kernels import ops
from rnnlab.models.embedding import PADDING, TokenVectors
from rnnlab.models.network import Network
from rnnlab.training.spec import Training

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
ADAMW_DECAY = 0.01


class Used(NamedTuple):
    """Rows of a table that a batch used, where those alone are updated."""

    of: str  # which table: so begin the names of its moments
    table: Tensor  # (V, D)
    rows: Tensor  # (R,), distinct
    gradient: Tensor  # (R, D)


class Optimizer:
    """Updates a network. The embedding gathers a gradient for the rows that a batch used alone, and so does the head
    where words are sampled. With ``lazy-adam`` and ``lazy-sgd`` only those rows are touched, and the moments of the
    others stand still; the other kinds move all rows, as dense gradients would."""

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
        shares = isinstance(network.head, TiedHead)
        self.tied: bool = shares and network.decoder is None  # with the vectors that are read; else with those written
        self.head: ScoringHead | None = None  # where words are sampled
        if training.softmax_samples is not None and isinstance(network.head, ScoringHead):
            self.head = network.head
        all_in_use = self.tied and self.head is None  # every word in every batch
        keeps_still = self.kind in ("lazy-adam", "lazy-sgd")
        self.lazy = keeps_still and table is not None and not all_in_use
        self.descends = self.kind in ("sgd", "lazy-sgd")
        if self.embedding is not None:
            self.embedding.lazy = True
        self.tables: dict[str, Tensor] = {}  # whose rows in use alone are updated, (V, D) each
        if self.lazy and table is not None:
            self.tables["row"] = table
        if keeps_still and self.head is not None and not shares:
            self.tables["head"] = self.head.scoring[0]
        dense = [
            p for p in network.parameters() if p.requires_grad and not any(p is one for one in self.tables.values())
        ]
        self.tables = {name: one.data for name, one in self.tables.items()}
        if not self.descends:
            for name, one in self.tables.items():
                self.memory |= {f"{name}_moment{number}": torch.zeros_like(one) for number in (1, 2)}
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
        used = self._used()
        if self.tied and self.table_gradient is not None:
            self.table_gradient[PADDING] = 0  # it stays zero
        norm = self._step_natively(used, lr, clip)
        if norm is None:
            norm = self._step_in_torch(used, lr, clip)
        if math.isfinite(norm):
            self.steps += 1
            for module in (self.embedding, self.head):
                if module is not None:
                    module.picked.grad = None
        return norm

    def _used(self) -> list[Used]:
        """The rows that the batch used, of each table; where all rows are moved, their gradients are added to those of
        the table."""
        found: dict[str, tuple[Tensor, Tensor]] = {}
        if self.embedding is not None and self.embedding.picked.grad is not None:
            found["row"] = self.embedding.rows, self.embedding.picked.grad
        if self.head is not None and self.head.picked.grad is not None:
            rows, gradient = self.head.rows, self.head.picked.grad
            if not self.tied:
                found["head"] = rows, gradient
            else:
                gradient[rows == PADDING] = 0  # it stays zero
                found["row"] = added_up(*found["row"], rows, gradient)
        for name in found.keys() - self.tables.keys():
            of_all = self.table_gradient if name == "row" else self.head.scoring[0].grad if self.head else None
            assert of_all is not None
            of_all.index_add_(0, *found.pop(name))
        return [Used(name, self.tables[name], *of_rows) for name, of_rows in found.items()]

    def _step_natively(self, used: Sequence[Used], lr: float, clip: float | None) -> float | None:
        if len(used) < 2:
            return self._move_natively(used[0] if used else None, lr, clip)
        if not ops.known(self.weights):
            return None
        norm = self._norm(used)  # of all, and native code knows one table at a time
        if math.isfinite(norm):
            self._clip(used, norm, clip)
            self._move_natively(used[0], lr, None)
            for one in used[1:]:  # the dense gradients are zero by now, but must not count twice
                self._move_natively(one, lr, None, dense=False)
        return norm

    def _move_natively(self, used: Used | None, lr: float, clip: float | None, dense: bool = True) -> float | None:
        memory, steps, some = self.memory, self.steps + 1, slice(None if dense else 0)
        weights, gradient, moment1 = self.weights[some], self.gradient[some], memory["moment1"][some]
        if self.descends:
            return ops.descend(
                (weights, gradient, moment1),
                None if used is None else (used.table, used.rows, used.gradient),
                clip=clip,
                decay=self.decay,
                momentum=self.momentum,
                rate=lr,
            )
        of = "" if used is None else used.of
        return ops.adam(
            (weights, gradient, moment1, memory["moment2"][some]),
            None
            if used is None
            else (used.table, memory[f"{of}_moment1"], memory[f"{of}_moment2"], used.rows, used.gradient),
            clip=clip,
            keep=1 - lr * self.decay,
            betas=(BETA1, BETA2),
            root=(1 - BETA2**steps) ** -0.5,
            epsilon=EPSILON,
            rate=lr / (1 - BETA1**steps),
        )

    def _step_in_torch(self, used: Sequence[Used], lr: float, clip: float | None) -> float:
        norm = self._norm(used)
        if not math.isfinite(norm):
            return norm
        self._clip(used, norm, clip)
        self._step_dense(lr, self.steps + 1)
        for one in used:
            self._step_rows(one, lr, self.steps + 1)
        self.gradient.zero_()
        return norm

    def _norm(self, used: Sequence[Used]) -> float:
        square = self.gradient.dot(self.gradient).item() + sum(one.gradient.square().sum().item() for one in used)
        return math.sqrt(square) if square >= 0 else math.nan

    def _clip(self, used: Sequence[Used], norm: float, clip: float | None) -> None:
        if clip is not None and norm > clip:
            for gradient in (self.gradient, *(one.gradient for one in used)):
                gradient.mul_(clip / norm)

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

    def _step_rows(self, used: Used, lr: float, steps: int) -> None:
        """An update of those rows alone."""
        of, table, rows, gradient = used
        if self.descends:
            table.index_add_(0, rows, gradient, alpha=-lr)
            return
        moments = [self.memory[f"{of}_moment{number}"] for number in (1, 2)]
        moment1 = moments[0].index_select(0, rows).lerp_(gradient, 1 - BETA1)
        moment2 = moments[1].index_select(0, rows).mul_(BETA2)
        moment2.addcmul_(gradient, gradient, value=1 - BETA2)
        moments[0].index_copy_(0, rows, moment1)
        moments[1].index_copy_(0, rows, moment2)
        change = moment1.div_(_root(moment2.sqrt_(), steps))
        table.index_add_(0, rows, change, alpha=-lr / (1 - BETA1**steps))

    def restore(self, memory: dict[str, Tensor], steps: int) -> None:
        """Go on from a checkpoint: ``memory`` and ``steps`` as they were."""
        self.steps = steps
        for name, value in memory.items():
            self.memory[name].copy_(value)


def added_up(rows: Tensor, gradient: Tensor, more: Tensor, of_more: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of rows that two parts of a network used: distinct rows (R,), and (R, D)."""
    every, places = torch.cat([rows, more]).unique(return_inverse=True)
    summed = gradient.new_zeros(len(every), gradient.shape[1])
    summed.index_add_(0, places[: len(rows)], gradient)
    return every, summed.index_add_(0, places[len(rows) :], of_more)


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
