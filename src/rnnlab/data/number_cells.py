"""Cells to numbers: what stands for a missing one, and columns with decimal commas or separators of thousands."""

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import numpy as np

_BLANKS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "-", "--", "–", "—", "?")
MISSING = frozenset(spelt for blank in _BLANKS for spelt in (blank, blank.upper(), blank.title())) | {"NaN"}
_AS_NAN: dict[Any, Any] = dict.fromkeys([*MISSING, None], float("nan"))

_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}([.\s’']\d{3})+|\d+)(,\d+)?|[+-]?,\d+")
_THOUSANDS = re.compile(r"[+-]?(([1-9]\d{0,2}([,\s’']\d{3})+|\d+)(\.\d*)?|\.\d+)")


class Style(Enum):
    """How the numbers of a column are written."""

    PLAIN = "plain"  # as in programs: -1234.5, 1e-3
    THOUSANDS = "thousands"  # 1,234.5
    DECIMAL_COMMA = "decimal comma"  # 1.234,5


def is_missing(text: str) -> bool:
    return text.strip().lower() in _BLANKS


def is_number(text: str) -> bool:
    """In any style."""
    return any(number_in(text, style) is not None for style in Style)


def number_in(text: str, style: Style) -> float | None:
    """None where it is none; a missing one is NaN."""
    text = text.strip().replace("−", "-")
    if text.lower() in _BLANKS:
        return float("nan")
    if style is not Style.PLAIN:
        pattern = _THOUSANDS if style is Style.THOUSANDS else _DECIMAL_COMMA
        if not pattern.fullmatch(text):
            return None
        text = re.sub(r"[\s’']", "", text)
        text = text.replace(",", "") if style is Style.THOUSANDS else text.replace(".", "").replace(",", ".")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def numbers_of(values: Sequence[Any], style: Style) -> tuple[np.ndarray, list[int]]:
    """(n,) float64 of cells, texts or not, NaN where one is missing; and the places of those that are no numbers."""
    if style is Style.PLAIN:
        try:
            found = np.fromiter(map(float, values), np.float64, len(values))
        except (ValueError, TypeError, OverflowError):
            try:
                found = np.fromiter((float(_AS_NAN.get(value, value)) for value in values), np.float64, len(values))
            except (ValueError, TypeError, OverflowError):
                found = None
        if found is not None and not _has_underscore(values):  # which Python reads, and nobody writes
            return found, []
    numbers = np.full(len(values), np.nan)
    wrong: list[int] = []
    for at, value in enumerate(values):
        number = number_in(value, style) if isinstance(value, str) else _of_other(value)
        if number is None:
            wrong.append(at)
        else:
            numbers[at] = number
    return numbers, wrong


def _has_underscore(values: Sequence[Any]) -> bool:
    try:
        return "_" in "".join(values)
    except TypeError:  # not all are texts
        return any("_" in value for value in values if isinstance(value, str))


def _of_other(value: Any) -> float | None:
    try:
        return float("nan") if value is None else float(value)
    except (ValueError, TypeError, OverflowError):
        return None


def style_of(wrong: Iterable[str], commas_are_decimal: bool) -> Style | None:
    """The style that all texts have that weren't plain numbers; None where they are no numbers. 1,234 may be either:
    ``commas_are_decimal`` decides."""
    texts = [text.strip().replace("−", "-") for text in wrong]
    fitting = [
        style
        for style, pattern in ((Style.THOUSANDS, _THOUSANDS), (Style.DECIMAL_COMMA, _DECIMAL_COMMA))
        if all(pattern.fullmatch(text) for text in texts)
    ]
    return None if not fitting else fitting[-1 if commas_are_decimal else 0]
