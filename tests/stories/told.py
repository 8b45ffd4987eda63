"""What a user reads: the words of a command, without what differs from machine to machine."""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from rnnlab.cli.main import main

CLOCK = re.compile(
    r"^(\[\d+/\d+\] .*|… \d+ of \d+ runs done.*|… \d+ runs?: about .*|… .*次运行.*"
    r"|building the native kernels.*|正在编译.*)$"
)
UNIT = re.compile(
    r"(\b(µs|ms|s|min)|(微秒|毫秒|秒|分钟))(?=/epoch|/轮)|(?<=total, )(ms|s|min|h)\b|(?<=总计（)(毫秒|秒|分钟|小时)"
)
RUN = re.compile(r"\b[0-9a-f]{16}\b")
NUMBER = re.compile(r"[−+-]?\d+(,\d{3})*(\.\d+)?( [KMG]\b)?")


def typed(folder: Path, *words: str, language: str = "en", in_own_process: bool = False) -> str:
    """What ``rnnlab WORDS`` says, standard output first. In this process it says the same sooner, as torch is here."""
    known = {"COLUMNS": "100", "NO_COLOR": "1", "RNNLAB_LANG": language}
    if in_own_process:
        done = subprocess.run(
            [sys.executable, "-m", "rnnlab", *words],
            cwd=folder, env=os.environ | known, capture_output=True, text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr
    code, out, err = run_here(folder, *words, **known)
    assert code == 0, err
    return out + err


def run_here(folder: Path, *words: str, **environment: str) -> tuple[int, str, str]:
    """``rnnlab WORDS`` in this process: exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as here, redirect_stdout(out), redirect_stderr(err):
        here.chdir(folder)
        here.setattr(sys, "argv", ["rnnlab", *words])
        for name, value in environment.items():
            here.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main()
    assert isinstance(end.value.code, int)
    return end.value.code, out.getvalue(), err.getvalue()


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
