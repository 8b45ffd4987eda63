"""What bits and speed depend on besides the spec."""

import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rnnlab import kernels as native

LINUX = Path("/proc/cpuinfo")
MACOS = ("sysctl", "-n", "machdep.cpu.brand_string")


def environment(threads: int) -> dict[str, Any]:
    import torch  # `doctor` asks for the processor alone

    return {
        "rnnlab": version("rnnlab"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": processor_name(),
        "system": platform.system(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": threads,
        "kernels": "torch"
        if native.ready() is None
        else f"native {native.status().vectors} revision {native.REVISION}",
    }


@cache
def processor_name() -> str:
    """What it calls itself, read once: the speed of a run means little without it. Where the system doesn't tell, the
    kind of machine: never empty, never an error."""
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
