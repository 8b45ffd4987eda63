"""The range test of learning rates as a person reads it: a curve within 80 columns, a rate, and the command."""

import json
import math
import shlex
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from rnnlab.core.words import both, say
from rnnlab.training.range_test import RangeTest

WIDTH, HEIGHT = 64, 8  # of the curve, in characters
LABEL = 8  # of the figures beside it
EIGHTHS = " ▁▂▃▄▅▆▇█"


def print_range_test(test: RangeTest, arguments: Sequence[str], as_json: bool = False) -> None:
    """``arguments`` are those of the command that asked, for the one to follow."""
    command = None if test.suggestion is None else training_command(arguments, test.suggestion)
    if as_json:
        print(json.dumps(test.to_dict() | {"command": command}, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(lines(test, command)))


def lines(test: RangeTest, command: str | None) -> list[str]:
    """What is printed: curve, explanation, command."""
    if not test.rates:
        return [say("The first batch broke the network before any update; no learning rate helps against that.")]
    shown = [say("Loss (smoothed) while the learning rate rises, one update per rate"), *curve(test)]
    if test.exploded:
        end = both("the loss exploded at {rate}", rate=_rate(test.rates[-1]))
    else:
        end = both("it never exploded")
    if command is None:
        told = say(
            "The loss never fell, whatever the rate; {end}. Look at the data and the labels, or try another seed.",
            end=end,
        )
        return [*shown, told]
    return [
        *shown,
        say(
            "It fell fastest at {fastest}, was lowest at {lowest}, and {end}.",
            fastest=_rate(test.suggestion),
            lowest=_rate(test.trough),
            end=end,
        ),
        say(
            "Suggested learning rate: {rate}. A third of it may do better in a long training.",
            rate=_rate(test.suggestion),
        ),
        "",
        say("Train with it:  {command}", command=command),
    ]


def curve(test: RangeTest) -> list[str]:
    """The smoothed loss as columns of blocks over log(rate), cut off where it rises as far as it had fallen."""
    columns = _columns(test.smoothed, min(WIDTH, len(test.smoothed)))
    bottom = min(columns)
    fallen = columns[0] - bottom
    top = columns[0] + (fallen or abs(bottom) or 1.0)
    eighths = [round(8 * HEIGHT * (min(value, top) - bottom) / (top - bottom)) or 1 for value in columns]
    rows = []
    for row in range(HEIGHT - 1, -1, -1):
        label = {HEIGHT - 1: f"{top:.3g}", HEIGHT // 2 - 1: f"{columns[0]:.3g}", 0: f"{bottom:.3g}"}.get(row, "")
        rows.append(f"{label:>{LABEL}} ┤" + "".join(EIGHTHS[max(0, min(8, n - 8 * row))] for n in eighths).rstrip())
    scale, marks = [" "] * (len(columns) + 6), [" "] * len(columns)
    for power in range(math.ceil(math.log10(test.rates[0]) - 1e-9), math.floor(math.log10(test.rates[-1]) + 1e-9) + 1):
        at = _column_of(10.0**power, test.rates, len(columns))
        scale[at : at + len(f"1e{power}")] = f"1e{power}"
    if test.suggestion is not None:
        marks[_column_of(test.suggestion, test.rates, len(columns))] = "▲"
    margin = " " * (LABEL + 2)
    found = [*rows, margin + "".join(scale).rstrip()]
    return found if test.suggestion is None else [*found, margin + "".join(marks).rstrip()]


def training_command(arguments: Sequence[str], rate: float) -> str:
    """The same command with the rate instead of the search; a setting that comes later overrides earlier ones."""
    kept = [word for word in arguments if word not in ("--find-lr", "--json")]
    end = kept.index("--") if "--" in kept else len(kept)
    return shlex.join(["rnnlab", *kept[:end], "--set", f"training.lr={_rate(rate)}", *kept[end:]])


def _columns(values: Sequence[float], columns: int) -> list[float]:
    """As many means of neighbouring values."""
    edges = [round(len(values) * column / columns) for column in range(columns + 1)]
    return [fmean(values[start:end]) for start, end in pairwise(edges)]


def _column_of(rate: float, rates: Sequence[float], columns: int) -> int:
    nearest = min(range(len(rates)), key=lambda at: abs(math.log(rates[at] / rate)))
    return min(columns - 1, nearest * columns // len(rates))


def _rate(rate: float | None) -> str:
    return "?" if rate is None else f"{rate:.2g}"
