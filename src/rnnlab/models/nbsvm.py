"""NB-SVM (Wang & Manning 2012): a linear model of n-grams, each weighed by how much more often it stands in a class.

What isn't set is chosen on the validation rows: how strong the penalty is, how long the n-grams are, and, if it may be,
which loss is minimised. The choices that are fixed (docs/decisions/0018) were made on validation rows, too.

With zᵢₖ = rₖ ∘ xᵢ, where r (features, width) says how much a feature may matter for a class, it minimises

    Σₖ (‖wₖ‖² + bₖ²) / 2 + C Σᵢ vᵢ loss(logitsᵢ),    logitsᵢₖ = zᵢₖ · wₖ + bₖ

where the loss is the squared hinge, max(0, 1 - y logit)² of one class against the rest, or the cross-entropy of all
classes (softmax), and vᵢ is 1, or what a row of its class counts. At the optimum, w is a sum of rows:
wₖ = Σᵢ aᵢₖ zᵢₖ. So native code goes from row to row and makes the duals aᵢ of each the best ones while all others stay
(Hsieh et al. 2008; Yu, Huang & Lin 2011); ten to thirty passes are enough. Without a compiler, rows one by one would
take hours, and L-BFGS finds the same optimum.
"""

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from rnnlab.kernels import ops
from rnnlab.models.baselines import Balancing, Choice, Inputs, Labelled, Learnt, baseline, share_right
from rnnlab.models.gram_rows import GramRows, Levels, learn_grams, read_grams
from rnnlab.models.logistic import dot, minimise
from rnnlab.models.space import Among, Between, Space

if TYPE_CHECKING:
    from scipy import sparse

Loss = Literal["hinge", "softmax"]

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # the strongest penalty first
WEAKER = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # the same for softmax, whose loss is less steep
USUAL = {"hinge": 0.3, "softmax": 3.0}  # without validation rows
PATIENCE = 2  # weaker penalties in a row that are no better, then no weaker one is tried
SMOOTHING = 0.3  # rows that every gram is taken to stand in besides, in each class
FEWEST = 2  # rows that a 2-gram or longer must stand in
NEVER = -1e4  # the logit of a class without training rows
TOLERANCE = 0.02  # how far the duals of a class move in a pass, by their size, at which the optimum is reached
MOST_PASSES = 60
CURVATURE = {"hinge": 1.0, "softmax": 0.1}  # of the loss, at a guess
SHARPNESS = 2.0 ** (np.arange(-8, 25) / 4)  # what margins are multiplied by to be logits; chosen on validation


@baseline("nbsvm")
class NbSvm(Balancing):
    """NB-weighted n-grams with a linear model: the bag of words to beat."""

    added: ClassVar[tuple[str, ...]] = ("loss",)
    model_defaults: ClassVar[dict[str, Any]] = {"loss": "chosen"}
    title: ClassVar[str] = "NB-weighted n-grams + linear SVM"
    inputs: ClassVar[Inputs] = "tokens"

    space: ClassVar[Space] = {
        "model.ngrams": Among(1, 2, 3, 4, 5),
        "model.C": Between(0.02, 20.0, log=True),
    }

    ngrams: int = Field(
        default=3, ge=1, le=6, description="Longest n-gram, in tokens; validation chooses among it and shorter ones."
    )
    C: float | None = Field(
        default=None, gt=0, description="Inverse strength of the L2 penalty; chosen on validation unless set."
    )

    loss: Literal["hinge", "softmax", "chosen"] = Field(
        default="hinge",
        description="Squared hinge, one class against the rest; softmax, all classes at once; or chosen on validation.",
    )

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        nothing = Labelled(values[:0], np.zeros(1, np.int64), targets[:0])
        return self.fit_chosen(Labelled(values, offsets, targets), nothing, classes)

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int, by: Choice = share_right) -> Learnt:
        known = [level for level in learn_grams(train.values, train.offsets, self.ngrams, FEWEST) if len(level)]
        x = read_grams(known, train.values, train.offsets)
        weights = self.weights_of(train.targets, classes)
        losses: list[Loss] = ["hinge", "softmax"] if self.loss == "chosen" else [self.loss]
        if train.targets.ndim == 2 or len(np.unique(train.targets)) < 3:
            losses = ["hinge"]  # of two classes, softmax hardly differs
        if not len(valid.targets):
            return _Path(x, known, train.targets, classes, losses[0], weights).learn(self.C or USUAL[losses[0]])
        held_out = read_grams(known, valid.values, valid.offsets)
        best, best_score = {}, -math.inf
        strengths = (WEAKER if losses[0] == "softmax" else STRENGTHS) if self.C is None else (self.C,)
        for longest in range(1, len(known) + 1):
            path = _Path(x.up_to(longest), known[:longest], train.targets, classes, losses[0], weights)
            learnt, score = _best_of(path, strengths, held_out.up_to(longest), valid.targets, by)
            strengths = strengths[max(0, strengths.index(learnt["C"][0]) - 1) :]  # more grams bear a weaker penalty
            if score > best_score:  # of equals, the shorter n-grams
                best, best_score = learnt, score
        for loss in losses[1:]:  # with n-grams as long as the first one had best
            longest = len(best["levels"])
            path = _Path(x.up_to(longest), known[:longest], train.targets, classes, loss, weights)
            strengths = tuple(c for c in WEAKER if c >= best["C"][0]) if self.C is None else (self.C,)
            learnt, score = _best_of(path, strengths, held_out.up_to(longest), valid.targets, by)
            if score > best_score:
                best, best_score = learnt, score
        return best

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return _scores(learnt, read_grams(levels_of(learnt), values, offsets))

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        found = {"C": float(learnt["C"][0]), "ngrams": len(learnt["levels"])}
        return {**found, "loss": "softmax" if learnt["softmax"][0] else "hinge"}


