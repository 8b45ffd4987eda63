"""Compiling the native library: what goes wrong is a reason that is told, and never the end of anything.

What is compiled here is tiny, but for one test: the library itself takes half a minute, once.
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rnnlab import kernels as native
from rnnlab.kernels import build
from rnnlab.kernels.build import BuildError, obtain

REAL = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
SOURCE = """
#include "answer.h"
extern "C" void use_threads(void*, void*) {}
extern "C" const char* vector_name() { return ANSWER; }
"""
Script = Callable[[str], Path]

needs_compiler = pytest.mark.skipif(REAL is None, reason="there is no C++ compiler")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Sources of a tiny library, which is looked for and built in a cache of its own."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "library.cpp").write_text(SOURCE)
    (sources / "answer.h").write_text('#define ANSWER "tiny"\n')
    monkeypatch.setattr(build, "FOLDER", sources)
    monkeypatch.setenv(build.CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv(native.SWITCH, raising=False)
    native._loaded.cache_clear()
    yield sources
    native._loaded.cache_clear()


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """A program in the place of the compiler."""

    def write(text: str) -> Path:
        path = tmp_path / "compiler"
        path.write_text(f"#!{shutil.which('sh')}\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        return path

    return write


def in_cache(tmp_path: Path, pattern: str = "kernels-*.so") -> list[Path]:
    return sorted((tmp_path / "cache").glob(pattern))


# What is built


@needs_compiler
def test_the_library_is_built_once_and_loaded(tmp_path: Path, script: Script) -> None:
    calls = tmp_path / "calls"
    script(f'echo called >> "{calls}"; exec {REAL} "$@"')
    status = native.status()
    assert (status.active, status.vectors) == (True, "tiny")
    assert status.library == in_cache(tmp_path)[0]
    assert "tiny" in status.reason
    assert "built by compiler for" in status.reason
    assert native.library() is not None
    assert len(calls.read_text().split()) == 2  # once to compile, once to link
    assert obtain().path == status.library
    assert len(calls.read_text().split()) == 2  # it isn't even asked for its version
    assert not in_cache(tmp_path, ".build-*")


@needs_compiler
def test_another_source_or_compiler_or_another_flag_is_another_library(
    tmp_path: Path, folder: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = script(f'exec {REAL} "$@"')
    found = [obtain().path]
    (folder / "answer.h").write_text('#define ANSWER "other"\n')
    found.append(obtain().path)
    os.utime(compiler, ns=(1, 1))  # a compiler that was installed anew
    found.append(obtain().path)
    monkeypatch.setenv("CXX", f"{compiler} -DNDEBUG")
    found.append(obtain().path)
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-DFAST"))
    found.append(obtain().path)
    monkeypatch.setattr(platform, "machine", lambda: "another processor")
    found.append(obtain().path)
    assert len(set(found)) == len(found)
    assert native.status().vectors == "other"


@needs_compiler
def test_the_library_is_in_the_cache_unless_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.CACHE)
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "usual"))
    assert obtain().path.parent == tmp_path / "usual" / "native"


@pytest.mark.skipif(REAL is None or os.environ.get(native.SWITCH, "on") != "on", reason="there is no library")
def test_the_real_sources_can_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of native code are skipped where there is none; this says if there should be."""
    monkeypatch.undo()
    status = native.status()
    assert status.active, status.reason


# What can go wrong


