"""How long a person waits for the first word: `rnnlab --help`, and one prediction against `import torch` alone."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from table import Row
from trained import trained
from turns import Effort, ratios


def measure(effort: Effort) -> Iterator[Row]:
    script = Path(sys.executable).with_name("rnnlab")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "rnnlab"]
    helped, predicted, imported = [], [], []
    for _ in effort.turns(quick=5, full=15):
        helped.append(seconds_of([*command, "--help"]))
        predicted.append(seconds_of([*command, "predict", str(trained()), "not good at all"]))
        imported.append(seconds_of([sys.executable, "-c", "import torch"]))
    yield Row("startup", "rnnlab --help", 0.3, tuple(helped), better="lower", unit="seconds")
    yield Row(
        "startup",
        "rnnlab predict of one text, vs import torch",
        1.2,
        ratios(predicted, imported),
        better="lower",
        details={"predict_seconds": predicted, "import_torch_seconds": imported},
    )


def seconds_of(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started
