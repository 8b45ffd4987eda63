"""Tab: what a shell is told, and real shells that are told it."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rnnlab.answers.label import Label
from rnnlab.answers.multi_label import MultiLabel
from rnnlab.cli import completing
from rnnlab.cli.completion import SCRIPTS
from rnnlab.data import catalogue
from rnnlab.models.base import ARCHITECTURES
from rnnlab.sweeps.plan import KNOWN_DATA, SHORT_NAMES
from rnnlab.tasks.base import TASKS

NUMBERED = ["000-movie-reviews", "001-addition", "002-imdb", "003-birnn-textcnn", "004-rules-of-thumb"]


def test_names_are_those_of_the_registries():
    shipped = {cls.kind for cls in ARCHITECTURES if cls.__module__.startswith("rnnlab.models")}
    assert set(completing.model_names()) == shipped | set(SHORT_NAMES)
    assert set(completing.task_names()) == {cls.kind for cls in TASKS if cls.__module__.startswith("rnnlab.tasks")}
    assert completing.data_set_names() == list(KNOWN_DATA)
    assert set(completing.METRICS) == set(Label().metrics)
    assert set(completing.LABEL_METRICS) == set(MultiLabel().metrics)
    assert set(catalogue.names()) < set(completing.data_set_names())


@pytest.fixture
def asked(rnnlab):
    """``asked("compare --mod")``: the values, and the meanings of those that have one."""

    def complete(line: str, shell: str = "fish") -> dict[str, str]:
        done = rnnlab("__complete", shell, *line.split(" "))
        assert (done.code, done.err) == (0, "")
        kind, *lines = done.out.splitlines()
        assert kind in ("words", "files")
        return {value: meaning for value, _, meaning in (one.partition("\t") for one in lines)}

    return complete


@pytest.fixture
def _files(reviews_csv):
    Path("mine.toml").write_text("[study.one]\nabout = '一'\n[study.other]\n", encoding="utf-8")
    Path("表.csv").write_text("评论内容,评价\n很好,好评\n", encoding="gb18030")
    Path("page.html").touch()
    Path("plugin.py").write_text('@rnnlab.architecture("mine")\nclass Mine: ...\n', encoding="utf-8")
    Path("model.rnnlab").touch()
    run = Path("runs/0123456789abcdef")
    run.mkdir(parents=True)
    (run / "spec.json").write_text('{"model": {"kind": "gru"}, "task": {"data": "imdb"}, "seed": 2}', encoding="utf-8")


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("comp", ["compare", "completion"]),
        ("--ver", ["--version"]),
        ("--lang z", ["zh"]),
        ("--lang zh tra", ["train"]),
        ("data ", ["list", "get", "profile"]),
        ("data get i", ["imdb"]),
        ("list models gru", ["gru", "gru-cnn", "gru-plain"]),
        ("list tasks add", ["adding", "addition"]),
        ("compare --mod", ["--models"]),
        ("compare --models rnn --mod", []),
        ("compare --set training.lr=1 --se", ["--seeds", "--season", "--series", "--set"]),
        ("compare --set training.l", ["training.lr="]),
        ("compare --models ls", ["lstm", "lstm-plain"]),
        ("compare --models rnn,ls", ["rnn,lstm", "rnn,lstm-plain"]),
        ("compare --models=rnn,ls", ["--models=rnn,lstm", "--models=rnn,lstm-plain"]),
        ("compare --models lstm,ls", ["lstm,lstm-plain"]),
        ("compare --plugin plugin.py --models mi", ["mingru", "minlstm", "mine"]),
        ("train --model bi", ["bigru", "bilstm", "bilstm-crf", "birnn"]),
        ("compare --language ", ["en", "zh"]),
        ("compare --match p", ["parameters"]),
        ("compare --metric ma", ["macro-f1"]),
        ("compare --multi-label ; --metric m", ["micro-f1", "macro-f1"]),
        ("compare --device cu", ["cuda"]),
        ("compare --task par", ["parity"]),
        ("compare r", ["resume-ner", "reviews", "reviews.csv", "runs/"]),
        ("compare 00", NUMBERED),
        ("compare reviews.csv --text ", ["text", "label"]),
        ("compare reviews.csv --label l", ["label"]),
        ("compare 表.csv --text ", ["评论内容", "评价"]),
        ("compare --report p", ["page.html"]),
        ("compare --out r", ["runs/"]),
        ("sweep mi", ["mine.toml"]),
        ("sweep mine.toml --only o", ["one", "other"]),
        ("sweep mine.toml --only one,o", ["one,other"]),
        ("reproduce 001 00", NUMBERED),
        ("check memo", ["memory"]),
        ("predict ", ["runs/0123456789abcdef", "model.rnnlab", "runs/"]),
        ("predict runs/0", ["runs/0123456789abcdef"]),
        ("inspect runs/0", ["runs/0123456789abcdef"]),
        ("judge r", ["reviews.csv", "runs/"]),
        ("judge --cost-unit s", ["seconds"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("compare -- --mod", []),
        ("nonsense ", None),
    ],
)
def test_what_may_come_next(asked, line, values):
    if values is None:  # nobody knows: the verbs
        assert "compare" in asked(line)
    else:
        assert list(asked(line)) == values


@pytest.mark.usefixtures("_files")
def test_meanings(asked):
    assert asked("compare --mod") == {"--models": "Models to compare (all)."}
    assert asked("predict runs/0")["runs/0123456789abcdef"] == "gru, imdb, seed 2"
    assert asked("sweep mine.toml --only o") == {"one": "一", "other": ""}


def test_every_option_that_names_its_choices_completes_them(asked, rnnlab):
    """Also those that come later, by the letter of their help: en|zh."""
    for verb in ("compare", "train"):
        for option, metavar in re.findall(r"^  (--[\w-]+) ([\w-]+(?:\|[\w-]+)+)", rnnlab(verb, "--help").out, re.M):
            assert list(asked(f"{verb} {option} ")) == metavar.split("|")


def test_bash_gets_what_comes_behind_the_signs_where_it_splits_words(asked):
    assert list(asked("compare --models = rnn,ls", "bash")) == ["rnn,lstm", "rnn,lstm-plain"]
    assert list(asked("compare --lang =", "bash")) == ["en", "zh"]
    assert list(asked("compare --set training.l", "bash")) == ["training.lr="]


def test_it_is_quick():
    """It loads nothing that --help doesn't."""
    command = [sys.executable, "-X", "importtime", "-m", "rnnlab", "__complete", "bash", "compare", "--models", "ls"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "words\nlstm\nlstm-plain\n"
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {"torch", "numpy", "sklearn", "scipy", "pydantic", "rich"}


# --- real shells -----------------------------------------------------------------------------------------------------


SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} isn't installed"))
    for shell in SCRIPTS
]


