"""Fetch a file over HTTP so that what arrives is whole and is what was meant.

A download goes to ``<target>.part`` beside the target and takes its name only after its SHA-256 was checked. A part
that was left behind is continued, provided that we could tell if the file had changed meanwhile: either the server
named its version (the ETag or date kept in ``<target>.part.version``), or the checksum at the end would tell.
"""

import http.client
import os
import re
import socket
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from rnnlab.core.errors import DataError
from rnnlab.core.files import locked, move_into_place, write_atomically
from rnnlab.core.words import Both, both, joined, note, retold
from rnnlab.runs.directory import sha256_of

Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and the bytes in all, where the server says."""

TIMEOUT = 30.0  # seconds without a single byte
PAUSES = (1.0, 2.0, 4.0)  # seconds before each further attempt
CHUNK = 1 << 16
LARGEST_MEMBER = 1 << 30  # bytes; more than any data set here, less than an archive made to fill a disk


class _Passing(Exception):
    """A failure that another attempt may mend."""


def fetch(url: str, target: Path, *, sha256: str | None, size: int | None, progress: Progress | None = None) -> Path:
    """The file at ``url`` as ``target``. A target that is there already is only checked.

    ``sha256`` may be None where no checksum is known: then the caller has to decide what to believe.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataError("{url}: only http and https addresses are fetched", url=url)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target):
            if target.exists():
                _check(target, url, sha256)
                return target
            part = target.with_name(target.name + ".part")
            _download(url, part, target, sha256, size, progress)
            try:
                _check(part, url, sha256)
            except DataError:
                _forget(part)
                raise
            with open(part, "rb") as file:
                os.fsync(file.fileno())
            move_into_place(part, target)
            _forget(part)
    except OSError as error:
        raise DataError("{target}: can't be written: {value}", target=target, value=error.strerror or error) from None
    return target


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> None:
    """Write the named members of a ZIP archive to ``folder``: ``{file name: member}``, nothing else.

    A member is found by the end of its path, since publishers wrap archives into folders or don't.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            for name, member in members.items():
                write_atomically(folder / name, _read_member(opened, archive, member))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # RuntimeError: encrypted, odd methods
        raise DataError(
            "{archive}: not a ZIP archive that can be read ({error}); delete it and try again",
            archive=archive,
            error=error,
        ) from None


def _read_member(opened: zipfile.ZipFile, archive: Path, member: str) -> bytes:
    wanted = PurePosixPath(member).parts
    found = [i for i in opened.infolist() if PurePosixPath(i.filename).parts[-len(wanted) :] == wanted]
    if len(found) != 1:
        raise DataError(
            "{archive}: should hold exactly one {member}, holds {count}",
            archive=archive,
            member=member,
            count=len(found),
        )
    if found[0].file_size > LARGEST_MEMBER:
        raise DataError(
            "{archive}: {member} would unpack to {file_size:,} bytes, which can't be right",
            archive=archive,
            member=member,
            file_size=found[0].file_size,
        )
    return opened.read(found[0])  # compares the archive's own CRC-32


def _download(
    url: str, part: Path, target: Path, sha256: str | None, size: int | None, progress: Progress | None
) -> None:
    """Attempt after attempt, each going on where the last one broke off, until the part is whole."""
    for pause in (*PAUSES, None):
        try:
            _attempt(url, part, sha256, size, progress)
            return
        except _Passing as failure:
            if pause is None or isinstance(failure.__cause__, socket.gaierror):  # no such host: we are offline
                kept = part.stat().st_size if part.exists() else 0
                raise DataError(_by_hand(url, target, sha256, str(failure), kept)) from None
            time.sleep(pause)


def _by_hand(url: str, target: Path, sha256: str | None, reason: str, kept: int) -> Both:
    lines = [both("{url}: can't be fetched ({reason})", url=url, reason=retold(reason))]
    if kept:
        lines.append(both("the {kept:,} bytes that came are kept: the same command goes on from there", kept=kept))
    lines.append(both("without a connection: get that file elsewhere and put it at {file}", file=target))
    if sha256:
        lines.append(both("its SHA-256 must be {sum}", sum=sha256))
    return joined(lines, "\n")


def _attempt(url: str, part: Path, sha256: str | None, size: int | None, progress: Progress | None) -> None:
    version = _version_file(part)
    start = part.stat().st_size if part.exists() else 0
    known_version = version.read_text() if version.exists() else None
    if start and not (known_version or sha256):
        start = 0
    headers = {"User-Agent": "rnnlab", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if known_version:
            headers["If-Range"] = known_version
    try:
        response = _opener().open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            _refused(error, url, part, start)
        return
    except urllib.error.URLError as error:
        cause = error.reason if isinstance(error.reason, BaseException) else error
        raise _Passing(str(error.reason)) from cause
    except (OSError, http.client.HTTPException) as error:
        raise _Passing(str(error) or type(error).__name__) from error

    with response:
        if response.status == 206:
            total = _total_of_rest(response, part, start, known_version)
        else:  # 200: all of it, because the server can't resume or the file is another one now
            start, total = 0, _number(response.headers.get("Content-Length"))
        if size is not None and total not in (None, size):
            _forget(part)
            raise DataError(
                "{url}: the server offers {total:,} bytes where {size:,} were published; nothing was kept",
                url=url,
                total=total,
                size=size,
            )
        if start == 0:
            _forget(part)
            if name := _version_of(response):
                write_atomically(version, name)
        _receive(response, part, start, size if total is None else total, progress)


def _refused(error: urllib.error.HTTPError, url: str, part: Path, start: int) -> None:
    """An answer that isn't the file. Returns only when it means that the part is whole already."""
    if error.code == 416:  # "range not satisfiable": we hold all of it, or more than all of it
        total = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
        if total and int(total[1]) == start:
            return
        _forget(part)
        raise _Passing("the part on disk doesn't belong to the file on the server")
    if error.code in (408, 425, 429) or error.code >= 500:
        raise _Passing(note("the server answers {code} {reason}", code=error.code, reason=error.reason))
    raise DataError("{url}: the server answers {code} {reason}", url=url, code=error.code, reason=error.reason)


