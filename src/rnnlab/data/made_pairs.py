"""Pairs of texts by a rule that is known, so that one text alone is right: letters backwards, letters in order, dates
as machines write them."""

import datetime
from collections.abc import Callable, Sequence

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.seeding import generator
from rnnlab.core.words import note
from rnnlab.data.pairs import Pairs

VERSION = 1  # of the rules below: the same settings make the same pairs
SHORTEST = 5  # letters, unless no more than that may be
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ATTEMPTS = 50  # per row, after which there are no new texts to be had
FIRST, DAYS = datetime.date(1950, 1, 1), 100 * 365
MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905

Draw = Callable[[np.random.Generator, int], tuple[str, str]]
"""Of at most so many letters."""


def made_pairs(kind: str, rows: int, length: int = 20, seed: int = 0) -> Pairs:
    """``rows`` pairs of a ``kind``: "reverse", "sort" or "dates". Texts of letters have 5 to ``length``, all lengths
    alike; dates are as long as they are. No text is read twice."""
    draw = DRAWS[kind]
    random = generator(seed, "data")
    found: dict[str, str] = {}
    for _ in range(rows * ATTEMPTS):
        text, written = draw(random, length)
        found.setdefault(text, written)
        if len(found) == rows:
            break
    if len(found) < rows:
        raise DataError(
            "{kind}: no more than {found:,} different texts were found, and {rows:,} are asked for; take fewer rows, "
            "or longer texts",
            kind=kind,
            found=len(found),
            rows=rows,
        )
    about = note("made by a rule that is known: for each text, one alone is right")
    return Pairs(kind, tuple(found), tuple(found.values()), ("read", "written"), (about,))


def _letters(random: np.random.Generator, length: int) -> list[str]:
    size = int(random.integers(min(SHORTEST, length), length + 1))
    return [LETTERS[number] for number in random.integers(0, len(LETTERS), size)]


def _reverse(random: np.random.Generator, length: int) -> tuple[str, str]:
    letters = _letters(random, length)
    return "".join(letters), "".join(reversed(letters))


def _sort(random: np.random.Generator, length: int) -> tuple[str, str]:
    letters = _letters(random, length)
    return "".join(letters), "".join(sorted(letters))


def _dates(random: np.random.Generator, length: int) -> tuple[str, str]:
    """Years of two digits are those from 1950 to 2049, and so are all others."""
    day = FIRST + datetime.timedelta(days=int(random.integers(0, DAYS)))
    return date_as_people_write(day, int(random.integers(0, len(WAYS)))), day.isoformat()


DRAWS: dict[str, Draw] = {"reverse": _reverse, "sort": _sort, "dates": _dates}


# --- dates --------------------------------------------------------------------------------------------------------


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


WAYS: Sequence[Callable[[datetime.date], str]] = (
    lambda day: f"{ordinal(day.day)} of {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{MONTHS[day.month - 1]} {day.day}, {day.year}",
    lambda day: f"{MONTHS[day.month - 1]} {ordinal(day.day)}, {day.year}",
    lambda day: f"{day.day:02}.{day.month:02}.{day.year % 100:02}",
    lambda day: f"{day.day}.{day.month}.{day.year}",
    lambda day: f"{WEEKDAYS[day.weekday()]}, {day.day} {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{day.day} {MONTHS[day.month - 1][:3]} {day.year}",
    lambda day: f"{MONTHS[day.month - 1][:3]} {day.day} {day.year}",
    lambda day: f"{day.year}年{day.month}月{day.day}日",
    lambda day: f"{day.year}/{day.month:02}/{day.day:02}",
)


def date_as_people_write(day: datetime.date, way: int) -> str:
    return WAYS[way](day)
