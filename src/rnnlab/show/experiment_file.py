"""The experiment file that repeats a comparison, run for run, made from what its runs recorded."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.core.toml import toml_key, toml_value
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.baselines import BASELINES
from rnnlab.models.embedding import Embedding
from rnnlab.sweeps.experiment import Arm, Experiment, filled_in, parse_experiment, training_of
from rnnlab.tasks.base import TASKS, Task
from rnnlab.training.spec import Forcing, RunSpec, Schedule

_HEAD = """\
# 'rnnlab compare FILE' repeats the comparison, run for run; runs that are there already are found again.
# Settings that aren't here have their defaults. Baselines run by themselves, those that aren't here too.
"""

Values = dict[str, Any]
ELSEWHERE = ("kind", "embedding", "fingerprint", "vectors_digest")  # settings that have a way of their own into a file


class _Unsayable(Exception):
    """A file can't say it."""


def experiment_file(name: str, specs: Sequence[tuple[str, Values]]) -> str | None:
    """TOML text from (label, spec.json) of every run of a comparison; only settings that differ from the defaults.

    None where no file asks for these runs: a model or a task that isn't rnnlab's own (a file names no plugin), no run
    but baselines, arms on different data, an arm whose runs differ in more than the seed and the split that it draws,
    a setting that was made in Python and that TOML has no word for."""
    try:
        runs = [(label, RunSpec.from_dict(spec)) for label, spec in specs if spec["training"] is not None]
        arms = _arms(runs)
        text = _written(name, runs, arms) + _baselines([spec for _, spec in specs if spec["training"] is None])
        text.encode()  # a path may hold bytes that are no text, and then the file couldn't be written
        return text if _asks_for(text, arms) else None
    except (_Unsayable, ConfigError, UnicodeEncodeError):
        return None


def _arms(runs: Sequence[tuple[str, RunSpec]]) -> dict[str, Arm]:
    arms: dict[str, Arm] = {}
    for label, spec in runs:
        own = all(type(part).__module__.split(".")[0] == "rnnlab" for part in (spec.task, spec.model))
        if not own or not isinstance(spec.model, Architecture) or spec.training is None:
            raise _Unsayable
        arm = arms.setdefault(label, Arm(spec.model, spec.training))
        if not _same(arm, Arm(spec.model, spec.training)):
            raise _Unsayable
    if not arms:
        raise _Unsayable
    return arms


def _same(one: Arm, other: Arm) -> bool:
    return (one.model.to_dict(), one.training.to_dict()) == (other.model.to_dict(), other.training.to_dict())


def _task(runs: Sequence[tuple[str, RunSpec]]) -> tuple[Task, bool]:
    """What all runs share, and whether the split varies with the seed; then the setting that draws it isn't shared."""
    first = runs[0][1].task
    if all(spec.task.identity() == first.identity() for _, spec in runs):
        return first, False
    drawn_by = first.split_by
    if drawn_by is None:
        raise _Unsayable
    usual = {drawn_by: type(first).model_fields[drawn_by].default, "fingerprint": None}
    shared = first.replace(**usual)
    for _, spec in runs:
        if spec.task.replace(**usual) != shared or getattr(spec.task, drawn_by) != spec.seed:
            raise _Unsayable
    return shared, True


def _written(name: str, runs: Sequence[tuple[str, RunSpec]], arms: Mapping[str, Arm]) -> str:
    task, varies = _task(runs)
    seeds = {label: {spec.seed for own, spec in runs if own == label} for label in arms}
    of_task, models = _task_settings(task), {label: _model_settings(arm.model, task) for label, arm in arms.items()}
    match, training = None, _training_settings(of_task, models, arms, match=None)
    if training is None:
        match, training = "seconds", _training_settings(of_task, models, arms, match="seconds")
    if training is None:
        raise _Unsayable
    shared = _shared(of_task, list(training.values()))
    every = sorted(set.union(*seeds.values()))
    lines = [_HEAD]
    lines += [f"name = {toml_value(name)}"] if name else []
    if any(own != set(every) for own in seeds.values()):
        lines.append("# Not every arm was run with all of these seeds: the runs that are missing will be made.")
    lines.append(f"seeds = {len(every) if every == list(range(len(every))) else every}")
    lines += ["vary_split = true"] if varies else []
    lines += [f"match = {toml_value(match)}"] if match else []
    lines += ["", *_table("task", settings=of_task)]
    lines += ["", *_table("training", settings=shared)] if shared else []
    for label in arms:
        own = {key: value for key, value in training[label].items() if key not in shared}
        lines += ["", *_table("arms", label, "model", settings=models[label])]
        lines += ["", *_table("arms", label, "training", settings=own)] if own else []
    return "\n".join(lines) + "\n"


def _baselines(specs: Sequence[Values]) -> str:
    """Tables of the baselines that have other settings than by default: those that were tuned."""
    lines: list[str] = []
    for kind, values in {spec["model"]["kind"]: spec["model"] for spec in specs}.items():
        usual = BASELINES.parse({"kind": kind, **BASELINES[kind].model_defaults})
        recorded = BASELINES.parse(values)
        fields = {name: getattr(recorded, name) for name in type(recorded).model_fields}
        said = {name: value for name, value in fields.items() if value is not None and value != getattr(usual, name)}
        lines += ["", *_table("baselines", kind, settings=said)] if said else []
    return "\n".join(lines) + "\n" if lines else ""