def _best_of(
    path: "_Path", strengths: tuple[float, ...], held_out: GramRows, targets: np.ndarray, by: Choice
) -> tuple[Learnt, float]:
    """What is learnt with the best penalty, and how good it is on the validation rows."""
    best, best_score, behind = {}, -math.inf, 0
    for strength in strengths:
        learnt = path.learn(strength)
        logits = _scores(learnt, held_out)
        factor = _sharpness(learnt, logits, targets)
        score = by(logits * factor, targets)
        behind += 1
        if score > best_score:  # of equals, the stronger penalty
            best, best_score, behind = _sharpened(learnt, factor), score, 0
        if behind == PATIENCE:
            break
    return best, best_score


def levels_of(learnt: Learnt) -> Levels:
    return np.split(learnt["grams"], np.cumsum(learnt["levels"])[:-1])


class _Path:
    """The models of weaker and weaker penalties, each found from the one before."""

    def __init__(
        self, x: GramRows, known: Levels, targets: np.ndarray, classes: int, loss: Loss, weights: np.ndarray | None
    ):
        self.loss = loss
        self.grams, self.levels = np.concatenate(known), np.array([len(level) for level in known], np.int64)
        self.intercept = np.full(classes, NEVER, np.float32)
        if targets.ndim == 2:  # each label against the rest
            self.fitted = np.arange(classes)
            self.intercept[:] = 0
            sides = [np.where(targets[:, label] > 0, 0, -1) for label in range(classes)]
            self.problems = [Problem(x, side, log_count_ratios(x, side, 1), loss) for side in sides]
            return
        present = np.unique(targets)
        self.fitted = present[1:] if len(present) == 2 else present  # the first of two classes is what the other isn't
        self.intercept[present] = 0
        column = np.full(classes, -1)
        column[self.fitted] = np.arange(len(self.fitted))
        columns = column[targets]
        ratios = log_count_ratios(x, columns, len(self.fitted))
        if loss == "softmax":  # better with less of a difference between grams
            ratios = np.sign(ratios) * np.sqrt(np.abs(ratios))
        self.problems = [Problem(x, columns, ratios, loss, weights)]

    def learn(self, strength: float) -> Learnt:
        solved = [problem.solve(strength) for problem in self.problems]
        coef, bias = np.hstack([table for table, _ in solved]), np.concatenate([bias for _, bias in solved])
        intercept = self.intercept.copy()
        intercept[self.fitted] = bias
        return {
            "grams": self.grams,
            "levels": self.levels,  # grams of each length
            "coef": coef,  # (grams, fitted classes)
            "intercept": intercept,  # (classes,)
            "fitted": self.fitted.astype(np.int64),
            "C": np.array([strength], np.float64),
            "softmax": np.array([self.loss == "softmax"], np.int64),
        }


def log_count_ratios(x: GramRows, columns: np.ndarray, width: int) -> np.ndarray:
    """(features, width): the log of how much more often a gram stands in rows of a class than in the others, by the
    grams of either. ``columns`` (rows,) are the classes of the rows, -1 for one without a column."""
    ours = columns[:, None] == np.arange(width)
    real = 1 / x.scale[:, None]  # undoes the scale: rows are counted
    inside, outside = (
        x.transposed(np.where(side, real, np.float32(0))).astype(np.float64) + SMOOTHING for side in (ours, ~ours)
    )
    return (np.log(inside / inside.sum(0)) - np.log(outside / outside.sum(0))).astype(np.float32)


def _scores(learnt: Learnt, x: GramRows) -> np.ndarray:
    """(rows, classes)."""
    logits = np.tile(learnt["intercept"], (len(x), 1))
    logits[:, learnt["fitted"]] += x.product(learnt["coef"])
    return logits


