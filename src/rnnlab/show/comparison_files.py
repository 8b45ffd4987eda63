"""A comparison as JSON, Markdown and CSV."""

import csv as csv_module
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlab.core.errors import ConfigError
from rnnlab.core.files import write_atomically
from rnnlab.core.numbers import count, interval_text, score_text
from rnnlab.runs.directory import pretty_json

if TYPE_CHECKING:  # `rnnlab judge` need not wait for torch
    from rnnlab.comparing.comparison import ArmSummary, Comparison


def print_json(result: "Comparison") -> None:
    sys.stdout.write(pretty_json(result.to_dict()))


def make_room(path: str) -> None:
    """Make the folder of a file that is to be written."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)


def page_path(output: str | Path) -> Path:
    """The path of a page that is to be written. Its folder is made: a mistake shows before any work."""
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError("{path}: a report is a page, so its name must end in .html", path=path)
    if path.is_dir():
        raise ConfigError("{path}: this is a folder; give the name of a file", path=path)
    make_room(str(path))
    return path


def save(path: str, text: str) -> None:
    write_atomically(path, text)


def markdown(result: "Comparison") -> str:
    """The table of scores and the verdict, for an issue or a note."""
    seen = result.seen_matters
    more = (" seen rows | unseen rows |", "---:|---:|") if seen else ("", "")
    lines = [
        f"| model | {result.verdict.metric} | 95 % interval | {result.beside.title} | s/epoch | parameters |" + more[0],
        "|---|---:|---:|---:|---:|---:|" + more[1],
        *(_markdown_row(arm, result) for arm in result.ranking),
        "",
        result.verdict.sentence,
    ]
    return "\n".join(lines) + "\n"


def _markdown_row(arm: "ArmSummary", result: "Comparison") -> str:
    seen, unit, second = result.seen_matters, result.verdict.unit, arm.scores.get(result.beside.name)
    label = arm.label.replace("|", "\\|") + (" \\*" if arm.in_best_group else "")
    if arm.score is None:
        return f"| {label} | {'/'.join(sorted({run.status for run in arm.runs}))} | | | | |" + (" | |" if seen else "")
    seconds = f"{arm.epoch_seconds:.2f}" if arm.epoch_seconds is not None else ""
    interval = interval_text(arm.score.low, arm.score.high, unit)
    cells = [
        label,
        score_text(arm.score.mean, unit),
        interval,
        "" if second is None else score_text(second, result.beside.unit),
        seconds,
        "" if arm.parameters is None else count(arm.parameters),
        *(
            [score_text(arm.by_seen[p].score, unit) if p in arm.by_seen else "" for p in ("seen", "unseen")]
            if seen
            else []
        ),
    ]
    return f"| {' | '.join(cells)} |"


def csv(result: "Comparison") -> str:
    """One row per arm, full precision; one column per tag."""
    tags = list(dict.fromkeys(tag for arm in result.arms for tag in arm.by_tag))
    names = list(dict.fromkeys(name for arm in result.ranking for name in arm.scores))
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "label",
            "kind",
            "score_mean",
            "score_low",
            "score_high",
            "failed_seeds",
            *names,
            "epoch_seconds",
            "tokens_per_second",
            "best_epoch",
            "cut_short",
            "parameters",
            "peak_memory_mb",
            *(("score_seen", "score_unseen") if result.seen_matters else ()),
            *(f"score[{tag}]" for tag in tags),
        ]
    )
    for arm in result.ranking:
        score: list[Any] = [arm.score.mean, arm.score.low, arm.score.high] if arm.score else [""] * 3
        writer.writerow(
            [
                arm.label,
                arm.model["kind"],
                *score,
                len(arm.failed_seeds),
                *(arm.scores.get(name, "") for name in names),
                arm.epoch_seconds,
                arm.tokens_per_second,
                arm.best_epoch,
                "yes" if arm.cut_short else "",
                arm.parameters,
                arm.peak_memory_mb,
                *(
                    [arm.by_seen[part].score if part in arm.by_seen else "" for part in ("seen", "unseen")]
                    if result.seen_matters
                    else []
                ),
                *(arm.by_tag[tag].score if tag in arm.by_tag else "" for tag in tags),
            ]
        )
    return out.getvalue()
