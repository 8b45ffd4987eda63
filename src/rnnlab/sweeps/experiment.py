"""An experiment is labelled arms × seeds; each pair is a run."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from rnnlab.core.config import Config, parse, problems, unknown_keys
from rnnlab.core.errors import ConfigError, all_problems, did_you_mean, known_are
from rnnlab.core.words import say
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.baselines import BASELINES, Balancing, Baseline
from rnnlab.models.decoding import DecoderSettings
from rnnlab.models.embedding import Embedding
from rnnlab.tasks.base import TASKS, Task
from rnnlab.training.spec import RunSpec, Training

SEEDS, SPLIT_SEEDS = 3, 5  # runs per arm, unless the user says how many; the latter where the split varies
MOST_TRIALS = 1000  # of --tune, per arm

Match = Literal["parameters", "seconds"]
C = TypeVar("C", bound=Config)


@dataclass(frozen=True)
class Arm:
    model: Architecture
    training: Training


@dataclass(frozen=True)
class Experiment:
    """Labelled arms × seeds on one task. Baselines run once per split, beside them."""

    task: Task
    arms: dict[str, Arm]
    seeds: tuple[int, ...]
    name: str = ""
    notes: tuple[str, ...] = field(default=())
    match: Match | None = None  # what the arms are made to have in common; `sweeps.plan` sees to it
    vary_split: bool = False  # the seed of a run draws the split of the data, too
    splits: Mapping[int, Task] = field(default_factory=dict)  # then, the resolved task of each seed; by `sweeps.plan`
    tune: int | None = None  # settings to try per arm before it is compared; `sweeps.tune` does
    fixed: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by arm or baseline, paths that the user set
    baselines: Mapping[str, Baseline] = field(default_factory=dict)  # by name, where not as they are by default

    def task_of(self, seed: int) -> Task:
        """The same for all arms of a seed, so that their runs can be paired."""
        if not self.vary_split:
            return self.task
        return self.splits[seed] if seed in self.splits else self.task.with_split(seed)

    def specs(self) -> list[tuple[str, RunSpec]]:
        """(label, spec) of every run, seed by seed, so that an early stop leaves all arms with as many seeds."""
        return [
            (label, RunSpec(task, arm.model, arm.training, seed))
            for seed, task in ((seed, self.task_of(seed)) for seed in self.seeds)
            for label, arm in self.arms.items()
        ]

    def with_more_seeds(self, labels: Iterable[str], have: int, wanted: int) -> "Experiment":
        """For these arms alone, in this order, and the seeds that come after the first ``have``, up to ``wanted``."""
        unused = (seed for seed in itertools.count() if seed not in self.seeds)
        seeds = tuple(itertools.islice(itertools.chain(self.seeds, unused), have, wanted))
        new = [seed for seed in seeds if self.vary_split and seed not in self.splits]
        splits = {**self.splits, **dict(zip(new, self.task.resolve_splits(new), strict=True))}
        return replace(self, seeds=seeds, arms={label: self.arms[label] for label in labels}, splits=splits)


_TOP_KEYS = ("name", "seeds", "vary_split", "match", "tune", "task", "model", "training", "arms", "baselines")


def experiment_problems(tree: dict[str, Any]) -> list[str]:
    """Everything that is wrong with an experiment file, each with its path."""
    found = [*unknown_keys(tree, _TOP_KEYS)]
    wrong = [k for k in ("task", "model", "training", "arms", "baselines") if not isinstance(tree.get(k, {}), dict)]
    found += [say("{key}: must be a table, written as [{key}]", key=key) for key in wrong]
    tree = {key: value for key, value in tree.items() if key not in wrong}
    task = {"kind": "classify", **tree.get("task", {})}
    of_the_task = TASKS.problems(task, "task")
    found += of_the_task
    found += problems(Training, _training_values(tree), "training")
    found += _ignored(task, tree.get("training", {}), "training")
    found += [say("seeds: {reason}", reason=reason) for reason in _seed_problems(_seeds(tree))]
    found += _split_problems(tree, None if of_the_task else task)
    if not tree.get("arms") and "arms" not in wrong:
        found.append(say('arms: at least one is needed, for example [arms.lstm.model] with kind = "lstm"'))
    shared = tree.get("model", {})
    options = ARCHITECTURES.options()
    nobodys = [key for key in shared if key not in (*options, "kind")]
    found += unknown_keys(nobodys, options, "model.")
    tree["model"] = {key: value for key, value in shared.items() if key not in nobodys}
    for label, arm in tree.get("arms", {}).items():
        found += _arm_problems(tree, label, arm, None if of_the_task else TASKS[task["kind"]])
    found += _baseline_problems(tree) + _match_problems(tree) + _tune_problems(tree)
    return list(dict.fromkeys(found))


def _arm_problems(tree: dict[str, Any], label: str, arm: Any, task: type[Task] | None) -> list[str]:
    """What is wrong with an arm. Where all arms share what is wrong, it is said of what they share."""
    path = f"arms.{label}"
    if not isinstance(arm, dict) or not all(isinstance(v, dict) for v in arm.values()):
        return [say("{path}: must be a table with a table 'model' (and perhaps 'training')", path=path)]
    found = [*unknown_keys(arm, ("model", "training"), f"{path}.")]
    model = merged(tree.get("model", {}), arm.get("model", {}))
    if "model" in arm or "kind" in model or not found:  # else a misspelt [model] has been told of
        of_the_model = ARCHITECTURES.problems(model, f"{path}.model")
        if task is not None and not of_the_model:
            of_the_model = unsuited(ARCHITECTURES.parse(model), task, f"{path}.model")
        found += of_the_model
    if arm.get("training"):
        found += problems(Training, _training_values(tree, arm), f"{path}.training")
        found += _ignored({"kind": "classify", **tree.get("task", {})}, arm["training"], f"{path}.training")
    return [_where_it_stands(problem, path, tree, arm) for problem in found]


def _where_it_stands(problem: str, path: str, tree: dict[str, Any], arm: dict[str, Any]) -> str:
    """``arms.gru.model.hidden: …`` is ``model.hidden: …`` where the arm takes over what all share."""
    found = re.match(rf"{re.escape(path)}\.((model|training)(\.\w+)+)", problem)
    if found is None:
        return problem
    own, shared = (stands_in(where, found[1].split(".")) for where in (arm, tree))
    return problem.removeprefix(f"{path}.") if shared and not own else problem


def stands_in(tree: Any, path: list[str]) -> bool:
    """Whether a tree says something at this path."""
    for part in path:
        if not isinstance(tree, dict) or part not in tree:
            return False
        tree = tree[part]
    return True


def unsuited(model: Architecture, task: type[Task], path: str) -> list[str]:
    """Settings of a model that the task would ignore, and why the model can't do it."""
    gaps = {"path": path, "kind": task.kind, "model": model.kind}
    if task.shape.reads == "states" and not task.shape.writes and "pooling" in model.model_fields_set:
        return [
            say(
                "{path}.pooling: the task '{kind}' answers at every step, where nothing is pooled; leave it out", **gaps
            )
        ]
    if model.crf and not task.shape.chains:
        return [
            say(
                "{path}.crf: the task '{kind}' doesn't tag tokens, so that there is no path to score; leave it out",
                **gaps,
            )
        ]
    if model.decoder is not None and not task.shape.writes:
        return [say("{path}.decoder: the task '{kind}' writes no text for another one; leave it out", **gaps)]
    if model.tied and not (task.shape.continues or task.shape.writes):
        return [
            say(
                "{path}.tied: the task '{kind}' doesn't continue a text, so that answers have no vectors to share; "
                "leave it out",
                **gaps,
            )
        ]
    if task.shape.reads == "states" and not task.shape.writes and getattr(model, "ends", False):
        return [
            say(
                "{path}.ends: the task '{kind}' answers at every step, and the last one would be told "
                "that it is the last; take ends = false",
                **gaps,
            )
        ]
    if not task.causal or model.causal:
        return []
    filled = task.model_defaults.get(model.kind, {})
    if filled.get("look_ahead") is False and "look_ahead" not in model.model_fields_set:
        return []
    for option in ("bidirectional", "look_ahead"):
        if getattr(model, option, None) is True:
            return [
                say(
                    "{path}.{option}: the task '{kind}' answers each step from the steps up to it, and this option "
                    "reads later ones; take {option} = false",
                    **gaps,
                    option=option,
                )
            ]
    able = [cls.kind for cls in ARCHITECTURES if not ARCHITECTURES.problems({"kind": cls.kind}) and cls().causal]
    return [
        say(
            "{path}.kind: the task '{kind}' answers each step from the steps up to it, and '{model}' as it is set "
            "reads later ones; take {names}",
            **gaps,
            names=", ".join(able),
        )
    ]


