"""What runs would take, said before it is spent: those of a comparison, and those of a sweep.

A run ends when its validation score stops improving, so there is no telling exactly. What a few updates of every arm
take is measured; how many epochs it will be is known from finished runs on the same data, or else guessed.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from rnnlab import kernels as native
from rnnlab.core.seeding import stream_seed
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.network import parameter_counts
from rnnlab.runs.directory import RunDirectory
from rnnlab.sweeps.execution import baseline_specs
from rnnlab.sweeps.experiment import Experiment
from rnnlab.sweeps.plan import Opened
from rnnlab.sweeps.sweep_plan import PlannedStudy
from rnnlab.sweeps.tune import trial_specs
from rnnlab.training.assemble import assemble, resolve_device
from rnnlab.training.batch_loader import AHEAD, BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import own_process_state
from rnnlab.training.sampled_softmax import SampledSoftmax
from rnnlab.training.schedule import total_steps
from rnnlab.training.spec import RunSpec
from rnnlab.training.update import Updater

WARM_UP = 2  # updates that aren't timed: the first ones wait for memory
TIMED = 0.2  # seconds of updates that are
START = 0.5  # seconds to begin a run and to end it
ANSWERING = 0.4  # of the time that training takes per token, about
OTHER_FILES = 20_000  # bytes of spec, events and result
USUAL_ROUNDS = (10, 40)  # epochs until validation stops improving, most often, where nothing is known of the data
SIDE_BY_SIDE = 1.15  # runs that share memory and caches take longer than one alone
TOKENS_A_SECOND = 400_000  # that a baseline is fitted on
MOST_PROBES = 24  # settings of a sweep that are timed; the others are taken to be like those beside them
LONG = 30 * 60.0  # seconds: a command that takes longer asks first

Rounds = tuple[float, float]


# --- one run ----------------------------------------------------------------------------------------------------------


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


def pace_of(spec: RunSpec, data: EncodedData) -> Pace:
    """Time a few updates, as training does them: several at a time, where they are short."""
    training = spec.training
    assert training is not None
    with own_process_state(training.threads):
        torch.manual_seed(stream_seed(spec.seed, "init"))
        device = torch.device(resolve_device(training.device))
        network = assemble(spec, Preprocessor.of(data)).to(device).train()
        loader = BatchLoader(spec, data)
        sampled = SampledSoftmax.of(spec, data)
        updater = Updater(spec, network, Optimizer(network, training), training.threads, sampled=sampled)
        step, ahead, tokens, seconds = 0, 1, 0, 0.0
        while step <= WARM_UP or (seconds < TIMED and step < loader.updates):
            batches = [loader.batch(step + number).to(device) for number in range(ahead)]
            started = time.perf_counter()
            for _ in updater.advance(batches, [training.lr] * ahead):
                pass
            if step >= WARM_UP:
                seconds += time.perf_counter() - started
                tokens += sum(batch.tokens for batch in batches)
                ahead = min(2 * ahead, AHEAD) if time.perf_counter() - started < TIMED / 8 else 1
            step += len(batches)
    per_token = seconds / max(1, tokens)
    of_a_batch = tokens / max(1, step - WARM_UP)
    per_round = spec.task.epoch_tokens(data.train) if spec.task.rounds == "epoch" else of_a_batch * loader.updates
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


# --- a comparison -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forecast:
    """``low`` and ``high``: seconds of wall clock, ``jobs`` runs at a time. ``rounds``: evaluations of each arm's runs,
    from few to many. ``seconds``: of one run of each arm, on the average."""

    runs: int
    found: int  # of them finished already
    jobs: int
    low: float
    high: float
    rounds: dict[str, Rounds]
    seconds: dict[str, float]

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2


def forecast(experiment: Experiment, data: EncodedData, out: Path, jobs: int, baselines: bool = True) -> Forecast:
    """Runs that are finished take no time, and tell how many epochs the others will need. Trials of ``tune`` count in
    full, as if they were as long as the default setting: those that are stopped early make it less."""
    models, fitted = experiment.specs(), baseline_specs(experiment, data) if baselines else []
    if experiment.tune is not None:  # first, so that an arm is timed as it stands
        trials = trial_specs(experiment, data, out)
        models = [run for run in trials if run[1].training is not None] + models
        fitted += [run for run in trials if run[1].training is None]
    outcomes = {spec.digest: RunDirectory(out / spec.digest).outcome() for _, spec in (*models, *fitted)}
    done = {digest: outcome.result for digest, outcome in outcomes.items() if outcome is not None}
    todo = [(label, spec) for label, spec in models if spec.digest not in done]
    specs = dict(todo)
    if specs:
        native.prepare()  # as the runs will have it: built now, if it isn't there
    paces = {label: pace_of(spec, data) for label, spec in specs.items()}
    taken: dict[str, list[int]] = {}
    for label, spec in models:
        result = done.get(spec.digest)
        if result is not None and result["status"] == "finished":
            taken.setdefault(label, []).append(result["epochs"])
    rounds = likely_rounds(paces, taken, specs)
    fitting = START + float(data.train.lengths.sum()) / TOKENS_A_SECOND
    rest = [fitting for _, spec in fitted if spec.digest not in done]
    slower = SIDE_BY_SIDE if jobs > 1 else 1.0
    low, high = (
        slower * makespan([*rest, *(paces[label].seconds(rounds[label][end]) for label, _ in todo)], jobs)
        for end in (0, 1)
    )
    seconds = {label: pace.seconds(sum(rounds[label]) / 2) for label, pace in paces.items()}
    return Forecast(len(models) + len(fitted), len(done), jobs, low, high, rounds, seconds)


def likely_rounds(
    paces: Mapping[str, Pace], taken: Mapping[str, Sequence[int]], specs: Mapping[str, RunSpec]
) -> dict[str, Rounds]:
    """Of each arm: as many as its own finished runs took, or else those of the other arms, or else the usual. A run
    that nothing ends early takes as many as its limits allow."""
    others = [count for counts in taken.values() for count in counts]
    found: dict[str, Rounds] = {}
    for label, pace in paces.items():
        known = taken.get(label) or others
        low, high = (min(known), max(known)) if known else USUAL_ROUNDS
        training = specs[label].training
        if training is not None and training.patience is None and training.until is None:
            low = high = pace.most
        found[label] = min(low, pace.most), min(high, pace.most)
    return found


# --- a sweep ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """What a sweep would take."""

    runs: int
    found: int  # of them finished already
    searched: int  # settings that a strategy will draw, besides
    seconds: float  # of all that are left, one after the other, at most: early stopping may end runs sooner
    disk: int  # bytes
    probes: int  # settings of which a few updates were timed

    def wall_seconds(self, jobs: int) -> float:
        return self.seconds / jobs


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
        alike = sum(map(len, settings[first : first + stride]))
        seconds += each * alike
        disk += size * alike
    drawn = sum(study.settings.trials or 0 for study in planned)
    return Estimate(len(runs), len(runs) - len(todo), drawn, seconds, disk, -(-len(settings) // stride))


def probe(spec: RunSpec, opened: Opened) -> tuple[float, int]:
    """Seconds and bytes that a run would take, up to its limits."""
    _, data = opened.open(spec.task)
    if spec.training is None:  # a baseline: fitted in seconds, and as large as its outputs
        return 10.0, OTHER_FILES + outputs(data)
    pace = pace_of(spec, data)
    return pace.seconds(pace.most), pace.disk
