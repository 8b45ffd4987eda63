"""The bundle: what is written can be read by any zip tool; what is read is what was written, or an error."""

import hashlib
import io
import json
import pickle
import random
import stat
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from rnnlab.core.errors import BundleError
from rnnlab.runs.bundle import MEMBERS, is_bundle, read_bundle, write_bundle

CONTENT = {
    "spec.json": b'{"format": 1}\n',
    "model.json": '{"labels": ["好", "bad"]}'.encode(),
    "card.json": b"{}",
    "card.md": b"# Model card\n",
    "weights.safetensors": random.Random(0).randbytes(300),
}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "model.rnnlab"
    write_bundle(path, CONTENT)
    return path


def refusal(path: Path) -> str:
    """The reason for which a file is refused; nothing is written meanwhile."""
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(BundleError) as caught:
        read_bundle(path)
    assert sorted(path.parent.rglob("*")) == before
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


# --- what is written -----------------------------------------------------------------------------------------------


def test_round_trip(written):
    assert read_bundle(written) == CONTENT
    assert is_bundle(written)
    assert [path.name for path in written.parent.iterdir()] == ["model.rnnlab"]  # no temporary file is left


def test_the_same_members_give_the_same_bytes(written, tmp_path):
    write_bundle(tmp_path / "again", dict(reversed(CONTENT.items())))
    assert (tmp_path / "again").read_bytes() == written.read_bytes()


def test_other_tools_can_read_it(written):
    with zipfile.ZipFile(written) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["manifest.json", *MEMBERS]
        assert {name: archive.read(name) for name in MEMBERS} == CONTENT
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.external_attr >> 16 == stat.S_IFREG | 0o644
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["format"] == 1
    assert manifest["members"]["card.md"] == {"size": 13, "sha256": hashlib.sha256(CONTENT["card.md"]).hexdigest()}


def test_only_whole_models_are_written(tmp_path):
    with pytest.raises(ValueError, match="a bundle has the members"):
        write_bundle(tmp_path / "x", {"spec.json": b"{}"})
    with pytest.raises(BundleError, match=r"card\.md has 0 bytes"):
        write_bundle(tmp_path / "x", CONTENT | {"card.md": b""})
    with pytest.raises(BundleError, match=r"card\.json has 16,000,001 bytes"):
        write_bundle(tmp_path / "x", CONTENT | {"card.json": bytes(16_000_001)})
    assert list(tmp_path.iterdir()) == []


# --- damage --------------------------------------------------------------------------------------------------------


def test_a_thousand_flipped_bits_are_all_refused(written):
    """Headers, names, data, directory and end record, each more than once: the file has about as many bytes."""
    whole = written.read_bytes()
    drawn = random.Random(1).sample(range(8 * len(whole)), 1000)
    regions = {"data": 0, "header": 0, "directory": 0, "end": 0}
    directory, end = whole.index(b"PK\1\2"), whole.index(b"PK\5\6")
    starts = [place for place in range(directory) if whole[place : place + 4] == b"PK\3\4"]
    for bit in drawn:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        written.write_bytes(damaged)
        refusal(written)
        place = bit // 8
        inside = any(start <= place < start + 30 for start in starts)
        regions["end" if place >= end else "directory" if place >= directory else "header" if inside else "data"] += 1
    assert min(regions.values()) >= 10


def test_two_hundred_truncations_are_all_refused(written):
    whole = written.read_bytes()
    for length in random.Random(2).sample(range(len(whole)), 200):
        written.write_bytes(whole[:length])
        reason = refusal(written)
        assert "ends within" in reason or "table of contents" in reason or length < 4


def test_bytes_before_and_behind_are_refused(written):
    whole = written.read_bytes()
    for content in (whole + b"\0", whole + whole, b"\0" + whole, b"#!/bin/sh\n" + whole):
        written.write_bytes(content)
        refusal(written)


# --- what isn't a bundle -------------------------------------------------------------------------------------------


