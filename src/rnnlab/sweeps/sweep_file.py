"""Sweep files: settings that all share, and studies, each with its axes. From a file to runs with nothing left open.

A file is an experiment whose arms are the points of axes. It has one study, whose settings stand at the top, or several
under [study.NAME]; what stands at the top holds for all of them. [quick] says what is smaller with --quick.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from rnnlab.claims.claim import Claim, claim_problems, parse_claims, table_problems
from rnnlab.comparing.studies import Axis
from rnnlab.core.config import Config, assign, parse, parse_setting, problems, read_toml, sound, unknown_keys
from rnnlab.core.errors import ConfigError, WrongValue, all_problems
from rnnlab.core.words import say
from rnnlab.models.baselines import BASELINES
from rnnlab.sweeps.axes import AnyAxis, Choices, axis_problems, grid, parse_axis
from rnnlab.sweeps.experiment import experiment_problems, merged, stands_in
from rnnlab.sweeps.experiment_names import experiment_file
from rnnlab.sweeps.plan import is_sweep, seen_from
from rnnlab.tasks.base import TASKS

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
    """A sweep file, or an experiment by its name, with --set over everything that it says. Every problem is told at
    once."""
    asked, found = _read(file, quick, settings, only)
    if found:
        raise ConfigError(all_problems(str(file), found))
    return asked


def check_sweep(file: str | Path, settings: Sequence[str] = ()) -> SweepFile:
    """The same as it is and with --quick, for `rnnlab check`: what is wrong with either is told at once."""
    asked, found = _read(file, False, settings, ())
    _, smaller = _read(file, True, settings, ())
    found += [say("with --quick: {problem}", problem=problem) for problem in smaller if problem not in found]
    if found:
        raise ConfigError(all_problems(str(file), found))
    return asked


def _read(file: str | Path, quick: bool, settings: Sequence[str], only: Sequence[str]) -> tuple[SweepFile, list[str]]:
    """The file as far as it can be read, and all that is wrong with it."""
    path = experiment_file(file)
    tree = read_toml(path)
    if not is_sweep(tree) and "arms" in tree:
        raise ConfigError("{file}: this file has arms, not axes: run it with 'rnnlab compare {file}'", file=file)
    found = [*unknown_keys(tree, (*_TOP, *_SHARED))]
    wrong = [key for key in ("study", "quick") if not isinstance(tree.get(key, {}), dict)]
    found += [say("{key}: must be a table", key=key) for key in wrong]
    tree = {key: value for key, value in tree.items() if key in (*_TOP, *_SHARED) and key not in wrong}
    name = str(tree.get("name", path.stem))
    changes: dict[str, Any] = {}
    for text in settings:
        assign(changes, *parse_setting(text))
    shared = {key: tree[key] for key in _SHARED if key in tree}
    own = tree.get("study") or {name: {}}
    missing = [key for key in only if key not in own]
    if missing:
        raise ConfigError(
            "{file}: no study {names}; there are {others}",
            file=file,
            names=", ".join(map(repr, missing)),
            others=", ".join(own),
        )
    studies: dict[str, StudySettings] = {}
    for key in only or own:
        at = f"study.{key}" if "study" in tree else ""
        values = own[key]
        if not isinstance(values, dict) or not isinstance(values.get("quick", {}), dict):
            name_of_table = f"{at}.quick" if isinstance(values, dict) else at
            found.append(say("{path}: must be a table", path=name_of_table))
            continue
        smaller = merged(tree.get("quick", {}), values.get("quick", {})) if quick else {}
        layers = merged(shared, {k: v for k, v in values.items() if k != "quick"})
        whole = merged(merged(layers, smaller), changes)
        if isinstance(whole.get("task", {}), dict):
            whole["task"] = seen_from(path.parent, whole.get("task", {}))
        found += problems(StudySettings, whole, at)
        studies[key] = parse(StudySettings, _readable(whole), at)
        found += _study_problems(studies[key], at)
    claims, wrong_claims = _claims(tree.get("claim", []), studies, only)
    once = dict.fromkeys(_said_once(problem, own, shared) for problem in found)
    return SweepFile(name, studies, claims), [*once, *wrong_claims]


def _readable(whole: dict[str, Any]) -> dict[str, Any]:
    """A study without what is wrong with it by itself, so that the rest can be looked at."""
    values = sound(StudySettings, whole)
    if "strategy" in whole and "strategy" not in values:
        values["strategy"] = "random"  # which takes lists and ranges
    if values.get("strategy", "grid") == "grid":
        values.pop("trials", None)
    else:
        values.setdefault("trials", 1)
    return values


def _said_once(problem: str, own: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    """A problem of what all studies share, without the name of a study."""
    for key, values in own.items():
        rest = problem.removeprefix(f"study.{key}.")
        parts = re.split(r"[^\w.]", rest, maxsplit=1)[0].split(".")
        if rest != problem and stands_in(shared, parts) and not stands_in(values, parts):
            return rest
    return problem


def _claims(
    tables: Any, studies: Mapping[str, StudySettings], only: Sequence[str]
) -> tuple[tuple[Claim, ...], list[str]]:
    """The claims that can be read, and what is wrong with any."""
    found = table_problems(tables)
    readable = [table for table in tables if not table_problems([table])] if isinstance(tables, list) else []
    claims = tuple(claim for claim in parse_claims(readable) if claim.study in studies or not only)
    with_target = [key for key, study in studies.items() if study.target is not None]
    return claims, found + claim_problems(claims, {k: _all_axes(s) for k, s in studies.items()}, with_target)


POINT = "point"  # the one arm of the experiment that a point is


def point_tree(settings: StudySettings, changes: Mapping[str, Any]) -> dict[str, Any]:
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
    for name, given in _readable_axes(settings).items():
        axis, kept = parse_axis(name, given), settings.keep.get(name)
        if kept is not None and isinstance(axis, Choices):
            axis = Choices(name, tuple(choice for choice in axis.choices if choice.value in kept))
        axes.append(axis)
    return tuple(axes)


def _readable_axes(settings: StudySettings) -> dict[str, Any]:
    return {name: given for name, given in settings.axes.items() if not axis_problems(name, given, name)}


def _all_axes(settings: StudySettings) -> tuple[Axis, ...]:
    """Also the values that --quick leaves out: a claim about them can't be decided then, but isn't a mistake."""
    axes = [parse_axis(name, given) for name, given in _readable_axes(settings).items()]
    return tuple(
        Axis(axis.name, tuple(c.value for c in axis.choices) if isinstance(axis, Choices) else ()) for axis in axes
    )


def _study_problems(settings: StudySettings, path: str) -> list[str]:
    """All that can be said before any data is read."""
    at = f"{path}." if path else ""
    found = [p for name, given in settings.axes.items() for p in axis_problems(name, given, f"{at}axes.{name}")]
    axes = {axis.name: axis for axis in axes_of(settings)}
    unread = settings.axes.keys() - axes.keys()  # of these it isn't known what they set
    for name, kept in settings.keep.items():
        known = [c.value for c in getattr(axes.get(name), "choices", ())]
        if name not in unread and (name not in axes or len(known) < len(kept)):
            found.append(say("{at}keep.{name}: not values of such an axis (got {kept})", at=at, name=name, kept=kept))
    for pair in settings.heatmaps:
        found += [
            say("{at}heatmaps: '{name}' is no axis; axes: {names}", at=at, name=name, names=", ".join(settings.axes))
            for name in pair
            if name not in settings.axes
        ]
    ranges = [axis.name for axis in axes.values() if not isinstance(axis, Choices)]
    if settings.strategy == "grid":
        found += [
            say("{at}axes.{n}: a range is for random, tpe and asha; a grid needs a list of values", at=at, n=n)
            for n in ranges
        ]
    elif not settings.axes:
        found.append(say("{at}axes: '{strategy}' needs something to vary", at=at, strategy=settings.strategy))
    every = [problem for _, changes in grid(list(axes.values())) for problem in _point_problems(settings, changes)]
    certain = [problem for problem in every if not unread or _by_itself(problem)]
    return found + list(dict.fromkeys(f"{at}{problem}" for problem in certain))


def _by_itself(problem: str) -> bool:
    """Whether it is a problem of one setting, which no other value of an axis would solve."""
    return re.match(r"(task|model|training)\.(?!kind\b)", problem) is not None


def _point_problems(settings: StudySettings, changes: Mapping[str, Any]) -> list[str]:
    try:
        tree = point_tree(settings, changes)
    except ConfigError as error:
        return [str(error)]
    model = tree["arms"][POINT]["model"]
    if model.get("kind") in BASELINES.names():
        return [*BASELINES.problems(model, "model"), *TASKS.problems({"kind": "classify", **tree["task"]}, "task")]
    found = [problem.replace(f"arms.{POINT}.", "") for problem in experiment_problems(tree)]
    kind = tree["task"].get("kind", "classify")
    target = settings.target
    metric = None if found else TASKS.parse({"kind": kind, **tree["task"]}, "task").answer.chosen.name
    if metric and target is not None and target.stop and target.metric not in (None, metric):
        found.append(
            say("target.stop: a run can stop only at '{metric}', by which '{kind}' chooses", metric=metric, kind=kind)
        )
    return found