@pytest.fixture
def path_with_rnnlab(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "rnnlab").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rnnlab "$@"\n', encoding="utf-8")
    (folder / "rnnlab").chmod(0o755)
    source = str(Path(completing.__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")])))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("HOME", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one(shell, tmp_path):
    (tmp_path / "script").write_text(SCRIPTS[shell], encoding="utf-8")
    done = subprocess.run([shell, "-n", "script"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("path_with_rnnlab", "reviews_csv")
@pytest.mark.parametrize(
    ("words", "replies"),
    [
        (("co",), ["compare", "completion"]),
        (("compare", "--models", "rnn,ls"), ["rnn,lstm", "rnn,lstm-plain"]),
        (("compare", "--models", "=", "rnn,ls"), ["rnn,lstm", "rnn,lstm-plain"]),
        (("sweep", "00"), NUMBERED),
        (("judge", "re"), ["reviews.csv"]),
        (("judge", "ho"), ["home"]),
    ],
)
def test_bash_replies(words, replies):
    script = 'eval "$(rnnlab completion bash)"; COMP_WORDS=(rnnlab "$@"); COMP_CWORD=$#; _rnnlab rnnlab; '
    command = ["bash", "-c", script + 'printf "%s\\n" "${COMPREPLY[@]}"', "bash", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr) == (replies, "")


def plain(text: str) -> str:
    """Without colours, bells and moves of the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", text)


def typed_into(shell: str, setup: str, keys: str, until: str) -> str:
    """What an interactive shell shows after some keys, once that holds ``until``; or after a minute."""
    start = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-i"], "fish": ["fish", "-i"]}[shell]
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(start[0], start)
    shown = ""

    def read_on(wanted: str) -> None:
        nonlocal shown
        end = time.monotonic() + 60
        while wanted not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                shown = plain(shown + os.read(terminal, 65536).decode(errors="replace"))

    try:
        os.write(terminal, f"{setup}; echo is''ready\n".encode())
        read_on("isready")
        shown = ""
        os.write(terminal, keys.encode())
        read_on(until)
    finally:
        os.kill(child, 9)
        os.close(terminal)
        os.waitpid(child, 0)
    return shown


SETUP = {
    "bash": 'eval "$(rnnlab completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -u -D; eval "$(rnnlab completion zsh)"',
    "fish": "rnnlab completion fish | source",
}


@pytest.mark.usefixtures("path_with_rnnlab")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("keys", "until"),
    [("rnnlab compare --models=rnn,ls\t", "--models=rnn,lstm"), ("rnnlab sweep 001\t", "sweep 001-addition ")],
)
def test_the_tab_key(shell, keys, until):
    assert until in typed_into(shell, SETUP[shell], keys, until)


@pytest.mark.usefixtures("path_with_rnnlab")
@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "home/bash-completion/completions/rnnlab"),
        ("zsh", "home/.zfunc/_rnnlab"),
        ("fish", "home/fish/completions/rnnlab.fish"),
    ],
)
def test_install_writes_the_script_where_the_shell_looks(rnnlab, tmp_path, shell, place):
    done = rnnlab("completion", shell, "--install")
    assert done.code == 0, done.err
    assert (tmp_path / place).read_text("utf-8") == SCRIPTS[shell] == rnnlab("completion", shell).out
    assert str(tmp_path / place) in done.out
