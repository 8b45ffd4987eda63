"""What continues a text without a network: how often each token stands there at all, and n-grams."""

from typing import ClassVar, Literal

import numpy as np

from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.models.baselines import Baseline, Inputs, Learnt, baseline


class Continuing(Baseline):
    """It knows a probability for every next token."""

    inputs: ClassVar[Inputs] = "tokens"
    answers: ClassVar[Literal["row", "words", "tags", "next"]] = "next"

    def fit_text(self, train: Sequences, valid: Sequences, words: int) -> Learnt:
        """``words`` is the size of the vocabulary; what is left open is chosen on the validation rows."""
        raise NotImplementedError

    def surprise(self, learnt: Learnt, data: Sequences) -> np.ndarray:
        """(M, 2) for all targets: nats, and whether it was the most probable token; 0 where nothing is counted."""
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
        nats = np.where(asked, -learnt["log_share"][np.where(asked, targets, 0)], 0.0)
        return np.stack([nats, targets == learnt["log_share"].argmax()], axis=1)
