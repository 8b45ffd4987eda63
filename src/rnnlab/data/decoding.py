"""Files as lines of text in UTF-8, UTF-16 or GB18030; one that is in none of these is an error."""

import codecs
import functools
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from rnnlab.core.errors import DataError


def load(path: str | Path) -> bytes:
    """The whole file; one that can't be opened, or has nothing in it, is a ``DataError``."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: can't be read: {getattr(error, 'strerror', None) or error}") from None
    if not data or data.isspace():
        raise DataError(f"{path}: the file is empty")
    return data


def encoding_of(path: str | Path, data: bytes) -> tuple[str, tuple[str, ...]]:
    """The encoding in which all of ``data`` can be decoded, and a note if it isn't UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if (at := _undecodable(data, "utf-16")) is not None:
            raise DataError(f"{path}: byte {at} isn't UTF-16, as the file's first two bytes promise; save it as UTF-8")
        return "utf-16", ("read as UTF-16",)
    if (at := _undecodable(data, "utf-8")) is None:
        return "utf-8-sig", ()
    line = data.count(b"\n", 0, at) + 1
    where = f"{path}: byte {at} (line {line}) isn't UTF-8"
    if _undecodable(data, "gb18030") is not None:
        raise DataError(f"{where}, and the file isn't GB18030 either; save it as UTF-8")
    if not _looks_chinese(data):
        raise DataError(f"{where}; it can be decoded as GB18030, but not to everyday Chinese; save it as UTF-8")
    return "gb18030", ("read as GB18030",)


def _undecodable(data: bytes, encoding: str) -> int | None:
    """Where decoding fails, or None. In pieces, because decoded text can take four times the room of its bytes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    piece = 1 << 20
    try:
        for start in range(0, len(data), piece):
            decoder.decode(data[start : start + piece], final=start + piece >= len(data))
    except UnicodeDecodeError:
        try:
            data.decode(encoding)
        except UnicodeDecodeError as error:
            return error.start
    return None


def _looks_chinese(data: bytes) -> bool:
    """Whether at least half of the non-ASCII characters are everyday ones. Western and Cyrillic bytes, and damaged
    UTF-8, often happen to be valid GB18030, but then they spell rare characters."""
    runs = re.finditer(r"[^\x00-\x7f]+", data.decode("gb18030"))
    sample = "".join(run[0] for run in itertools.islice(runs, 100_000))
    return sum(character in _everyday_chinese() for character in sample) * 2 >= len(sample)


@functools.cache
def _everyday_chinese() -> frozenset[str]:
    """The 3,755 characters of GB 2312 level 1 and the full-width punctuation, digits and letters."""
    pairs = itertools.product((0xA1, 0xA3, *range(0xB0, 0xD8)), range(0xA1, 0xFF))
    return frozenset("".join(bytes(pair).decode("gb2312", "ignore") for pair in pairs))


def open_lines(data: bytes, encoding: str) -> Iterator[str]:
    """Lines with their ends, split at LF, CR and CRLF only (``str.splitlines`` also splits at U+2028 and others)."""
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")
