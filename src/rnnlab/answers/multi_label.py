"""Several labels per row, or none: of each it is asked whether the row has it."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.calibration import Calibration, calibrate, fit_temperature
from rnnlab.answers.heads import SummaryHead
from rnnlab.answers.label import macro_f1
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.answers.score import Score, ratio
from rnnlab.answers.thresholds import By, choose_thresholds
from rnnlab.core.words import note
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Targets


def micro_f1(totals: np.ndarray) -> float:
    """Of right, given and true labels, (3,): F1 of all of them together; 0 where there are none."""
    right, answered, true = totals
    return float(2 * right / (answered + true)) if answered + true else 0.0


MICRO_F1 = Score("micro_f1", "micro-F1", ("right_labels", "answered_labels", "true_labels"), micro_f1)
MACRO_F1 = Score("macro_f1", "macro-F1", ("right_by_class", "answered_by_class", "rows_by_class"), macro_f1)
EXACT = ratio("exact", "exact match", "right", "rows")
LOSS = ratio("loss", "loss", "nats", "rows", lower_is_better=True, unit="number", metric="log-loss")


@dataclass(frozen=True)
class MultiLabelPrediction(Prediction):
    """All labels that reach their thresholds, perhaps none; ``label`` has them in one text. The probability is that of
    this set, as if labels didn't depend on each other."""

    given: tuple[str, ...] = ()
    thresholds: dict[str, float] = field(default_factory=dict)
    separator: str = ";"

    @property
    def labels(self) -> tuple[str, ...]:
        return self.given

    @property
    def remark(self) -> str | None:
        return super().remark or (None if self.labels else note("no label reaches its threshold"))

    @property
    def told(self) -> tuple[str, str]:
        return self.label, self.separator.join(f"{self.probabilities[label]:.3f}" for label in self.labels)

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "labels": list(self.labels),
            "probabilities": self.probabilities,
            "thresholds": self.thresholds,
        }


