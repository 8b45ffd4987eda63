"""The updates of a run: whole training steps in native code where it knows the network, by torch elsewhere."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from rnnlab.data.batches import Batch
from rnnlab.kernels import ops
from rnnlab.models.fasttext import FastText
from rnnlab.models.network import Network
from rnnlab.models.recurrent import Recurrent
from rnnlab.training.backward import backward
from rnnlab.training.divergence import EXPLODED
from rnnlab.training.members import (
    drops,
    member_of,
    scratch,
    training_steps,
    unsuited_bag,
    unsuited_model,
)
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import RunSpec


@dataclass(frozen=True)
class Update:
    """What a training step found."""

    loss: float
    norm: float | None  # of the gradients before clipping; None: not computed, because the loss had exploded
    right: float  # rows; those that are partly right count in part

    @property
    def well(self) -> bool:
        """Whether the weights were changed."""
        return abs(self.loss) < EXPLODED and self.norm is not None and math.isfinite(self.norm)


class Updater:
    """Changes a network, batch by batch. Weights and optimiser are the ordinary ones, whoever does the arithmetic.

    What native code drops follows from a seed per batch, which ``random`` draws (torch's own generator, by default).
    So the bits don't depend on how many updates are done at a time, and a checkpoint of the generator's state is enough
    to go on."""

    def __init__(
        self,
        spec: RunSpec,
        network: Network,
        optimizer: Optimizer,
        threads: int,
        random: torch.Generator = torch.default_generator,
    ):
        assert spec.training is not None
        self.network, self.optimizer, self.clip = network, optimizer, spec.training.clip
        self.answer = spec.task.answer
        self.random = random
        self.member: ops.Member | None = None
        if knows_whole_steps(spec) and ops.known(optimizer.weights):
            self.member = member_of(network, optimizer, self.answer, self.clip, threads)
            self._places = scratch(self.member)

    def seeds(self, count: int) -> list[int]:
        """Drawn for so many batches; none where nothing is dropped."""
        if self.member is None or not drops(self.member):
            return []
        return torch.empty(count, dtype=torch.int64).random_(generator=self.random).tolist()

    def advance(self, batches: Sequence[Batch], rates: Sequence[float]) -> Iterator[Update]:
        """An update for each batch, in turn. The one that doesn't go well is the last: it changed nothing, and the
        gradients that it found are there to be looked at."""
        done = 0
        while done < len(batches):
            if self.member is not None:
                before = self.random.get_state()
                tried = self._advance_natively(self.member, batches[done:], rates[done:])
                well = [update for update in tried if update.well]
                yield from well
                done += len(well)
                if done == len(batches):
                    return
                self.random.set_state(before)  # as if those that weren't reached had drawn nothing
                self.seeds(len(well))
                self.optimizer.gradient.zero_()  # torch finds out what went wrong, and adds to what is there
            loss, right = backward(self.network, self.answer, batches[done])
            update = Update(loss, self.optimizer.step(rates[done], self.clip) if abs(loss) < EXPLODED else None, right)
            yield update
            if not update.well:
                return
            done += 1

    def _advance_natively(self, member: ops.Member, batches: Sequence[Batch], rates: Sequence[float]) -> list[Update]:
        """The updates that native code tried."""
        steps = training_steps(self.optimizer, batches, rates, self.seeds(len(batches)))
        ops.do_steps(member, steps, self.optimizer.weights.dtype)
        self.optimizer.steps += member.done
        right = "whole" if self.answer.counts_whole else "share"
        tried = steps[: member.done + member.stopped]
        return [Update(step.loss, step.norm if step.norm >= 0 else None, getattr(step, right)) for step in tried]


def knows_whole_steps(spec: RunSpec) -> bool:
    """Whether native code, if there is any, can do all of a training step."""
    if spec.task.answer.native is None:
        return False
    if isinstance(spec.model, Recurrent):
        return not unsuited_model(spec.model)
    return type(spec.model) is FastText and not unsuited_bag(spec.model, spec.task.answer)
