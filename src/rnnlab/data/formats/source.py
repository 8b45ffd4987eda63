"""The bytes of a file, and its lines of text in UTF-8, UTF-16, GB18030 or Windows-1252; one that is in none of these
is an error."""

import codecs
import functools
import hashlib
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rnnlab.core.errors import DataError
from rnnlab.core.words import both, note
from rnnlab.data.unchanged import read_whole

WHOLE = 1 << 24  # bytes: the encoding of a larger file on the disk is told from a piece of this size
PIECE = 1 << 20
WESTERN = "cp1252"
ACCENTED = "àáâãäåæçèéêëìíîïñòóôõöøùúûüýœšž"
SIGNS = "£€¥¢§©®°±²³´·¹º»«¡¿½¼¾‘’“”„‚–—…•™ˆ˜†‡‰ªµ¨¬¯¶÷×\xa0ß"


class Source:
    """In memory, where the file is read once; or on the disk, where every pass reads it again, in constant memory."""

    def __init__(self, path: str | Path, data: bytes | None):
        self.path: str = str(path)
        self.suffix: str = Path(path).suffix.lower()
        self.data = data

    @classmethod
    def load(cls, path: str | Path) -> "Source":
        return cls(path, _load(path))

    @classmethod
    def on_disk(cls, path: str | Path) -> "Source":
        if not Path(path).exists():
            raise DataError("{path}: no such file", path=path)
        if not Path(path).is_file():
            raise DataError(
                "{path}: not a file that can be read twice; send its lines to standard input instead", path=path
            )
        if Path(path).stat().st_size == 0:
            raise DataError("{path}: the file is empty", path=path)
        return cls(path, None)

    @property
    def digest(self) -> str:
        """SHA-256, of a file in memory."""
        return "" if self.data is None else hashlib.sha256(self.data).hexdigest()

    @property
    def encoding(self) -> str:
        return self._told[0]

    @property
    def notes(self) -> tuple[str, ...]:
        return self._told[1]

    @functools.cached_property
    def _told(self) -> tuple[str, tuple[str, ...]]:
        if self.data is not None:
            return _encoding_of(self.path, self.data)
        if Path(self.path).stat().st_size <= WHOLE:
            return _encoding_of(self.path, _load(self.path))
        return _encoding_of_large(self.path)

    @functools.cached_property
    def newline(self) -> str:
        return "\r\n" if next(self.lines(), "").endswith("\r\n") else "\n"

    @functools.cached_property
    def mark(self) -> bytes:
        """The byte order mark that this file begins with, and one made from it too."""
        with self.open() as file:
            start = file.read(3)
        marks = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return next((mark for mark in marks if start.startswith(mark)), b"")

    def encode(self, text: str) -> bytes:
        """A text as this file would have it, without a mark: what is made from it opens wherever it did."""
        by_mark = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
        encoding = self.encoding if self.encoding in ("gb18030", WESTERN) else "utf-8"
        try:
            return text.encode(by_mark.get(self.mark, encoding))
        except UnicodeEncodeError as error:
            raise DataError(
                "{path}: it is in Windows-1252, which has no {character!r}; save it as UTF-8",
                path=self.path,
                character=text[error.start],
            ) from None

    def open(self) -> BinaryIO:
        return open(self.path, "rb") if self.data is None else io.BytesIO(self.data)

    def lines(self) -> Iterator[str]:
        """With their ends, split at LF, CR and CRLF only (``str.splitlines`` also splits at U+2028 and others)."""
        if self.data is None:
            return self._lines_on_disk()
        return io.TextIOWrapper(io.BytesIO(self.data), encoding=self.encoding, newline="")

    def _lines_on_disk(self) -> Iterator[str]:
        number = 0
        try:
            with open(self.path, encoding=self.encoding, newline="") as file:
                for number, line in enumerate(file, 1):  # noqa: B007  # for the error below
                    yield line
        except UnicodeDecodeError:
            raise DataError(
                "{path}: not {upper} after line {number}; save it as UTF-8",
                path=self.path,
                upper=self.encoding.upper(),
                number=number,
            ) from None

    def text(self) -> str:
        return "".join(self.lines()) if self.data is None else self.data.decode(self.encoding)

    def contains(self, character: str) -> bool:
        """Whether an ASCII character is in it."""
        if self.encoding == "utf-16":
            return any(character in line for line in self.lines())
        if self.data is not None:
            return character.encode() in self.data
        with self.open() as file:
            return any(character.encode() in piece for piece in iter(lambda: file.read(PIECE), b""))


