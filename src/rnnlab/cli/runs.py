"""rnnlab runs"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag


def runs(
    folder: Annotated[str, argument("RUNS", "Folder with the runs (the one of --out).")] = "runs",
    as_json: Annotated[bool, flag("--json", "Print one JSON object per line.")] = False,
    lang: options.Lang = None,
) -> None:
    """List the runs of a folder with their scores.

    Example: rnnlab runs runs
    """
    from rnnlab.runs.directory import find_runs
    from rnnlab.show.terminal import output as terminal

    terminal.run_list(find_runs(folder), as_json)
