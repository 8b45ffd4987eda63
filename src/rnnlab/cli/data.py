"""rnnlab data list | get | profile"""

from typing import Annotated

import typer

from rnnlab.cli import options

app = typer.Typer(help="Public data sets, and a look at your own.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _options(lang: options.Lang = None) -> None: ...


@app.command("list")
def list_sets(lang: options.Lang = None) -> None:
    """The catalogue: names, sizes, licences, and where each is on this machine.

    Example: rnnlab data list
    """
    from rnnlab.data import catalogue
    from rnnlab.show.terminal import output as terminal

    terminal.catalogue([(catalogue.entry(name), catalogue.locate(name)) for name in catalogue.names()])


@app.command()
def get(name: Annotated[str, typer.Argument(metavar="NAME")], lang: options.Lang = None) -> None:
    """Fetch a data set from its publisher, or say what to do when that needs an account.

    Example: rnnlab data get imdb
    """
    from rnnlab.data import catalogue
    from rnnlab.show.terminal import output as terminal

    with terminal.download_progress() as progress:
        path = catalogue.get(name, progress)
    print(f"{name}: {path}")


@app.command()
def profile(
    data: options.Data = None,
    text: options.Text = None,
    label: options.Label = None,
    group: options.Group = None,
    columns: options.Columns = None,
    valid: options.Valid = None,
    test: options.Test = None,
    skip_bad: options.SkipBad = False,
    tokenizer: options.Tokenizer = None,
    as_json: options.Json = False,
    lang: options.Lang = None,
) -> None:
    """What a data set looks like: classes, lengths, duplicates, leakage.

    Example: rnnlab data profile reviews.csv
    """
    from rnnlab.core.config import parse
    from rnnlab.show.terminal import output as terminal
    from rnnlab.tasks.classify import Classify

    settings = options.given(data=data) | options.task_settings(locals())
    encoded = parse(Classify, settings, "options").load()
    terminal.data_profile(encoded.profile, as_json)
