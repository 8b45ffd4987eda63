"""What a trained model says of a new row, and why."""

from dataclasses import dataclass
from typing import Any

from rnnlab.core.words import note


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

    def top(self, most: int) -> list[tuple[str, float]]:
        """The most probable labels with their probabilities, the first one first."""
        return sorted(self.probabilities.items(), key=lambda item: -item[1])[:most]

    def to_dict(self) -> dict[str, Any]:
        """For ``rnnlab predict --json``."""
        return {"label": self.label, "probabilities": self.probabilities}


@dataclass(frozen=True)
class Explanation:
    """A prediction, and what every token of the text (for `tfidf` and `nbsvm`, every n-gram) adds to a label."""

    prediction: Prediction
    label: str  # that is explained
    tokens: tuple[tuple[str, float], ...]  # in the order of the text; a weight above 0 speaks for the label

    def strongest(self, most: int = 5) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The tokens that speak loudest for the label, and those against it; loudest first."""
        ranked = sorted(self.tokens, key=lambda token: -abs(token[1]))
        return [t for t in ranked if t[1] > 0][:most], [t for t in ranked if t[1] < 0][:most]

    def to_dict(self) -> dict[str, Any]:
        """For ``rnnlab predict --json --explain``."""
        tokens = [{"text": text, "weight": weight} for text, weight in self.tokens]
        return {**self.prediction.to_dict(), "explains": self.label, "tokens": tokens}
