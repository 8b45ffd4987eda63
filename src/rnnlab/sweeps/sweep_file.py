"""Sweep files: settings that all share, and studies, each with its axes. From a file to runs with nothing left open.

A file is an experiment whose arms are the points of axes. It has one study, whose settings stand at the top, or several
under [study.NAME]; what stands at the top holds for all of them. [quick] says what is smaller with --quick.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from rnnlab.claims.claim import Claim, claim_problems, parse_claims, table_problems
from rnnlab.comparing.studies import Axis, AxisValue, Target
from rnnlab.core.config import Config, assign, parse, parse_setting, problems, read_toml
from rnnlab.core.errors import ConfigError, WrongValue, all_problems, did_you_mean, known_are
from rnnlab.core.words import both, joined, note, retold, say
from rnnlab.models.baselines import BASELINES
from rnnlab.sweeps.axes import AnyAxis, Choices, axis_problems, grid, label_of, parse_axis
from rnnlab.sweeps.experiment import experiment_problems, merged, parse_experiment
from rnnlab.sweeps.plan import Opened, complete_experiment, is_sweep, seen_from
from rnnlab.tasks.base import TASKS
from rnnlab.training.spec import RunSpec

NO_CAP = 10**9  # updates: of runs that epochs or minutes end
Strategy = Literal["grid", "random", "tpe", "asha"]


class TargetSettings(Config):
    """A validation score to reach: the first step at which a run does so is what heatmaps show."""

    metric: str | None = Field(default=None, description="Of the evaluations; else the one by which the task chooses.")
    value: float = Field(description="At least this (at most, for a loss).")
    cap: int | None = Field(
        default=None, ge=1, description="Updates after which a run is given up; else all that it makes."
    )
    stop: bool = Field(default=False, description="End a run where it gets there, instead of training to the end.")


class StudySettings(Config):
    """A study as a file says it."""

    about: str = Field(default="", description="What is asked.")
    reduced: str = Field(default="", description="What is smaller than in the document, for the ledger.")
    repeats: int | list[int] = Field(default=3, description="Seeds of every point: how many, or which.")
    axes: dict[str, Any] = Field(default={}, description="What is varied; see docs/sweeps.md.")
    keep: dict[str, list[Any]] = Field(default={}, description="Only these values of an axis, for --quick.")
    target: TargetSettings | None = Field(default=None, description="A score to reach.")
    heatmaps: tuple[tuple[str, str], ...] = Field(default=(), description="Pairs of axes (across, down).")
    strategy: Strategy = Field(default="grid", description="grid: every point. random, tpe and asha draw trials.")
    trials: int | None = Field(default=None, ge=1, description="How many settings random, tpe and asha try.")
    minutes: float | None = Field(default=None, gt=0, description="Begin no run after so long.")
    task: dict[str, Any] = Field(default={}, description="Settings of the task.")
    model: dict[str, Any] = Field(default={}, description="Settings of the model.")
    training: dict[str, Any] = Field(default={}, description="Settings of the training.")

    @model_validator(mode="after")
    def _trials_are_for_strategies_that_draw(self) -> Self:
        if self.strategy == "grid" and self.trials is not None:
            raise WrongValue("the grid has every point, and would ignore 'trials': take random, tpe or asha")
        if self.strategy != "grid" and self.trials is None:
            raise WrongValue("'{strategy}' needs to know how many settings to try: trials = 20", strategy=self.strategy)
        return self


@dataclass(frozen=True)
class PlannedPoint:
    at: dict[str, AxisValue]
    label: str
    specs: tuple[RunSpec, ...]  # a repeat each


@dataclass(frozen=True)
class PlannedStudy:
    """A study whose every run is known; with a strategy that draws, `points` is empty until it has drawn."""

    name: str
    settings: StudySettings
    axes: tuple[AnyAxis, ...]
    points: tuple[PlannedPoint, ...]
    metric: str
    lower_is_better: bool
    target: Target | None
    notes: tuple[str, ...]

    @property
    def shown_axes(self) -> tuple[Axis, ...]:
        """The axes with the values that are run."""
        return tuple(
            Axis(axis.name, tuple(dict.fromkeys(p.at[axis.name] for p in self.points if axis.name in p.at)))
            for axis in self.axes
        )


@dataclass(frozen=True)
class SweepFile:
    """What a file says, checked; nothing has been read or run yet."""

    name: str
    studies: dict[str, StudySettings]
    claims: tuple[Claim, ...]


_TOP = ("name", "study", "quick", "claim")
_SHARED = tuple(StudySettings.model_fields)


def read_sweep(
    file: str | Path, *, quick: bool = False, settings: Sequence[str] = (), only: Sequence[str] = ()
) -> SweepFile:
    """A sweep file, with --set over everything that it says. Every problem is told at once."""
    tree = read_toml(file)
    if not is_sweep(tree) and "arms" in tree:
        raise ConfigError("{file}: this file has arms, not axes: run it with 'rnnlab compare {file}'", file=file)
    name = str(tree.get("name", Path(file).stem))
    found = [
        say("{key}: must be a table", key=key) for key in ("study", "quick") if not isinstance(tree.get(key, {}), dict)
    ]
    known = (*_TOP, *_SHARED)
    found += [
        say("{key}: unknown key{hint}", key=key, hint=did_you_mean(key, known) or known_are(known))
        for key in tree
        if key not in known
    ]
    if found:
        raise ConfigError(all_problems(str(file), found))
    changes: dict[str, Any] = {}
    for text in settings:
        assign(changes, *parse_setting(text))
    shared = {key: tree[key] for key in _SHARED if key in tree}
    own = tree.get("study") or {name: {}}
    chosen = {key: own[key] for key in only or own if key in own}
    if len(chosen) < len(only or own):
        missing = [key for key in only if key not in own]
        raise ConfigError(
            "{file}: no study {names}; there are {others}",
            file=file,
            names=", ".join(map(repr, missing)),
            others=", ".join(own),
        )
    studies = {}
    for key, values in chosen.items():
        path = f"study.{key}" if "study" in tree else ""
        if not isinstance(values, dict):
            found.append(say("{path}: must be a table", path=path))
            continue
        smaller = merged(tree.get("quick", {}), values.get("quick", {})) if quick else {}
        layers = merged(shared, {k: v for k, v in values.items() if k != "quick"})
        whole = merged(merged(layers, smaller), changes)
        whole["task"] = seen_from(Path(file).parent, whole.get("task", {}))
        of_study = problems(StudySettings, whole, path)
        found += of_study
        if not of_study:
            studies[key] = parse(StudySettings, whole, path)
            found += _study_problems(studies[key], path)
    found += table_problems(tree.get("claim", []))
    if found:
        raise ConfigError(all_problems(str(file), found))
    claims = tuple(claim for claim in parse_claims(tree.get("claim", [])) if claim.study in chosen or not only)
    with_target = [key for key, study in studies.items() if study.target is not None]
    found = claim_problems(claims, {key: _all_axes(study) for key, study in studies.items()}, with_target)
    if found:
        raise ConfigError(all_problems(str(file), found))
    return SweepFile(name, studies, claims)


def plan_studies(file: SweepFile, source: str) -> list[PlannedStudy]:
    """Read the data and fill in what was automatic. Settings that don't suit the data are found here."""
    opened = Opened()
    return [plan_study(name, study, f"{source}: {name}", opened) for name, study in file.studies.items()]