def _ignored(task: dict[str, Any], training: dict[str, Any], path: str) -> list[str]:
    """Settings of the training that would have no effect."""
    if task["kind"] not in TASKS.names():
        return []  # which is said elsewhere
    found = TASKS[task["kind"]].ignored(training, path, task)
    if training.get("batch_tokens") is not None and training.get("batch_size") == Training().batch_size:
        found.append(say("{path}.batch_size: 'batch_tokens' would ignore it; leave one of them out", path=path))
    return found  # any other batch_size is refused by `Training`


def _split_problems(tree: dict[str, Any], settings: dict[str, Any] | None) -> list[str]:
    """``settings`` are those of the task; None where they are wrong, which comes first."""
    asked = tree.get("vary_split", False)
    if not isinstance(asked, bool):
        return [say("vary_split: must be true or false (got {asked!r})", asked=asked)]
    if not asked or settings is None:
        return []
    task = TASKS.parse(settings)
    given = task.given_split()
    if given:
        return [say("vary_split: {reason}", reason=given)]
    if task.split_by in settings:
        return [
            say(
                "task.{split_by}: with vary_split it is the seed of each run; leave it out, and set seeds",
                split_by=task.split_by,
            )
        ]
    return []


def _match_problems(tree: dict[str, Any]) -> list[str]:
    match = tree.get("match")
    if match is None or match == "parameters":
        return []
    if match != "seconds":
        hint = did_you_mean(str(match), ("parameters", "seconds"))
        return [say("match: must be 'parameters' or 'seconds' (got {match!r}){hint}", match=match, hint=hint)]
    found = []
    if tree.get("training", {}).get("minutes") is None:
        found.append(
            say(
                "match: 'seconds' gives every run the same training time; say how long, with --minutes M or with "
                "minutes under [training]"
            )
        )
    return found + [
        say(
            "arms.{label}.training.minutes: with match = 'seconds' training.minutes holds for every arm; leave it out",
            label=label,
        )
        for label, arm in tree.get("arms", {}).items()
        if isinstance(arm, dict) and isinstance(arm.get("training"), dict) and "minutes" in arm["training"]
    ]


