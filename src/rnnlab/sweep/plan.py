"""From what a person asked for to an experiment with nothing left open."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.config import assign, parse_setting, read_toml
from rnnlab.data import vectors
from rnnlab.data.encoded import EncodedData
from rnnlab.data.vocabulary import SPECIAL
from rnnlab.errors import ConfigError, did_you_mean
from rnnlab.experiment import Arm, Experiment, parse_experiment
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.embedding import Embedding
from rnnlab.training.assemble import look_up, resolve_device

DEFAULT_MODELS = ("rnn", "lstm", "gru", "bilstm", "bigru", "textcnn", "cnn2", "transformer", "linear")
SHORT_NAMES: dict[str, dict[str, Any]] = {
    "birnn": {"kind": "rnn", "bidirectional": True},
    "bilstm": {"kind": "lstm", "bidirectional": True},
    "bigru": {"kind": "gru", "bidirectional": True},
}


def experiment_tree(
    data: str | None,
    *,
    models: Sequence[str] | None = None,
    seeds: int | None = None,
    task: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    vectors: str | None = None,
    settings: Sequence[str] = (),
) -> dict[str, Any]:
    """The experiment as a tree, as a TOML file would say it: from a file or from options, options last."""
    tree: dict[str, Any] = {}
    if data is not None and data.endswith(".toml"):
        tree = read_toml(data)
        base = Path(data).parent
        for key in ("data", "valid", "test"):  # paths in a file are seen from the file
            named = tree.get("task", {}).get(key) if isinstance(tree.get("task"), dict) else None
            if isinstance(named, str) and not Path(named).exists() and (base / named).exists():
                tree["task"][key] = str(base / named)
    elif data is not None:
        tree["task"] = {"data": data}
    tree["task"] = {**tree.get("task", {}), **(task or {})}
    tree["training"] = {**tree.get("training", {}), **(training or {})}
    if seeds is not None:
        tree["seeds"] = seeds
    if models is not None or not tree.get("arms"):
        tree["arms"] = {name: {"model": named_model(name)} for name in models or DEFAULT_MODELS}
    for arm in tree["arms"].values() if vectors else ():
        arm.setdefault("model", {}).setdefault("embedding", {}).setdefault("vectors", vectors)
    for text in settings:
        parts, value = parse_setting(text)
        assign(tree, parts, value)
    return tree


def named_model(name: str) -> dict[str, Any]:
    """``lstm`` → its settings; ``bilstm`` and the like are short for ``bidirectional = true``."""
    if name in SHORT_NAMES:
        return dict(SHORT_NAMES[name])
    if name not in ARCHITECTURES.names():
        known = sorted([*ARCHITECTURES.names(), *SHORT_NAMES])
        raise ConfigError(f"unknown model '{name}'{did_you_mean(name, known)}\nknown: {', '.join(known)}")
    return {"kind": name}


def plan(tree: dict[str, Any], source: str = "experiment") -> tuple[Experiment, EncodedData]:
    """Check everything, read the data once, and fill in what was automatic. An arm that can't be run on this data
    is left out with a note."""
    experiment = parse_experiment(tree, source)
    task = experiment.task.resolve()
    data = task.load()
    arms: dict[str, Arm] = {}
    notes: list[str] = []
    for label, arm in experiment.arms.items():
        reason = why_not(arm.model, data)
        if reason:
            notes.append(f"{label} is left out: {reason}")
        else:
            device = resolve_device(arm.training.device)
            arms[label] = Arm(complete(arm.model, data), arm.training.replace(device=device))
    notes += _coverage_notes(arms, data)
    if not arms:
        raise ConfigError("no model is left to train\n" + "\n".join(notes))
    return Experiment(task, arms, experiment.seeds, experiment.name, tuple(notes)), data


def _coverage_notes(arms: dict[str, Arm], data: EncodedData) -> list[str]:
    """How much of the training text each source of vectors knows."""
    sources = {arm.model.embedding.vectors: arm.model.embedding for arm in arms.values() if arm.model.embedding}
    notes = []
    for source, embedding in sources.items():
        if source is not None and data.vocabulary is not None:
            found = np.any(look_up(embedding, data.vocabulary.words) != 0, axis=1)[len(SPECIAL) :]
            counts = np.bincount(data.train.values, minlength=len(data.vocabulary))[len(SPECIAL) :]
            share = vectors.coverage(found, counts)
            words, tokens = (f"{100 * share[name]:.1f} %" for name in ("words_share", "tokens_share"))
            notes.append(f"{source} covers {words} of the words and {tokens} of the tokens of the training rows")
    return notes


def why_not(model: Architecture, data: EncodedData) -> str | None:
    """Why a model can't be run on this data, or None."""
    if model.needs_vectors and data.vocabulary is None:
        return f"'{model.kind}' needs words, and these are numeric sequences"
    if model.needs_vectors and (model.embedding is None or model.embedding.vectors is None):
        return (
            f"'{model.kind}' has a channel of pre-trained vectors; pass --vectors FILE, or --vectors glove-6b-50d "
            "after pip install 'rnnlab[glove]'"
        )
    return None


def complete(model: Architecture, data: EncodedData) -> Architecture:
    """The model with its embedding spelled out: vectors identified by their content, width set by them."""
    if data.vocabulary is None:
        return model
    embedding = model.embedding or Embedding()
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
