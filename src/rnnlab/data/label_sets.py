"""Several labels in one cell: ``billing;refund``, or a list in JSON. A cell may be empty: a row without a label."""

import ast
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rnnlab.core.words import note

SEPARATORS = (";", "|", ",", "；", "，", "、")  # that cells of several labels are proposed to be split at
SHARE = 0.05  # of the cells that hold a separator, at which they look like several labels
RECURRING = 0.7  # of the parts of such cells, that stand in other cells too


@dataclass(frozen=True)
class LabelSets:
    """The labels of each row as one text, each once and in alphabetical order: rows of the same labels are equal."""

    cells: list[str]
    notes: tuple[str, ...]
    problems: dict[int, str]  # by row


def read_sets(cells: Sequence[str], separator: str) -> LabelSets:
    """Cells are split at the separator, or lists in JSON (also as Python prints them). Blank parts, and a label that
    stands in its cell before, are left out and counted."""
    known: dict[str, str] = {}  # equal cells are one object, however many rows have them
    problems: dict[int, str] = {}
    found, blank, repeated = [], 0, 0
    for row, cell in enumerate(cells):
        if cell not in known:
            parts = _listed(cell)
            if parts is None:
                parts = cell.split(separator) if cell.strip() else []
            elif any(separator in part for part in parts):
                problems[row] = note(
                    "a label of the list {cell} holds the separator {separator!r}; choose another one",
                    cell=_short(cell),
                    separator=separator,
                )
            stripped = [part.strip() for part in parts]
            labels = sorted({part for part in stripped if part})
            blank += stripped.count("")
            repeated += len(stripped) - stripped.count("") - len(labels)
            known[cell] = separator.join(labels)
        found.append(known[cell])
    notes = []
    if blank or repeated:
        notes.append(
            note(
                "left out of the label cells: {blank:,} blank parts, {repeated:,} labels that a cell repeats",
                blank=blank,
                repeated=repeated,
            )
        )
    return LabelSets(found, tuple(notes), problems)


def labels_of(cell: str, separator: str | None) -> list[str]:
    """The labels of a row, as `read_sets` wrote them; without a separator each row has one."""
    if separator is None:
        return [cell]
    return cell.split(separator) if cell else []


def matrix(cells: Sequence[str], separator: str, number: dict[str, int]) -> np.ndarray:
    """(rows, C) uint8: 1 where a row has a label."""
    found = np.zeros((len(cells), len(number)), np.uint8)
    sets = {cell: [number[label] for label in labels_of(cell, separator)] for cell in set(cells)}
    for row, cell in enumerate(cells):
        found[row, sets[cell]] = 1
    return found


def looks_divisible(cells: Sequence[str], rows: np.ndarray) -> dict[str, str] | None:
    """The separator at which cells that were read as one label each look like several, and an example: many rows hold
    it, and what it divides stands in other cells too. Lists in JSON look so, whatever the separator. ``cells`` are the
    different ones, ``rows`` how many rows have each."""
    total = int(rows.sum())
    lists = [number for number, cell in enumerate(cells) if _listed(cell) is not None]
    if rows[lists].sum() > total / 2:
        return {"separator": SEPARATORS[0], "example": cells[lists[0]]}
    for separator in SEPARATORS:
        several = [number for number, cell in enumerate(cells) if separator in cell]
        if rows[several].sum() < SHARE * total:
            continue
        parts = [[part.strip() for part in cell.split(separator) if part.strip()] for cell in cells]
        standing = Counter(part for found in parts for part in set(found))  # in so many different cells
        divided = [part for number in several for part in parts[number]]
        if several and sum(standing[part] > 1 for part in divided) >= RECURRING * len(divided):
            return {"separator": separator, "example": cells[several[int(rows[several].argmax())]]}
    return None


def _listed(cell: str) -> list[str] | None:
    """The parts of a list; None where it is none."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    found: Any = None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(cell)
            break
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    if not isinstance(found, list) or not all(isinstance(part, str | int | float | bool) for part in found):
        return None
    return [str(part) for part in found]


def _short(cell: str) -> str:
    return cell if len(cell) <= 40 else cell[:39] + "…"
