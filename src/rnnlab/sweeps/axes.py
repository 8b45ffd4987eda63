"""The axes of a sweep: what is varied, and which settings each value stands for.

"training.lr" = [0.001, 0.01]                                  a field by its path, and its values
size = { "model.hidden" = [64, 128], "model.layers" = [1, 2] }  lists zipped: several fields change together
cell = { tanh = { "model.activation" = "tanh" }, gru = { model = { kind = "gru" } } }   values with names; a whole table
                                                               takes the place of all that the study says of it
"training.lr" = { low = 1e-4, high = 1e-1, log = true }         a range, for the strategies that draw from it
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnlab.comparing.studies import AxisValue
from rnnlab.core.errors import did_you_mean
from rnnlab.core.words import both, say

ROOTS = ("task", "model", "training")
RANGE_KEYS = {"low", "high", "log"}


@dataclass(frozen=True)
class Choice:
    """A value of an axis, as it is shown, and the settings that it stands for, each by its path."""

    value: AxisValue
    settings: dict[str, Any]


@dataclass(frozen=True)
class Choices:
    name: str
    choices: tuple[Choice, ...]

    @property
    def short(self) -> str:
        """``lr`` for ``training.lr``; nothing where the values speak for themselves."""
        return self.name.rpartition(".")[2] if "." in self.name else ""


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``, both included; whole numbers if both are."""

    name: str
    low: float
    high: float
    log: bool

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)


AnyAxis = Choices | Range


def axis_problems(name: str, given: Any, path: str) -> list[str]:
    """Everything that is wrong with one axis."""
    if isinstance(given, list):
        return [*_path_problems(name, path), *_list_problems(given, path)]
    if not isinstance(given, Mapping) or not given:
        return [
            say(
                "{path}: an axis is a list of values, or a table of lists, of named settings, or of low and high",
                path=path,
            )
        ]
    if "low" in given or "high" in given:
        return [*_path_problems(name, path), *_range_problems(given, path)]
    if all(isinstance(value, list) for value in given.values()):
        lengths = {len(value) for value in given.values()}
        found = [p for key, value in given.items() for p in (*_path_problems(key, path), *_list_problems(value, path))]
        if len(lengths) > 1:
            found.append(
                say(
                    "{path}: zipped lists must be equally long (got {names})",
                    path=path,
                    names=", ".join(map(str, sorted(lengths))),
                )
            )
        return found
    if all(isinstance(value, Mapping) for value in given.values()):
        return [
            problem
            for label, settings in given.items()
            for key, value in settings.items()
            if not (key in ROOTS and isinstance(value, Mapping))
            for problem in _path_problems(key, f"{path}.{label}")
        ]
    return [say("{path}: all its entries must be lists (zipped), or all must be tables of settings (named)", path=path)]


def parse_axis(name: str, given: Any) -> AnyAxis:
    """One axis without problems."""
    if isinstance(given, list):
        return Choices(name, tuple(Choice(_shown(value), {name: value}) for value in given))
    if "low" in given:
        return Range(name, given["low"], given["high"], given.get("log", False))
    if all(isinstance(value, list) for value in given.values()):
        rows = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
        return Choices(name, tuple(Choice(" / ".join(str(_shown(v)) for v in row.values()), row) for row in rows))
    return Choices(name, tuple(Choice(label, dict(settings)) for label, settings in given.items()))


def grid(axes: Sequence[AnyAxis]) -> Iterator[tuple[list[AxisValue], dict[str, Any]]]:
    """Every combination of choices, the last axis changes fastest: the values as they are shown, and all settings that
    they stand for. Of a range its two ends."""
    ends = [axis if isinstance(axis, Choices) else parse_axis(axis.name, [axis.low, axis.high]) for axis in axes]
    for choices in itertools.product(*(axis.choices for axis in ends if isinstance(axis, Choices))):
        settings = {path: value for choice in choices for path, value in choice.settings.items()}
        yield [choice.value for choice in choices], settings


def label_of(axes: Sequence[AnyAxis], values: Sequence[AxisValue]) -> str:
    """``lr 0.01 · length 5``."""
    words = []
    for axis, value in zip(axes, values, strict=True):
        short = axis.short if isinstance(axis, Choices) else axis.name.rpartition(".")[2]
        words.append(f"{short} {value}".strip())
    return " · ".join(words)


def _path_problems(name: str, path: str) -> list[str]:
    root, dot, rest = name.partition(".")
    if root in ROOTS and dot and rest:
        return []
    hint = did_you_mean(root, ROOTS) or both("; it begins with task., model. or training., for example training.lr")
    return [say("{path}: '{name}' is no path of a setting{hint}", path=path, name=name, hint=hint)]


def _list_problems(given: list[Any], path: str) -> list[str]:
    if not given:
        return [say("{path}: at least one value is needed", path=path)]
    shown = [_shown(value) for value in given]
    return [
        say("{path}: {value!r} stands there twice", path=path, value=value)
        for value in dict.fromkeys(shown)
        if shown.count(value) > 1
    ]


def _range_problems(given: Mapping[str, Any], path: str) -> list[str]:
    found = [
        say("{path}.{key}: unknown key; a range has low, high and log", path=path, key=key)
        for key in given
        if key not in RANGE_KEYS
    ]
    low, high = given.get("low"), given.get("high")
    numbers = [isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)]
    if not all(numbers) or low >= high:  # type: ignore[operator]  # numbers, if the first test passed
        found.append(
            say(
                "{path}: low and high must be numbers, low the smaller one (got {low!r} and {high!r})",
                path=path,
                low=low,
                high=high,
            )
        )
    elif given.get("log") and low <= 0:  # type: ignore[operator]
        found.append(say("{path}: a range on a logarithmic scale must begin above 0 (got {low!r})", path=path, low=low))
    return found


def _shown(value: Any) -> AxisValue:
    if isinstance(value, bool | int | float | str):
        return value
    return str(value["shape"]) if isinstance(value, Mapping) and "shape" in value else str(value)
