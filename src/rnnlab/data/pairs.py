"""Pairs of texts as flat arrays: one side is read, the other is written.

Pairs that share a side are in one split (`data.pair_splits`). In validation and test, a text is asked for once, however
many ways there are to write it: all of them are references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.numbers import percent_text
from rnnlab.core.words import note
from rnnlab.data import bpe, pair_splits
from rnnlab.data.encoded import SPLITS, EncodedData
from rnnlab.data.formats.base import BadRow
from rnnlab.data.pair_tables import chosen_columns, read_table
from rnnlab.data.preprocessor import Side
from rnnlab.data.reading import NO_TEXT, few_blanks, none_left, refuse_rows, require_rows
from rnnlab.data.sequences import Sequences, gather_rows
from rnnlab.data.text import Tokenized, count_values, tokenize_all
from rnnlab.data.tokenizers import Tokenizer, choose_tokenizer
from rnnlab.data.vocabulary import END, UNKNOWN, Vocabulary

SHARED = "shared"  # a tokeniser of the written side: the one of the side that is read, learnt from both
SAMPLE = 4_000  # texts by which a tokeniser is chosen


@dataclass(frozen=True)
class Pairs:
    """``texts[i]`` is read and ``written[i]`` is to be written."""

    source: str  # the name of the file
    texts: tuple[str, ...]
    written: tuple[str, ...]
    columns: tuple[str, str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


def read_pairs(
    path: str | Path,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    columns: Sequence[str] | None = None,
    skip_bad: bool = False,
) -> Pairs:
    """A table in any format, with a header or without. ``source`` and ``target`` are names of columns, or numbers from
    1; else they are told by what the columns hold. ``columns`` names those of a file without a header."""
    table = read_table(path, source, target, columns)
    require_rows(table, skip_bad)
    if len(table.columns) < 2:
        raise DataError(
            "{path}: one column; pairs of texts have two, of which one is read and one is written", path=path
        )
    first, second = chosen_columns(table, source, target)
    sides = table.values[first], table.values[second]
    blank = [row for row, pair in enumerate(zip(*sides, strict=True)) if not all(map(str.strip, pair))]
    bad = [*table.bad, *(BadRow(int(table.lines[row]), NO_TEXT) for row in blank)]
    bad.sort(key=lambda row: row.line)
    if bad and not skip_bad and not few_blanks(table, bad):
        refuse_rows(table, bad)
    kept = set(range(len(table))).difference(blank)
    if not kept:
        none_left(table, bad)
    notes = list(table.notes)
    if source is None or target is None:
        notes.append(
            note(
                "{first!r} is read and {second!r} is written; --source and --target choose other columns",
                first=first,
                second=second,
            )
        )
    if bad:
        rows = len(table) + len(table.bad)
        notes.append(note("rows that are left out: {count:,} of {rows:,}", count=len(bad), rows=rows))
    texts, written = (tuple(text for row, text in enumerate(side) if row in kept) for side in sides)
    return Pairs(Path(path).name, texts, written, (first, second), tuple(notes))


def encode_pairs(
    parts: Mapping[str, Pairs],
    *,
    tokenizer: str | Tokenizer = "auto",
    target_tokenizer: str | Tokenizer = "auto",
    bpe_merges: int = bpe.MERGES,
    min_count: int = 1,
    max_size: int | None = None,
    target_min_count: int = 1,
    target_max_size: int | None = None,
    max_length: int | None = None,
    target_max_length: int | None = None,
    valid_fraction: float = 0.1,
    test_fraction: float = 0.1,
    split_seed: int = 0,
) -> EncodedData:
    """``parts`` holds ``train`` and, where they are given, ``valid`` and ``test``; what isn't given is split off
    ``train``. Tokenisers and vocabularies come from the training rows alone. A training row that is longer than asked
    for on either side is left out: half a text teaches to stop in the middle. Others are cut for the loss, and their
    references stay whole. ``target_tokenizer="shared"``: byte-pair encoding learnt from both sides."""
    _check(min_count, target_min_count, max_size, target_max_size, max_length, target_max_length, bpe_merges)
    parts = {name: parts[name] for name in SPLITS if name in parts}
    texts, written, keys, groups, rows = _divided(parts, valid_fraction, test_fraction, split_seed)
    leaks = {name: pair_splits.shares_with(keys, rows[name], rows["train"]) for name in SPLITS[1:]}
    alike = {name: _by_source(texts, rows[name]) for name in SPLITS[1:]}
    references = {name: _references(written, found) for name, found in alike.items()}
    rows |= {name: np.array([same[0] for same in found]) for name, found in alike.items()}

    cuts = _tokenizers(texts, written, rows["train"], tokenizer, target_tokenizer, bpe_merges)
    reads = _Cut(*cuts[0], tokenize_all(texts, cuts[0][0]), max_length)
    writes = _Cut(*cuts[1], tokenize_all(written, cuts[1][0]), target_max_length)
    short = ~(reads.too_long | writes.too_long)[rows["train"]]
    if not short.any():
        raise DataError(
            "{source}: every training row is longer than max_length or target_max_length", source=parts["train"].source
        )
    left_out, rows["train"] = int((~short).sum()), rows["train"][short]
    source = reads.side(rows["train"], min_count, max_size)
    target = writes.side(rows["train"], target_min_count, target_max_size, written=True)
    sequences = {}
    for name, chosen in rows.items():
        targets, ends = writes.ids(target, chosen)
        sequences[name] = Sequences.end_to_end(
            *reads.ids(source, chosen),
            np.insert(targets.astype(np.int64), ends[1:], END),
            groups[chosen],
            target_offsets=ends + np.arange(len(ends)),
        )
    facts = {
        "components": int(groups.max()) + 1,
        "largest": int(np.bincount(groups).max()),
        "shared_if_random": pair_splits.shared_if_random(*keys, 1 - valid_fraction - test_fraction),
        "leaks": {name: share for name, share in leaks.items() if name in parts},
        "left_out": left_out,
        "cut": int((reads.too_long | writes.too_long)[np.concatenate([rows["valid"], rows["test"]])].sum()),
        "references": {name: sum(map(len, found)) for name, found in references.items()},
        "unknown": {name: float((part.values == UNKNOWN).mean()) for name, part in sequences.items()},
        "unknown_written": {name: float((part.targets == UNKNOWN).mean()) for name, part in sequences.items()},
    }
    lines = _about(parts, sequences, reads, writes, source, target, facts)
    return EncodedData(
        train=sequences["train"],
        valid=sequences["valid"],
        test=sequences["test"],
        writes=target,
        profile={"lines": lines, **facts},
        references=references,
        **vars(source),
    )


def texts_of_test(
    parts: Mapping[str, Pairs], *, valid_fraction: float, test_fraction: float, split_seed: int
) -> list[str]:
    """What is read in the test rows that `encode_pairs` makes of the same, as it stands in the data."""
    parts = {name: parts[name] for name in SPLITS if name in parts}
    texts, _, _, _, rows = _divided(parts, valid_fraction, test_fraction, split_seed)
    return [texts[same[0]] for same in _by_source(texts, rows["test"])]


def _divided(
    parts: Mapping[str, Pairs], valid_fraction: float, test_fraction: float, split_seed: int
) -> tuple[list[str], list[str], tuple[np.ndarray, np.ndarray], np.ndarray, dict[str, np.ndarray]]:
    """All texts that are read and that are written, their keys, the component of each pair, and the rows by split."""
    texts = [text for part in parts.values() for text in part.texts]
    written = [text for part in parts.values() for text in part.written]
    keys = pair_splits.keys_of(texts), pair_splits.keys_of(written)
    groups = pair_splits.components(*keys)
    sizes = {name: len(part) for name, part in parts.items()}
    fractions = {"test": test_fraction, "valid": valid_fraction}
    rows = pair_splits.divided(sizes, groups, fractions, split_seed, parts["train"].source)
    return texts, written, keys, groups, rows


def _by_source(texts: Sequence[str], rows: np.ndarray) -> list[list[int]]:
    """Rows of equal texts together, in the order of the first ones."""
    found: dict[str, list[int]] = {}
    for row in map(int, rows):
        found.setdefault(" ".join(texts[row].split()), []).append(row)
    return list(found.values())


def _references(written: Sequence[str], rows: Sequence[Sequence[int]]) -> tuple[tuple[str, ...], ...]:
    """All different ways to write each text."""
    return tuple(tuple(dict.fromkeys(written[row] for row in same)) for same in rows)


# --- the two sides ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cut:
    """All texts of a side, in tokens."""

    tokenizer: Tokenizer
    reason: str
    tokenized: Tokenized
    max_length: int | None

    @property
    def too_long(self) -> np.ndarray:
        """(rows,) bool."""
        lengths = self.tokenized.lengths
        return np.zeros(len(lengths), bool) if self.max_length is None else lengths > self.max_length

    def side(self, train: np.ndarray, min_count: int, max_size: int | None, written: bool = False) -> Side:
        """Its vocabulary is of the training rows. Of byte-pair encoding, it has what is merged further there, too:
        another text may have that alone."""
        tokens, values = self.tokenized.tokens, gather_rows(self.tokenized.values, self.tokenized.offsets, train)[0]
        counts = dict(zip(tokens, count_values(values, len(tokens)).tolist(), strict=True))
        if self.tokenizer.name == "bpe":
            present = [token for token, count in counts.items() if count]
            for symbol in bpe.symbols_of(present, self.tokenizer.merges):
                counts[symbol] = max(counts.get(symbol, 0), min_count)
        vocabulary = Vocabulary.build(
            list(counts), counts.values(), min_count=min_count, max_size=max_size, written=written
        )
        return Side(tokenizer=self.tokenizer, vocabulary=vocabulary, max_length=self.max_length)

    def ids(self, side: Side, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ids (N,) int32 and offsets of some rows, each cut to the longest that is asked for."""
        assert side.vocabulary is not None
        values, offsets = gather_rows(self.tokenized.values, self.tokenized.offsets, rows, self.max_length)
        return self.tokenized.numbers_in(side.vocabulary)[values], offsets