def _zip(names: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in names:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
        archive.comment = comment
    return buffer.getvalue()


def _manifest(members: dict[str, bytes], **changes: object) -> bytes:
    sums = {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()}
    return (json.dumps({"format": 1, "rnnlab": "0.1.0", "members": sums} | changes, indent=2) + "\n").encode()


def _canonical(names: list[tuple[str, bytes]]) -> bytes:
    """In the strict form, but of any members; what somebody writes who has read the documentation."""
    parts, directory = b"", b""
    for name, data in names:
        same = struct.pack("<5H3L", 20, 1 << 11, 0, 0, 33, zlib.crc32(data), len(data), len(data))
        lengths = struct.pack("<2H", len(name), 0)
        attributes = struct.pack("<3H2L", 0, 0, 0, (stat.S_IFREG | 0o644) << 16, len(parts))
        directory += b"PK\1\2" + struct.pack("<H", 0x0314) + same + lengths + attributes + name.encode()
        parts += b"PK\3\4" + same + lengths + name.encode() + data
    end = struct.pack("<4H2LH", 0, 0, len(names), len(names), len(directory), len(parts), 0)
    return parts + directory + b"PK\5\6" + end


def _whole(members: dict[str, bytes] = CONTENT, **changes: object) -> bytes:
    return _canonical([("manifest.json", _manifest(members, **changes)), *members.items()])


def _with_link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in [("manifest.json", _manifest(CONTENT)), *CONTENT.items()]:
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (stat.S_IFLNK | 0o777 if name == "card.md" else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, b"/etc/passwd" if name == "card.md" else data)
    return buffer.getvalue()


def _link_in_the_strict_form() -> bytes:
    """Byte for byte a bundle, but for the mode of one entry of the directory."""
    whole = bytearray(_whole())
    mode = (stat.S_IFREG | 0o644) << 16
    place = whole.index(struct.pack("<L", mode), whole.index(b"PK\1\2"))
    whole[place : place + 4] = struct.pack("<L", (stat.S_IFLNK | 0o777) << 16)
    return bytes(whole)


def _with_wrong_crc() -> bytes:
    right = struct.pack("<L", zlib.crc32(CONTENT["card.md"]))
    assert _whole().count(right) == 2
    return _whole().replace(right, bytes(4))


def _overlapping() -> bytes:
    """All entries of the directory point at the first member."""
    whole = bytearray(_whole())
    place = whole.index(b"PK\1\2")
    while (place := whole.find(b"PK\1\2", place)) >= 0:
        whole[place + 42 : place + 46] = bytes(4)
        place += 46
    return bytes(whole)


def _zip64() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in [("manifest.json", _manifest(CONTENT)), *CONTENT.items()]:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as file:
                file.write(data)
    return buffer.getvalue()


def _renamed(old: str, new: str) -> bytes:
    return _canonical(
        [
            ("manifest.json", _manifest(CONTENT)),
            *((new if name == old else name, data) for name, data in CONTENT.items()),
        ]
    )


NOT_OURS = "not a bundle as rnnlab writes it"
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty file": (lambda: b"", "the file is empty"),
    "two bytes": (lambda: b"PK", "only its first bytes"),
    "text": (lambda: b"text,label\ngood,1\n", "not a bundle (those are made by 'rnnlab pack RUN')"),
    "a pickle": (lambda: pickle.dumps({"weights": [1.0]}), "this is a pickle"),
    "an old pickle": (lambda: pickle.dumps({"weights": [1.0]}, protocol=2), "this is a pickle"),
    "a zip with a pickle": (lambda: _zip([("archive/data.pkl", pickle.dumps(1))]), NOT_OURS),
    "an empty zip": (lambda: _zip([]), "ends within the header of manifest.json"),
    "a zip of another tool": (
        lambda: _zip([("manifest.json", _manifest(CONTENT)), *CONTENT.items()], zipfile.ZIP_STORED),
        NOT_OURS,
    ),
    "a bomb": (lambda: _zip([("manifest.json", bytes(50_000_000))], zipfile.ZIP_DEFLATED), NOT_OURS),
    "a name that leads out": (lambda: _zip([("../../evil.sh", b"x" * 50)]), NOT_OURS),
    "an absolute name": (lambda: _zip([("/tmp/evil.sh", b"x" * 50)]), NOT_OURS),
    "a name that leads out, in the strict form": (lambda: _renamed("spec.json", "../x.json"), NOT_OURS),
    "an absolute name, in the strict form": (lambda: _renamed("spec.json", "/tmp/x.js"), NOT_OURS),
    "a name of another case": (lambda: _renamed("spec.json", "SPEC.json"), NOT_OURS),
    "a link": (_with_link, NOT_OURS),
    "a link in the strict form": (_link_in_the_strict_form, "table of contents"),
    "a name twice": (
        lambda: _canonical(
            [("manifest.json", _manifest(CONTENT)), ("spec.json", CONTENT["spec.json"]), *CONTENT.items()]
        ),
        NOT_OURS,
    ),
    "a member missing": (
        lambda: _whole({name: data for name, data in CONTENT.items() if name != "card.md"}),
        NOT_OURS,
    ),
    "a member more": (lambda: _whole(CONTENT | {"setup.py": b"import os"}), "table of contents"),
    "members in another order": (lambda: _whole(dict(reversed(CONTENT.items()))), NOT_OURS),
    "overlapping entries": (_overlapping, "table of contents"),
    "zip64": (_zip64, NOT_OURS),
    "a comment": (lambda: _zip([("manifest.json", b"{}")], comment=b"hello"), NOT_OURS),
    "a comment in the strict form": (lambda: _whole()[:-2] + b"\5\0hello", "table of contents"),
    "an empty member": (lambda: _whole(CONTENT | {"card.md": b""}), "card.md has 0 bytes"),
    "a member over its cap": (
        lambda: _whole()[:18] + struct.pack("<2L", 2_000_000, 2_000_000) + _whole()[26:],
        "manifest.json has 2,000,000 bytes; possible are 1 to 1,000,000",
    ),
    "sums of other members": (
        lambda: _canonical(
            [("manifest.json", _manifest(CONTENT)), *(CONTENT | {"card.md": b"# Another car\n"}).items()]
        ),
        "SHA-256",
    ),
    "a wrong CRC-32, in the header and in the directory": (_with_wrong_crc, "the checksum (CRC-32) of card.md differs"),
    "a damaged format": (  # not to be taken for a newer one
        lambda: _whole().replace(b'"format": 1', b'"format": 3'),
        "the checksum (CRC-32) of manifest.json differs",
    ),
    "a manifest with more to say": (lambda: _whole(run="rm -rf"), "SHA-256"),
    "a manifest that isn't JSON": (lambda: _canonical([("manifest.json", b"{"), *CONTENT.items()]), "manifest.json"),
    "a manifest without end": (
        lambda: _canonical([("manifest.json", b"[" * 900_000), *CONTENT.items()]),
        "its manifest.json isn't one",
    ),
    "a manifest of another shape": (lambda: _canonical([("manifest.json", b"[1]"), *CONTENT.items()]), "isn't one"),
    "a format of no number": (lambda: _whole(format=True), "isn't one"),
    "an older format": (lambda: _whole(format=0), "isn't one"),
    "a newer format": (
        lambda: _canonical([("manifest.json", b'{"format": 2, "rnnlab": "9.0"}'), ("new.bin", b"x")]),
        "this bundle has format 2, this version of rnnlab reads 1: pip install --upgrade rnnlab",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    make, reason = REFUSED[case]
    path = tmp_path / "folder" / "model.rnnlab"
    path.parent.mkdir()
    path.write_bytes(make())
    assert reason in refusal(path)
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]  # nothing was written beside the folder either


def test_the_strict_form_is_that_of_the_writer(written):
    """Else the cases above would be refused for another reason than theirs."""
    manifest = json.loads(zipfile.ZipFile(written).read("manifest.json"))
    assert _whole(rnnlab=manifest["rnnlab"]) == written.read_bytes()


def test_a_folder_and_a_missing_file(tmp_path):
    assert not is_bundle(tmp_path)
    assert not is_bundle(tmp_path / "nothing")
    assert "can't be read" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "nothing")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    """Sparse: it takes no room. Neither does its claim to hold 4 GB of weights take any memory."""
    path = tmp_path / "huge.rnnlab"
    with open(path, "wb") as file:
        file.truncate(2**32)
    assert "at most" in refusal(path)
    head = _whole()[:-1]
    place = head.rindex(b"PK\3\4", 0, head.index(b"PK\1\2"))
    claimed = struct.pack("<2L", 2**32 - 2**20, 2**32 - 2**20)
    path.write_bytes(head[: place + 18] + claimed + head[place + 26 :])
    tracemalloc.start()
    try:
        assert "ends within weights.safetensors" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_large_weights_are_held_once(tmp_path):
    path = tmp_path / "large.rnnlab"
    size = 30_000_000
    members = CONTENT | {"weights.safetensors": bytes(size)}
    tracemalloc.start()
    try:
        write_bundle(path, members)
        assert tracemalloc.get_traced_memory()[1] < 0.1 * size
        found = read_bundle(path)
        assert tracemalloc.get_traced_memory()[1] < 1.1 * size
    finally:
        tracemalloc.stop()
    assert found == members
