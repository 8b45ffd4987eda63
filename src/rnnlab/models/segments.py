"""What needs no network to hear words in their order: cut where it is quiet, and tell each piece by itself."""

import itertools
from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.preprocessor import Side
from rnnlab.data.sequences import IGNORE, Sequences, offsets_of
from rnnlab.models.baselines import Baseline, Choice, Inputs, Labelled, Learnt, Taught, baseline, share_right
from rnnlab.models.mfcc import Mfcc
from rnnlab.models.space import Between, Space

LOUD = tuple(np.arange(0.1, 0.75, 0.05).round(2).tolist())  # of the way from the quiet to the loudest frame
GAPS = (2, 3, 5, 7, 10, 14)  # frames of quiet, at least, between two words
PIECES = (3, 6, 10)  # frames of a word, at least
QUIET = 10  # per cent of a string's frames are as quiet as what is called quiet
ABSENT = -12.0  # the score of what isn't answered at a step


@baseline("segments")
class Segments(Baseline):
    """Strings are cut where it is quiet, and each piece is told by the statistics of its cepstral coefficients. Where
    to cut is chosen on the validation strings: where most of them have as many pieces as words. Pieces of training
    strings that have as many are what the words are learnt from, so that nobody has to say where they stand."""

    title: ClassVar[str] = "cut where it is quiet + MFCC statistics"
    inputs: ClassVar[Inputs] = "sound"
    answers: ClassVar[Taught] = "words"
    space: ClassVar[Space] = {"model.C": Between(0.003, 10.0, log=True)}

    C: float = Field(default=0.03, gt=0, description="Inverse strength of the L2 penalty.")
    coefficients: int = Field(default=13, ge=2, le=256, description="Cepstral coefficients, at most one per band.")
    parts: int = Field(default=3, ge=1, le=20, description="Parts of a piece, each with statistics of its own.")

    @property
    def _classifier(self) -> Mfcc:
        return Mfcc(C=self.C, coefficients=self.coefficients, parts=self.parts)

    def fit(self, values: np.ndarray, offsets: np.ndarray, targets: np.ndarray, classes: int) -> Learnt:
        train = Labelled(values, offsets, targets)
        return self.fit_chosen(train, train, classes)

    def fit_chosen(self, train: Labelled, valid: Labelled, classes: int, by: Choice = share_right) -> Learnt:
        """Targets (rows, L), `IGNORE` behind the last word of a row."""
        cut = _chosen_cut(_rows(*_frames(valid.values, valid.offsets)), (valid.targets != IGNORE).sum(1))
        frames, offsets = _frames(train.values, train.offsets)
        taught, answers = [], []
        for row, targets in zip(_rows(frames, offsets), train.targets, strict=True):
            pieces, said = _pieces(_loudness(row), *cut), targets[targets != IGNORE]
            if len(pieces) == len(said):
                taught += [row[first:end] for first, end in pieces]
                answers += said.tolist()
        known = {"cut": np.array(cut, np.float64)}
        if not taught:  # nothing is heard, then
            return known
        lengths = offsets_of(np.array([len(piece) for piece in taught]))
        return known | self._classifier.fit(np.concatenate(taught), lengths, np.array(answers), classes)

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return dict(zip(("loud", "gap", "piece"), learnt["cut"].tolist(), strict=True))

    def logits(self, learnt: Learnt, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(N, C + 1) of all steps: blanks, but for one step in the middle of each piece, where its words have their
        scores."""
        stack = values.shape[1] if values.ndim == 3 else 1
        classes = len(learnt["intercept"]) if "intercept" in learnt else 0
        found = np.full((len(values), classes + 1), ABSENT, np.float32)
        found[:, -1] = 0
        frames, frame_offsets = _frames(values, offsets)
        loud, gap, piece = learnt["cut"].tolist()
        pieces, steps = [], []
        for first_step, row in zip(offsets[:-1].tolist(), _rows(frames, frame_offsets), strict=True):
            for first, end in _pieces(_loudness(row), loud, gap, piece):
                pieces.append(row[first:end])
                steps.append(first_step + (first + end) // 2 // stack)
        if not pieces or not classes:
            return found
        scores = self._classifier.logits(
            learnt, np.concatenate(pieces), offsets_of(np.array([len(piece) for piece in pieces]))
        )
        found[steps, :-1] = scores - scores.max(1, keepdims=True)
        found[steps, -1] = ABSENT
        return found

    def rows(self, data: Sequences, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """(N, stack, bands): log-mel frames as they were before they were standardised."""
        values, offsets = super().rows(data, side)
        if side.scaler is None or side.sound is None:
            return values, offsets
        values = values * np.array(side.scaler.std) + np.array(side.scaler.mean)
        return values.reshape(len(values), side.sound.stack, -1), offsets


def _chosen_cut(rows: list[np.ndarray], words: np.ndarray) -> tuple[float, int, int]:
    """That by which most rows have as many pieces as ``words`` (rows,); of equals, the one whose neighbours do best."""
    loudness = [_loudness(row) for row in rows]
    cuts = list(itertools.product(LOUD, GAPS, PIECES))
    as_many = [
        sum(len(_pieces(row, *cut)) == count for row, count in zip(loudness, words, strict=True)) for cut in cuts
    ]
    table = np.array(as_many, float).reshape(len(LOUD), len(GAPS), len(PIECES))
    around = np.lib.stride_tricks.sliding_window_view(np.pad(table, 1, "edge"), (3, 3, 3)).sum((3, 4, 5))
    return cuts[int(np.lexsort((-around.ravel(), -table.ravel()))[0])]


def _frames(values: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, bands) or (N, stack, bands) → (N · stack, bands), with their own offsets."""
    stack = values.shape[1] if values.ndim == 3 else 1
    return values.reshape(len(values) * stack, -1), offsets * stack


def _rows(frames: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    return [frames[first:end] for first, end in itertools.pairwise(offsets.tolist())]


def _loudness(frames: np.ndarray) -> np.ndarray:
    """(T, bands) → (T,), from 0 where it is quiet to 1 where it is loudest."""
    energy = np.logaddexp.reduce(frames.astype(np.float64), axis=1)
    quiet = np.percentile(energy, QUIET)
    return (energy - quiet) / max(energy.max() - quiet, 1e-6)


def _pieces(loudness: np.ndarray, loud: float, gap: float, piece: float) -> list[tuple[int, int]]:
    """From and to which frame each piece goes: louder than ``loud``, ``gap`` quiet frames apart at least."""
    at = np.flatnonzero(loudness > loud)
    if not len(at):
        return []
    breaks = np.flatnonzero(np.diff(at) > gap)
    firsts, lasts = at[np.concatenate([[0], breaks + 1])], at[np.concatenate([breaks, [len(at) - 1]])]
    return [
        (first, last + 1)
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
        if last + 1 - first >= piece
    ]