def _table(*path: str, settings: Values) -> list[str]:
    header = ".".join(toml_key(part) for part in path)
    return [f"[{header}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in settings.items())]


def _task_settings(task: Task) -> Values:
    """The fingerprint is left out: it is found anew, and shows in the digests of the runs whether the data changed."""
    values = {key: value for key, value in task.to_dict().items() if key not in ("kind", "fingerprint")}
    kept = _needed(values, lambda said: TASKS.parse({"kind": task.kind, **said}).to_dict())
    data = values.get("data")
    named = {} if data is None else {"data": data}  # default or not: it is what everything is about
    return {"kind": task.kind, **named, **kept}


def _model_settings(model: Architecture, task: Task) -> Values:
    def meant(said: Values) -> Values:
        as_said = ARCHITECTURES.parse({"kind": model.kind, **said})
        return _with_later_fields(filled_in(as_said, task, text=model.embedding is not None))

    values = {key: value for key, value in _with_later_fields(model).items() if key not in ("kind", "embedding")}
    kept = _needed(values, meant)
    embedding = _embedding_settings(model, task)
    return {"kind": model.kind, **kept, **({"embedding": embedding} if embedding else {})}


def _with_later_fields(model: Architecture) -> Values:
    """All settings; also those that aren't recorded where they have their default, if another value is filled in."""
    return {**model.to_dict(), **{name: getattr(model, name) for name in model.model_defaults}}


def _embedding_settings(model: Architecture, task: Task) -> Values:
    """Empty for the usual one, which is filled in for text. What planning would choose is said, as it was chosen."""
    if model.embedding is None:
        return {}
    values = {key: value for key, value in model.embedding.to_dict().items() if key != "vectors_digest"}
    usual = Embedding(width=model.usual_width, **(model.text_defaults if task.regularised else {}).get("embedding", {}))
    if model.embedding.vectors is not None:
        values = {key: value for key, value in values.items() if value != getattr(usual, key)}
        return {"width": model.embedding.width, **values}
    kept = _needed(values, lambda said: parse(Embedding, {**usual.to_dict(), **said}).to_dict())
    return {**kept, "channels": "random"} if model.needs_vectors else kept


def _training_settings(
    task: Values, models: Mapping[str, Values], arms: Mapping[str, Arm], match: str | None
) -> dict[str, Values] | None:
    """By label; None when they can't be said with this ``match``, which may set limits on its own."""
    found = {}
    for label, arm in arms.items():
        values = arm.training.to_dict()
        schedule = _needed(values["schedule"], lambda said: parse(Schedule, said).to_dict())
        rest = {"task": task, "match": match, "arms": {label: {"model": models[label]}}}

        def trained(said: Values, rest: Values = rest, label: str = label) -> Values:
            return training_of({**rest, "training": said}, label).to_dict()

        try:
            kept = _needed(values, trained)
        except _Unsayable:
            return None
        tables = {"schedule": schedule, "forcing": _needed(arm.training.forcing.to_dict(), _forced)}
        found[label] = {**kept, **{name: said for name, said in tables.items() if name in kept}}
    return found


def _forced(said: Values) -> Values:
    return parse(Forcing, said).to_dict()


def _shared(task: Values, training: Sequence[Values]) -> Values:
    """What all arms say alike, if it makes sense by itself: a momentum does not, where each arm has its optimiser."""
    alike = {key: value for key, value in training[0].items() if all(own.get(key) == value for own in training[1:])}
    arm = {"arms": {"any": {"model": {"kind": "rnn"}}}}
    try:
        training_of({**arm, "task": task, "training": alike}, "any")
    except ConfigError:
        return {}
    return alike


def _needed(values: Values, means: Callable[[Values], Values]) -> Values:
    """The fewest of ``values`` that mean all of them; ``means`` fills in the rest. A None that isn't the default is
    written "none"."""

    def meaning(said: Values) -> Values:
        try:
            return means(said)
        except ConfigError:
            return {}

    def enough(said: Values) -> bool:
        got = meaning(said)
        return all(got.get(key, ...) == value for key, value in values.items()) and got.keys() <= {*values, *ELSEWHERE}

    usual = meaning({})
    said = {key: value for key, value in values.items() if value is not None and value != usual.get(key)}
    if not enough(said):
        said |= {key: "none" for key, value in values.items() if value is None and usual.get(key) is not None}
    if not enough(said):
        raise _Unsayable
    for key in list(said):
        fewer = {other: value for other, value in said.items() if other != key}
        if enough(fewer):
            said = fewer
    return said


def _asks_for(text: str, arms: Mapping[str, Arm]) -> bool:
    """Whether the file says what was recorded, as far as it can be told without the data."""
    planned: Experiment = parse_experiment(tomllib.loads(text))
    return planned.arms.keys() == arms.keys() and all(
        _same(_completed(planned.arms[label], arm, planned.task), arm) for label, arm in arms.items()
    )


def _completed(arm: Arm, recorded: Arm, task: Task) -> Arm:
    """With what planning fills in: an embedding and dropout for text, and the identity of its vectors."""
    if recorded.model.embedding is None:
        return arm
    model = filled_in(arm.model, task, text=True)
    embedding = model.embedding_or_usual().replace(vectors_digest=recorded.model.embedding.vectors_digest)
    return Arm(model.replace(embedding=embedding), arm.training)
