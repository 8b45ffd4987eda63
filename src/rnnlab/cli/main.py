"""The command line: a thin skin over the Python API. Verbs import what they need when they are called."""

import os
import sys
from contextlib import ExitStack

import typer

from rnnlab.cli import (
    audit,
    check,
    compare,
    data,
    doctor,
    export,
    inspect,
    judge,
    listing,
    new,
    options,
    pack,
    predict,
    report,
    reproduce,
    runs,
    serve,
    sweep,
    train,
    translation,
)
from rnnlab.core.errors import RnnlabError
from rnnlab.core.words import say, speaking

app = typer.Typer(
    name="rnnlab",
    help="Measure which sequence model fits your data, see why, and keep the trained model.",
    epilog="Begin with: rnnlab compare (embedded data), or rnnlab compare reviews.csv",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
app.command("compare")(compare.compare)
app.command("train")(train.train)
app.command("sweep")(sweep.sweep)
app.command("reproduce")(reproduce.reproduce)
app.command("predict")(predict.predict)
app.command("pack")(pack.pack)
app.command("export")(export.export)
app.command("serve")(serve.serve)
app.command("inspect")(inspect.inspect)
app.command("report")(report.report)
app.command("judge")(judge.judge)
app.command("runs")(runs.runs)
app.command("new")(new.new)
app.command("check")(check.check)
app.command("audit")(audit.audit)
app.command("doctor")(doctor.doctor)
app.add_typer(data.app, name="data")
app.add_typer(listing.app, name="list")


@app.callback(invoke_without_command=True)
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version."),
    lang: options.PageLanguage = None,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"rnnlab {installed('rnnlab')}")
        raise typer.Exit


def main() -> None:
    """A user's mistake is said in words and ends with its exit code; only a mistake of ours shows a traceback."""
    with ExitStack() as stack:
        try:
            try:
                stack.enter_context(speaking(translation.asked_for(sys.argv[1:])))
                code = translation.translated(app)(prog_name="rnnlab", standalone_mode=False)  # however it was started
            finally:
                sys.stdout.flush()  # a pipe that was closed is noticed here, not when Python has ended
            sys.exit(code if isinstance(code, int) else 0)
        except translation.ClickException as error:
            translation.show_mistake(error)
            sys.exit(error.exit_code)
        except RnnlabError as error:
            print(f"rnnlab: {error}", file=sys.stderr)
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
