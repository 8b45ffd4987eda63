"""A softmax over some words instead of all, for large vocabularies: training alone, answers are always exact.

An update scores its *candidates*: the words that come next somewhere in its batch, and of the others each word w with
probability q_w = min(1, c · n_w^0.75), by how often it occurs; c makes the q_w sum up to ``training.softmax_samples``.
The partition function Z = Σ exp(logit) is then estimated as Horvitz and Thompson do: a word of the batch counts once, a
word that was drawn 1 / q_w times. So E[Ẑ] = Z, whatever the batch. All rows of an update share one set of candidates,
which makes the head one small matrix product.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlab.answers.base import Answer
from rnnlab.answers.heads import ScoringHead
from rnnlab.core.seeding import generator
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE
from rnnlab.models.network import Network
from rnnlab.training.spec import RunSpec

FLATTENED = 0.75  # the power of the counts: rare words are drawn more often than they occur (Mikolov et al. 2013)


class Candidates(NamedTuple):
    """The words that one update scores."""

    rows: Tensor  # (C,), ascending
    places: Tensor  # (N,): where among them each target is
    log_weights: Tensor  # (C,): log 1 / q_w, or 0 for words of the batch


class SampledSoftmax:
    """Draws the candidates of each update, from (seed, number of the update) alone."""

    shares: np.ndarray
    seed: int

    def __init__(self, shares: np.ndarray, seed: int):
        """``shares`` (V,): q_w, each above 0."""
        self.shares, self.seed = shares, seed
        self._log_weights = torch.from_numpy(-np.log(shares))  # (V,)

    @classmethod
    def of(cls, spec: RunSpec, data: EncodedData) -> "SampledSoftmax | None":
        """As the settings of a run say; None: all words are scored."""
        if spec.training is None or spec.training.softmax_samples is None:
            return None
        targets, words = data.train.targets, spec.task.answer.outputs(Preprocessor.of(data))
        counts = np.bincount(targets[targets != IGNORE], minlength=words)
        return cls(inclusion(counts, spec.training.softmax_samples), spec.seed)

    def candidates(self, targets: Tensor, step: int) -> Candidates:
        """For targets (N,) of the update after so many others."""
        drawn = generator(self.seed, "candidates", step).random(len(self.shares)) < self.shares
        own = np.zeros(len(self.shares), bool)
        own[targets.cpu().numpy()] = True
        found = np.flatnonzero(drawn | own)
        places = np.empty(len(self.shares), np.int64)
        places[found] = np.arange(len(found))
        rows = torch.from_numpy(found)
        weights = self._log_weights[rows].masked_fill(torch.from_numpy(own[found]), 0.0)
        return Candidates(
            rows.to(targets.device), torch.from_numpy(places).to(targets.device)[targets], weights.to(targets.device)
        )

    def backward(self, network: Network, answer: Answer, batch: Batch, step: int) -> tuple[float, float]:
        """Adds the gradients of the mean loss to those of the parameters; those of the scoring vectors are left to the
        optimiser, row by row. Returns the loss, and how many rows are right, both among the candidates."""
        head = network.head
        assert isinstance(head, ScoringHead)
        encoded = network.before_head(*answer.given(batch))
        asked = batch.targets != IGNORE
        targets = batch.targets[asked]
        states = head.scored(encoded)[asked]  # (N, S)
        rows, places, log_weights = self.candidates(targets, step)
        table, bias = head.scoring
        vectors = table.detach().index_select(0, rows).requires_grad_()  # (C, S)
        logits = F.linear(states, vectors, bias.index_select(0, rows) + log_weights.to(states.dtype))
        loss = F.cross_entropy(logits, places)
        loss.backward()
        head.leave(rows, vectors)
        hits = torch.zeros_like(batch.targets, dtype=torch.bool)
        hits[asked] = logits.detach().argmax(1) == places
        return loss.item(), float((hits.sum(1) / asked.sum(1).clamp(min=1)).sum())


def inclusion(counts: np.ndarray, samples: int) -> np.ndarray:
    """q (V,): how likely each word is to be drawn, by how often it occurs, (V,). They sum up to ``samples``, unless
    there are fewer words. Words that never occur count as those that occur once: else nothing would ever be learnt
    against them."""
    flat = np.maximum(counts, 1) ** FLATTENED
    always = np.zeros(len(flat), bool)
    while not always.all():
        shares = np.where(always, 1.0, (samples - always.sum()) / flat[~always].sum() * flat)
        if not (shares[~always] >= 1).any():
            return shares
        always |= shares >= 1
    return np.ones(len(flat))
