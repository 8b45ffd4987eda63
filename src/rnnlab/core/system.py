"""What not every system has. Nothing else in rnnlab may need it: where it is missing, less is known or promised, and
`rnnlab doctor` says so."""

import ctypes
import importlib.util
import multiprocessing
import sys
from pathlib import Path
from typing import Any

from rnnlab.core.words import note


def peak_memory_mb() -> float | None:
    """The most memory that this process ever held; None where the system doesn't say."""
    try:
        import resource
    except ImportError:
        return _peak_on_windows()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


class _Counters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS of psapi.h."""

    _fields_ = (
        *(("cb", ctypes.c_uint32), ("PageFaultCount", ctypes.c_uint32)),
        *(("PeakWorkingSetSize", ctypes.c_size_t), ("WorkingSetSize", ctypes.c_size_t)),
        *(("QuotaPeakPagedPoolUsage", ctypes.c_size_t), ("QuotaPagedPoolUsage", ctypes.c_size_t)),
        *(("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t), ("QuotaNonPagedPoolUsage", ctypes.c_size_t)),
        *(("PagefileUsage", ctypes.c_size_t), ("PeakPagefileUsage", ctypes.c_size_t)),
    )


def _peak_on_windows() -> float | None:
    libraries: Any = getattr(ctypes, "windll", None)
    if libraries is None:
        return None
    counters = _Counters(cb=ctypes.sizeof(_Counters))
    try:
        this = libraries.kernel32.GetCurrentProcess
        this.restype = ctypes.c_void_p  # a handle has 64 bits, and an int would cut it
        ask = libraries.psapi.GetProcessMemoryInfo
        ask.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Counters), ctypes.c_uint32)
        known = ask(this(), ctypes.byref(counters), counters.cb)
    except (OSError, AttributeError):
        return None
    return counters.PeakWorkingSetSize / (1024 * 1024) if known else None


def start_method() -> str:
    """How a process for a run is started: from a server that has imported torch, where the system can fork."""
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def differences() -> dict[str, str]:
    """What is otherwise here than on Linux: a name and a sentence for each."""
    found = {}
    if importlib.util.find_spec("fcntl") is None:
        found["locks"] = note(
            "no file locks: don't let two commands compute the same runs in one folder at the same time"
        )
    if start_method() != "forkserver":
        found["processes"] = note("every run imports torch anew, which takes some seconds; --jobs 0 doesn't")
    if sys.platform == "win32":
        found["stopping"] = note(
            "Ctrl-C ends runs of --jobs at once: they go on from their last checkpoint, not from here"
        )
    if peak_memory_mb() is None:
        found["peak memory"] = note("it can't be measured, and reports leave it out")
    if not Path("/proc/self/status").exists():
        found["memory limit"] = note("--limit-memory can't be held, and is refused")
    return found
