"""The command line in this process, with its error handling: exit code, standard output, standard error."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rnnlab.cli.main import main

DATA = os.environ.get("RNNLAB_DATA")  # before the tests take it away
SMALL = ("--epochs", "1", "--jobs", "0", "--set", "model.embedding.width=8")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as JSON; NaN and infinity are no JSON."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))

    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Command = Callable[..., Done]


def run_command(*arguments: str, stdin: bytes = b"") -> Done:
    out, err = io.StringIO(), io.StringIO()
    kept = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["rnnlab", *arguments], io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code
    else:
        code = 0
    finally:
        sys.argv, sys.stdin = kept
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in messages are then the same everywhere, and so are line breaks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("RNNLAB_DATA", raising=False)


@pytest.fixture
def data_folder(monkeypatch: pytest.MonkeyPatch) -> str:
    """The public data sets, for the few tests here that need them."""
    if not DATA:
        pytest.skip("RNNLAB_DATA isn't set")
    monkeypatch.setenv("RNNLAB_DATA", DATA)
    return DATA


@pytest.fixture
def rnnlab() -> Command:
    """``rnnlab("compare", "reviews.csv", stdin=b"")``."""
    return run_command


@pytest.fixture
def small() -> tuple[str, ...]:
    """Options that make a comparison quick."""
    return SMALL


@dataclass(frozen=True)
class Compared:
    folder: Path  # with reviews.csv, runs/, table.md and table.csv
    command: tuple[str, ...]
    first: Done
    result: dict[str, Any]

    def run(self, label: str) -> str:
        """The path of a run of an arm or baseline."""
        arms = self.result["arms"] + self.result["baselines"]
        return next(arm["runs"][0]["path"] for arm in arms if arm["label"] == label)


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """One comparison, for all tests that only look at what it left behind."""
    folder = tmp_path_factory.mktemp("compared")
    words = {"good": ["great", "fine", "lovely"], "bad": ["awful", "dull", "poor"]}
    rows = []
    for number in range(80):
        label = ("bad", "good")[number % 2]
        rows.append(f"the {words[label][number % 3]} film number {number},{label},{('short', 'long')[number // 2 % 2]}")
    (folder / "reviews.csv").write_text("\n".join(["text,label,kind", *rows]) + "\n", encoding="utf-8")
    command = (
        *("compare", str(folder / "reviews.csv"), "--tag", "kind", "--models", "rnn,textcnn", "--seeds", "2"),
        *("--epochs", "12", "--jobs", "0", "--set", "model.embedding.width=8", "--set", "training.lr=0.03"),
        *("--set", "arms.rnn.model.hidden=8", "--out", str(folder / "runs"), "--json"),
        *("--markdown", str(folder / "new" / "table.md"), "--csv", str(folder / "new" / "table.csv")),
    )
    first = run_command(*command)
    return Compared(folder, command, first, first.json())
