"""Time is said before it is spent: a line before the training, and a question where it is long."""

import sys
from typing import TYPE_CHECKING

import typer

from rnnlab.core.errors import Interrupted
from rnnlab.core.words import CLAUSES, Both, both, joined, plural, same, say

if TYPE_CHECKING:
    from rnnlab.show.terminal.output import Screen
    from rnnlab.sweeps.forecast import Forecast

_BUDGETS = {"1m": 60, "2m": 120, "5m": 300, "10m": 600, "20m": 1200, "30m": 1800}
_WORTH_SAYING_LESS = 120.0  # seconds: below that nobody looks for an option that makes it shorter


def say_how_long(screen: "Screen", found: "Forecast", yes: bool, remedies: Both | None) -> None:
    """In a line, with what would make it less; asked on a terminal where it is long, unless ``yes`` was said."""
    from rnnlab.sweeps.forecast import LONG

    left = found.runs - found.found
    if not left:
        return
    told = plural("{count} run", "{count} runs", left)
    if found.found:
        told = both("{runs} ({found} are finished already)", runs=told, found=found.found)
    told = both("{runs}: {time}", runs=told, time=time_range(found.low, found.high))
    if found.jobs > 1 and left > 1:
        told = both("{told}, {jobs} at a time", told=told, jobs=found.jobs)
    if found.expected > _WORTH_SAYING_LESS and remedies is not None:
        shorter = [name for name, seconds in _BUDGETS.items() if seconds <= min(LONG, 0.6 * found.expected)]
        told = joined([told, remedies.format(budget=shorter[-1] if shorter else "1m")], CLAUSES)
    screen.how_long(str(told))
    if found.expected > LONG and not yes and screen.talks and _a_person_is_there():
        screen.how_long(say("that is more than 30 minutes, so this is a question (--yes doesn't ask)"))
        if not _confirmed():
            nothing = both("nothing was begun")
            raise Interrupted(
                nothing if remedies is None else joined([nothing, remedies.format(budget="30m")], CLAUSES)
            )


def _confirmed() -> bool:
    """Yes is what Enter means. In Chinese 是 and 否 are answers, too."""
    while True:
        print(say("Go on? [Y/n]: "), end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if not answer:  # nobody is there any more
            raise typer.Abort
        answer = answer.strip().lower()
        if answer in ("", "y", "yes", "是"):
            return True
        if answer in ("n", "no", "否"):
            return False


def time_range(low: float, high: float) -> Both:
    """``about 20 to 60 s``, ``about 4 to 11 min``, ``about 1.5 to 4 h``; one figure where they are equal."""
    size = 1 if high < 100 else 60 if high < 100 * 60 else 3600
    least, most = (_figure(seconds / size) for seconds in (low, high))
    span = same(least) if least == most else both("{low} to {high}", low=least, high=most)
    if size == 1:
        return both("about {span} s", span=span)
    return both("about {span} min", span=span) if size == 60 else both("about {span} h", span=span)


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}".removesuffix(".0")


def _a_person_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
