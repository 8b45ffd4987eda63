"""What a comparison would take, said before it is spent.

A run ends when its validation score stops improving, so there is no telling exactly. What a few updates of every arm
take is measured; how many epochs it will be is known from finished runs on the same data, or else guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnlab import kernels as native
from rnnlab.data.encoded import EncodedData
from rnnlab.runs.directory import RunDirectory
from rnnlab.sweeps.experiment import Experiment
from rnnlab.sweeps.pace import Pace, makespan, pace_of
from rnnlab.sweeps.run import baseline_specs
from rnnlab.sweeps.tune import trial_specs
from rnnlab.training.spec import RunSpec

USUAL_ROUNDS = (10, 40)  # epochs until validation stops improving, most often, where nothing is known of the data
SIDE_BY_SIDE = 1.15  # runs that share memory and caches take longer than one alone
TOKENS_A_SECOND = 400_000  # that a baseline is fitted on
LONG = 30 * 60.0  # seconds: a command that takes longer asks first

Rounds = tuple[float, float]


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


def forecast(experiment: Experiment, data: EncodedData, out: Path, jobs: int) -> Forecast:
    """Runs that are finished take no time, and tell how many epochs the others will need. Trials of ``tune`` count in
    full, as if they were as long as the default setting: those that are stopped early make it less."""
    models, baselines = experiment.specs(), baseline_specs(experiment, data)
    if experiment.tune is not None:  # first, so that an arm is timed as it stands
        trials = trial_specs(experiment, data, out)
        models = [run for run in trials if run[1].training is not None] + models
        baselines += [run for run in trials if run[1].training is None]
    return _forecast(models, baselines, data, out, jobs)


def forecast_training(experiment: Experiment, data: EncodedData, out: Path) -> Forecast:
    """The same for the models alone, one after the other."""
    return _forecast(experiment.specs(), [], data, out, 1)


def _forecast(
    models: Sequence[tuple[str, RunSpec]],
    baselines: Sequence[tuple[str, RunSpec]],
    data: EncodedData,
    out: Path,
    jobs: int,
) -> Forecast:
    done = _recorded([*models, *baselines], out)
    todo = [(label, spec) for label, spec in models if spec.digest not in done]
    rest = [label for label, spec in baselines if spec.digest not in done]
    specs = dict(todo)
    if specs:
        native.prepare()  # as the runs will have it: built now, if it isn't there
    paces = {label: pace_of(spec, data) for label, spec in specs.items()}
    rounds = likely_rounds(paces, _rounds_taken(models, done), specs)
    fitting = [_fitting_seconds(data)] * len(rest)
    slower = SIDE_BY_SIDE if jobs > 1 else 1.0
    low, high = (
        slower * makespan([*fitting, *(paces[label].seconds(rounds[label][end]) for label, _ in todo)], jobs)
        for end in (0, 1)
    )
    seconds = {label: pace.seconds(sum(rounds[label]) / 2) for label, pace in paces.items()}
    return Forecast(len(models) + len(baselines), len(done), jobs, low, high, rounds, seconds)


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


def _recorded(runs: Iterable[tuple[str, RunSpec]], out: Path) -> dict[str, dict]:
    """The results of the runs that are there, by digest."""
    outcomes = {spec.digest: RunDirectory(out / spec.digest).outcome() for _, spec in runs}
    return {digest: outcome.result for digest, outcome in outcomes.items() if outcome is not None}


def _rounds_taken(models: Iterable[tuple[str, RunSpec]], done: Mapping[str, dict]) -> dict[str, list[int]]:
    taken: dict[str, list[int]] = {}
    for label, spec in models:
        result = done.get(spec.digest)
        if result is not None and result["status"] == "finished":
            taken.setdefault(label, []).append(result["epochs"])
    return taken


def _fitting_seconds(data: EncodedData) -> float:
    return 0.5 + float(data.train.lengths.sum()) / TOKENS_A_SECOND