def plan_study(name: str, settings: StudySettings, source: str, opened: Opened) -> PlannedStudy:
    axes = axes_of(settings)
    points: list[PlannedPoint] = []
    notes: list[str] = []
    task = None
    if settings.strategy == "grid":
        for values, changes in grid(axes):
            label = label_of(axes, values) or name
            at = dict(zip((axis.name for axis in axes), values, strict=True))
            planned, said = plan_point(settings, changes, f"{source}, {label}", opened)
            notes += [note("{label}: {text}", label=label, text=text) if len(axes) else text for text in said]
            if planned is not None:
                points.append(PlannedPoint(at, label, tuple(planned)))
                task = planned[0].task
        if task is None:
            first = both("{source}: no point is left to run", source=source)
            raise ConfigError(joined([first, *map(retold, notes)], "\n"))
    else:
        task = TASKS.parse({"kind": "classify", **settings.task}, "task")
    study = PlannedStudy(
        name,
        settings,
        axes,
        tuple(points),
        task.answer.chosen.name,
        task.answer.chosen.lower_is_better,
        None,
        tuple(dict.fromkeys(notes)),
    )
    return with_target(study)


def plan_point(
    settings: StudySettings, changes: Mapping[str, Any], source: str, opened: Opened
) -> tuple[list[RunSpec] | None, tuple[str, ...]]:
    """The runs of one setting, a seed each, and notes; None when the model can't be run on this data."""
    tree = _tree_of(settings, changes)
    model = tree["arms"][POINT]["model"]
    if model.get("kind") in BASELINES.names():
        task, _ = opened.open(TASKS.parse({"kind": "classify", **tree["task"]}, "task"))
        return [RunSpec(task, BASELINES.parse(model, "model"), None, 0)], ()
    asked = parse_experiment(tree, source)
    experiment = complete_experiment(asked, tree, *opened.open(asked.task))
    arm = experiment.arms.get(POINT)
    if arm is None:
        return None, experiment.notes
    return [RunSpec(experiment.task, arm.model, arm.training, seed) for seed in experiment.seeds], experiment.notes


