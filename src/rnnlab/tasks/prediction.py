"""What a trained model says of a new row."""

from dataclasses import dataclass
from typing import Any


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
        return "no word of it is known to the model" if self.known == 0 else None

    def to_dict(self) -> dict[str, Any]:
        """For ``rnnlab predict --json``."""
        return {"label": self.label, "probabilities": self.probabilities}
