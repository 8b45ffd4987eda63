"""Logistic regression of sparse features, by L-BFGS: the optimum that scikit-learn's is on the way to.

scikit-learn hands the problem to SciPy's L-BFGS-B, which is made for bounds: with a weight for each of 30,000 grams and
5 classes, its bookkeeping took twenty times as long as losses and gradients. And a rare gram is a weight that hardly
matters: with all weights treated alike, the optimum isn't reached in 100 steps. Scaled by how much each matters
(`_Problem.scale`), 50 are enough. Movie reviews, 140,453 rows and 92,963 grams: 3.5 s instead of 19, a loss of 0.631
instead of 0.683, and 63.0 % of the test rows right instead of 61.9 %.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse

REMEMBERED = 10  # steps that the curvature is taken from
MOST_STEPS = 100  # good enough for a baseline
TOLERANCE = 1e-4  # the largest part of the gradient, at which the optimum is reached
CURVATURE = 0.1  # of the cross-entropy, p (1 - p), at a guess
SUFFICIENT = 1e-4  # of the decrease that the slope promises, at which a step is taken

Step = tuple[np.ndarray, np.ndarray, float]
"""How the weights changed, how the gradient did, and 1 over their product."""


def fit_logistic(
    features: "np.ndarray | sparse.csr_array",
    targets: np.ndarray,
    classes: int,
    strength: float,
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(C, F) weights and (C,) biases of features (N, F), for every class even if no target has it. Minimises the mean
    cross-entropy plus ‖weights‖² / (2 · strength · N). Two classes share one row of weights, as is the custom: the
    first gets zeros. Targets (N, C), 1 where a row has a label, are as many problems of two classes.
    ``weights`` (N,), 1 on average: what each row counts; None: all alike."""
    if targets.ndim == 2:
        problem = _Problem(features, targets.astype(np.float32), classes, 1 / (strength * len(targets)))
        found = minimise(problem, np.zeros((classes, len(problem.scale)), np.float32), problem.scale)
        return found[:, :-1].copy(), found[:, -1].copy()
    present, numbers = np.unique(targets, return_inverse=True)
    rows = 1 if len(present) == 2 else len(present)
    problem = _Problem(features, numbers, rows, 1 / (strength * len(targets)), weights)
    found = minimise(problem, np.zeros((rows, len(problem.scale)), np.float32), problem.scale)
    coef = np.zeros((classes, found.shape[1] - 1), np.float32)
    intercept = np.full(classes, -1e4, np.float32)
    intercept[present[0]] = 0
    fitted = present[-rows:]
    coef[fitted], intercept[fitted] = found[:, :-1], found[:, -1]
    return coef, intercept


class _Problem:
    """What to minimise: weights (K, F + 1), the biases last → the loss and its gradient (K, F + 1)."""

    def __init__(
        self,
        features: "np.ndarray | sparse.csr_array",
        numbers: np.ndarray,
        rows: int,
        penalty: float,
        weights: np.ndarray | None = None,
    ):
        self.features: Any = features.astype(np.float32)
        across: Any = self.features.T
        self.across = across.tocsr() if hasattr(across, "tocsr") else across
        self.numbers, self.rows, self.penalty, self.weights = numbers, rows, penalty, weights
        square = self.features.multiply(self.features) if hasattr(across, "tocsr") else self.features**2
        curvature = CURVATURE * np.asarray(square.sum(0)).ravel() / len(numbers) + penalty
        self.scale = np.append(1 / curvature, 1 / CURVATURE).astype(np.float32)  # (F + 1,)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        logits = self.features @ np.ascontiguousarray(weights[:, :-1].T) + weights[:, -1]  # (N, K)
        loss_of = _of_labels if self.numbers.ndim == 2 else _of_two if self.rows == 1 else _of_many
        losses, delta = loss_of(logits, self.numbers)
        if self.weights is not None:
            losses, delta = losses * self.weights, delta * self.weights[:, None]
        delta /= len(delta)
        gradient = np.empty_like(weights)
        gradient[:, :-1] = (self.across @ delta).T + np.float32(self.penalty) * weights[:, :-1]
        gradient[:, -1] = delta.sum(0)
        square = dot(weights[:, :-1], weights[:, :-1])
        return float(losses.mean(dtype=np.float64)) + self.penalty / 2 * square, gradient


def _of_two(logits: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses (N,), and their gradients for the logits (N, 1) of the second class."""
    logit = logits[:, 0]
    losses = np.logaddexp(0, np.where(numbers == 1, -logit, logit))
    return losses, (1 / (1 + np.exp(-np.clip(logit, -80, 80))) - numbers).astype(np.float32)[:, None]


def _of_labels(logits: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses (N,), summed over the labels, and their gradients for the logits (N, C)."""
    losses = np.logaddexp(0, np.where(wanted > 0, -logits, logits)).sum(1)
    return losses, (1 / (1 + np.exp(-np.clip(logits, -80, 80))) - wanted).astype(np.float32)


def _of_many(logits: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses (N,), and their gradients for the logits (N, K)."""
    at = np.arange(len(logits)), numbers
    logits -= logits.max(1, keepdims=True)
    wanted = logits[at]
    powers = np.exp(logits, out=logits)
    sums = powers.sum(1)
    powers /= sums[:, None]
    powers[at] -= 1
    return np.log(sums) - wanted, powers


def minimise(problem: Any, weights: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Of a convex problem, from some weights (K, F) on. A step goes along the gradient times ``scale`` (F,), bent by
    the curvature that the last ones met (the two loops of Nocedal and Wright, algorithm 7.4), halved until the loss
    falls enough."""
    loss, gradient = problem(weights)
    steps: deque[Step] = deque(maxlen=REMEMBERED)
    for _ in range(MOST_STEPS):
        if np.abs(gradient).max() <= TOLERANCE:
            break
        direction = _bend(gradient, steps, scale)
        slope = -dot(gradient, direction)
        length = 1.0
        while True:
            candidate = weights - np.float32(length) * direction
            lower, after = problem(candidate)
            if lower <= loss + SUFFICIENT * length * slope:
                break
            length /= 2
            if length < 1e-6:  # as low as these numbers can tell
                return weights
        step, change = candidate - weights, after - gradient
        product = dot(step, change)
        if product > 0:
            steps.append((step, change, 1 / product))
        weights, loss, gradient = candidate, lower, after
    return weights


def _bend(gradient: np.ndarray, steps: deque[Step], scale: np.ndarray) -> np.ndarray:
    """The inverse of the curvature times the gradient."""
    direction = gradient.copy()
    shares: list[float] = []
    for step, change, inverse in reversed(steps):
        shares.append(inverse * dot(step, direction))
        direction -= np.float32(shares[-1]) * change
    direction *= scale
    if steps:
        _, change, inverse = steps[-1]
        direction *= np.float32(1 / (inverse * dot(change, change * scale)))
    for (step, change, inverse), share in zip(steps, reversed(shares), strict=True):
        direction += np.float32(share - inverse * dot(change, direction)) * step
    return direction


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Of two matrices, row by row: the same bits whatever the threads of a BLAS, and sums that aren't too long."""
    return float(np.einsum("ij,ij->i", a, b).sum(dtype=np.float64))
