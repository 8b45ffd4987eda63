"""What the figures of a profile warn of: decided here, from the figures alone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rnnlab.core.words import note

FEW_ROWS = 10  # a class with fewer rows is hardly measured at all
IMBALANCE = 20  # largest class to smallest
SHARE = 0.01  # of rows with conflicting labels, or that stand in train too
LONG = 10  # the longest row to the length that nine rows in ten keep within
NAMED = 5  # labels that a warning names

SPLITS = {"train": note("train"), "valid": note("valid"), "test": note("test")}
UNITS = {"tokens": note("tokens"), "characters": note("characters"), "steps": note("steps")}


def cautions(figures: Mapping[str, Any]) -> list[str]:
    """``figures`` are those of `Profile.to_dict`. In English, since they are stored with the figures."""
    return [*_of_labels(figures), *_of_repeated_rows(figures), *_of_long_rows(figures)]


def _of_labels(figures: Mapping[str, Any]) -> Iterator[str]:
    total = sum(figures["rows"].values())
    labels = over_all_splits(figures["labels"])
    small = [label for label, count in labels.items() if count < FEW_ROWS]
    if len(labels) > total / 2:
        yield note(
            "{labels:,} labels for {rows:,} rows: is the label column the right one?", labels=len(labels), rows=total
        )
    elif small:
        yield note("fewer than {few:d} rows: {labels}", few=FEW_ROWS, labels=_some(small))
    for name, counts in figures["labels"].items():
        if name != "train" and (missing := [label for label in labels if label not in counts]):
            yield note("{split} has no row of {labels}", split=SPLITS[name], labels=_some(missing))
    if divisible := figures.get("divisible"):
        yield note(
            "labels such as {example!r} look like several in one: --multi-label {separator!r} would divide them",
            example=divisible["example"],
            separator=divisible["separator"],
        )
    ratio = imbalance(figures)
    if ratio is not None and figures.get("label_sets"):
        yield note(
            "labels are out of balance, {ratio:,.0f} to 1: micro-F1 speaks mostly of the large ones; with --metric "
            "macro-f1 all count alike",
            ratio=ratio,
        )
    elif ratio is not None:
        yield note("labels are out of balance, {ratio:,.0f} to 1: accuracy hardly counts the rare ones", ratio=ratio)


def imbalance(figures: Mapping[str, Any]) -> float | None:
    """Rows of the largest class per row of the smallest one, where that is much."""
    counts = over_all_splits(figures["labels"]).values()
    ratio = max(counts) / min(counts)
    return ratio if ratio > IMBALANCE else None


def _of_repeated_rows(figures: Mapping[str, Any]) -> Iterator[str]:
    """Rows that stand under several labels, in several splits, or in groups that do."""
    total = sum(figures["rows"].values())
    if figures["conflicts"] > SHARE * total and figures.get("label_sets"):
        yield note(
            "{share:.1f} % of the rows stand elsewhere with other labels: no model can get them all right",
            share=100 * figures["conflicts"] / total,
        )
    elif figures["conflicts"] > SHARE * total:
        yield note(
            "{share:.1f} % of the rows stand under several labels: no model can get them all right",
            share=100 * figures["conflicts"] / total,
        )
    for name, count in figures["overlap"].items():
        if count > SHARE * figures["rows"][name]:
            yield note(
                "{share:.1f} % of the {split} rows also stand in train: scores there are too good",
                share=100 * count / figures["rows"][name],
                split=SPLITS[name],
            )
    groups = figures["straddling_groups"]
    if groups == 1:
        yield note("1 group with rows in more than one of the given splits: scores there may be too good")
    elif groups:
        yield note(
            "{groups:,} groups with rows in more than one of the given splits: scores there may be too good",
            groups=groups,
        )


def _of_long_rows(figures: Mapping[str, Any]) -> Iterator[str]:
    p90, p99, longest = (figures["lengths"][name] for name in ("p90", "p99", "max"))
    saved = figures.get("saved_by_cutting")  # profiles of earlier versions lack it
    if figures["max_length"] is not None or longest <= LONG * p90 or saved is None:
        return
    yield note(
        "a few rows are very long (up to {longest:,} {unit}): max_length = {length:d} would shorten 1 % of the rows "
        "and save {share:.1f} % of the {unit}",
        longest=longest,
        unit=UNITS[figures["unit"]],
        length=p99,
        share=100 * saved,
    )


def over_all_splits(labels: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Rows of each label, the largest first."""
    total: Counter[str] = Counter()
    for counts in labels.values():
        total.update(counts)
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMED])
    if len(names) <= NAMED:
        return shown
    return note("{names} and {more:,} more", names=shown, more=len(names) - NAMED)
