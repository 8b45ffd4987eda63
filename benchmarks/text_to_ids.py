"""From text to ids, as rows of the table; `benchmarks/text.py` measures."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from table import Row, Unit
from turns import Effort

ROWS: tuple[tuple[str, str, float, str, Unit], ...] = (
    ("words_per_second", "words, one thread", 1.5e6, "higher", "tokens a second"),
    ("chars_per_second", "characters, one thread", 5e6, "higher", "tokens a second"),
    ("rows_linearity", "seconds a row of many rows, vs a tenth of them", 1.2, "lower", "times"),
    ("memory_ratio", "memory, vs the text", 3.0, "lower", "times"),
)


def measure(effort: Effort) -> Iterator[Row]:
    found: dict[str, Any] = {}
    built = find_spec("text") is not None
    if built:
        found = import_module("text").measure(effort.quick)
    for key, what, target, better, unit in ROWS:
        value = found.get(key)
        yield Row(
            "text",
            f"text to ids: {what}",
            target,
            () if value is None else (float(value),),
            better="higher" if better == "higher" else "lower",
            unit=unit,
            missing="" if value is not None else "not measured" if built else "not built",
            details={name: one for name, one in found.items() if name not in {row[0] for row in ROWS}},
        )
