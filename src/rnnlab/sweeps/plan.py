"""From what a person asked for to an experiment with nothing left open."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rnnlab.core.config import Config, assign, canonical_json, parse_setting, read_toml
from rnnlab.core.errors import ConfigError, did_you_mean, known_are
from rnnlab.core.words import both, joined, note, retold
from rnnlab.data import catalogue, vectors
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.baselines import BASELINES
from rnnlab.models.embedding import Embedding
from rnnlab.models.fasttext import FastText
from rnnlab.sweeps.experiment import SPLIT_SEEDS, Arm, Experiment, filled_in, parse_experiment, unsuited
from rnnlab.sweeps.experiment_names import experiment_meant
from rnnlab.sweeps.extra_baselines import with_extra_baselines
from rnnlab.sweeps.match import counter, gave_way, input_width, match_parameters
from rnnlab.tasks.base import TASKS, Task
from rnnlab.tasks.choosing import task_for
from rnnlab.training.assemble import look_up, resolve_device

DEFAULT_MODELS = ("rnn", "lstm", "gru", "bilstm", "bigru", "textcnn", "cnn2", "transformer", "linear")
SHORT_NAMES: dict[str, tuple[str, dict[str, Any]]] = {  # a kind, and what is set of it
    "birnn": ("rnn", {"bidirectional": True}),
    "bilstm": ("lstm", {"bidirectional": True}),
    "bigru": ("gru", {"bidirectional": True}),
    "bilstm-crf": ("lstm", {"bidirectional": True, "crf": True}),
    "rnn-plain": ("rnn", {"decoder": {"attention": "none"}}),
    "lstm-plain": ("lstm", {"decoder": {"attention": "none"}}),
    "gru-plain": ("gru", {"decoder": {"attention": "none"}}),
}
KNOWN_DATA = (*catalogue.names(), "reviews")  # names, not paths, whatever lies beside a file
KIND = "model.kind: "  # begins a problem of `Architecture.check` that no other setting would solve


def experiment_tree(
    data: str | None,
    *,
    models: Sequence[str] | None = None,
    seeds: int | None = None,
    task: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    vectors: str | None = None,
    match: str | None = None,
    vary_split: bool | None = None,
    lookup: bool | None = None,
    tune: int | None = None,
    settings: Sequence[str] = (),
) -> dict[str, Any]:
    """The experiment as a tree, as a TOML file would say it: from a file or from options, options last."""
    tree: dict[str, Any] = {}
    file = None if data is None else experiment_meant(data, KNOWN_DATA)
    if data is not None and file is not None:
        tree = read_toml(file)
        if is_sweep(tree):
            raise ConfigError("{data}: this file has axes, not arms: run it with 'rnnlab sweep {data}'", data=data)
        if isinstance(tree.get("task"), dict):
            tree["task"] = seen_from(file.parent, tree["task"])
    elif data is not None:
        tree["task"] = {"data": data}
    for key, given in (("task", task), ("training", training)):
        if isinstance(tree.get(key, {}), dict):  # else the file is wrong, and will be told so
            tree[key] = {**tree.get(key, {}), **(given or {})}
    if isinstance(tree["task"], dict) and isinstance(tree["task"].get("data"), str):
        meant = task_for(tree["task"]["data"], tree["task"])
        tree["task"] = tree["task"] if meant is None else {"kind": meant, **tree["task"]}
    options = {"seeds": seeds, "match": match, "vary_split": vary_split, "tune": tune}
    tree |= {key: value for key, value in options.items() if value is not None}
    if lookup is not None and isinstance(tree.get("model", {}), dict):
        tree["model"] = {**tree.get("model", {}), "lookup": lookup}
    if models is not None or not tree.get("arms"):
        _refuse_unknown(models or ())
        beside = [name for name in models or () if name in BASELINES.names()]
        if beside and isinstance(tree.get("baselines", {}), dict):
            tree["baselines"] = {**{name: {} for name in beside}, **tree.get("baselines", {})}
        trained = [name for name in models or () if name not in beside]
        tree["arms"] = {name: {"model": named_model(name)} for name in trained or default_models(tree)}
    for text in settings:
        assign(tree, *parse_setting(text))
    if vectors is not None:
        _share_vectors(tree, vectors)
        kind = _table(tree, "task").get("kind", "classify")
        if kind in TASKS.names() and "extra_words" in TASKS[kind].model_fields:
            tree["task"] = {"extra_words": vectors, **tree.get("task", {})}
    return tree


def default_models(tree: dict[str, Any]) -> list[str]:
    """All that the task can use: one that asks for an answer at every step has no use for those that look ahead."""
    kind = _table(tree, "task").get("kind", "classify")
    if kind not in TASKS.names():
        return list(DEFAULT_MODELS)  # the mistake will be told
    names = TASKS[kind].default_models or DEFAULT_MODELS
    return [n for n in names if not unsuited(ARCHITECTURES.parse(named_model(n)), TASKS[kind], "model")]


def is_sweep(tree: dict[str, Any]) -> bool:
    """Whether a file is one of `sweeps.sweep_file`."""
    return "axes" in tree or "study" in tree


def seen_from(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Paths in a file are seen from the file."""
    found = {}
    for key in ("data", "valid", "test"):
        named = task.get(key)
        if not isinstance(named, str) or named in KNOWN_DATA or Path(named).is_file():
            continue
        if (folder / named).is_file():
            found[key] = str(folder / named)
    return task | found


