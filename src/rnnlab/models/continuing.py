"""What continues a text without a network: how often each token stands there at all, and n-grams."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.models import kneser_ney
from rnnlab.models.baselines import Baseline, Inputs, Learnt, Taught, baseline

FEW_KINDS = 500  # of tokens: an alphabet, whose n-grams may be long


class Continuing(Baseline):
    """It knows a probability for every next token."""

    inputs: ClassVar[Inputs] = "tokens"
    answers: ClassVar[Taught] = "next"

    def fit_text(self, train: Sequences, valid: Sequences, words: int) -> Learnt:
        """``words`` is the size of the vocabulary; what is left open is chosen on the validation rows."""
        raise NotImplementedError

    def surprise(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        """(M,): nats of all targets; 0 where nothing is counted."""
        raise NotImplementedError

    def next_shares(self, learnt: Learnt, contexts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """(B, words): how likely each token is after contexts (B, T), of which the first ``lengths`` (B,) count."""
        raise NotImplementedError


@baseline("unigram")
class Unigram(Continuing):
    """Every token as often as in the training text, whatever stands before it."""

    title: ClassVar[str] = "how often each token occurs"

    def fit_text(self, train: Sequences, valid: Sequences, words: int) -> Learnt:
        counts = np.bincount(train.truth.values, minlength=words) + 0.5  # no token is impossible
        return {"log_share": np.log(counts / counts.sum())}

    def surprise(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        targets = data.truth.values
        asked = targets != IGNORE
        return np.where(asked, -learnt["log_share"][np.where(asked, targets, 0)], 0.0)

    def next_shares(self, learnt: Learnt, contexts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return np.tile(np.exp(learnt["log_share"]), (len(contexts), 1))


@baseline("kneser-ney")
class KneserNey(Continuing):
    """Modified Kneser-Ney n-grams: what followed the last few tokens in the training text, smoothed by what followed
    fewer."""

    title: ClassVar[str] = "n-grams, smoothed by Kneser and Ney"

    order: int | None = Field(
        default=None,
        ge=1,
        le=12,
        description="Tokens of an n-gram; else chosen on validation, up to 8 for characters and 5 for words.",
    )

    def fit_text(self, train: Sequences, valid: Sequences, words: int) -> Learnt:
        assert train.target_offsets is not None
        assert valid.target_offsets is not None
        if self.order is not None:
            return kneser_ney.fit(train.targets.astype(np.int32), train.target_offsets, words, self.order)
        learnt = kneser_ney.fit(train.targets.astype(np.int32), train.target_offsets, words, self._orders(words)[-1])
        tried = {n: self._nats(learnt, valid, n).sum() for n in self._orders(words)}
        return kneser_ney.cut(learnt, min(tried, key=lambda n: tried[n]))

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {} if self.order is not None else {"order": kneser_ney.highest_order(learnt)}

    def surprise(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        return self._nats(learnt, data)

    def next_shares(self, learnt: Learnt, contexts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return kneser_ney.next_shares(learnt, contexts, lengths)

    def _orders(self, words: int) -> range:
        return kneser_ney.ORDERS["characters" if words < FEW_KINDS else "words"]

    def _nats(self, learnt: Learnt, data: Sequences, order: int | None = None) -> np.ndarray:
        assert data.target_offsets is not None
        ids = data.targets.astype(np.int32)
        return kneser_ney.nats(learnt, ids, data.target_offsets, data.scored_from, order)
