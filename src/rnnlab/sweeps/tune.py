"""``compare --tune N``: every arm and every baseline gets N trials from the space that it declares, and the setting
that did best on validation is the one that is compared.

Trial 0 is the arm's setting as it stands, so that tuning can't lose to it by bad luck; the others are drawn, by the
label of the arm and the number of the trial. Hopeless trials are stopped early, as `asha` does. All trials have one
training seed, which no run of the comparison has: the chosen setting was partly lucky with its seed, and that luck must
not be counted again in the comparison.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any

from rnnlab.answers.score import Score
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
from rnnlab.sweeps.contest import Contest, Rungs, Trial, compute
from rnnlab.sweeps.draws import changes_of, draw, values_of
from rnnlab.sweeps.execution import Display, Silent, baseline_specs
from rnnlab.sweeps.experiment import Arm, Experiment
from rnnlab.sweeps.sweep_plan import PlannedPoint
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
    for number, run in enumerate(run for search in searches for run in search.runs):
        run.number = number
    display.begin(
        [(f"{search.label}, trial {n}", t.runs[0].spec) for search in searches for n, t in enumerate(search.trials, 1)]
    )
    for search in searches:
        for trial in search.trials:
            search.show_found(trial)
    compute(searches, out, executor, display)
    by = experiment.task.answer.chosen
    found = [search.result(by, len(data.valid) if by.name == "accuracy" else None) for search in searches]
    tuning = Tuning(
        trials=experiment.tune,
        metric=by.name,
        lower_is_better=by.lower_is_better,
        rows=len(data.valid),
        seed=trial_seed(experiment),
        arms=tuple(found),
    )
    arms, baselines = dict(experiment.arms), dict(experiment.baselines)
    for search, tuned in zip(searches, found, strict=True):
        spec = search.trials[tuned.chosen].runs[0].spec
        if isinstance(spec.model, Baseline):
            baselines[search.label] = spec.model
        else:
            assert spec.training is not None
            arms[search.label] = Arm(spec.model, spec.training)
    return replace(experiment, arms=arms, baselines=baselines), replace(tuning, leads=leads(tuning))


def trial_specs(experiment: Experiment, data: EncodedData, out: Path) -> list[tuple[str, RunSpec]]:
    """(label, run) of all trials, to say beforehand how long they take."""
    searches = _searches(experiment, data, out, Silent())
    return [(search.label, run.spec) for search in searches for run in search.runs]


def _searches(experiment: Experiment, data: EncodedData, out: Path, display: Display) -> list["ArmSearch"]:
    defaults = replace(experiment, vary_split=False, seeds=(trial_seed(experiment),)).specs()
    defaults += baseline_specs(replace(experiment, seeds=experiment.seeds[:1]), data)
    return [ArmSearch(label, spec, experiment, data, out, display) for label, spec in defaults]


def trial_seed(experiment: Experiment) -> int:
    """One that no run of the comparison has."""
    return next(seed for seed in itertools.count(FIRST_TRIAL_SEED) if seed not in experiment.seeds)


class ArmSearch(Contest):
    """The trials of one arm or baseline, of which ``default`` is the first."""

    label: str
    default: RunSpec

    def __init__(
        self, label: str, default: RunSpec, experiment: Experiment, data: EncodedData, out: Path, display: Display
    ):
        super().__init__(experiment.tune or 1, RUNGS, out, display)
        self.label, self.default = label, default
        self.tokens: bool = data.vocabulary is not None
        declared = {path: one for path, one in default.model.space.items() if self._has_a_place(path)}
        said = experiment.fixed.get(label, frozenset())
        self.fixed: tuple[str, ...] = tuple(path for path in declared if path in said)
        self.space: Space = {path: one for path, one in declared.items() if path not in said}
        self.axes: tuple[AnyAxis, ...] = tuple(axis_of(path, one) for path, one in self.space.items())
        self._enter_all()

    @property
    def total(self) -> int:
        return len(self.trials)  # all are drawn at the beginning, and there may be fewer settings than were wanted

    def result(self, by: Score, rows: int | None) -> TunedArm:
        trials = tuple(self._result(trial, by) for trial in self.trials)
        finished = [trial.score if trial.status == "finished" else None for trial in trials]
        chosen = choose(finished, by.lower_is_better)
        return TunedArm(
            label=self.label,
            kind=self.default.model.kind,
            baseline=isinstance(self.default.model, Baseline),
            searched=tuple(self.space),
            fixed=self.fixed,
            trials=trials,
            chosen=chosen,
            setting=self._values(self.trials[chosen].runs[0].spec),
            curve=curve([trial.score for trial in trials], self.wanted, by.lower_is_better, rows),
        )

    def _has_a_place(self, path: str) -> bool:
        """Whether this data and this task have a use for an axis."""
        if path.startswith("model.embedding."):
            embedding = getattr(self.default.model, "embedding", None)
            return self.tokens and not (path == "model.embedding.width" and embedding and embedding.vectors)
        return not (path == "model.pooling" and self.default.task.answer.reads == "states")

    def _enter_all(self) -> None:
        """The default, then as many settings that differ as there are, up to the trials that are wanted."""
        seen = {self.default.digest}
        self.enter((), PlannedPoint({}, self.label, (self.default,)))
        seed = int(digest_of(self.label), 16)
        while self.axes and len(self.trials) < self.wanted:
            number = len(self.trials)
            for attempt in range(ATTEMPTS):
                setting = draw(self.axes, number, attempt, seed)
                spec = self._valid(meaningful(self.space, changes_of(self.axes, setting), self._default_of))
                if spec is not None and spec.digest not in seen:
                    seen.add(spec.digest)
                    self.enter(setting, PlannedPoint(values_of(self.axes, setting), self.label, (spec,)))
                    break
            else:
                return

    def _default_of(self, path: str) -> Any:
        return attrgetter(path)(self.default)

    def _values(self, spec: RunSpec) -> dict[str, Any]:
        """Of the axes that have a meaning in a trial."""
        whole = {path: attrgetter(path)(spec) for path in self.space}
        kept = meaningful(self.space, whole, self._default_of)
        return {path: list(value) if isinstance(value, tuple) else value for path, value in kept.items()}

    def _valid(self, changes: Mapping[str, Any]) -> RunSpec | None:
        """None where the values don't suit what the user has set, or the data."""
        try:
            spec = with_changes(self.default, changes)
        except ConfigError:
            return None
        unsuited = isinstance(spec.model, Architecture) and spec.model.check("tokens" if self.tokens else "features")
        return None if unsuited else spec

    def _result(self, trial: Trial, by: Score) -> TrialResult:
        [run] = trial.runs
        outcome = trial.outcome_of(run)
        loss = None if isinstance(outcome, Diverged | Failed) else run.loss_at(trial.pruned_at)
        statuses: dict[type, Status] = {Finished: "finished", Stopped: "stopped", Diverged: "diverged"}
        return TrialResult(
            setting=self._values(run.spec) if trial.setting else {},
            score=None if loss is None else -by.sign * loss,
            status=statuses.get(type(outcome), "failed"),
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
