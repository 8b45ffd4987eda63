"""What the report page shows of a study of a sweep."""

from dataclasses import dataclass

from rnnlab.comparing.studies import Point, Study
from rnnlab.core.terms import STATUS, status_text
from rnnlab.core.words import LANGUAGES, Both, Language, both, retold, same
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.sweep_charts import charts
from rnnlab.show.pages.parts import Figure
from rnnlab.show.pages.table import Cell, Column, Row
from rnnlab.show.sweep_summary import Spread, Summary, best_point, median_text, seen_statuses, summarise
from rnnlab.show.sweep_texts import (
    aim_text,
    quantity_name,
    score_text,
    step_text,
    value_text,
)

EXPLAINED = {
    "arrived": both("How many of its runs reached the target."),
    "median": both(
        "The update at which a run was at the target for the first time, the median of the runs; + is at least."
    ),
    "least–most": both("The first update at the target, from the soonest run to the latest."),
    "diverged": both("Runs that ended in NaN or an explosion."),
    "failed": both("Runs that ended in an error."),
    "pruned": both("Runs that were given up as hopeless."),
    "valid": both("The mean of the finished runs ± standard deviation, on the rows that choose."),
    "test": both("The mean of the finished runs ± standard deviation, on rows that no choice has seen."),
    "seconds": both("Time of one update, the median of the runs."),
}

NAMES = {
    "arrived": both("arrived"),
    "median": both("median first update"),
    "least–most": both("least–most"),
    **STATUS,
}
BEST = both("± is the standard deviation over the runs; the row marked “best” is the best setting by validation.")

ANSWERS = {
    "target": both(
        "{label} is at the target soonest: after {median} updates, the median of {runs} runs, of "
        "which {arrived} got there."
    ),
    "score": both("Best by validation: {label}, {score} (mean of {runs} runs)."),
    "none": both("No setting reached the target."),
}

Drawn = dict[Language, list[AnyChart]]


@dataclass(frozen=True)
class StudyParts:
    """A sweep in the form that the macro `study` shows."""

    name: str
    about: str
    answer: Both  # the best setting
    aim: Both
    figures: list[Figure]
    settings: tuple[list[Column], list[Row]]  # a row a setting
    runs: tuple[list[Column], list[Row]]  # a row a run
    spread: Both  # how to read the settings
    notes: tuple[Both, ...]
    words: dict[str, Both]


def study_parts(study: Study, prefix: str) -> StudyParts:
    """Figures get the names ``prefix-1``, ``prefix-2`` …"""
    drawn: Drawn = {language: [chart for _, chart in charts(study, language)] for language in LANGUAGES}
    return StudyParts(
        name=study.name,
        about=study.about,
        answer=answer(study),
        aim=aim_text(study),
        figures=[_figure(f"{prefix}-{at + 1}", drawn, at) for at in range(len(drawn["en"]))],
        settings=settings(study),
        runs=runs(study),
        spread=BEST if best_point(study) else both("± is the standard deviation over the runs."),
        notes=tuple(map(retold, study.notes)),
        words={"points": both("Settings"), "notes": both("Notes"), "digests": both("Runs and their digests")},
    )


def answer(study: Study) -> Both:
    """The best setting: a choice by validation, not a verdict."""
    best = best_point(study)
    if best is None:
        return ANSWERS["none"]
    found = summarise(study, best.repeats)
    if found.arrival is not None:
        gaps = {"median": median_text(found), "runs": found.runs, "arrived": found.arrival.arrived}
        return ANSWERS["target"].format(label=best.label, **gaps)
    score = score_text(study.metric, found.valid.mean) if found.valid else ""
    return ANSWERS["score"].format(label=best.label, score=score, runs=found.valid.count if found.valid else 0)


def _figure(name: str, drawn: Drawn, at: int) -> Figure:
    """Its words are in the chart."""
    return Figure(name, same(""), same(""), lambda language, for_page: drawn[language][at])


def settings(study: Study) -> tuple[list[Column], list[Row]]:
    """Arrivals, divergence, scores and speed of every setting."""
    columns = [Column(same(axis.name), number=False) for axis in study.axes]
    keys = [*(("arrived", "median", "least–most") if study.target else ()), *seen_statuses(study)]
    columns += [Column(NAMES[key], EXPLAINED[key]) for key in keys]
    for split in ("valid", "test"):
        columns.append(Column(quantity_name(f"{split}_{study.metric}"), EXPLAINED[split]))
    columns.append(Column(both("ms per update"), EXPLAINED["seconds"]))
    best = best_point(study)
    star = both("best")
    rows = [
        Row(_cells(study, point), "best", star) if point is best else Row(_cells(study, point))
        for point in study.points
    ]
    return columns, rows


def _cells(study: Study, point: Point) -> list[Cell]:
    found = summarise(study, point.repeats)
    cells = [_axis_cell(point, axis.name) for axis in study.axes]
    if study.target:
        cells += _arrival(found)
    for status in seen_statuses(study):
        count = getattr(found, status)
        cells.append(Cell(f"{count}/{found.runs}" if count else "", count / found.runs if found.runs else None))
    cells += [_spread(study.metric, found.valid), _spread(study.metric, found.test)]
    seconds = found.step_seconds
    return [*cells, Cell("" if seconds is None else f"{1000 * seconds:.3g}", seconds)]


def _axis_cell(point: Point, axis: str) -> Cell:
    if axis not in point.at:
        return Cell("")
    value = point.at[axis]
    return Cell(value_text(value), value if isinstance(value, int | float) and not isinstance(value, bool) else None)


def _arrival(found: Summary) -> list[Cell]:
    first = found.arrival
    if first is None:
        return [Cell(""), Cell(""), Cell("")]
    span = "" if first.least is None or first.most is None else f"{step_text(first.least)}–{step_text(first.most)}"
    median = median_text(found)
    return [
        Cell(f"{first.arrived}/{found.runs}", first.arrived / found.runs if found.runs else None),
        Cell(median, first.median if median else None),
        Cell(span if first.arrived else "", first.least if first.arrived else None),
    ]


def _spread(metric: str, scores: Spread | None) -> Cell:
    """``97.5 % ± 1.2 %``"""
    if scores is None:
        return Cell("")
    around = f" ± {score_text(metric, scores.deviation)}" if scores.deviation is not None else ""
    return Cell(score_text(metric, scores.mean) + around, scores.mean)


def runs(study: Study) -> tuple[list[Column], list[Row]]:
    """Every run with its digest, and why it ended where it didn't finish."""
    digest, reason = both("digest"), both("reason")
    columns = [
        Column(both("setting"), number=False),
        Column(both("seed")),
        *(Column(name, number=False) for name in (both("status"), digest, reason)),
    ]
    rows = [
        Row(
            [
                Cell(point.label),
                Cell(str(repeat.seed), repeat.seed),
                Cell(status_text(repeat.status)),
                Cell(repeat.digest, repeat.digest, code=True),
                Cell(repeat.reason or ""),
            ]
        )
        for point in study.points
        for repeat in point.repeats
    ]
    return columns, rows
