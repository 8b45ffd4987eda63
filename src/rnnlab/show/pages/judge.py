"""The page of `rnnlab judge`: the answer, every seed of every model, the scores, and every pair of models."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rnnlab.core.files import write_atomically
from rnnlab.core.words import Both, Language, both, same
from rnnlab.judging.findings import Difference, Verdict
from rnnlab.judging.wording import facts_of
from rnnlab.show import judge_texts as words
from rnnlab.show.comparison_files import page_path
from rnnlab.show.figures.palette import BASELINE, arm_colours
from rnnlab.show.figures.seeds import runs_figure
from rnnlab.show.judge_tables import (
    ScoreRow,
    gap_text,
    level_text,
    margin_text,
    metric_text,
    score_rows,
)
from rnnlab.show.pages.parts import Figure
from rnnlab.show.pages.shell import page
from rnnlab.show.pages.table import Cell, Column, Row


def write_judge_page(
    verdict: Verdict, output: str | Path, *, source: str = "", notes: Sequence[str] = (), language: Language = "en"
) -> Path:
    path = page_path(output)
    write_atomically(path, judge_page(verdict, source=source, notes=notes, language=language))
    return path


def judge_page(
    verdict: Verdict,
    *,
    source: str = "",
    notes: Sequence[str] = (),
    language: Language = "en",
    date: datetime | None = None,
) -> str:
    """One file that needs no network, in both languages."""
    figure = seeds_figure(verdict)
    said = facts_of(verdict)
    sections = {name: said for name, said in words.SECTIONS.items() if name != "pairs" or verdict.differences}
    return page(
        "judge.html",
        title=words.PAGE_TITLE.format(name=Path(source).name or metric_text(verdict)),
        language=language,
        sections=list(sections.items()),
        figures=[figure],
        maker="rnnlab judge",
        date=date,
        words=words,
        tone="settled" if verdict.firm else "open" if verdict.best else "nothing",
        answer=said[0],
        evidence=said[1:],
        facts=_facts(verdict),
        notes=notes,
        figure=figure,
        scores=score_table(verdict),
        pairs=pair_table(verdict),
        pairs_note=words.PAIRS_NOTE.format(margin=margin_text(verdict)),
    )


def _facts(verdict: Verdict) -> list[Both]:
    found = [
        words.FACTS["seeds"].format(number=verdict.seeds),
        words.ROWS[verdict.rows != 1].format(number=f"{verdict.rows:,}"),
        words.FACTS["margin"].format(margin=margin_text(verdict)),
    ]
    return [*found, words.FACTS["lower"]] if verdict.lower_is_better else found


# Tables


def score_table(verdict: Verdict) -> tuple[list[Column], list[Row]]:
    found = score_rows(verdict)
    costs = any(row.cost is not None for row in found)
    names = {
        "model": words.COLUMNS["model"],
        "score": metric_text(verdict),
        "interval": words.COLUMNS["interval"].format(level=level_text(verdict)),
        "seeds": words.COLUMNS["seeds"],
        "failed": words.COLUMNS["failed"],
        **({"cost": words.COSTS[verdict.cost_unit]} if costs else {}),
    }
    columns = [Column(name, words.EXPLAINED[key], number=key != "model") for key, name in names.items()]
    shades = _colours(found)
    return columns, [_score_row(verdict, row, shades[row.label], costs) for row in found]


def _score_row(verdict: Verdict, row: ScoreRow, colour: str, costs: bool) -> Row:
    estimate = verdict.estimates[row.label]
    chosen = row.label == verdict.recommended
    cells = [
        Cell(f"{row.label} *" if row.best else row.label, row.label),
        Cell(row.score, estimate.mean),
        Cell(row.interval, estimate.low),
        Cell(str(row.seeds), row.seeds),
        Cell(str(row.failed) if row.failed else "", row.failed),
        *([Cell(row.cost_text, row.cost)] if costs else []),
    ]
    return Row(
        cells,
        mark="recommended" if chosen else "baseline" if row.baseline else "best" if row.best else None,
        badge=both("recommended") if chosen else both("baseline") if row.baseline else None,
        colour=colour,
    )


def pair_table(verdict: Verdict) -> tuple[list[Column], list[Row]]:
    margin, unit = margin_text(verdict), words.IN_POINTS if verdict.unit == "percent" else same("")
    columns = [
        Column(
            name.format(unit=unit),
            explained and explained.format(margin=margin),
            number=key not in ("better", "worse", "call"),
        )
        for key, (name, explained) in words.PAIR_COLUMNS.items()
    ]
    return columns, [_pair_row(verdict, difference) for difference in verdict.differences]


def _pair_row(verdict: Verdict, difference: Difference) -> Row:
    gap, interval = gap_text(verdict, difference)
    chances = [Cell(chance_text(chance), chance) for chance in difference.chances]
    return Row(
        [
            Cell(difference.better),
            Cell(difference.worse),
            Cell(gap, difference.mean),
            Cell(interval, difference.low),
            *chances,
            Cell(words.CALLS[difference.call]),
        ]
    )


def chance_text(chance: float) -> str:
    """Nothing is certain: ``> 99 %`` and ``< 1 %`` at the ends."""
    if chance > 0.99:
        return "> 99 %"
    return "< 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


# The figure


def seeds_figure(verdict: Verdict) -> Figure:
    found = score_rows(verdict)
    figure = runs_figure(verdict, [row.label for row in found], _colours(found), metric_text(verdict))
    return replace(figure, title=same(""))  # the section has said it


def _colours(found: Sequence[ScoreRow]) -> dict[str, str]:
    """By label, in the order of the table; baselines are grey."""
    own = arm_colours([row.label for row in found if not row.baseline])
    return {row.label: own.get(row.label, BASELINE) for row in found}
