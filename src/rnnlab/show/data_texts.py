"""A profile of the data as the page shows it. What it warns of is decided and worded in `data.cautions`."""

from collections.abc import Mapping
from typing import Any

from rnnlab.core.numbers import percent_text
from rnnlab.core.words import COMMAS, Both, both, joined, plural, retold, same
from rnnlab.data.cautions import UNITS, over_all_splits
from rnnlab.data.profile import rows_text, script_text, share_text

MOST_LABELS = 20  # that are named, the largest first
SPLITS = {"train": both("train"), "valid": both("validation"), "test": both("test")}
NO_ROW = both("no row")
TOKENIZERS = {
    "words": both("words"),
    "chars": both("chars"),
    "whitespace": both("whitespace"),
    "jieba": both("jieba"),
}

Fact = tuple[Both, Both]


def findings(profile: Mapping[str, Any]) -> list[Both]:
    """What a person should know before believing a score: the warnings. Generated data and tagged sentences are told in
    lines instead."""
    return [retold(str(text)) for text in profile.get("lines", profile.get("warnings", ()))]


def facts(profile: Mapping[str, Any]) -> list[Fact]:
    """(name, value), the most important first; none of what is told in lines."""
    if "labels" not in profile:
        return []
    return [
        (both("rows"), _rows(profile["rows"])),
        *_labels(profile["labels"]),
        *_lengths(profile),
        *_of_texts(profile),
        *_repeated(profile),
        *_groups(profile),
        (both("left out"), _left_out(profile["skipped"])),
        *((both("note"), retold(note)) for note in profile["notes"]),
    ]


def _rows(rows: Mapping[str, int]) -> Both:
    splits = _by_split({name: same(f"{count:,}") for name, count in rows.items()})
    return both("{total:,}: {splits}", total=sum(rows.values()), splits=splits)


def _labels(labels: Mapping[str, Mapping[str, int]]) -> list[Fact]:
    every = over_all_splits(labels)
    shown = list(every)[:MOST_LABELS]
    rows = {label: " / ".join(f"{counts.get(label, 0):,}" for counts in labels.values()) for label in shown}
    listed = joined([f"“{label}” {text}" for label, text in rows.items()], COMMAS)
    more = len(every) - len(shown)
    text = both("{listed} and {more:,} more", listed=listed, more=more) if more else listed
    splits = joined([SPLITS[name] for name in labels], " / ")
    return [(both("{count:,} labels ({splits})", count=len(every), splits=splits), text)]


def _lengths(profile: Mapping[str, Any]) -> list[Fact]:
    unit = retold(UNITS[profile["unit"]])
    length = both(
        "median {p50:,}, 90 % up to {p90:,}, 99 % up to {p99:,}, from {min:,} to {max:,} {unit}; {total:,} in all",
        **profile["lengths"],
        unit=unit,
    )
    told = [(both("length"), length)]
    if profile["max_length"] is None:
        told.append((both("cut"), NO_ROW))
    else:
        text = both(
            "to the first {length:,} {unit}, which shortens {rows}",
            length=profile["max_length"],
            unit=unit,
            rows=rows_text(profile["cut_rows"]),
        )
        told.append((both("cut"), text))
    if profile["channels"] is not None:
        text = plural(
            "{count:,} channel, standardised by the training rows",
            "{count:,} channels, standardised by the training rows",
            profile["channels"],
        )
        told.append((both("series"), text))
    return told


def _of_texts(profile: Mapping[str, Any]) -> list[Fact]:
    if profile["tokenizer"] is None:
        return []
    name: str = profile["tokenizer"]
    reason = retold(profile["tokenizer_reason"])
    unknown = {split: percent_text(share) for split, share in profile["unknown"].items()}
    return [
        (both("script"), script_text(profile["script"])),
        (both("tokeniser"), both("{name} ({reason})", name=TOKENIZERS.get(name, same(name)), reason=reason)),
        (
            both("vocabulary"),
            both("{entries:,} entries, from the training rows alone", entries=profile["vocabulary"]),
        ),
        (both("unknown tokens"), _by_split(unknown)),
    ]


def _repeated(profile: Mapping[str, Any]) -> list[Fact]:
    total = sum(profile["rows"].values())
    held_out = {
        name: both("{count:,} ({share})", count=count, share=percent_text(count / profile["rows"][name]))
        for name, count in profile["overlap"].items()
    }
    leaked = any(profile["overlap"].values())
    return [
        (both("repeated rows"), _share(profile["duplicates"], total)),
        (both("same content, several labels"), _share(profile["conflicts"], total)),
        (both("also in train (leakage)"), _by_split(held_out) if leaked else NO_ROW),
    ]


def _groups(profile: Mapping[str, Any]) -> list[Fact]:
    if profile["groups"] is None:
        return []
    straddling = profile["straddling_groups"]
    text = both(
        "{groups:,}, the largest of {rows}; {straddling}",
        groups=profile["groups"],
        rows=rows_text(profile["largest_group"] or 0),
        straddling=both("{count:,} in more than one split", count=straddling)
        if straddling
        else both("none straddles a split"),
    )
    return [(both("groups"), text)]


def _left_out(skipped: int) -> Both:
    return both("{rows} that can't be used", rows=rows_text(skipped)) if skipped else NO_ROW


def _share(count: int, total: int) -> Both:
    return share_text(count, total) if count else NO_ROW


def _by_split(values: Mapping[str, Both]) -> Both:
    """``train 5,599, validation 801, test 1,600``."""
    told = [both("{split} {value}", split=SPLITS[name], value=value) for name, value in values.items()]
    return joined(told, COMMAS)
