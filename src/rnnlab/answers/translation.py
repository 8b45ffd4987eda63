"""A text for a text: written token by token, judged as a whole against one or several references."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.answers.base import Answer, Kept, References
from rnnlab.answers.bleu import BLEU, bleu_counts, signature
from rnnlab.answers.chrf import CHRF, chrf_counts, chrf_signature
from rnnlab.answers.edits import edit_counts, exact_counts
from rnnlab.answers.heads import StateHead
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch, collate
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, Targets
from rnnlab.data.vocabulary import BEGIN, PADDING
from rnnlab.models.network import Network
from rnnlab.models.search import Found, Manner, in_order_of_length, search

AT_A_TIME = 256  # texts that are written side by side
NATS = ratio("loss", "nats per token", "nats", "tokens", lower_is_better=True, unit="number", metric="nats")
TOKENS = ratio("token_accuracy", "tokens right, the true ones before", "right_tokens", "tokens")
EXACT = ratio("exact", "exact match", "right_rows", "rows")
EDITS = ratio("cer", "character error rate", "edits", "words", lower_is_better=True)
NOT_COUNTED = ("nats", "hits", "written", "greedy_written")  # of what is kept: not a number per row


def of_greedy(score: Score, title: str) -> Score:
    """The same score of what is written without a beam."""
    columns = tuple(f"greedy_{name}" for name in score.columns)
    return Score(f"greedy_{score.name}", title, columns, score.value, score.lower_is_better, score.margin, score.unit,
                 score.gradient)  # fmt: skip


GREEDY_BLEU = of_greedy(BLEU, "BLEU, greedy")
GREEDY_EXACT = of_greedy(EXACT, "exact match, greedy")


class Translation(Answer):
    """Outputs (B, L, V), targets (B, L): the tokens of the text and `</s>`. Of each true token, its surprise and
    whether it would have been chosen are kept; at the end of training also what is written, and what it counts."""

    reads: ClassVar[Literal["summary", "states"]] = "states"
    writes: ClassVar[bool] = True
    scores: tuple[Score, ...] = (BLEU, CHRF, EXACT, TOKENS, NATS, GREEDY_BLEU)
    beside: str = CHRF.name
    chosen_by: str | None = NATS.name
    counts_whole: bool = False
    baselines: tuple[str, ...] = ("copy", "translation-memory", "ibm1")
    ranks: ClassVar[bool] = True

    tokenizer: str
    manner: Manner
    smoothing: float

    def __init__(self, tokenizer: str = "13a", manner: Manner | None = None):
        """``tokenizer``: by which BLEU cuts texts into words."""
        self.tokenizer, self.manner, self.smoothing = tokenizer, manner or Manner(), 0.0

    def smoothed(self, share: float) -> Self:
        changed = copy.copy(self)
        changed.smoothing = share
        return changed

    def judged_by(self, metric: str | None) -> Self:
        """Epochs are chosen by nats, whatever is judged: to write all validation texts after each would take long."""
        judged = super().judged_by(metric)
        changed = copy.copy(judged)
        changed.chosen_by = NATS.name
        return changed

    def outputs(self, preprocessor: Preprocessor) -> int:
        assert preprocessor.writes is not None
        assert preprocessor.writes.vocabulary is not None
        return len(preprocessor.writes.vocabulary)

    def head(self, width: int, outputs: int) -> nn.Module:
        return StateHead(width, outputs)

    def given(self, batch: Batch) -> tuple[Tensor, ...]:
        read = tokens_before(batch.targets) if batch.read is None else batch.read
        return batch.inputs, batch.lengths, read

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(
            out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE, label_smoothing=self.smoothing
        )

    def right(self, out: Tensor, batch: Batch) -> float:
        asked = batch.targets != IGNORE
        hits = ((out.argmax(2) == batch.targets) & asked).sum(1)
        return float((hits / asked.sum(1).clamp(min=1)).sum())

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        nats = F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE, reduction="none")
        return {"nats": nats.view(batch.targets.shape), "hits": out.argmax(2) == batch.targets}

    def completed(
        self, kept: Kept, network: Network, rows: Sequences, preprocessor: Preprocessor, references: References
    ) -> Kept:
        """With what is written for each row, by beam search and greedily, and what that counts."""
        assert preprocessor.writes is not None
        found: dict[str, np.ndarray] = {}
        for prefix, manner in (("", self.manner), ("greedy_", replace(self.manner, beam=1))):
            ids = [best.ids for best, *_ in written(network, rows, manner)]
            counts = self.counted([preprocessor.writes.written(one) for one in ids], references)
            found |= {f"{prefix}{name}": column for name, column in counts.items()}
            found[f"{prefix}written"] = padded(ids)
        return {**kept, **found}

    def counted(self, texts: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """What the scores of these texts are sums of, row by row."""
        heard, true = map(self.words, texts), ([self.words(one) for one in row] for row in references)
        return {
            **bleu_counts(texts, references, self.tokenizer),
            **chrf_counts(texts, references),
            **exact_counts(texts, references),
            **edit_counts(list(heard), list(true)),
        }

    def words(self, text: str) -> list[str]:
        """Those whose edits are counted."""
        return text.split()

    def signatures(self, references: References) -> dict[str, str]:
        names = {score.name for score in self.scores}
        found = {BLEU.name: signature(self.tokenizer, references), CHRF.name: chrf_signature(references)}
        return {name: text for name, text in found.items() if name in names}

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        asked = targets.values != IGNORE
        of_rows = {name: column for name, column in kept.items() if name not in NOT_COUNTED}
        if "nats" not in kept:  # a baseline, which has no probabilities
            return of_rows
        return {
            "tokens": targets.sum_by_row(asked),
            "nats": targets.sum_by_row(np.where(asked, kept["nats"], 0.0)),
            "right_tokens": targets.sum_by_row(kept["hits"] & asked),
            **of_rows,
        }

    def values(self, kept: Kept, targets: Targets) -> dict[str, float]:
        """Those that can be told: during training nothing is written, and baselines have no probabilities."""
        totals = self.totals(kept, targets)
        return {score.name: score.of(totals) for score in self.scores if all(name in totals for name in score.columns)}

    def chance(self, targets: Targets) -> float:
        """Of one and the same distribution for all tokens, at its best: that of the tokens themselves."""
        counts = np.bincount(targets.values[targets.values != IGNORE])
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())


class ExactTranslation(Translation):
    """The same where one text alone is right, such as a date written otherwise."""

    scores: tuple[Score, ...] = (EXACT, EDITS, TOKENS, NATS, GREEDY_EXACT)
    beside: str = EDITS.name

    def words(self, text: str) -> list[str]:
        """Such a text is often a single word, which would be right or wrong as the whole is: characters say more."""
        return list(text)


def tokens_before(targets: Tensor) -> Tensor:
    """(B, L) → (B, L): what stands before each token that is to be written; `<s>` before the first."""
    read = torch.where(targets == IGNORE, PADDING, targets)
    before = torch.cat([torch.full_like(read[:, :1], BEGIN), read[:, :-1]], dim=1)
    return torch.where(targets == IGNORE, PADDING, before)


def written(network: Network, data: Sequences, manner: Manner) -> list[list[Found]]:
    """For each row, what `search` finds."""
    found: list[list[Found]] = [[] for _ in range(len(data))]
    for rows in in_order_of_length(data.lengths, AT_A_TIME):
        batch = collate(data, rows)
        for row, texts in zip(rows.tolist(), search(network, batch.inputs, batch.lengths, manner), strict=True):
            found[row] = texts
    return found


def padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """(rows, longest) int32, `PADDING` behind the last token of each."""
    whole = np.full((len(rows), max(1, max(map(len, rows), default=1))), PADDING, np.int32)
    for number, row in enumerate(rows):
        whole[number, : len(row)] = row
    return whole
