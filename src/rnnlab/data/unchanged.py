"""What files hold, said of exactly the bytes that were read: a file that is swapped in between is noticed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from rnnlab.core.errors import DataError
from rnnlab.runs.directory import sha256_of

ATTEMPTS = 3  # at reading files that change meanwhile

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
            return cls(tuple(f"{label} {sha256_of(path)}" for label, path in files.items()), stamps)
        except OSError as error:
            raise DataError(f"{error.filename}: can't be read: {error.strerror}") from None


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
        f"{source}: it changed while it was read, {ATTEMPTS} times in a row; "
        "wait until it is written, or copy it and give the copy"
    )