POINT = "point"  # the one arm of the experiment that a point is


def _tree_of(settings: StudySettings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The point as an experiment of one arm."""
    tree: dict[str, Any] = {key: copy.deepcopy(getattr(settings, key)) for key in ("task", "model", "training")}
    for path, value in changes.items():
        assign(tree, path.split("."), copy.deepcopy(value))
    target = settings.target
    if target is not None and target.stop:
        tree["training"] = {**tree["training"], "until": target.value}
    if target is not None and target.cap is not None:
        tree["training"].setdefault("steps", target.cap)
    return {
        "task": tree["task"],
        "training": tree["training"],
        "arms": {POINT: {"model": tree["model"]}},
        "seeds": settings.repeats,
    }


def axes_of(settings: StudySettings) -> tuple[AnyAxis, ...]:
    """With the values that --quick keeps."""
    axes = []
    for name, given in settings.axes.items():
        axis, kept = parse_axis(name, given), settings.keep.get(name)
        if kept is not None and isinstance(axis, Choices):
            axis = Choices(name, tuple(choice for choice in axis.choices if choice.value in kept))
        axes.append(axis)
    return tuple(axes)


def _all_axes(settings: StudySettings) -> tuple[Axis, ...]:
    """Also the values that --quick leaves out: a claim about them can't be decided then, but isn't a mistake."""
    axes = [parse_axis(name, given) for name, given in settings.axes.items()]
    return tuple(
        Axis(axis.name, tuple(c.value for c in axis.choices) if isinstance(axis, Choices) else ()) for axis in axes
    )


def with_target(study: PlannedStudy) -> PlannedStudy:
    """The study with its target spelt out; the cap, unless it is given, is the most updates that a run makes."""
    given = study.settings.target
    if given is None:
        return study
    trained = [spec.training for point in study.points for spec in point.specs if spec.training]
    cap = given.cap or max((training.steps or 0 for training in trained), default=0) or NO_CAP
    metric = given.metric or study.metric
    lower = metric == "loss" or (metric == study.metric and study.lower_is_better)
    return replace(study, target=Target(metric, given.value, cap, lower))


def _study_problems(settings: StudySettings, path: str) -> list[str]:
    """All that can be said before any data is read."""
    at = f"{path}." if path else ""
    found = [p for name, given in settings.axes.items() for p in axis_problems(name, given, f"{at}axes.{name}")]
    if found:
        return found
    axes = {axis.name: axis for axis in axes_of(settings)}
    for name, kept in settings.keep.items():
        known = [c.value for c in getattr(axes.get(name), "choices", ())]
        if name not in axes or len(known) < len(kept):
            found.append(say("{at}keep.{name}: not values of such an axis (got {kept})", at=at, name=name, kept=kept))
    for pair in settings.heatmaps:
        found += [
            say("{at}heatmaps: '{name}' is no axis; axes: {names}", at=at, name=name, names=", ".join(axes))
            for name in pair
            if name not in axes
        ]
    ranges = [axis.name for axis in axes.values() if not isinstance(axis, Choices)]
    if settings.strategy == "grid":
        found += [
            say("{at}axes.{n}: a range is for random, tpe and asha; a grid needs a list of values", at=at, n=n)
            for n in ranges
        ]
    elif not axes:
        found.append(say("{at}axes: '{strategy}' needs something to vary", at=at, strategy=settings.strategy))
    if found:
        return found
    shown: dict[str, None] = {}
    for _, changes in grid(list(axes.values())):
        for problem in _point_problems(settings, changes):
            shown.setdefault(f"{at}{problem}")
    return list(shown)


def _point_problems(settings: StudySettings, changes: Mapping[str, Any]) -> list[str]:
    try:
        tree = _tree_of(settings, changes)
    except ConfigError as error:
        return [str(error)]
    model = tree["arms"][POINT]["model"]
    if model.get("kind") in BASELINES.names():
        return [*BASELINES.problems(model, "model"), *TASKS.problems({"kind": "classify", **tree["task"]}, "task")]
    found = [problem.replace(f"arms.{POINT}.", "") for problem in experiment_problems(tree)]
    kind = tree["task"].get("kind", "classify")
    target = settings.target
    if not found and target is not None and target.stop and target.metric not in (None, TASKS[kind].answer.chosen.name):
        metric = TASKS[kind].answer.chosen.name
        found.append(
            say("target.stop: a run can stop only at '{metric}', by which '{kind}' chooses", metric=metric, kind=kind)
        )
    return found
