"""The bundle: a trained model in one file, a zip archive of a strict form that is written and read here alone.

Every zip tool can list and read it; but this reader takes only what this writer writes, byte for byte. So there is
nothing to decide about an odd archive: two members of one name, a link, a path that leads out of the folder, data that
unfold to a hundred times their size are all simply not what the writer writes. Nothing is ever extracted, and nothing
is unpickled. The format in full: docs/bundle.md.
"""

import hashlib
import json
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from rnnlab.core.errors import BundleError
from rnnlab.core.files import write_parts
from rnnlab.core.words import Both, both

SUFFIX = ".rnnlab"
FORMAT = 1
MANIFEST = "manifest.json"  # the first member in every format to come: it says which one it is
MEMBERS = ("spec.json", "model.json", "card.json", "card.md", "weights.safetensors")  # behind it, in this order
LARGEST = 2**32 - 2**16  # of a whole file: offsets have 32 bits, and the directory needs some room
CAPS = {
    MANIFEST: 10**6,
    "spec.json": 16 * 10**6,
    "model.json": 512 * 10**6,
    "card.json": 16 * 10**6,
    "card.md": 16 * 10**6,
    "weights.safetensors": LARGEST,
}  # bytes of a member, checked before any memory is taken for it

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_NEEDS, _MADE_BY = 20, (3 << 8) | 20  # version 2.0 of the zip format; written as on Unix
_UTF8, _STORED = 1 << 11, 0
_TIME, _DATE = 0, (1 << 5) | 1  # midnight, 1 January 1980: the same model gives the same bytes
_MODE = (stat.S_IFREG | 0o644) << 16


def is_bundle(path: str | PathLike[str]) -> bool:
    """Whether this is a file at all: what a model in one file must be, and a run directory isn't."""
    return Path(path).is_file()


def write_bundle(path: str | Path, members: Mapping[str, bytes]) -> None:
    """The ``MEMBERS`` and, before them, a manifest with their checksums; whole or not at all."""
    if sorted(members) != sorted(MEMBERS):
        raise ValueError(f"a bundle has the members {', '.join(MEMBERS)} (got {', '.join(members)})")
    for name in MEMBERS:
        if not 0 < len(members[name]) <= CAPS[name]:
            raise BundleError("{path}: {reason}", path=path, reason=_wrong_size(name, len(members[name])))
    manifest = _manifest(version("rnnlab"), {name: members[name] for name in MEMBERS})
    ordered = {MANIFEST: manifest, **{name: members[name] for name in MEMBERS}}
    if sum(map(len, ordered.values())) > LARGEST:
        raise BundleError(
            "{path}: the model is too large for a bundle, which holds up to {most:,} bytes", path=path, most=LARGEST
        )
    write_parts(path, _parts(ordered))