def _load(path: str | Path) -> bytes:
    """The whole file; one that can't be opened, or has nothing in it, is a ``DataError``."""
    try:
        data = read_whole(path)
    except FileNotFoundError:
        raise DataError("{path}: no such file", path=path) from None
    except (OSError, ValueError) as error:
        raise DataError(
            "{path}: can't be read: {value}", path=path, value=getattr(error, "strerror", None) or error
        ) from None
    if not data or data.isspace():
        raise DataError("{path}: the file is empty", path=path)
    return data


def _encoding_of(path: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """The encoding in which all of ``data`` can be decoded, and a note if it isn't UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if (at := _undecodable(data, "utf-16")) is not None:
            raise DataError(
                "{path}: byte {at} isn't UTF-16, as the file's first two bytes promise; save it as UTF-8",
                path=path,
                at=at,
            )
        return "utf-16", (note("read as UTF-16"),)
    if (at := _undecodable(data, "utf-8")) is None:
        return "utf-8-sig", ()
    line = data.count(b"\n", 0, at) + 1
    where = both("{path}: byte {at} (line {line}) isn't UTF-8", path=path, at=at, line=line)
    is_gb18030 = _undecodable(data, "gb18030") is None
    if is_gb18030 and _looks_chinese(data):
        return "gb18030", (note("read as GB18030"),)
    if _looks_western(data):
        return WESTERN, (note("read as Windows-1252"),)
    if is_gb18030:
        raise DataError(
            "{where}; it can be decoded as GB18030, but not to everyday Chinese; save it as UTF-8", where=where
        )
    raise DataError("{where}, and the file isn't GB18030 either; save it as UTF-8", where=where)


def _encoding_of_large(path: str) -> tuple[str, tuple[str, ...]]:
    """Of a file on the disk that isn't UTF-8, from the first piece that isn't."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16", (note("read as UTF-16"),)
        file.seek(0)
        at = 0
        while piece := file.read(PIECE):
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                file.seek(at + piece.rfind(b"\n", 0, _first_high(piece)) + 1)
                sample = file.read(WHOLE)
                return _encoding_of(path, sample[: sample.rfind(b"\n") + 1] or sample)
            at += len(piece)
    return "utf-8-sig", ()


def _first_high(piece: bytes) -> int:
    """Where the first byte beyond ASCII is."""
    return next((at for at, byte in enumerate(piece) if byte > 127), len(piece))


def _undecodable(data: bytes, encoding: str) -> int | None:
    """Where decoding fails, or None. In pieces, because decoded text can take four times the room of its bytes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(data), PIECE):
            decoder.decode(data[start : start + PIECE], final=start + PIECE >= len(data))
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


def _looks_western(data: bytes) -> bool:
    """Whether nearly all bytes beyond ASCII are everyday letters and signs of Western Europe, alone or in twos and
    threes. Other alphabets make whole words of them, and damaged UTF-8 is mostly still UTF-8."""
    if _undecodable(data, WESTERN) is not None:
        return False
    runs = [run[0] for run in itertools.islice(re.finditer(rb"[\x80-\xff]+", data), 100_000)]
    known = set(ACCENTED + ACCENTED.upper() + SIGNS)
    short = sum(len(run) <= 3 and known.issuperset(run.decode(WESTERN)) for run in runs)
    as_utf8 = sum(_undecodable(run, "utf-8") is None for run in runs)
    return short * 10 >= 9 * len(runs) and as_utf8 * 2 < len(runs)
