"""Reports as files: the page, the figures, and everything there is to see of a sweep."""

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from rnnlab.comparing.comparison import Comparison, arm_scores
from rnnlab.comparing.records import HeldOut
from rnnlab.comparing.studies import Study
from rnnlab.core.errors import ConfigError
from rnnlab.core.files import write_atomically
from rnnlab.core.registry import load_plugin
from rnnlab.core.words import Language, say
from rnnlab.runs.directory import Finished, RunDirectory, pretty_json
from rnnlab.show.figures.drawing import Warn, save_figures, to_stderr
from rnnlab.show.gathering import ORIGIN, gather
from rnnlab.show.pages.report import page, report_figures
from rnnlab.show.result_files import page_path, save_studies, scores_csv
from rnnlab.show.telling import Watch, tell


def write_report(
    runs: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | Path | None = "report.html",
    *,
    figures_in: str | Path | None = None,
    language: Language = "en",
    plugins: Sequence[str] = (),
    judged: Sequence[Comparison] = (),
    watch: Watch = lambda _: None,
    warn: Warn = to_stderr,
) -> list[Path]:
    """Write the page, the charts as PNG and SVG into ``figures_in``, or both; the files that were written.

    ``runs`` is a folder of runs, a comparison or a sweep in it (``result.folder``), or single runs. ``judged``
    are comparisons among them that were just made, and needn't be judged again."""
    for plugin in plugins:
        load_plugin(plugin)
    paths = [runs] if isinstance(runs, str | PathLike) else list(runs)
    if output is not None:
        output = page_path(output)
    report = tell(paths, watch, judged)
    written: list[Path] = []
    if output is not None:
        watch(say("drawing the page"))
        write_atomically(output, page(report, language))
        written.append(output)
    if figures_in is not None:
        watch(say("drawing the figures"))
        written += save_figures(report_figures(report), Path(figures_in), language, warn)
    return written


def save_sweep(
    studies: Sequence[Study], folder: Path, runs: Path, language: Language, command: str | None = None
) -> list[Path]:
    """Tables, charts and the page of a sweep in one folder, from which `write_report` finds the ``runs`` again."""
    written = save_studies(studies, folder, language)
    origin = {"format": 1, "command": command, "runs": os.path.relpath(runs, folder)}
    write_atomically(folder / ORIGIN, pretty_json(origin))
    return written + write_report(folder, folder / "index.html", language=language)


def write_scores(comparison: str | Path, output: str | Path) -> None:
    """Every score of a comparison (its folder) as a table, one line per model, seed and test row, for `rnnlab.judge`
    and for whoever wants to look at single rows."""
    [found] = gather([comparison]).comparisons
    if found.splits_vary:
        raise ConfigError(
            "{comparison}: every seed has test rows of its own, so there is no table of common rows",
            comparison=comparison,
        )
    finished = next(record for record in found.records if isinstance(record.outcome, Finished))
    groups = HeldOut.recorded(RunDirectory(finished.path)).groups.tolist()
    write_atomically(output, scores_csv(arm_scores(found.records), groups))
