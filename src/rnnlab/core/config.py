"""Frozen settings: TOML in, canonical JSON and a digest out, every problem at once with its path."""

import hashlib
import itertools
import json
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from rnnlab.core.errors import ConfigError, did_you_mean, known_are
from rnnlab.core.other_names import paths_of
from rnnlab.core.words import Both, both, note, retold, same, say


class Config(BaseModel):
    """Pure data. An unknown key is an error; NaN and infinity are errors; nothing can be changed afterwards."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True
    )

    kind: ClassVar[str] = ""
    """The name under which a registry knows the class; empty for settings that have only one kind."""

    added: ClassVar[tuple[str, ...]] = ()
    """Fields that came later. They are recorded only where they differ from their default, so that settings which were
    written before keep their digest, and finished runs are found again."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, defaults filled in, as plain JSON values; ``kind`` first where there is one."""
        fields = {
            name: _plain(getattr(self, name))
            for name, field in type(self).model_fields.items()
            if name not in self._added_later() or getattr(self, name) != field.default
        }
        return {"kind": self.kind, **fields} if self.kind else fields

    @classmethod
    def _added_later(cls) -> set[str]:
        """`added` of the class and of those that it extends."""
        return {name for one in cls.__mro__ for name in vars(one).get("added", ())}

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return parse(type(self), fields | changes)


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no spaces, no NaN."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_of(value: Any) -> str:
    """Sixteen hexadecimal digits (64 bits of SHA-256) that stand for a value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


C = TypeVar("C", bound=Config)


def with_settings(config: C, settings: Mapping[str, Any]) -> C:
    """A copy with some settings changed, by path (``{"embedding.dropout": 0.3}``), all at once; validated again."""
    tree: dict[str, Any] = {}
    for path, value in settings.items():
        assign(tree, path.split("."), value)
    return _overlaid(config, tree)


def _overlaid(config: C, tree: Mapping[str, Any]) -> C:
    changes = {}
    for name, value in tree.items():
        inner = getattr(config, name, None)
        changes[name] = _overlaid(inner, value) if isinstance(inner, Config) and isinstance(value, dict) else value
    return config.replace(**changes)


Elsewhere = Mapping[str, Sequence[str]]
"""Keys of other kinds of the same sort, each with the kinds that have it."""


def parse(cls: type[C], values: Mapping[str, Any], path: str = "", elsewhere: Elsewhere | None = None) -> C:
    """Validate ``values`` as ``cls``. All problems are reported together, each with its path."""
    try:
        return cls.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError(same("\n".join(_explained(cls, values, error, path, elsewhere)))) from None


def problems(
    cls: type[Config], values: Mapping[str, Any], path: str = "", elsewhere: Elsewhere | None = None
) -> list[str]:
    """Every reason why ``values`` isn't a valid ``cls``, a line each; empty when it is."""
    try:
        cls.model_validate(dict(values))
    except ValidationError as error:
        return _explained(cls, values, error, path, elsewhere)
    return []


def _explained(
    cls: type[Config], values: Mapping[str, Any], error: ValidationError, path: str, elsewhere: Elsewhere | None
) -> list[str]:
    items = error.errors(include_url=False)
    return [_explain(cls, item, path, elsewhere or {}) for item in [*items, *_broken_rules(cls, values, items)]]


