"""Encoded data kept in the cache folder, so that reading and encoding are done once."""

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlab.core.cache import cache_dir
from rnnlab.core.errors import DataError, RnnlabError
from rnnlab.core.files import write_atomically
from rnnlab.data.encoded import SPLITS, EncodedData
from rnnlab.data.sequences import Sequences

FORMAT = 1  # raised whenever the same rows would be encoded or stored differently: older folders are then made anew
ABANDONED = 24 * 3600  # seconds after which a temporary file or folder is nobody's


def cached(key: str, make: Callable[[], EncodedData]) -> EncodedData:
    """What was kept under ``key`` in the cache folder, or else what ``make`` makes, which is then kept. The key must
    stand for everything that ``make`` depends on."""
    if not re.fullmatch(r"\w[\w.-]*", key):
        raise ValueError(f"a cache key is a plain file name, not {key!r}")
    folder = cache_dir() / "encoded" / key
    found = load(folder)
    if found is not None:
        _remembered(found)
        return found
    data = make()
    try:
        save(data, folder)
        write_atomically(folder.with_name(f"{_remembered(data)}.key"), key)
        _sweep(folder.parent)
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
    if _last is not None and _last[:2] == (folder, wanted):
        return _last[2]
    try:
        found = load(folder / (folder / f"{wanted}.key").read_text())
    except (OSError, ValueError):
        return None
    return found if found is not None and _remembered(found) == wanted else None


_last: tuple[Path, str, EncodedData] | None = None  # of this process: the cache folder, the fingerprint, the data


def _remembered(data: EncodedData) -> str:
    global _last
    mark = fingerprint(data)
    _last = cache_dir() / "encoded", mark, data
    return mark


def forget() -> None:
    """What this process has in memory: the next `find` looks into the folder."""
    global _last
    _last = None


def pack(data: EncodedData) -> bytes:
    """Encoded data as one string of bytes, to be sent to a machine that has neither cache nor source."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in _files_of(data):
            archive.writestr(name, content)
    return buffer.getvalue()


def unpack(packed: bytes, wanted: str) -> None:
    """Keep what `pack` made in the cache folder, where `find` finds it. It must have the fingerprint ``wanted``."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            data = _from_files((name, archive.read(name)) for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "the data that were sent can't be read: {kind}: {error}", kind=type(error).__name__, error=error
        ) from None
    if fingerprint(data) != wanted:
        raise DataError("the data that were sent are not those with the fingerprint {wanted}", wanted=wanted)
    folder = cache_dir() / "encoded"
    save(data, folder / f"sent-{wanted}")
    write_atomically(folder / f"{wanted}.key", f"sent-{wanted}")


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
        return _from_files((name, _checked(folder / name, expected)) for name, expected in manifest["sha256"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RnnlabError):
        return None


def _files_of(data: EncodedData) -> Iterator[tuple[str, bytes | memoryview]]:
    for name in SPLITS:
        for field, array in _arrays_of(getattr(data, name)).items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            yield f"{name}.{field}.npy", buffer.getbuffer()  # not a copy of it
    sides = data.to_dict()
    sides.pop("tokens", None)  # the arrays tell
    rest = {"labels": sides.pop("labels"), "tag_names": data.tag_names, **sides, "profile": data.profile}
    if _target_per_step(data.train):
        rest["per_step"] = True  # else left out, so that the fingerprints of other data stay as they were
    if data.references:
        rest["references"] = data.references
    yield "data.json", json.dumps(rest, allow_nan=False).encode()


def _checked(path: Path, expected: str) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:
        raise ValueError(f"{path} is damaged")
    return content


def _from_files(files: Iterable[tuple[str, bytes]]) -> EncodedData:
    """One after the other, so that no two are in memory as bytes."""
    rest: dict[str, Any] = {}
    found: dict[str, dict[str, Any]] = {name: {} for name in SPLITS}  # arrays, by field
    for file, content in files:
        if file == "data.json":
            rest = json.loads(content)
        else:
            name, field, _ = file.split(".")
            found[name][field] = np.load(io.BytesIO(content), allow_pickle=False)
    sequences = {}
    for name, arrays in found.items():
        if rest.get("per_step"):
            arrays["target_offsets"] = arrays["offsets"]
        names = ("unseen", "characters", "series", "scales", "origins", "horizon", "known_from")
        further: dict[str, Any] = {field: arrays.pop(field) for field in names if field in arrays}
        further |= {field: int(further[field]) for field in ("horizon", "known_from") if field in further}
        made = (Sequences.end_to_end if "offsets" in arrays else Sequences)(**arrays)
        sequences[name] = replace(made, **further)
    rest["tokens"] = sequences["train"].ids_per_step - rest.get("spelling", {}).get("length", 0)
    references = {name: tuple(map(tuple, found)) for name, found in rest.get("references", {}).items()}
    return EncodedData.from_dict(
        rest, **sequences, tag_names=tuple(rest["tag_names"]), profile=rest["profile"], references=references
    )


def _arrays_of(rows: Sequences) -> dict[str, np.ndarray]:
    """As few as tell all, and of rows that lie end to end the same as ever: fingerprints are made of them."""
    every = {"values": rows.values}
    every |= {"offsets": rows.offsets} if rows.laid_end_to_end else {"starts": rows.starts, "ends": rows.ends}
    every |= {"targets": rows.targets, "groups": rows.groups, "tags": rows.tags, "scored_from": rows.scored_from}
    every |= {"unseen": rows.unseen, "characters": rows.characters, "series": rows.series, "scales": rows.scales}
    every["origins"] = rows.origins
    numbers = {"horizon": rows.horizon, "known_from": rows.known_from}
    every |= {name: np.array(number) for name, number in numbers.items() if number is not None}
    if not _target_per_step(rows):
        every["target_offsets"] = rows.target_offsets
    return {name: array for name, array in every.items() if array is not None}


def _target_per_step(rows: Sequences) -> bool:
    return (
        rows.laid_end_to_end and rows.target_offsets is not None and np.array_equal(rows.target_offsets, rows.offsets)
    )


def _beside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")


def _sweep(folder: Path) -> None:
    """Remove what writers that were killed left behind: nobody needs a day to write."""
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):  # another process may be sweeping too
            if time.time() - path.lstat().st_mtime > ABANDONED:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()


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
