"""Compiling the native library, once for each source, compiler and processor."""

import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlab.core.cache import cache_dir
from rnnlab.core.files import locked, move_into_place, write_atomically
from rnnlab.core.words import note, say

FOLDER = Path(__file__).parent
CACHE = "RNNLAB_NATIVE_CACHE"  # a folder for the library alone, in place of one in the cache
SECONDS = 300  # a compiler that takes longer is stopped
FORGOTTEN_AFTER = 24 * 3600  # seconds since a compiler failed
PATIENCE = 2.0  # seconds until somebody who waits is told why
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi")


class BuildError(Exception):
    """Why there is no library: a reason to say, never a reason to stop."""


@dataclass(frozen=True)
class Built:
    path: Path
    compiler: Path


def obtain() -> Built:
    """The library, from the cache or compiled now. Processes that want it at the same time wait for the first."""
    command = compiler_command()
    compiler = _program(command)
    folder = _folder()
    try:
        key = _key(command, compiler)
        path = _find(folder, key)
        if path is None:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / f"kernels-{key}"):
                path = _find(folder, key) or _compile_unless_it_failed(command, folder, key)
    except OSError as error:
        raise BuildError(note("the cache folder can't be used: {error}", error=error)) from error
    return Built(path, compiler)


def is_built() -> bool:
    """Whether there is a library for this source, compiler and processor, so that none need be compiled."""
    try:
        command = compiler_command()
        return _find(_folder(), _key(command, _program(command))) is not None
    except (BuildError, OSError):
        return False


def obstacle() -> str | None:
    """Why there won't be a library, as far as that is known without compiling: there is no compiler, or it failed."""
    try:
        command = compiler_command()
        folder, key = _folder(), _key(command, _program(command))
        return None if _find(folder, key) else _failure(folder, key)
    except BuildError as error:
        return str(error)
    except OSError:
        return None


def _program(command: list[str]) -> Path:
    return Path(shutil.which(command[0]) or command[0]).resolve()


def _folder() -> Path:
    return Path(os.environ.get(CACHE) or cache_dir() / "native")


def _find(folder: Path, key: str) -> Path | None:
    """The library, if it is there and whole: a damaged one would kill the process that loads it."""
    for path in folder.glob(f"kernels-{key}-*.so"):
        if path.stem.endswith(f"-{_digest(path.read_bytes())}"):
            return path
    return None


def compiler_command() -> list[str]:
    """``$CXX``, or the first of the usual names that is there."""
    own = os.environ.get("CXX")
    names = [own] if own else ["c++", "g++", "clang++"]
    for name in names:
        words = shlex.split(name)
        if words and shutil.which(words[0]):
            return words
    raise BuildError(
        note("no C++ compiler was found ({names}); install g++ or clang, or set CXX", names=", ".join(names))
    )


def _key(command: list[str], compiler: Path) -> str:
    """Changes with anything that the library depends on; a home folder may be shared by different processors. That a
    compiler is another one shows in its file: to ask it would take time in every process."""
    file = compiler.stat()
    parts = [*command, str(compiler), f"{file.st_size} {file.st_mtime_ns}", *FLAGS, platform.machine(), sys.platform]
    parts.append(_processor_features())
    for path in sorted(FOLDER.glob("*.[ch]*")):
        parts += [path.name, path.read_text(encoding="utf-8")]
    return _digest("\0".join(parts).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _processor_features() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor()
    found = re.search(r"^(flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return " ".join(sorted(found[2].split())) if found else platform.processor()


def _compile_unless_it_failed(command: list[str], folder: Path, key: str) -> Path:
    """A compiler that failed is not asked again by every run, but once a day."""
    failed = _failure(folder, key)
    if failed:
        raise BuildError(failed)
    try:
        return _compile(command, folder, key)
    except BuildError as error:
        write_atomically(_note(folder, key), str(error))
        raise


def _failure(folder: Path, key: str) -> str | None:
    """What the compiler said today, if it failed."""
    note = _note(folder, key)
    if not note.is_file() or time.time() - note.stat().st_mtime >= FORGOTTEN_AFTER:
        return None
    return f"{note.read_text(encoding='utf-8')} (to try again, delete {note})"


def _note(folder: Path, key: str) -> Path:
    return folder / f"kernels-{key}.failed"


def _compile(command: list[str], folder: Path, key: str) -> Path:
    """Called by one process at a time, so what lies about from a build of the same is from one that was killed."""
    unfinished = f".build-{key}-"
    for left in folder.glob(f"{unfinished}*"):
        shutil.rmtree(left, ignore_errors=True)
    told = threading.Timer(PATIENCE, lambda: print(say("building the native kernels (once) …"), file=sys.stderr))
    told.start()
    try:
        with tempfile.TemporaryDirectory(prefix=unfinished, dir=folder) as own:
            finished = Path(own) / "kernels.so"
            native = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
            sources = sorted(FOLDER.glob("*.cpp"))
            objects = [str(Path(own) / f"{source.stem}.o") for source in sources]
            _run(
                [*command, *FLAGS, native, "-c", str(source), "-o", target]
                for source, target in zip(sources, objects, strict=True)
            )
            _run([[*command, "-shared", *objects, "-o", str(finished)]])
            with open(finished, "rb") as file:
                os.fsync(file.fileno())
                path = folder / f"kernels-{key}-{_digest(file.read())}.so"
            move_into_place(finished, path)
            return path
    finally:
        told.cancel()


def _run(commands: Iterable[list[str]]) -> None:
    """All at once; none is left running when one fails, or when we are interrupted."""
    running: list[subprocess.Popen[str]] = []
    try:
        running.extend(map(_start, commands))
        for process in running:
            _finish(process)
    finally:
        for process in running:
            with process:  # closes what it wrote to
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    """With those that it started: a compiler's driver leaves the work to another program."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _start(command: list[str]) -> subprocess.Popen[str]:
    """As the leader of a group of its own."""
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    try:
        return subprocess.Popen(command, **pipes, text=True, errors="replace", start_new_session=True)
    except OSError as error:
        raise BuildError(note("the compiler doesn't run: {error}", error=error)) from error


def _finish(process: subprocess.Popen[str]) -> None:
    try:
        _, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise BuildError(note("the compiler took longer than {seconds} s", seconds=SECONDS)) from error
    if process.returncode:
        first = next((line for line in errors.splitlines() if "error" in line), errors[:200])
        raise BuildError(
            note("the compiler failed: {reason}", reason=first.strip() or f"exit code {process.returncode}")
        )
