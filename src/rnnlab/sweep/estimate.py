"""What a sweep would take: how many runs, how long, how much disk. Nothing is written."""

import time
from collections.abc import Sequence
from pathlib import Path

import torch

from rnnlab.analysis.studies import Estimate
from rnnlab.data.encoded import EncodedData
from rnnlab.data.interface import Interface
from rnnlab.experiment import RunSpec
from rnnlab.models.network import parameter_counts
from rnnlab.runs import RunDirectory
from rnnlab.seeding import stream_seed
from rnnlab.sweep.plan import Opened
from rnnlab.sweep.studies import PlannedStudy
from rnnlab.training.assemble import assemble, resolve_device
from rnnlab.training.evaluate import evaluate
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import own_process_state
from rnnlab.training.schedule import total_steps
from rnnlab.training.source import Source
from rnnlab.training.update import Updater

WARM_UP = 2  # updates that aren't timed: the first ones wait for memory
TIMED = 0.3  # seconds of updates that are
MOST_PROBES = 24  # settings that are timed; the others are taken to be like those beside them
OTHER_FILES = 20_000  # bytes of spec, events and result
START = 0.5  # seconds to begin a run and to end it


def estimate(planned: Sequence[PlannedStudy], out: Path) -> Estimate:
    """Time a few updates of every setting (of ``MOST_PROBES`` settings, if there are more) that has runs left to do."""
    runs = {spec.digest: spec for study in planned for point in study.points for spec in point.specs}
    todo = [spec for digest, spec in runs.items() if RunDirectory(out / digest).outcome() is None]
    groups: dict[str, list[RunSpec]] = {}
    for spec in todo:
        groups.setdefault(RunSpec(spec.task, spec.model, spec.training, 0).digest, []).append(spec)
    settings = list(groups.values())
    stride = max(1, -(-len(settings) // MOST_PROBES))
    opened = Opened()
    seconds, disk = 0.0, 0
    for first in range(0, len(settings), stride):
        each, size = probe(settings[first][0], opened)
        alike = sum(len(group) for group in settings[first : first + stride])
        seconds += each * alike
        disk += size * alike
    drawn = sum(study.settings.trials or 0 for study in planned)
    return Estimate(len(runs), len(runs) - len(todo), drawn, seconds, disk, -(-len(settings) // stride))


def probe(spec: RunSpec, opened: Opened) -> tuple[float, int]:
    """Seconds and bytes that a run would take, from a few updates and an evaluation."""
    _, data = opened.open(spec.task)
    training = spec.training
    if training is None:  # a baseline: fitted in seconds, and as large as its outputs
        return 10.0, OTHER_FILES + _outputs(data)
    with own_process_state(training.threads):
        torch.manual_seed(stream_seed(spec.seed, "init"))
        device = torch.device(resolve_device(training.device))
        network = assemble(spec, Interface.of(data)).to(device).train()
        source = Source(spec, data)
        updater = Updater(spec, network, Optimizer(network, training), training.threads)
        step = 0
        started = time.perf_counter()
        while step < WARM_UP + 1 or time.perf_counter() - started < TIMED:
            for _ in updater.advance([source.batch(step).to(device)], [training.lr]):
                pass
            step += 1
            if step == WARM_UP:
                started = time.perf_counter()
        update = (time.perf_counter() - started) / (step - WARM_UP)
        started = time.perf_counter()
        evaluate(network, spec.task, data.valid, device)
        evaluation = time.perf_counter() - started
    if training.minutes is not None:
        updates = min(total_steps(training, source.updates) or 10**9, int(60 * training.minutes / update))
    else:
        updates = total_steps(training, source.updates)
    rounds = -(-updates // source.updates)
    tests = evaluation * (1 + len(data.test.values) / max(1, len(data.valid.values)))
    weights = 4 * parameter_counts(network)["total"]
    return START + updates * update + rounds * evaluation + tests, OTHER_FILES + weights + _outputs(data)


def _outputs(data: EncodedData) -> int:
    """Bytes of the predictions: four a class and answer, eight for each target, group and length."""
    answers = sum(len(part.targets) for part in (data.valid, data.test))
    return answers * (4 * max(1, len(data.labels)) + 24)
