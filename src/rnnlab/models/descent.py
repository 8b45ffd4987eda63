"""Linear models of n-grams that may matter more or less for each class: the optimum of a loss with an L2 penalty.

With zᵢₖ = rₖ ∘ xᵢ, where r (features, width) says how much a feature may matter for a class, it minimises

    Σₖ (‖wₖ‖² + bₖ²) / 2 + C Σᵢ loss(logitsᵢ),    logitsᵢₖ = zᵢₖ · wₖ + bₖ

where the loss is the squared hinge, max(0, 1 - y logit)² of one class against the rest, or the cross-entropy of all
classes (softmax). At the optimum, w is a sum of rows: wₖ = Σᵢ aᵢₖ zᵢₖ. So native code goes from row to row and makes
the duals aᵢ of each the best ones while all others stay (Hsieh et al. 2008; Yu, Huang & Lin 2011); ten to thirty passes
are enough. Without a compiler, rows one by one would take hours, and L-BFGS finds the same optimum.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from rnnlab.kernels import ops
from rnnlab.models.logistic import dot, minimise
from rnnlab.models.ngrams import GramRows

if TYPE_CHECKING:
    from scipy import sparse

Loss = Literal["hinge", "softmax"]

TOLERANCE = 0.02  # how far the duals of a class move in a pass, by their size, at which the optimum is reached
MOST_PASSES = 60
CURVATURE = {"hinge": 1.0, "softmax": 0.1}  # of the loss, at a guess


class Problem:
    """Of rows whose high column is ``columns`` (rows,), -1 where none is; ``ratios`` (features, width). Each solution
    is found from the one before."""

    def __init__(self, x: GramRows, columns: np.ndarray, ratios: np.ndarray, loss: Loss):
        self.x, self.columns, self.ratios, self.loss = x, columns.astype(np.int32), ratios, loss
        self.table, self.bias = np.zeros_like(ratios), np.zeros(ratios.shape[1], np.float32)
        if ops.active():
            self.squares = ratios**2
            self.norms = x.scale[:, None] * x.product(self.squares) + 1  # 1: the bias
            self.duals = np.zeros((len(x), ratios.shape[1]), np.float32)

    def solve(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """r ∘ w (features, width) and b (width,) for C = ``strength``."""
        (self._descend if ops.active() else self._minimise)(strength)
        return self.table.copy(), self.bias.copy()

    def _descend(self, strength: float) -> None:
        random = np.random.default_rng(0)  # rows in their own order, sorted by class for instance, converge slowly
        for _ in range(MOST_PASSES):
            order = random.permutation(len(self.x)).astype(np.int32)
            moved = ops.gram_descend(
                self.x.native, order, self.squares, self.norms, self.columns, strength, self.loss == "softmax",
                self.duals, self.table, self.bias,
            )  # fmt: skip
            if (moved <= TOLERANCE**2 * np.einsum("ij,ij->j", self.duals, self.duals, dtype=np.float64)).all():
                break

    def _minimise(self, strength: float) -> None:
        primal = _Primal(self, strength)
        inverse = np.divide(1, self.ratios, out=np.zeros_like(self.ratios), where=self.ratios != 0)
        start = np.vstack([inverse * self.table, self.bias]).T.copy()
        found = minimise(primal, start, primal.scale)
        self.table, self.bias = np.ascontiguousarray(self.ratios * found[:, :-1].T), found[:, -1].copy()


class _Primal:
    """The same divided by C and by the rows, for `minimise`: weights (width, features + 1), the biases last → the value
    and its gradient."""

    def __init__(self, problem: Problem, strength: float):
        self.matrix: sparse.csr_array = problem.x.matrix
        self.ratios, self.loss = problem.ratios, problem.loss
        self.high = problem.columns[:, None] == np.arange(len(problem.bias))  # (rows, width)
        self.penalty = 1 / (strength * len(problem.x))
        squares = problem.ratios.T**2 * (self.matrix.T @ problem.x.scale) / len(problem.x)  # (width, features)
        bent = np.hstack([squares, np.ones((len(squares), 1))])
        self.scale = (1 / (CURVATURE[self.loss] * bent + self.penalty)).astype(np.float32)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        logits = self.matrix @ (self.ratios * weights[:, :-1].T) + weights[:, -1]
        value, delta = (_hinge if self.loss == "hinge" else _cross_entropy)(logits, self.high)
        delta = (delta / len(delta)).astype(np.float32)
        gradient = np.hstack([(self.ratios * (self.matrix.T @ delta)).T, delta.sum(0)[:, None]])
        gradient += np.float32(self.penalty) * weights
        return value / len(delta) + self.penalty / 2 * dot(weights, weights), gradient


def _hinge(logits: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum of the losses, and their gradient (rows, width)."""
    sides = np.where(high, np.float32(1), np.float32(-1))
    within = np.maximum(1 - sides * logits, 0)
    return dot(within, within), -2 * sides * within


def _cross_entropy(logits: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum of the losses, and their gradient (rows, width)."""
    shifted = logits - logits.max(1, keepdims=True)
    powers = np.exp(shifted)
    sums = powers.sum(1, keepdims=True)
    return float((np.log(sums[:, 0]) - shifted[high]).sum(dtype=np.float64)), powers / sums - high
