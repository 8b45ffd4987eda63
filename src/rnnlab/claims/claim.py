"""The language of claims: a sentence of a document, the quantity it speaks of, and the rule that decides.

A claim stands in an experiment file as a ``[[claim]]`` table. It is checked before anything is run, and decided from
the runs alone (`claims.judgement`). docs/claims.md explains it with examples.
"""

import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from rnnlab.claims.quantities import Quantity, parse_quantity
from rnnlab.comparing.studies import Axis, AxisValue
from rnnlab.core.config import Config, parse, problems
from rnnlab.core.errors import ConfigError, WrongValue, all_problems, did_you_mean, known_are
from rnnlab.core.words import Both, both, say

Verdict = Literal["supported", "contradicted", "cannot tell"]
Measure = Literal["value", "difference", "ratio", "trend", "best", "share"]
Where = dict[str, AxisValue | tuple[AxisValue, ...]]

_NUMBER = r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[+-]?\.\d+)"
_USES: dict[str, tuple[str, ...]] = {  # what each measure needs besides the quantity; `a` may always narrow it down
    "value": (),
    "share": (),
    "difference": ("a", "b"),
    "ratio": ("a", "b"),
    "trend": ("along",),
    "best": ("along", "best"),
}
_LEAST_VALUES = 3  # of an axis, to speak of a trend


@dataclass(frozen=True)
class Rule:
    """What the truth would have to be for the claim to hold."""

    kind: Literal[">", ">=", "<", "<=", "between", "in"]
    low: float = -math.inf
    high: float = math.inf
    members: tuple[AxisValue, ...] = ()

    def judge(self, low: float, high: float, beyond: bool = False) -> Verdict:
        """The whole interval decides: all of it within the rule, or all of it outside. ``beyond``: without ``low``."""
        low = math.nextafter(low, math.inf) if beyond else low
        match self.kind:
            case ">":
                holds, fails = low > self.low, high <= self.low
            case ">=":
                holds, fails = low >= self.low, high < self.low
            case "<":
                holds, fails = high < self.high, low >= self.high
            case "<=":
                holds, fails = high <= self.high, low > self.high
            case _:
                holds, fails = self.low <= low and high <= self.high, high < self.low or low > self.high
        return "supported" if holds else "contradicted" if fails else "cannot tell"


def parse_rule(text: str) -> Rule:
    """``> 0``, ``>= 0.5``, ``< 1``, ``<= 2``, ``between -20 and 20``, ``in [0.005, 0.01, 0.02]``."""
    text = text.strip()
    if found := re.fullmatch(rf"(>=|<=|>|<)\s*{_NUMBER}", text):
        bound = float(found[2])
        return Rule(found[1], low=bound) if ">" in found[1] else Rule(found[1], high=bound)  # type: ignore[arg-type]  # the pattern allows no other
    if found := re.fullmatch(rf"between\s+{_NUMBER}\s+and\s+{_NUMBER}", text):
        low, high = float(found[1]), float(found[2])
        if low >= high:
            raise WrongValue("{text!r}: the first number must be the smaller one", text=text)
        return Rule("between", low, high)
    if text.startswith("in"):
        return Rule("in", members=_members(text))
    raise WrongValue(
        "{text!r} is no rule; write > x, >= x, < x, <= x, between x and y, or (for measure = 'best') in [x, y]",
        text=text,
    )


def _members(text: str) -> tuple[AxisValue, ...]:
    try:
        found = tomllib.loads(f"v = {text[2:]}")["v"]
    except tomllib.TOMLDecodeError:
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(v, str | int | float) for v in found):
        raise WrongValue(
            "{text!r}: write the values as a list, for example in [0.005, 0.01] or in ['zeros']", text=text
        )
    return tuple(found)


