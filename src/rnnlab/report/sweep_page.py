"""Sweeps as one HTML page that needs no network: charts, data and Vega are in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from rnnlab.analysis.studies import Point, Study
from rnnlab.report.figures import embedded, vega_script
from rnnlab.report.sweep_charts import charts
from rnnlab.report.sweep_summary import Spread, best_point, median_text, seen_statuses, summarise
from rnnlab.report.sweep_wording import (
    WORDS,
    Language,
    aim_text,
    quantity_name,
    score_text,
    status_text,
    step_text,
    value_text,
)


@dataclass(frozen=True)
class Table:
    """A row a setting."""

    columns: list[str]
    texts: int  # so many columns, the axes, are words; the others are figures
    rows: list[list[str]]
    best: int | None  # the number of the best row


def page(studies: Sequence[Study], title: str = "", language: Language = "en") -> str:
    """The whole page, a section a study."""
    words = WORDS[language]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rnnlab.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("sweep.html").render(
        language=language,
        title=title or words["title"],
        words=words,
        sections=[_section(number, study, language) for number, study in enumerate(studies)],
        vega=vega_script(),
    )


def _section(number: int, study: Study, language: Language) -> dict[str, Any]:
    drawn = [embedded(chart) for _, chart in charts(study, language)]
    return {
        "name": study.name,
        "about": study.about,
        "aim": aim_text(study, language),
        "figures": [{"id": f"study-{number}-{place}", "spec": spec} for place, spec in enumerate(drawn)],
        "table": table(study, language),
        "notes": study.notes,
        "runs": [
            {
                "label": point.label,
                "seed": repeat.seed,
                "status": status_text(repeat.status, language),
                "digest": repeat.digest,
                "reason": repeat.reason or "",
            }
            for point in study.points
            for repeat in point.repeats
        ],
    }


def table(study: Study, language: Language = "en") -> Table:
    """Arrivals, divergence, scores and speed of every setting."""
    words = WORDS[language]
    axes = [axis.name for axis in study.axes]
    statuses = seen_statuses(study)
    columns = [*axes, *([words["arrived"], words["median"], words["least–most"]] if study.target else [])]
    columns += [words[status] for status in statuses]
    columns += [quantity_name(f"{split}_{study.metric}", language) for split in ("valid", "test")] + [words["seconds"]]
    best = best_point(study)
    return Table(
        columns=columns,
        texts=len(axes),
        rows=[_row(study, point, axes, statuses) for point in study.points],
        best=study.points.index(best) if best else None,
    )


def _row(study: Study, point: Point, axes: Sequence[str], statuses: Sequence[str]) -> list[str]:
    found = summarise(study, point.repeats)
    cells = [value_text(point.at[axis]) if axis in point.at else "" for axis in axes]
    if study.target and found.arrival:
        first = found.arrival
        span = "" if first.least is None or first.most is None else f"{step_text(first.least)}–{step_text(first.most)}"
        cells += [f"{first.arrived}/{found.runs}", median_text(found), span if first.arrived else ""]
    cells += [f"{count}/{found.runs}" if (count := getattr(found, status)) else "" for status in statuses]
    cells += [_spread(study.metric, found.valid), _spread(study.metric, found.test)]
    return [*cells, "" if found.step_seconds is None else f"{1000 * found.step_seconds:.3g}"]


def _spread(metric: str, scores: Spread | None) -> str:
    """``97.5 % ± 1.2 %``"""
    if scores is None:
        return ""
    around = f" ± {score_text(metric, scores.deviation)}" if scores.deviation is not None else ""
    return score_text(metric, scores.mean) + around
