"""rnnlab list models | tasks | vectors"""

from typing import Annotated

import typer

app = typer.Typer(help="What there is to choose from.", no_args_is_help=True, rich_markup_mode=None)
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def models(as_json: Json = False) -> None:
    """Models with their settings and defaults.

    Example: rnnlab list models
    """
    from rnnlab.models.base import ARCHITECTURES
    from rnnlab.models.baselines import BASELINES
    from rnnlab.report import terminal

    terminal.kinds([*ARCHITECTURES, *BASELINES], as_json)


@app.command()
def tasks(as_json: Json = False) -> None:
    """Tasks with their settings and defaults.

    Example: rnnlab list tasks
    """
    from rnnlab.report import terminal
    from rnnlab.tasks.base import TASKS

    terminal.kinds(list(TASKS), as_json)


@app.command()
def vectors() -> None:
    """Pre-trained vectors known by name.

    Example: rnnlab list vectors
    """
    from rnnlab.data import vectors

    for name in vectors.names():
        print(name)
