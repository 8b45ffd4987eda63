"""A linear model with the squared hinge loss (an L2-SVM), one class against the rest, by Newton's method.

Of the class k, with y = 1 for its rows and -1 for the others, it minimises

    (‖w‖² + b²) / 2 + C Σᵢ max(0, 1 - yᵢ (zᵢ · w + b))²,    zᵢⱼ = xᵢⱼ rⱼₖ

where r (features, classes) says how much a feature may matter for a class: what the NB-SVM adds. The loss is quadratic
in the rows that are within the margin, so a handful of Newton steps are enough. Each is found by conjugate gradients,
which need the Hessian only as a product: one pass over those rows. Up to 8 classes are worked on side by side, since
a pass takes the time that memory takes, whatever is done with it.
"""

from dataclasses import dataclass

import numpy as np

from rnnlab.models.ngrams import GramRows

MOST_STEPS = 30
MOST_PRODUCTS = 40  # in one step
TOLERANCE = (
    1e-3  # of the gradient, by that at zero, at which the optimum is reached, if half of the rows are the class's
)
MOST_HALVINGS = 20
INEXACT = 0.1  # of the gradient, that a step may leave


@dataclass
class Hinge:
    """The problem of some classes: ``sides`` (rows, width) are 1 or -1, ``ratios`` (features, width)."""

    x: GramRows
    sides: np.ndarray
    ratios: np.ndarray

    def __post_init__(self) -> None:
        gradients = self._gradient(self.empty(), np.ones_like(self.sides), 1.0)[2]  # (width,), at zero, over C
        shares = np.minimum((self.sides > 0).mean(0), (self.sides < 0).mean(0))  # few rows of a class weigh little
        self.small = TOLERANCE * gradients * np.maximum(2 * shares, 1 / len(self.sides))

    def empty(self) -> "Weights":
        width = self.sides.shape[1]
        return Weights(np.zeros((self.x.features, width), np.float32), np.zeros(width, np.float32))

    def solve(self, weights: "Weights", strength: float) -> "Weights":
        """The optimum for C = ``strength``, from some weights on."""
        margins = self._within(weights)
        for _ in range(MOST_STEPS):
            of_table, of_bias, sizes = self._gradient(weights, margins, strength)
            wanted = sizes > strength * self.small
            if not wanted.any():
                break
            step = self._newton(of_table, of_bias, margins, strength, wanted)
            moves = self.sides * (self.x.product(self.ratios * step.table) + step.bias)  # (rows, width)
            lengths = _lengths(weights, step, margins, moves, strength)
            weights = Weights(weights.table + lengths * step.table, weights.bias + lengths * step.bias)
            margins -= lengths * moves
        return weights

    def _within(self, weights: "Weights") -> np.ndarray:
        """(rows, width): 1 - y (z · w + b); what is positive is within the margin."""
        return 1 - self.sides * (self.x.product(self.ratios * weights.table) + weights.bias)

    def _gradient(
        self, weights: "Weights", margins: np.ndarray, strength: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the weights (features, width) and biases (width,), and its norm (width,)."""
        delta = np.float32(-2 * strength) * self.sides * np.maximum(margins, 0)
        table = weights.table + self.ratios * self.x.transposed(delta)
        bias = weights.bias + delta.sum(0)
        return table, bias, np.sqrt(_dots(table, table) + bias.astype(np.float64) ** 2)

    def _newton(
        self, of_table: np.ndarray, of_bias: np.ndarray, margins: np.ndarray, strength: float, wanted: np.ndarray
    ) -> "Weights":
        """A step that solves H · step = -gradient, nearly; zero for classes that are not wanted any more."""
        curved = np.where((margins > 0) & wanted, np.float32(2 * strength), np.float32(0))  # (rows, width)
        diagonal = 1 + self.ratios**2 * self.x.transposed(curved * self.x.scale[:, None])  # frequent grams bend more
        step = self.empty()
        rest = Weights(-of_table * wanted, -of_bias * wanted)
        direction = Weights(rest.table / diagonal, rest.bias / (1 + curved.sum(0)))
        product, first = rest.dot(direction), rest.dot(rest)
        for _ in range(MOST_PRODUCTS):
            table, bias = self.x.curvature(self.ratios * direction.table, direction.bias, curved)
            turned = Weights(direction.table + self.ratios * table, direction.bias + bias)
            along = _share(product, direction.dot(turned))
            step.add(along, direction)
            rest.add(-along, turned)
            if (rest.dot(rest) <= INEXACT**2 * first).all():
                break
            eased = Weights(rest.table / diagonal, rest.bias / (1 + curved.sum(0)))
            before, product = product, rest.dot(eased)
            share = _share(product, before)
            direction = Weights(eased.table + share * direction.table, eased.bias + share * direction.bias)
        return step


@dataclass
class Weights:
    """Of some classes: table (features, width), bias (width,)."""

    table: np.ndarray
    bias: np.ndarray

    def dot(self, other: "Weights") -> np.ndarray:
        return _dots(self.table, other.table) + self.bias.astype(np.float64) * other.bias

    def add(self, shares: np.ndarray, other: "Weights") -> None:
        self.table += shares * other.table
        self.bias += shares * other.bias


def _lengths(weights: Weights, step: Weights, margins: np.ndarray, moves: np.ndarray, strength: float) -> np.ndarray:
    """(width,): of each class, the first of 1, ½, ¼ … that lowers the loss. Along a line it needs no features."""
    lengths, higher = np.ones(margins.shape[1]), np.ones(margins.shape[1], bool)
    squares, products, steps = weights.dot(weights), weights.dot(step), step.dot(step)
    before = squares / 2 + strength * _squares(margins)
    for _ in range(MOST_HALVINGS):
        penalty = (squares + 2 * lengths * products + lengths**2 * steps) / 2
        higher = penalty + strength * _squares(margins - lengths.astype(np.float32) * moves) > before
        if not higher.any():
            break
        lengths = np.where(higher, lengths / 2, lengths)
    return np.where(higher, 0, lengths).astype(np.float32)  # as low as these numbers can tell


def _squares(margins: np.ndarray) -> np.ndarray:
    within = np.maximum(margins, 0)
    return _dots(within, within)


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(width,): of two matrices, column by column; summed in blocks, which keeps the rounding of float32 small."""
    blocks = [np.einsum("ij,ij->j", a[at : at + 4096], b[at : at + 4096]) for at in range(0, len(a), 4096)]
    return np.asarray(np.sum(blocks, axis=0, dtype=np.float64)) if blocks else np.zeros(a.shape[1])


def _share(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Their quotient, 0 where a class is done."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0).astype(np.float32)
