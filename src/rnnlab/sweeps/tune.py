"""``compare --tune N``: every arm and every baseline gets N trials from the space that it declares, and the setting
that did best on validation is the one that is compared.

Trial 0 is the arm's setting as it stands, so that tuning can't lose to it by bad luck; the others are drawn, by the
label of the arm and the number of the trial. Hopeless trials are stopped early, as `asha` does. All trials have one
training seed, which no run of the comparison has: the chosen setting was partly lucky with its seed, and that luck must
not be counted again in the comparison.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from rnnlab.comparing.tuning import Status, TrialResult, TunedArm, Tuning, choose, curve, leads
from rnnlab.core.config import digest_of, with_settings
from rnnlab.core.errors import ConfigError
from rnnlab.data.encoded import EncodedData
from rnnlab.execute.executors import Executor
from rnnlab.models.base import Architecture
from rnnlab.models.baselines import Baseline
from rnnlab.models.space import Among, Between, Space, meaningful
from rnnlab.runs.directory import Diverged, Failed, Finished, Stopped
from rnnlab.sweeps.axes import AnyAxis, Range, parse_axis
from rnnlab.sweeps.contest import Contest, compute
from rnnlab.sweeps.draws import changes_of, draw, values_of
from rnnlab.sweeps.experiment import Arm, Experiment
from rnnlab.sweeps.run import Display, Silent, baseline_specs
from rnnlab.sweeps.studies import PlannedPoint
from rnnlab.sweeps.trials import Rungs, Trial
from rnnlab.training.spec import RunSpec

FIRST_TRIAL_SEED = 10_000  # `seeds = N` has at most so many, from 0
RUNGS = Rungs(first=5, times=3, keep=Fraction(2, 3))  # milder than asha's: see docs/decisions/0020-tuning.md
ATTEMPTS = 1000  # at a setting that is new; then there are no more


def tune(
    experiment: Experiment, data: EncodedData, out: Path, executor: Executor, display: Display
) -> tuple[Experiment, Tuning]:
    """The experiment with the setting that did best for every arm and baseline, and what was tried. Interrupted: what
    is done stays, and the same call goes on from there."""
    assert experiment.tune is not None
    searches = _searches(experiment, data, out, display)
    runs = [run for search in searches for run in search.runs]
    for number, run in enumerate(runs):
        run.number = number
    display.begin([(search.name_of(n), t.runs[0].spec) for search in searches for n, t in enumerate(search.trials)])
    for search in searches:
        for trial in search.trials:
            search.show_found(trial)
    compute(searches, out, executor, display)
    rows = len(data.valid) if experiment.task.answer.chosen.name == "accuracy" else None
    found = [search.result(rows) for search in searches]
    tuning = Tuning(
        trials=experiment.tune,
        metric=experiment.task.answer.chosen.name,
        lower_is_better=experiment.task.answer.chosen.lower_is_better,
        rows=len(data.valid),
        seed=trial_seed(experiment),
        arms=tuple(found),
    )
    return _with_chosen(experiment, searches, found), replace(tuning, leads=leads(tuning))


def trial_specs(experiment: Experiment, data: EncodedData, out: Path) -> list[tuple[str, RunSpec]]:
    """(label, run) of all trials, to say beforehand how long they take."""
    searches = _searches(experiment, data, out, Silent())
    return [(search.label, run.spec) for search in searches for run in search.runs]


def _searches(experiment: Experiment, data: EncodedData, out: Path, display: Display) -> list["ArmSearch"]:
    seed = trial_seed(experiment)
    once = replace(experiment, seeds=experiment.seeds[:1])
    arms: list[tuple[str, Arm | Baseline, int]] = [(label, arm, seed) for label, arm in experiment.arms.items()]
    for label, spec in baseline_specs(once, data):
        assert isinstance(spec.model, Baseline)
        arms.append((label, spec.model, spec.seed))
    return [ArmSearch(label, arm, experiment, data, own_seed, out, display) for label, arm, own_seed in arms]


def trial_seed(experiment: Experiment) -> int:
    """One that no run of the comparison has."""
    return next(seed for seed in itertools.count(FIRST_TRIAL_SEED) if seed not in experiment.seeds)


def _with_chosen(experiment: Experiment, searches: Sequence["ArmSearch"], found: Sequence[TunedArm]) -> Experiment:
    arms, baselines = dict(experiment.arms), dict(experiment.baselines)
    for search, tuned in zip(searches, found, strict=True):
        spec = search.trials[tuned.chosen].runs[0].spec
        if isinstance(spec.model, Baseline):
            baselines[search.label] = spec.model
        else:
            assert spec.training is not None
            arms[search.label] = Arm(spec.model, spec.training)
    return replace(experiment, arms=arms, baselines=baselines)


class ArmSearch(Contest):
    """The trials of one arm or baseline."""

    def __init__(
        self,
        label: str,
        arm: Arm | Baseline,
        experiment: Experiment,
        data: EncodedData,
        seed: int,
        out: Path,
        display: Display,
    ):
        task = experiment.task
        by = task.answer.chosen
        super().__init__(experiment.tune or 1, by.name, by.lower_is_better, RUNGS, out, display)
        self.label, self.task, self.seed = label, task, seed
        self.model, self.training = (arm, None) if isinstance(arm, Baseline) else (arm.model, arm.training)
        self.tokens = data.vocabulary is not None
        declared = {path: one for path, one in self.model.space.items() if self._has_a_place(path)}
        said = experiment.fixed.get(label, frozenset())
        self.fixed = tuple(path for path in declared if path in said)
        self.space: Space = {path: one for path, one in declared.items() if path not in said}
        self.axes = tuple(axis_of(path, one) for path, one in self.space.items())
        self._enter_all()

    @property
    def total(self) -> int:
        return len(self.trials)  # all are drawn at the beginning, and there may be fewer settings than were wanted

    def name_of(self, number: int) -> str:
        return f"{self.label}, trial {number + 1}"

    def result(self, rows: int | None) -> TunedArm:
        trials = tuple(self._result(trial) for trial in self.trials)
        finished = [trial.score if trial.status == "finished" else None for trial in trials]
        chosen = choose(finished, self.lower_is_better)
        return TunedArm(
            label=self.label,
            kind=self.model.kind,
            baseline=isinstance(self.model, Baseline),
            searched=tuple(self.space),
            fixed=self.fixed,
            trials=trials,
            chosen=chosen,
            setting=self._values(self.trials[chosen].runs[0].spec),
            curve=curve([trial.score for trial in trials], self.wanted, self.lower_is_better, rows),
        )

    def _has_a_place(self, path: str) -> bool:
        """Whether this data and this task have a use for an axis."""
        if path.startswith("model.embedding."):
            embedding = getattr(self.model, "embedding", None)
            return self.tokens and not (path == "model.embedding.width" and embedding and embedding.vectors)
        return not (path == "model.pooling" and self.task.answer.reads == "states")

    def _enter_all(self) -> None:
        """The default, then as many settings that differ as there are, up to the trials that are wanted."""
        first = self._spec({})
        seen = {first.digest}
        self.enter((), PlannedPoint({}, self.label, (first,)))
        seed = int(digest_of(self.label), 16)
        while self.axes and len(self.trials) < self.wanted:
            number = len(self.trials)
            for attempt in range(ATTEMPTS):
                setting = draw(self.axes, number, attempt, seed)
                changes = meaningful(self.space, changes_of(self.axes, setting), self._default_of)
                spec = self._valid(changes)
                if spec is not None and spec.digest not in seen:
                    seen.add(spec.digest)
                    self.enter(setting, PlannedPoint(values_of(self.axes, setting), self.label, (spec,)))
                    break
            else:
                return

    def _default_of(self, path: str) -> Any:
        return value_at(self._spec({}), path)

    def _values(self, spec: RunSpec) -> dict[str, Any]:
        """Of the axes that have a meaning in a trial."""
        whole = {path: value_at(spec, path) for path in self.space}
        kept = meaningful(self.space, whole, self._default_of)
        return {path: list(value) if isinstance(value, tuple) else value for path, value in kept.items()}

    def _valid(self, changes: Mapping[str, Any]) -> RunSpec | None:
        """None where the values don't suit what the user has set, or the data."""
        try:
            spec = self._spec(changes)
        except ConfigError:
            return None
        unsuited = isinstance(spec.model, Architecture) and spec.model.check("tokens" if self.tokens else "features")
        return None if unsuited else spec

    def _spec(self, changes: Mapping[str, Any]) -> RunSpec:
        return with_changes(RunSpec(self.task, self.model, self.training, self.seed), changes)

    def _result(self, trial: Trial) -> TrialResult:
        [run] = trial.runs
        outcome = trial.outcome_of(run)
        loss = run.loss_at(trial.pruned_at)
        statuses: dict[type, Status] = {Finished: "finished", Stopped: "stopped", Diverged: "diverged"}
        status = statuses.get(type(outcome), "failed")
        scored = loss is not None and not isinstance(outcome, Diverged | Failed)
        return TrialResult(
            setting=self._values(run.spec) if trial.setting else {},
            score=(loss if self.lower_is_better else -loss) if scored and loss is not None else None,
            status=status,
            evaluations=trial.pruned_at or run.evaluations,
            digest=run.spec.digest,
        )


def axis_of(path: str, declared: Between | Among) -> AnyAxis:
    if isinstance(declared, Between):
        return Range(path, declared.low, declared.high, declared.log)
    return parse_axis(path, list(declared.values))


def with_changes(spec: RunSpec, changes: Mapping[str, Any]) -> RunSpec:
    """The run with some settings changed, by path; a ConfigError where they don't suit each other."""
    of_model, of_training = (
        {path.removeprefix(root): value for path, value in changes.items() if path.startswith(root)}
        for root in ("model.", "training.")
    )
    training = None if spec.training is None else with_settings(spec.training, of_training)
    return replace(spec, model=with_settings(spec.model, of_model), training=training)


def value_at(spec: RunSpec, path: str) -> Any:
    found: Any = spec
    for name in path.split("."):
        found = getattr(found, name)
    return found