def _sharpness(learnt: Learnt, logits: np.ndarray, targets: np.ndarray) -> np.float32:
    """What margins are multiplied by to be the logits that suit the validation rows best."""
    if targets.ndim == 2:
        sides = np.where(targets > 0, -logits, logits).astype(np.float64)
        return np.float32(SHARPNESS[int(np.argmin([np.logaddexp(0, f * sides).sum() for f in SHARPNESS]))])
    possible = learnt["intercept"] != NEVER
    kept = possible[targets]  # a target that is never the answer costs the same whatever the factor is
    wide = logits[kept].astype(np.float64)
    behind = wide[:, possible] - wide[np.arange(len(wide)), targets[kept]][:, None]
    losses = [np.logaddexp.reduce(factor * behind, axis=1).sum() for factor in SHARPNESS]
    return np.float32(SHARPNESS[int(np.argmin(losses))])


def _sharpened(learnt: Learnt, factor: np.float32) -> Learnt:
    """The same answers, with margins as many times as large."""
    possible = learnt["intercept"] != NEVER
    intercept = np.where(possible, learnt["intercept"] * factor, np.float32(NEVER))
    return {**learnt, "coef": learnt["coef"] * factor, "intercept": intercept}


class Problem:
    """Of rows whose high column is ``columns`` (rows,), -1 where none is; ``ratios`` (features, width). Each solution
    is found from the one before."""

    x: GramRows
    columns: np.ndarray
    ratios: np.ndarray
    table: np.ndarray
    bias: np.ndarray

    def __init__(
        self, x: GramRows, columns: np.ndarray, ratios: np.ndarray, loss: Loss, weights: np.ndarray | None = None
    ):
        self.x, self.columns, self.ratios, self.loss = x, columns.astype(np.int32), ratios, loss
        self.weights: np.ndarray = np.ones(len(x), np.float32) if weights is None else weights
        self.table, self.bias = np.zeros_like(ratios), np.zeros(ratios.shape[1], np.float32)
        if ops.active():
            self.squares: np.ndarray = ratios**2
            self.norms: np.ndarray = x.scale[:, None] * x.product(self.squares) + 1  # 1: the bias
            self.duals: np.ndarray = np.zeros((len(x), ratios.shape[1]), np.float32)

    def solve(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """r ∘ w (features, width) and b (width,) for C = ``strength``."""
        (self._descend if ops.active() else self._minimise)(strength)
        return self.table.copy(), self.bias.copy()

    def _descend(self, strength: float) -> None:
        random = np.random.default_rng(0)  # rows in their own order, sorted by class for instance, converge slowly
        for _ in range(MOST_PASSES):
            order = random.permutation(len(self.x)).astype(np.int32)
            moved = ops.gram_descend(
                self.x.native, order, self.squares, self.norms, self.columns, self.weights * np.float32(strength),
                self.loss == "softmax",                self.duals, self.table, self.bias,
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
        self.ratios, self.loss, self.weights = problem.ratios, problem.loss, problem.weights[:, None]
        self.high = problem.columns[:, None] == np.arange(len(problem.bias))  # (rows, width)
        self.penalty = 1 / (strength * len(problem.x))
        squares = problem.ratios.T**2 * (self.matrix.T @ problem.x.scale) / len(problem.x)  # (width, features)
        bent = np.hstack([squares, np.ones((len(squares), 1))])
        self.scale = (1 / (CURVATURE[self.loss] * bent + self.penalty)).astype(np.float32)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        logits = self.matrix @ (self.ratios * weights[:, :-1].T) + weights[:, -1]
        value, delta = (_hinge if self.loss == "hinge" else _cross_entropy)(logits, self.high, self.weights)
        delta = (delta / len(delta)).astype(np.float32)
        gradient = np.hstack([(self.ratios * (self.matrix.T @ delta)).T, delta.sum(0)[:, None]])
        gradient += np.float32(self.penalty) * weights
        return value / len(delta) + self.penalty / 2 * dot(weights, weights), gradient


def _hinge(logits: np.ndarray, high: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum of the losses, and their gradient (rows, width)."""
    sides = np.where(high, np.float32(1), np.float32(-1))
    within = np.maximum(1 - sides * logits, 0)
    return dot(weights * within, within), -2 * weights * sides * within


def _cross_entropy(logits: np.ndarray, high: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum of the losses, and their gradient (rows, width)."""
    shifted = logits - logits.max(1, keepdims=True)
    powers = np.exp(shifted)
    sums = powers.sum(1, keepdims=True)
    losses = np.log(sums[:, 0]) - shifted[high]
    return float((weights[:, 0] * losses).sum(dtype=np.float64)), weights * (powers / sums - high)
