"""The one training loop."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from rnnlab.answers.base import Kept
from rnnlab.answers.score import Score
from rnnlab.core.seeding import stream_seed
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.network import Network
from rnnlab.runs.directory import RunDirectory
from rnnlab.training.assemble import assemble, resolve_device
from rnnlab.training.batch_loader import AHEAD, BatchLoader
from rnnlab.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from rnnlab.training.divergence import diagnose, overflowed_on_validation
from rnnlab.training.evaluate import evaluate
from rnnlab.training.forcing import reads_own_tokens
from rnnlab.training.monitor import probe, probe_batch
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.sampled_softmax import SampledSoftmax
from rnnlab.training.samples import epoch_sample, is_sampled
from rnnlab.training.schedule import begin_fall_if_due, learning_rate, reason_to_end
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Update, Updater, class_weights

Report = Callable[[dict[str, Any]], None]
REPORT_SECONDS = 0.3  # between two signs of life to the display
KEPT_NORMS = 100  # gradient norms of the last steps, to say what was healthy if the run diverges
CHECKPOINT_SECONDS = 60  # between two checkpoints at the end of an epoch
DEAF_SECONDS = 0.1  # of updates without asking whether to stop, about, unless a single one takes longer


@dataclass
class Trained:
    """What the loop leaves behind: the network with its best weights, or why there is none."""

    network: Network
    progress: Progress
    divergence: dict[str, Any] | None = None
    valid: Kept | None = None  # answers of the best weights, unless those came from a checkpoint
    ended_by: str | None = None  # which setting: see `reason_to_end`


def train(
    spec: RunSpec, data: EncodedData, run: RunDirectory, report: Report, should_stop: Callable[[], bool]
) -> Trained | None:
    """Train to the limits of the spec; validation chooses the epoch. None when stopped on request (checkpointed)."""
    answer, training = spec.task.answer, spec.training
    assert training is not None
    device = torch.device(resolve_device(training.device))
    torch.manual_seed(stream_seed(spec.seed, "init"))
    network = assemble(spec, Preprocessor.of(data))
    answer.begin(network.head, data)
    network = network.to(device)
    optimizer = Optimizer(network, training)
    torch.manual_seed(stream_seed(spec.seed, "dropout"))

    progress, best = load_checkpoint(run, network, optimizer) or (Progress(), {})
    run.keep_events(progress.step)
    loader = BatchLoader(spec, data)
    chance = answer.chance(data.valid.truth)
    weights = class_weights(spec, data, optimizer.weights)
    sampled = SampledSoftmax.of(spec, data)
    updater = Updater(spec, network, optimizer, training.threads, weights=weights, sampled=sampled)
    last_report = last_checkpoint = time.monotonic()
    own_tokens = reads_own_tokens(spec, data, loader.updates)
    ahead, most = 1, 1 if own_tokens else AHEAD  # updates at a time: a model's own tokens come from its last weights
    valid: Kept | None = None  # of the best epoch

    network.train()
    while (ended_by := reason_to_end(progress, training, answer.chosen, chance)) is None:
        started = time.perf_counter()
        if loader.streams and progress.batch == 0:
            network.encoder.carried = None  # a pass begins elsewhere in the text
        while progress.batch < loader.updates:
            if should_stop():
                _count_time(progress, started)
                save_checkpoint(run, progress, network, best, optimizer)
                return None

            begun, first = time.monotonic(), progress.step
            numbers = range(
                first, min(first + ahead, first - progress.batch + loader.updates, training.steps or sys.maxsize)
            )
            batches = [loader.batch(number).to(device) for number in numbers]
            if own_tokens is not None:
                batches = [own_tokens.in_place_of_truth(network, batches[0], first)]
            rates = [
                learning_rate(training, number, loader.time(number), loader.updates, progress) for number in numbers
            ]
            for batch, update in zip(batches, updater.advance(batches, rates), strict=False):
                if not update.well:
                    broken = (progress.step + 1, update.loss, update.norm, progress.norms)
                    return Trained(network, progress, diagnose(network, batch, *broken, training))
                count_update(progress, batch, update)

            now = time.monotonic()
            ahead = min(2 * ahead, most) if now - begun < DEAF_SECONDS / 2 else max(1, ahead // 2)
            if now - last_report > REPORT_SECONDS:
                last_report = now
                report(sign_of_life(progress, loader.updates, started))
            if progress.step == training.steps or _out_of_time(progress, training, started):
                break
        _count_time(progress, started)

        answer.before_validation(network, data.valid, device)
        kept = evaluate(network, answer, data.valid, device, spec.longest)
        kept = {**kept, **answer.decided(kept, data.valid.truth)}
        scores = answer.values(kept, data.valid.truth)
        if not math.isfinite(scores["loss"]):
            return Trained(network, progress, overflowed_on_validation(progress.step, progress.norms, training))
        if own_tokens is not None and own_tokens.begins_to_count(progress.step):
            progress.best = {}  # chosen are weights that were trained as the schedule ends
        improved = count_evaluation(progress, scores, answer.chosen)
        if improved:
            valid = kept
            best = {name: value.detach().clone() for name, value in network.state_dict().items()}
        event = close_epoch(progress, scores, improved)
        if answer.continues and is_sampled(progress.epoch):
            event["sample"] = epoch_sample(network, data, spec.seed, loader.streams, spec.longest)
        if begin_fall_if_due(progress, training, answer.chosen, loader.updates, chance):
            network.load_state_dict(best)
        if training.monitor.gradients:
            event["gradients"] = probe(network, probe_batch(data.valid, answer).to(device))
        run.append_event(event)
        report(event)
        if time.monotonic() - last_checkpoint > CHECKPOINT_SECONDS:
            last_checkpoint = time.monotonic()
            save_checkpoint(run, progress, network, best, optimizer)

    network.load_state_dict(best)
    return Trained(network, progress, valid=valid, ended_by=ended_by)


def count_update(progress: Progress, batch: Batch, update: Update) -> None:
    """Add an update that went well."""
    assert update.norm is not None
    progress.step += 1
    progress.batch += 1
    progress.rows += len(batch.inputs)
    progress.tokens += batch.tokens
    progress.loss_sum += update.loss * len(batch.inputs)
    progress.correct += update.right
    progress.norms.append(update.norm)
    del progress.norms[:-KEPT_NORMS]


def is_better(scores: dict[str, float], best: dict[str, float], by: Score) -> bool:
    """Of equals, which are common on few validation rows, the one with the lower loss."""
    return not best or (by.sign * scores[by.name], -scores["loss"]) > (by.sign * best[by.name], -best["loss"])


def count_evaluation(progress: Progress, scores: dict[str, float], by: Score) -> bool:
    """Close an epoch with its validation scores; whether it is the best so far."""
    progress.epoch += 1
    improved = is_better(scores, progress.best, by)
    if improved:
        if scores[by.name] != progress.best.get(by.name):
            progress.rose_epoch = progress.epoch
        progress.best, progress.best_epoch = scores, progress.epoch
    return improved


def _out_of_time(progress: Progress, training: Training, started: float) -> bool:
    if training.minutes is None:
        return False
    return progress.seconds + time.perf_counter() - started >= training.minutes * 60


def _count_time(progress: Progress, started: float) -> None:
    spent = time.perf_counter() - started
    progress.seconds += spent
    progress.epoch_seconds += spent


def sign_of_life(progress: Progress, batches: int, started: float) -> dict[str, Any]:
    return {
        "event": "progress",
        "epoch": progress.epoch + 1,
        "share": progress.batch / batches,  # of this epoch
        "train_loss": progress.loss_sum / progress.rows,
        "epoch_seconds": progress.epoch_seconds + time.perf_counter() - started,
    }


def close_epoch(progress: Progress, scores: dict[str, float], improved: bool) -> dict[str, Any]:
    """The event of an epoch that just ended; the counters start again."""
    event = {
        "event": "epoch",
        "epoch": progress.epoch,
        "step": progress.step,
        "train_loss": progress.loss_sum / progress.rows,
        "train_accuracy": progress.correct / progress.rows,
        **{f"valid_{name}": value for name, value in scores.items()},
        "improved": improved,
        "seconds": progress.epoch_seconds,
        "tokens": progress.tokens,
    }
    progress.history.append({"seconds": progress.epoch_seconds, "tokens": progress.tokens, "batches": progress.batch})
    progress.batch = progress.rows = progress.tokens = progress.correct = 0
    progress.loss_sum = progress.epoch_seconds = 0.0
    return event
