"""A verdict on results of any framework as a table: on the terminal, as Markdown and as JSON."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from rnnlab.core import terms
from rnnlab.core.numbers import count
from rnnlab.core.words import Both, both, capitalised, retold, same
from rnnlab.judging.findings import Difference, Verdict
from rnnlab.judging.wording import sentence_of
from rnnlab.runs.directory import pretty_json
from rnnlab.show import judge_texts as words
from rnnlab.show.pages.table import Column
from rnnlab.show.terminal.output import Screen, print_table

FORMAT = 1  # of the JSON


@dataclass(frozen=True)
class ScoreRow:
    """What the tables say of a model."""

    label: str
    mean: float  # of its runs as measured: tables are sorted by it
    score: str
    interval: str
    seeds: int
    failed: int
    cost: float | None
    cost_text: str
    best: bool
    baseline: bool


def score_rows(verdict: Verdict) -> list[ScoreRow]:
    """The best first, baselines among the others."""
    rows = []
    for label, estimate in verdict.estimates.items():
        runs, failures, cost = verdict.scores[label], verdict.failures.get(label), verdict.costs[label]
        rows.append(
            ScoreRow(
                label=label,
                mean=fmean(runs.values()),
                score=score_text(verdict, estimate.mean, sign=" %"),
                interval=f"{score_text(verdict, estimate.low)}–{score_text(verdict, estimate.high)}",
                seeds=len(runs),
                failed=len(failures.failed) if failures else 0,
                cost=cost,
                cost_text="" if cost is None else cost_text(cost),
                best=label in verdict.best_group,
                baseline=label in verdict.baselines,
            )
        )
    return sorted(rows, key=lambda row: (row.mean if verdict.lower_is_better else -row.mean, row.label))


def score_text(verdict: Verdict, value: float, sign: str = "") -> str:
    """A share in per cent; any other score with as many digits as its margin makes worth reading."""
    if verdict.unit != "number":
        return f"{100 * value:.1f}{sign if verdict.unit == 'percent' else ''}"
    places = max(0, 1 - math.floor(math.log10(verdict.margin)))
    return f"{value:.{places}f}"


def gap_text(verdict: Verdict, difference: Difference) -> tuple[str, str]:
    """A difference and its interval, which may begin below zero."""
    low, high = (score_text(verdict, end).replace("-", "−") for end in (difference.low, difference.high))
    return score_text(verdict, difference.mean), f"{low} – {high}"


def cost_text(cost: float) -> str:
    return count(cost) if cost >= 1000 else f"{cost:.3g}"


def metric_text(verdict: Verdict) -> Both:
    return terms.metric_text(verdict.metric)


def level_text(verdict: Verdict) -> str:
    return f"{100 * (1 - verdict.alpha):g}"


def margin_text(verdict: Verdict) -> Both:
    if verdict.unit == "number":
        return same(f"{verdict.margin:g}")
    number = f"{100 * verdict.margin:g}"
    return words.POINTS[number != "1"].format(number=number)


def title(verdict: Verdict) -> Both:
    models, rows = len(verdict.estimates), verdict.rows
    metric = metric_text(verdict)
    return words.TABLE_TITLE.format(
        metric=capitalised(metric),
        models=words.MODELS[models != 1].format(number=f"{models:,}"),
        rows=words.ROWS[rows != 1].format(number=f"{rows:,}"),
        stars=words.STARS.format(margin=margin_text(verdict)) if verdict.best_group else same(""),
    )


def table(verdict: Verdict) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the cells of every row. Costs have a column if one is known."""
    rows = score_rows(verdict)
    costs = any(row.cost is not None for row in rows)
    cells = [
        [
            f"{row.label} *" if row.best else row.label,
            row.score,
            row.interval,
            str(row.seeds),
            str(words.OF.format(part=row.failed, whole=row.seeds)) if row.failed else "",
            *([row.cost_text] if costs else []),
        ]
        for row in rows
    ]
    return [str(column.name) for column in score_columns(verdict, costs)], cells


def score_columns(verdict: Verdict, costs: bool) -> list[Column]:
    gaps = {"metric": metric_text(verdict), "level": level_text(verdict), "cost": words.COSTS[verdict.cost_unit]}
    return [column.format(**gaps) for key, column in words.SCORE_COLUMNS.items() if costs or key != "cost"]


def print_verdict(screen: Screen, verdict: Verdict, notes: Sequence[str] = ()) -> None:
    """The notes, the table with baselines dim, and the verdict."""
    for note in notes if screen.talks else ():
        screen.say(both("note: {text}", text=retold(note)))
    names, cells = table(verdict)
    styles = ["dim" if row.baseline else None for row in score_rows(verdict)]
    screen.out.print(str(title(verdict)), style="bold", soft_wrap=True)
    print_table(screen.out, "", names, list(zip(cells, styles, strict=True)))
    screen.say(f"\n{sentence_of(verdict)}")


def markdown(verdict: Verdict) -> str:
    names, rows = table(verdict)
    lines = [str(title(verdict)).replace("*", "\\*"), ""]
    lines += [_line(names), "|---" + "|---:" * (len(names) - 1) + "|", *map(_line, rows)]
    return "\n".join([*lines, "", str(sentence_of(verdict))]) + "\n"


def _line(cells: Sequence[str]) -> str:
    """A label may hold what Markdown reads as an end of the cell or of the line."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"


def to_json(verdict: Verdict, notes: Sequence[str] = ()) -> str:
    return pretty_json({"format": FORMAT, "notes": list(notes), **asdict(verdict)})
