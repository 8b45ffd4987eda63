"""A trained model as it lies on disk, a run directory or a bundle: all that predict, export and serve need of it."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from rnnlab.answers.tags import Tags
from rnnlab.core.errors import BundleError, RnnlabError, RunError
from rnnlab.core.seeding import stream_seed
from rnnlab.data import catalogue, store
from rnnlab.data.lookup import Lookup
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.tagged.schemes import SCHEMES
from rnnlab.inspecting.cost import encoder_parameters, has_formula, letter_parameters
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.baselines import BASELINES, Baseline
from rnnlab.models.network import Network
from rnnlab.runs.bundle import SUFFIX, is_bundle, read_bundle, write_bundle
from rnnlab.runs.directory import RunDirectory, find_run, pretty_json
from rnnlab.tasks.base import TASKS, Task
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec
from rnnlab.use.card import Card, card_of
from rnnlab.use.card_markdown import card_markdown

_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what parsing foreign JSON may end in


@dataclass(frozen=True, eq=False)
class StoredModel:
    name: str  # the digest of its run
    spec: RunSpec
    preprocessor: Preprocessor
    weights: bytes  # safetensors
    card: Card

    @property
    def is_baseline(self) -> bool:
        return isinstance(self.spec.model, Baseline)

    @cached_property
    def network(self) -> Network:
        """In evaluation mode; of a model that isn't a baseline."""
        return rebuild(self.spec, self.preprocessor, self.weights)

    @cached_property
    def lookup(self) -> Lookup | None:
        """The labels of the training rows, where the model answers rows by them."""
        if not self.spec.model.lookup:
            return None
        try:
            arrays = safetensors.numpy.load(self.weights)
            found = Lookup(arrays["lookup.keys"], arrays["lookup.counts"], arrays.get("lookup.rows"))
        except (SafetensorError, KeyError) as error:
            raise RunError("the weights hold no table of training rows to look up: {error}", error=error) from None
        shapes = (len(found.keys),), (len(found.keys), len(self.preprocessor.labels))
        rows = found.keys if found.rows is None else found.rows
        if (found.keys.shape, found.counts.shape) != shapes or rows.shape != found.keys.shape or not len(found.keys):
            raise RunError("the weights hold a table of training rows to look up that isn't one")
        return found

    @cached_property
    def learnt(self) -> dict[str, np.ndarray]:
        """What a baseline learnt."""
        try:
            return safetensors.numpy.load(self.weights)
        except SafetensorError as error:
            raise RunError("the weights can't be read: {error}", error=error) from None


def open_model(path: str | PathLike[str]) -> StoredModel:
    """A run directory (or the beginning of its name), or a bundle. Every byte is checked."""
    if not is_bundle(path):
        return _of_run(find_run(path))
    members = read_bundle(path)
    try:
        return _of_members(members)
    except RnnlabError as error:
        raise BundleError("{path}: {error}", path=path, error=error) from None


