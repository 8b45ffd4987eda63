"""`rnnlab list models` and `rnnlab list tasks`: every kind with its purpose, or one kind with its options. All of it is
read from the schema."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from rnnlab.core.config import Config
from rnnlab.core.errors import ConfigError, did_you_mean, known_are
from rnnlab.core.toml import toml_value
from rnnlab.core.words import COMMAS, SENTENCES, Both, both, joined, language, say, translated
from rnnlab.show.terminal.output import Screen

Schema = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """Something to choose by its name: a class, or a class with some options set."""

    cls: type[Config]
    name: str
    preset: Mapping[str, Any] = field(default_factory=dict)
    remark: Both | None = None

    def purpose(self) -> str:
        if self.preset:
            settings = ", ".join(f"{name} = {toml_value(value)}" for name, value in self.preset.items())
            return say("Short for {kind} with {settings}.", kind=self.cls.kind, settings=settings)
        said = translated(self.about())
        return str(joined([said, self.remark], SENTENCES)) if self.remark else said

    def about(self) -> str:
        """The first paragraph of its docstring."""
        return " ".join((self.cls.__doc__ or "").split("\n\n")[0].replace("``", "'").split())

    def schema(self) -> Schema:
        """The JSON schema; the default of an option that is set is what it is set to."""
        schema = self.cls.model_json_schema()
        for name, value in self.preset.items():
            schema["properties"][name]["default"] = value
        return schema


def show(what: str, kinds: Sequence[Kind], name: str | None, as_json: bool, example: str) -> None:
    """All kinds, or the one of that name. ``what`` is the word after ``rnnlab list``, ``example`` one of the names."""
    known = {kind.name: kind for kind in kinds}
    if name is not None and name not in known:
        hint = did_you_mean(name, known) or known_are(known)
        raise ConfigError("unknown {what} '{name}'{hint}", what=what.removesuffix("s"), name=name, hint=hint)
    if as_json:
        shown = kinds if name is None else [known[name]]
        print(json.dumps({kind.name: kind.schema() for kind in shown}, indent=2, ensure_ascii=False))
    elif name is not None:
        _print_options(known[name])
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        for kind in kinds:
            table.add_row(kind.name, kind.purpose())
        Screen().out.print(table)
        print("\n" + say("rnnlab list {what} {example}  shows its options", what=what, example=example))


def _print_options(kind: Kind) -> None:
    out = Screen().out
    out.print(f"{kind.name}: {kind.purpose()}\n", soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(say("option"), no_wrap=True)
    table.add_column(say("type"), max_width=32)
    table.add_column(say("default"))
    table.add_column(say("meaning"))
    for name, type_, default, meaning in options(kind.schema()):
        table.add_row(name, type_, default, translated(meaning))
    out.print(table)


def options(schema: Schema) -> Iterator[tuple[str, str, str, str]]:
    """(name, type, default, meaning) of every option. Tables come last, each followed by the options within, which have
    a dot in their names."""
    classes = schema.get("$defs", {})
    tables: dict[str, Schema] = {}
    for name, option in schema["properties"].items():
        reference = _reference(option)
        if reference and "properties" in classes[reference]:
            tables[name] = classes[reference]
        else:
            yield _row(name, option)
    for name, table in tables.items():
        yield _row(name, schema["properties"][name])
        for option, kind, default, meaning in options({**table, "$defs": classes}):
            yield f"{name}.{option}", kind, default, meaning


def _row(name: str, option: Schema) -> tuple[str, str, str, str]:
    default = option.get("default")
    shown = say("as below") if isinstance(default, dict) else toml_value(default)
    if default is None:
        shown = say("not set")
    return name, readable_type(option), shown, option.get("description", "")


def _reference(option: Schema) -> str | None:
    """The name of the settings class that an option holds."""
    choices = (option, *option.get("anyOf", ()), *option.get("allOf", ()))
    return next((choice["$ref"].rsplit("/", 1)[-1] for choice in choices if "$ref" in choice), None)


_TYPES = {
    "integer": both("whole number"),
    "number": both("number"),
    "boolean": both("true or false"),
    "string": both("text"),
    "object": both("table"),
    "array": both("list"),
}


def readable_type(option: Schema) -> str:
    """``{"type": "integer", "minimum": 1}`` → ``"whole number from 1"``."""
    if "anyOf" in option:
        choices = [choice for choice in option["anyOf"] if choice.get("type") != "null"]
        optional = len(choices) < len(option["anyOf"]) and option.get("default") is not None
        names = [*map(readable_type, choices), *([both("none")] if optional else [])]
        return str(joined(names, both(" or ", _context="list")))
    if _reference(option):
        return say("table")
    if "enum" in option:
        return say("one of {names}", names=", ".join(map(str, option["enum"])))
    if "const" in option:
        return str(option["const"])
    if option.get("type") == "array" and "items" in option:
        kind = readable_type(option["items"])
        return say("list of {kind}", kind=kind.replace("number", "numbers") if language() == "en" else kind)
    return f"{_TYPES.get(option.get('type', ''), both('anything'))}{_range(option)}"


def _range(option: Schema) -> str:
    """`` 1–8``, `` from 1``, `` above 0, below 0.5``; a bound that is itself excluded is never written as an end."""
    lowest, highest = option.get("minimum"), option.get("maximum")
    if lowest is not None and highest is not None:
        return f" {lowest:g}–{_number(highest)}"
    bounds = {
        both("from {bound}"): lowest,
        both("above {bound}"): option.get("exclusiveMinimum"),
        both("up to {bound}"): highest,
        both("below {bound}"): option.get("exclusiveMaximum"),
    }
    shown = [word.format(bound=_number(bound)) for word, bound in bounds.items() if bound is not None]
    return f" {joined(shown, COMMAS)}" if shown else ""


def _number(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
