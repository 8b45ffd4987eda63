"""Sweeps as files: JSON, CSV and charts."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnlab.analysis.studies import FORMAT, Repeat, Study
from rnnlab.files import write_atomically
from rnnlab.report import figures
from rnnlab.report.sweep_charts import charts
from rnnlab.report.sweep_summary import best_score
from rnnlab.report.sweep_wording import Language
from rnnlab.runs import pretty_json

LONGEST_NAME = 96  # bytes of a study's or a chart's name in a file name, which has 255 at most


def csv_text(study: Study) -> str:
    """One row a run, full precision: where it stands on the axes, how it went, its scores."""
    every = [repeat for point in study.points for repeat in point.repeats]
    tests = list(dict.fromkeys(name for repeat in every for name in _test_scores(repeat)))
    after = [
        "seed",
        "status",
        "reached",
        f"best_valid_{study.metric}",
        *(f"test_{name}" for name in tests),
        "epochs",
        "step_seconds",
        "digest",
        "reason",
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f"axis {axis.name}" if axis.name in after else axis.name for axis in study.axes] + after)
    for point in study.points:
        for repeat in point.repeats:
            scores = _test_scores(repeat)
            writer.writerow(
                [
                    *(_csv_value(point.at.get(axis.name)) for axis in study.axes),
                    repeat.seed,
                    repeat.status,
                    repeat.reached,
                    best_score(study, repeat),
                    *(scores.get(name) for name in tests),
                    repeat.result.get("epochs"),
                    repeat.result.get("step_seconds"),
                    repeat.digest,
                    repeat.reason,
                ]
            )
    return out.getvalue()


def _test_scores(repeat: Repeat) -> dict[str, float]:
    """Those that are a number; a confusion matrix has no place in a cell."""
    return {name: score for name, score in repeat.result.get("test", {}).items() if isinstance(score, int | float)}


def _csv_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def json_text(studies: Sequence[Study]) -> str:
    return pretty_json({"format": FORMAT, "studies": [study.to_dict() for study in studies]})


def save_all(
    studies: Sequence[Study],
    folder: str | Path,
    language: Language = "en",
    warn: figures.Warn = figures.to_stderr,
) -> list[Path]:
    """Write everything there is to see of these sweeps, and say which files. What fonts lack is said once."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_write(folder / "sweep.json", json_text(studies))]
    warnings: list[str] = []
    taken: set[str] = set()
    for study in studies:
        name = _free(safe_name(study.name), taken)
        written.append(_write(folder / f"{name}.csv", csv_text(study)))
        for kind, chart in charts(study, language):
            stem = _free(f"{name}-{safe_name(kind)}", taken)
            paths = [folder / f"{stem}.png", folder / f"{stem}.svg"]
            figures.save(chart, *paths, warn=warnings.append)
            written += paths
    if warnings:
        more = f" (and {len(warnings) - 1} more files)" if len(warnings) > 1 else ""
        warn(warnings[0] + more)
    return written


def _write(path: Path, text: str) -> Path:
    write_atomically(path, text)
    return path


def safe_name(name: str) -> str:
    """A name that every file system takes: letters of all languages stay, what is special becomes a dash."""
    kept = re.sub(r"[^\w.+-]+", "-", name).encode()[:LONGEST_NAME].decode(errors="ignore")
    return kept.strip(".-_") or "sweep"


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number when it is taken; capital letters make no difference to some file systems."""
    free, number = name, 2
    while free.casefold() in taken or free.casefold() in ("sweep", "index"):
        free, number = f"{name}-{number}", number + 1
    taken.add(free.casefold())
    return free
