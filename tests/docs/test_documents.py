"""What is written is true: examples in help texts parse, those in the README run, experiment files are fine."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from rnnlab.cli.main import app
from rnnlab.core.config import read_toml
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.sweeps.plan import experiment_tree, is_sweep
from rnnlab.sweeps.sweep_file import read_sweep

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
FENCE = re.compile(
    r"^(?P<skip><!-- not run[^\n]*-->\n+)?(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<content>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """("data get", its click command), for every command that does something."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def parse(line: str) -> None:
    """Fail unless a command line names a command, with options and arguments that it takes."""
    words = shlex.split(line, comments=True)
    end = min((words.index(word) for word in (">", ">>", "|", "<", "&&", "2>") if word in words), default=len(words))
    assert words[0] == "rnnlab", line
    arguments = words[1:end]
    command: Any = typer.main.get_command(app)
    context = command.make_context("rnnlab", arguments) if arguments[:1] not in (["--version"], ["--help"]) else None
    while context is not None and hasattr(command, "commands"):
        name, command, arguments = command.resolve_command(context, arguments)
        if {"-h", "--help"} & set(arguments):
            return
        context = command.make_context(name, arguments, parent=context)


def blocks(text: str, *languages: str) -> list[str]:
    """Fenced blocks of a language; one below the comment ``<!-- not run: why -->`` is left out."""
    found = [match for match in FENCE.finditer(text) if match["language"] in languages and not match["skip"]]
    return ["".join(line.removeprefix(m["indent"]) for line in m["content"].splitlines(True)) for m in found]


def command_lines(text: str) -> list[str]:
    """``rnnlab …`` in shell blocks, with or without a prompt, continued lines joined. In a console block with
    prompts the other lines are output."""
    lines = []
    for block in blocks(text, "console", "bash", "sh", "shell"):
        joined = block.replace("\\\n", " ")
        prompted = re.search(r"^\$ ", joined, re.MULTILINE) is not None
        for line in joined.splitlines():
            if not prompted or line.startswith("$ "):
                start = re.search(r"(?:^|[|;&] *)(rnnlab .*)", line.removeprefix("$ ").strip())
                lines += [start[1]] if start else []
    return lines


def read(name: str) -> str:
    path = ROOT / name
    assert path.is_file(), f"{name} is missing"
    return path.read_text(encoding="utf-8")


# Help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_parses(name):
    lines = [line.strip() for line in (COMMANDS[name].help or "").splitlines()]
    examples = [line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")]
    assert examples
    for example in examples:
        assert example.startswith(f"rnnlab {name}")
        parse(example)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text_or_speaks_for_itself(name):
    silent = [p.opts[0] for p in COMMANDS[name].params if p.opts[0].startswith("--") and not p.help]
    assert set(silent) <= {"--seed"}


@pytest.mark.parametrize(
    "line",
    ["rnnlab compar", "rnnlab compare --modles x", "rnnlab data get", "rnnlab runs a b", "rnnlab train --seed x"],
)
def test_the_parser_of_these_tests_refuses_mistakes(line):
    with pytest.raises(Exception, match=r"No such|Missing|unexpected|valid integer"):
        parse(line)


# The READMEs


@pytest.mark.parametrize("readme", READMES)
def test_every_command_is_mentioned(readme):
    text = read(readme)
    missing = [name for name in COMMANDS if not re.search(rf"\brnnlab {name}\b", text)]
    assert not missing


@pytest.mark.parametrize("readme", READMES)
def test_command_lines_parse(readme):
    lines = command_lines(read(readme))
    assert lines
    for line in lines:
        parse(line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the READMEs are followed, one after the other: what the first computed, the second finds."""
    return tmp_path_factory.mktemp("readme")


RUN_BLOCKS = """
import sys
names = {"__name__": "__main__"}
for number, block in enumerate(sys.stdin.read().split("\\0"), 1):
    exec(compile(block, f"python block {number}", "exec"), names)
"""


@pytest.mark.parametrize("readme", READMES)
def test_python_blocks_run(readme, folder):
    """Top to bottom, in one session, beside the tables that they name."""
    python = blocks(read(readme), "python")
    assert python
    words = {"good": ["great", "fine", "lovely"], "bad": ["awful", "dull", "poor"]}
    rows = [f"the {words[label][n % 3]} film number {n},{label}" for n in range(30) for label in words]
    for name in {"reviews.csv", *re.findall(r"[\"']([\w./-]+\.csv)[\"']", "\n".join(python))}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN_BLOCKS],
        input="\0".join(python),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=240,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("readme", READMES)
def test_links_lead_somewhere(readme):
    text = re.sub(r"```.*?```", "", read(readme), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        assert target.startswith(("https://", "http://")) or (ROOT / target).exists(), target


# Experiment files


def files(folder: str, suffix: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob(f"*{suffix}"))


@pytest.mark.parametrize("name", [*files("experiments", ".toml"), *files("examples", ".toml")])
def test_experiment_files_are_fine(name, monkeypatch):
    """A file for a plugin names it, in the comment that says how to run it: ``--plugin examples/mine.py``."""
    monkeypatch.chdir(ROOT)
    plugins = re.findall(r"--plugin \S+\.py", read(name))
    if plugins:  # in a process of its own: what a plugin registers would stay
        command = [sys.executable, "-m", "rnnlab", "check", name, *plugins[0].split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    elif is_sweep(read_toml(name)):
        for quick in (False, True):
            assert read_sweep(name, quick=quick).studies
    else:
        parse_experiment(experiment_tree(name), name)


def test_the_sweeps_of_the_guide_are_fine(tmp_path):
    examples = blocks(read("docs/sweeps.md"), "toml")
    assert len(examples) == 2
    for example in examples:
        (tmp_path / "sweep.toml").write_text(example, encoding="utf-8")
        for quick in (False, True):
            assert read_sweep(tmp_path / "sweep.toml", quick=quick).studies


@pytest.mark.parametrize("name", files("docs", ".md"))
def test_command_lines_of_the_guides_parse(name):
    for line in command_lines(read(name)):
        parse(line)


@pytest.mark.parametrize("name", files("docs", ".md"))
def test_links_of_the_guides_lead_somewhere(name):
    text = re.sub(r"```.*?```", "", read(name), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("https://", "http://")) and not target.startswith("../runs/"):
            assert ((ROOT / name).parent / target).exists(), target


@pytest.mark.parametrize("name", files("examples", ".py"))
def test_examples_compile(name):
    compile(read(name), name, "exec")
