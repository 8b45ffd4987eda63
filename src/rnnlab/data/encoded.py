"""Labelled rows as flat arrays, ready to train on: split, tokenised, numbered, and kept so that it is done once."""

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.data import splits
from rnnlab.data.cache import cache_dir
from rnnlab.data.examples import Examples
from rnnlab.data.profile import profile
from rnnlab.data.sequences import Sequences, gather_rows, offsets_of
from rnnlab.data.text import (
    UNKNOWN,
    Tokenizer,
    Vocabulary,
    choose_tokenizer,
    describe_scripts,
    scripts,
    tokenize_all,
    translate,
)
from rnnlab.errors import ConfigError, DataError, RnnlabError
from rnnlab.files import write_atomically

SPLITS = ("train", "valid", "test")
FORMAT = 1  # raised whenever the same rows would be encoded or stored differently: older folders are then made anew


@dataclass(frozen=True)
class Scaler:
    """Mean and standard deviation of each channel over all steps of the training rows."""

    mean: tuple[float, ...]
    std: tuple[float, ...]  # 1 for a channel that never changes

    def apply(self, values: np.ndarray) -> np.ndarray:
        """(N, D) → (N, D) float32, standardised."""
        return ((values - np.array(self.mean)) / np.array(self.std)).astype(np.float32)


@dataclass(frozen=True)
class EncodedData:
    """Everything that training needs, and everything that a prediction on new rows needs."""

    train: Sequences
    valid: Sequences
    test: Sequences
    labels: tuple[str, ...]  # target i is the label labels[i]
    tag_names: tuple[str, ...]
    tokenizer: Tokenizer | None  # texts only
    vocabulary: Vocabulary | None  # texts only
    scaler: Scaler | None  # series only
    features: int | None  # channels of a series; None for texts
    max_length: int | None  # rows are cut to their first so many tokens or steps
    profile: dict[str, Any]  # Profile.to_dict()


# --- making it ----------------------------------------------------------------------------------------------------


def encode(
    parts: Mapping[str, Examples],
    *,
    tokenizer: str | Tokenizer = "auto",
    min_count: int = 1,
    max_size: int | None = None,
    max_length: int | None = None,
    valid_fraction: float = 0.1,
    test_fraction: float = 0.2,
    split_seed: int = 0,
) -> EncodedData:
    """``parts`` holds ``train`` and, where they are given, ``valid`` and ``test``; what isn't given is split off
    ``train``, as fractions of its rows. Vocabulary and scaling come from the training rows alone."""
    _check(parts, min_count, max_size, max_length)
    given = [parts[name] for name in SPLITS if name in parts]
    labels = _labels_of(parts)
    number = {label: i for i, label in enumerate(labels)}
    targets = np.array([number[label] for part in given for label in part.labels], np.int64)
    per_part = splits.contents(given)
    units = np.concatenate(splits.units(given, per_part))
    wanted = {"test": test_fraction, "valid": valid_fraction}
    rows = _rows_of_splits(parts, targets, units, {k: f for k, f in wanted.items() if k not in parts}, split_seed)

    if given[0].texts is not None:
        encoded, about = _encode_texts(given, rows, tokenizer, min_count, max_size, max_length)
    else:
        _refuse_for_series(tokenizer=tokenizer != "auto", min_count=min_count != 1, max_size=max_size is not None)
        encoded, about = _encode_series(given, rows, max_length)
    tag_names = tuple(sorted({tag for part in given for tag in part.tags or ()}))
    tags = _tags_of(given, tag_names)  # -1 in a part that has none
    sequences = {
        name: Sequences(
            *encoded.arrays[name], targets[chosen], units[chosen], None if tags[chosen][0] < 0 else tags[chosen]
        )
        for name, chosen in rows.items()
    }
    facts = profile(given, rows, contents=np.concatenate(per_part), units=units, max_length=max_length, **about)
    return EncodedData(
        **sequences,
        labels=labels,
        tag_names=tag_names,
        tokenizer=encoded.tokenizer,
        vocabulary=encoded.vocabulary,
        scaler=encoded.scaler,
        features=None if encoded.scaler is None else len(encoded.scaler.mean),
        max_length=max_length,
        profile=facts.to_dict(),
    )


@dataclass(frozen=True)
class _Inputs:
    arrays: dict[str, tuple[np.ndarray, np.ndarray]]  # per split: values and offsets
    tokenizer: Tokenizer | None = None
    vocabulary: Vocabulary | None = None
    scaler: Scaler | None = None


