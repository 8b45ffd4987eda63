"""The page of `rnnlab judge`: the answer, every seed of every model, the scores, and every pair of models."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import altair as alt

from rnnlab.files import write_atomically
from rnnlab.judging.findings import Difference, Verdict
from rnnlab.judging.wording import CHINESE, ENGLISH, facts_of, say
from rnnlab.report import judge_wording as words
from rnnlab.report.chart_text import AnyChart, title
from rnnlab.report.judge_tables import (
    ScoreRow,
    gap_text,
    level_text,
    margin_text,
    metric_text,
    page_path,
    score_rows,
)
from rnnlab.report.page_parts import Both, Figure, Language, same
from rnnlab.report.page_table import Cell, Column, Row
from rnnlab.report.palette import BASELINE, arm_colours
from rnnlab.report.shell import page

WIDTH, ROW_HEIGHT = 560, 46
LANES = 18  # pixels above the middle of a model's row, among which its runs are spread
DOT = 44  # square pixels
CROSS = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"
BELOW = 8  # pixels below the middle, where the interval is


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
    said = [Both(say([fact], ENGLISH), say([fact], CHINESE)) for fact in facts_of(verdict)]
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
        badge=Both("recommended", "推荐") if chosen else Both("baseline", "基线") if row.baseline else None,
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
    metric = metric_text(verdict)
    name = words.FIGURE.format(metric=Both(metric.en[:1].upper() + metric.en[1:], metric.zh))
    caption = words.CAPTION.format(level=level_text(verdict))

    def draw(language: Language, for_page: bool) -> AnyChart:
        chart = _chart(verdict, language)
        if for_page:
            fitted = alt.AutoSizeParams(type="fit-x", contains="padding")
            return chart.properties(width="container", autosize=fitted, description=name[language])
        return chart.properties(width=WIDTH, title=title(name[language], caption[language], WIDTH))

    return Figure("seeds", same(""), caption, draw)


def _chart(verdict: Verdict, language: Language) -> AnyChart:
    found = score_rows(verdict)
    labels = [row.label for row in found]
    shades = _colours(found)
    share = verdict.unit == "percent"
    form = ".1%" if share else ".4~g"
    what = metric_text(verdict)[language]
    axis = alt.Axis(format=form if share else "~g", tickCount=8)
    x = alt.X("value:Q", title=what, axis=axis, scale=alt.Scale(zero=False, nice=False, padding=12))
    base = alt.Chart().encode(
        y=alt.Y("model:N", sort=labels, title=None, axis=alt.Axis(labelLimit=190, ticks=False, domain=False)),
        color=alt.Color("model:N", scale=alt.Scale(domain=labels, range=list(shades.values())), legend=None),
    )
    model = alt.Tooltip("model:N", title=words.COLUMNS["model"][language])
    mean = base.transform_filter("datum.kind == 'mean'")
    run = base.transform_filter("datum.kind == 'run'")
    span = words.COLUMNS["interval"].format(level=level_text(verdict))[language]
    about = [model, alt.Tooltip("value:Q", title=what, format=form), alt.Tooltip("span:N", title=span)]
    seed = alt.Tooltip("seed:Q", title=words.COLUMNS["seeds"][language])
    shape = alt.Shape("failed:N", scale=alt.Scale(domain=[False, True], range=["circle", CROSS]), legend=None)
    size = alt.ExprRef(f"datum.failed ? {3 * DOT} : {DOT}")
    return alt.layer(
        mean.mark_rule(strokeWidth=2, yOffset=BELOW).encode(x=alt.X("low:Q", title=what, axis=axis), x2="high:Q"),
        mean.mark_point(shape="diamond", filled=True, size=90, opacity=1, yOffset=BELOW).encode(x=x, tooltip=about),
        run.mark_point(filled=True, size=size, opacity=0.75, yOffset=alt.ExprRef("datum.lane")).encode(
            x=x, shape=shape, tooltip=[model, seed, alt.Tooltip("value:Q", title=what, format=form)]
        ),
        data=alt.Data(values=_points(verdict, found)),
        height=ROW_HEIGHT * len(found),
    )


def _points(verdict: Verdict, found: Sequence[ScoreRow]) -> list[dict[str, Any]]:
    """Rows {kind: "mean" | "run", …}: the same fields in all."""
    points = []
    for row in found:
        estimate, failures = verdict.estimates[row.label], verdict.failures.get(row.label)
        failed = set(failures.failed) if failures else set()
        blank: dict[str, Any] = {"kind": "mean", "model": row.label, "value": estimate.mean, "span": row.interval}
        blank |= {"low": estimate.low, "high": estimate.high, "seed": None, "lane": 0, "failed": False}
        points.append(blank)
        runs = verdict.scores[row.label].items()
        for number, (seed, value) in enumerate(runs):  # one below the other, so that none hides another
            lane = round(-LANES * (1 - (number + 0.5) / len(runs)), 1)
            own = {"kind": "run", "value": value, "low": None, "high": None, "span": None}
            points.append(blank | own | {"seed": seed, "lane": lane, "failed": seed in failed})
    return points


def _colours(found: Sequence[ScoreRow]) -> dict[str, str]:
    """By label, in the order of the table; baselines are grey."""
    own = arm_colours([row.label for row in found if not row.baseline])
    return {row.label: own.get(row.label, BASELINE) for row in found}
