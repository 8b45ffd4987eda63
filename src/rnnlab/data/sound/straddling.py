"""Speakers, rooms and the like that stand on both sides of a split: the scores there are too good."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from rnnlab.core.words import note
from rnnlab.data.sound.names import Fields

FEWEST_ROWS = 5  # per value, on average: a field of more values than that names rows, not what they have in common
PEOPLE = re.compile(
    r"speak|person|people|user|subject|actor|singer|voice|talker|patient|client|participant|说话|录音人|用户"
)


def straddling(fields: Fields, rows: Mapping[str, np.ndarray], targets: np.ndarray) -> list[str]:
    """What to say of fields with values in train and in test. ``rows`` of each split count through all rows, as
    ``fields`` and ``targets`` (rows,) do. A running number (0, 1, 2 …) names takes, which nobody minds, unless its name
    says that it is people who are numbered; and a field that the label tells says nothing new."""
    said = []
    for name, values in fields.items():
        distinct = sorted(set(values))
        if not 1 < len(distinct) <= len(values) / FEWEST_ROWS or _told_by(targets, values):
            continue
        if _counts(distinct) and not PEOPLE.search(name.lower()):
            continue
        train = {values[row] for row in rows["train"]}
        both_sides = [
            value for value in distinct if value in train and any(values[row] == value for row in rows["test"])
        ]
        if both_sides:
            said.append(
                note(
                    "{count} of {all} values of '{name}' stand in train and in test ({some}): the scores are those of "
                    "known ones, and new ones will have lower; hold whole ones out: --group {name}, or one after the "
                    "other: --leave-out {name} --vary-split",
                    count=len(both_sides),
                    all=len(distinct),
                    name=name,
                    some=", ".join(both_sides[:3]) + (" …" if len(both_sides) > 3 else ""),
                )
            )
    return said


def _counts(values: Sequence[str]) -> bool:
    """Whether they are numbers without gaps, from 0 or 1 on."""
    if not all(value.isdecimal() for value in values):
        return False
    numbers = sorted(map(int, values))
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _told_by(targets: np.ndarray, values: Sequence[str]) -> bool:
    """Whether every label has one value only."""
    return len(set(zip(targets.tolist(), values, strict=True))) == len(set(targets.tolist()))
