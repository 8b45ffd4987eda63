"""What the names of recordings tell: labels, speakers and whatever else a pattern names; and rows chosen by it."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rnnlab.core.errors import WrongValue

FOLDERS = "{label}/*"  # unless said otherwise: a folder per label
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Pattern:
    """``{label}_{speaker}_{n}.wav``: fields in braces, ``*`` for anything, all else as it stands. As many parts of a
    path are looked at as the pattern has, from the end."""

    text: str

    def __post_init__(self) -> None:
        fields = re.findall(r"\{([^{}]*)\}", self.text)
        wrong = [name for name in fields if not re.fullmatch(r"[A-Za-z]\w*", name)]
        if wrong or "{" in re.sub(r"\{[^{}]*\}", "", self.text) or not fields:
            raise WrongValue(
                "fields stand in braces, for example '{{label}}_{{speaker}}_{{n}}.wav' (got {text!r})", text=self.text
            )
        if len(set(fields)) < len(fields):
            raise WrongValue("a field stands there twice (got {text!r})", text=self.text)
        if re.search(r"[}*]\s*[{*]", self.text):
            raise WrongValue(
                "something must stand between two fields, to tell where one ends (got {text!r})", text=self.text
            )

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self._expression.groupindex)

    def read(self, name: str) -> dict[str, str] | None:
        """The fields of a name; None where it isn't of this pattern."""
        parts = name.split("/")[-(self.text.count("/") + 1) :]
        found = self._expression.fullmatch("/".join(parts))
        return None if found is None else found.groupdict()

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        """A field holds nothing of what ends it, so that there is one way to read a name; nor does it cross folders."""
        pieces = re.findall(r"\{\w+\}|\*|[^{}*]+", self.text)
        made = ""
        for piece, behind in zip(pieces, [*pieces[1:], ""], strict=True):
            ends = "" if behind.lower() in (".wav", ".wave") else re.escape(behind[:1])
            if piece.startswith("{"):
                made += rf"(?P<{piece[1:-1]}>[^/{ends}]+)"
            else:
                made += r"[^/]*" if piece == "*" else re.escape(piece)
        return re.compile(made)


@dataclass(frozen=True)
class Where:
    """Rows by the value of a field: ``speaker=theo``, ``n=0,1,2``, ``room!=hall`` or ``n<5``."""

    text: str

    def __post_init__(self) -> None:
        field, sign, values = self._parts
        if not field or not all(values):
            raise WrongValue(
                "a field, a sign and values, for example speaker=theo, n=0,1,2 or n<5 (got {text!r})", text=self.text
            )
        if sign in _COMPARE and _number(values[0]) is None:
            raise WrongValue("'{sign}' compares numbers (got {text!r})", sign=sign, text=self.text)

    @property
    def field(self) -> str:
        return self._parts[0]

    @property
    def _parts(self) -> tuple[str, str, list[str]]:
        found = re.fullmatch(r"\s*(\w+)\s*(!=|<=|>=|=|<|>)\s*(.+?)\s*", self.text)
        if found is None:
            return "", "", []
        values = [found[3]] if found[2] in _COMPARE else [value.strip() for value in found[3].split(",")]
        return found[1], found[2], values

    def holds(self, values: Sequence[str]) -> list[bool]:
        """Of the values of its field in all rows."""
        _, sign, wanted = self._parts
        if sign in _COMPARE:
            limit = _number(wanted[0])
            numbers = [_number(value) for value in values]
            return [n is not None and limit is not None and _COMPARE[sign](n, limit) for n in numbers]
        return [(value in wanted) == (sign == "=") for value in values]


def suggested(names: Sequence[str]) -> str | None:
    """A pattern that may fit names which have the same number of parts: the person names the fields."""
    stems = [name.rsplit("/", 1)[-1].rsplit(".", 1)[0] for name in names]
    for sign in "_-":
        counts = {stem.count(sign) for stem in stems}
        if len(counts) == 1 and counts != {0}:
            fields = ["{label}", "{speaker}", "{n}", *(f"{{part{k}}}" for k in range(4, 20))][: counts.pop() + 1]
            return sign.join(fields) + ".wav"
    return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Fields = Mapping[str, Sequence[str]]
"""What is known of each recording, by the name of the field; the label apart."""
