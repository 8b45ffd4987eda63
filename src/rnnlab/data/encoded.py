"""Labelled rows as flat arrays, ready to train on: split, tokenised and numbered."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.words import note
from rnnlab.data import label_sets, splits
from rnnlab.data.examples import Examples
from rnnlab.data.joined import check_length, numbers_in, parts_of, tokenize_joined
from rnnlab.data.ngrams import Ngrams
from rnnlab.data.preprocessor import Preprocessor, Scaler, Side
from rnnlab.data.profile import profile
from rnnlab.data.sequences import Sequences, gather_rows, offsets_of
from rnnlab.data.tables import Selection
from rnnlab.data.text import Tokenized, count_values, tokenize_all, translate
from rnnlab.data.tokenizers import Tokenizer, choose_tokenizer, describe_scripts, scripts, tokenizer_of_columns
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN, Vocabulary

SPLITS = ("train", "valid", "test")
SAMPLE = 4_000  # rows of several columns by which scripts are told
MOST_EXTRA = 20_000  # words that no row has: of 50 numbers each, they take 4 MB in every run


@dataclass(frozen=True, kw_only=True)
class EncodedData(Preprocessor):
    """Everything that training needs, and everything that a prediction on new rows needs."""

    train: Sequences
    valid: Sequences
    test: Sequences
    tag_names: tuple[str, ...] = ()
    profile: dict[str, Any] = field(default_factory=dict)  # Profile.to_dict()
    references: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Of texts that are written, for "valid" and "test": all ways to write each row, as they stand in the data."""


def encode(
    parts: Mapping[str, Examples],
    *,
    tokenizer: str | Tokenizer = "auto",
    min_count: int = 1,
    max_size: int | None = None,
    max_length: int | None = None,
    extra_words: Sequence[str] = (),
    ngrams: Sequence[int] = (),
    ngram_size: int = 200_000,
    valid_fraction: float = 0.1,
    test_fraction: float = 0.2,
    split_seed: int = 0,
) -> EncodedData:
    """``parts`` holds ``train`` and, where they are given, ``valid`` and ``test``; what isn't given is split off
    ``train``, as fractions of its rows. Vocabulary and scaling come from the training rows alone; behind what they
    chose, the vocabulary has words of ``extra_words`` that they lack: see `words_beyond`. ``ngrams`` are the sizes of
    those that are inputs too, of which at most ``ngram_size`` have a number."""
    _check(parts, min_count, max_size, max_length)
    divided = divide(parts, valid_fraction=valid_fraction, test_fraction=test_fraction, split_seed=split_seed)
    given, rows, targets, units = divided.given, divided.rows, divided.targets, divided.units

    if given[0].texts is not None:
        arrays, side, about = _encode_texts(
            given, rows, tokenizer, min_count, max_size, max_length, extra_words, ngrams, ngram_size
        )
    else:
        _refuse_for_series(
            tokenizer=tokenizer != "auto",
            min_count=min_count != 1,
            max_size=max_size is not None,
            extra_words=len(extra_words) > 0,
            ngrams=len(ngrams) > 0,
        )
        arrays, side, about = _encode_series(given, rows, max_length)
    tag_names = tuple(sorted({tag for part in given for tag in part.tags or ()}))
    tags = _tags_of(given, tag_names) if tag_names else None
    facts = profile(given, rows, contents=divided.contents, units=units, max_length=max_length, **about)
    sequences: dict[str, Any] = {
        name: Sequences.end_to_end(
            *arrays[name],
            targets[chosen],
            units[chosen],
            None if tags is None or tags[chosen[0]] < 0 else tags[chosen],
        )
        for name, chosen in rows.items()
    }
    return EncodedData(**sequences, **vars(side), labels=divided.labels, tag_names=tag_names, profile=facts.to_dict())


@dataclass(frozen=True)
class Division:
    """Which rows each split has, counted through the given parts laid end to end. So are all arrays (rows,)."""

    given: list[Examples]
    labels: tuple[str, ...]
    targets: np.ndarray  # or (rows, C), where a row may have several labels
    contents: np.ndarray  # as `splits.contents` numbers them
    units: np.ndarray  # as `splits.units` does
    rows: dict[str, np.ndarray]  # per split

    def texts(self, split: str) -> list[str] | None:
        """The rows of a split as they stand in the data, in the order in which they are encoded; None for series."""
        if self.given[0].texts is None:
            return None
        return list(_texts_of(self.given, self.rows[split]))