def _baseline_problems(tree: dict[str, Any]) -> list[str]:
    found = []
    for name, values in tree.get("baselines", {}).items():
        if name not in BASELINES.names():
            hint = did_you_mean(name, BASELINES.names()) or known_are(BASELINES.names())
            found.append(say("baselines.{name}: no such baseline{hint}", name=name, hint=hint))
        elif not isinstance(values, dict):
            found.append(say("baselines.{name}: must be a table, written as [baselines.{name}]", name=name))
        else:
            found += BASELINES.problems({**values, "kind": name}, f"baselines.{name}")
            weighed = {"class_weights": values.get("class_weights")}
            found += _ignored({"kind": "classify", **tree.get("task", {})}, weighed, f"baselines.{name}")
    return found


def _baseline_values(tree: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is said of each baseline that isn't as it is by default. Classes are balanced in all arms or in none."""
    balanced = {"class_weights": tree.get("training", {}).get("class_weights")}
    able = [cls.kind for cls in BASELINES if issubclass(cls, Balancing)] if balanced["class_weights"] else []
    return {name: {**balanced, **tree.get("baselines", {}).get(name, {})} for name in able} | {
        name: values for name, values in tree.get("baselines", {}).items() if name not in able
    }


def _tune_problems(tree: dict[str, Any]) -> list[str]:
    asked = tree.get("tune")
    if asked is None:
        return []
    if not isinstance(asked, int) or isinstance(asked, bool) or not 2 <= asked <= MOST_TRIALS:
        return [
            say(
                "tune: how many settings to try per model, from 2 to {most:,} (got {asked!r})",
                most=MOST_TRIALS,
                asked=asked,
            )
        ]
    if tree.get("match") == "parameters":
        return [say("tune: it searches the sizes that match = 'parameters' makes equal; leave one of them out")]
    return []


def _paths(values: dict[str, Any], before: str = "") -> Iterator[str]:
    """Of settings as a file says them: ``"model.hidden", "training.lr"``."""
    for key, value in values.items():
        yield from _paths(value, f"{before}{key}.") if isinstance(value, dict) else [f"{before}{key}"]


def _training_values(tree: dict[str, Any], arm: dict[str, Any] | None = None) -> dict[str, Any]:
    """How an arm is trained, or all arms: as the file says, else as its architecture or its task is trained best. With
    ``match = "seconds"`` minutes alone end a run."""
    task, model = tree.get("task", {}).get("kind"), merged(tree.get("model", {}), (arm or {}).get("model", {}))
    values: dict[str, Any] = {}
    if model.get("kind") in ARCHITECTURES.names():
        values = ARCHITECTURES[model["kind"]].training_defaults
    for given in (
        TASKS[task].usual_training(tree["task"], model.get("kind")) if task in TASKS.names() else {},
        tree.get("training", {}),
        (arm or {}).get("training", {}),
    ):
        values = merged(values, given)
        if isinstance(given.get("schedule"), dict) and "shape" in given["schedule"]:
            values["schedule"] = given["schedule"]  # another shape has other settings
        if isinstance(given.get("forcing"), dict) and "mode" in given["forcing"]:
            values["forcing"] = given["forcing"]  # and so has another mode
        if given.get("label_smoothing") and "softmax_samples" not in given:
            values.pop("softmax_samples", None)  # of the task's own: who smooths labels scores all tokens
    if tree.get("match") == "seconds" and values.get("minutes") is not None:
        values |= {"epochs": None, "steps": None, "patience": None}
    return values


def training_of(tree: dict[str, Any], label: str) -> Training:
    """How an arm of an experiment file is trained."""
    return parse(Training, _training_values(tree, tree["arms"][label]), f"arms.{label}.training")


def filled_in(model: Architecture, task: Task, text: bool = False) -> Architecture:
    """The model with what the user left open filled in as suits the task, and ``text`` where that is read: what an
    architecture says of itself, and how a recurrence pools. Tasks whose rows are made by a rule take of that later
    fields alone; and where there is an answer at every step, none is told where the text ends."""
    usual = {name: value for name, value in model.model_defaults.items() if task.regularised or name in model.added}
    if task.shape.writes:
        usual["decoder"] = DecoderSettings()
    elif task.shape.reads == "states":
        usual.pop("ends", None)
        if not task.causal:
            usual |= model.defaults_per_token
    if model.reads_in_turn:
        usual["pooling"] = task.recurrent_pooling
    if task.streams and "state" in type(model).model_fields and model.causal:
        usual["state"] = "carried"
    if text and task.regularised:
        usual = merged(usual, model.text_defaults)
    usual = merged(usual, task.usual_model(model.kind))
    if text and task.regularised:
        usual = merged(usual, task.text_defaults)
    return _with_usual(model, usual)


def _with_usual(config: C, usual: Mapping[str, Any]) -> C:
    changes = {
        name: _with_usual(getattr(config, name) or Embedding(), value) if name == "embedding" else value
        for name, value in usual.items()
        if name == "embedding" or name not in config.model_fields_set
    }
    return config.model_copy(update=changes)


def merged(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What an arm says over what all arms share, table by table."""
    own_tables = {
        key: merged(shared[key], value) if isinstance(value, dict) and isinstance(shared.get(key), dict) else value
        for key, value in own.items()
    }
    return {**shared, **own_tables}


def _seed_problems(seeds: Any) -> list[str]:
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        return [] if 1 <= seeds <= 10_000 else [say("how many must be between 1 and 10,000 (got {seeds})", seeds=seeds)]
    if isinstance(seeds, list) and seeds and all(isinstance(s, int) and s >= 0 for s in seeds):
        return [] if len(set(seeds)) == len(seeds) else [say("each seed may stand in the list once")]
    return [say("a number of seeds, or a list such as [0, 1, 2] (got {seeds!r})", seeds=seeds)]


def _seeds(tree: dict[str, Any]) -> Any:
    return tree.get("seeds", SPLIT_SEEDS if tree.get("vary_split") is True else SEEDS)


def seed_numbers(seeds: int | list[int]) -> tuple[int, ...]:
    """How many, or which."""
    return tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)


def parse_experiment(tree: dict[str, Any], source: str = "experiment") -> Experiment:
    """``{task, training, arms, seeds}`` → an Experiment, or one error that lists every problem."""
    found = experiment_problems(tree)
    if found:
        raise ConfigError(all_problems(source, found))
    task = TASKS.parse({"kind": "classify", **tree.get("task", {})}, "task")
    arms = {}
    for label, arm in tree["arms"].items():
        model = ARCHITECTURES.parse(merged(tree.get("model", {}), arm.get("model", {})), f"arms.{label}.model")
        arms[label] = Arm(filled_in(model, task), training_of(tree, label))
    said = {  # of an arm, for all arms or for it alone
        label: {key: merged(tree.get(key, {}), arm.get(key, {})) for key in ("model", "training")}
        for label, arm in tree["arms"].items()
    } | {name: {"model": values} for name, values in tree.get("baselines", {}).items()}
    return Experiment(
        task=task,
        arms=arms,
        seeds=seed_numbers(_seeds(tree)),
        name=tree.get("name", ""),
        match=tree.get("match"),
        vary_split=tree.get("vary_split", False),
        tune=tree.get("tune"),
        fixed={label: frozenset(_paths(values)) for label, values in said.items()},
        baselines={name: BASELINES.parse({**values, "kind": name}) for name, values in _baseline_values(tree).items()},
    )
