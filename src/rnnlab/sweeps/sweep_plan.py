"""From a sweep file to runs with nothing left open: the data are read here, and what was automatic is filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rnnlab.comparing.studies import Axis, AxisValue, Target
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import both, joined, note, retold
from rnnlab.models.baselines import BASELINES
from rnnlab.sweeps.axes import AnyAxis, grid, label_of
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.sweeps.plan import Opened, complete_experiment
from rnnlab.sweeps.sweep_file import POINT, StudySettings, SweepFile, axes_of, point_tree
from rnnlab.tasks.base import TASKS
from rnnlab.training.spec import RunSpec

NO_CAP = 10**9  # updates: of runs that epochs or minutes end


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
    tree = point_tree(settings, changes)
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
