"""What a shape of an answer has to say for itself."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn

from rnnlab.answers.calibration import Calibration
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.answers.score import Score
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences, Targets
from rnnlab.models.network import Network

Kept = Mapping[str, np.ndarray]
"""Answers to all rows of a split, as compact as later questions allow; in the order of the rows, or of the targets
where a row has several."""

References = Sequence[Sequence[str]]


class Answer(ABC):
    """One per shape. It holds no data: what it needs of them it is given."""

    scores: tuple[Score, ...]
    """The first one is judged."""
    beside: str = "loss"
    """The score that tables show beside the judged one."""
    chosen_by: str | None = None
    """The score by which epochs and trials are chosen on validation rows; None: the first one."""
    reads: ClassVar[Literal["summary", "states"]] = "summary"
    """What the head reads: the summary of a row, or the state at every step. There nothing is pooled."""
    ranks: ClassVar[bool] = False
    """Of an answer that reads states: whether a row has several answers as a whole, some more probable than others."""
    baselines: tuple[str, ...] = ()
    """What needs no network and runs beside every comparison, by name."""
    kernel: ClassVar[str | None] = None
    """What native code calls this head and loss (`kernels`); of the class that defines both, not of one that changes
    the loss."""
    balances: ClassVar[bool] = False
    """Whether targets are classes, so that rare ones can count more in the loss."""
    looks_up: ClassVar[bool] = False
    """Whether rows that stand in the training rows can be answered by what stands there."""
    chains: bool = False
    """Whether answers are tags, one per step, that a chain can score by those beside them (``model.crf``)."""
    continues: ClassVar[bool] = False
    """Whether answers are tokens of the vocabulary that is read, so that both may have the same vectors
    (``model.tied``)."""
    writes: ClassVar[bool] = False
    """Whether an answer is a text that is written token by token, for another one that is read whole first."""
    scheme: str | None = None
    """How tags are parts of entities (`data.tagged.schemes`); None where they are not."""
    counts_whole: bool = True
    """Whether a row is right or wrong as a whole; else it is right in part."""
    fewest_groups: int = 1
    """Of test rows that belong together: with fewer, it is too short to judge."""

    @property
    def metrics(self) -> dict[str, Score]:
        """The scores that one can ask to be judged by, as ``--metric`` calls them."""
        return {score.option: score for score in self.scores}

    def judged_by(self, metric: str | None) -> Self:
        """A copy whose epochs are chosen and whose answers are judged by one of the `metrics`; None: as it is."""
        if metric is None:
            return self
        score, changed = self.metrics[metric], copy.copy(self)
        changed.scores = (score, *(one for one in self.scores if one is not score))
        changed.chosen_by = None
        return changed

    @property
    def judged(self) -> Score:
        return self.scores[0]

    @property
    def chosen(self) -> Score:
        """The score by which epochs are chosen."""
        return next(score for score in self.scores if score.name == (self.chosen_by or self.judged.name))

    @property
    def beside_the_judged(self) -> Score:
        return next((one for one in self.scores[1:] if one.name == self.beside), self.scores[1])

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

    def given(self, batch: Batch) -> tuple[Tensor, ...]:
        """What of a batch the network reads."""
        return batch.inputs, batch.lengths

    def asked(self, network: Network, batch: Batch) -> Tensor:
        """What `keep` reads: the outputs for a batch, in evaluation."""
        return network(*self.given(batch))

    @abstractmethod
    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        """The mean loss of a batch, to differentiate."""

    def smoothed(self, share: float) -> Self:
        """One whose loss in training asks for the truth with a probability of 1 - ``share`` alone, the rest spread over
        all tokens; of an answer that `writes`."""
        return self

    def weighted_loss(self, out: Tensor, batch: Batch, weights: Tensor) -> Tensor:
        """The same, where a target of class c counts ``weights[c]`` (C,); of an answer that `balances`."""
        raise NotImplementedError

    @abstractmethod
    def right(self, out: Tensor, batch: Batch) -> float:
        """How many rows of a batch are right, cheaply: for the curve of the training rows."""

    @abstractmethod
    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        """What evaluation keeps of the outputs: (B, …); where a row has up to L targets, (B, L, …), or (B,) of the
        rows."""

    def taught(self, data: Sequences) -> np.ndarray:
        """The targets that a baseline is fitted to."""
        return data.targets

    def kept_of(self, outputs: np.ndarray, data: Sequences, chain: np.ndarray | None = None) -> Kept:
        """What is kept of the outputs of a baseline to all rows of a split, (rows, C), or (N, C) for all steps."""
        return {"logits": outputs}

    def completed(
        self, kept: Kept, network: Network, rows: Sequences, preprocessor: Preprocessor, references: References
    ) -> Kept:
        """What is kept of rows once training is over: more than was needed to choose epochs. ``references`` are texts
        that would be right, of each row, where an answer is a text that is written."""
        return kept

    def forbidden(self, outputs: int) -> np.ndarray:
        """(C + 2, C): what is added to the chain of an answer that `chains`; far below 0 for what must not come out."""
        raise NotImplementedError

    @abstractmethod
    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """What all scores are sums of, row by row: addable, never means of means."""

    def begin(self, head: nn.Module, data: EncodedData) -> None:
        """Before the first update: give a head what needs no training; for most shapes nothing."""
        return

    def before_validation(self, network: Network, valid: Sequences, device: torch.device) -> None:
        """Whenever weights are to be judged: give the head what it learns from validation rows without training; for
        most shapes nothing."""
        return

    def decided(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """What is chosen by the answers to the validation rows, and belongs to what is kept of all rows from then on;
        for most shapes nothing."""
        return {}

    def prepared(self, preprocessor: Preprocessor, kept: Kept, targets: Targets) -> Preprocessor:
        """With what was `decided` by the validation rows: all that a model needs to answer new rows."""
        return preprocessor

    def totals(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """`counts`, summed over the rows: (1,) or (1, k)."""
        counts = self.counts(kept, targets)
        return {name: np.asarray(column, np.float64).sum(0, keepdims=True) for name, column in counts.items()}

    def values(self, kept: Kept, targets: Targets) -> dict[str, float]:
        """Every score by its name."""
        totals = self.totals(kept, targets)
        return {score.name: score.of(totals) for score in self.scores}

    def signatures(self, references: References) -> dict[str, str]:
        """By the name of a score, what one has to say beside it so that others can compare theirs with it."""
        return {}

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

    def answers(self, kept: Kept) -> np.ndarray | None:
        """(rows, C) bool, the labels that each row got, where there may be several or none."""
        return None

    def tags(self, kept: Kept) -> np.ndarray | None:
        """(N,) the label that each step of each row got, where every step has one of its own and labels are known."""
        return None

    def calibration(self, valid: tuple[Kept, Targets], test: tuple[Kept, Targets]) -> Calibration | None:
        """By what outputs are divided so that probabilities are honest; None where there are no probabilities."""
        return None

    def predictions(self, outputs: np.ndarray, asked: Asked) -> Sequence[Prediction]:
        """What to tell of each row, given all outputs: (rows, C), or (N, C) for all steps."""
        raise NotImplementedError