def _share_vectors(tree: dict[str, Any], vectors: str) -> None:
    """Give every arm the vectors, unless it has its own or asks for a random embedding."""
    labels = list(_table(tree, "arms"))
    willing = [label for label in labels if asked_channels(tree, label) != "random"]
    for label in willing or labels:  # if no arm can use them, the mistake is to be seen
        if "vectors" not in _table(tree, "arms", label, "model", "embedding"):
            assign(tree, ["arms", label, "model", "embedding", "vectors"], vectors)


def asked_channels(tree: dict[str, Any], label: str) -> str | None:
    """What was said of an arm's embedding channels, in the arm or for all arms; None when nothing was."""
    own, shared = _table(tree, "arms", label, "model", "embedding"), _table(tree, "model", "embedding")
    return own.get("channels", shared.get("channels"))


def _table(tree: Any, *path: str) -> dict[str, Any]:
    """A table within the tree; empty when there is none."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def named_model(name: str) -> dict[str, Any]:
    """``lstm`` → its settings; ``bilstm`` and the like are short for ``bidirectional = true``."""
    _refuse_unknown([name])
    if name in SHORT_NAMES:
        kind, settings = SHORT_NAMES[name]
        return {"kind": kind, **settings}
    return {"kind": name}


def _refuse_unknown(models: Sequence[str]) -> None:
    """All names of models that there aren't, at once."""
    known = sorted([*ARCHITECTURES.names(), *SHORT_NAMES])
    baselines = [cls.kind for cls in BASELINES if not cls.extra]
    found = [
        both("'{name}' is a baseline: it runs by itself where it fits, so leave it out of --models", name=name)
        if name in baselines
        else both("unknown model '{name}'{hint}", name=name, hint=did_you_mean(name, known) or known_are(known))
        for name in models
        if name not in known and (name in baselines or name not in BASELINES.names())
    ]
    if found:
        raise ConfigError(joined(found, "\n"))