def pack(run: str | PathLike[str], output: str | Path | None = None) -> Path:
    """Write the model of a finished run as a bundle, by default ``<kind>-<digest>.rnnlab``; and return where it is.

    Refused is a model whose architecture or task comes from a plugin: a bundle promises to work wherever rnnlab is
    installed, and a plugin is a program, which doesn't travel in a file of data."""
    if is_bundle(run):
        raise BundleError("{run}: is a file; what is packed is a run directory ('rnnlab runs' lists them)", run=run)
    found = find_run(run)
    _refuse_plugins(found)
    stored = _of_run(found)
    fingerprint = stored.spec.task.fingerprint
    data = store.find(fingerprint) if fingerprint else None  # if they are still in the cache
    card = card_of(found, stored.spec, stored.preprocessor, data.profile if data else None)
    spec = replace(stored.spec, task=_without_folders(stored.spec.task))
    members = {
        "spec.json": pretty_json(spec.to_dict()).encode(),
        "model.json": stored.preprocessor.to_json().encode(),
        "card.json": card.to_json().encode(),
        "card.md": card_markdown(card, stored.name).encode(),
        "weights.safetensors": stored.weights,
    }
    packed = _of_members(members)
    _ = packed.learnt if packed.is_baseline else packed.network, packed.lookup  # what can't be opened isn't written
    path = Path(output) if output is not None else Path(f"{spec.model.kind}-{spec.digest[:8]}{SUFFIX}")
    if path.is_dir():
        raise BundleError(
            "{path}: is a folder; say which file to write, for example {other}{suffix}",
            path=path,
            other=path / "model",
            suffix=SUFFIX,
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(path, members)
    return path


def rebuild(spec: RunSpec, preprocessor: Preprocessor, weights: bytes) -> Network:
    try:
        tensors = {n: t for n, t in safetensors.torch.load(weights).items() if not n.startswith("lookup.")}
    except SafetensorError as error:
        raise RunError("the weights can't be read: {error}", error=error) from None
    _check_size(spec, preprocessor, tensors)
    embedding = getattr(spec.model, "embedding", None)
    placeholder = None
    if embedding is not None and embedding.vectors is not None:  # the weights hold the vectors; no file is needed
        name = "embedding.table" if embedding.channels == "tuned" else "embedding.frozen"
        vectors = tensors.get(name)
        words = 0 if preprocessor.vocabulary is None else len(preprocessor.vocabulary.words)
        if vectors is None or vectors.ndim != 2 or vectors.dtype != torch.float32 or len(vectors) < words:
            raise RunError("the weights are not of this network: they have no {name} with vectors", name=name)
        placeholder = vectors.numpy()[:words]  # of the right shape, whatever rows they are: all are loaded below
    network = assemble(spec, preprocessor, placeholder, for_training=False)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise RunError("the weights are not of this network: {error}", error=error) from None
    return network.eval()


def _of_members(members: Mapping[str, bytes]) -> StoredModel:
    part = "spec.json"
    try:
        spec = RunSpec.from_dict(json.loads(members[part]))
        part = "model.json"
        preprocessor = Preprocessor.from_json(members[part].decode())
        _check_preprocessor(preprocessor, spec.task)
        part = "card.json"
        card = Card.from_json(members[part].decode())
    except _MALFORMED as error:
        raise BundleError(
            "its {part} is not as rnnlab writes it: {kind}: {error}", part=part, kind=type(error).__name__, error=error
        ) from None
    return StoredModel(spec.digest, spec, preprocessor, members["weights.safetensors"], card)


def _check_preprocessor(found: Preprocessor, task: Task) -> None:
    """A run directory's is our own; a bundle's may be anybody's."""
    given = [part is not None for part in (found.tokenizer, found.vocabulary, found.scaler, found.features)]
    possible = [[True, True, False, False], [False, False, True, True]]  # texts, series
    if type(task).encode is not Task.encode:
        possible.append([False, True, False, False])  # symbols that the task itself makes of what it is asked
    if given not in possible:
        raise ValueError("a model reads either texts or numbers")
    words = found.vocabulary.words if found.vocabulary is not None else ()
    if not all(isinstance(text, str) for text in (*found.labels, *words, *found.text_columns)):
        raise ValueError("labels, words and text columns must be texts")
    if len(found.text_columns) == 1 or len(set(found.text_columns)) < len(found.text_columns):
        raise ValueError("text columns are several, each of another name")
    if found.thresholds and len(found.thresholds) != len(found.labels):
        raise ValueError("thresholds must be as many as labels")
    if not all(type(threshold) is float and 0 < threshold < 1 for threshold in found.thresholds):
        raise ValueError("thresholds must be numbers between 0 and 1")
    _check_tags(found, task)
    numbers = (found.tokens, 1 if found.features is None else found.features, found.max_length or 1)
    if not all(type(number) is int and number >= 1 for number in numbers):
        raise ValueError("max_length, features and tokens must be whole numbers from 1")


def _check_tags(found: Preprocessor, task: Task) -> None:
    letters = found.spelling.letters if found.spelling is not None else ()
    if not all(isinstance(letter, str) and len(letter) <= 1 for letter in letters) or len(set(letters)) < len(letters):
        raise ValueError("letters must be single ones, each there once")
    if not all(math.isfinite(score) for row in found.chain for score in row):
        raise ValueError("a chain must be of finite numbers")
    scheme, labels = getattr(task, "scheme", None), getattr(task, "labels", None)
    if scheme is not None and scheme not in SCHEMES:
        raise ValueError(f"no scheme of tags is called {scheme!r}")
    if isinstance(task.answer, Tags) and labels is not None and tuple(labels) != found.labels:
        raise ValueError("the labels are other ones than those of the task")


def _of_run(run: RunDirectory) -> StoredModel:
    result = run.result()
    if result is not None and result["status"] == "diverged":
        where = result["divergence"]
        raise RunError("{path}: this run diverged at step {step}; it left no model", path=run.path, step=where["step"])
    spec, preprocessor, weights = _parts_of(run)
    return StoredModel(run.path.resolve().name, spec, preprocessor, weights, card_of(run, spec, preprocessor))


def _parts_of(run: RunDirectory) -> tuple[RunSpec, Preprocessor, bytes]:
    preprocessor = Preprocessor.from_json(run.verified("model.json").read_text(encoding="utf-8"))
    spec = RunSpec.from_dict(json.loads(run.verified("spec.json").read_text(encoding="utf-8")))
    return spec, preprocessor, run.verified("weights.safetensors").read_bytes()


def _check_size(spec: RunSpec, preprocessor: Preprocessor, tensors: Mapping[str, Tensor]) -> None:
    """Before memory is taken for the network: a spec from elsewhere may ask for any size, while the weights are there
    already. So the network must not have more numbers than they have; that the shapes are the same is seen later."""
    model, embedding = spec.model, spec.model.embedding if isinstance(spec.model, Architecture) else None
    if not isinstance(model, Architecture) or not has_formula(model):
        return
    there = sum(tensor.numel() for tensor in tensors.values())
    asked = max((value for value in model.to_dict().values() if isinstance(value, int)), default=0)
    if asked <= there:  # else its formula might take for ever, too
        channels = [t for name, t in tensors.items() if name in ("embedding.table", "embedding.frozen") and t.ndim == 2]
        width = preprocessor.features or preprocessor.tokens * sum(channel.shape[1] for channel in channels)
        if preprocessor.narrow and len(channels) == 2:  # the frozen one is that of the first id of a step alone
            width -= (preprocessor.tokens - 1) * tensors["embedding.frozen"].shape[1]
        if embedding is not None and preprocessor.letters:
            width += embedding.letter_filters
        asked = encoder_parameters(model, width)
        asked += 0 if embedding is None else letter_parameters(embedding, preprocessor.letters)
        if embedding is not None and preprocessor.vocabulary is not None and embedding.channels in ("random", "two"):
            asked += (len(preprocessor.vocabulary) + getattr(model, "buckets", 0)) * embedding.width
    if asked > there:
        raise RunError(
            "the weights are not of this network: they have {there:,} numbers, and it has {asked:,} or more",
            there=there,
            asked=asked,
        )


def _refuse_plugins(run: RunDirectory) -> None:
    spec = run.spec()
    for what, registries in (("model", (ARCHITECTURES, BASELINES)), ("task", (TASKS,))):
        kind = spec[what]["kind"]
        known = {name: registry[name] for registry in registries for name in registry.names()}
        if kind not in known or not known[kind].__module__.startswith("rnnlab."):
            raise BundleError(
                "{path}: the {what} '{kind}' comes from a plugin, which a bundle can't hold, so that "
                "nobody else could open it; copy the run directory and the plugin instead",
                path=run.path,
                what=what,
                kind=kind,
            )


def _without_folders(task: Task) -> Task:
    """File names alone: where the rows lay is nobody's business elsewhere. The digest stays, for it depends on their
    fingerprint."""
    given = {field: getattr(task, field, None) for field in ("data", "valid", "test", "extra_words")}
    names = {field: Path(path).name for field, path in given.items() if path and Path(path).name != path}
    known = (*catalogue.names(), "reviews")  # a file of such a name must not be taken for the data set
    return task.replace(**{field: f"./{name}" if name in known else name for field, name in names.items()})


def open_run(run: RunDirectory) -> tuple[RunSpec, Preprocessor, Network]:
    """A finished run with the network that it trained."""
    spec, preprocessor, weights = _parts_of(run)
    if isinstance(spec.model, Baseline):
        raise RunError(
            "{path}: '{kind}' is a baseline: it has no network to look into", path=run.path, kind=spec.model.kind
        )
    return spec, preprocessor, rebuild(spec, preprocessor, weights)


def at_first(spec: RunSpec, preprocessor: Preprocessor) -> Network | None:
    """The network as it began, weight for weight; None when its pre-trained vectors can't be found any more. Draws from
    torch's generator: `own_process_state` leaves the caller's as it was."""
    torch.manual_seed(stream_seed(spec.seed, "init"))
    try:
        return assemble(spec, preprocessor, for_training=False).eval()
    except RnnlabError:
        return None


def recorded_gradients(run: RunDirectory) -> list[dict[str, Any]]:
    """What the probe of the training saw, an epoch each; empty where it wasn't asked for."""
    return [
        {"epoch": event["epoch"], **event["gradients"]}
        for event in run.events()
        if event.get("event") == "epoch" and event.get("gradients")
    ]
