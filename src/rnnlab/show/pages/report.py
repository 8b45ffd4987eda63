"""The report page: every part of a `Report`, in both languages, in one HTML file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from altair.utils.schemapi import debug_mode

from rnnlab.comparing.chapters import Answered, Chapter, DisputedRow, Report, Setting, SweepChapter
from rnnlab.comparing.comparison import ArmSummary, Comparison
from rnnlab.comparing.studies import Study
from rnnlab.core.numbers import count, duration
from rnnlab.core.words import Both, Language, same
from rnnlab.judging.wording import facts_of
from rnnlab.show.data_texts import facts, findings
from rnnlab.show.figures.chapter import chapter_figures
from rnnlab.show.figures.chart_files import safe_name
from rnnlab.show.figures.palette import arm_colours
from rnnlab.show.figures.sweep_charts import charts
from rnnlab.show.figures.tuning import tuning_table
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.parts import Figure
from rnnlab.show.pages.report_tables import PageTable, evidence_table, score_table, terms_table
from rnnlab.show.pages.shell import page as shell_page
from rnnlab.show.pages.sweep import study_parts
from rnnlab.show.tuning_texts import lead_lines

MOST_CHIPS = 40  # arms that get a switch in the legend
DRAWN = ("cost", "table", "tuning", "learning", "differences", "why")  # sections with charts
SHOWN_ROWS = 8  # disputed rows that are open at once


@dataclass(frozen=True)
class Answer:
    """The first thing that is read."""

    standing: Both
    means: Both
    headline: Both
    evidence: list[Both]  # together with the headline: the verdict's sentence
    chosen: Both | None  # which model, named
    costs: list[Both]
    command: str | None  # that uses it
    tone: str  # settled, open, or nothing: how the standing is coloured


@dataclass(frozen=True)
class ChapterParts:
    """What the template shows of a chapter."""

    id: str
    heading: Both | None  # when there are several
    chapter: Chapter
    answer: Answer
    figures: dict[str, list[Figure]]
    legend: dict[str, str]
    scores: PageTable
    evidence: PageTable | None
    tuning: PageTable | None
    leads: list[Both]  # what the curves of tuning say
    troubles: list[tuple[str, int, Both, str]]  # label, seed, status, reason
    data_facts: list[tuple[Both, Both]]
    data_findings: list[Both]
    terms: PageTable
    settings: list[tuple[str, Sequence[Setting]]]  # by arm


@dataclass(frozen=True)
class SweepParts:
    id: str
    sweep: SweepChapter
    studies: list[Any]  # see `sweep_page.study_parts`
    figures: list[Figure]


def page(report: Report, language: Language = "en", date: datetime | None = None) -> str:
    """The whole page. Same report, same text, but for the date."""
    with debug_mode(False):  # Altair would check every part of every chart against a schema: half of the time
        return _page(report, language, date)


def _page(report: Report, language: Language, date: datetime | None) -> str:
    several = len(report.chapters) + bool(report.sweeps) > 1
    chapters = [
        _chapter_parts(chapter, f"c{number}-" if number else "", several)
        for number, chapter in enumerate(report.chapters)
    ]
    sweeps = [_sweep_parts(sweep, f"s{number}-") for number, sweep in enumerate(report.sweeps)]
    figures = [figure for parts in chapters for drawn in parts.figures.values() for figure in drawn]
    figures += [figure for parts in sweeps for figure in parts.figures]
    names = dict.fromkeys([chapter.name for chapter in report.chapters] + [sweep.name for sweep in report.sweeps])
    return shell_page(
        "report.html",
        title=words.TITLE.format(names=", ".join(names)),
        language=language,
        sections=_navigation(chapters, sweeps),
        figures=figures,
        maker="rnnlab report",
        date=date,
        chapters=chapters,
        sweeps=sweeps,
        remarks=report.remarks,
        words=words,
        same=same,
        duration=duration,
        SHOWN=SHOWN_ROWS,
        camps=camps,
    )


@dataclass(frozen=True)
class Camp:
    """The arms that gave one answer to a row."""

    label: str
    right: bool
    answers: list[Answered]


def camps(row: DisputedRow) -> list[Camp]:
    """The right answer first, then the others, those of many arms before those of few."""
    by_label: dict[str, list[Answered]] = {}
    for answer in row.answers:
        by_label.setdefault(answer.label, []).append(answer)
    found = [Camp(label, answers[0].right, answers) for label, answers in by_label.items()]
    return sorted(found, key=lambda camp: (not camp.right, -len(camp.answers)))


def report_figures(report: Report) -> Iterator[Figure]:
    """Every chart, to be written to files."""
    for number, chapter in enumerate(report.chapters):
        for drawn in chapter_figures(chapter, f"c{number}-" if number else "").values():
            yield from drawn
    for sweep in report.sweeps:
        for study in sweep.studies:
            yield from _study_figures(study, safe_name(f"{sweep.name}-{study.name}"))


def _study_figures(study: Study, name: str) -> list[Figure]:
    """Under the names of their kinds: ``001-addition-state-heatmap-…``."""
    drawn = cache(lambda language: dict(charts(study, language)))
    return [
        Figure(f"{name}-{safe_name(kind)}", same(""), same(""), lambda language, _, kind=kind: drawn(language)[kind])
        for kind, _ in charts(study)
    ]


def _navigation(chapters: Sequence[ChapterParts], sweeps: Sequence[SweepParts]) -> list[tuple[str, Both]]:
    """Every section of a single chapter; of several, the chapters."""
    if len(chapters) == 1 and not sweeps:
        return [(f"{chapters[0].id}{name}", words.SECTIONS[name]) for name in _sections(chapters[0])]
    found = [(f"{parts.id}chapter", words.COMPARISON.format(name=parts.chapter.name)) for parts in chapters]
    return found + [(f"{parts.id}sweep", words.SWEEP.format(name=parts.sweep.name)) for parts in sweeps]


def _sections(parts: ChapterParts) -> list[str]:
    shown = {"answer": True, "table": True, "data": True, "terms": True}
    drawn = {name: bool(parts.figures[name]) for name in DRAWN}
    drawn["tuning"] = parts.tuning is not None
    drawn["differences"] |= bool(parts.chapter.differences.rows)
    return [name for name in words.SECTIONS if shown.get(name) or drawn.get(name)]


def _chapter_parts(chapter: Chapter, prefix: str, several: bool) -> ChapterParts:
    comparison = chapter.comparison
    labels = [arm.label for arm in comparison.arms]
    colours = arm_colours(labels)
    drawn = chapter_figures(chapter, prefix)
    return ChapterParts(
        id=prefix,
        heading=words.COMPARISON.format(name=chapter.name) if several else None,
        chapter=chapter,
        answer=_answer(chapter),
        figures={name: _untitled(name, drawn.get(name, [])) for name in DRAWN},
        legend={label: colours[label] for label in labels[:MOST_CHIPS]} if len(labels) > 1 else {},
        scores=score_table(comparison, colours),
        evidence=evidence_table(comparison),
        tuning=tuning_table(comparison.tuning, colours) if comparison.tuning else None,
        leads=lead_lines(comparison.tuning) if comparison.tuning else [],
        troubles=_troubles(comparison),
        data_facts=facts(comparison.profile),
        data_findings=findings(comparison.profile),
        terms=terms_table(chapter, colours),
        settings=[(term.arm, term.settings) for term in chapter.terms],
    )


def _untitled(section: str, figures: list[Figure]) -> list[Figure]:
    """A section of one figure has said its title already; that of the table has not."""
    if len(figures) > 1 or section == "table":
        return figures
    return [replace(figure, title=same("")) for figure in figures]


def _sweep_parts(sweep: SweepChapter, prefix: str) -> SweepParts:
    studies = [study_parts(study, f"{prefix}{number}") for number, study in enumerate(sweep.studies)]
    return SweepParts(prefix, sweep, studies, [figure for study in studies for figure in study.figures])


def _answer(chapter: Chapter) -> Answer:
    comparison = chapter.comparison
    verdict = comparison.verdict
    standing = _standing(comparison)
    label = verdict.recommended or verdict.best
    chosen = words.RECOMMENDED if verdict.recommended else words.BEST
    by_label = {arm.label: arm for arm in (*comparison.arms, *comparison.baselines)}
    said = facts_of(verdict)
    command = None
    if comparison.recommended_run and comparison.question:
        command = f'rnnlab predict {comparison.recommended_run} "{comparison.question}"'
    return Answer(
        standing=words.STANDING[standing],
        means=words.STANDING_MEANS[standing].format(margin=f"{100 * verdict.margin:.1f}"),
        headline=said[0],
        evidence=said[1:],
        chosen=chosen.format(label=label) if label else None,
        costs=_costs(chapter, by_label[label]) if label else [],
        command=command,
        tone="settled" if standing in ("settled", "baseline") else "nothing" if standing == "nothing" else "open",
    )


def _standing(comparison: Comparison) -> str:
    verdict = comparison.verdict
    if verdict.best_model is None:
        return "nothing"
    if verdict.recommended is None:
        return "cannot tell"
    if verdict.recommended in verdict.baselines:
        return "baseline" if verdict.firm else "for now"
    if len(verdict.estimates) == 1:
        return "alone"
    return "settled" if verdict.firm else "for now"


def _costs(chapter: Chapter, arm: ArmSummary) -> list[Both]:
    """What the chosen model costs, as far as that is known."""
    term = next((one for one in chapter.terms if one.arm == arm.label), None)
    runs = sum(run.status == "finished" for run in arm.runs)
    known: dict[str, str | Both | None] = {
        "epoch": None if arm.epoch_seconds is None else f"{arm.epoch_seconds:.2f}",
        "update": f"{1000 * arm.step_seconds:.1f}" if arm.step_seconds is not None and not arm.epoch_seconds else None,
        "training": duration(term.seconds / runs) if term and term.seconds and runs else None,
        "row": None if arm.row_seconds is None else f"{1000 * arm.row_seconds:.2g}",
        "parameters": None if arm.parameters is None else count(arm.parameters),
        "memory": None if arm.peak_memory_mb is None else f"{arm.peak_memory_mb:.0f}",
    }
    return [words.FACTS[name].format(value=value) for name, value in known.items() if value is not None]


def _troubles(comparison: Comparison) -> list[tuple[str, int, Both, str]]:
    return [
        (arm.label, run.seed, words.STATUS[run.status], run.reason or "")
        for arm in (*comparison.arms, *comparison.baselines)
        for run in arm.runs
        if run.status != "finished"
    ]
