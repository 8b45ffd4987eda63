"""The training batches of a run, by the number of the update: a function of the spec and the number alone."""

from dataclasses import replace

import numpy as np

from rnnlab.data.batches import Batch, collate, training_order, updates_of_an_epoch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.vocabulary import PADDING, UNKNOWN
from rnnlab.experiment import EVAL_EVERY, RunSpec

AHEAD, AHEAD_BYTES = 16, 1 << 22  # batches made at a time, at most


class Source:
    """Passes over the training rows in ever new orders; or batches that the task draws afresh."""

    def __init__(self, spec: RunSpec, data: EncodedData):
        assert spec.training is not None
        self.spec, self.data = spec, data
        self.rows, self.tokens = spec.training.batch_size, spec.training.batch_tokens
        self.streamed = spec.task.streamed
        self.updates = (  # of an epoch; of the stretch between two evaluations, where there are no epochs
            spec.training.eval_every or EVAL_EVERY
            if self.streamed
            else updates_of_an_epoch(data.train.lengths, self.rows, self.tokens)
        )
        vocabulary = data.vocabulary
        self.silent_unknown = vocabulary is not None and vocabulary.learnt is not None
        self._pass, self._order = -1, list[np.ndarray]()
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
        if self.streamed:
            drawn = self.spec.task.draw(self.spec.seed, step, self.rows)
            return collate(drawn, np.arange(len(drawn)))
        number, at = divmod(step, self.updates)
        if number != self._pass:
            self._pass = number
            self._order = training_order(self.data.train.lengths, self.rows, self.spec.seed, number, self.tokens)
        return self._heard(collate(self.data.train, self._order[at]))

    def _heard(self, batch: Batch) -> Batch:
        """An unknown word that is zero for good, because others have vectors, is left to padding, which no update
        touches."""
        if not self.silent_unknown:
            return batch
        return replace(batch, inputs=batch.inputs.masked_fill_(batch.inputs == UNKNOWN, PADDING))

    def time(self, step: int) -> int:
        """By what a schedule counts: epochs completed, or updates where there are none."""
        return step if self.streamed else step // self.updates
