"""Which learning rate to take: a fresh network is trained for a few steps at a rate that rises from far too low to far
too high, and the curve of its loss shows where it learns and where it breaks (Smith 2017, "Cyclical learning rates").

The rule: the rate at which the smoothed loss falls fastest, as a function of log(rate), before its first trough. The
rate of the trough is too high: a loss goes on falling for a while from what lower rates have learnt.

A loss also goes up and down because one batch is harder than another, often more than it falls. So every batch is also
given to the network as it began, and the curve is of the difference: flat, where nothing is learnt yet.
"""

import copy
import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from rnnlab.core.seeding import stream_seed
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.training.assemble import assemble, resolve_device
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import own_process_state
from rnnlab.training.sampled_softmax import SampledSoftmax
from rnnlab.training.spec import RunSpec
from rnnlab.training.update import Updater, class_weights, mean_loss

LOWEST, HIGHEST = 1e-6, 10.0
STEPS = 150
WINDOW = 5  # steps to either side that the smoothing takes in
EXPLODES = 4  # times the lowest loss: enough is seen
FELL = 0.005  # of the first loss: less than that is no descent
ROSE = 0.1  # of the first loss: more than that ends a trough


@dataclass(frozen=True)
class RangeTest:
    """One rate, loss and smoothed loss a step, up to where it ended."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]  # of the batch, before the update at that rate
    smoothed: tuple[float, ...]  # as if all batches were equally hard
    exploded: bool  # whether it ended early, because the loss did
    trough: float | None  # the rate at which the loss was lowest before it first rose; None when it never fell
    suggestion: float | None  # where it fell fastest before that, to two digits

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def range_test(spec: RunSpec, data: EncodedData, steps: int = STEPS) -> RangeTest:
    """On the batches, with the optimiser and the clipping that the run would have; its schedule and length don't
    matter. Nothing is written, and random state and threads are left as they were."""
    training = spec.training
    assert training is not None  # a baseline has no rate
    with own_process_state(training.threads):
        torch.manual_seed(stream_seed(spec.seed, "init"))
        device = torch.device(resolve_device(training.device))
        network = assemble(spec, Preprocessor.of(data)).to(device).train()
        beginner = copy.deepcopy(network)
        optimizer = Optimizer(network, training)
        weights = class_weights(spec, data, optimizer.weights)
        sampled = SampledSoftmax.of(spec, data)
        updater = Updater(spec, network, optimizer, training.threads, weights=weights, sampled=sampled)
        torch.manual_seed(stream_seed(spec.seed, "dropout"))
        loader = BatchLoader(spec, data)
        numbers = itertools.count()

        def update(rate: float) -> tuple[float, float]:
            batch = loader.batch(next(numbers)).to(device)
            with torch.no_grad(), torch.random.fork_rng():  # the same dropout for both
                out = beginner(batch.inputs, batch.lengths)
                untrained = mean_loss(spec.task.answer, out, batch, weights).item()
            (found,) = updater.advance([batch], [rate])
            return found.loss if found.well else math.inf, untrained

        return raise_rate(update, steps)


def raise_rate(
    update: Callable[[float], tuple[float, float]], steps: int = STEPS, lowest: float = LOWEST, highest: float = HIGHEST
) -> RangeTest:
    """``update(rate)`` makes one step and returns the loss of its batch before it, infinite when that broke the
    network, and what the loss would be without any training."""
    rates: list[float] = []
    losses: list[float] = []
    untrained: list[float] = []
    best = math.inf
    exploded = False
    for step in range(steps):
        rate = lowest * (highest / lowest) ** (step / (steps - 1))
        loss, before = update(rate)
        if not math.isfinite(loss):
            exploded = True
            break
        rates.append(rate)
        losses.append(loss)
        untrained.append(before)
        recent = statistics.fmean(losses[-WINDOW:])
        best = min(best, recent)
        if step >= WINDOW and recent > max(EXPLODES * best, losses[0]):  # a best close to 0 is soon passed fourfold
            exploded = True
            break
    gained = smooth([loss - before for loss, before in zip(losses, untrained, strict=True)])
    begin = statistics.fmean(untrained or [0.0])
    smoothed = [begin + gain for gain in gained]
    low = find_trough(smoothed)
    trough = None if low is None else rates[low]
    suggestion = None if low is None else float(f"{rates[steepest(smoothed, low)]:.2g}")
    return RangeTest(tuple(rates), tuple(losses), tuple(smoothed), exploded, trough, suggestion)


def smooth(losses: Sequence[float]) -> list[float]:
    """A mean of each loss and its neighbours, weighted by nearness, without lag."""
    found = []
    for at in range(len(losses)):
        near = range(max(0, at - WINDOW), min(len(losses), at + WINDOW + 1))
        weights = [WINDOW + 1 - abs(other - at) for other in near]
        found.append(sum(w * losses[other] for w, other in zip(weights, near, strict=True)) / sum(weights))
    return found


def find_trough(smoothed: Sequence[float]) -> int | None:
    """Where the loss is lowest before it rises for the first time; None when it never falls."""
    if not smoothed:
        return None
    begin, low = smoothed[0], 0
    for at, loss in enumerate(smoothed):
        if loss < smoothed[low]:
            low = at
        fell = begin - smoothed[low] > FELL * abs(begin)
        if fell and loss - smoothed[low] > ROSE * abs(begin):
            break
    return low if begin - smoothed[low] > FELL * abs(begin) else None


def steepest(smoothed: Sequence[float], low: int) -> int:
    """Where the loss falls fastest before ``low``. The steps are even in log(rate)."""

    def slope(at: int) -> float:
        left, right = max(0, at - WINDOW // 2), min(len(smoothed) - 1, at + WINDOW // 2)
        return (smoothed[right] - smoothed[left]) / (right - left)

    return min(range(low + 1), key=slope)
