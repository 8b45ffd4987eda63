"""Sweeps as files: JSON, CSV and charts."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnlab.comparing.studies import FORMAT, Repeat, Study
from rnnlab.core.files import write_atomically
from rnnlab.core.words import Language
from rnnlab.runs.directory import pretty_json
from rnnlab.show.figures import drawing as figures
from rnnlab.show.figures.chart_files import free_name, safe_name, save_charts
from rnnlab.show.figures.sweep_charts import charts
from rnnlab.show.sweep_summary import best_score


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
    taken = {"sweep", "index"}
    names = [free_name(safe_name(study.name), taken) for study in studies]
    written = [_write(folder / "sweep.json", json_text(studies))]
    written += [_write(folder / f"{name}.csv", csv_text(s)) for name, s in zip(names, studies, strict=True)]
    drawn = (
        (f"{name}-{safe_name(kind)}", chart)
        for name, study in zip(names, studies, strict=True)
        for kind, chart in charts(study, language)
    )
    return written + save_charts(drawn, folder, warn, taken)


def _write(path: Path, text: str) -> Path:
    write_atomically(path, text)
    return path