def _total_of_rest(response: http.client.HTTPResponse, part: Path, start: int, known_version: str | None) -> int | None:
    """Of a 206 answer: the size of the whole file, after making sure that this is the rest of what we have."""
    given = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
    version = _version_of(response)
    changed = known_version and version and version != known_version
    if given is None or int(given[1]) != start or changed:
        _forget(part)
        raise _Passing("the server sent another part than the one asked for")
    return _number(given[3])


def _receive(
    response: http.client.HTTPResponse, part: Path, start: int, total: int | None, progress: Progress | None
) -> None:
    done = start
    with open(part, "ab") as file:
        while True:
            if progress:
                progress(done, total)
            try:
                chunk = response.read(CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise _Passing(note("the connection broke: {error}", error=error or type(error).__name__)) from error
            if not chunk:
                break
            file.write(chunk)
            done += len(chunk)
            if total is not None and done > total:
                break
    if total is not None and done != total:
        raise _Passing(note("the connection ended after {done:,} of {total:,} bytes", done=done, total=total))


def _check(path: Path, url: str, sha256: str | None) -> None:
    if sha256 is None:
        return
    found = sha256_of(path)
    if found != sha256:
        is_part = path.suffix == ".part"
        end = "it was removed: try again" if is_part else "delete it, and it will be fetched again"
        raise DataError(
            "{path}: not the file that {url} stands for\nSHA-256 {found}\nwanted  {sha256}\n{end}",
            path=path,
            url=url,
            found=found,
            sha256=sha256,
            end=end,
        )


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https to something that anyone on the way can change."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise DataError(
                "{full_url}: the server redirects to {newurl}, which isn't https", full_url=req.full_url, newurl=newurl
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """http and https only: urllib's own opener would also follow a redirect to ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
        _NoDowngrade(),
    ):
        opener.add_handler(handler)
    return opener


def _version_of(response: http.client.HTTPResponse) -> str | None:
    """What names this version of the file: a strong ETag, else its date."""
    etag = response.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified")


def _version_file(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _version_file(part).unlink(missing_ok=True)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
