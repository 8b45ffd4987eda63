"""rnnlab sweep"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option
from rnnlab.core import words


def sweep(
    file: Annotated[
        str, argument("FILE", "A file with axes (.toml), or the name of an experiment: 001. See docs/sweeps.md.")
    ],
    only: Annotated[str | None, option("STUDY,…", "Run these studies of the file only (all).")] = None,
    quick: options.Quick = False,
    dry_run: options.DryRun = False,
    settings: options.Settings = None,
    on: options.On = "processes",
    jobs: options.Jobs = None,
    limit_minutes: options.LimitMinutes = None,
    limit_memory: options.LimitMemory = None,
    out: options.Out = "runs",
    files: Annotated[str | None, option("FOLDER", "Folder for tables, figures and the page (in --out).")] = None,
    report: options.Report = None,
    lang: options.PageLanguage = None,
    plugin: options.Plugins = None,
    as_json: Annotated[bool, flag("--json", "Print the result as JSON and nothing else.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Vary or search settings, and show curves, bars and heatmaps.

    Example: rnnlab sweep 001 --quick --only rate-length

    Finished runs are found again: a wider grid computes only its new cells. Ctrl-C keeps what is finished.
    """
    from pathlib import Path

    from rnnlab.api.report import save_sweep
    from rnnlab.api.sweep import run_planned, unfinished
    from rnnlab.core.errors import RunsFailed
    from rnnlab.execute.executors import Limits, at_a_time, executor_for
    from rnnlab.show.result_files import page_path, studies_json
    from rnnlab.show.terminal import output as terminal
    from rnnlab.show.terminal import sweep_table
    from rnnlab.sweeps.forecast import estimate
    from rnnlab.sweeps.sweep_file import read_sweep
    from rnnlab.sweeps.sweep_plan import plan_studies

    if report:
        page_path(report)
    executor = executor_for(on, jobs, plugin or [], Limits(limit_minutes, limit_memory))
    asked = read_sweep(file, quick=quick, settings=settings or [], only=options.names(only) or [])
    planned = plan_studies(asked, file)
    screen = terminal.Screen(json=as_json, quiet=quiet)
    at_once = at_a_time(on, jobs)
    if dry_run:
        screen.estimate(estimate(planned, Path(out)), at_once)
        return
    options.say_if_slow(screen, options.trainings_of(planned))
    studies = run_planned(planned, Path(out), executor, screen.live(at_once, settings=True))
    folder = Path(files) if files else Path(out) / "sweeps" / (asked.name + ("-quick" if quick else ""))
    written = save_sweep(studies, folder, Path(out), words.language(), options.typed())
    if as_json:
        print(studies_json(studies), end="")
    else:
        for study in studies:
            sweep_table.show(screen.out, study)
        screen.written(written, folder / "index.html")
    if report:
        options.write_report(screen, str(folder), report)
    failed = unfinished(studies)
    if failed:
        raise RunsFailed(failed)
