"""Downloads against a real server on this machine that fails in the ways servers fail."""

import hashlib
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from rnnlab.core.cache import cache_dir
from rnnlab.core.errors import DataError
from rnnlab.core.files import write_atomically
from rnnlab.data import download
from rnnlab.data.download import fetch, unpack

CONTENT = np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Site:
    """What the server does, and what it was asked."""

    content: bytes = CONTENT
    etag: str | None = '"one"'
    statuses: list[int] = field(default_factory=list)  # answered first, one a request
    cuts: list[int] = field(default_factory=list)  # bytes after which the connection breaks, one a request
    ranges: bool = True
    shift: int = 0  # a broken server: the range starts elsewhere than it was asked to
    chunked: bool = False  # no Content-Length
    location: str | None = None  # redirects to
    requests: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    site: ClassVar[Site]
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""

    def do_GET(self) -> None:
        site = self.site
        site.requests.append(dict(self.headers))
        self.close_connection = True
        if site.location and self.path == "/file":
            self.send_response(302)
            self.send_header("Location", site.location)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if site.statuses and (status := site.statuses.pop(0)) != 200:
            self.send_error(status)
            return
        asked, condition = self.headers.get("Range"), self.headers.get("If-Range")
        start, body = 0, site.content
        if asked and site.ranges and condition in (None, site.etag):
            start = int(asked.removeprefix("bytes=").removesuffix("-")) + site.shift
            body = site.content[start:]
            if not body:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(site.content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
        else:
            self.send_response(200)
        if site.etag:
            self.send_header("ETag", site.etag)
        if not site.chunked:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: site.cuts.pop(0)] if site.cuts else body)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0, 0.0))
    site = Site()
    handler = type("SiteHandler", (Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/file"
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


def leave_part(target: Path, content: bytes, version: str | None = None) -> None:
    target.with_name(target.name + ".part").write_bytes(content)
    if version:
        target.with_name(target.name + ".part.version").write_text(version)


def files_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def test_a_file_arrives_whole_and_alone(site: Site, tmp_path: Path):
    seen: list[tuple[int, int | None]] = []
    target = tmp_path / "new" / "folder" / "data.bin"
    got = fetch(site.url, target, sha256=SHA256, size=len(CONTENT), progress=lambda *step: seen.append(step))
    assert got == target
    assert target.read_bytes() == CONTENT
    assert files_in(target.parent) == ["data.bin"]
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert "Range" not in site.requests[0]


def test_a_file_that_is_there_is_checked_and_not_fetched(site: Site, tmp_path: Path):
    target = tmp_path / "data.bin"
    target.write_bytes(CONTENT)
    fetch(site.url, target, sha256=SHA256, size=None)
    target.write_bytes(b"something else")
    with pytest.raises(DataError, match=r"delete it") as error:
        fetch(site.url, target, sha256=SHA256, size=None)
    assert SHA256 in str(error.value)
    assert hashlib.sha256(b"something else").hexdigest() in str(error.value)
    assert target.exists()  # a file that the user put there is the user's
    assert site.requests == []


def test_a_cut_connection_is_continued_where_it_broke(site: Site, tmp_path: Path):
    site.cuts = [100_000, 50_000]
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert [r.get("Range") for r in site.requests] == [None, "bytes=100000-", "bytes=150000-"]
    assert [r.get("If-Range") for r in site.requests] == [None, '"one"', '"one"']


def test_a_part_of_an_earlier_command_is_continued(site: Site, tmp_path: Path):
    leave_part(tmp_path / "data.bin", CONTENT[:1000], '"one"')
    fetch(site.url, tmp_path / "data.bin", sha256=None, size=None)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert [r.get("Range") for r in site.requests] == ["bytes=1000-"]
    assert files_in(tmp_path) == ["data.bin"]


def test_a_part_without_version_is_continued_only_if_a_checksum_would_tell(site: Site, tmp_path: Path):
    leave_part(tmp_path / "checked.bin", CONTENT[:1000])
    fetch(site.url, tmp_path / "checked.bin", sha256=SHA256, size=None)
    leave_part(tmp_path / "unknown.bin", b"x" * 1000)
    fetch(site.url, tmp_path / "unknown.bin", sha256=None, size=None)
    assert [r.get("Range") for r in site.requests] == ["bytes=1000-", None]
    assert (tmp_path / "unknown.bin").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_fetched_anew(site: Site, tmp_path: Path):
    leave_part(tmp_path / "data.bin", b"x" * 1000, '"zero"')
    fetch(site.url, tmp_path / "data.bin", sha256=None, size=None)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_sends_all_of_it(site: Site, tmp_path: Path):
    site.ranges = False
    leave_part(tmp_path / "data.bin", CONTENT[:1000], '"one"')
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_a_wrong_range_is_not_glued_on(site: Site, tmp_path: Path):
    site.shift = 7
    leave_part(tmp_path / "data.bin", CONTENT[:1000], '"one"')
    fetch(site.url, tmp_path / "data.bin", sha256=None, size=None)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert [r.get("Range") for r in site.requests] == ["bytes=1000-", None]


def test_a_whole_part_needs_no_more_bytes(site: Site, tmp_path: Path):
    leave_part(tmp_path / "data.bin", CONTENT, '"one"')
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert len(site.requests) == 1


def test_a_part_longer_than_the_file_is_thrown_away(site: Site, tmp_path: Path):
    leave_part(tmp_path / "data.bin", CONTENT + b"more", '"one"')
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_wrong_bytes_are_removed_and_both_sums_are_named(site: Site, tmp_path: Path):
    site.content = b"y" + CONTENT[1:]
    with pytest.raises(DataError) as error:
        fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=len(CONTENT))
    assert SHA256 in str(error.value)
    assert hashlib.sha256(site.content).hexdigest() in str(error.value)
    assert files_in(tmp_path) == []


def test_a_page_of_another_size_is_refused_before_it_is_read(site: Site, tmp_path: Path):
    site.content = b"<html>Please log in to this network</html>"
    with pytest.raises(DataError, match=r"offers 42 bytes where 300,000 were published"):
        fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=len(CONTENT))
    assert files_in(tmp_path) == []


