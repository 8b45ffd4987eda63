"""A linear-chain conditional random field over hand-made features: the tagger to beat (Lafferty et al. 2001).

With the features f of token t, emissionsₜ = bias + Σ_f table[f], and the chain of `models.chain`, it minimises

    Σ_rows -log p(path) + (‖table‖² + ‖chain‖²) / (2 C)

by AdaGrad (Duchi et al. 2011), row by row, in some passes over the rows; what it has after each of the last passes is
averaged. The penalty of a feature is paid in equal shares wherever it stands. In each pass every feature of a token is
left out with the probability ``dropout``: else a few strong ones, the word itself above all, leave the others nothing
to learn, and of an unknown word the others are all there is (docs/decisions/0029).
"""

import hashlib
import itertools
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences, gather_rows
from rnnlab.kernels import ops
from rnnlab.models.baselines import Baseline, Choice, Inputs, Labelled, Learnt, Taught, baseline, share_right
from rnnlab.models.chain import best_paths, path_losses
from rnnlab.models.space import Between, Space
from rnnlab.models.tag_features import Template, attributes_of, features_of, learn_features, templates_for

STRENGTHS = (1.0, 5.0)  # of which validation chooses
USUAL = 5.0
PASSES, AVERAGED = 20, 8
RATE = 0.2
SMALLEST = 1e-8  # under the root of AdaGrad


@baseline("crf")
class Crf(Baseline):
    """A chain over features of words: prefixes, suffixes, shapes, neighbours; of characters: pairs and segments."""

    title: ClassVar[str] = "CRF of hand-made features"
    inputs: ClassVar[Inputs] = "tokens"
    answers: ClassVar[Taught] = "tags"
    space: ClassVar[Space] = {"model.C": Between(0.2, 30.0, log=True), "model.dropout": Between(0.0, 0.5)}

    C: float | None = Field(
        default=None, gt=0, description="Inverse strength of the L2 penalty; chosen on validation unless set."
    )
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the features of a token that each pass leaves out."
    )
    min_count: int = Field(default=2, ge=1, description="Features seen less often in training don't count.")

    def rows(self, data: Sequences, side: Side) -> tuple[np.ndarray, np.ndarray]:
        return attributes_of(data, side), data.offsets

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        return self._problem(Labelled(values, offsets, targets), classes).learn(self.C or USUAL, self.dropout)

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int, by: Choice = share_right) -> Learnt:
        problem = self._problem(train, classes)
        if self.C is not None or not len(valid.targets):
            return problem.learn(self.C or USUAL, self.dropout)
        found = [problem.learn(strength, self.dropout) for strength in STRENGTHS]
        right = [(self._paths(learnt, valid) == valid.targets).mean() for learnt in found]
        return found[int(np.argmax(right))]

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return _Read(learnt["features"], values, offsets).emissions(learnt["coef"]) + learnt["intercept"]

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {"C": float(learnt["C"][0])}

    def _problem(self, train: Labelled, classes: int) -> "_Problem":
        train = _by_content(train)
        features = features_of(train.values, train.offsets, templates_for(train.values))
        read = _Read(learn_features(features, self.min_count), train.values, train.offsets)
        return _Problem(read, train.offsets, train.targets, classes)

    def _paths(self, learnt: Learnt, rows: Labelled) -> np.ndarray:
        return best_paths(self.logits(learnt, rows.values, rows.offsets), rows.offsets, learnt["chain"])


def weights_at(learnt: Learnt, values: np.ndarray, offsets: np.ndarray, at: int) -> list[tuple[Template, np.ndarray]]:
    """The features of one token that training knows, each with what it adds to every tag, (C,)."""
    templates = templates_for(values)
    features = np.ascontiguousarray(features_of(values, offsets, templates)[:, at])
    places = ops.find_grams(learnt["features"], features)
    return [(template, learnt["coef"][place]) for template, place in zip(templates, places, strict=True) if place >= 0]


def _by_content(rows: Labelled) -> Labelled:
    """The rows in an order that depends on what they hold alone: which come first in a pass, and which features are
    left out, is drawn by their place."""
    bounds = list(itertools.pairwise(rows.offsets.tolist()))
    keys = [rows.values[a:b].tobytes() + rows.targets[a:b].tobytes() for a, b in bounds]
    order = sorted(range(len(keys)), key=lambda row: hashlib.blake2b(keys[row], digest_size=16).digest())
    values, offsets = gather_rows(rows.values, rows.offsets, np.array(order))
    targets, _ = gather_rows(rows.targets, rows.offsets, np.array(order))
    return Labelled(values, offsets, targets)