def divide(
    parts: Mapping[str, Examples], *, valid_fraction: float = 0.1, test_fraction: float = 0.2, split_seed: int = 0
) -> Division:
    """The splits of the same parts are the same whenever they are asked for."""
    given = [parts[name] for name in SPLITS if name in parts]
    labels = _labels_of(parts)
    number = {label: i for i, label in enumerate(labels)}
    if given[0].separator is None:
        targets = np.fromiter((number[label] for part in given for label in part.labels), np.int64)
    else:
        targets = np.concatenate([label_sets.matrix(part.labels, part.separator or "", number) for part in given])
    per_part = splits.contents(given)
    units = np.concatenate(splits.units(given, per_part))
    wanted = {"test": test_fraction, "valid": valid_fraction}
    rows = _rows_of_splits(parts, targets, units, {k: f for k, f in wanted.items() if k not in parts}, split_seed)
    return Division(given, labels, targets, np.concatenate(per_part), units, rows)


Arrays = dict[str, tuple[np.ndarray, np.ndarray]]
"""Per split: values and offsets."""


def _encode_texts(
    given: Sequence[Examples],
    rows: Mapping[str, np.ndarray],
    tokenizer: str | Tokenizer,
    min_count: int,
    max_size: int | None,
    max_length: int | None,
    extra_words: Sequence[str],
    ngrams: Sequence[int],
    ngram_size: int,
) -> tuple[Arrays, Side, dict[str, Any]]:
    texts = {name: _texts_of(given, chosen) for name, chosen in rows.items()}
    columns = given[0].text_columns
    check_length(max_length, len(columns))
    looked_at: Sequence[str] = texts["train"]
    if columns:
        looked_at = list(parts_of(looked_at[:: max(1, len(looked_at) // SAMPLE)]))
    if tokenizer != "auto":
        tokenizer = Tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
        reason = note("as asked for")
    elif columns:
        by_name = {name: looked_at[at :: len(columns)] for at, name in enumerate(columns)}
        tokenizer, reason = tokenizer_of_columns(by_name)
    else:
        tokenizer, reason = choose_tokenizer(looked_at)
    every = itertools.chain.from_iterable(texts.values())
    if columns:
        tokenized = tokenize_joined(every, len(columns), tokenizer, max_length)
    else:
        tokenized = tokenize_all(every, tokenizer, max_length)
    arrays = _divided(tokenized, {name: len(chosen) for name, chosen in rows.items()})
    counts = {name: count_values(values, len(tokenized.tokens)) for name, (values, _) in arrays.items()}
    vocabulary = Vocabulary.build(
        tokenized.tokens, counts["train"].tolist(), min_count=min_count, max_size=max_size, joined=bool(columns)
    )
    notes = [] if not columns else [_about_columns(columns)]
    if columns and max_length is not None:
        notes.append(note("where a row is cut, each column keeps its first tokens, as many as have room"))
    numbered = numbers_in if columns else Tokenized.numbers_in
    if ngrams:
        values, offsets = arrays["train"]
        ids = numbered(tokenized, vocabulary)[values]
        found = Ngrams.build(ids, offsets, ngrams, ngram_size, len(vocabulary))
        vocabulary = replace(vocabulary, ngrams=found)
        notes.append(
            note(
                "inputs besides the tokens: {count:,} n-grams that the training rows hold at least twice",
                count=len(found),
            )
        )
    if extra_words:
        held_out, frequent = words_beyond(tokenized.tokens, counts["train"], extra_words, tokenizer)
        vocabulary = vocabulary.extended([*held_out, *frequent])
        notes.append(
            note(
                "vectors of their own for words that the training rows lack: {count:,} of the validation "
                "and test rows, and the first {count_2:,} others of the vectors' file",
                count=len(held_out),
                count_2=len(frequent),
            )
        )
    numbers = numbered(tokenized, vocabulary)
    translate(tokenized.values, numbers)
    arrays = {name: (vocabulary.with_ngrams(*array), array[1]) for name, array in arrays.items()}
    about = {
        "lengths": tokenized.lengths,
        "unit": "characters" if tokenizer.name == "chars" else "tokens",
        "script": describe_scripts(scripts(looked_at)),
        "tokenizer": tokenizer.name,
        "tokenizer_reason": reason,
        "vocabulary": len(vocabulary.learnt_words),
        "notes": notes,
        "unknown": {name: float(found[numbers == UNKNOWN].sum() / found.sum()) for name, found in counts.items()},
    }
    side = Side(
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        max_length=max_length,
        tokens=1 + len(ngrams),
        text_columns=columns,
    )
    return arrays, side, about


def _about_columns(columns: Sequence[str]) -> str:
    return note(
        "texts of {count} columns, joined in this order, a separator between them: {names}",
        count=len(columns),
        names=", ".join(columns),
    )


def words_beyond(
    tokens: Sequence[str], in_train: np.ndarray, known: Sequence[str], tokenizer: Tokenizer
) -> tuple[list[str], list[str]]:
    """Words that pre-trained vectors know (``known``, the frequent ones first) and the training rows lack: those of the
    held-out rows, and for texts to come the first `MOST_EXTRA` others that the tokeniser would make. ``tokens`` are
    those of all rows, ``in_train`` (tokens,) how often each stands in the training rows."""
    vectors, elsewhere = set(known), set(tokens)
    missing = (token for token, count in zip(tokens, in_train.tolist(), strict=True) if not count)
    held_out = sorted(w for w in missing if w not in SPECIAL and (w in vectors or w.lower() in vectors))
    others = (w for w in known if w not in elsewhere and w not in SPECIAL and tokenizer.tokenize(w) == [w])
    return held_out, list(itertools.islice(others, MOST_EXTRA))


def _texts_of(given: Sequence[Examples], rows: np.ndarray) -> Selection:
    """The texts of a split. All its rows stand in one part."""
    start = 0
    for part in given:
        if rows[-1] < start + len(part):
            return Selection(part.texts or (), rows - start if start else rows)
        start += len(part)
    raise IndexError(f"row {rows[-1]} of {start}")


def _divided(tokenized: Tokenized, rows: Mapping[str, int]) -> Arrays:
    """Values and offsets of each split, which follow each other in ``tokenized``: no token is copied."""
    arrays, start = {}, 0
    for name, count in rows.items():
        offsets = tokenized.offsets[start : start + count + 1]
        arrays[name] = tokenized.values[offsets[0] : offsets[-1]], offsets - offsets[0]
        start += count
    return arrays


def _encode_series(
    given: Sequence[Examples], rows: Mapping[str, np.ndarray], max_length: int | None
) -> tuple[Arrays, Side, dict[str, Any]]:
    channels = _channels_of(given)
    series = [array for part in given for array in part.series or ()]
    lengths = np.array([len(array) for array in series], np.int64)
    offsets = offsets_of(lengths)
    values = np.concatenate(series).astype(np.float32, copy=False)
    raw = {name: gather_rows(values, offsets, chosen, max_length) for name, chosen in rows.items()}
    scaler = scaler_of(raw["train"][0])
    arrays = {name: (scaler.apply(values), own_offsets) for name, (values, own_offsets) in raw.items()}
    about = {"lengths": lengths, "unit": "steps", "channels": channels}
    return arrays, Side(scaler=scaler, max_length=max_length), about


def scaler_of(values: np.ndarray) -> Scaler:
    wide = values.astype(np.float64)
    constant = wide.min(axis=0) == wide.max(axis=0)
    return Scaler(tuple(wide.mean(axis=0).tolist()), tuple(np.where(constant, 1.0, wide.std(axis=0)).tolist()))


def _channels_of(given: Sequence[Examples]) -> int:
    """The number of channels; a row with another number, or with a value that isn't one, is an error."""
    channels = None
    for part in given:
        for row, array in enumerate(part.series or ()):
            if array.ndim != 2 or not array.size:
                raise DataError(
                    "{where}: a series is steps by channels, at least one of each ({shape})",
                    where=_where(part, row),
                    shape=array.shape,
                )
            channels = channels or array.shape[1]
            if array.shape[1] != channels:
                raise DataError(
                    "{where}: {shape} channels, where the rows before have {channels}",
                    where=_where(part, row),
                    shape=array.shape[1],
                    channels=channels,
                )
            if not np.isfinite(array).all():
                raise DataError(
                    "{where}: a value is missing or infinite; fill it in or leave the row out", where=_where(part, row)
                )
    return channels or 0


def _rows_of_splits(
    parts: Mapping[str, Examples], targets: np.ndarray, units: np.ndarray, wanted: Mapping[str, float], seed: int
) -> dict[str, np.ndarray]:
    """Row numbers of each split, counted through the given parts laid end to end; train comes first."""
    train = len(parts["train"])
    rows = splits.assign(targets[:train], units[:train], wanted, seed, parts["train"].source)
    start = train
    for name in SPLITS[1:]:
        if name in parts:
            rows[name] = np.arange(start, start + len(parts[name]))
            start += len(parts[name])
    return {name: rows[name] for name in SPLITS}


def _labels_of(parts: Mapping[str, Examples]) -> tuple[str, ...]:
    """The labels of the training part, in their natural order: by number where they are numbers."""
    known = parts["train"].distinct_labels
    for name, part in parts.items():
        if part.distinct_labels <= known:
            continue
        for row, cell in enumerate(part.labels):
            for label in set(label_sets.labels_of(cell, part.separator)) - known:
                raise DataError(
                    "{where}: the label {label!r} of {name} isn't in train, so no model can learn it; labels "
                    "of train: {names}",
                    where=_where(part, row),
                    label=label,
                    name=name,
                    names=", ".join(map(repr, sorted(known)[:10])),
                )
    if len(known) < 2:
        raise DataError(
            "{source}: every row has the label {next!r}; at least two are needed",
            source=parts["train"].source,
            next=next(iter(known)),
        )
    return tuple(sorted(known, key=natural_order(known)))


def natural_order(labels: set[str]) -> Callable[[str], Any]:
    """A sorting key: numbers by value if all are numbers, else ``class 2`` before ``class 10``."""
    if all(re.fullmatch(r"[+-]?\d+(\.\d+)?", label) for label in labels):
        return lambda label: (float(label), label)
    return lambda label: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", label)]


def _tags_of(given: Sequence[Examples], names: tuple[str, ...]) -> np.ndarray:
    """(rows,) numbers of the tags through all parts; -1 in a part that has none."""
    number = {name: i for i, name in enumerate(names)}
    return np.concatenate(
        [
            np.full(len(part), -1) if part.tags is None else np.array([number[tag] for tag in part.tags], np.int64)
            for part in given
        ]
    )


def _where(part: Examples, row: int) -> str:
    line = f", line {part.lines[row]}" if part.lines is not None else f", row {row + 1}"
    return f"{part.source}{line}"


def _check(parts: Mapping[str, Examples], min_count: int, max_size: int | None, max_length: int | None) -> None:
    if "train" not in parts or not set(parts) <= set(SPLITS):
        raise DataError(
            "parts: 'train' is needed, 'valid' and 'test' are possible (got {value})",
            value=", ".join(parts) or "nothing",
        )
    for name, part in parts.items():
        if not len(part):
            raise DataError("{source}: no usable rows for {name}", source=part.source, name=name)
        if (part.texts is None) != (parts["train"].texts is None):
            raise DataError(
                "{source}: {name} and train must both be texts or both be series", source=part.source, name=name
            )
        if part.text_columns != parts["train"].text_columns:
            raise DataError(
                "{source}: {name} has the text columns {found}, and train has {wanted}; they must be the same",
                source=part.source,
                name=name,
                found=", ".join(part.text_columns) or "–",
                wanted=", ".join(parts["train"].text_columns) or "–",
            )
    for option, value, least in (("min_count", min_count, 1), ("max_size", max_size, 3), ("max_length", max_length, 1)):
        if value is not None and value < least:
            raise ConfigError(
                "{option}: must be at least {least} (got {value})", option=option, least=least, value=value
            )


def _refuse_for_series(**asked_for: bool) -> None:
    for option, asked in asked_for.items():
        if asked:
            raise ConfigError("{option}: has no meaning for series of numbers; leave it out", option=option)
