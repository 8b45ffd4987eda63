"""The training batches of a run, by the number of the update: a function of the spec and the number alone."""

import numpy as np

from rnnlab.data.batches import Batch, collate, training_order
from rnnlab.data.encoded import EncodedData
from rnnlab.experiment import EVAL_EVERY, RunSpec


class Source:
    """Passes over the training rows in ever new orders; or batches that the task draws afresh."""

    def __init__(self, spec: RunSpec, data: EncodedData):
        assert spec.training is not None
        self.spec, self.data = spec, data
        self.rows = spec.training.batch_size
        self.streamed = spec.task.streamed
        self.updates = (  # of an epoch; of the stretch between two evaluations, where there are no epochs
            spec.training.eval_every or EVAL_EVERY if self.streamed else -(-len(data.train) // self.rows)
        )
        self._pass, self._order = -1, list[np.ndarray]()

    def batch(self, step: int) -> Batch:
        """The batch of an update, counted from 0."""
        if self.streamed:
            drawn = self.spec.task.draw(self.spec.seed, step, self.rows)
            return collate(drawn, np.arange(len(drawn)))
        number, at = divmod(step, self.updates)
        if number != self._pass:
            self._pass = number
            self._order = training_order(self.data.train.lengths, self.rows, self.spec.seed, number)
        return collate(self.data.train, self._order[at])

    def time(self, step: int) -> int:
        """By what a schedule counts: epochs completed, or updates where there are none."""
        return step if self.streamed else step // self.updates
