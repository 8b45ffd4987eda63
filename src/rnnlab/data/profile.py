"""What a person should know about the data before believing any figure made from it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from rnnlab.core.numbers import percent_text
from rnnlab.core.words import COMMAS, Both, both, joined, listed, plural, retold, same
from rnnlab.data import label_sets
from rnnlab.data.cautions import SPLITS, UNITS, cautions, over_all_splits
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
    label_sets: dict[str, float] | None = None  # where rows may have several labels: mean, most, and rows without any
    divisible: dict[str, str] | None = None  # where labels look like several in one: the separator, and one of them

    def to_dict(self) -> dict[str, Any]:
        """Without what most data don't have."""
        values = asdict(self) | {"notes": list(self.notes), "warnings": list(self.warnings)}
        return {k: v for k, v in values.items() if v is not None or k not in ("label_sets", "divisible")}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        lists: dict[str, Any] = {name: tuple(values[name]) for name in ("notes", "warnings")}
        return cls(**(dict(values) | lists))

    def lines(self) -> list[str]:
        """Readable plain text in the current language, the most important first."""
        total = sum(self.rows.values())
        splits = _by_split({name: f"{count:,}" for name, count in self.rows.items()})
        lines = [both("{rows}: {splits}", rows=rows_text(total), splits=splits)]
        lines.append(_labels_text(over_all_splits(self.labels), total))
        if self.label_sets is not None:
            lines.append(
                both(
                    "labels per row: {mean:.2f} on average, at most {most:d}; without a label: {none}",
                    mean=self.label_sets["mean"],
                    most=int(self.label_sets["most"]),
                    none=share_text(int(self.label_sets["none"]), total),
                )
            )
        lines.append(self._lengths_text())
        if self.channels is not None:
            lines.append(
                plural(
                    "series of {count:,} channel, standardised by the training rows",
                    "series of {count:,} channels, standardised by the training rows",
                    self.channels,
                )
            )
        if self.tokenizer is not None:
            lines.append(
                both(
                    "script: {script}; tokeniser: {tokenizer} ({reason})",
                    script=script_text(self.script or ""),
                    tokenizer=self.tokenizer,
                    reason=retold(self.tokenizer_reason or ""),
                )
            )
            lines.append(
                both(
                    "vocabulary: {entries:,} entries from the training rows; unknown tokens: {unknown}",
                    entries=self.vocabulary,
                    unknown=_by_split({name: percent_text(share) for name, share in self.unknown.items()}),
                )
            )
        lines.append(self._duplicates_text(total))
        if self.groups is not None:
            lines.append(self._groups_text())
        if self.skipped:
            lines.append(both("skipped: {rows} that can't be used", rows=rows_text(self.skipped)))
        lines += [both("note: {text}", text=retold(text)) for text in self.notes]
        lines += [both("warning: {text}", text=retold(text)) for text in self.warnings]
        return [str(line) for line in lines]

    def _lengths_text(self) -> Both:
        text = both(
            "length in {unit}: median {p50:,}, 90 % up to {p90:,}, 99 % up to {p99:,}, from {min:,} to {max:,}, "
            "{total:,} in all",
            unit=retold(UNITS[self.unit]),
            **self.lengths,
        )
        if self.max_length is None:
            return text
        return both(
            "{lengths}; cut to the first {length:,}, which shortens {rows}",
            lengths=text,
            length=self.max_length,
            rows=rows_text(self.cut_rows),
        )

    def _duplicates_text(self, total: int) -> Both:
        told = both("{rows} equal to an earlier one", rows=share_text(self.duplicates, total))
        if self.conflicts and self.label_sets is not None:
            told = both("{rows}, {conflicts:,} stand elsewhere with other labels", rows=told, conflicts=self.conflicts)
        elif self.conflicts:
            told = both("{rows}, {conflicts:,} stand under several labels", rows=told, conflicts=self.conflicts)
        seen = [
            both("{count:,} of {split}", count=count, split=retold(SPLITS[name]))
            for name, count in self.overlap.items()
            if count
        ]
        return both(
            "repeated: {rows}; rows that stand in train too: {seen}",
            rows=told,
            seen=listed(seen, "comma") if seen else both("none", _context="rows"),
        )

    def _groups_text(self) -> Both:
        if self.straddling_groups:
            straddling = both("{count:,} in more than one split", count=self.straddling_groups)
        else:
            straddling = both("none straddles a split")
        return both(
            "groups: {groups:,}, the largest of {rows}; {straddling}",
            groups=self.groups,
            rows=rows_text(self.largest_group or 0),
            straddling=straddling,
        )


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
    separator = parts[0].separator
    cells = sorted({cell for part in parts for cell in part.labels})
    number_of = {cell: number for number, cell in enumerate(cells)}
    labels = np.fromiter((number_of[cell] for part in parts for cell in part.labels), np.int32)  # sets, where they are
    of_cells = {name: np.bincount(labels[chosen], minlength=len(cells)) for name, chosen in rows.items()}
    names = sorted({label for part in parts for label in part.distinct_labels})
    members = None if separator is None else label_sets.matrix(cells, separator, {n: i for i, n in enumerate(names)})
    per_split = {
        name: (counts if members is None else counts @ members.astype(np.int64)).tolist()
        for name, counts in of_cells.items()
    }
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
        label_sets=None if members is None else _figures_of_sets(members.sum(1, dtype=np.int64)[labels]),
        divisible=label_sets.looks_divisible(cells, np.bincount(labels)) if separator is None else None,
    )
    return replace(found, warnings=tuple(cautions(found.to_dict())))


