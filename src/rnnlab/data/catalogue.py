"""Public data sets by name: found in a folder, else fetched from their publishers.

Looked for in ``$RNNLAB_DATA/<folder>``, then in the cache under ``data/<name>``, and if it is in neither place, fetched
there. What is believed about the bytes, and why:

1. Where public records agree on the SHA-256 of a publisher's archive (IMDB, SST), a download must have it.
2. Elsewhere the first download is trusted: its sum goes to ``data/checksums.json`` in the cache, and a later download
   from the same address must have the same.
3. A file that was fetched must stay as it was: its sum is kept there too and compared at every load.
4. ``Entry.tested`` holds sums of the files that our own figures were measured on. Another copy isn't wrong, but its
   figures may be others: so a difference is a note, not an error.

The notes of the loaded examples say what was only trusted (2) and what is another copy than ours (4).
"""

import json
import os
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from rnnlab.core.cache import cache_dir
from rnnlab.core.errors import DataError, did_you_mean
from rnnlab.core.files import locked, write_atomically
from rnnlab.core.words import Both, both, joined, listed, note
from rnnlab.data.download import Progress, fetch
from rnnlab.data.examples import Examples
from rnnlab.data.published import ENTRIES, Download, Entry, SoundArchive
from rnnlab.runs.directory import pretty_json, sha256_of


def names() -> list[str]:
    return list(ENTRIES)


def entry(name: str) -> Entry:
    if name not in ENTRIES:
        raise DataError(
            "unknown data set '{name}'{hint}\nknown: {names}",
            name=name,
            hint=did_you_mean(name, names()),
            names=", ".join(names()),
        )
    return ENTRIES[name]


def locate(name: str) -> Path | None:
    """The folder that holds all files of a data set, or None if it would have to be fetched."""
    wanted = entry(name).files
    return next((place for place in _places(entry(name)) if all((place / f).is_file() for f in wanted)), None)


def get(name: str, progress: Progress | None = None) -> Path:
    """The folder with the files of a data set, fetched if they are nowhere."""
    folder = locate(name)
    if folder:
        return folder
    wanted = entry(name)
    folder = _cached(name)
    if not wanted.downloads:
        raise DataError(_by_hand(wanted))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            for download in wanted.downloads:
                if not all((folder / file).is_file() for file in download.files):
                    _fetch(name, download, folder, progress)
    except OSError as error:
        raise DataError(
            "{folder}: can't be written ({error}); RNNLAB_CACHE may name another cache folder",
            folder=folder,
            error=error,
        ) from None
    return folder


def with_phrases() -> list[str]:
    """The data sets whose training rows have labels for their parts, too."""
    return [name for name, found in ENTRIES.items() if found.read_phrases is not None]


def load(name: str, progress: Progress | None = None, *, phrases: bool = False) -> dict[str, Examples]:
    """The rows of a data set by split: "train" and, where the publisher made them, "valid" and "test". With
    ``phrases``, the labelled parts of the training rows are training rows too; of a data set `with_phrases`."""
    folder = get(name, progress)
    notes = _check_files(entry(name), folder)
    splits = {}
    for split, found in entry(name).read(folder).items():
        rows, published = len(found) + len(found.skipped), entry(name).rows[split]
        other = (
            ()
            if rows == published
            else (note("{rows:,} rows, where {published:,} were published", rows=rows, published=published),)
        )
        splits[split] = replace(found, source=name, notes=(*found.notes, *other, *notes))
    if phrases:
        read = entry(name).read_phrases
        assert read is not None
        parts = read(folder)
        splits["train"] = replace(parts, source=name, notes=(*parts.notes, *splits["train"].notes))
    return splits


def held_out(name: str) -> tuple[str, ...]:
    """The splits besides "train" that ``load`` would return. Optional files hold the only one of their data set."""
    wanted, folder = entry(name), locate(name)
    there = folder is not None and all((folder / file).is_file() for file in wanted.optional)
    return tuple(split for split in wanted.rows if split != "train") if there or not wanted.optional else ()


def paths(name: str) -> dict[str, Path]:
    """The files that ``load`` would read, each under the name of the data set and its own. Fetches what is missing."""
    wanted, folder = entry(name), get(name)
    return {f"{name}/{file}": folder / file for file in _present(wanted, folder)}


