"""rnnlab train"""

import sys
from typing import Annotated

import typer

from rnnlab.cli import options
from rnnlab.cli.options import flag, option
from rnnlab.core.words import both, joined, retold


def train(
    data: options.Data = None,
    task: options.Task = None,
    model: Annotated[str, option("NAME", "Model to train; rnnlab list models shows all.")] = "lstm",
    seed: Annotated[int, typer.Option(metavar="N", min=0)] = 0,
    epochs: options.Epochs = None,
    minutes: options.Minutes = None,
    text: options.Text = None,
    label: options.Label = None,
    tags: options.Tags = None,
    multi_label: options.MultiLabel = None,
    group: options.Group = None,
    pattern: options.Pattern = None,
    test_where: options.TestWhere = None,
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
    language: options.Language = None,
    rows: options.Rows = None,
    vectors: options.Vectors = None,
    metric: options.Metric = None,
    device: options.Device = None,
    settings: options.Settings = None,
    yes: options.Yes = False,
    out: options.Out = "runs",
    plugin: options.Plugins = None,
    find_lr: Annotated[
        bool, flag("--find-lr", "Don't train: try learning rates for a few seconds and suggest one.")
    ] = False,
    as_json: Annotated[
        bool, flag("--json", "Print the result, or what --find-lr found, as JSON and nothing else.")
    ] = False,
    quiet: options.Quiet = False,
    lang: options.Lang = None,
) -> None:
    """Train one model once; its run directory is the model.

    Example: rnnlab train reviews.csv --model gru --set model.hidden=256 --set training.lr=0.002

    Example: rnnlab train reviews.csv --model gru --find-lr
    """
    from pathlib import Path

    from rnnlab.api.compare import find_rate, prepare, train_prepared
    from rnnlab.cli.before import say_how_long
    from rnnlab.core.errors import RunsFailed
    from rnnlab.runs.directory import pretty_json
    from rnnlab.show.terminal import output as terminal
    from rnnlab.show.terminal.rate_search import print_range_test
    from rnnlab.sweeps.forecast import forecast

    screen = terminal.Screen(json=as_json, quiet=quiet)
    experiment, encoded = prepare(
        data,
        models=[model],
        task=options.task_settings(locals()),
        training=options.given(epochs=epochs, minutes=minutes, device=device),
        vectors=vectors,
        settings=[*(settings or []), f"seeds=[{seed}]"],
        plugins=plugin or [],
    )
    screen.profile(encoded.profile, experiment.notes)
    options.propose_score(screen, encoded.profile, experiment)
    options.say_if_slow(screen, [arm.training for arm in experiment.arms.values()])
    if find_lr:
        print_range_test(find_rate(experiment, encoded), sys.argv[1:], as_json)
        return
    say_how_long(
        screen,
        forecast(experiment, encoded, Path(out), jobs=1, baselines=False),
        yes,
        both("--minutes or --epochs end it sooner"),
    )
    run = train_prepared(experiment, out=out, plugins=plugin or [], display=screen.live(1))
    result = run.result() or {}
    if as_json:
        sys.stdout.write(pretty_json({"run": str(run.path), **result}))
    else:
        screen.run(run)
    if result["status"] == "diverged":
        first = both("{model} diverged; {run} says where", model=model, run=run.path)
        raise RunsFailed(joined([first, *map(retold, result["divergence"]["advice"])], "\n"))
