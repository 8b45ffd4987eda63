"""What can be said of every place of a text by counting: where in the line it stands, whether inside quotes, and so on.

A feature is a number per token, made of this token and those before it, as a state is. Special tokens (``<s>``) begin a
line."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from rnnlab.core.words import Both, both
from rnnlab.data.tokenizers import LINE_END
from rnnlab.data.vocabulary import WRITTEN

OPEN, CLOSE = "([{（【〔《〈", ")]}）】〕》〉"
OPEN_QUOTES, CLOSE_QUOTES, EITHER = "“「『", "”」』", '"'
Kind = Literal["remembered", "read"]  # whether more than the last token is needed to know it
Step = Callable[[float, str], float]  # from the value before, and a token, to the value


def _since_line(before: float, token: str) -> float:
    return 0.0 if _ends_line(token) else before + 1


def _since_word(before: float, token: str) -> float:
    return before + 1 if token.isalnum() else 0.0


def _since_mark(before: float, token: str) -> float:
    return 0.0 if _ends_line(token) or _is_mark(token) else before + 1


def _quoted(before: float, token: str) -> float:
    if token == EITHER:
        return 1 - before
    return 1.0 if token in OPEN_QUOTES else 0.0 if token in CLOSE_QUOTES else before


def _depth(before: float, token: str) -> float:
    return max(0.0, before + (token in OPEN) - (token in CLOSE))


STEPS: dict[str, tuple[Both, Kind, Step]] = {
    "line": (both("place in the line"), "remembered", _since_line),
    "mark": (both("tokens since a punctuation mark"), "remembered", _since_mark),
    "word": (both("letters since the beginning of the word"), "remembered", _since_word),
    "quotes": (both("inside quotes"), "remembered", _quoted),
    "brackets": (both("depth of brackets"), "remembered", _depth),
    "line end": (both("after a line end"), "read", lambda _, token: float(_ends_line(token))),
    "punctuation": (both("after a punctuation mark"), "read", lambda _, token: float(_is_mark(token))),
    "space": (both("after a space"), "read", lambda _, token: float(token == " ")),
    "capital": (both("after a capital"), "read", lambda _, token: float(token[:1].isupper())),
    "digit": (both("after a digit"), "read", lambda _, token: float(token[:1].isdigit())),
    "vowel": (both("after a vowel"), "read", lambda _, token: float(len(token) == 1 and token.lower() in "aeiou")),
}
NAMES = {name: said for name, (said, _, _) in STEPS.items()}


def features_of(tokens: Sequence[str], characters: bool) -> dict[str, np.ndarray]:
    """(T,) each, after each of the tokens of a row. Of words, "word" and "space" mean nothing."""
    found = {}
    for name, (_, _, step) in STEPS.items():
        if not characters and name in ("word", "space", "vowel"):
            continue
        value, values = 0.0, np.empty(len(tokens))
        for at, token in enumerate(tokens):
            value = step(value, token)
            values[at] = value
        found[name] = values
    return found


def _ends_line(token: str) -> bool:
    return token == LINE_END or token in WRITTEN


def _is_mark(token: str) -> bool:
    return len(token) == 1 and not token.isalnum() and not token.isspace()
