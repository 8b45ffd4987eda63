"""rnnlab data list | get | profile"""

from typing import Annotated

import typer

from rnnlab.cli import options

app: typer.Typer = typer.Typer(
    help="Public data sets, and a look at your own.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _options(lang: options.Lang = None) -> None: ...


@app.command("list")
def list_sets(lang: options.Lang = None) -> None:
    """The catalogue: names, sizes, licences, and where each one is.

    Example: rnnlab data list
    """
    from rnnlab.data import catalogue
    from rnnlab.show.terminal import output as terminal

    terminal.catalogue([(catalogue.entry(name), catalogue.locate(name)) for name in catalogue.names()])


@app.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME")], quiet: options.Quiet = False, lang: options.Lang = None
) -> None:
    """Fetch a data set from its publisher.

    Where that needs an account, it says what to do.

    Example: rnnlab data get imdb
    """
    from rnnlab.data import catalogue
    from rnnlab.show.terminal import output as terminal

    with terminal.download_progress(quiet) as progress:
        path = catalogue.get(name, progress)
    print(f"{name}: {path}")


@app.command()
def profile(
    data: options.Data = None,
    text: options.Text = None,
    label: options.Label = None,
    tags: options.Tags = None,
    multi_label: options.MultiLabel = None,
    group: options.Group = None,
    pattern: options.Pattern = None,
    test_where: options.TestWhere = None,
    leave_out: options.LeaveOut = None,
    columns: options.Columns = None,
    valid: options.Valid = None,
    test: options.Test = None,
    skip_bad: options.SkipBad = False,
    tokenizer: options.Tokenizer = None,
    unit: options.Unit = None,
    text_per: options.TextPer = None,
    source: options.SourceColumn = None,
    target: options.TargetColumn = None,
    horizon: options.Horizon = None,
    lookback: options.Lookback = None,
    season: options.Season = None,
    targets: options.Targets = None,
    date: options.DateColumn = None,
    series: options.SeriesColumn = None,
    as_json: options.Json = False,
    lang: options.Lang = None,
) -> None:
    """What a data set looks like: classes, lengths, duplicates, leakage.

    Example: rnnlab data profile reviews.csv
    """
    from rnnlab.show.terminal import output as terminal
    from rnnlab.tasks.base import TASKS
    from rnnlab.tasks.choosing import USUAL, task_for

    settings = options.given(data=data) | options.task_settings(locals())
    meant = None if data is None else task_for(data, settings)
    settings = {"kind": meant or USUAL} | settings
    encoded = TASKS.parse(settings, "options").load()
    terminal.data_profile(encoded.profile, as_json)