Chosen = tuple[Tokenizer, str]
"""And why."""


def _tokenizers(
    texts: Sequence[str], written: Sequence[str], train: np.ndarray, first: str | Tokenizer, second: str | Tokenizer,
    merges: int,
) -> tuple[Chosen, Chosen]:  # fmt: skip
    """Of the side that is read, which is in lower case, and of the one that is written, which isn't."""
    reading, writing = ([side[row] for row in map(int, train)] for side in (texts, written))
    if second == SHARED:
        if first != "bpe":
            raise ConfigError(
                "target_tokenizer = 'shared' is the byte-pair encoding of both sides: tokenizer must be 'bpe' (got "
                "{first!r})",
                first=first if isinstance(first, str) else first.name,
            )
        both_sides = Tokenizer.learnt([*reading, *writing], merges, lowercase=False)
        reason = note("{count:,} merges, learnt from both sides", count=len(both_sides.merges))
        return (both_sides, reason), (both_sides, reason)
    return _tokenizer(reading, first, merges, True), _tokenizer(writing, second, merges, False)


def _tokenizer(texts: Sequence[str], asked: str | Tokenizer, merges: int, lowercase: bool) -> Chosen:
    if isinstance(asked, Tokenizer):
        return asked, note("as asked for")
    if asked == "bpe":
        learnt = Tokenizer.learnt(texts, merges, lowercase)
        return learnt, note("{count:,} merges, learnt from the training rows", count=len(learnt.merges))
    if asked != "auto":
        return Tokenizer(asked, lowercase), note("as asked for")
    sample = texts[:: max(1, len(texts) // SAMPLE)]
    characters = sum(sum(map(len, text.split())) for text in sample)
    if sum(len(text.split()) for text in sample) < 1.2 * len(sample) and choose_tokenizer(sample)[0].name != "chars":
        return Tokenizer("chars", lowercase=False), note("texts of one word each: their characters are the tokens")
    if sum(character.isdigit() for text in sample for character in text) > 0.25 * characters:
        return Tokenizer("chars", lowercase=False), note("many digits, each a token: so are all characters")
    chosen, reason = choose_tokenizer(sample)
    return replace(chosen, lowercase=lowercase), reason


def _check(
    min_count: int, target_min_count: int, max_size: int | None, target_max_size: int | None, max_length: int | None,
    target_max_length: int | None, bpe_merges: int,
) -> None:  # fmt: skip
    least = {
        "min_count": (min_count, 1),
        "target_min_count": (target_min_count, 1),
        "max_size": (max_size, 3),
        "target_max_size": (target_max_size, 5),
        "max_length": (max_length, 1),
        "target_max_length": (target_max_length, 1),
        "bpe_merges": (bpe_merges, 1),
    }
    for option, (value, lowest) in least.items():
        if value is not None and value < lowest:
            raise ConfigError(
                "{option}: must be at least {least} (got {value})", option=option, least=lowest, value=value
            )


# --- what a person should know ------------------------------------------------------------------------------------


def _about(
    parts: Mapping[str, Pairs],
    sequences: Mapping[str, Sequences],
    reads: _Cut,
    writes: _Cut,
    source: Side,
    target: Side,
    facts: Mapping[str, Any],
) -> list[str]:
    lines = [
        note(
            "{source}: {every:,} pairs; {train:,} to train; validation texts: {valid:,} (references: "
            "{valid_references:,}); test texts: {test:,} (references: {test_references:,})",
            source=parts["train"].source,
            every=sum(map(len, parts.values())),
            **{name: len(part) for name, part in sequences.items()},
            **{f"{name}_references": count for name, count in facts["references"].items()},
        ),
        note(
            "pairs that share a side stay together: {components:,} components, the largest of {largest:,} pairs",
            components=facts["components"],
            largest=facts["largest"],
        ),
    ]
    if "test" not in parts:
        lines[-1] = note(
            "pairs that share a side stay in one split: {components:,} components, the largest of {largest:,} pairs; "
            "in a random split, {share} of the test pairs would share a side with training pairs",
            components=facts["components"],
            largest=facts["largest"],
            share=percent_text(facts["shared_if_random"]),
        )
    for name, share in facts["leaks"].items():
        lines.append(
            note(
                "{share} of the pairs of {name} share a side with training pairs, since that file is taken as it is",
                share=percent_text(share),
                name=name,
            )
        )
    lines += [
        _about_side(note("read"), reads, source, facts["unknown"]["test"]),
        _about_side(note("written"), writes, target, facts["unknown_written"]["test"]),
    ]
    if facts["left_out"]:
        lines.append(note("training pairs too long, which are left out: {count:,}", count=facts["left_out"]))
    if facts["cut"]:
        lines.append(
            note("held-out pairs too long: {count:,}; what is read is cut, references are whole", count=facts["cut"])
        )
    return [*lines, *(text for part in parts.values() for text in part.notes)]


def _about_side(role: str, cut: _Cut, side: Side, unknown: float) -> str:
    assert side.vocabulary is not None
    lengths = cut.tokenized.lengths
    return note(
        "{role}: {tokenizer} ({reason}); {low:,} to {high:,} tokens, {middle:,} in the middle; {kinds:,} distinct ones "
        "in train, {share} of the test tokens are unknown",
        role=role,
        tokenizer=cut.tokenizer.name,
        reason=cut.reason,
        low=int(lengths.min()),
        high=int(lengths.max()),
        middle=int(np.median(lengths)),
        kinds=len(side.vocabulary) - len(side.vocabulary.special),
        share=percent_text(unknown),
    )
