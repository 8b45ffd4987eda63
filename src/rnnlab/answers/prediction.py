"""What a trained model says of a new row, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlab.core.words import note
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences


@dataclass(frozen=True, eq=False)
class Asked:
    """New rows that a model is asked about, and what it takes to tell its answers."""

    inputs: Sequence[Any]  # as they were given
    data: Sequences  # as the model reads them
    known: np.ndarray  # (rows,): the share of each row's tokens that the model has seen in training
    preprocessor: Preprocessor
    temperature: float = 1.0  # by which outputs are divided, so that probabilities are honest


@dataclass(frozen=True)
class Prediction:
    """One label for a sequence. A task whose answers hold more has a subclass."""

    label: str
    probability: float
    probabilities: dict[str, float]
    known: float  # the share of the tokens that the model has seen in training (1.0 for numbers)

    @property
    def remark(self) -> str | None:
        """What a person should know besides."""
        return note("no word of it is known to the model") if self.known == 0 else None

    @property
    def labels(self) -> tuple[str, ...]:
        """All that are given: one, unless a row may have several or none."""
        return (self.label,)

    @property
    def told(self) -> tuple[str, str]:
        """The answer and how probable it is, as the command line prints them."""
        return self.label, f"{self.probability:.3f}"

    def top(self, most: int) -> list[tuple[str, float]]:
        """The most probable labels with their probabilities, the first one first."""
        return sorted(self.probabilities.items(), key=lambda item: -item[1])[:most]

    def to_dict(self) -> dict[str, Any]:
        """For ``rnnlab predict --json``."""
        return {"label": self.label, "probabilities": self.probabilities}


@dataclass(frozen=True)
class Explanation:
    """A prediction, and what every token of the text (for `tfidf` and `nbsvm`, every n-gram; for `crf`, every feature)
    adds to a label."""

    prediction: Prediction
    label: str  # that is explained
    tokens: tuple[tuple[str, float], ...]  # in the order of the text; a weight above 0 speaks for the label
    of: int | None = None  # the place of the token whose tag is explained, where every token has one
    runner_up: "Explanation | None" = None  # the same for the tag that it would have had instead

    def strongest(self, most: int = 5) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The tokens that speak loudest for the label, and those against it; loudest first."""
        ranked = sorted(self.tokens, key=lambda token: -abs(token[1]))
        return [t for t in ranked if t[1] > 0][:most], [t for t in ranked if t[1] < 0][:most]

    def to_dict(self) -> dict[str, Any]:
        """For ``rnnlab predict --json --explain``."""
        tokens = [{"text": text, "weight": weight} for text, weight in self.tokens]
        explained: dict[str, Any] = {} if self.of is None else {"token": self.of + 1}
        if self.runner_up is not None:
            others = [{"text": text, "weight": weight} for text, weight in self.runner_up.tokens]
            explained["runner_up"] = {"label": self.runner_up.label, "tokens": others}
        return {**self.prediction.to_dict(), "explains": self.label, **explained, "tokens": tokens}
