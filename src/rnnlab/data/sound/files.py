"""WAV files wherever they are: one by one, in folders, in .zip and .tar archives. Nothing is unpacked to the disk."""

import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from rnnlab.core.errors import DataError
from rnnlab.data.unchanged import Content, stamp_of
from rnnlab.runs.directory import sha256_of

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
LARGEST = 1 << 28  # bytes of one recording
SWOLLEN = 50  # times as large as its archive: no sound shrinks like that, and it may be made to fill the memory
HARMLESS = 1 << 27  # bytes in all, up to which an archive may swell as it likes
LOOKED_AT = 1_000  # files among which there is a WAV file, if it is a folder or an archive of them

Sound = tuple[str, bytes]
"""The name of a file, seen from where it was found and with slashes, and its bytes."""


def is_archive(path: str | Path) -> bool:
    return str(path).lower().endswith(ARCHIVES)


def holds_sound(path: str | Path) -> bool:
    """Whether a path is a WAV file, or a folder or an archive with WAV files, as far as its first files tell."""
    path = Path(path)
    if path.is_file() and _is_wav_name(path.name):
        return True
    if not path.is_dir() and not (path.is_file() and is_archive(path)):
        return False
    names = _names_in_folder(path) if path.is_dir() else _names_in_archive(path)
    try:
        return any(_is_wav_name(name) for name, _ in zip(names, range(LOOKED_AT), strict=False))
    except (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def sounds(path: str | Path) -> Iterator[Sound]:
    """Every WAV file at a path, which is one, a folder (searched to the bottom) or an archive; in the order of their
    names, or as they stand in an archive."""
    path = Path(path)
    if not path.exists():
        raise DataError("{path}: no such file or folder", path=path)
    found = 0
    for sound in _in_folder(path) if path.is_dir() else _in_archive(path) if is_archive(path) else _alone(path):
        found += 1
        yield sound
    if not found:
        raise DataError("{path}: there is no WAV file in it", path=path)


def place_of(path: str | Path, name: str) -> str:
    """How errors call a file that was found at a path."""
    path = Path(path)
    if path.is_dir():
        return str(path / name)
    return f"{path}: {name}" if is_archive(path) else str(path)


def content_of(path: str | Path) -> Content:
    """What stands for the bytes of all WAV files at a path, whatever it is called and wherever it is."""
    path = Path(path)
    if not path.is_dir():
        return Content.of({"archive" if is_archive(path) else path.name: path})
    return content_of_files(path, sorted(filter(_is_wav_name, _names_in_folder(path))))


def content_of_files(folder: Path, names: Sequence[str]) -> Content:
    """The same of single files. They are summed piece by piece: held, they could fill the memory."""
    try:
        stamps = tuple(stamp_of(folder / name) for name in names)
        return Content(tuple(f"{name} {sha256_of(folder / name)}" for name in names), stamps)
    except OSError as error:
        raise _unreadable(error.filename, error) from None


def _is_wav_name(name: str) -> bool:
    """Not the companions that macOS leaves beside files: ``._a.wav``."""
    return name.lower().endswith((".wav", ".wave")) and not PurePosixPath(name).name.startswith("._")


def _alone(path: Path) -> Iterator[Sound]:
    yield path.name, _read(path)


def _in_folder(path: Path) -> Iterator[Sound]:
    for name in sorted(filter(_is_wav_name, _names_in_folder(path))):
        yield name, _read(path / name)


def _names_in_folder(path: Path) -> Iterator[str]:
    for folder, below, files in os.walk(path):  # which follows no links to folders: they could go round in circles
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(files):
            yield (Path(folder) / name).relative_to(path).as_posix()


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise _too_large(str(path), size)
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def _names_in_archive(path: Path) -> Iterator[str]:
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            yield from archive.namelist()
    else:
        with tarfile.open(path, "r|*") as archive:
            yield from (member.name for member in archive)


def _in_archive(path: Path) -> Iterator[Sound]:
    most = max(HARMLESS, SWOLLEN * path.stat().st_size)
    total = 0
    try:
        for name, size, file in _from_zip(path) if path.suffix.lower() == ".zip" else _from_tar(path):
            if size > LARGEST:
                raise _too_large(place_of(path, name), size)
            content = file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise _too_large(place_of(path, name), len(content))
            total += len(content)
            if total > most:
                raise DataError(
                    "{path}: unpacked, it is more than {times} times as large, which sound never is: it may be made to "
                    "fill the memory; unpack it yourself, and give the folder",
                    path=path,
                    times=SWOLLEN,
                )
            yield name, content
    except (
        OSError,
        EOFError,
        zlib.error,
        tarfile.TarError,
        zipfile.BadZipFile,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise DataError("{path}: damaged, or no archive that can be read: {error}", path=path, error=error) from None
    except ValueError as error:
        raise DataError("{path}: damaged, or no archive that can be read: {error}", path=path, error=error) from None


def _from_zip(path: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if _is_wav_name(member.filename) and not member.is_dir():
                with archive.open(member) as file:
                    yield member.filename, member.file_size, file


def _from_tar(path: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:  # in the order of the stream, which can't go back
            file = archive.extractfile(member) if member.isreg() and _is_wav_name(member.name) else None
            if file is not None:
                yield member.name, member.size, file


def _too_large(name: str, size: int) -> DataError:
    return DataError(
        "{name}: {size:,} bytes, and recordings of up to {most:,} are read; cut it into utterances",
        name=name,
        size=size,
        most=LARGEST,
    )


def _unreadable(path: object, error: OSError) -> DataError:
    return DataError("{path}: can't be read: {error}", path=path, error=error.strerror)
