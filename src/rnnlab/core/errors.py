"""What a user can do wrong, said kindly: where, which rule, what was found, what to do."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from rnnlab.core import words
from rnnlab.core.words import Both, both, plural, same, spoken


class RnnlabError(Exception):
    """A mistake of the user's or of the data, not of rnnlab. The message stands alone: no traceback is shown.

    It is a `Both`, so that it can be said in the reader's language, and recorded in English (`english`)."""

    exit_code = 1

    def __init__(self, text: str | Both, /, **gaps: Any) -> None:
        """``DataError("{path}: no such file", path=path)``: as with `both`."""
        super().__init__(words.both(text, **gaps) if isinstance(text, str) else text)


def english(error: BaseException) -> str:
    """What an error says, for what is stored."""
    return str(spoken(error, "en"))


class DataError(RnnlabError):
    """A file or table that can't be used as it is."""


class ConfigError(RnnlabError):
    """A setting that is unknown, impossible, or that would be ignored."""


class RunError(RnnlabError):
    """A run directory that is missing, damaged or unfinished."""


class BundleError(RnnlabError):
    """A file that is no bundle, or a damaged one, or of a newer format."""


class RunsFailed(RnnlabError):
    """Some runs failed or diverged; the others are kept."""

    exit_code = 3


class Interrupted(RnnlabError):
    """Stopped by the user; what was finished is kept."""

    exit_code = 130


class WrongValue(ValueError):
    """What a validator of settings finds wrong; `core.config` makes one error of all that is wrong."""

    def __init__(self, text: str, /, **gaps: Any) -> None:
        super().__init__(words.both(text, **gaps))


def did_you_mean(name: str, choices: Iterable[str]) -> Both:
    """``"; did you mean 'hidden'?"`` for the nearest choice, or an empty text."""
    close = nearest(name, choices)
    return both("; did you mean '{name}'?", name=close) if close is not None else same("")


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like ``name``, if one does."""
    return next(iter(difflib.get_close_matches(name, list(choices), n=1, cutoff=0.6)), None)


def known_are(names: Iterable[str]) -> Both:
    """``"; known: gru, lstm"``, where nothing is near."""
    listed = ", ".join(names)
    return both("; known: {names}", names=listed) if listed else both("; there are none")


def all_problems(source: str, problems: Sequence[str]) -> Both:
    """One message of all that is wrong with a file, a line each."""
    return plural(
        "{source}: {count} problem\n{lines}",
        "{source}: {count} problems\n{lines}",
        len(problems),
        source=source,
        lines="\n".join(f"  {problem}" for problem in problems),
    )
