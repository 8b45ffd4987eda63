"""What the processor calls itself: the speed of a run means little without it."""

import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

LINUX = Path("/proc/cpuinfo")
MACOS = ("sysctl", "-n", "machdep.cpu.brand_string")


@cache
def processor_name() -> str:
    """Read once. Where the system doesn't tell, the kind of machine: never empty, never an error."""
    try:
        told = _told_by_macos() if sys.platform == "darwin" else model_name(LINUX.read_text(errors="replace"))
    except (OSError, subprocess.SubprocessError):  # no such file or program here
        told = ""
    return " ".join(told.split()) or platform.processor() or platform.machine() or "unknown"


def model_name(cpuinfo: str) -> str:
    """Of the first core; empty where Linux doesn't tell, as on most ARM machines."""
    pairs = (line.partition(":") for line in cpuinfo.splitlines())
    return next((value for key, _, value in pairs if key.strip() == "model name"), "")


def _told_by_macos() -> str:
    return subprocess.run(MACOS, capture_output=True, text=True, errors="replace", timeout=10, check=True).stdout
