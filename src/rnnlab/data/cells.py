"""What a cell and the name of a column may hold, whatever the file."""

from collections.abc import Iterable, Sequence

from rnnlab.core.errors import DataError

FIELD_CAP = 1_000_000  # characters; a longer field is a damaged file, or a whole book that no model here could read


def field_problem(fields: Iterable[str]) -> str:
    """What is wrong with the first bad field; empty if all are good."""
    for field in fields:
        if len(field) > FIELD_CAP:
            return f"a field of {len(field):,} characters; the limit is {FIELD_CAP:,}"
        if "\0" in field:
            return "a NUL character"
    return ""


def check_names(where: str, names: Sequence[str]) -> None:
    """Every column has a name of its own, else a ``DataError`` that begins with ``where``."""
    seen = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            hint = " (pandas writes its index so; use to_csv(..., index=False))" if number == 1 else ""
            raise DataError(f"{where}: column {number} has no name{hint}")
        if problem := field_problem([name]) or unicode_problem(name):
            raise DataError(f"{where}: column {number}: {problem}")
        if name in seen:
            raise DataError(f"{where}: two columns are named {name!r}")
        seen.add(name)


def unicode_problem(text: str) -> str:
    """JSON can spell half of a surrogate pair, as in ``"\\ud83d"``, which no file or terminal would take later."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a character that isn't valid Unicode (half of a surrogate pair)"
    return ""
