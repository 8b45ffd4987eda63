"""What a user reads: a command in a process of its own, and its words without what differs from machine to machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

CLOCK = re.compile(
    r"^(\[\d+/\d+\] .*|… \d+ of \d+ runs done.*|… \d+ runs?: about .*|… .*次运行.*"
    r"|building the native kernels.*|正在编译.*)$"
)
UNIT = re.compile(
    r"(\b(µs|ms|s|min)|(微秒|毫秒|秒|分钟))(?=/epoch|/轮)|(?<=total, )(ms|s|min|h)\b|(?<=总计（)(毫秒|秒|分钟|小时)"
)
RUN = re.compile(r"\b[0-9a-f]{16}\b")
NUMBER = re.compile(r"[−+-]?\d+(,\d{3})*(\.\d+)?( [KMG]\b)?")


def typed(folder: Path, *words: str, fails: bool = False, language: str = "en") -> str:
    """What ``rnnlab WORDS`` says, standard output first."""
    known = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "RNNLAB_LANG": language}
    done = subprocess.run(
        [sys.executable, "-m", "rnnlab", *words],
        cwd=folder, env=known, capture_output=True, text=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


def sentences(said: str) -> str:
    """Every sentence, with # for each number, RUN for each run, and without what only a clock decides."""
    lines = [line.rstrip() for line in said.splitlines() if not CLOCK.match(line)]
    told = UNIT.sub("time", "\n".join(lines))
    return re.sub(r"  +", "  ", NUMBER.sub("#", RUN.sub("RUN", told))).strip()


def run_in(said: str) -> str:
    """The run that is recommended to be used."""
    found = re.search(r"rnnlab predict (\S+)", said)
    assert found, said
    return found.group(1)
