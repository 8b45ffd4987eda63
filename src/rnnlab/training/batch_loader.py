"""The training batches of a run, by the number of the update: a function of the spec and the number alone."""

import numpy as np
import torch

from rnnlab.core.seeding import generator
from rnnlab.data.batches import Batch, buckets, collate, streams, updates_of_an_epoch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Sequences
from rnnlab.data.vocabulary import PADDING, SEPARATED, UNKNOWN
from rnnlab.models.base import Architecture
from rnnlab.training.spec import EVAL_EVERY, RunSpec

AHEAD, AHEAD_BYTES = 16, 1 << 22  # batches made at a time, at most


def by_both_sides(pairs: Sequences) -> np.ndarray:
    """(rows,) a number by which rows are put together in batches: of rows as long on the side that is written, which
    takes the most time, those as long on the side that is read."""
    return pairs.target_counts + pairs.lengths / (pairs.lengths.max(initial=0) + 1)


class BatchLoader:
    """Passes over the training rows in ever new orders; or batches that the task draws afresh."""

    spec: RunSpec
    data: EncodedData
    rows: int
    tokens: int | None

    def __init__(self, spec: RunSpec, data: EncodedData):
        assert spec.training is not None
        self.spec, self.data = spec, data
        self.rows, self.tokens = spec.training.batch_size, spec.training.batch_tokens
        self.lengths: np.ndarray = by_both_sides(data.train) if spec.task.answer.writes else data.train.lengths
        self.most: int | None = spec.task.most_rows
        self.draws: bool = spec.task.fresh_batches
        self.streams: bool = spec.task.streams
        if self.draws:  # there are no epochs: updates between two evaluations
            self.updates = spec.training.eval_every or EVAL_EVERY
        elif self.streams:
            self.rows = min(self.rows, max(1, len(data.train.values) // spec.task.steps))
            self.updates = len(self._parts(0))
        else:
            self.updates: int = updates_of_an_epoch(self.lengths, self.rows, self.tokens, self.most)
        embedding = spec.model.embedding if isinstance(spec.model, Architecture) else None
        self.word_dropout: float = 0.0 if embedding is None else embedding.word_dropout
        self.silent_unknown: bool = data.vocabulary is not None and data.vocabulary.learnt is not None
        self._pass, self._order, self._cuts = -1, list[np.ndarray](), list[tuple[np.ndarray, np.ndarray]]()
        self._next, self._ready = 0, list[Batch]()  # batches made ahead, the last one first; the number of the first

    def batch(self, step: int) -> Batch:
        """The batch of an update, counted from 0."""
        if not self._ready or step != self._next:
            self._ready = self._make(step)
        self._next = step + 1
        return self._ready.pop()

    def _make(self, first: int) -> list[Batch]:
        """Some batches from this one on, backwards. In between training steps, which leave nothing of this code in the
        processor's caches, a batch takes five times as long to make as after another batch."""
        one = self._make_one(first)
        next_epoch = (first // self.updates + 1) * self.updates
        count = min(AHEAD, AHEAD_BYTES // one.inputs.nbytes, next_epoch - first)
        return [*(self._make_one(step) for step in range(first + count - 1, first, -1)), one]

    def _make_one(self, step: int) -> Batch:
        if self.draws:
            drawn = self.spec.task.draw(self.spec.seed, step, self.rows)
            return self._heard(collate(drawn, np.arange(len(drawn))), step)
        number, at = divmod(step, self.updates)
        if number != self._pass:
            self._pass = number
            if self.streams:
                self._cuts = self._parts(number)
            else:
                self._order = buckets(self.lengths, self.rows, self.spec.seed, number, self.tokens, self.most)
        if self.streams:
            return self._heard(self._read_on(self._cuts[at]), step)
        if self.spec.task.augments:
            rows = self.data.train.chosen(self._order[at])
            varied = self.spec.task.varied(rows, self.data, generator(self.spec.seed, "augment", step))
            return collate(varied, np.arange(len(varied)))
        return self._heard(collate(self.data.train, self._order[at]), step)

    def _parts(self, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of a stream: which parts of it each update of a pass reads."""
        return streams(len(self.data.train.values), self.rows, self.spec.task.steps, self.spec.seed, number)

    def _read_on(self, part: tuple[np.ndarray, np.ndarray]) -> Batch:
        """Rows of equal length, from … up to …: what is read, and what comes next."""
        starts, ends = part
        at = starts[:, None] + np.arange(ends[0] - starts[0])
        train = self.data.train
        lengths = torch.full((len(starts),), at.shape[1], dtype=torch.int64)
        return Batch(torch.from_numpy(train.values[at].astype(np.int64)), lengths, torch.from_numpy(train.targets[at]))

    def _heard(self, batch: Batch, step: int) -> Batch:
        """Some words become unknown. An unknown word that is zero for good, because all others have vectors, is left to
        padding, which no update touches."""
        ids = batch.inputs.numpy()  # the same memory
        if self.word_dropout:
            self._drop_words(ids, step)
        if self.silent_unknown:
            tokens = ids if ids.ndim == 2 else ids[:, :, : self.data.tokens]  # behind them are letters
            tokens[tokens == UNKNOWN] = PADDING
        return batch

    def _drop_words(self, ids: np.ndarray, step: int) -> None:
        """Of ids (B, T) or (B, T, K), those of some tokens; and of the n-grams that hold one of them. How a word looks
        is still seen."""
        vocabulary = self.data.vocabulary
        ngrams = None if vocabulary is None else vocabulary.ngrams
        alone = ngrams is None and self.data.spelling is None
        tokens = ids if alone or ids.ndim == 2 else ids[:, :, 0]
        dropped = generator(self.spec.seed, "dropout", step).random(tokens.shape, np.float32) < self.word_dropout
        dropped &= tokens != PADDING
        if vocabulary is not None and vocabulary.joined:
            dropped &= tokens != SEPARATED
        tokens[dropped] = UNKNOWN
        for column, size in enumerate(() if ngrams is None else ngrams.sizes, 1):
            for back in range(size):
                later = ids[:, back:, column]
                later[dropped[:, : later.shape[1]]] = PADDING

    def time(self, step: int) -> int:
        """By what a schedule counts: epochs completed, or updates where there are none."""
        return step if self.draws else step // self.updates