def read_bundle(path: str | PathLike[str]) -> dict[str, bytes]:
    """The ``MEMBERS``, every byte of the file checked; a `BundleError` says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            return _Reader(file).read()
    except BundleError as error:
        raise BundleError("{path}: {error}", path=path, error=error) from None
    except OSError as error:
        raise BundleError("{path}: can't be read: {value}", path=path, value=error.strerror or error) from None


class _Reader:
    """Goes through the file once, from the first byte to the last."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self) -> dict[str, bytes]:
        self._recognise()
        entries: list[tuple[str, int, int]] = []  # name, CRC-32 and size of each member so far
        manifest = self._member(MANIFEST, entries)
        writer = self._format_and_writer(manifest)
        members = {name: self._member(name, entries) for name in MEMBERS}
        tail = _directory(entries)
        if self.file.read(len(tail) + 1) != tail:
            raise _damaged(both("its table of contents isn't that of its members"))
        if manifest != _manifest(writer, members):
            raise _damaged(both("the checksums (SHA-256) in its manifest are of other members"))
        return members

    def _recognise(self) -> None:
        """What people mix up gets a reason of its own."""
        start = self.file.read(4)
        self.file.seek(0)
        if self.size == 0:
            raise BundleError("the file is empty")
        if self.size > LARGEST:
            raise BundleError(
                "not a bundle: {size:,} bytes, and a bundle has at most {most:,}", size=self.size, most=LARGEST
            )
        if len(start) < 4:
            raise BundleError("not a bundle, or only its first bytes")
        if start[0] == 0x80 and start[1] <= 5:
            raise BundleError("this is a pickle, which could run any program: rnnlab never opens one")
        if start[:2] != b"PK":
            raise BundleError("not a bundle (those are made by 'rnnlab pack RUN'), and not a run directory")

    def _member(self, name: str, entries: list[tuple[str, int, int]]) -> bytes:
        head = self._take(_LOCAL.size, both("the header of {name}", name=name))
        found = _LOCAL.unpack(head)
        crc, size = found[6], found[8]
        if head != _local(name, crc, size)[: _LOCAL.size] or self._take(len(name), both("a name")) != name.encode():
            at = _position(entries)
            raise BundleError("not a bundle as rnnlab writes it: {name} should stand at byte {at:,}", name=name, at=at)
        if not 0 < size <= CAPS[name]:
            raise BundleError(_wrong_size(name, size))
        data = self._take(size, name)
        if zlib.crc32(data) != crc:
            raise _damaged(both("the checksum (CRC-32) of {name} differs", name=name))
        entries.append((name, crc, size))
        return data

    def _take(self, count: int, what: Both | str) -> bytes:
        there = count <= self.size - self.file.tell()  # before memory is taken for it
        data = self.file.read(count) if there else b""
        if len(data) < count:  # it may have become shorter while it was read
            raise _damaged(both("the file ends within {what}", what=what))
        return data

    def _format_and_writer(self, manifest: bytes) -> str:
        try:
            values = json.loads(manifest)
            found, writer = values["format"], values["rnnlab"]
        except (ValueError, KeyError, TypeError, RecursionError):
            found = writer = None
        if type(found) is int and found > FORMAT:
            raise BundleError(
                "this bundle has format {found}, this version of rnnlab reads {ours}: pip install --upgrade rnnlab",
                found=found,
                ours=FORMAT,
            )
        if type(found) is not int or found != FORMAT or not isinstance(writer, str):
            raise BundleError("not a bundle: its manifest.json isn't one")
        return writer


def _damaged(how: Both) -> BundleError:
    return BundleError("damaged: {how}; copy it again from where it came, or pack the run again", how=how)


def _wrong_size(name: str, size: int) -> Both:
    return both("{name} has {size:,} bytes; possible are 1 to {most:,}", name=name, size=size, most=CAPS[name])


def _manifest(writer: str, members: Mapping[str, bytes]) -> bytes:
    """``writer`` is the version of rnnlab that wrote it."""
    sums = {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()}
    return (json.dumps({"format": FORMAT, "rnnlab": writer, "members": sums}, indent=2) + "\n").encode()


def _parts(members: Mapping[str, bytes]) -> Iterator[bytes]:
    """The bytes of the file."""
    entries = []
    for name, data in members.items():
        crc = zlib.crc32(data)
        yield _local(name, crc, len(data))
        yield data
        entries.append((name, crc, len(data)))
    yield _directory(entries)


def _local(name: str, crc: int, size: int) -> bytes:
    fixed = _LOCAL.pack(b"PK\3\4", _NEEDS, _UTF8, _STORED, _TIME, _DATE, crc, size, size, len(name), 0)
    return fixed + name.encode()


def _directory(entries: list[tuple[str, int, int]]) -> bytes:
    """All that follows the last member: a record for each, and the end record."""
    records = b""
    for number, (name, crc, size) in enumerate(entries):
        where = _position(entries[:number])
        how = (_MADE_BY, _NEEDS, _UTF8, _STORED, _TIME, _DATE)
        records += _CENTRAL.pack(b"PK\1\2", *how, crc, size, size, len(name), 0, 0, 0, 0, _MODE, where) + name.encode()
    count = len(entries)
    return records + _END.pack(b"PK\5\6", 0, 0, count, count, len(records), _position(entries), 0)


def _position(entries: list[tuple[str, int, int]]) -> int:
    """Where the next member begins."""
    return sum(_LOCAL.size + len(name) + size for name, _, size in entries)