@pytest.mark.parametrize("how", ["CXX", "PATH"])
def test_without_a_compiler_the_reason_is_said(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "CXX":
        monkeypatch.setenv("CXX", "no-such-compiler --fast")
    else:
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.setenv("PATH", "")
    assert native.library() is None
    status = native.status()
    assert not status.active
    assert (native.slower() or "").endswith(f"two to five times as long, because {status.reason}")
    assert status.reason.startswith("no C++ compiler was found (")
    assert ("no-such-compiler" if how == "CXX" else "c++, g++, clang++") in status.reason
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("word", ["off", "0", "No", "FALSE"])
def test_it_can_be_switched_off(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, word)
    assert native.library() is None
    assert native.status().reason == f"switched off by RNNLAB_NATIVE={word}"
    assert native.slower() is None
    assert not (tmp_path / "cache").exists()


def test_the_first_error_of_a_compiler_is_the_reason(tmp_path: Path, script: Script) -> None:
    script("echo 'note: hello' >&2; echo 'x.cpp:3: error: no such thing' >&2; echo 'error: more' >&2; exit 1")
    assert native.library() is None
    assert native.status().reason == "the compiler failed: x.cpp:3: error: no such thing"
    assert not in_cache(tmp_path, "*kernels*.so")
    assert not in_cache(tmp_path, ".build-*")


def test_a_compiler_that_failed_is_asked_again_after_a_day(tmp_path: Path, script: Script) -> None:
    asked = tmp_path / "asked"
    script(f'echo asked >> "{asked}"; exit 7')
    for _ in range(3):
        with pytest.raises(BuildError, match="exit code 7"):
            obtain()
    times = len(asked.read_text().splitlines())
    with pytest.raises(BuildError, match=r"to try again, delete .*failed") as told:
        obtain()
    assert native.slower() == f"training runs on torch alone and takes two to five times as long, because {told.value}"
    assert len(asked.read_text().splitlines()) == times
    (note,) = in_cache(tmp_path, "*.failed")
    long_ago = time.time() - 100_000
    os.utime(note, (long_ago, long_ago))
    with pytest.raises(BuildError, match="exit code 7"):
        obtain()
    assert len(asked.read_text().splitlines()) > times


def test_a_compiler_that_fails_in_silence_has_a_reason_too(script: Script) -> None:
    script("exit 7")
    assert native.status().reason == "the compiler failed: exit code 7"


def test_a_program_that_cannot_be_run_is_a_reason(script: Script) -> None:
    script("").write_text("#!/no/such/interpreter\n")
    assert native.status().reason.startswith("the compiler doesn't run: ")


@needs_compiler
def test_an_error_in_one_source_ends_the_others(tmp_path: Path, folder: Path, script: Script) -> None:
    (folder / "bad.cpp").write_text("this is not C++;\n")
    (folder / "zlong.cpp").write_text("")
    waiting = tmp_path / "waiting"
    script(f'case "$*" in *zlong*) echo $$ > "{waiting}"; exec sleep 100;; *) exec {REAL} "$@";; esac')
    begun = time.monotonic()
    with pytest.raises(BuildError, match=r"bad.cpp:1.*error"):
        obtain()
    assert time.monotonic() - begun < 60
    if waiting.exists():  # else it was ended before it could say so
        with pytest.raises(ProcessLookupError):
            os.kill(int(waiting.read_text()), 0)
    assert not in_cache(tmp_path, ".build-*")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes here")
def test_a_compiler_that_takes_too_long_ends_with_all_it_started(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    script(f'[ "$1" = --version ] && exit 0\nsh -c \'echo $$ > "{pid}"; sleep 60; :\' &\nwait')
    monkeypatch.setattr(build, "SECONDS", 0.5)
    assert native.library() is None
    worker = int(pid.read_text())
    for _ in range(50):
        if not Path(f"/proc/{worker}").exists() or "State:\tZ" in Path(f"/proc/{worker}/status").read_text():
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    raise AssertionError("the program that the driver started goes on")


def test_a_compiler_that_never_ends_is_stopped(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SECONDS", 0.2)
    script("exec sleep 100")
    assert native.status().reason == "the compiler took longer than 0.2 s"


@needs_compiler
def test_a_cache_that_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    assert native.library() is None
    assert native.status().reason.startswith("the cache folder can't be used: ")
    assert str(tmp_path / "cache") in native.status().reason


@needs_compiler
@pytest.mark.parametrize("left", [0.0, 0.3, 0.99])
def test_a_damaged_library_is_built_again(tmp_path: Path, left: float) -> None:
    """To load one that was cut off would end the process."""
    path = obtain().path
    whole = path.read_bytes()
    path.write_bytes(whole[: int(left * len(whole))])
    assert native.status().active, native.status().reason
    assert native.status().library in in_cache(tmp_path)
    assert native.status().vectors == "tiny"


@needs_compiler
def test_a_library_that_cannot_be_loaded_is_a_reason(tmp_path: Path, script: Script) -> None:
    """Such as one for another system: whole, but not for here."""
    script('for last; do :; done; echo "not a library" > "$last"')  # the last word is the file to be written
    assert native.library() is None
    assert native.status().reason.startswith("the library can't be loaded: ")
    assert native.status().compiler == str(tmp_path / "compiler")


# Several processes

BUILD = """
import sys
from pathlib import Path
from rnnlab.kernels import build
build.FOLDER = Path(sys.argv[1])
print(build.obtain().path)
"""


def start_building(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


@needs_compiler
def test_an_interrupted_build_leaves_nothing_that_is_used(tmp_path: Path, folder: Path, script: Script) -> None:
    began = tmp_path / "began"
    script(f'touch "{began}"; [ -e "{tmp_path}/go" ] || exec sleep 100; exec {REAL} "$@"')
    process = start_building(folder)
    with process:
        deadline = time.monotonic() + 60
        while not began.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    assert not in_cache(tmp_path)
    assert len(in_cache(tmp_path, ".build-*")) == 1  # nobody could take it away
    (tmp_path / "go").touch()
    assert native.status().active, native.status().reason
    assert len(in_cache(tmp_path)) == 1
    assert not in_cache(tmp_path, ".build-*")


@needs_compiler
def test_processes_that_want_it_at_the_same_time_get_one_library(tmp_path: Path, folder: Path, script: Script) -> None:
    calls = tmp_path / "calls"
    script(f'echo called >> "{calls}"; sleep 0.5; exec {REAL} "$@"')
    processes = [start_building(folder) for _ in range(3)]
    told = {process.communicate(timeout=100)[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert told == {str(path) for path in in_cache(tmp_path)}
    assert len(told) == 1
    assert len(calls.read_text().split()) == 2  # one of them compiled and linked


# Without it


def test_training_works_without_native_code(reviews_csv: Path, tmp_path: Path) -> None:
    """With a compiler that must not be asked."""
    asked = tmp_path / "asked"
    (tmp_path / "compiler").write_text(f'#!/bin/sh\ntouch "{asked}"\nexit 1\n')
    (tmp_path / "compiler").chmod(0o755)
    words = ["train", str(reviews_csv), "--model", "gru", "--epochs", "1", "--set", "model.hidden=4"]
    done = subprocess.run(
        [sys.executable, "-m", "rnnlab", *words, "--out", str(tmp_path / "runs")],
        env=os.environ | {native.SWITCH: "off", "CXX": str(tmp_path / "compiler")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ccuracy" in done.stdout
    assert not asked.exists()