class Opened:
    """Data that was read, by the task: the points of a sweep mostly share it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Task, EncodedData]] = {}

    def open(self, task: Task) -> tuple[Task, EncodedData]:
        """The task with everything filled in, and its data."""
        key = canonical_json(task)
        if key not in self._found:
            resolved = task.resolve()
            self._found = {**dict([*self._found.items()][-3:]), key: (resolved, resolved.load())}
        return self._found[key]


def plan(tree: dict[str, Any], source: str = "experiment") -> tuple[Experiment, EncodedData]:
    """Check everything, read the data once, and fill in what was automatic. An arm that can't be run on this data
    is left out with a note.

    Where every seed has a split of its own, the data are those of the first seed: arms depend on nothing in which
    splits differ. The other splits come after the arms, so that mistakes in these show early."""
    experiment = parse_experiment(tree, source)
    splits = (
        experiment.task.resolve_splits(experiment.seeds) if experiment.vary_split else iter([experiment.task.resolve()])
    )
    task = next(splits)
    data = task.load()
    planned = complete_experiment(experiment, tree, task, data)
    if not planned.arms:
        raise ConfigError(joined([both("no model is left to train"), *map(retold, planned.notes)], "\n"))
    if experiment.vary_split:
        tasks = dict(zip(experiment.seeds, (task, *splits), strict=True))
        planned = replace(planned, splits=tasks, notes=(*_split_notes(experiment), *planned.notes))
    return planned, data


def _split_notes(experiment: Experiment) -> list[str]:
    notes = [
        note(
            "vary_split: the seed of a run is its {setting} too, so each seed has training and test "
            "rows of its own; what is said of the data is said of seed {first}",
            setting=experiment.task.split_by,
            first=experiment.seeds[0],
        )
    ]
    if len(experiment.seeds) < SPLIT_SEEDS:
        notes.append(
            note(
                "seeds = {count} is few where the split varies: intervals can be trusted from {SPLIT_SEEDS} on",
                count=len(experiment.seeds),
                SPLIT_SEEDS=SPLIT_SEEDS,
            )
        )
    return notes


def complete_experiment(experiment: Experiment, tree: dict[str, Any], task: Task, data: EncodedData) -> Experiment:
    """An experiment with nothing left open. Perhaps no arm of it can be run on this data: the notes say why."""
    arms: dict[str, Arm] = {}
    notes: list[str] = []
    for label, arm in experiment.arms.items():
        reason = why_not(arm.model, data, asked_channels(tree, label))
        if reason:
            notes.append(note("{label} is left out: {reason}", label=label, reason=reason))
        else:
            device = resolve_device(arm.training.device)
            model = filled_in(arm.model, task, text=data.vocabulary is not None)
            arms[label] = Arm(complete(model, data), arm.training.replace(device=device))
    _refuse(arms, task, data)
    notes += _coverage_notes(arms, data)
    baselines, left_out = with_extra_baselines(experiment, task, data)
    planned = replace(experiment, task=task, arms=arms, baselines=baselines, notes=(*notes, *left_out))
    return _matched(planned, experiment, data) if arms else planned


def _refuse(arms: dict[str, Arm], task: Task, data: EncodedData) -> None:
    """Settings that don't suit this data or this task are a mistake, and show before the training."""
    kind = _input_kind(data)
    found = [
        both("arms.{label}.{problem}", label=label, problem=retold(problem))
        for label, arm in arms.items()
        for problem in arm.model.check(kind)
    ]
    if found:
        raise ConfigError(joined(found, "\n"))
    embeddings = {label: arm.model.embedding for label, arm in arms.items()}
    source = getattr(task, "extra_words", None)
    if source is not None and arms and not any(one and one.vectors for one in embeddings.values()):
        raise ConfigError(
            "task.extra_words: no model has the vectors '{source}'; pass --vectors {source}, or leave it out",
            source=source,
        )
    ngrams = data.vocabulary is not None and data.vocabulary.ngrams is not None
    for label, embedding in embeddings.items():
        if ngrams and embedding is not None and embedding.channels == "frozen":
            raise ConfigError(
                "arms.{label}.model.embedding.channels: 'frozen' trains no vectors, so that those of "
                "task.ngrams would stay zero; take 'tuned' or 'two', or leave task.ngrams out",
                label=label,
            )
        if embedding is not None and not data.letters:
            unused = [name for name in Embedding.model_fields if name.startswith("letter") and _is_set(embedding, name)]
            if unused:
                raise ConfigError(
                    "arms.{label}.model.embedding.{name}: the letters of words are no inputs here (task.letters); "
                    "leave it out",
                    label=label,
                    name=unused[0],
                )
        if arms[label].model.tied and embedding is not None and embedding.channels not in ("random", "tuned"):
            raise ConfigError(
                "arms.{label}.model.tied: vectors that score what comes next are trained, and embedding.channels = "
                "'{channels}' has some that aren't; take 'random' or 'tuned', or tied = false",
                label=label,
                channels=embedding.channels,
            )
        _refuse_locked(label, arms[label].model, task)
        if arms[label].model.crf and arms[label].training.class_weights:
            raise ConfigError(
                "arms.{label}.training.class_weights: with model.crf whole paths are scored, and no tag by itself; "
                "leave one of them out",
                label=label,
            )
        if arms[label].model.lookup and not task.answer.looks_up:
            raise ConfigError(
                "arms.{label}.model.lookup: rows are looked up where each has one label, and '{kind}' has "
                "others; leave it out",
                label=label,
                kind=task.kind,
            )


def _refuse_locked(label: str, model: Architecture, task: Task) -> None:
    """Dropout that is the same at every step, where there is none, or none that can be."""
    if not model.locked_dropout:
        return
    own, embedding = getattr(model, "dropout", 0.0), model.embedding
    if own and not model.locks_dropout:
        raise ConfigError(
            "arms.{label}.model.locked_dropout: '{kind}' draws its own dropout = {own:g} for each step by itself; take "
            "dropout = 0, or locked_dropout = false",
            label=label,
            kind=model.kind,
            own=own,
        )
    before_head = model.output_dropout if task.answer.reads == "states" else 0.0
    if not (own or before_head or (embedding is not None and embedding.dropout)):
        raise ConfigError(
            "arms.{label}.model.locked_dropout: nothing is dropped at single steps, so that it would be ignored; set "
            "embedding.dropout or dropout (output_dropout, where every step is answered), or leave it out",
            label=label,
        )


def _is_set(config: Config, name: str) -> bool:
    """Whether a setting isn't as it is by default."""
    return getattr(config, name) != type(config).model_fields[name].default


