"""What a person should know about the data before believing any figure made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from rnnlab.data.cautions import cautions, counted, over_all_splits, percent
from rnnlab.data.examples import Examples


@dataclass(frozen=True)
class Profile:
    """Figures and findings as plain JSON values; ``lines()`` says them."""

    source: str
    rows: dict[str, int]  # per split
    labels: dict[str, dict[str, int]]  # per split: rows of each label
    unit: str  # of lengths: "tokens", "characters" or "steps"
    lengths: dict[str, int]  # min, p50, p90, p99, max, and the total; before cutting
    max_length: int | None  # where rows are cut
    cut_rows: int
    channels: int | None  # of series
    script: str | None  # of texts
    tokenizer: str | None
    tokenizer_reason: str | None
    vocabulary: int | None
    unknown: dict[str, float]  # per split: share of tokens that the vocabulary lacks
    duplicates: int  # rows that repeat an earlier row
    conflicts: int  # rows whose content also stands under another label
    overlap: dict[str, int]  # per held-out split: rows whose content also stands in train
    groups: int | None
    largest_group: int | None
    straddling_groups: int  # groups with rows in more than one split
    skipped: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]  # as `cautions` words them
    saved_by_cutting: float | None = None  # share of all lengths beyond p99; None in profiles of earlier versions

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"notes": list(self.notes), "warnings": list(self.warnings)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        lists: dict[str, Any] = {name: tuple(values[name]) for name in ("notes", "warnings")}
        return cls(**(dict(values) | lists))

    def lines(self) -> list[str]:
        """Readable plain text, the most important first."""
        total = sum(self.rows.values())
        lines = [f"{_rows(total)}: " + ", ".join(f"{name} {count:,}" for name, count in self.rows.items())]
        lines.append(_say_labels(over_all_splits(self.labels), total))
        lines.append(self._say_lengths())
        if self.channels is not None:
            lines.append(f"series of {counted(self.channels, 'channel')}, standardised by the training rows")
        if self.tokenizer is not None:
            lines.append(f"script: {self.script}; tokeniser: {self.tokenizer} ({self.tokenizer_reason})")
            lines.append(self._say_vocabulary())
        lines.append(self._say_duplicates(total))
        if self.groups is not None:
            lines.append(self._say_groups())
        if self.skipped:
            lines.append(f"skipped: {_rows(self.skipped)} that can't be used")
        return lines + [f"note: {note}" for note in self.notes] + [f"warning: {text}" for text in self.warnings]

    def _say_lengths(self) -> str:
        at = {name: f"{value:,}" for name, value in self.lengths.items()}
        text = (
            f"length in {self.unit}: median {at['p50']}, 90 % up to {at['p90']}, 99 % up to {at['p99']}, "
            f"from {at['min']} to {at['max']}, {at['total']} in all"
        )
        if self.max_length is None:
            return text
        return f"{text}; cut to the first {self.max_length:,}, which shortens {_rows(self.cut_rows)}"

    def _say_vocabulary(self) -> str:
        unknown = ", ".join(f"{name} {percent(share)}" for name, share in self.unknown.items())
        return f"vocabulary: {self.vocabulary:,} entries from the training rows; unknown tokens: {unknown}"

    def _say_duplicates(self, total: int) -> str:
        share = f" ({percent(self.duplicates / total)})" if self.duplicates else ""
        text = f"repeated: {_rows(self.duplicates)}{share} equal to an earlier one"
        text += f", {self.conflicts:,} stand under several labels" if self.conflicts else ""
        seen = [f"{count:,} of {name}" for name, count in self.overlap.items() if count]
        return f"{text}; rows that stand in train too: {', '.join(seen) or 'none'}"

    def _say_groups(self) -> str:
        straddling = (
            f"{self.straddling_groups:,} in more than one split" if self.straddling_groups else "none straddles a split"
        )
        return f"groups: {self.groups:,}, the largest of {_rows(self.largest_group or 0)}; {straddling}"


def profile(
    parts: Sequence[Examples],
    rows: Mapping[str, np.ndarray],
    *,
    lengths: np.ndarray,
    contents: np.ndarray,
    units: np.ndarray,
    unit: str = "tokens",
    max_length: int | None = None,
    channels: int | None = None,
    script: str | None = None,
    tokenizer: str | None = None,
    tokenizer_reason: str | None = None,
    vocabulary: int | None = None,
    unknown: Mapping[str, float] | None = None,
    notes: Sequence[str] = (),
) -> Profile:
    """The ``rows`` of each split count through the parts laid end to end, and so do ``contents`` and ``units``,
    numbered as ``splits`` does; ``lengths`` come in any order."""
    names = sorted({label for part in parts for label in part.labels})
    number_of = {label: number for number, label in enumerate(names)}
    labels = np.fromiter((number_of[label] for part in parts for label in part.labels), np.int32)
    per_split = {name: np.bincount(labels[chosen], minlength=len(names)).tolist() for name, chosen in rows.items()}
    in_train = np.zeros(contents.max(initial=0) + 1, bool)
    in_train[contents[rows["train"]]] = True
    groups, largest, straddling = _group_figures(parts, rows, units)
    quantiles = np.quantile(lengths, [0.5, 0.9, 0.99], method="higher").astype(int).tolist()
    found = Profile(
        source=", ".join(dict.fromkeys(part.source for part in parts)),
        rows={name: len(chosen) for name, chosen in rows.items()},
        labels={
            name: {label: count for label, count in zip(names, counts, strict=True) if count}
            for name, counts in per_split.items()
        },
        unit=unit,
        lengths={
            "min": int(lengths.min()),
            **dict(zip(("p50", "p90", "p99"), quantiles, strict=True)),
            "max": int(lengths.max()),
            "total": int(lengths.sum()),
        },
        max_length=max_length,
        cut_rows=0 if max_length is None else int((lengths > max_length).sum()),
        channels=channels,
        script=script,
        tokenizer=tokenizer,
        tokenizer_reason=tokenizer_reason,
        vocabulary=vocabulary,
        unknown=dict(unknown or {}),
        duplicates=len(contents) - int(np.count_nonzero(np.bincount(contents))),
        conflicts=int(_have_several(contents, labels)[contents].sum()),
        overlap={name: int(in_train[contents[chosen]].sum()) for name, chosen in rows.items() if name != "train"},
        groups=groups,
        largest_group=largest,
        straddling_groups=straddling,
        skipped=sum(len(part.skipped) for part in parts),
        notes=(*dict.fromkeys(note for part in parts for note in part.notes), *notes),
        warnings=(),
        saved_by_cutting=1 - float(np.minimum(lengths, quantiles[2]).sum() / lengths.sum()),
    )
    return replace(found, warnings=tuple(caution.english for caution in cautions(found.to_dict())))


def _have_several(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each of the numbers from 0 that are keys: whether it occurs beside more than one value."""
    count = keys.max(initial=0) + 1
    some = np.zeros(count, values.dtype)
    some[keys] = values  # any one of a key's values: where another stands too, it differs from this one
    several = np.zeros(count, bool)
    several[keys[some[keys] != values]] = True
    return several


def _group_figures(
    parts: Sequence[Examples], rows: Mapping[str, np.ndarray], units: np.ndarray
) -> tuple[int | None, int | None, int]:
    """Number of groups, rows of the largest, and groups in several splits; rows without a group don't count."""
    if all(part.groups is None for part in parts):
        return None, None, 0
    grouped = np.array([bool(group) for part in parts for group in (part.groups or [""] * len(part))])
    home = np.zeros(len(units), np.int64)
    for number, chosen in enumerate(rows.values()):
        home[chosen] = number
    _, sizes = np.unique(units[grouped], return_counts=True)
    return len(sizes), int(sizes.max(initial=0)), int(_have_several(units[grouped], home[grouped]).sum())


def _say_labels(labels: Mapping[str, int], total: int, most: int = 6) -> str:
    shown = [f"{label} {count:,} ({percent(count / total)})" for label, count in list(labels.items())[:most]]
    more = f" and {len(labels) - most:,} more" if len(labels) > most else ""
    return f"{counted(len(labels), 'label')}: {', '.join(shown)}{more}"


def _rows(count: int) -> str:
    return counted(count, "row")
