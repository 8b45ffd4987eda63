"""Words in their order, of which nobody says at which steps they stand: connectionist temporal classification (CTC)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from rnnlab.answers import ctc
from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.edits import MISSED, align
from rnnlab.answers.heads import StateHead
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch, targets_of
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, Targets, offsets_of

IMPOSSIBLE = 27.6  # nats per word of a row too short for its words: a share of 1e-12
BEAM = 16  # beginnings kept for alternatives, at least
ALTERNATIVES = 10  # told of each row
MOST_BESIDE = 4  # words heard besides, at one place, that are kept; all are counted

WER = ratio("wer", "word error rate", "edits", "words", lower_is_better=True)
EXACT = ratio("exact", "exact match", "right_rows", "rows")
LOSS = ratio("loss", "loss", "nats", "words", lower_is_better=True, unit="number", metric="log-loss")


@dataclass(frozen=True)
class WordsPrediction(Prediction):
    """Words, with the share of all their alignments together; other words with theirs are among the
    ``probabilities``."""

    words: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, str]:
        return self.label or "–", f"{self.probability:.3f}"

    def to_dict(self) -> dict[str, Any]:
        others = [(label, p) for label, p in self.top(ALTERNATIVES + 1) if label != self.label]
        return {
            "label": self.label,
            "words": list(self.words),
            "probability": self.probability,
            "alternatives": [{"label": label, "probability": p} for label, p in others],
        }


class Words(Answer):
    """Outputs (B, T, C + 1), of which the last is the blank; targets (B, L) with `IGNORE` behind the last word. Of the
    outputs is kept what each word was heard as, how many words were heard besides and which (`beside`), and the
    surprise.

    With ``beam`` = 1 the answer is the best alignment, the best of every step. Else it is the words whose alignments
    have the largest share together, which may be others, as far as so many beginnings tell."""

    scores: tuple[Score, ...] = (WER, EXACT, LOSS)
    beside: str = "exact"
    baselines: tuple[str, ...] = ("segments",)
    reads: ClassVar[Literal["summary", "states"]] = "states"
    ranks: ClassVar[bool] = True

    def __init__(self, beam: int = 1):
        self.beam = beam

    def outputs(self, preprocessor: Preprocessor) -> int:
        return len(preprocessor.labels) + 1

    def head(self, width: int, outputs: int) -> nn.Module:
        return StateHead(width, outputs)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        """Per word. A row too short for its words teaches nothing."""
        counts = (batch.targets != IGNORE).sum(1)
        return ctc.nats(out, batch.lengths, batch.targets, counts).sum() / counts.sum().clamp(min=1)

    def right(self, out: Tensor, batch: Batch) -> float:
        heard, offsets = ctc.best_alignments(*_end_to_end(out.detach(), batch.lengths))
        targets = batch.targets.cpu().numpy()
        asked = targets != IGNORE
        same_length = asked.sum(1) == np.diff(offsets)
        found = np.full(targets.shape, IGNORE)
        rows = np.repeat(np.arange(len(targets)), np.diff(offsets))
        place = np.arange(len(heard)) - np.repeat(offsets[:-1], np.diff(offsets))
        inside = same_length[rows]
        found[rows[inside], place[inside]] = heard[inside]
        return float((same_length & (found == targets).all(1)).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        counts = (batch.targets != IGNORE).sum(1)
        surprise = ctc.nats(out, batch.lengths, batch.targets, counts)
        impossible = ctc.steps_needed(batch.targets, counts) > batch.lengths
        answers = self.decoded(*_end_to_end(out, batch.lengths))
        true = [row[row != IGNORE].tolist() for row in batch.targets.cpu()]
        heard = torch.full(batch.targets.shape, MISSED, dtype=torch.int32)
        beside = torch.full((*batch.targets.shape, MOST_BESIDE), MISSED, dtype=torch.int32)
        added = torch.zeros(len(true), dtype=torch.int32)
        for row, (words, answer) in enumerate(zip(true, answers, strict=True)):
            found, more = align(words, answer)
            added[row] = len(more)
            heard[row, : len(words)] = torch.tensor(found, dtype=torch.int32)
            _note_beside(beside[row], more)
        return {
            "heard": heard,
            "added": added,
            "beside": beside,
            "nats": torch.where(impossible, IMPOSSIBLE * counts, surprise).float(),
            "impossible": impossible,
        }

    def taught(self, data: Sequences) -> np.ndarray:
        """(rows, L), `IGNORE` behind the last word of a row."""
        return targets_of(data, np.arange(len(data)))

    def kept_of(self, outputs: np.ndarray, data: Sequences, chain: np.ndarray | None = None) -> Kept:
        truth = data.truth
        assert truth.offsets is not None
        kept: dict[str, list[np.ndarray]] = {}
        for row in range(len(data)):
            targets = truth.values[truth.offsets[row] : truth.offsets[row + 1]]
            steps = outputs[data.starts[row] : data.ends[row]]
            batch = Batch(torch.empty(1, 0), torch.tensor([len(steps)]), torch.from_numpy(targets)[None])
            for name, part in self.keep(torch.from_numpy(steps)[None], batch).items():
                kept.setdefault(name, []).append(part.flatten(0, min(1, part.ndim - 1)).numpy())
        return {name: np.concatenate(parts) for name, parts in kept.items()}

    def decoded(self, scores: np.ndarray, offsets: np.ndarray) -> list[list[int]]:
        """The words of each row; scores (N, C + 1) of all steps."""
        pairs = itertools.pairwise(offsets.tolist())
        if self.beam > 1:
            return [list(ctc.best_words(scores[first:end], self.beam)[0][0]) for first, end in pairs]
        heard, ends = ctc.best_alignments(scores, offsets)
        return [heard[first:end].tolist() for first, end in itertools.pairwise(ends.tolist())]

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        missed = targets.sum_by_row(kept["heard"] == MISSED)
        changed = targets.sum_by_row((kept["heard"] != targets.values) & (kept["heard"] != MISSED))
        edits = changed + missed + kept["added"]
        return {
            "rows": np.ones(len(targets)),
            "right_rows": (edits == 0).astype(np.float64),
            "words": targets.sum_by_row(np.ones(len(targets.values))),
            "edits": edits,
            "changed": changed,
            "missed": missed,
            "added": kept["added"].astype(np.float64),
            "nats": kept["nats"].astype(np.float64),
        }

    def details(self, kept: Kept, targets: Targets) -> dict[str, Any]:
        """How many words were changed, missed and added; how many rows are too short for theirs."""
        totals = self.totals(kept, targets)
        found: dict[str, Any] = {name: int(totals[name][0]) for name in ("words", "changed", "missed", "added")}
        return found | {"impossible": int(kept["impossible"].sum())}

    def chance(self, targets: Targets) -> float:
        """Of silence: networks begin with blanks alone."""
        silent = {
            "heard": np.full(len(targets.values), MISSED),
            "added": np.zeros(len(targets)),
            "nats": np.full(len(targets), np.inf),
        }
        return self.chosen.of(self.totals(silent, targets))

    def predictions(self, outputs: np.ndarray, asked: Asked) -> Sequence[WordsPrediction]:
        labels, data = asked.preprocessor.labels, asked.data
        told = []
        for row, (start, end) in enumerate(zip(data.starts.tolist(), data.ends.tolist(), strict=True)):
            steps = outputs[start:end] / np.float64(asked.temperature)
            (answer,) = self.decoded(steps, np.array([0, len(steps)]))
            found = dict(ctc.best_words(steps, max(BEAM, self.beam), ALTERNATIVES)) | {tuple(answer): 0.0}
            shares = dict(zip(found, _shares(steps, list(found)), strict=True))
            said = {" ".join(labels[word] for word in words): share for words, share in shares.items()}
            words = tuple(labels[word] for word in answer)
            told.append(
                WordsPrediction(" ".join(words), shares[tuple(answer)], said, float(asked.known[row]), words=words)
            )
        return told


def _note_beside(beside: Tensor, added: Sequence[tuple[int, int]]) -> None:
    """Into (L, `MOST_BESIDE`): of each true word the words that were heard after it, before the next. Those that were
    heard before the first one stand there, too, as -2 - word."""
    for after, word in added if len(beside) else ():
        at = max(0, after - 1)
        free = (beside[at] == MISSED).nonzero()
        if len(free):
            beside[at, int(free[0])] = word if after else -2 - word


def heard_beside(beside: np.ndarray) -> list[list[int]]:
    """Of one row (L, `MOST_BESIDE`): the words that were heard after no true word, after one, after two …"""
    found: list[list[int]] = [[] for _ in range(len(beside) + 1)]
    for at, words in enumerate(beside.tolist()):
        for word in words:
            if word > MISSED:
                found[at + 1].append(word)
            elif word < MISSED:
                found[0].append(-2 - word)
    return found


def _end_to_end(out: Tensor, lengths: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """(B, T, C + 1) → (N, C + 1) without padding, and where each row begins."""
    there = torch.arange(out.shape[1], device=out.device) < lengths[:, None]
    return out[there].cpu().numpy(), offsets_of(lengths.cpu().numpy())


def _shares(steps: np.ndarray, every: Sequence[ctc.Words]) -> list[float]:
    """Of one row (T, C + 1), the share of each of some words, all alignments together."""
    counts = torch.tensor([len(words) for words in every])
    targets = torch.full((len(every), max(1, int(counts.max()))), IGNORE)
    for row, words in enumerate(every):
        targets[row, : len(words)] = torch.tensor(words, dtype=torch.int64)
    out = torch.from_numpy(steps.astype(np.float64))[None].expand(len(every), -1, -1)
    return (-ctc.nats(out, torch.full((len(every),), len(steps)), targets, counts)).exp().tolist()
