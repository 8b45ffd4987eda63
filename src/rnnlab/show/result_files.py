"""Results as files: a comparison as Markdown and CSV, a sweep as JSON, CSV and charts, and where pages are written."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlab.comparing.studies import FORMAT, Repeat, Study
from rnnlab.core.errors import ConfigError
from rnnlab.core.files import write_atomically
from rnnlab.core.numbers import count, interval_text, score_text
from rnnlab.core.words import Language
from rnnlab.runs.directory import pretty_json
from rnnlab.show.sweep_summary import best_score
from rnnlab.show.times import TrainingTimes

if TYPE_CHECKING:  # `rnnlab judge` need not wait for torch
    from rnnlab.comparing.comparison import ArmScores, ArmSummary, Comparison


def make_room(path: str | Path) -> None:
    """Make the folder of a file that is to be written."""
    if Path(path).is_dir():
        raise ConfigError("{path}: this is a folder; give the name of a file", path=path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)


def page_path(output: str | Path) -> Path:
    """The path of a page that is to be written. Its folder is made: a mistake shows before any work."""
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError("{path}: a report is a page, so its name must end in .html", path=path)
    make_room(path)
    return path


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


# Comparisons


def markdown(result: "Comparison") -> str:
    """The table of scores and the verdict, for an issue or a note."""
    seen = result.seen_matters
    more = (" seen rows | unseen rows |", "---:|---:|") if seen else ("", "")
    times = TrainingTimes.of(result)
    names = [result.verdict.metric, "95 % interval", result.beside.title, times.round_name.en, times.total_name.en]
    lines = [
        f"| model | {' | '.join(names)} | parameters |{more[0]}",
        f"|---|---:|---:|---:|---:|---:|---:|{more[1]}",
        *(_markdown_row(arm, result, times) for arm in result.ranking),
        "",
        result.verdict.sentence,
    ]
    return "\n".join(lines) + "\n"


def _markdown_row(arm: "ArmSummary", result: "Comparison", times: TrainingTimes) -> str:
    seen, unit, second = result.seen_matters, result.verdict.unit, arm.scores.get(result.beside.name)
    label = arm.label.replace("|", "\\|") + (" \\*" if arm.in_best_group else "")
    if arm.score is None:
        return f"| {label} | {'/'.join(sorted({run.status for run in arm.runs}))} | | | | | |" + (
            " | |" if seen else ""
        )
    interval = interval_text(arm.score.low, arm.score.high, unit)
    cells = [
        label,
        score_text(arm.score.mean, unit),
        interval,
        "" if second is None else score_text(second, result.beside.unit),
        times.round_text(arm),
        times.total_text(arm),
        "" if arm.parameters is None else count(arm.parameters),
        *(
            [score_text(arm.by_seen[p].score, unit) if p in arm.by_seen else "" for p in ("seen", "unseen")]
            if seen
            else []
        ),
    ]
    return f"| {' | '.join(cells)} |"


def comparison_csv(result: "Comparison") -> str:
    """One row per arm, full precision; one column per tag."""
    tags = list(dict.fromkeys(tag for arm in result.arms for tag in arm.by_tag))
    names = list(dict.fromkeys(name for arm in result.ranking for name in arm.scores))
    measured = (
        "epoch_seconds",
        "total_seconds",
        "tokens_per_second",
        "best_epoch",
        "cut_short",
        "parameters",
        "peak_memory_mb",
    )
    seen = ("seen", "unseen") if result.seen_matters else ()
    scores = ("score_mean", "score_low", "score_high")
    head = ["label", "kind", *scores, "failed_seeds", *names, *measured]
    rows: list[list[Any]] = [[*head, *(f"score_{part}" for part in seen), *(f"score[{tag}]" for tag in tags)]]
    for arm in result.ranking:
        score: list[Any] = [arm.score.mean, arm.score.low, arm.score.high] if arm.score else [""] * 3
        rows.append(
            [
                arm.label,
                arm.model["kind"],
                *score,
                len(arm.failed_seeds),
                *(arm.scores.get(name, "") for name in names),
                arm.epoch_seconds,
                arm.total_seconds,
                arm.tokens_per_second,
                arm.best_epoch,
                "yes" if arm.cut_short else "",
                arm.parameters,
                arm.peak_memory_mb,
                *(arm.by_seen[part].score if part in arm.by_seen else "" for part in seen),
                *(arm.by_tag[tag].score if tag in arm.by_tag else "" for tag in tags),
            ]
        )
    return _csv(rows)


def scores_csv(arms: Iterable["ArmScores"], groups: Sequence[Any]) -> str:
    """One row per model, seed and test row, as `rnnlab.judge` reads them."""
    rows: list[Sequence[Any]] = [["model", "seed", "row", "score", "group", "cost", "baseline", "diverged"]]
    for arm in arms:
        cost = "" if arm.cost is None else repr(arm.cost)
        for seed, scores in zip(arm.seeds, arm.scores.tolist(), strict=True):
            about = (cost, int(arm.baseline), int(seed in arm.diverged))
            found = enumerate(zip(scores, groups, strict=True))
            rows += [(arm.label, seed, row, f"{score:g}", group, *about) for row, (score, group) in found]
    return _csv(rows)


# Sweeps


def study_csv(study: Study) -> str:
    """One row per run, full precision: where it stands on the axes, how it went, its scores."""
    every = [repeat for point in study.points for repeat in point.repeats]
    tests = list(dict.fromkeys(name for repeat in every for name in _test_scores(repeat)))
    scores = (f"best_valid_{study.metric}", *(f"test_{name}" for name in tests))
    after = ["seed", "status", "reached", *scores, "epochs", "step_seconds", "digest", "reason"]
    rows: list[list[Any]] = [[f"axis {axis.name}" if axis.name in after else axis.name for axis in study.axes] + after]
    for point in study.points:
        for repeat in point.repeats:
            found = _test_scores(repeat)
            rows.append(
                [
                    *(_csv_value(point.at.get(axis.name)) for axis in study.axes),
                    repeat.seed,
                    repeat.status,
                    repeat.reached,
                    best_score(study, repeat),
                    *(found.get(name) for name in tests),
                    repeat.result.get("epochs"),
                    repeat.result.get("step_seconds"),
                    repeat.digest,
                    repeat.reason,
                ]
            )
    return _csv(rows)


def _test_scores(repeat: Repeat) -> dict[str, float]:
    """Those that are a number; a confusion matrix has no place in a cell."""
    return {name: score for name, score in repeat.result.get("test", {}).items() if isinstance(score, int | float)}


def _csv_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def studies_json(studies: Sequence[Study]) -> str:
    return pretty_json({"format": FORMAT, "studies": [study.to_dict() for study in studies]})


def save_studies(
    studies: Sequence[Study], folder: Path, language: Language = "en", warn: Callable[[str], None] | None = None
) -> list[Path]:
    """Write everything there is to see of these sweeps, and say which files. What fonts lack is said once."""
    from rnnlab.show.figures.drawing import free_name, safe_name, save_figures, to_stderr  # only now: they load Altair
    from rnnlab.show.figures.sections import study_figures

    folder.mkdir(parents=True, exist_ok=True)
    taken = {"sweep", "index"}
    names = [free_name(safe_name(study.name), taken) for study in studies]
    texts = {"sweep.json": studies_json(studies)}
    texts |= {f"{name}.csv": study_csv(study) for name, study in zip(names, studies, strict=True)}
    for name, text in texts.items():
        write_atomically(folder / name, text)
    figures = (
        replace(figure, name=f"{name}-{safe_name(figure.name)}")
        for name, study in zip(names, studies, strict=True)
        for figure in study_figures(study)
    )
    return [folder / name for name in texts] + save_figures(figures, folder, language, warn or to_stderr, taken)
