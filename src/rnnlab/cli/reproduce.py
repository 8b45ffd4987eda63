"""rnnlab reproduce"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option
from rnnlab.core import words


def reproduce(
    names: Annotated[
        list[str] | None, argument("NAME", "Experiments (001-addition, or 001), or files with claims; else all.")
    ] = None,
    quick: options.Quick = False,
    dry_run: options.DryRun = False,
    settings: options.Settings = None,
    on: options.On = "processes",
    jobs: options.Jobs = None,
    limit_minutes: options.LimitMinutes = None,
    limit_memory: options.LimitMemory = None,
    out: options.Out = "runs",
    ledger: Annotated[str | None, option("FILE.md", "File for the ledger (in --out).")] = None,
    lang: options.PageLanguage = None,
    plugin: options.Plugins = None,
    as_json: Annotated[bool, flag("--json", "Print the ledger as JSON and nothing else.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run the documents' experiments and judge their claims.

    Each claim is supported, contradicted, or the runs cannot tell.

    Example: rnnlab reproduce 001 --quick

    Runs that are finished are not computed again. Ctrl-C keeps them.
    """
    from pathlib import Path

    from rnnlab.api import sweep as reproducing
    from rnnlab.api.report import save_sweep
    from rnnlab.core.files import write_atomically
    from rnnlab.execute.executors import Limits, at_a_time, executor_for
    from rnnlab.show.pages import ledger as ledgers
    from rnnlab.show.terminal import output as terminal
    from rnnlab.sweeps.experiment_names import find_experiments
    from rnnlab.sweeps.forecast import estimate
    from rnnlab.sweeps.sweep_plan import plan_studies

    executor = executor_for(on, jobs, plugin or [], Limits(limit_minutes, limit_memory))
    files = reproducing.read_experiments(find_experiments(names or []), quick, settings or [])
    planned = [plan_studies(file, file.name) for file in files]
    everything = [study for own in planned for study in own]
    screen = terminal.Screen(json=as_json, quiet=quiet)
    at_once = at_a_time(on, jobs)
    if dry_run:
        screen.estimate(estimate(everything, Path(out)), at_once)
        return
    options.say_if_slow(screen, options.trainings_of(everything))
    display, command = screen.live(at_once, settings=True), options.typed()
    found, judged = reproducing.reproduce(files, planned, Path(out), executor, display, command)
    suffix = "-quick" if quick else ""
    for name, studies in found.items():
        save_sweep(studies, Path(out) / "sweeps" / f"{name}{suffix}", Path(out), words.language(), command)
    page = Path(ledger) if ledger else Path(out) / f"ledger{suffix}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(page, ledgers.markdown(judged, links_from=page.parent))
    write_atomically(page.with_suffix(".json"), judged.to_json())
    if as_json:
        print(judged.to_json(), end="")
    else:
        ledgers.show(screen.out, judged)
        screen.written([page, page.with_suffix(".json")], page)
