"""Names for the open kinds (architectures, tasks): a decorator registers, a plugin adds, a typo gets a hint."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from rnnlab.core.config import Config, parse, problems, unknown_keys
from rnnlab.core.errors import ConfigError, did_you_mean, known_are, nearest
from rnnlab.core.words import both

KINDS = {"model": both("model"), "task": both("task"), "baseline": both("baseline")}
C = TypeVar("C", bound=Config)
D = TypeVar("D", bound=Config)


class Registry(Generic[C]):
    """Classes by name. ``modules`` are imported on first use, so that ``rnnlab --help`` stays light."""

    def __init__(self, what: str, modules: tuple[str, ...]):
        self.what = what
        self.modules = modules
        self._classes: dict[str, type[C]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[type[D]], type[D]]:
        """Class decorator: ``@architecture("mgu")``."""

        def add(cls: type[D]) -> type[D]:
            known = self._classes.get(name)
            if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise ConfigError(
                    "{what} '{name}' is registered twice: {module} and {other}",
                    what=self.what,
                    name=name,
                    module=known.__module__,
                    other=cls.__module__,
                )
            cls.kind = name
            self._classes[name] = cls  # type: ignore[assignment]  # D is C or a subclass, which typing can't say
            return cls

        return add

    def names(self) -> list[str]:
        self._load()
        return sorted(self._classes)

    def __iter__(self) -> Iterator[type[C]]:
        return (self[name] for name in self.names())

    def __getitem__(self, name: str) -> type[C]:
        self._load()
        if name not in self._classes:
            hint = did_you_mean(name, self._classes) or known_are(self.names())
            raise ConfigError(
                "unknown {what} '{name}'{hint}", what=KINDS.get(self.what, self.what), name=name, hint=hint
            )
        return self._classes[name]

    def parse(self, values: Mapping[str, Any], path: str = "") -> C:
        """``{"kind": "lstm", "hidden": 64}`` → an instance of the class registered as ``lstm``."""
        cls, rest = self._split(values, path)
        return parse(cls, rest, path, self.options())

    def problems(self, values: Mapping[str, Any], path: str = "") -> list[str]:
        """Every reason why ``values`` is none of these, a line each. Of an unknown kind, also what is wrong with the
        rest: for the kind that was probably meant, or for all."""
        try:
            cls, rest = self._split(values, path)
        except ConfigError as error:
            rest = {key: value for key, value in values.items() if key != "kind"}
            near = nearest(str(values.get("kind", "")), self._classes)
            if near is not None:
                return [str(error), *problems(self[near], rest, path, self.options())]
            return [str(error), *unknown_keys(rest, ("kind", *self.options()), f"{path}." if path else "")]
        return problems(cls, rest, path, self.options())

    def options(self) -> dict[str, list[str]]:
        """Every option with the kinds that have it, to say whose a misplaced one is."""
        found: dict[str, list[str]] = {}
        for cls in self:
            for name in cls.model_fields:
                found.setdefault(name, []).append(cls.kind)
        return found

    def _split(self, values: Mapping[str, Any], path: str) -> tuple[type[C], dict[str, Any]]:
        rest = dict(values)
        name = rest.pop("kind", None)
        if not isinstance(name, str):
            raise ConfigError(
                "{path}.kind: required; one of {names}", path=path or self.what, names=", ".join(self.names())
            )
        try:
            return self[name], rest
        except ConfigError as error:
            raise ConfigError(both("{path}.kind: {error}", path=path, error=error) if path else error.args[0]) from None

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            for module in self.modules:
                importlib.import_module(module)
            load_installed_plugins()


@cache
def load_installed_plugins() -> None:
    """Once for all registries: it looks through all packages that are installed."""
    for entry in entry_points(group="rnnlab.plugins"):
        entry.load()


def load_plugin(path: str | Path) -> None:
    """Import a user's file (``--plugin file.py``), which registers its architectures and tasks."""
    path = Path(path).resolve()
    name = f"rnnlab_plugin_{path.stem}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise ConfigError("--plugin {path}: not a Python file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(
            "--plugin {path}: {kind}: {error}", path=path, kind=type(error).__name__, error=error
        ) from error
