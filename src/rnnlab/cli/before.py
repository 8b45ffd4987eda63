"""Time is said before it is spent: a line before the training, and a question where it is long."""

import sys
from typing import TYPE_CHECKING

import typer

from rnnlab.core.errors import Interrupted

if TYPE_CHECKING:
    from rnnlab.show.terminal.output import Screen
    from rnnlab.sweeps.forecast import Forecast

_BUDGETS = {"1m": 60, "2m": 120, "5m": 300, "10m": 600, "20m": 1200, "30m": 1800}
_WORTH_SAYING_LESS = 120.0  # seconds: below that nobody looks for an option that makes it shorter


def say_how_long(screen: "Screen", found: "Forecast", yes: bool, remedies: str) -> None:
    """In a line, with what would make it less; asked on a terminal where it is long, unless ``yes`` was said."""
    from rnnlab.sweeps.forecast import LONG

    left = found.runs - found.found
    if not left:
        return
    what = f"{left} runs" if left > 1 else "1 run"
    kept = f" ({found.found} are finished already)" if found.found else ""
    parallel = f", {found.jobs} at a time" if found.jobs > 1 and left > 1 else ""
    remedy = ""
    if found.expected > _WORTH_SAYING_LESS and remedies:
        shorter = [name for name, seconds in _BUDGETS.items() if seconds <= min(LONG, 0.6 * found.expected)]
        remedy = "; " + remedies.format(budget=shorter[-1] if shorter else "1m")
    screen.how_long(f"{what}{kept}: {time_range(found.low, found.high)}{parallel}{remedy}")
    if found.expected > LONG and not yes and not screen.quiet and _a_person_is_there():
        screen.how_long("that is more than 30 minutes, so this is a question (--yes doesn't ask)")
        if not typer.confirm("Go on?", default=True, err=True):
            raise Interrupted("nothing was begun" + (f"; {remedies.format(budget='30m')}" if remedies else ""))


def time_range(low: float, high: float) -> str:
    """``about 20 to 60 s``, ``about 4 to 11 min``, ``about 1.5 to 4 h``; one figure where they are equal."""
    unit, size = ("s", 1) if high < 100 else ("min", 60) if high < 100 * 60 else ("h", 3600)
    texts = [_figure(seconds / size) for seconds in (low, high)]
    return f"about {texts[0]} {unit}" if texts[0] == texts[1] else f"about {texts[0]} to {texts[1]} {unit}"


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}".removesuffix(".0")


def _a_person_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
