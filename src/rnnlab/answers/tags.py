"""A label for every step, or for those that are asked for; where labels are parts of entities, entities are counted."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.calibration import Calibration, calibrate
from rnnlab.answers.heads import StateHead
from rnnlab.answers.label import probabilities
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.answers.score import Score, ratio
from rnnlab.core.words import note
from rnnlab.data.batches import Batch
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, Targets, offsets_of
from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.cutting import token_offsets
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.models import chain as chains

LEAST = 1e-12  # a probability of 0 would be an endless surprise
FORBIDDEN = -1e4  # what a step that the scheme doesn't know scores
LOSS = ratio("loss", "loss", "nats", "steps", lower_is_better=True, unit="number", metric="log-loss")


def f1(totals: np.ndarray) -> float:
    """Of what is right, answered and true: 1 where there is nothing to find and nothing was said."""
    right, answered, true = totals
    return float(2 * right / (answered + true)) if answered + true > 0 else 1.0


def share_of_unknown(totals: np.ndarray) -> float:
    """Right ones of all: 1 where there is none."""
    return float(totals[0] / totals[1]) if totals[1] > 0 else 1.0


SHOWN = 3  # unknown words that a remark names
TAGGERS = ("frequent-tag", "hmm", "crf")
ENTITY_F1 = Score("entity_f1", "entity F1", ("right_entities", "answered_entities", "entities"), f1)
UNKNOWN_WORDS = Score("unknown_words", "accuracy on unseen words", ("right_unknown", "unknown"), share_of_unknown)


class Entity(NamedTuple):
    """A span of a text: characters from ``start`` up to ``end``."""

    type: str
    start: int
    end: int
    text: str
    probability: float  # that of its least sure tag


@dataclass(frozen=True)
class TagsPrediction(Prediction):
    """A label for each step; its probability is that of all of them together."""

    steps: tuple[tuple[str, float], ...] = ()
    tokens: tuple[str, ...] = ()  # that the labels are for, where they are known
    entities: tuple[Entity, ...] | None = None  # where labels are parts of them
    unknown: tuple[int, ...] = ()  # places of tokens that the training rows lack

    @property
    def remark(self) -> str | None:
        if not self.unknown or not self.tokens or self.known == 0:
            return super().remark
        words = list(dict.fromkeys(self.tokens[at] for at in self.unknown))
        shown = ", ".join(words[:SHOWN]) + (" …" if len(words) > SHOWN else "")
        return note("unknown to the model: {words}", words=shown)

    @property
    def told(self) -> tuple[str, str]:
        """Entities with their types; of other tags, each behind its token."""
        if self.entities is not None:
            found = [f"{entity.text}/{entity.type}" for entity in self.entities]
            return "  ".join(found) or "–", f"{self.probability:.3f}"
        if not self.tokens:
            return super().told
        tags = zip(self.tokens, self.steps, strict=True)
        return " ".join(f"{token}/{label}" for token, (label, _) in tags), f"{self.probability:.3f}"

    def to_dict(self) -> dict[str, Any]:
        tags: list[dict[str, Any]] = [{"label": label, "probability": p} for label, p in self.steps]
        if self.tokens:
            unknown = set(self.unknown)
            each = enumerate(zip(self.tokens, tags, strict=True))
            tags = [{"token": token, **tag, "known": at not in unknown} for at, (token, tag) in each]
        found: dict[str, Any] = {"label": self.label, "tags": tags}
        if self.entities is not None:
            found["entities"] = [entity._asdict() for entity in self.entities]
        return found


class Tags(Answer):
    """Outputs (B, T, C), targets (B, T): `IGNORE` at padding and at steps that aren't asked for. Of the outputs the
    answer, its surprise and how sure it is are kept, not C numbers per step.

    Where the network scores tags by those beside them (`models.chain`), its outputs are (B, T + C + 2, C): the last
    rows are the chain, and the answer is the best path."""

    reads: ClassVar[Literal["summary", "states"]] = "states"
    kernel: ClassVar[str | None] = "class a step"
    balances: ClassVar[bool] = True
    beside: str
    baselines: tuple[str, ...]
    chains: bool
    words: bool
    scheme: str | None
    labels: tuple[str, ...]

    def __init__(
        self,
        title: str = "accuracy",
        whole: bool = False,
        *,
        words: bool = False,
        scheme: str | None = None,
        labels: Sequence[str] = (),
    ):
        """``whole``: a row counts as right when all of its steps are, and by that epochs are chosen; else every step
        counts by itself. ``words``: steps are words, of which some never
        stand in the training rows. ``labels`` are parts of entities, as
        the ``scheme`` says."""
        exact = ratio("exact", "exact match", "right_rows", "rows")
        steps = ratio("digit_accuracy" if whole else "accuracy", title, "right_steps", "steps")
        of_rows = ratio("accuracy", title, "right_rows", "rows")
        self.scores: tuple[Score, ...] = (of_rows, exact, steps, LOSS) if whole else (steps, exact, LOSS)
        if words:
            self.scores, self.beside = (steps, UNKNOWN_WORDS, exact, LOSS), UNKNOWN_WORDS.name
        if scheme is not None:
            self.scores, self.beside = (ENTITY_F1, *self.scores), steps.name
        self.chosen_by = "exact" if whole else None
        self.counts_whole = whole
        self.chains = words or scheme is not None
        self.baselines = TAGGERS if self.chains else ()
        self.words, self.scheme, self.labels = words, scheme, tuple(labels)

    def outputs(self, preprocessor: Preprocessor) -> int:
        return len(preprocessor.labels)

    def head(self, width: int, outputs: int) -> nn.Module:
        return StateHead(width, outputs)

    def forbidden(self, outputs: int) -> np.ndarray:
        """(C + 2, C): `FORBIDDEN` where the scheme doesn't know that one tag follows another, else 0."""
        if self.scheme is None:
            return np.zeros((outputs + 2, outputs), np.float32)
        return np.where(schemes.allowed(self.labels, self.scheme), 0.0, FORBIDDEN).astype(np.float32)

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        emissions, chain = divided(out, batch)
        if chain is not None:
            known = _known_paths(chain, batch)
            total = chains.chain_loss(emissions[known], batch.lengths[known], chain, batch.targets[known])
            return total / batch.lengths.sum()
        return F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE)

    def weighted_loss(self, out: Tensor, batch: Batch, weights: Tensor) -> Tensor:
        targets = batch.targets.flatten()
        losses = F.cross_entropy(out.flatten(0, 1), targets, ignore_index=IGNORE, reduction="none")
        asked = targets != IGNORE
        return (weights[targets.clamp(min=0)] * losses).sum() / asked.sum()

    def right(self, out: Tensor, batch: Batch) -> float:
        """With a chain, by each step's own scores: nearly the same, and quicker."""
        emissions, _ = divided(out, batch)
        asked = batch.targets != IGNORE
        hits = ((emissions.argmax(2) == batch.targets) & asked).sum(1)
        asked = asked.sum(1)
        return float((hits == asked).sum() if self.counts_whole else (hits / asked.clamp(min=1)).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        emissions, chain = divided(out, batch)
        if chain is None:
            shares = emissions.softmax(2)
            answers, sure = shares.argmax(2), shares.amax(2)
            nats = F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE, reduction="none")
            kept = {"answers": answers.to(torch.int32), "nats": nats.view(batch.targets.shape), "sure": sure}
        else:
            there = torch.arange(emissions.shape[1], device=out.device) < batch.lengths[:, None]
            found = self.decoded(
                emissions[there].cpu().numpy(),
                offsets_of(batch.lengths.cpu().numpy()),
                chain.cpu().numpy(),
                batch.targets[there].cpu().numpy(),
            )
            kept = {name: _laid_out(array, there) for name, array in found.items()}
        return kept

    def kept_of(self, outputs: np.ndarray, data: Sequences, chain: np.ndarray | None = None) -> Kept:
        return self.decoded(outputs, data.offsets, chain, data.truth.values)

    def decoded(
        self, emissions: np.ndarray, offsets: np.ndarray, chain: np.ndarray | None, targets: np.ndarray
    ) -> dict[str, np.ndarray]:
        """What is kept of steps laid end to end: emissions (N, C), targets (N,)."""
        if chain is None:
            shares = probabilities(emissions.astype(np.float64))
            answers = emissions.argmax(1)
        else:
            shares = chains.marginals(emissions, offsets, chain)
            answers = chains.best_paths(emissions, offsets, chain)
        at = np.arange(len(answers))
        nats = -np.log(np.maximum(shares[at, np.maximum(targets, 0)], LEAST))
        return {
            "answers": answers.astype(np.int32),
            "nats": nats.astype(np.float32),
            "sure": shares[at, answers].astype(np.float32),
        }

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        asked = targets.values != IGNORE
        right = (kept["answers"] == targets.values) & asked
        steps, right_steps = targets.sum_by_row(asked), targets.sum_by_row(right)
        found = {
            "rows": np.ones(len(targets)),
            "right_rows": (right_steps == steps).astype(np.float64),
            "steps": steps,
            "right_steps": right_steps,
            "nats": targets.sum_by_row(np.where(asked, kept["nats"], 0.0)),
        }
        if self.words:
            unknown = asked & (False if targets.unseen is None else targets.unseen)
            found |= {"unknown": targets.sum_by_row(unknown), "right_unknown": targets.sum_by_row(right & unknown)}
        if self.scheme is not None:
            by_type = self._entities(kept, targets)
            names = ("right_entities", "answered_entities", "entities")
            found |= {name: counts.sum(1) for name, counts in zip(names, by_type, strict=True)}
        return found

    def _entities(self, kept: Kept, targets: Targets) -> tuple[np.ndarray, ...]:
        """Right, answered and true ones: (rows, types) each."""
        assert self.scheme is not None
        assert targets.offsets is not None
        return schemes.count_spans(kept["answers"], targets.values, targets.offsets, self.labels, self.scheme)

    def details(self, kept: Kept, targets: Targets) -> dict[str, Any]:
        """Of tags, how often each was taken for each; of entities, what was right per type, what each type was taken
        for (`schemes.confuse_spans`), and how many steps the scheme doesn't know."""
        if self.counts_whole or not self.labels or targets.offsets is None:
            return {}
        classes, asked = len(self.labels), targets.values != IGNORE
        cells = np.bincount(targets.values[asked] * classes + kept["answers"][asked], minlength=classes**2).reshape(
            classes, classes
        )
        found: dict[str, Any] = {"tag_confusion": cells.tolist()}
        if self.scheme is not None:
            types = schemes.types_of(self.labels, self.scheme)
            right, answered, true = (counts.sum(0).astype(int).tolist() for counts in self._entities(kept, targets))
            found["types"] = {
                name: {"right": right[at], "answered": answered[at], "true": true[at]} for at, name in enumerate(types)
            }
            cells = schemes.confuse_spans(kept["answers"], targets.values, targets.offsets, self.labels, self.scheme)
            found["type_confusion"] = cells.tolist()
            found["illegal"] = int(schemes.illegal(kept["answers"], targets.offsets, self.labels, self.scheme).sum())
        return found

    def tags(self, kept: Kept) -> np.ndarray | None:
        return kept["answers"] if self.labels else None

    def upgrade(self, kept: dict[str, np.ndarray], targets: Targets) -> dict[str, np.ndarray]:
        """Format 1 kept all logits (N, C)."""
        if "logits" not in kept:
            return kept
        true = np.where(targets.values == IGNORE, 0, targets.values)
        return self.decoded(kept["logits"], np.zeros(1, np.int64), None, true)

    def calibration(self, valid: tuple[Kept, Targets], test: tuple[Kept, Targets]) -> Calibration | None:
        """Of each answer one asks whether it is right: a question with two answers."""
        if not self.words or "sure" not in valid[0]:
            return None
        return calibrate(*_questions(*valid), *_questions(*test))

    def predictions(self, outputs: np.ndarray, asked: Asked) -> list[TagsPrediction]:
        data, labels = asked.data, asked.preprocessor.labels
        chain = np.array(asked.preprocessor.chain, np.float32) if asked.preprocessor.chain else None
        offsets = offsets_of(data.lengths)
        found = self.decoded(outputs, offsets, chain, np.zeros(len(outputs), np.int64))
        best, sure = found["answers"], calibrated(found["sure"], asked.temperature)
        told = []
        for row, (first, end) in enumerate(itertools.pairwise(offsets.tolist())):
            names = [labels[number] for number in best[first:end]]
            steps = tuple(zip(names, sure[first:end].tolist(), strict=True))
            label, p = " ".join(names), float(np.exp(np.log(np.maximum(sure[first:end], LEAST)).sum()))
            tokens, entities = self._located(asked.inputs[row], steps, asked.preprocessor)
            unknown = tuple(np.flatnonzero(data.tokens[first:end] == UNKNOWN).tolist()) if self.words else ()
            known = float(asked.known[row])
            told.append(TagsPrediction(label, p, {label: p}, known, steps, tokens, entities, unknown))
        return told

    def _located(
        self, given: Any, steps: Sequence[tuple[str, float]], preprocessor: Preprocessor
    ) -> tuple[tuple[str, ...], tuple[Entity, ...] | None]:
        """The tokens of an input, and where its entities stand in it."""
        if not self.labels:
            return (), None
        tokens = preprocessor.words_of(given)
        if self.scheme is None:
            return tuple(tokens), None
        text = preprocessor.text_of(tokens if isinstance(given, list) else given)
        places = token_offsets(text, tokens)
        found = []
        for first, end, kind in schemes.spans([label for label, _ in steps], self.scheme):
            start, stop = places[first][0], places[end - 1][1]
            found.append(Entity(kind, start, stop, text[start:stop], min(p for _, p in steps[first:end])))
        return tuple(tokens), tuple(found)