def test_a_passing_server_error_is_tried_again(site: Site, tmp_path: Path):
    site.statuses = [500, 503, 200]
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert len(site.requests) == 3


def test_a_missing_page_is_final(site: Site, tmp_path: Path):
    site.statuses = [404]
    with pytest.raises(DataError, match=r"404 Not Found"):
        fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert len(site.requests) == 1


def test_a_server_that_never_recovers_leaves_what_came_and_says_what_to_do(site: Site, tmp_path: Path):
    site.cuts = [1000, 500, 200, 100]
    with pytest.raises(DataError, match=r"1,800 bytes that came are kept") as error:
        fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    assert f"put it at {tmp_path / 'data.bin'}" in str(error.value)
    assert SHA256 in str(error.value)
    assert (tmp_path / "data.bin.part").read_bytes() == CONTENT[:1800]
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)  # the next command goes on
    assert site.requests[-1]["Range"] == "bytes=1800-"


def test_without_a_length_the_known_size_tells_a_short_body(site: Site, tmp_path: Path):
    site.chunked, site.cuts = True, [1000]
    fetch(site.url, tmp_path / "data.bin", sha256=None, size=len(CONTENT))
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert len(site.requests) == 2


def test_nobody_listening_is_an_error_that_helps(site: Site, tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
    with pytest.raises(DataError, match=r"can't be fetched") as error:
        fetch(url, tmp_path / "data.bin", sha256=None, size=None)
    assert f"put it at {tmp_path / 'data.bin'}" in str(error.value)


def test_redirects_are_followed_but_only_over_http(site: Site, tmp_path: Path):
    site.location = site.url + "-elsewhere"
    fetch(site.url, tmp_path / "data.bin", sha256=SHA256, size=None)
    site.location = "ftp://127.0.0.1/file"
    with pytest.raises(DataError):
        fetch(site.url, tmp_path / "other.bin", sha256=SHA256, size=None)
    for url in ("file:///etc/hostname", "ftp://127.0.0.1/x", "data.bin"):
        with pytest.raises(DataError, match=r"only http and https"):
            fetch(url, tmp_path / "more.bin", sha256=None, size=None)


def test_two_processes_at_once_share_one_download(site: Site, tmp_path: Path):
    code = (
        "import sys, pathlib; from rnnlab.data.download import fetch; "
        "fetch(sys.argv[1], pathlib.Path(sys.argv[2]), sha256=None, size=None)"
    )
    arguments = [sys.executable, "-c", code, site.url, str(tmp_path / "data.bin")]
    workers = [subprocess.Popen(arguments) for _ in range(2)]
    assert [w.wait(60) for w in workers] == [0, 0]
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert len(site.requests) == 1


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_unpack_takes_the_named_members_and_nothing_else(tmp_path: Path):
    archive = make_zip(tmp_path / "a.zip", {"trees/train.txt": b"one", "../evil.txt": b"bad", "trees/dev.txt": b"two"})
    folder = tmp_path / "out"
    folder.mkdir()
    unpack(archive, {"train.txt": "trees/train.txt", "valid.txt": "dev.txt"}, folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"train.txt": b"one", "valid.txt": b"two"}
    assert not (tmp_path / "evil.txt").exists()


@pytest.mark.parametrize("members", [{"b.txt": b"x"}, {"x/a.txt": b"x", "y/a.txt": b"y"}])
def test_unpack_wants_exactly_one_such_member(tmp_path: Path, members: dict[str, bytes]):
    archive = make_zip(tmp_path / "a.zip", members)
    with pytest.raises(DataError, match=r"exactly one a\.txt"):
        unpack(archive, {"a.txt": "a.txt"}, tmp_path)


def test_unpack_refuses_what_is_no_archive_and_what_is_damaged(tmp_path: Path):
    (tmp_path / "page.zip").write_bytes(b"<html>")
    with pytest.raises(DataError, match=r"page\.zip: not a ZIP archive"):
        unpack(tmp_path / "page.zip", {"a.txt": "a.txt"}, tmp_path)
    archive = make_zip(tmp_path / "a.zip", {"a.txt": CONTENT})
    damaged = bytearray(archive.read_bytes())
    damaged[5000] ^= 1
    archive.write_bytes(damaged)
    with pytest.raises(DataError, match=r"a\.zip"):
        unpack(archive, {"a.txt": "a.txt"}, tmp_path)
    assert not (tmp_path / "a.txt").exists()


def test_unpack_refuses_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(download, "LARGEST_MEMBER", 1000)
    archive = make_zip(tmp_path / "a.zip", {"a.txt": b"0" * 1001})
    with pytest.raises(DataError, match=r"1,001 bytes"):
        unpack(archive, {"a.txt": "a.txt"}, tmp_path)


def test_write_atomically_replaces_all_or_nothing(tmp_path: Path):
    path = tmp_path / "a.txt"
    write_atomically(path, "häuser\r\n")
    assert path.read_bytes() == "häuser\r\n".encode()
    write_atomically(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")  # fails in the middle of writing
    assert path.read_bytes() == b"\x00\xff"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_the_cache_folder_of_each_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("RNNLAB_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_dir() == tmp_path / ".cache" / "rnnlab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_dir() == tmp_path / ".cache" / "rnnlab"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "rnnlab"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_dir() == tmp_path / "Library" / "Caches" / "rnnlab"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_dir() == tmp_path / "local" / "rnnlab" / "Cache"
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"