def _input_kind(data: EncodedData) -> Literal["tokens", "features"]:
    return "features" if data.vocabulary is None else "tokens"


def _matched(planned: Experiment, asked: Experiment, data: EncodedData) -> Experiment:
    """The experiment with arms that have in common what ``match`` says, and notes about it."""
    arms, notes = planned.arms, list(planned.notes)
    if planned.match == "parameters":
        preprocessor = Preprocessor.of(data)
        models = {label: arm.model for label, arm in arms.items()}
        models, said = match_parameters(models, counter(planned.task, preprocessor))
        notes += said
        changed = [p for label, model in models.items() for p in gave_way(label, asked.arms[label].model, model)]
        if changed:
            notes.append(note("sizes that were set gave way to the matching: {names}", names=", ".join(changed)))
        widths = {label: input_width(model, preprocessor) for label, model in models.items()}
        if len(set(widths.values())) > 1:
            shown = ", ".join(f"{label} {width}" for label, width in widths.items())
            notes.append(note("embeddings are not matched, and theirs differ in width: {shown}", shown=shown))
        arms = {label: Arm(models[label], arm.training) for label, arm in arms.items()}
        _refuse_twins(arms)
    elif planned.match == "seconds":
        minutes = next(iter(arms.values())).training.minutes
        notes.append(
            note(
                "every run trains for {minutes:g} minutes, whatever epochs, steps and patience say; "
                "results depend on the machine",
                minutes=minutes,
            )
        )
    return replace(planned, arms=arms, notes=tuple(notes))


def _refuse_twins(arms: dict[str, Arm]) -> None:
    for one, other in itertools.combinations(arms, 2):
        if arms[one] == arms[other]:
            raise ConfigError(
                "match: '{one}' and '{other}' differ in size alone, and matched they are the same; leave one out",
                one=one,
                other=other,
            )


def _coverage_notes(arms: dict[str, Arm], data: EncodedData) -> list[str]:
    """How much of the training text each source of vectors knows."""
    sources = {arm.model.embedding.vectors: arm.model.embedding for arm in arms.values() if arm.model.embedding}
    notes = []
    for source, embedding in sources.items():
        if source is not None and data.vocabulary is not None:
            words, special = data.vocabulary.learnt_words, len(data.vocabulary.special)
            found = np.any(look_up(embedding, data.vocabulary.words)[: len(words)] != 0, axis=1)[special:]
            counts = np.bincount(data.train.tokens, minlength=len(words))[special:]
            share = vectors.coverage(found, counts)
            words, tokens = (f"{100 * share[name]:.1f} %" for name in ("words_share", "tokens_share"))
            notes.append(
                note(
                    "{source} covers {words} of the words and {tokens} of the tokens of the training rows",
                    source=source,
                    words=words,
                    tokens=tokens,
                )
            )
    return notes


def why_not(model: Architecture, data: EncodedData, asked_channels: str | None = None) -> str | None:
    """Why a model can't be run on this data, or None. One that needs vectors does without when the user asks for
    random channels (without being asked, that is what an embedding without vectors falls back on)."""
    for problem in model.check(_input_kind(data)):
        if problem.startswith(KIND):  # it is the architecture that doesn't suit the data, not a setting
            return problem.removeprefix(KIND)
    if data.vocabulary is not None and data.vocabulary.ngrams is not None and isinstance(model, FastText):
        return note("'fasttext' counts n-grams by itself (model.ngrams), and would count those of task.ngrams again")
    if data.tokens > 1 and isinstance(model, FastText):
        return note(
            "'fasttext' reads one token per step, and these rows have {tokens}; take 'linear'", tokens=data.tokens
        )
    has_vectors = model.embedding is not None and model.embedding.vectors is not None
    if model.needs_vectors and not has_vectors and asked_channels != "random":
        return note(
            "'{kind}' has a channel of pre-trained vectors; pass --vectors FILE, or --vectors "
            "glove-6b-50d after pip install 'rnnlab[glove]'",
            kind=model.kind,
        )
    return None


def complete(model: Architecture, data: EncodedData) -> Architecture:
    """The model with its embedding spelled out: vectors identified by their content, width set by them."""
    if data.vocabulary is None:
        return model
    embedding = model.embedding_or_usual()
    if embedding.vectors is not None:
        width = vectors.width_of(embedding.vectors)
        channels = embedding.channels
        changes: dict[str, Any] = {"vectors_digest": vectors.digest_of_source(embedding.vectors)}
        if channels is None:
            changes["channels"] = "two" if model.needs_vectors else "tuned"
        if "width" not in embedding.model_fields_set:
            changes["width"] = width
        embedding = embedding.replace(**changes)
    return model.replace(embedding=embedding)