def _figures_of_sets(per_row: np.ndarray) -> dict[str, float]:
    """Of the number of labels of each row, (rows,)."""
    return {"mean": float(per_row.mean()), "most": int(per_row.max()), "none": int((per_row == 0).sum())}


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


def _labels_text(labels: Mapping[str, int], total: int, most: int = 6) -> Both:
    shown = [
        both("{label} {rows:,} ({share})", label=label, rows=rows, share=percent_text(rows / total))
        for label, rows in list(labels.items())[:most]
    ]
    told = joined(shown, COMMAS)
    if len(labels) > most:
        told = both("{listed} and {more:,} more", listed=told, more=len(labels) - most)
    return plural("{count:,} label: {labels}", "{count:,} labels: {labels}", len(labels), labels=told)


def _by_split(values: Mapping[str, Any]) -> Both:
    """``train 5,599, valid 801, test 1,600``"""
    told = [both("{split} {value}", split=retold(SPLITS[name]), value=value) for name, value in values.items()]
    return joined(told, COMMAS)


def rows_text(count: int) -> Both:
    return plural("{count:,} row", "{count:,} rows", count)


def share_text(count: int, total: int) -> Both:
    """``12 rows (0.3 %)``"""
    if not count:
        return rows_text(count)
    return both("{rows} ({share})", rows=rows_text(count), share=percent_text(count / total))


SCRIPTS = {
    "Latin": both("Latin"),
    "Chinese": both("Chinese"),
    "Japanese": both("Japanese"),
    "Korean": both("Korean"),
    "Cyrillic": both("Cyrillic"),
    "Greek": both("Greek"),
    "Arabic": both("Arabic"),
    "Hebrew": both("Hebrew"),
    "Devanagari": both("Devanagari"),
    "Thai": both("Thai"),
    "no letters": both("no letters"),
}


def script_text(script: str) -> Both:
    """``Latin``, or ``Chinese 71 %, Latin 29 %``, as `tokenizers.describe_scripts` recorded it."""
    told = []
    for part in script.split(", "):
        found = re.fullmatch(r"(.+?)(?: (\d+) %)?", part)
        name, share = (found[1], found[2]) if found else (part, None)
        named = SCRIPTS.get(name, same(name))
        told.append(both("{script} {share} %", script=named, share=share) if share else named)
    return joined(told, COMMAS)