def recordings(name: str) -> tuple[Path, SoundArchive]:
    """Of a data set of sounds: its archive, fetched if it is nowhere, and what is known of its names."""
    known = entry(name).sound
    if known is None:
        raise DataError(
            "{name}: no recordings; it is a data set for the task '{task}'", name=name, task=entry(name).task
        )
    return get(name) / known.file, known


# Where files are, and whether they are what they should be


def _places(wanted: Entry) -> list[Path]:
    given = os.environ.get("RNNLAB_DATA")
    if given and not Path(given).expanduser().is_dir():
        raise DataError("RNNLAB_DATA={given}: no such folder", given=given)
    return ([Path(given).expanduser() / wanted.folder] if given else []) + [_cached(wanted.name)]


def _cached(name: str) -> Path:
    return cache_dir() / "data" / name


def _by_hand(wanted: Entry) -> Both:
    files = listed(wanted.files)
    if wanted.optional:
        files = both("{files} (and, for a test set, {optional})", files=files, optional=listed(wanted.optional))
    return both(
        "{name}: the publisher gives this data set to account holders only, so it can't be fetched for you\nget it "
        "from {homepage}\nand put {files} into\n{places}",
        name=wanted.name,
        homepage=wanted.homepage,
        files=files,
        places=joined(list(reversed(_places(wanted))), both("\nor ")),
    )


def _fetch(name: str, download: Download, folder: Path, progress: Progress | None) -> None:
    fetched = folder / PurePosixPath(urlsplit(download.url).path).name
    fetch(download.url, fetched, sha256=download.sha256, size=download.size, progress=progress)
    seen, before = sha256_of(fetched), _recorded().get(download.url)
    if download.sha256 is None and before not in (None, seen):
        fetched.unlink()
        raise DataError(
            "{url}: not the file that it was at your first download\nSHA-256 {seen}\nbefore  "
            "{before}\nit was removed; if you trust the new file, delete the old sum from "
            "{record_path}",
            url=download.url,
            seen=seen,
            before=before,
            record_path=_record_path(),
        )
    if download.unpack:
        download.unpack(fetched, folder)
    _record({download.url: seen} | {f"{name}/{file}": sha256_of(folder / file) for file in download.files})
    if download.unpack:
        fetched.unlink()


def _check_files(wanted: Entry, folder: Path) -> list[str]:
    """Notes on what can't be vouched for; an error if a fetched file has changed since."""
    sums, recorded, notes = _sums(wanted, folder), _recorded(), []
    if folder == _cached(wanted.name):
        for file, found in sums.items():
            before = recorded.get(f"{wanted.name}/{file}")
            if before not in (None, found):
                raise DataError(
                    "{folder}: changed since it was fetched\nSHA-256 {found}\nbefore  {before}\ndelete the file, "
                    "and it will be fetched again",
                    folder=folder / file,
                    found=found,
                    before=before,
                )
    other = [file for file, found in sums.items() if found != wanted.tested.get(file, found)]
    if other:
        notes.append(note("not the copy that rnnlab's own figures were measured on: {names}", names=", ".join(other)))
    unknown = [d for d in wanted.downloads if d.sha256 is None and d.url in recorded]
    doubtful = {file for d in unknown for file in d.files if sums[file] != wanted.tested.get(file)}
    if folder == _cached(wanted.name) and doubtful:
        notes.append(
            note(
                "fetched without a published checksum, trusted as it first came: {names}",
                names=", ".join(sorted(doubtful)),
            )
        )
    return notes


def _sums(wanted: Entry, folder: Path) -> dict[str, str]:
    try:
        return {file: sha256_of(folder / file) for file in _present(wanted, folder)}
    except OSError as error:
        raise DataError("{folder}: can't be read: {error}", folder=folder, error=error) from None


def _present(wanted: Entry, folder: Path) -> list[str]:
    return [file for file in (*wanted.files, *wanted.optional) if (folder / file).is_file()]


def _record_path() -> Path:
    return cache_dir() / "data" / "checksums.json"


def _recorded() -> dict[str, str]:
    """Address or ``name/file`` → the SHA-256 that it first had."""
    try:
        return dict(json.loads(_record_path().read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError) as error:
        raise DataError(
            "{record_path}: damaged ({error}); delete it, and sums are recorded anew",
            record_path=_record_path(),
            error=error,
        ) from None


def _record(sums: dict[str, str]) -> None:
    with locked(_record_path()):
        write_atomically(_record_path(), pretty_json(_recorded() | sums))