def sound(cls: type[Config], values: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``values`` isn't wrong by itself."""
    try:
        cls.model_validate(dict(values))
    except ValidationError as error:
        wrong = {str(item["loc"][0]) for item in error.errors(include_url=False) if item["loc"]}
        return {name: value for name, value in values.items() if name not in wrong}
    return dict(values)


def _broken_rules(cls: type[Config], values: Mapping[str, Any], items: Sequence[Any]) -> list[Any]:
    """Rules between fields, which pydantic doesn't look at while a field is wrong: those that are broken whatever the
    wrong ones were meant to be."""
    wrong = {str(item["loc"][0]) for item in items if item["loc"]}
    fields = {name: field for name, field in cls.model_fields.items() if name in wrong}
    if not wrong or any(field.is_required() for field in fields.values()):
        return []
    right = {name: value for name, value in values.items() if name not in wrong}
    meant = {name: get_args(f.annotation) for name, f in fields.items() if get_origin(f.annotation) is Literal}
    broken = [
        _rules_of(cls, right | dict(zip(meant, each, strict=True))) for each in itertools.product(*meant.values())
    ]
    return [item for text, item in broken[0].items() if all(text in each for each in broken)]


def _rules_of(cls: type[Config], values: Mapping[str, Any]) -> dict[str, Any]:
    """What is wrong with no field by itself, by its text."""
    try:
        cls.model_validate(dict(values))
    except ValidationError as error:
        return {item["msg"]: item for item in error.errors(include_url=False) if not item["loc"]}
    return {}


def _explain(cls: type[Config], item: Any, path: str, elsewhere: Elsewhere) -> str:
    where = ".".join([path, *map(str, item["loc"])] if path else list(map(str, item["loc"]))) or cls.__name__
    if item["type"] == "extra_forbidden":
        key = str(item["loc"][-1])
        owner, root = _owner(cls, item["loc"][:-1]), path.rpartition(".")[2]
        return say("{path}: {problem}", path=where, problem=_explain_key(owner, key, elsewhere, root))
    if item["type"] == "missing":
        return say("{path}: required, but not given", path=where)
    if item["type"] == "value_error":
        return say("{path}: {problem}", path=where, problem=item["ctx"]["error"])
    message = item["msg"][0].lower() + item["msg"][1:]
    return say("{path}: {problem} (got {value!r})", path=where, problem=retold(message), value=item.get("input"))


PYDANTIC_SAYS = (
    note("input should be a valid integer"),
    note("input should be a valid integer, unable to parse string as an integer"),
    note("input should be a valid integer, got a number with a fractional part"),
    note("input should be a valid number"),
    note("input should be a valid number, unable to parse string as a number"),
    note("input should be a finite number"),
    note("input should be a valid boolean"),
    note("input should be a valid boolean, unable to interpret input"),
    note("input should be a valid string"),
    note("input should be a valid list"),
    note("input should be a valid tuple"),
    note("input should be a valid dictionary"),
    note("input should be a valid dictionary or instance of {kind}"),
    note("input should be greater than {limit:g}"),
    note("input should be greater than or equal to {limit:g}"),
    note("input should be less than {limit:g}"),
    note("input should be less than or equal to {limit:g}"),
    note("input should be {choices}"),
    note("input should be None"),
    note("string should have at least {count:d} character"),
    note("string should have at least {count:d} characters"),
    note("string should match pattern {pattern}"),
    note("tuple should have at least {least:d} item after validation, not {count:d}"),
    note("tuple should have at least {least:d} items after validation, not {count:d}"),
    note("tuple should have at most {most:d} items after validation, not {count:d}"),
    note("list should have at least {least:d} item after validation, not {count:d}"),
)


def _explain_key(owner: type[Config], key: str, elsewhere: Elsewhere, root: str) -> Both:
    known = sorted(owner.model_fields)
    within = _called_here(key, lambda parts: _has(owner, parts)) or did_you_mean(key, known)
    if owner.kind and key in elsewhere:
        names = ", ".join(known)
        return both(
            "'{kind}' has no such option; it belongs to {others}{hint}",
            kind=owner.kind,
            others=", ".join(elsewhere[key]),
            hint=within or both("; '{kind}' has: {names}", kind=owner.kind, names=names),
        )
    kinds = {f"{root}.{name}": kinds for name, kinds in elsewhere.items()}
    hint = within or _called_elsewhere(key, kinds) or known_are(known)
    if owner.kind:
        return both("unknown key of '{kind}'{hint}", kind=owner.kind, hint=hint)
    return both("unknown key{hint}", hint=hint)


def _called_here(key: str, known: Callable[[list[str]], bool]) -> Both:
    """How a table calls that which other tools call ``key``, if it has it."""
    for parts in (path.split(".") for path in paths_of(key)):
        for start in range(len(parts)):
            if known(parts[start:]):
                return both("; did you mean '{name}'?", name=".".join(parts[start:]))
    return same("")


def _called_elsewhere(key: str, kinds: Elsewhere) -> Both:
    """Where that stands which other tools call ``key``, if anywhere, with the ``kinds`` that have it."""
    path = next(iter(paths_of(key)), None)
    if path is None:
        return same("")
    if path in kinds:
        return both("; in rnnlab it is '{path}', of {kinds}", path=path, kinds=", ".join(kinds[path]))
    return both("; in rnnlab it is '{path}'", path=path)


def unknown_keys(given: Collection[str], known: Collection[str], path: str = "") -> Iterator[str]:
    """A line for each key that a table doesn't have, with the one that was meant."""
    for key in given:
        if key not in known:
            hint = _called_here(key, lambda parts: parts[0] in known) or did_you_mean(key, known)
            hint = hint or _called_elsewhere(key, {}) or known_are(known)
            yield say("{key}: unknown key{hint}", key=f"{path}{key}", hint=hint)


def _has(owner: type[Config], parts: list[str]) -> bool:
    """Whether there is such an option, also in a table within."""
    if parts == ["kind"]:
        return bool(owner.kind)
    field = owner.model_fields.get(parts[0])
    return field is not None and (len(parts) == 1 or any(_has(c, parts[1:]) for c in _classes_in(field.annotation)))


def _owner(cls: type[Config], location: tuple) -> type[Config]:
    """The settings class that a nested location speaks of."""
    for part in location:
        field = cls.model_fields.get(str(part))
        for candidate in _classes_in(field.annotation if field else None):
            cls = candidate
            break
    return cls


def _classes_in(annotation: Any) -> list[type[Config]]:
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return [annotation]
    return [c for argument in getattr(annotation, "__args__", ()) for c in _classes_in(argument)]


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file as a dictionary; a syntax error names file, line and column."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        beside = Path(path).parent
        hint = did_you_mean(Path(path).name, (file.name for file in beside.glob("*.toml")))
        raise ConfigError("{path}: no such file{near}", path=path, near=hint) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "{path}: TOML files are UTF-8, this one isn't (byte {start})", path=path, start=error.start
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("{path}: not valid TOML: {error}", path=path, error=error) from None


def parse_setting(text: str) -> tuple[list[str], Any]:
    """``"training.lr=0.01"`` → ``(["training", "lr"], 0.01)``. A value that isn't TOML is taken as a string."""
    key, equals, value = text.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise ConfigError("--set {text}: write it as path=value, for example --set training.lr=0.01", text=text)
    try:
        return parts, tomllib.loads(f"v = {value.strip()}")["v"]
    except tomllib.TOMLDecodeError:
        return parts, value.strip()


def assign(tree: dict[str, Any], parts: list[str], value: Any) -> None:
    """Set ``tree[a][b][c] = value``, making tables on the way."""
    for part in parts[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise ConfigError("{names}: '{part}' is a value, not a table", names=".".join(parts), part=part)
    tree[parts[-1]] = value
