"""rnnlab runs"""

from typing import Annotated

import typer


def runs(
    folder: Annotated[str, typer.Argument(metavar="RUNS", help="The folder that --out named.")] = "runs",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the runs of a folder with their scores.

    Example: rnnlab runs runs
    """
    from rnnlab.runs.directory import find_runs
    from rnnlab.show.terminal import output as terminal

    terminal.run_list(find_runs(folder), as_json)
