"""Probabilities that mean what they say: one temperature, fitted on the validation rows. numpy alone.

Networks trained to the end are surer than they are right. Dividing all logits by one number T before the softmax makes
them less (T > 1) or more sure (T < 1) and never changes which label is first (Guo et al. 2017, "On Calibration of
Modern Neural Networks").
"""

import math
from dataclasses import dataclass

import numpy as np

COLDEST, HOTTEST = 0.05, 20.0
BELIEF = 10  # rows that the logits as they are count for
BINS = 15
STEPS = 60  # Newton's steps, about six; halvings of the bracket in the worst case


@dataclass(frozen=True)
class Calibration:
    """Logits divided by ``temperature`` give probabilities that mean what they say. Fitted on the validation rows.

    ECE: the mean distance between how sure the answers are and how often they are right; on test rows, which the fit
    hasn't seen."""

    temperature: float
    rows: int  # of validation, on which it was fitted
    ece_before: float
    ece_after: float
    test_rows: int


def calibrate(
    valid_logits: np.ndarray, valid_targets: np.ndarray, test_logits: np.ndarray, test_targets: np.ndarray
) -> Calibration:
    """Logits (N, C), targets (N,)."""
    temperature = fit_temperature(valid_logits, valid_targets)
    return Calibration(
        temperature,
        len(valid_targets),
        ece(test_logits, test_targets),
        ece(test_logits / temperature, test_targets),
        len(test_targets),
    )


def fit_temperature(logits: np.ndarray, targets: np.ndarray) -> float:
    """The T in [``COLDEST``, ``HOTTEST``] under which the targets (N,) are likeliest, given logits (N, C).

    Few rows could ask for any T; so ``BELIEF`` more rows are counted of which the logits as they are, T = 1, are true.
    The negative log likelihood is convex in 1/T: its slope has one zero, which Newton's steps find within a bracket
    that is halved whenever a step would leave it. Where every answer is right, the rows would have it ever colder and
    don't say how cold; the logits then stay as they are."""
    rows = len(targets)
    if not rows or (logits.argmax(1) == targets).all():
        return 1.0
    by_class = np.ascontiguousarray(logits.T, dtype=np.float32)  # (C, N): sums over classes are then fast
    by_class -= by_class.max(0)
    np.maximum(by_class, -1e4, out=by_class)  # a class that a model rules out altogether
    picked = float(by_class[targets, np.arange(rows)].mean())
    expected = _moments(by_class, 1.0)[0]
    picked = (rows * picked + BELIEF * expected) / (rows + BELIEF)
    low, high = 1 / HOTTEST, 1 / COLDEST
    inverse = 1.0
    for _ in range(STEPS):
        mean, curvature = _moments(by_class, inverse)
        slope = mean - picked
        if slope == 0:
            break
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        following = inverse - slope / curvature if curvature > 0 else math.inf
        if not low < following < high:
            following = math.sqrt(low * high)
        inverse, before = following, inverse
        if abs(inverse - before) <= 1e-6 * inverse:
            break
    return min(max(1 / inverse, COLDEST), HOTTEST)


def ece(logits: np.ndarray, targets: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error of logits (N, C): rows are put into bins of equal width by how sure their answer is;
    the mean over rows of the distance, in a row's bin, between mean sureness and share of right answers."""
    shifted = np.ascontiguousarray(logits.T)
    shifted = shifted - shifted.max(0)
    sureness = 1 / np.exp(shifted).sum(0, dtype=np.float64)  # (N,), the probability of the first label
    right = logits.argmax(1) == targets
    which = np.minimum((sureness * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(which, sureness - right, bins)  # of sums, which weighs each bin by its rows
    return float(np.abs(gaps).sum() / len(targets))


def _moments(by_class: np.ndarray, inverse: float) -> tuple[float, float]:
    """Expectation and variance of the logits (C, N), largest 0, under the probabilities at 1/T; means over rows. Less
    the mean logit of the targets, they are the slope and the curvature of the negative log likelihood."""
    weights = np.exp(by_class * np.float32(inverse))
    total = weights.sum(0)
    weights *= by_class
    mean = weights.sum(0) / total  # (N,)
    weights *= by_class
    square = weights.sum(0) / total
    return float(mean.mean(dtype=np.float64)), float((square - mean * mean).mean(dtype=np.float64))
