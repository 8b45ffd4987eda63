"""What needs no network to tell spoken words apart: statistics of cepstral coefficients, with logistic regression."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import Sequences
from rnnlab.data.sound.mel import cosines, slopes
from rnnlab.models.baselines import Balancing, Choice, Inputs, Labelled, Learnt, baseline, share_right
from rnnlab.models.logistic import fit_logistic
from rnnlab.models.space import Between, Space

STRENGTHS = (0.1, 0.3, 1.0, 3.0)  # of which validation chooses
USUAL = STRENGTHS[0]  # without validation rows


@baseline("mfcc")
class Mfcc(Balancing):
    """Mean and deviation of cepstral coefficients and of their changes, in each part of a recording, with logistic
    regression."""

    title: ClassVar[str] = "MFCC statistics + logistic regression"
    inputs: ClassVar[Inputs] = "sound"

    space: ClassVar[Space] = {"model.C": Between(0.003, 10.0, log=True)}

    C: float | None = Field(
        default=None, gt=0, description="Inverse strength of the L2 penalty; chosen on validation unless set."
    )
    coefficients: int = Field(default=13, ge=2, le=256, description="Cepstral coefficients, at most one per band.")
    parts: int = Field(default=3, ge=1, le=20, description="Parts of equal length, each with statistics of its own.")

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        return self._fitted(self._statistics(values, offsets), targets, classes, self.C or USUAL)

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int, by: Choice = share_right) -> Learnt:
        features = self._statistics(train.values, train.offsets)
        if self.C is not None:
            return self._fitted(features, train.targets, classes, self.C)
        held_out = self._statistics(valid.values, valid.offsets)
        tried = [self._fitted(features, train.targets, classes, strength) for strength in STRENGTHS]
        return max(tried, key=lambda learnt: by(self._answered(learnt, held_out), valid.targets))  # of equals the first

    def _fitted(self, features: np.ndarray, targets: np.ndarray, classes: int, strength: float) -> Learnt:
        mean, scale = features.mean(0), np.maximum(features.std(0), 1e-6)
        weights = self.weights_of(targets, classes)
        coef, intercept = fit_logistic((features - mean) / scale, targets, classes, strength, weights)
        return {"mean": mean, "scale": scale, "coef": coef, "intercept": intercept, "C": np.array([strength])}

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {} if self.C is not None else {"C": float(learnt["C"][0])}

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self._answered(learnt, self._statistics(values, offsets))

    def _answered(self, learnt: Learnt, features: np.ndarray) -> np.ndarray:
        return ((features - learnt["mean"]) / learnt["scale"] @ learnt["coef"].T + learnt["intercept"]).astype(
            np.float32
        )

    def rows(self, data: Sequences, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Log-mel bands as they were before they were standardised: cepstra are made of those."""
        values, offsets = super().rows(data, side)
        if side.scaler is None or side.sound is None:
            return values, offsets
        return side.sound.spectra(values * np.array(side.scaler.std) + np.array(side.scaler.mean)), offsets

    def _statistics(self, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(rows, parts · 4 · coefficients + 1)."""
        cepstra = values.astype(np.float64) @ cosines(values.shape[1], self.coefficients).T
        lengths = np.diff(offsets)
        both = np.hstack([cepstra, slopes(cepstra, lengths)])
        sums = np.vstack([np.zeros(both.shape[1]), np.cumsum(both, axis=0)])
        squares = np.vstack([np.zeros(both.shape[1]), np.cumsum(both**2, axis=0)])
        told = [np.log(lengths)[:, None]]
        for part in range(self.parts):
            first = lengths * part // self.parts
            last = np.maximum(first + 1, -(-lengths * (part + 1) // self.parts))  # parts overlap by a frame or not
            count = (last - first)[:, None]
            first, last = offsets[:-1] + first, offsets[:-1] + last
            mean = (sums[last] - sums[first]) / count
            told += [mean, np.sqrt(np.maximum((squares[last] - squares[first]) / count - mean**2, 0))]
        return np.hstack(told)
