"""The labels of examples: whether there is something to learn from them, and what to do if not."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import Both, both, same
from rnnlab.data import label_sets
from rnnlab.data.examples import Examples

SHOWN = 20  # bad rows, columns or classes listed in one error
NOTHING = same("")


def check_labels(examples: Examples) -> None:
    """What `check_classes` refuses where each row has one; where a row may have several, fewer than two labels."""
    if examples.separator is None:
        check_classes(examples.labels, examples.source)
        return
    labels = sorted(examples.distinct_labels)
    if len(labels) < 2:
        raise DataError(
            "{source}: split at {separator!r} there is no more than one label ({labels}); at least two are needed",
            source=examples.source,
            separator=examples.separator,
            labels=listed(labels),
        )


def check_classes(labels: Sequence[str], source: str) -> None:
    """Refuse to train on fewer than two classes, or on a class with one row, which couldn't be validated."""
    counts = Counter(labels)
    if len(counts) < 2:
        if counts:
            label = short(next(iter(counts)))
            found = both("all {count:,} rows have the class {label}", count=len(labels), label=label)
        else:
            found = both("there are no rows")
        raise DataError("{source}: {found}; a classifier needs at least two classes", source=source, found=found)
    single = sorted(name for name, count in counts.items() if count == 1)
    if single:
        if len(single) == 1:
            what = both("the class {label} has only one row", label=short(single[0]))
        else:
            what = both("{count:,} classes have only one row: {labels}", count=len(single), labels=listed(single))
        raise DataError(
            "{source}: {what}\na class needs two, to learn from one and check on "
            "the other; add rows, or merge or drop the class{hint}",
            source=source,
            what=what,
            hint=hint_to_divide(counts),
        )


def hint_to_divide(labels: Counter[str]) -> Both:
    divisible = label_sets.looks_divisible(list(labels), np.array(list(labels.values())))
    if divisible is None:
        return NOTHING
    return both(
        "\nlabels such as {example} look like several in one: --multi-label {separator!r} would divide them",
        example=short(divisible["example"]),
        separator=divisible["separator"],
    )


def listed(names: Sequence[str]) -> Both:
    shown = ", ".join(map(short, names[:SHOWN]))
    if len(names) <= SHOWN:
        return same(shown)
    return both("{listed} and {more:,} more", listed=shown, more=len(names) - SHOWN)


def short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
