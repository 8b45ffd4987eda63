"""How long the runs of an arm take, from a few timed updates."""

import time
from dataclasses import dataclass

import torch

from rnnlab.core.seeding import stream_seed
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.network import parameter_counts
from rnnlab.training.assemble import assemble, resolve_device
from rnnlab.training.batch_loader import AHEAD, BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import own_process_state
from rnnlab.training.schedule import total_steps
from rnnlab.training.spec import RunSpec
from rnnlab.training.update import Updater

WARM_UP = 2  # updates that aren't timed: the first ones wait for memory
TIMED = 0.2  # seconds of updates that are
START = 0.5  # seconds to begin a run and to end it
ANSWERING = 0.4  # of the time that training takes per token, about
OTHER_FILES = 20_000  # bytes of spec, events and result


@dataclass(frozen=True)
class Pace:
    """``round`` seconds from one evaluation to the next (an epoch, mostly), the evaluation included; ``fixed`` seconds
    besides, the test rows included. The limits allow ``most`` rounds, of ``updates`` each."""

    round: float
    fixed: float
    most: int
    updates: int
    disk: int  # bytes of a run directory

    def seconds(self, rounds: float) -> float:
        return self.fixed + self.round * min(rounds, self.most)


def pace_of(spec: RunSpec, data: EncodedData, timed: float = TIMED) -> Pace:
    """Time a few updates, as training does them: several at a time, where they are short."""
    training = spec.training
    assert training is not None
    with own_process_state(training.threads):
        torch.manual_seed(stream_seed(spec.seed, "init"))
        device = torch.device(resolve_device(training.device))
        network = assemble(spec, Preprocessor.of(data)).to(device).train()
        loader = BatchLoader(spec, data)
        updater = Updater(spec, network, Optimizer(network, training), training.threads)
        step, ahead, tokens, seconds = 0, 1, 0, 0.0
        while step <= WARM_UP or (seconds < timed and step < loader.updates):
            batches = [loader.batch(step + number).to(device) for number in range(ahead)]
            started = time.perf_counter()
            for _ in updater.advance(batches, [training.lr] * ahead):
                pass
            if step >= WARM_UP:
                seconds += time.perf_counter() - started
                tokens += sum(batch.tokens for batch in batches)
                ahead = min(2 * ahead, AHEAD) if time.perf_counter() - started < timed / 8 else 1
            step += len(batches)
    per_token = seconds / max(1, tokens)
    of_a_batch = tokens / max(1, step - WARM_UP)
    per_round = of_a_batch * loader.updates if spec.task.streamed else int(data.train.lengths.sum())
    answers = [ANSWERING * per_token * int(part.lengths.sum()) for part in (data.valid, data.test)]
    round_seconds = per_token * per_round + answers[0]
    most = -(-total_steps(training, loader.updates) // loader.updates) or 10**6
    if training.minutes is not None:
        most = min(most, int(60 * training.minutes / round_seconds) + 1)
    disk = OTHER_FILES + 4 * parameter_counts(network)["total"] + outputs(data)
    return Pace(round_seconds, START + sum(answers), most, loader.updates, disk)


def outputs(data: EncodedData) -> int:
    """Bytes of the predictions: four a class and answer, eight for each target, group and length."""
    answers = sum(len(part.targets) for part in (data.valid, data.test))
    return answers * (4 * max(1, len(data.labels)) + 24)


def makespan(durations: list[float], jobs: int) -> float:
    """How long runs take that are begun longest first, ``jobs`` at a time."""
    places = [0.0] * max(1, jobs)
    for duration in sorted(durations, reverse=True):
        places[places.index(min(places))] += duration
    return max(places)
