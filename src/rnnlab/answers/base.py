"""What a shape of an answer has to say for itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor, nn

from rnnlab.answers.calibration import Calibration
from rnnlab.answers.prediction import Prediction
from rnnlab.answers.score import Score
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences, Targets

Kept = Mapping[str, np.ndarray]
"""Answers to all rows of a split, as compact as later questions allow; in the order of the rows, or of the targets
where a row has several."""


class Answer(ABC):
    """One per shape. It holds no data: what it needs of them it is given."""

    scores: tuple[Score, ...]
    """The first one is judged."""
    beside: ClassVar[str] = "loss"
    """The score that tables show beside the judged one."""
    chosen_by: str | None = None
    """The score by which epochs and trials are chosen on validation rows; None: the first one."""
    reads: ClassVar[Literal["summary", "states"]] = "summary"
    """What the head reads: the summary of a row, or the state at every step. There nothing is pooled."""
    baselines: ClassVar[tuple[str, ...]] = ()
    """What needs no network and runs beside every comparison, by name."""
    kernel: ClassVar[str | None] = None
    """What native code calls this head and loss (`kernels`); of the class that defines both, not of one that changes
    the loss."""
    looks_up: ClassVar[bool] = False
    """Whether rows that stand in the training rows can be answered by what stands there."""
    counts_whole: bool = True
    """Whether a row is right or wrong as a whole; else it is right in part."""

    @property
    def judged(self) -> Score:
        return self.scores[0]

    @property
    def chosen(self) -> Score:
        """The score by which epochs are chosen."""
        return next(score for score in self.scores if score.name == (self.chosen_by or self.judged.name))

    @property
    def beside_the_judged(self) -> Score:
        return next(score for score in self.scores if score.name == self.beside)

    @property
    def native(self) -> str | None:
        """`kernel`, if head and loss are those that native code knows."""
        owners = {next(cls for cls in type(self).__mro__ if name in vars(cls)) for name in ("kernel", "loss", "head")}
        return self.kernel if len(owners) == 1 else None

    @abstractmethod
    def outputs(self, preprocessor: Preprocessor) -> int:
        """C, how many numbers an answer takes."""

    @abstractmethod
    def head(self, width: int, outputs: int) -> nn.Module:
        """From what the encoder made to outputs: ``Encoded -> (B, C)``, or (B, T, C)."""

    @abstractmethod
    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        """The mean loss of a batch, to differentiate."""

    @abstractmethod
    def right(self, out: Tensor, batch: Batch) -> float:
        """How many rows of a batch are right, cheaply: for the curve of the training rows."""

    @abstractmethod
    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        """What evaluation keeps of the outputs: (B, …), or (B, L, …) where a row has up to L targets."""

    @abstractmethod
    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """What all scores are sums of, row by row: addable, never means of means."""

    def totals(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """`counts`, summed over the rows: (1,) or (1, k)."""
        counts = self.counts(kept, targets)
        return {name: np.asarray(column, np.float64).sum(0, keepdims=True) for name, column in counts.items()}

    def values(self, kept: Kept, targets: Targets) -> dict[str, float]:
        """Every score by its name."""
        totals = self.totals(kept, targets)
        return {score.name: score.of(totals) for score in self.scores}

    def details(self, kept: Kept, targets: Targets) -> dict[str, Any]:
        """More than a number per score, for the record of the test rows."""
        return {}

    def upgrade(self, kept: dict[str, np.ndarray], targets: Targets) -> dict[str, np.ndarray]:
        """What earlier versions kept, as `keep` keeps it now."""
        return kept

    def chance(self, targets: Targets) -> float:
        """The chosen score of one and the same answer to all rows, at its best: learning begins above that. Infinitely
        bad where no such answer is known."""
        return -self.chosen.sign * np.inf

    def classes(self, kept: Kept) -> np.ndarray | None:
        """(rows,) int64, the label that each row got, where an answer is one label; for a table of confusions."""
        return None

    def calibration(self, valid: tuple[Kept, Targets], test: tuple[Kept, Targets]) -> Calibration | None:
        """By what outputs are divided so that probabilities are honest; None where there are no probabilities."""
        return None

    def predictions(
        self, outputs: np.ndarray, data: Sequences, known: np.ndarray, preprocessor: Preprocessor
    ) -> Sequence[Prediction]:
        """What to tell of each row, given all outputs: (rows, C), or (N, C) for all steps."""
        raise NotImplementedError
