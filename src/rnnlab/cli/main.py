"""The command line: a thin skin over the Python API. Verbs import what they need when they are called."""

import io
import os
import sys
from contextlib import ExitStack
from importlib import import_module

import typer

from rnnlab.cli import options, translation
from rnnlab.core.errors import RnnlabError
from rnnlab.core.words import say, speaking
from rnnlab.core.wrapping import fitted

VERBS = (  # a module each, in the order of the help
    *("compare", "train", "sweep", "reproduce", "predict", "generate", "pack", "export", "serve"),
    *("inspect", "report", "judge", "runs", "new", "check", "audit", "doctor", "completion"),
)
GROUPS = {"data": "data", "list": "listing"}  # of verbs, and their modules

app: typer.Typer = typer.Typer(
    name="rnnlab",
    help="Measure which sequence model fits your data, see why, and keep the trained model.",
    epilog="Begin with: rnnlab compare (embedded data), or rnnlab compare reviews.csv",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
for _verb in VERBS:
    app.command(_verb)(getattr(import_module(f"rnnlab.cli.{_verb}"), _verb))
for _group, _module in GROUPS.items():
    app.add_typer(import_module(f"rnnlab.cli.{_module}").app, name=_group)


@app.callback(invoke_without_command=True)
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version."), lang: options.PageLanguage = None
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"rnnlab {installed('rnnlab')}")
        raise typer.Exit


def _complete(shell: str = "", *words: str) -> None:
    from rnnlab.cli.completing import answer

    print("\n".join(answer(translation.translated(app), shell, words)))


def main() -> None:
    """A user's mistake is said in words and ends with its exit code; only a mistake of ours shows a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Chinese on a terminal that has no Chinese: question marks, at least
            stream.reconfigure(errors="replace")
    with ExitStack() as stack:
        try:
            try:
                stack.enter_context(speaking(translation.asked_for(sys.argv[1:])))
                if sys.argv[1:2] == ["__complete"]:  # a shell asks, see cli.completion
                    _complete(*sys.argv[2:])
                    sys.exit(0)
                code = translation.translated(app)(prog_name="rnnlab", standalone_mode=False)  # however it was started
            finally:
                sys.stdout.flush()  # a pipe that was closed is noticed here, not when Python has ended
            sys.exit(code if isinstance(code, int) else 0)
        except translation.ClickException as error:
            translation.show_mistake(error)
            sys.exit(error.exit_code)
        except RnnlabError as error:
            print(fitted(f"rnnlab: {error}", sys.stderr), file=sys.stderr)
            sys.exit(error.exit_code)
        except BrokenPipeError:  # `rnnlab runs | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except OSError as error:  # no permission, no space, a file where a folder should be
            if os.environ.get("RNNLAB_DEBUG"):
                raise
            print(f"rnnlab: {error.filename or say('the system')}: {error.strerror or error}", file=sys.stderr)
            sys.exit(1)
        except typer.Abort:  # the answer to a question was no answer
            print(say("Aborted!"), file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            print("\nrnnlab: " + say("interrupted"), file=sys.stderr)
            sys.exit(130)