class MultiLabel(Answer):
    """Outputs (B, C), targets (B, C) uint8: 1 where a row has a label. A label is given where its output reaches its
    cut; the cuts (C,) are chosen on the validation rows, for the score that is judged, and 0 before that."""

    scores: tuple[Score, ...] = (MICRO_F1, MACRO_F1, EXACT, LOSS)
    beside: str = "macro_f1"
    baselines: tuple[str, ...] = ("lookup", "majority", "nbsvm", "statistics", "tfidf")
    kernel: ClassVar[str | None] = "labels"
    looks_up: ClassVar[bool] = True

    def __init__(self, separator: str = ";"):
        """``separator`` stands between labels where several are one text."""
        self.separator = separator

    def outputs(self, preprocessor: Preprocessor) -> int:
        return len(preprocessor.labels)

    def head(self, width: int, outputs: int) -> nn.Module:
        return SummaryHead(width, outputs)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        """Summed over the labels of a row: so much a row tells, whatever other labels there are."""
        losses = F.binary_cross_entropy_with_logits(out, batch.targets.to(out.dtype), reduction="sum")
        return losses / len(out)

    def right(self, out: Tensor, batch: Batch) -> float:
        return float(((out >= 0) == (batch.targets > 0)).all(1).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        return {"logits": out}

    def decided(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        """The cuts, (C,), for the score that is judged: one F1 of all labels together, or one for each. Where exact
        matches or probabilities are judged, as many right decisions as can be."""
        temperature = _temperature(kept, targets)
        thresholds = self._thresholds(kept, targets, temperature)
        return {"cuts": temperature * _log_odds(thresholds)}

    def prepared(self, preprocessor: Preprocessor, kept: Kept, targets: Targets) -> Preprocessor:
        """With the thresholds, as probabilities that are calibrated."""
        thresholds = _sigmoid(kept["cuts"] / _temperature(kept, targets))
        return replace(preprocessor, thresholds=tuple(thresholds.tolist()))

    def _thresholds(self, kept: Kept, targets: Targets, temperature: float) -> np.ndarray:
        aims: dict[str, By] = {"micro_f1": "all", "macro_f1": "each"}
        by = aims.get(self.judged.name, "decision")
        return choose_thresholds(_sigmoid(kept["logits"] / temperature), targets.values > 0, by)

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        answered, wanted = _answered(kept), targets.values > 0
        right = answered & wanted
        return {
            "rows": np.ones(len(wanted)),
            "right": (answered == wanted).all(1).astype(np.float64),
            "nats": surprise(kept["logits"], wanted),
            "right_labels": right.sum(1).astype(np.float64),
            "answered_labels": answered.sum(1).astype(np.float64),
            "true_labels": wanted.sum(1).astype(np.float64),
            "right_by_class": right.astype(np.float64),
            "answered_by_class": answered.astype(np.float64),
            "rows_by_class": wanted.astype(np.float64),
        }

    def details(self, kept: Kept, targets: Targets) -> dict[str, Any]:
        """Of each label: rows that have it, answers that give it, and those that are both."""
        totals = self.totals(kept, targets)
        names = {"right": "right_by_class", "answered": "answered_by_class", "rows": "rows_by_class"}
        return {"by_label": {name: totals[column][0].astype(int).tolist() for name, column in names.items()}}

    def chance(self, targets: Targets) -> float:
        shares = np.clip(targets.values.mean(0, dtype=np.float64), 1e-6, 1 - 1e-6)
        kept = {"logits": np.tile(_log_odds(shares), (len(targets), 1))}
        return self.chosen.of(self.totals({**kept, **self.decided(kept, targets)}, targets))

    def answers(self, kept: Kept) -> np.ndarray | None:
        return _answered(kept)

    def calibration(self, valid: tuple[Kept, Targets], test: tuple[Kept, Targets]) -> Calibration | None:
        """Every label of every row is a question of its own, with two answers."""
        found = calibrate(*_questions(*valid), *_questions(*test))
        return replace(found, rows=len(valid[1]), test_rows=len(test[1]))

    def predictions(self, outputs: np.ndarray, asked: Asked) -> list[MultiLabelPrediction]:
        labels, shares = asked.preprocessor.labels, _sigmoid(outputs / np.float64(asked.temperature))
        thresholds = asked.preprocessor.thresholds or (0.5,) * len(labels)
        answered = shares >= np.array(thresholds)
        certain = np.where(answered, shares, 1 - shares).prod(1)
        named = dict(zip(labels, thresholds, strict=True))
        found = []
        rows = zip(shares.tolist(), answered, certain.tolist(), asked.known.tolist(), strict=True)
        for row, given, sure, share in rows:
            chosen = tuple(labels[number] for number in np.flatnonzero(given))
            text = self.separator.join(chosen)
            by_label = dict(zip(labels, row, strict=True))
            found.append(MultiLabelPrediction(text, sure, by_label, share, chosen, named, self.separator))
        return found


def surprise(logits: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(N,): -log p of each row's labels (N, C), each taken by itself."""
    wide = logits.astype(np.float64)
    return np.logaddexp(0, np.where(wanted, -wide, wide)).sum(1)


def _answered(kept: Kept) -> np.ndarray:
    """(rows, C) bool: which labels are given."""
    return kept["logits"] >= kept.get("cuts", 0.0)


def _questions(kept: Kept, targets: Targets) -> tuple[np.ndarray, np.ndarray]:
    """Logits (rows · C, 2) of no and yes, and which is right."""
    yes = kept["logits"].ravel()
    return np.stack([np.zeros_like(yes), yes], 1), targets.values.ravel().astype(np.int64)


def _temperature(kept: Kept, targets: Targets) -> float:
    return fit_temperature(*_questions(kept, targets))


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits.astype(np.float64), -500, 500)))


def _log_odds(shares: np.ndarray) -> np.ndarray:
    return np.log(shares) - np.log1p(-shares)