class _Read:
    """The known features of tokens: of token i, ``indices[starts[i]:starts[i + 1]]``."""

    known: np.ndarray  # (F,) ascending
    indices: np.ndarray  # int32
    starts: np.ndarray  # (N + 1,) int64

    def __init__(self, known: np.ndarray, attributes: np.ndarray, offsets: np.ndarray):
        features = features_of(attributes, offsets, templates_for(attributes))
        places = np.stack([ops.find_grams(known, column) for column in features], 1)  # (N, templates)
        there = places >= 0
        self.known = known
        self.indices = places[there]
        self.starts = np.append(0, np.cumsum(there.sum(1)))

    def emissions(self, table: np.ndarray) -> np.ndarray:
        """(N, C) of a table (F, C)."""
        first, end = self.starts[:-1].copy(), self.starts[1:].copy()
        found = ops.gram_product((self.indices, first, end, np.ones(len(first), np.float32)), table)
        if found is None:
            sums = np.add.reduceat(np.vstack([table[self.indices], table[:1]]), first)
            found = np.where((first < end)[:, None], sums, np.float32(0))
        return found


class _Problem:
    def __init__(self, read: _Read, offsets: np.ndarray, targets: np.ndarray, classes: int):
        self.read, self.targets, self.classes = read, np.ascontiguousarray(targets, np.int64), classes
        self.offsets = np.ascontiguousarray(offsets, np.int64)
        self.counts = np.bincount(read.indices, minlength=len(read.known))

    def learn(self, strength: float, dropout: float) -> Learnt:
        bias = len(self.read.known)  # a feature that every token has, without a penalty
        table = np.zeros((bias + 1, self.classes), np.float32)
        chain = np.zeros((self.classes + 2, self.classes), np.float32)
        squares, chain_squares = np.zeros_like(table), np.zeros_like(chain)
        pulls = (1 / (strength * (1 - dropout) * np.maximum(self.counts, 1))).astype(np.float32)
        pulls, pull = np.append(pulls, np.float32(0)), 1 / (strength * max(1, len(self.offsets) - 1))
        random = np.random.default_rng(0)
        table_sum, chain_sum = np.zeros_like(table), np.zeros_like(chain)
        for number in range(PASSES):
            order = random.permutation(len(self.offsets) - 1).astype(np.int32)
            kept = _left(self.read, random.random(len(self.read.indices), np.float32) >= dropout, bias)
            descend(order, self.offsets, self.targets, *kept, pulls, pull, table, squares, chain, chain_squares)
            if number >= PASSES - AVERAGED:
                table_sum += table
                chain_sum += chain
        table, chain = table_sum / np.float32(AVERAGED), chain_sum / np.float32(AVERAGED)
        return {
            "features": self.read.known,
            "coef": table[:bias] * np.float32(1 - dropout),
            "intercept": table[bias],
            "chain": chain,
            "C": np.array([strength]),
        }


def _left(read: _Read, kept: np.ndarray, bias: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices and starts of the features that aren't left out, the bias first."""
    counts = np.diff(np.append(0, np.cumsum(kept))[read.starts])
    starts = np.append(0, np.cumsum(counts + 1))
    indices = np.full(starts[-1], bias, np.int32)
    others = np.ones(len(indices), bool)
    others[starts[:-1]] = False
    indices[others] = read.indices[kept]
    return indices, starts


def descend(order: np.ndarray, *given: Any) -> None:
    """As `descend_naively`; native code does all rows but those that it leaves to others."""
    if not ops.active():
        descend_naively(order, *given)
        return
    while len(order):
        done = ops.chain_descend(order, RATE, *given)
        descend_naively(order[done : done + 1], *given)
        order = order[done + 1 :]


def descend_naively(
    order: np.ndarray, offsets: np.ndarray, targets: np.ndarray, indices: np.ndarray, starts: np.ndarray,
    pulls: np.ndarray, pull: float, table: np.ndarray, squares: np.ndarray, chain: np.ndarray,
    chain_squares: np.ndarray,
) -> None:  # fmt: skip
    """Of token i, the features ``indices[starts[i]:starts[i + 1]]``; ``pulls`` (features,) and ``pull``: the penalty's
    share of one appearance of a feature, and of the chain's in one row. Changes table and chain, and the sums of the
    squares of their gradients."""

    def step(at: Any, weights: np.ndarray, sums: np.ndarray, gradient: np.ndarray) -> None:
        sums[at] += gradient**2
        weights[at] -= np.float32(RATE) * gradient / np.sqrt(sums[at] + np.float32(SMALLEST))

    for row in order.tolist():
        tokens = range(offsets[row], offsets[row + 1])
        if not tokens:
            continue
        own = [indices[starts[token] : starts[token + 1]] for token in tokens]
        emissions = np.stack([table[features].sum(0) for features in own])
        path = targets[tokens.start : tokens.stop]
        _, delta, for_chain = path_losses(emissions, np.array([0, len(tokens)]), chain, path)
        step(slice(None), chain, chain_squares, for_chain + np.float32(pull) * chain)
        for features, of_token in zip(own, delta, strict=True):
            step(features, table, squares, of_token + pulls[features][:, None] * table[features])