def _encode_texts(
    given: Sequence[Examples],
    rows: Mapping[str, np.ndarray],
    tokenizer: str | Tokenizer,
    min_count: int,
    max_size: int | None,
    max_length: int | None,
) -> tuple[_Inputs, dict[str, Any]]:
    texts = [text for part in given for text in part.texts or ()]
    training = [texts[row] for row in rows["train"].tolist()]
    if tokenizer == "auto":
        tokenizer, reason = choose_tokenizer(training)
    else:
        tokenizer = Tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
        reason = "as asked for"
    tokenized = tokenize_all(texts, tokenizer)
    arrays = {
        name: gather_rows(tokenized.values, tokenized.offsets, chosen, max_length) for name, chosen in rows.items()
    }
    counts = np.bincount(arrays["train"][0], minlength=len(tokenized.tokens)).tolist()
    vocabulary = Vocabulary.build(tokenized.tokens, counts, min_count=min_count, max_size=max_size)
    numbers = tokenized.numbers_in(vocabulary)
    for values, _ in arrays.values():
        translate(values, numbers)
    about = {
        "lengths": np.diff(tokenized.offsets),
        "unit": "characters" if tokenizer.name == "chars" else "tokens",
        "script": describe_scripts(scripts(training)),
        "tokenizer": tokenizer.name,
        "tokenizer_reason": reason,
        "vocabulary": len(vocabulary),
        "unknown": {name: float(np.mean(values == UNKNOWN)) for name, (values, _) in arrays.items()},
    }
    return _Inputs(arrays, tokenizer=tokenizer, vocabulary=vocabulary), about


def _encode_series(
    given: Sequence[Examples], rows: Mapping[str, np.ndarray], max_length: int | None
) -> tuple[_Inputs, dict[str, Any]]:
    channels = _channels_of(given)
    series = [array for part in given for array in part.series or ()]
    lengths = np.array([len(array) for array in series], np.int64)
    offsets = offsets_of(lengths)
    values = np.concatenate(series).astype(np.float32, copy=False)
    raw = {name: gather_rows(values, offsets, chosen, max_length) for name, chosen in rows.items()}
    scaler = _scaler_of(raw["train"][0])
    arrays = {name: (scaler.apply(values), own_offsets) for name, (values, own_offsets) in raw.items()}
    return _Inputs(arrays, scaler=scaler), {"lengths": lengths, "unit": "steps", "channels": channels}


