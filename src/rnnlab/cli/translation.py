"""The command line in the reader's language: its help, and what typer says of mistakes.

Verbs and options are declared in English, as typer wants them. The commands that are made of that are translated before
they run; texts of typer's own, which knows one language, are recognised and told again (`words.retold`).
"""

import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import typer
from typer.main import get_command

from rnnlab.cli.hints import mistake_hint
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import LANGUAGES, Language, both, note, retold, say
from rnnlab.core.words import translated as translated_text
from rnnlab.core.wrapping import columns, wrapped

ClickException: Any = typer.BadParameter.__mro__[2]  # click's, or the one of the click within typer


def asked_for(arguments: Sequence[str]) -> Language | None:
    """The language that ``--lang`` names, wherever it stands: help and mistakes are told in it, too. A value that isn't
    a language is left for the verb to refuse."""
    given = os.environ.get("RNNLAB_LANG")
    if given and given not in LANGUAGES:
        raise ConfigError("RNNLAB_LANG={given}: it is en or zh", given=given)
    until = arguments[: arguments.index("--")] if "--" in arguments else arguments
    named = [value for option, value in pairwise(until) if option == "--lang"]
    named += [argument.removeprefix("--lang=") for argument in until if argument.startswith("--lang=")]
    return next((one for one in LANGUAGES if named and named[-1] == one), None)


def translated(app: typer.Typer) -> Any:
    """The command that ``app`` describes, in the current language."""
    command = get_command(app)
    for one, _ in _commands(command, ""):
        _translate(one)
    return command


def help_texts() -> Iterator[tuple[str, str]]:
    """(text, where) of all that the help says: a paragraph each, and what each option says."""
    from rnnlab.cli.main import app

    for command, name in _commands(get_command(app), ""):
        where = f"cli: rnnlab {name}".rstrip()
        for text in [*_paragraphs(command.help or ""), *_paragraphs(command.epilog or "")]:
            yield text, where
        for param in command.params:
            if getattr(param, "help", None) and not getattr(param, "hidden", False):
                yield param.help, where


def _commands(command: Any, name: str) -> Iterator[tuple[Any, str]]:
    yield command, name
    for own, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {own}".lstrip())


def _translate(command: Any) -> None:
    command.context_class = type("Context", (command.context_class,), {"formatter_class": _formatter(command)})
    paragraphs = _paragraphs(command.help or "")
    command.help = "\n\n".join(map(_said, paragraphs))
    if paragraphs:  # else typer makes one, and cuts it where the line ends
        command.short_help = _said(paragraphs[0])
    if command.epilog:
        command.epilog = _said(command.epilog)
    for param in command.params:
        if getattr(param, "help", None):
            param.help = _said(param.help)


def _paragraphs(text: str) -> list[str]:
    cleaned = textwrap.dedent(text).strip()
    return [" ".join(part.split()) for part in cleaned.split("\n\n") if part]


def _said(text: str) -> str:
    return translated_text(" ".join(text.split()))


# --- the layout of the help ----------------------------------------------------------------------------------------

HEADINGS = {"Arguments": both("Arguments"), "Options": both("Options"), "Commands": both("Commands")}


def _formatter(command: Any) -> type:
    """Typer's, which writes in the current language and knows how wide its letters are."""
    base: Any = command.context_class.formatter_class

    class Formatter(base):
        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            pieces = {"[OPTIONS]": say("[OPTIONS]"), "COMMAND [ARGS]...": say("COMMAND [ARGS]...")}
            for piece, said in pieces.items():
                args = args.replace(piece, said)
            super().write_usage(prog, args, say("Usage: "))

        def write_heading(self, heading: str) -> None:
            self.write(" " * self.current_indent + say("{heading}:", heading=HEADINGS.get(heading, heading)) + "\n")

        def write_text(self, text: str) -> None:
            indent = " " * self.current_indent
            paragraphs = [wrapped(part, self.width - self.current_indent) for part in text.split("\n\n")]
            self.write("\n\n".join("\n".join(indent + line for line in lines) for lines in paragraphs) + "\n")

        def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
            rows = [(first, _told(second)) for first, second in rows]
            column = min(max(map(columns, (first for first, _ in rows)), default=0), col_max) + col_spacing
            indent = " " * self.current_indent
            for first, second in rows:
                lines = wrapped(second, max(self.width - column - 2, 10)) or [""]
                room = " " * (column - columns(first))
                begin = f"{first}{room}{lines[0]}" if columns(first) <= column - col_spacing else first
                rest = lines[1:] if columns(first) <= column - col_spacing else lines
                for line in (begin, *(" " * column + line for line in rest)):
                    self.write(indent + line.rstrip() + "\n")

    return Formatter


def _told(text: str) -> str:
    """What typer adds to an option's help in brackets, and the help of --help."""
    text = text.replace("Show this message and exit.", say("Show this message and exit."))
    text = text.replace("[required]", say("[required]"))
    return re.sub(r"\[default: (.*?)(; required)?\]$", lambda found: say("[default: {value}]", value=found[1]), text)


# --- mistakes ------------------------------------------------------------------------------------------------------

TYPER_SAYS = (  # and older ones, which are click's
    note("No such option: {name}"),
    note("No such option: {name} (Possible options: {names})"),
    note("No such option: {name} Did you mean {names}?"),
    note("No such command {name}."),
    note("No such command {name}. Did you mean {names}?"),
    note("Missing command."),
    note("Missing argument {name}."),
    note("Missing option {name}."),
    note("Got unexpected extra argument(s) ({names})"),
    note("Got unexpected extra argument ({names})"),
    note("Got unexpected extra arguments ({names})"),
    note("Option {name} requires an argument."),
    note("Option {name} requires {number:d} arguments."),
    note("Option {name} does not take a value."),
    note("Invalid value: {problem}"),
    note("Invalid value for {name}: {problem}"),
    note("Input should be a valid integer, unable to parse string as an integer"),
    note("Input should be a valid number, unable to parse string as a number"),
    note("Input should be greater than or equal to {limit:d}"),
    note("Input should be less than or equal to {limit:d}"),
    note("Input should be {choices}"),
    note("{value} is not a valid integer."),
    note("{value} is not a valid float."),
    note("{value} is not in the range {range}."),
    note("{value} is not one of {choices}."),
    note("Value error, {problem}"),
)


def show_mistake(error: Any) -> None:
    """As typer shows it: how the verb is used, then what is wrong."""
    import sys

    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return
    if context is not None:
        print(context.get_usage(), file=sys.stderr)
        hint = say("Try '{command} {option}' for help.", command=context.command_path, option="-h")
        print(f"{hint}\n", file=sys.stderr)
    hint = mistake_hint(error)
    if hint and hasattr(error, "possibilities"):
        error.possibilities = None  # which look alike, and mean something else
    print(say("Error: {problem}", problem=retold(error.format_message())), file=sys.stderr)
    if hint:
        print(hint, file=sys.stderr)