class Claim(Config):
    """One sentence of a document, and how it is decided."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="Its name: small letters, digits and hyphens.")
    says: str = Field(min_length=1, description="What the document says, in our words.")
    says_zh: str | None = Field(default=None, min_length=1, description="The same in Chinese.")
    document: str = Field(min_length=1, description="Which document says it.")
    figure: str | None = Field(default=None, description="The figure that the document gives, if any.")
    study: str = Field(description="The study whose runs decide.")
    quantity: str = Field(description="What is read off each run: test.accuracy, reached, diverged …")
    measure: Measure = Field(default="difference", description="What is made of the runs' values.")
    a: Where = Field(default={}, description="The points it is about: values of axes, one or a list each.")
    b: Where = Field(default={}, description="difference, ratio: the points that they are compared with.")
    along: str | None = Field(default=None, description="trend, best: the axis.")
    best: Literal["lowest", "highest"] | None = Field(default=None, description="best: which value of it wins.")
    rule: str = Field(description="When it holds: > x, >= x, < x, <= x, between x and y, in [x, y].")

    @field_validator("document", mode="before")
    @classmethod
    def _no_numbers(cls, value: Any) -> Any:
        if isinstance(value, int):
            raise WrongValue('document numbers begin with zeros: write it as a text, "{value:03}"', value=value)
        return value

    @field_validator("a", "b", mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        """TOML reads ``{ training.lr = 0.1 }`` as a table in a table."""
        return _flattened(value) if isinstance(value, Mapping) else value

    @field_validator("quantity")
    @classmethod
    def _understood(cls, value: str) -> str:
        parse_quantity(value)
        return value

    @field_validator("rule")
    @classmethod
    def _a_rule(cls, value: str) -> str:
        parse_rule(value)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        uses = _USES[self.measure]
        for name in ("a", "b", "along", "best"):
            given = getattr(self, name) not in (None, {})
            if name in uses and not given:
                raise WrongValue("measure = '{measure}' needs '{name}'", measure=self.measure, name=name)
            if given and name not in (*uses, "a"):
                instead: Both | str = ""
                if name == "b" and self.measure in ("value", "share"):  # 1 of 10 may well be no less than 2 of 5
                    instead = both(
                        ": it looks at one side only, and what is compared needs measure = 'difference' (or 'ratio')"
                    )
                raise WrongValue(
                    "measure = '{measure}' would ignore '{name}'{instead}",
                    measure=self.measure,
                    name=name,
                    instead=instead,
                )
        if self.measure in ("difference", "ratio") and set(self.a) != set(self.b):
            raise WrongValue(
                "a and b must name the same axes (a: {names}; b: {others})",
                names=", ".join(self.a),
                others=", ".join(self.b),
            )
        if self.along in self.a:
            raise WrongValue("'{along}' is what it goes along: 'a' can't fix it as well", along=self.along)
        if (self.measure == "best") != (self.parsed_rule.kind == "in"):
            raise WrongValue("the rule 'in […]' belongs to measure = 'best', and 'best' to it")
        return self._fitting_quantity()

    def _fitting_quantity(self) -> Self:
        quantity = self.parsed_quantity
        if quantity.yes_or_no and self.measure in ("value", "ratio"):
            raise WrongValue(
                "'{quantity}' is yes or no: use measure = 'share' (or 'difference' of two shares)",
                quantity=self.quantity,
            )
        if self.measure == "share" and not quantity.yes_or_no:
            raise WrongValue(
                "measure = 'share' counts runs that arrived or diverged, which '{quantity}' isn't",
                quantity=self.quantity,
            )
        if self.measure in ("trend", "best") and quantity.kind == "tag":
            raise WrongValue("measure = '{measure}' isn't made for tags; use value or difference", measure=self.measure)
        return self

    @property
    def parsed_quantity(self) -> Quantity:
        return parse_quantity(self.quantity)

    @property
    def parsed_rule(self) -> Rule:
        return parse_rule(self.rule)


def _flattened(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        path = f"{above}{key}"
        flat |= _flattened(value, f"{path}.") if isinstance(value, Mapping) else {path: value}
    return flat


def parse_claims(tables: Any, source: str = "claims") -> tuple[Claim, ...]:
    """The ``[[claim]]`` tables of a file, or one error that lists every problem."""
    found = table_problems(tables)
    if found:
        raise ConfigError(all_problems(source, found))
    return tuple(parse(Claim, table) for table in tables)


def table_problems(tables: Any) -> list[str]:
    """What is wrong with the tables by themselves, each with its path; `claim_problems` asks about the studies."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        return [say("claim: must be tables, each written as [[claim]]")]
    return [
        problem
        for number, table in enumerate(tables, 1)
        for problem in problems(Claim, table, f"claim {table.get('id', number)}")
    ]


def claim_problems(
    claims: Sequence[Claim], studies: Mapping[str, Sequence[Axis]], with_target: Collection[str] | None = None
) -> list[str]:
    """What claims ask for that there isn't, from the studies' axes alone: before anything is run.

    ``with_target`` names the studies that have one; None when that isn't known.
    """
    found = []
    for number, claim in enumerate(claims):
        path = f"claim {claim.id}"
        if claim.id in {earlier.id for earlier in claims[:number]}:
            found.append(say("{path}: another claim has this id", path=path))
        if claim.study not in studies:
            hint = did_you_mean(claim.study, studies) or known_are(studies)
            found.append(say("{path}.study: no study '{study}'{hint}", path=path, study=claim.study, hint=hint))
            continue
        axes = {axis.name: axis.values for axis in studies[claim.study]}
        found += [f"{path}.{problem}" for problem in _axis_problems(claim, axes)]
        if claim.parsed_quantity.needs_target and with_target is not None and claim.study not in with_target:
            found.append(
                say(
                    "{path}.quantity: '{quantity}' needs a target, which '{study}' doesn't have",
                    path=path,
                    quantity=claim.quantity,
                    study=claim.study,
                )
            )
    return found


def _axis_problems(claim: Claim, axes: Mapping[str, tuple[AxisValue, ...]]) -> list[str]:
    found = []
    for side, where in (("a", claim.a), ("b", claim.b)):
        for axis, wanted in where.items():
            found += _value_problems(f"{side}.{axis}", axis, wanted if isinstance(wanted, tuple) else (wanted,), axes)
    if claim.along is not None:
        members = claim.parsed_rule.members
        found += _value_problems("along" if claim.along not in axes else "rule", claim.along, members, axes)
    if claim.measure == "trend" and claim.along is not None and claim.along in axes:
        values = axes[claim.along]
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            names = ", ".join(map(str, values))
            found.append(say("along: a trend needs numbers, and '{along}' has {names}", along=claim.along, names=names))
        elif len(set(values)) < _LEAST_VALUES:
            found.append(
                say(
                    "along: a trend needs {least} values or more, and '{along}' has {count}",
                    least=_LEAST_VALUES,
                    along=claim.along,
                    count=len(values),
                )
            )
    return found


def _value_problems(
    path: str, axis: str, wanted: Sequence[AxisValue], axes: Mapping[str, tuple[AxisValue, ...]]
) -> list[str]:
    if axis not in axes:
        hint = did_you_mean(axis, axes) or known_are(axes)
        return [say("{path}: the study has no axis '{axis}'{hint}", path=path, axis=axis, hint=hint)]
    known = axes[axis]
    return [
        say(
            "{path}: '{axis}' has no value {value!r}{hint}",
            path=path,
            axis=axis,
            value=value,
            hint=did_you_mean(str(value), map(str, known)) or known_are(map(str, known)),
        )
        for value in wanted
        if value not in known
    ]
