"""From ``package.module:factory`` to a module."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from rnnlab.auditing.subject import one_line
from rnnlab.core.errors import ConfigError, did_you_mean

VOCABULARY = ("vocabulary", "vocab_size", "vocabulary_size", "num_embeddings", "n_words", "num_words", "vocab", "words")
"""Parameters of a factory that are given the size of the vocabulary."""


def build(target: str, vocabulary: int | None = None, seed: int = 0) -> nn.Module:
    """``package.module:factory`` or ``path/to/file.py:factory``, seen from the current folder.

    A factory is a function or class that is called without arguments (but the vocabulary, if it asks for it), or a
    module itself. Weights are drawn from the seed, so that an audit gives the same figures each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _build(target, vocabulary, seed)


def named(target: str) -> Any:
    """What ``package.module:name`` or ``path/to/file.py:name`` is, seen from the current folder."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise ConfigError("{target}: must be package.module:factory or path/to/file.py:factory", target=target)
    made: Any = _import(place)
    for part in name.split("."):
        if not hasattr(made, part):
            known = [name for name, value in vars(made).items() if not name.startswith("_") and callable(value)]
            hint = did_you_mean(part, known)
            raise ConfigError(
                "{target}: {place} has no '{part}'{hint}", target=target, place=place, part=part, hint=hint
            )
        made = getattr(made, part)
    return made


def _build(target: str, vocabulary: int | None, seed: int) -> nn.Module:
    made = named(target)
    if not isinstance(made, nn.Module):
        if not callable(made):
            raise ConfigError(
                "{target}: must be a module, or a class or function that makes one (its type is {what})",
                target=target,
                what=type(made).__name__,
            )
        torch.manual_seed(seed)  # whatever its import drew, or that it was imported before
        made = _call(target, made, vocabulary)
    if not isinstance(made, nn.Module):
        raise ConfigError(
            "{target}: must return an nn.Module (it returned {kind})", target=target, kind=type(made).__name__
        )
    return made


def _import(place: str) -> ModuleType:
    """A module, seen from the current folder; or a file, whose folder can be imported from, as when it is run."""
    path, is_file = Path(place), place.endswith(".py")
    if is_file and not path.is_file():
        near = did_you_mean(path.name, (other.name for other in path.parent.glob("*.py")))
        raise ConfigError("{path}: no such file{near}", path=path, near=near)
    folder = str(path.parent.resolve() if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _execute(path) if is_file else importlib.import_module(place)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and not is_file:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise ConfigError("{place}: {problem}", place=place, problem=one_line(error)) from error
            raise ConfigError(
                "{place}: no such module here or in the environment ('{name}' is missing)", place=place, name=error.name
            ) from None
        raise ConfigError("{place}: its import fails: {problem}", place=place, problem=one_line(error)) from error


def _execute(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"rnnlab_audited_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _call(target: str, factory: Callable[..., Any], vocabulary: int | None) -> Any:
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    asked = [p.name for p in parameters if p.name in VOCABULARY][:1]
    missing = [name for name in needed if name not in asked]
    if missing:
        raise ConfigError(
            "{target}: needs {names}; write a function without arguments that returns the module, for "
            "example  def model(): return {example}(…)",
            target=target,
            names=", ".join(missing),
            example=getattr(factory, "__name__", "Model"),
        )
    if asked and asked[0] in needed and vocabulary is None:
        raise ConfigError("{target}: needs {asked}; say --vocabulary N", target=target, asked=asked[0])
    try:
        return factory(**({asked[0]: vocabulary} if asked and vocabulary is not None else {}))
    except (Exception, SystemExit) as error:
        raise ConfigError("{target}: raises {problem}", target=target, problem=one_line(error)) from error
