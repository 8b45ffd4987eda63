"""What a user can do wrong, said kindly: where, which rule, what was found, what to do."""

import difflib
from collections.abc import Iterable


class RnnlabError(Exception):
    """A mistake of the user's or of the data, not of rnnlab. The message stands alone: no traceback is shown."""

    exit_code = 1


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


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """``"; did you mean 'hidden'?"`` for the nearest choice, or an empty string."""
    close = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""