def _scaler_of(values: np.ndarray) -> Scaler:
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
                    f"{_where(part, row)}: a series is steps by channels, at least one of each ({array.shape})"
                )
            channels = channels or array.shape[1]
            if array.shape[1] != channels:
                raise DataError(
                    f"{_where(part, row)}: {array.shape[1]} channels, where the rows before have {channels}"
                )
            if not np.isfinite(array).all():
                raise DataError(f"{_where(part, row)}: a value is missing or infinite; fill it in or leave the row out")
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
    known = set(parts["train"].labels)
    for name, part in parts.items():
        for row, label in enumerate(part.labels):
            if label not in known:
                raise DataError(
                    f"{_where(part, row)}: the label {label!r} of {name} isn't in train, so no model can learn it; "
                    f"labels of train: {', '.join(map(repr, sorted(known)[:10]))}"
                )
    if len(known) < 2:
        raise DataError(
            f"{parts['train'].source}: every row has the label {next(iter(known))!r}; at least two are needed"
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
    of_part = [[number[tag] for tag in part.tags] if part.tags is not None else [-1] * len(part) for part in given]
    return np.array([tag for tags in of_part for tag in tags], np.int64)


def _where(part: Examples, row: int) -> str:
    line = f", line {part.lines[row]}" if part.lines is not None else f", row {row + 1}"
    return f"{part.source}{line}"


def _check(parts: Mapping[str, Examples], min_count: int, max_size: int | None, max_length: int | None) -> None:
    if "train" not in parts or not set(parts) <= set(SPLITS):
        raise DataError(
            f"parts: 'train' is needed, 'valid' and 'test' are possible (got {', '.join(parts) or 'nothing'})"
        )
    for name, part in parts.items():
        if not len(part):
            raise DataError(f"{part.source}: no usable rows for {name}")
        if (part.texts is None) != (parts["train"].texts is None):
            raise DataError(f"{part.source}: {name} and train must both be texts or both be series")
    for option, value, least in (("min_count", min_count, 1), ("max_size", max_size, 3), ("max_length", max_length, 1)):
        if value is not None and value < least:
            raise ConfigError(f"{option}: must be at least {least} (got {value})")


def _refuse_for_series(**asked_for: bool) -> None:
    for option, asked in asked_for.items():
        if asked:
            raise ConfigError(f"{option}: has no meaning for series of numbers; leave it out")


# --- keeping it ---------------------------------------------------------------------------------------------------


def cached(key: str, make: Callable[[], EncodedData]) -> EncodedData:
    """What was kept under ``key`` in the cache folder, or else what ``make`` makes, which is then kept. The key must
    stand for everything that ``make`` depends on."""
    if not re.fullmatch(r"\w[\w.-]*", key):
        raise ValueError(f"a cache key is a plain file name, not {key!r}")
    folder = cache_dir() / "encoded" / key
    found = load(folder)
    if found is not None:
        return found
    data = make()
    try:
        save(data, folder)
        write_atomically(folder.with_name(f"{fingerprint(data)}.key"), key)
    except OSError as error:  # a full disk or a read-only home: slower next time, but no reason to stop
        warnings.warn(f"the encoded data can't be kept in {folder}: {error}", RuntimeWarning, stacklevel=2)
    return data


def fingerprint(data: EncodedData) -> str:
    """Stands for what a model can see of the data: rows, splits, labels, vocabulary; not for where they came from."""
    whole = hashlib.sha256()
    for name, content in _files_of(replace(data, profile={})):
        whole.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()[:32]


def find(wanted: str) -> EncodedData | None:
    """What `cached` kept with this fingerprint, without looking at the source again. The fingerprint is computed anew:
    after a change of format or tokeniser, other data may stand under the same key."""
    folder = cache_dir() / "encoded"
    try:
        found = load(folder / (folder / f"{wanted}.key").read_text())
    except (OSError, ValueError):
        return None
    return found if found is not None and fingerprint(found) == wanted else None


def save(data: EncodedData, folder: str | Path) -> None:
    """Write a folder whole or not at all, in the place of any that is there. Several processes may do so at once."""
    folder = Path(folder)
    temporary = _beside(folder)
    temporary.mkdir(parents=True)
    try:
        sums = {}
        for name, content in _files_of(data):
            write_atomically(temporary / name, content)
            sums[name] = hashlib.sha256(content).hexdigest()
        write_atomically(temporary / "manifest.json", json.dumps({"format": FORMAT, "sha256": sums}, indent=1))
        _put_in_place(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load(folder: str | Path) -> EncodedData | None:
    """What ``save`` wrote, every byte checked; None if it isn't there, is damaged, or is of another format or
    tokeniser version. Plain arrays rather than memory maps: the bytes that were checked are the bytes that are used."""
    folder = Path(folder)
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        if manifest["format"] != FORMAT:
            return None
        files = {name: (folder / name).read_bytes() for name in manifest["sha256"]}
        if any(hashlib.sha256(files[name]).hexdigest() != expected for name, expected in manifest["sha256"].items()):
            return None
        return _from_files(files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RnnlabError):
        return None


_ARRAYS = ("values", "offsets", "targets", "groups", "tags")


def _files_of(data: EncodedData) -> Iterator[tuple[str, bytes]]:
    for name in SPLITS:
        for field in _ARRAYS:
            array = getattr(getattr(data, name), field)
            if array is not None:
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                yield f"{name}.{field}.npy", buffer.getvalue()
    rest = {
        "labels": data.labels,
        "tag_names": data.tag_names,
        "tokenizer": data.tokenizer and data.tokenizer.to_dict(),
        "vocabulary": data.vocabulary and data.vocabulary.to_dict(),
        "scaler": data.scaler and asdict(data.scaler),
        "features": data.features,
        "max_length": data.max_length,
        "profile": data.profile,
    }
    yield "data.json", json.dumps(rest, allow_nan=False).encode()


def _from_files(files: Mapping[str, bytes]) -> EncodedData:
    rest = json.loads(files["data.json"])
    sequences = {}
    for name in SPLITS:
        found = {field: files.get(f"{name}.{field}.npy") for field in _ARRAYS}
        arrays = {k: np.load(io.BytesIO(content), allow_pickle=False) for k, content in found.items() if content}
        sequences[name] = Sequences(**arrays)
    scaler = rest["scaler"]
    return EncodedData(
        **sequences,
        labels=tuple(rest["labels"]),
        tag_names=tuple(rest["tag_names"]),
        tokenizer=rest["tokenizer"] and Tokenizer.from_dict(rest["tokenizer"]),
        vocabulary=rest["vocabulary"] and Vocabulary.from_dict(rest["vocabulary"]),
        scaler=scaler and Scaler(tuple(scaler["mean"]), tuple(scaler["std"])),
        features=rest["features"],
        max_length=rest["max_length"],
        profile=rest["profile"],
    )


def _beside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")


def _put_in_place(temporary: Path, folder: Path) -> None:
    """A folder can't be renamed onto a full one, so the old one steps aside first. Whenever another writer puts his
    there in between, he is done: the attempts end with the writers."""
    for _ in range(1000):
        try:
            os.rename(temporary, folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES):
                raise
        aside = _beside(folder)
        with contextlib.suppress(OSError):
            os.rename(folder, aside)
            shutil.rmtree(aside, ignore_errors=True)
    raise OSError(errno.EEXIST, "in use by another program", str(folder))