def divided(out: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """Emissions (B, T, C), and the chain (C + 2, C) where there is one: the same for all rows."""
    steps = batch.inputs.shape[1]
    return (out, None) if out.shape[1] == steps else (out[:, :steps], out[0, steps:])


def _known_paths(chain: Tensor, batch: Batch) -> Tensor:
    """(B,) bool: rows whose tags the scheme knows. Of others, which are mistakes in the data, the loss would be that of
    `FORBIDDEN`, and drown all else."""
    tags, lengths, classes = batch.targets.clamp(min=0), batch.lengths, chain.shape[1]
    steps = torch.arange(tags.shape[1] - 1, device=tags.device) < (lengths - 1)[:, None]
    between = chain[tags[:, :-1], tags[:, 1:]].masked_fill(~steps, 0.0)
    start, end = chain[classes, tags[:, :1]], chain[classes + 1, tags.gather(1, (lengths - 1)[:, None])]
    return torch.cat([start, between, end], dim=1).amin(1) > FORBIDDEN / 2


def calibrated(sure: np.ndarray, temperature: float) -> np.ndarray:
    """The log odds of probabilities (N,), divided by the temperature, as probabilities again."""
    odds = _log_odds(sure) / temperature
    return 1 / (1 + np.exp(-odds))


def _questions(kept: Kept, targets: Targets) -> tuple[np.ndarray, np.ndarray]:
    """Logits (N, 2) of wrong and right, and which it is, of each step that is asked for."""
    asked = targets.values != IGNORE
    yes = _log_odds(kept["sure"][asked])
    return np.stack([np.zeros_like(yes), yes], 1), (kept["answers"] == targets.values)[asked].astype(np.int64)


def _log_odds(share: np.ndarray) -> np.ndarray:
    inside = np.clip(share.astype(np.float64), LEAST, 1 - 1e-7)
    return np.log(inside) - np.log1p(-inside)


def _laid_out(flat: np.ndarray, there: Tensor) -> Tensor:
    """(N,) → (B, T), zero at padding."""
    values = torch.from_numpy(flat)
    return torch.zeros(there.shape, dtype=values.dtype).masked_scatter_(there.cpu(), values)
