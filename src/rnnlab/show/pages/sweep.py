"""What the report page shows of a study of a sweep."""

from dataclasses import dataclass

from rnnlab.comparing.studies import Point, Study
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.sweep_charts import charts
from rnnlab.show.pages.parts import LANGUAGES, Both, Figure, Language, same
from rnnlab.show.pages.table import Cell, Column, Row
from rnnlab.show.sweep_summary import Spread, Summary, best_point, median_text, seen_statuses, summarise
from rnnlab.show.words.sweep_wording import (
    WORDS,
    aim_text,
    quantity_name,
    score_text,
    status_text,
    step_text,
    value_text,
)

EXPLAINED = {
    "arrived": Both("How many of its runs reached the target.", "达标的运行次数。"),
    "median": Both(
        "The update at which a run was at the target for the first time, the median of the runs; + is at least.",
        "首次达标时的更新次数，取各次运行的中位数；+ 表示至少。",
    ),
    "least–most": Both(
        "The first update at the target, from the soonest run to the latest.",
        "首次达标的更新次数，从最早到最晚的运行。",
    ),
    "diverged": Both("Runs that ended in NaN or an explosion.", "以 NaN 或爆炸告终的运行。"),
    "failed": Both("Runs that ended in an error.", "因错误而终止的运行。"),
    "pruned": Both("Runs that were given up as hopeless.", "因没有希望而放弃的运行。"),
    "valid": Both(
        "The mean of the finished runs ± standard deviation, on the rows that choose.",
        "已完成运行的平均值 ± 标准差，用于选择的验证集。",
    ),
    "test": Both(
        "The mean of the finished runs ± standard deviation, on rows that no choice has seen.",
        "已完成运行的平均值 ± 标准差，任何选择都没见过的测试集。",
    ),
    "seconds": Both("Time of one update, the median of the runs.", "一次更新的用时，取各次运行的中位数。"),
}

BEST = Both(
    "± is the standard deviation over the runs; the row marked “best” is the best setting by validation.",
    "± 是各次运行的标准差；标着“最好”的一行是按验证集最好的设置。",
)

ANSWERS = {
    "target": Both(
        "{label} is at the target soonest: after {median} updates, the median of {runs} runs, of which {arrived} got "
        "there.",
        "{label} 最早达标：{runs} 次运行的中位数为 {median} 次更新，其中 {arrived} 次达标。",
    ),
    "score": Both(
        "Best by validation: {label}, {score} (mean of {runs} runs).",
        "按验证集最好的是 {label}：{score}（{runs} 次运行的平均）。",
    ),
    "none": Both("No setting reached the target.", "没有任何设置达标。"),
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
    notes: tuple[str, ...]
    words: dict[str, Both]


def study_parts(study: Study, prefix: str) -> StudyParts:
    """Figures get the names ``prefix-1``, ``prefix-2`` …"""
    drawn: Drawn = {language: [chart for _, chart in charts(study, language)] for language in LANGUAGES}
    return StudyParts(
        name=study.name,
        about=study.about,
        answer=answer(study),
        aim=Both(*(aim_text(study, language) for language in LANGUAGES)),
        figures=[_figure(f"{prefix}-{at + 1}", drawn, at) for at in range(len(drawn["en"]))],
        settings=settings(study),
        runs=runs(study),
        spread=BEST if best_point(study) else word("no best"),
        notes=tuple(study.notes),
        words={key: word(key) for key in ("points", "notes", "digests")},
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


def word(key: str) -> Both:
    return Both(*(WORDS[language][key] for language in LANGUAGES))


def _figure(name: str, drawn: Drawn, at: int) -> Figure:
    """Its words are in the chart."""
    return Figure(name, same(""), same(""), lambda language, for_page: drawn[language][at])


def settings(study: Study) -> tuple[list[Column], list[Row]]:
    """Arrivals, divergence, scores and speed of every setting."""
    columns = [Column(same(axis.name), number=False) for axis in study.axes]
    keys = [*(("arrived", "median", "least–most") if study.target else ()), *seen_statuses(study)]
    columns += [Column(word(key), EXPLAINED[key]) for key in keys]
    for split in ("valid", "test"):
        names = (quantity_name(f"{split}_{study.metric}", language) for language in LANGUAGES)
        columns.append(Column(Both(*names), EXPLAINED[split]))
    columns.append(Column(word("seconds"), EXPLAINED["seconds"]))
    best = best_point(study)
    star = Both("best", "最好")
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
    digest, reason = Both("digest", "摘要"), Both("reason", "原因")
    columns = [
        Column(word("setting"), number=False),
        Column(word("seed")),
        *(Column(name, number=False) for name in (word("status"), digest, reason)),
    ]
    rows = [
        Row(
            [
                Cell(point.label),
                Cell(str(repeat.seed), repeat.seed),
                Cell(Both(*(status_text(repeat.status, language) for language in LANGUAGES))),
                Cell(repeat.digest, repeat.digest, code=True),
                Cell(repeat.reason or ""),
            ]
        )
        for point in study.points
        for repeat in point.repeats
    ]
    return columns, rows
