"""rnnlab compare"""

from typing import Annotated

import typer

from rnnlab.cli import options
from rnnlab.cli.options import flag, option
from rnnlab.core.words import CLAUSES, both, joined


def compare(
    data: options.Data = None,
    task: options.Task = None,
    models: Annotated[str | None, option("A,B,…", "Models to compare (all).")] = None,
    seeds: Annotated[int | None, option("N", "Runs per model (3; 5 with --vary-split).")] = None,
    epochs: options.Epochs = None,
    minutes: options.Minutes = None,
    match: Annotated[
        str | None,
        option(
            "WHAT",
            "parameters: scale the models to the same number of parameters beyond the embedding (within 2 %). "
            "seconds: train all for the same time, --minutes.",
        ),
    ] = None,
    vary_split: Annotated[
        bool,
        flag(
            "--vary-split",
            "Each seed draws its own split of the data too; the verdict then counts the luck of the split.",
        ),
    ] = False,
    lookup: Annotated[
        bool, flag("--lookup", "Every model answers rows that also stand in train with their labels there.")
    ] = False,
    until_sure: Annotated[
        bool, flag("--until-sure", "Add seeds until the recommendation is firm, where seeds can still change it.")
    ] = False,
    max_seeds: Annotated[int | None, option("N", "With --until-sure: most seeds per model (20).")] = None,
    budget: Annotated[
        str | None,
        option(
            "TIME",
            "Spend at most this time (10m, 2h …): epochs are planned to fit, and seeds go to "
            "models that can still win.",
        ),
    ] = None,
    yes: options.Yes = False,
    tune: Annotated[
        int | None,
        option("N", "Try N settings per model and baseline first, then compare the best ones by validation score."),
    ] = None,
    text: options.Text = None,
    label: options.Label = None,
    tags: options.Tags = None,
    multi_label: options.MultiLabel = None,
    group: options.Group = None,
    tag: options.Tag = None,
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
    language: options.Language = None,
    rows: options.Rows = None,
    vectors: options.Vectors = None,
    metric: options.Metric = None,
    device: options.Device = None,
    settings: options.Settings = None,
    on: options.On = "processes",
    jobs: options.Jobs = None,
    out: options.Out = "runs",
    plugin: options.Plugins = None,
    as_json: Annotated[bool, flag("--json", "Print the comparison as JSON and nothing else.")] = False,
    quiet: options.Quiet = False,
    markdown: options.TableFile = None,
    csv: options.TableFile = None,
    scores: Annotated[
        str | None, option("FILE.csv", "Write the score of every answer to this file, too, for rnnlab judge.")
    ] = None,
    report: options.Report = None,
    lang: options.PageLanguage = None,
) -> None:
    """Train models over several seeds and say which fits your data.

    Example: rnnlab compare reviews.csv --models rnn,lstm,textcnn --seeds 5

    By the score that counts for you: rnnlab compare tickets.csv --metric macro-f1

    Until it is sure: rnnlab compare reviews.csv --until-sure --budget 30m

    In ten minutes: rnnlab compare reviews.csv --budget 10m

    Each model at its best: rnnlab compare reviews.csv --tune 12 --set model.hidden=64

    Ctrl-C keeps what is finished; the same command goes on where it stopped.
    """
    from pathlib import Path

    from rnnlab.api.compare import UntilSure, compare_prepared, prepare, seconds_of
    from rnnlab.cli.before import say_how_long
    from rnnlab.comparing.comparison import unfinished
    from rnnlab.core.errors import ConfigError, RunsFailed
    from rnnlab.core.files import write_atomically
    from rnnlab.execute.executors import at_a_time, executor_for
    from rnnlab.runs.directory import pretty_json
    from rnnlab.show import result_files as files
    from rnnlab.show.terminal import output as terminal
    from rnnlab.sweeps.forecast import forecast

    for path in (markdown, csv, scores):
        if path:
            files.make_room(path)  # a mistake in it shows before the training, not after
    if report:
        files.page_path(report)
    if max_seeds is not None and not until_sure:
        raise ConfigError("--max-seeds belongs to --until-sure and would be ignored; add --until-sure, or leave it out")
    if scores and vary_split:
        raise ConfigError("--scores: with --vary-split every seed has test rows of its own; leave one of them out")
    wanted = UntilSure.of(max_seeds) if until_sure else None
    seconds = None if budget is None else seconds_of(budget)
    plugins = plugin or []
    screen = terminal.Screen(json=as_json, quiet=quiet)
    experiment, encoded = prepare(
        data,
        models=options.names(models),
        seeds=seeds,
        task=options.task_settings(locals()),
        training=options.given(epochs=epochs, minutes=minutes, device=device),
        vectors=vectors,
        match=match,
        vary_split=vary_split or None,  # a file may ask for it, too
        lookup=lookup or None,
        tune=tune,
        settings=settings or [],
        plugins=plugins,
    )
    screen.profile(encoded.profile, experiment.notes)
    options.propose_score(screen, encoded.profile, experiment)
    options.say_if_slow(screen, [arm.training for arm in experiment.arms.values()])
    executor_for(on, jobs, plugins)  # a mistake in these shows before anything is timed
    places = at_a_time(on, jobs)
    longest_first = None
    if seconds is None:
        remedies = both("--budget {budget} would make it fit, and so would fewer --models or --seeds")
        if experiment.tune:
            remedies = both("fewer --models or trials (--tune) make it shorter")
        if until_sure:
            remedies = joined([both("--until-sure may add seeds"), remedies], CLAUSES)
        found = forecast(experiment, encoded, Path(out), places)
        say_how_long(screen, found, yes, remedies)
        longest_first = found.seconds
    result = compare_prepared(
        experiment,
        encoded,
        until_sure=wanted,
        budget=seconds,
        out=out,
        on=on,
        jobs=jobs,
        plugins=plugins,
        display=screen.live(places),
        trial_display=screen.live(places, settings=True) if experiment.tune else None,
        command=options.typed(),
        seconds=longest_first,
        watch=screen.note,
    )
    if as_json:
        typer.echo(pretty_json(result.to_dict()), nl=False)
    else:
        screen.verdict(result)
    for path, write in ((markdown, files.markdown), (csv, files.comparison_csv)):
        if path:
            write_atomically(path, write(result))
    if scores and result.folder:
        from rnnlab.api.report import write_scores

        write_scores(result.folder, scores)
    if report and result.folder:
        options.write_report(screen, result.folder, report, judged=[result])
    failed = unfinished(result)
    if failed:
        raise RunsFailed(failed)
