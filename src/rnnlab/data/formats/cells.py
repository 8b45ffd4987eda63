"""What a cell and the name of a column may hold, whatever the file."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from rnnlab.core.errors import DataError
from rnnlab.core.words import note

FIELD_CAP = 1_000_000  # characters; a longer field is a damaged file, or a whole book that no model here could read


def field_problem(fields: Iterable[str]) -> str:
    """What is wrong with the first bad field; empty if all are good."""
    for field in fields:
        if len(field) > FIELD_CAP:
            return note(
                "a field of {count:,} characters; the limit is {FIELD_CAP:,}", count=len(field), FIELD_CAP=FIELD_CAP
            )
        if "\0" in field:
            return "a NUL character"
    return ""


def unicode_problem(text: str) -> str:
    """JSON can spell half of a surrogate pair, as in ``"\\ud83d"``, which no file or terminal would take later."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a character that isn't valid Unicode (half of a surrogate pair)"
    return ""


def check_names(where: str, names: Sequence[str]) -> None:
    """Every column has a name of its own, else a ``DataError`` that begins with ``where``."""
    seen = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            hint = " (pandas writes its index so; use to_csv(..., index=False))" if number == 1 else ""
            raise DataError("{where}: column {number} has no name{hint}", where=where, number=number, hint=hint)
        if problem := field_problem([name]) or unicode_problem(name):
            raise DataError("{where}: column {number}: {problem}", where=where, number=number, problem=problem)
        if name in seen:
            raise DataError("{where}: two columns are named {name!r}", where=where, name=name)
        seen.add(name)


def texts_of(column: str, values: Iterable[Any]) -> tuple[list[str], dict[int, str]]:
    """Values as texts, and by place what is wrong with those that have none. A missing value is an empty text, and a
    nested one its JSON."""
    texts: list[str] = []
    problems: dict[int, str] = {}
    for at, value in enumerate(values):
        if type(value) is str and len(value) <= FIELD_CAP and "\0" not in value:  # the usual case
            texts.append(value)
            continue
        try:
            texts.append(_text(value))
        except UnicodeError:
            problems[at] = note("{column!r} isn't valid Unicode text", column=column)
        except (ValueError, RecursionError):
            problems[at] = note("{column!r}: a number too large, or nested too deeply", column=column)
        else:
            if problem := field_problem(texts[at : at + 1]):
                problems[at] = note("{column!r}: {problem}", column=column, problem=problem)
            continue
        texts.append("")
    return texts, problems


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):  # Parquet may mark a missing number as NaN
        return ""
    if isinstance(value, bool | int | float | list | dict):
        return json.dumps(value, allow_nan=False, default=str)
    return value.decode() if isinstance(value, bytes) else str(value)


def refuse_unreadable(column: str, text: str) -> None:
    """Nothing is written that couldn't be read again."""
    if problem := field_problem([text]) or unicode_problem(text):
        raise DataError(
            "{column!r}: {problem}, which no file that rnnlab writes can hold", column=column, problem=problem
        )


def as_text(cell: Any) -> str:
    """What is added to a row, as text: a float is a probability."""
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell or "")
