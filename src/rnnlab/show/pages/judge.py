"""The page of `rnnlab judge`: the answer, every seed of every model, the scores, and every pair of models."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rnnlab.core.words import Both, Language, same
from rnnlab.judging.findings import Difference, Verdict
from rnnlab.judging.wording import facts_of
from rnnlab.show import judge_texts as words
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.palette import BASELINE, arm_colours
from rnnlab.show.figures.seeds import runs_figure
from rnnlab.show.judge_tables import ScoreRow, gap_text, margin_text, metric_text, score_columns, score_rows
from rnnlab.show.pages.shell import page
from rnnlab.show.pages.table import Cell, Row, Table, arm_row, number


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
    )


def _facts(verdict: Verdict) -> list[Both]:
    found = [
        words.FACTS["seeds"].format(number=verdict.seeds),
        words.ROWS[verdict.rows != 1].format(number=f"{verdict.rows:,}"),
        words.FACTS["margin"].format(margin=margin_text(verdict)),
    ]
    return [*found, words.FACTS["lower"]] if verdict.lower_is_better else found


# Tables


def score_table(verdict: Verdict) -> Table:
    found = score_rows(verdict)
    costs = any(row.cost is not None for row in found)
    shades = _colours(found)
    rows = [_score_row(verdict, row, shades[row.label], costs) for row in found]
    return Table(words.SECTIONS["scores"], score_columns(verdict, costs), rows)


def _score_row(verdict: Verdict, row: ScoreRow, colour: str, costs: bool) -> Row:
    estimate = verdict.estimates[row.label]
    cells = [
        Cell(f"{row.label} *" if row.best else row.label, row.label),
        Cell(row.score, estimate.mean),
        Cell(row.interval, estimate.low),
        number(row.seeds),
        Cell(str(row.failed) if row.failed else "", row.failed),
        *([Cell(row.cost_text, row.cost)] if costs else []),
    ]
    return arm_row(cells, colour, row.label == verdict.recommended, row.baseline, row.best)


def pair_table(verdict: Verdict) -> Table:
    margin, unit = margin_text(verdict), "" if verdict.unit == "number" else words.IN_POINTS
    columns = [column.format(unit=unit, margin=margin) for column in words.PAIR_COLUMNS]
    rows = [_pair_row(verdict, difference) for difference in verdict.differences]
    return Table(words.SECTIONS["pairs"], columns, rows, words.PAIRS_NOTE.format(margin=margin))


def _pair_row(verdict: Verdict, difference: Difference) -> Row:
    gap, interval = gap_text(verdict, difference)
    return Row(
        [
            Cell(difference.better),
            Cell(difference.worse),
            Cell(gap, difference.mean),
            Cell(interval, difference.low),
            *(Cell(chance_text(chance), chance) for chance in difference.chances),
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
