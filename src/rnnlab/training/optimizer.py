"""The update step: torch's fused optimisers for dense weights, row-wise lazy Adam for the embedding."""

import torch
from torch import Tensor, nn

from rnnlab.experiment import Training
from rnnlab.models.network import Network

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Optimizer:
    """Updates a network. With ``lazy-adam`` the embedding table has no dense gradient: only the rows that a batch
    used are touched, and the moments of the other rows stand still (they would decay under dense Adam)."""

    def __init__(self, network: Network, training: Training):
        table = network.embedding.table if network.embedding is not None else None
        self.embedding = None
        if training.optimizer == "lazy-adam" and network.embedding is not None and table is not None:
            self.embedding = network.embedding
            self.embedding.lazy = True
            self.table = table.data  # (V, D)
            self.moment1, self.moment2 = torch.zeros_like(self.table), torch.zeros_like(self.table)
        self.steps = 0
        self.weights = [p for p in network.parameters() if p.requires_grad and (p is not table or self.embedding is None)]
        self.dense = _dense(self.weights, training)

    def step(self, lr: float, clip: float | None) -> float:
        """One update. Returns the gradient norm before clipping; nothing is changed when it isn't finite."""
        graded: list[Tensor] = list(self.weights)
        if self.embedding is not None:
            graded.append(self.embedding.picked)
        gradients = [p.grad for p in graded if p.grad is not None]
        norm = float(nn.utils.get_total_norm(gradients))
        if norm != norm or norm == float("inf"):
            return norm
        for gradient in gradients if clip is not None and norm > clip else ():
            gradient.mul_(clip / norm)
        self.steps += 1
        for group in self.dense.param_groups:
            group["lr"] = lr
        self.dense.step()
        self.dense.zero_grad(set_to_none=True)
        if self.embedding is not None and self.embedding.picked.grad is not None:
            self._step_rows(self.embedding.rows, self.embedding.picked.grad, lr)
        return norm

    def _step_rows(self, rows: Tensor, gradient: Tensor, lr: float) -> None:
        """Adam on ``table[rows]`` alone; rows (R,) are distinct, gradient is (R, D)."""
        moment1 = self.moment1[rows].lerp_(gradient, 1 - BETA1)
        moment2 = self.moment2[rows].lerp_(gradient.square(), 1 - BETA2)
        self.moment1[rows], self.moment2[rows] = moment1, moment2
        root = moment2.sqrt_().mul_((1 - BETA2**self.steps) ** -0.5).add_(EPSILON)
        self.table.index_add_(0, rows, moment1.div_(root), alpha=-lr / (1 - BETA1**self.steps))

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's memory, for a checkpoint."""
        found = {
            f"dense.{number}.{name}": value
            for number, weight in enumerate(self.weights)
            for name, value in self.dense.state.get(weight, {}).items()
            if isinstance(value, Tensor)
        }
        if self.embedding is not None:
            found |= {"moment1": self.moment1, "moment2": self.moment2}
        return found

    def restore(self, tensors: dict[str, Tensor], steps: int) -> None:
        self.steps = steps
        for name, value in tensors.items():
            if name.startswith("dense."):
                _, number, key = name.split(".")
                self.dense.state[self.weights[int(number)]][key] = value.clone()
            else:
                getattr(self, name).copy_(value)


def _dense(weights: list[nn.Parameter], training: Training) -> torch.optim.Optimizer:
    if training.optimizer == "sgd":
        return torch.optim.SGD(
            weights,
            lr=training.lr,
            momentum=training.momentum or 0.0,
            weight_decay=training.weight_decay or 0.0,
            fused=True,
        )
    if training.optimizer == "adamw":
        decay = 0.01 if training.weight_decay is None else training.weight_decay
        return torch.optim.AdamW(weights, lr=training.lr, weight_decay=decay, fused=True)
    return torch.optim.Adam(weights, lr=training.lr, betas=(BETA1, BETA2), eps=EPSILON, fused=True)
