"""Windows and macOS lack what Linux has: rnnlab imports, compares and says so there too."""

import ctypes
import importlib.util
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rnnlab.api.doctor import examine
from rnnlab.core import files, system

WITHOUT = """
import builtins, importlib, os, pkgutil, signal, sys, types

ABSENT = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog", "readline", "curses"}
real = builtins.__import__

def guarded(name, globals=None, *rest, **more):
    # Only for rnnlab's own modules: those of other packages know which system they were installed for.
    if name.partition(".")[0] in ABSENT and str((globals or {}).get("__name__")).startswith("rnnlab"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return real(name, globals, *rest, **more)

builtins.__import__ = guarded

class Some(types.ModuleType):
    '''A module of which rnnlab sees a part.'''
    def __init__(self, module, absent):
        super().__init__(module.__name__)
        self.__dict__.update({name: value for name, value in vars(module).items() if name not in absent})

lean = {
    "os": Some(os, {"fork", "forkpty", "sched_getaffinity", "sysconf", "O_DIRECTORY", "getuid", "killpg", "uname"}),
    "signal": Some(signal, {"SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "alarm", "pause"}),
}
whole = guarded

def lean_for_rnnlab(name, globals=None, *rest, **more):
    if name in lean and str((globals or {}).get("__name__")).startswith("rnnlab"):
        return lean[name]
    return whole(name, globals, *rest, **more)

builtins.__import__ = lean_for_rnnlab
"""
IMPORT_ALL = """
import rnnlab
found = [module.name for module in pkgutil.walk_packages(rnnlab.__path__, "rnnlab.")]
names = [name for name in found if name != "rnnlab.__main__"]
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in ABSENT or str(error.name).startswith("rnnlab"):
            raise
print(len(names))
"""
COMPARE = """
from rnnlab.cli.main import app
import rnnlab.core.files
assert not hasattr(rnnlab.core.files.os, "fork")
app(sys.argv[1:], standalone_mode=False)
"""


def run_without(script: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, "-c", WITHOUT + script, *arguments]
    environment = {**os.environ, "RNNLAB_CACHE": str(folder / "cache"), "RNNLAB_NATIVE": "off"}
    environment["PYTHONPATH"] = str(Path(files.__file__).parents[2])
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_module_is_imported_without_what_other_systems_lack(tmp_path):
    assert int(run_without(IMPORT_ALL, folder=tmp_path).split()[-1]) > 200


def test_a_comparison_without_what_other_systems_lack(tmp_path):
    rows = [f"the {('awful', 'lovely')[n % 2]} film number {n},{('bad', 'good')[n % 2]}" for n in range(40)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    command = ("compare", "reviews.csv", "--models", "rnn", "--seeds", "2", "--epochs", "1", "--jobs", "0")
    told = run_without(COMPARE, *command, "--set", "model.embedding.width=4", "--out", "runs", folder=tmp_path)
    assert "rnn" in told
    assert len(list(tmp_path.glob("runs/*/result.json"))) >= 2


def test_without_any_way_to_ask_the_peak_of_memory_is_unknown(monkeypatch):
    assert 10 < (system.peak_memory_mb() or 0) < 1_000_000
    monkeypatch.setitem(sys.modules, "resource", None)
    assert system.peak_memory_mb() is None


@pytest.mark.parametrize(("known", "peak"), [(1, 300.0), (0, None)])
def test_the_peak_of_memory_on_windows(monkeypatch, known, peak):
    """As psapi is asked; that it answers so is a matter of a machine with Windows."""

    def tell(process: int, counters: object, size: int) -> int:
        found = counters._obj  # type: ignore[attr-defined]  # of byref
        assert (process, size) == (-1, ctypes.sizeof(system._Counters))
        found.PeakWorkingSetSize = 300 << 20
        return known

    libraries = SimpleNamespace(kernel32=SimpleNamespace(GetCurrentProcess=lambda: -1), psapi=SimpleNamespace())
    libraries.psapi.GetProcessMemoryInfo = tell
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(ctypes, "windll", libraries, raising=False)
    assert system.peak_memory_mb() == peak


def test_what_differs_is_said_by_the_doctor_in_a_line_each(monkeypatch):
    names = {"locks", "processes", "stopping", "peak memory", "memory limit"}
    if sys.platform == "linux":
        assert system.differences() == {}
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "fcntl" else found(name))
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    monkeypatch.setattr(system, "peak_memory_mb", lambda: None)
    monkeypatch.setattr(system, "Path", lambda path: SimpleNamespace(exists=lambda: False))
    monkeypatch.setattr(system, "sys", SimpleNamespace(platform="win32"))
    assert system.start_method() == "spawn"
    examination = examine()
    said = {check.name: check for check in examination.checks if check.name in names}
    assert said.keys() == names
    assert {check.word for check in said.values()} == {"off"}
    assert examination.healthy


def test_a_file_that_is_being_read_is_replaced_a_moment_later(tmp_path, monkeypatch):
    """Windows refuses to replace a file that another process has open."""
    refused = [PermissionError("in use"), PermissionError("in use")]
    real = os.replace

    def replace(*paths: Path) -> None:
        if refused:
            raise refused.pop()
        real(*paths)

    monkeypatch.setattr(files.os, "replace", replace)
    with pytest.raises(PermissionError):
        files.write_atomically(tmp_path / "a.txt", "one")
    monkeypatch.setattr(files.sys, "platform", "win32")
    files.write_atomically(tmp_path / "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    assert refused == []
