"""What files hold, said of exactly the bytes that were read: a file that is swapped in between is noticed."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from rnnlab.core.errors import DataError
from rnnlab.runs.directory import sha256_of

ATTEMPTS = 3  # at reading files that change meanwhile
LARGEST_HELD = 1 << 28  # bytes of a file that is summed now and read later: a larger one is read twice
SETTLED = 50_000_000  # ns: a file that changed a moment ago may change again within one tick of the clock

T = TypeVar("T")


class Changed(Exception):
    """What was read isn't what had been summed: to be summed and read again."""


@dataclass(frozen=True)
class Content:
    """What files hold now. Two that are equal, one taken before reading and one after, say what was read: a file that
    was away in between has another inode, or another time of change (which nobody can set), even if its bytes are
    back."""

    lines: tuple[str, ...]  # of each file its label and its SHA-256
    stamps: tuple[tuple[int, ...], ...]  # taken before the sums

    @classmethod
    def of(cls, files: Mapping[str, Path]) -> Self:
        try:
            stamps = tuple(stamp_of(path) for path in files.values())
            return cls(tuple(f"{label} {_sum_of(path)}" for label, path in files.items()), stamps)
        except OSError as error:
            raise DataError(
                "{filename}: can't be read: {strerror}", filename=error.filename, strerror=error.strerror
            ) from None


@dataclass
class _Known:
    """A file that was summed in this process."""

    stamp: tuple[int, ...]
    sum: str
    settled: bool  # whether an equal stamp means equal bytes
    content: bytes | None  # for whoever reads it next


_known: dict[Path, _Known] = {}


def _sum_of(path: Path) -> str:
    """SHA-256. A file that didn't change since isn't read again; a small one is held until somebody reads it."""
    path, stamp = path.absolute(), stamp_of(path)
    known = _known.get(path)
    if known is None or known.stamp != stamp or not known.settled:
        settled = time.time_ns() - max(stamp[2:]) > SETTLED
        content = path.read_bytes() if stamp[1] <= LARGEST_HELD else None
        summed = sha256_of(path) if content is None else hashlib.sha256(content).hexdigest()
        known = _known[path] = _Known(stamp, summed, settled, content)
    return known.sum


def read_whole(path: str | Path) -> bytes:
    """The bytes of a file; those that were summed, if it didn't change since."""
    path = Path(path).absolute()
    known = _known.get(path)
    if known is not None and known.content is not None:
        content, known.content = known.content, None
        if known.settled and known.stamp == stamp_of(path):
            return content
    return path.read_bytes()


def forget_contents() -> None:
    """Nobody will read what is held."""
    for known in _known.values():
        known.content = None


def stamp_of(path: Path) -> tuple[int, ...]:
    """Another one after every change of a file, whatever it is."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def until_unchanged(attempt: Callable[[], T], source: str) -> T:
    """What ``attempt`` returns, which may raise `Changed` a few times."""
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except Changed:
            continue
    raise DataError(
        "{source}: it changed while it was read, {attempts} times in a row; wait until it is "
        "written, or copy it and give the copy",
        source=source,
        attempts=ATTEMPTS,
    )
