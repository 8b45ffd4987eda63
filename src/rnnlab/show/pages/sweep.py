"""What the report page shows of a study of a sweep."""

from dataclasses import dataclass, replace

from rnnlab.comparing.studies import Point, Study
from rnnlab.core.numbers import TimeUnit
from rnnlab.core.terms import setting_name, status_text
from rnnlab.core.words import Both, both, capitalised, retold
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.sections import study_figures
from rnnlab.show.pages.table import EMPTY, Cell, Column, Row, Table, number, time_cell
from rnnlab.show.sweep_summary import Spread, Summary, best_point, median_text, seen_statuses, summarise
from rnnlab.show.sweep_texts import aim_text, point_text, quantity_name, score_text, step_text, value_text

ARRIVALS = (
    Column(both("arrived"), both("How many of its runs reached the target.")),
    Column(
        both("median first update"),
        both("The update at which a run was at the target for the first time, the median of the runs; + is at least."),
    ),
    Column(both("least–most"), both("The first update at the target, from the soonest run to the latest.")),
)
STATUSES = {
    "diverged": both("Runs that ended in NaN or an explosion."),
    "failed": both("Runs that ended in an error."),
    "pruned": both("Runs that were given up as hopeless."),
}
SCORES = {
    "valid": both("The mean of the finished runs ± standard deviation, on the rows that choose."),
    "test": both("The mean of the finished runs ± standard deviation, on rows that no choice has seen."),
}
SECONDS = Column(both("{unit}/update"), both("Time of one update, the median of the runs."))
RUN_COLUMNS = (
    Column(both("setting"), number=False),
    Column(both("seed")),
    *(Column(name, number=False) for name in (both("status"), both("digest"), both("reason"))),
)
BEST = both("± is the standard deviation over the runs; the row marked “best” is the best setting by validation.")


@dataclass(frozen=True)
class StudyParts:
    """A sweep in the form that the macro `study` shows."""

    name: str
    about: str
    answer: Both  # the best setting
    aim: Both
    figures: list[Figure]
    settings: Table  # a row per setting
    runs: Table  # a row per run
    notes: tuple[Both, ...]


def study_parts(study: Study, prefix: str) -> StudyParts:
    """Figures get the names ``prefix-1``, ``prefix-2`` …"""
    return StudyParts(
        name=study.name,
        about=study.about,
        answer=answer(study),
        aim=aim_text(study),
        figures=[replace(one, name=f"{prefix}-{at}") for at, one in enumerate(study_figures(study), 1)],
        settings=settings(study),
        runs=runs(study),
        notes=tuple(map(retold, study.notes)),
    )


def answer(study: Study) -> Both:
    """The best setting: a choice by validation, not a verdict."""
    best = best_point(study)
    if best is None:
        return both("No setting reached the target.")
    found = summarise(study, best.repeats)
    if found.arrival is not None:
        return both(
            "{label} is at the target soonest: after {median} updates, the median of {runs} runs, of which {arrived} "
            "got there.",
            label=capitalised(point_text(study, best)),
            median=median_text(found),
            runs=found.runs,
            arrived=found.arrival.arrived,
        )
    assert found.valid is not None  # by which it was chosen
    score = score_text(study.metric, found.valid.mean)
    gaps = {"label": point_text(study, best), "score": score, "runs": found.valid.count}
    return both("Best by validation: {label}, {score} (mean of {runs} runs).", **gaps)


def settings(study: Study) -> Table:
    """Arrivals, divergence, scores and speed of every setting."""
    unit = TimeUnit.of(summarise(study, point.repeats).step_seconds for point in study.points)
    columns = [
        *(Column(setting_name(axis.name), number=False) for axis in study.axes),
        *(ARRIVALS if study.target else ()),
        *(Column(status_text(status), STATUSES[status]) for status in seen_statuses(study)),
        *(Column(quantity_name(f"{split}_{study.metric}"), explained) for split, explained in SCORES.items()),
        SECONDS.format(unit=unit.name),
    ]
    best, star = best_point(study), both("best")
    rows = [
        Row(_cells(study, point, unit), "best", star) if point is best else Row(_cells(study, point, unit))
        for point in study.points
    ]
    return Table(both("Settings"), columns, rows, BEST if best else both("± is the standard deviation over the runs."))


def _cells(study: Study, point: Point, unit: TimeUnit) -> list[Cell]:
    found = summarise(study, point.repeats)
    cells = [_axis_cell(point, axis.name) for axis in study.axes]
    if study.target:
        cells += _arrival(found)
    for status in seen_statuses(study):
        count = getattr(found, status)
        cells.append(Cell(f"{count}/{found.runs}" if count else "", count / found.runs if found.runs else None))
    cells += [_spread(study.metric, found.valid), _spread(study.metric, found.test)]
    return [*cells, time_cell(found.step_seconds, unit)]


def _axis_cell(point: Point, axis: str) -> Cell:
    if axis not in point.at:
        return EMPTY
    value = point.at[axis]
    return Cell(value_text(value), value if isinstance(value, int | float) and not isinstance(value, bool) else None)


def _arrival(found: Summary) -> list[Cell]:
    first = found.arrival
    if first is None:
        return [EMPTY] * 3
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
        return EMPTY
    around = f" ± {score_text(metric, scores.deviation)}" if scores.deviation is not None else ""
    return Cell(score_text(metric, scores.mean) + around, scores.mean)


def runs(study: Study) -> Table:
    """Every run with its digest, and why it ended where it didn't finish."""
    rows = [
        Row(
            [
                Cell(point_text(study, point)),
                number(repeat.seed),
                Cell(status_text(repeat.status)),
                Cell(repeat.digest, repeat.digest, code=True),
                Cell(retold(repeat.reason or "")),
            ]
        )
        for point in study.points
        for repeat in point.repeats
    ]
    return Table(both("Runs and their digests"), RUN_COLUMNS, rows)
