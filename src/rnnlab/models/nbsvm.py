"""NB-SVM (Wang & Manning 2012): a linear model of n-grams, each weighed by how much more often it stands in a class.

What isn't set is chosen on the validation rows: how strong the penalty is, and how long the n-grams are. The choices
that are fixed (docs/decisions/0018) were made on validation rows, too.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from rnnlab.models.baselines import Baseline, Labelled, Learnt, baseline
from rnnlab.models.hinge import Hinge
from rnnlab.models.ngrams import GramRows, Levels, learn_grams, read_grams
from rnnlab.models.space import Among, Between, Space
from rnnlab.native.grams import WIDEST

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # the strongest penalty first
USUAL = 0.3  # without validation rows
PATIENCE = 2  # weaker penalties in a row that are no better, then no weaker one is tried
SMOOTHING = 0.3  # rows that every gram is taken to stand in besides, in each class
FEWEST = 2  # rows that a 2-gram or longer must stand in
NEVER = -1e4  # the logit of a class without training rows
SHARPNESS = 2.0 ** (np.arange(-8, 25) / 4)  # what margins are multiplied by to be logits; chosen on validation


@baseline("nbsvm")
class NbSvm(Baseline):
    """NB-weighted n-grams with a linear model: the bag of words to beat."""

    title: ClassVar[str] = "NB-weighted n-grams + linear SVM"
    inputs: ClassVar[Literal["any", "tokens", "features"]] = "tokens"

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

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        nothing = Labelled(values[:0], np.zeros(1, np.int64), targets[:0])
        return self.fit_chosen(Labelled(values, offsets, targets), nothing, classes)

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int) -> Learnt:
        known = [level for level in learn_grams(train.values, train.offsets, self.ngrams, FEWEST) if len(level)]
        x = read_grams(known, train.values, train.offsets)
        if not len(valid.targets):
            return _Path(x, known, train.targets, classes).learn(self.C or USUAL)
        held_out = read_grams(known, valid.values, valid.offsets)
        best, most_right = {}, -1
        strengths = STRENGTHS if self.C is None else (self.C,)
        for longest in range(1, len(known) + 1):
            path = _Path(x.up_to(longest), known[:longest], train.targets, classes)
            learnt, right = _best_of(path, strengths, held_out.up_to(longest), valid.targets)
            strengths = strengths[max(0, strengths.index(learnt["C"][0]) - 1) :]  # more grams bear a weaker penalty
            if right > most_right:  # of equals, the shorter n-grams
                best, most_right = learnt, right
        return _sharpened(best, self.logits(best, valid.values, valid.offsets), valid.targets)

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return _scores(learnt, read_grams(levels_of(learnt), values, offsets))

    def chosen(self, learnt: Learnt) -> dict[str, float]:
        return {"C": float(learnt["C"][0]), "ngrams": len(learnt["levels"])}


def _best_of(
    path: "_Path", strengths: tuple[float, ...], held_out: GramRows, targets: np.ndarray
) -> tuple[Learnt, int]:
    """What is learnt with the best penalty, and how many validation rows it gets right."""
    best, most_right, behind = {}, -1, 0
    for strength in strengths:
        learnt = path.learn(strength)
        right = int((_scores(learnt, held_out).argmax(1) == targets).sum())
        behind += 1
        if right > most_right:  # of equals, the stronger penalty
            best, most_right, behind = learnt, right, 0
        if behind == PATIENCE:
            break
    return best, most_right


def levels_of(learnt: Learnt) -> Levels:
    return np.split(learnt["grams"], np.cumsum(learnt["levels"])[:-1])


class _Path:
    """The models of weaker and weaker penalties, each found from the one before."""

    def __init__(self, x: GramRows, known: Levels, targets: np.ndarray, classes: int):
        present = np.unique(targets)
        self.fitted = present[1:] if len(present) == 2 else present  # the first of two classes is what the other isn't
        self.grams, self.levels = np.concatenate(known), np.array([len(level) for level in known], np.int64)
        self.intercept = np.full(classes, NEVER, np.float32)
        self.intercept[present] = 0
        sides = np.where(targets[:, None] == self.fitted, np.float32(1), np.float32(-1))
        self.blocks = [sides[:, at : at + WIDEST].copy() for at in range(0, len(self.fitted), WIDEST)]
        self.problems = [Hinge(x, block, log_count_ratios(x, block)) for block in self.blocks]
        self.weights = [problem.empty() for problem in self.problems]

    def learn(self, strength: float) -> Learnt:
        pairs = zip(self.problems, self.weights, strict=True)
        self.weights = [problem.solve(weights, strength) for problem, weights in pairs]
        tables = [problem.ratios * own.table for problem, own in zip(self.problems, self.weights, strict=True)]
        intercept = self.intercept.copy()
        intercept[self.fitted] = np.concatenate([own.bias for own in self.weights])
        return {
            "grams": self.grams,
            "levels": self.levels,  # grams of each length
            "coef": np.ascontiguousarray(np.hstack(tables)),  # (grams, fitted classes)
            "intercept": intercept,  # (classes,)
            "fitted": self.fitted.astype(np.int64),
            "C": np.array([strength], np.float64),
        }


def log_count_ratios(x: GramRows, sides: np.ndarray) -> np.ndarray:
    """(features, width): the log of how much more often a gram stands in rows of the class (``sides`` (rows, width) are
    1) than in the others, by the grams of either."""
    real = np.repeat(1 / x.scale[:, None], sides.shape[1], axis=1)  # undoes the scale: rows are counted
    inside = x.transposed(np.where(sides > 0, real, np.float32(0))).astype(np.float64) + SMOOTHING
    outside = x.transposed(np.where(sides > 0, np.float32(0), real)).astype(np.float64) + SMOOTHING
    return (np.log(inside / inside.sum(0)) - np.log(outside / outside.sum(0))).astype(np.float32)


def _scores(learnt: Learnt, x: GramRows) -> np.ndarray:
    """(rows, classes)."""
    logits = np.tile(learnt["intercept"], (len(x), 1))
    logits[:, learnt["fitted"]] += x.product(learnt["coef"])
    return logits


def _sharpened(learnt: Learnt, logits: np.ndarray, targets: np.ndarray) -> Learnt:
    """The same answers, with probabilities that suit the validation rows best: margins are no logits yet."""
    possible = learnt["intercept"] != NEVER
    kept = possible[targets]  # a target that is never the answer costs the same whatever the factor is
    wide = logits[kept].astype(np.float64)
    behind = wide[:, possible] - wide[np.arange(len(wide)), targets[kept]][:, None]
    losses = [np.logaddexp.reduce(factor * behind, axis=1).sum() for factor in SHARPNESS]
    factor = np.float32(SHARPNESS[int(np.argmin(losses))])
    intercept = np.where(possible, learnt["intercept"] * factor, np.float32(NEVER))
    return {**learnt, "coef": learnt["coef"] * factor, "intercept": intercept}
