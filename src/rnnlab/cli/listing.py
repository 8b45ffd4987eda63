"""rnnlab list models | tasks | vectors"""

from typing import Annotated

import typer

from rnnlab.cli import options
from rnnlab.cli.options import argument
from rnnlab.core.words import both

app: typer.Typer = typer.Typer(
    help="Models, tasks and vectors to choose from.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str | None, argument("NAME", "Show the options of this one.", show_default=False)]


@app.callback()
def _options(lang: options.Lang = None) -> None: ...


@app.command()
def models(
    name: Name = None, plugin: options.Plugins = None, as_json: options.Json = False, lang: options.Lang = None
) -> None:
    """Models, each with its purpose; or one model with its options.

    Example: rnnlab list models lstm
    """
    with options.loading():
        from rnnlab.models.base import ARCHITECTURES
        from rnnlab.models.baselines import BASELINES
        from rnnlab.show.terminal.kinds import Kind, show
        from rnnlab.sweeps.plan import SHORT_NAMES

    kinds = [Kind(cls, cls.kind) for cls in ARCHITECTURES]
    kinds += [Kind(ARCHITECTURES[kind], short, preset) for short, (kind, preset) in SHORT_NAMES.items()]
    baselines = [Kind(cls, cls.kind, remark=both("A baseline: it runs by itself.")) for cls in BASELINES]
    show("models", [*sorted(kinds, key=lambda kind: kind.name), *baselines], name, as_json, example="lstm")


@app.command()
def tasks(
    name: Name = None, plugin: options.Plugins = None, as_json: options.Json = False, lang: options.Lang = None
) -> None:
    """Tasks, each with its purpose; or one task with its options.

    Example: rnnlab list tasks classify
    """
    with options.loading():
        from rnnlab.show.terminal.kinds import Kind, show
        from rnnlab.tasks.base import TASKS

    show("tasks", [Kind(cls, cls.kind) for cls in TASKS], name, as_json, example="classify")


@app.command()
def vectors(lang: options.Lang = None) -> None:
    """Pre-trained vectors known by name.

    Example: rnnlab list vectors
    """
    from rnnlab.data import vectors

    for name in vectors.names():
        print(name)
