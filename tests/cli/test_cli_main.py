"""What holds for every command: light, with help, and kind about mistakes."""

import re
import subprocess
import sys
import time

import pytest

from rnnlab.core.wrapping import columns

COMMANDS = (
    *(
        "",
        "compare",
        "train",
        "sweep",
        "reproduce",
        "report",
        "judge",
        "pack",
        "export",
        "serve",
        "predict",
        "generate",
        "inspect",
        "runs",
        "new",
        "check",
        "audit",
        "doctor",
        "completion",
        "data",
        "data list",
        "data get",
        "data profile",
    ),
    *("list", "list models", "list tasks", "list vectors"),
)


def test_help_does_not_import_torch():
    started = time.perf_counter()
    command = [sys.executable, "-X", "importtime", "-m", "rnnlab", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    print(f"rnnlab --help: {time.perf_counter() - started:.2f} s")
    assert done.returncode == 0
    assert "compare" in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "rnnlab.cli.main" in imported
    assert not imported & {"torch", "numpy", "sklearn", "scipy", "pydantic"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command or "rnnlab")
def test_help(rnnlab, snapshot, command):
    done = rnnlab(*command.split(), "--help")
    assert done.code == 0
    assert done.out == snapshot
    assert rnnlab(*command.split(), "-h").out == done.out


def test_the_list_of_commands_is_complete(rnnlab):
    for group in ("", "data", "list"):
        text = rnnlab(*group.split(), "--help").out
        names = re.findall(r"^  (\w+) ", text.split("Commands:\n")[1].split("\n\n")[0], re.MULTILINE)
        assert names
        for name in names:
            assert f"{group} {name}".strip() in COMMANDS


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command or "rnnlab")
def test_help_fits(rnnlab, monkeypatch, command, width, language):
    """Nothing is cut off, and no line is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(width))
    usage, *lines = rnnlab(*command.split(), "--help", "--lang", language).out.splitlines()
    assert columns(usage) <= width
    assert lines
    for line in lines:
        assert columns(line) <= width, line
        assert not line.endswith(("...", "…")) or line.strip().startswith("-"), line


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("group", ["", "data", "list"])
def test_every_verb_is_said_in_one_line_of_80_columns(rnnlab, monkeypatch, group, language):
    monkeypatch.setenv("COLUMNS", "80")
    text = rnnlab(*group.split(), "--help", "--lang", language).out
    listed = text.split("Commands:\n" if language == "en" else "命令：\n")[1].split("\n\n")[0]
    for line in listed.splitlines():
        assert re.match(r"  \w+ +\S.*[.。？?]$", line), line


def test_version(rnnlab):
    assert re.fullmatch(r"rnnlab \d+\.\d+\.\d+\S*\n", rnnlab("--version").out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("compar",),
        ("compare", "--modles", "rnn"),
        ("compare", "--seeds", "many"),
        ("compare", "--models", ","),
        ("train", "--seed", "-1"),
        ("predict",),
        ("data", "fetch"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(rnnlab, snapshot, arguments):
    done = rnnlab(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


def test_trouble_with_the_file_system_is_said_in_words(rnnlab, reviews_csv, small, monkeypatch):
    done = rnnlab("compare", "reviews.csv", "--models", "rnn", *small, "--out", "reviews.csv")
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("rnnlab: reviews.csv")
    monkeypatch.setenv("RNNLAB_DEBUG", "1")
    with pytest.raises(NotADirectoryError):
        rnnlab("compare", "reviews.csv", "--models", "rnn", *small, "--out", "reviews.csv")


@pytest.mark.parametrize("option", ["--markdown", "--csv"])
def test_an_impossible_file_is_refused_before_the_training(rnnlab, reviews_csv, small, option, tmp_path):
    done = rnnlab("compare", "reviews.csv", "--models", "rnn", *small, option, "reviews.csv/table")
    assert done.code == 1
    assert done.err == "rnnlab: reviews.csv: File exists\n"
    assert not (tmp_path / "runs").exists()


def test_a_closed_pipe_is_no_error(compared):
    """`rnnlab runs | head -0`"""
    command = [sys.executable, "-m", "rnnlab", "runs", str(compared.folder / "runs"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
