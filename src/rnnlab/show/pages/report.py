"""The report page: every part of a `Report`, in both languages, in one HTML file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rnnlab.comparing.chapters import (
    Answered,
    Chapter,
    DisputedRow,
    Report,
    Setting,
    SweepChapter,
    WritingByEpoch,
    WrittenText,
)
from rnnlab.comparing.comparison import ArmSummary, Comparison
from rnnlab.core.numbers import count, duration, percent_text
from rnnlab.core.terms import metric_text, status_text
from rnnlab.core.words import Both, Language, capitalised, same
from rnnlab.judging.wording import facts_of
from rnnlab.show.data_texts import facts, findings
from rnnlab.show.figures.drawing import safe_name
from rnnlab.show.figures.figure import Figure, metric_of
from rnnlab.show.figures.palette import arm_colours
from rnnlab.show.figures.sections import CHAPTER, chapter_figures, study_figures
from rnnlab.show.judge_tables import margin_text
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.forecasts import ForecastParts, forecast_parts
from rnnlab.show.pages.heard_rows import AlignedRow, aligned
from rnnlab.show.pages.report_tables import (
    beam_table,
    class_tables,
    epochs_table,
    evidence_table,
    hearing_table,
    score_table,
    size_table,
    tagging_table,
    terms_table,
    tuning_table,
)
from rnnlab.show.pages.shell import page as shell_page
from rnnlab.show.pages.surprise import Strip, contested_table, strips, written_by_arm, written_by_epoch
from rnnlab.show.pages.sweep import StudyParts, study_parts
from rnnlab.show.pages.table import Table
from rnnlab.show.pages.tagged_sentences import TaggedSentence, tagged_sentences, type_colours
from rnnlab.show.pages.units import ShownStrip, neighbours_table, unit_strips, units_table
from rnnlab.show.tuning_texts import lead_lines

MOST_CHIPS = 40  # arms that get a switch in the legend
SHOWN_ROWS = 8  # disputed rows that are open at once
SHOWN_SENTENCES = 4
TITLED = ("table", "continued", "translated", "maps", "forecasted", "fans", "windows", "residuals")  # more than figures


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
    titles: dict[str, Both]  # of its sections
    answer: Answer
    figures: dict[str, list[Figure]]
    legend: dict[str, str]
    scores: Table
    evidence: Table | None
    tuning: Table | None
    leads: list[Both]  # what the curves of tuning say
    troubles: list[tuple[str, int, Both, str]]  # label, seed, status, reason
    data_facts: list[tuple[Both, Both]]
    data_findings: list[Both]
    epochs: Table | None
    classes: list[Table]  # per arm, the recommended one first
    tagging: Table | None  # of taggers alone
    sentences: list[TaggedSentence]
    types: dict[str, str]  # of entities, and their colours
    hearing: Table | None  # of recognisers alone
    heard_worst: list[AlignedRow]
    heard_others: list[AlignedRow]
    strips: list[Strip]  # of language models alone, as the following
    contested: Table | None
    written: list[tuple[str, list[WrittenText]]]  # by arm
    by_epoch: tuple[WritingByEpoch, ...]
    units: Table | None
    unit_strips: list[ShownStrip]
    neighbours: Table | None
    beams: Table | None  # of translators alone
    forecasts: ForecastParts | None  # of forecasters alone
    terms: Table
    size: Table
    settings: list[tuple[str, Sequence[Setting]]]  # by arm


@dataclass(frozen=True)
class SweepParts:
    id: str
    heading: Both | None  # when there is something else on the page
    sweep: SweepChapter
    studies: list[StudyParts]
    titles: list[Both]  # of the studies; one that has the name of its sweep was named already


def page(report: Report, language: Language = "en", date: datetime | None = None) -> str:
    """The whole page. Same report, same text, but for the date."""
    several = len(report.chapters) + bool(report.sweeps) > 1
    chapters = [_chapter_parts(chapter, prefix, several) for prefix, chapter in _prefixed(report)]
    alone = len(report.chapters) + len(report.sweeps) == 1
    sweeps = [_sweep_parts(sweep, f"s{number}-", alone) for number, sweep in enumerate(report.sweeps)]
    figures = [figure for parts in chapters for drawn in parts.figures.values() for figure in drawn]
    figures += [figure for parts in sweeps for study in parts.studies for figure in study.figures]
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
        SHOWN_SENTENCES=SHOWN_SENTENCES,
        camps=camps,
        percent_text=percent_text,
        metric_text=metric_text,
    )


def camps(row: DisputedRow) -> list[list[Answered]]:
    """The arms by their answers: the right one first, then the others, those of many arms before those of few."""
    by_label: dict[str, list[Answered]] = {}
    for answer in row.answers:
        by_label.setdefault(answer.label, []).append(answer)
    return sorted(by_label.values(), key=lambda camp: (not camp[0].right, -len(camp)))


def report_figures(report: Report) -> Iterator[Figure]:
    """Every chart, to be written to files; those of sweeps under their kinds: ``001-addition-state-heatmap-…``."""
    for prefix, chapter in _prefixed(report):
        for drawn in chapter_figures(chapter, prefix).values():
            yield from drawn
    for sweep in report.sweeps:
        for study in sweep.studies:
            name = safe_name(f"{sweep.name}-{study.name}")
            for figure in study_figures(study):
                yield replace(figure, name=safe_name(f"{name}-{safe_name(figure.name)}"))


def _prefixed(report: Report) -> Iterator[tuple[str, Chapter]]:
    """What the ids of a chapter begin with; those of the first with nothing."""
    for number, chapter in enumerate(report.chapters):
        yield f"c{number}-" if number else "", chapter


def _navigation(chapters: Sequence[ChapterParts], sweeps: Sequence[SweepParts]) -> list[tuple[str, Both]]:
    """Every section of a single chapter; of several, the chapters."""
    if len(chapters) == 1 and not sweeps:
        return [(f"{chapters[0].id}{name}", chapters[0].titles[name]) for name in _sections(chapters[0])]
    if len(sweeps) == 1 and not chapters:
        (parts,) = sweeps
        found = [(f"{parts.id}{at}", title) for at, title in enumerate(parts.titles)]
        return [*found, (f"{parts.id}terms", words.PROVENANCE)]
    found = [(f"{parts.id}chapter", words.COMPARISON.format(name=parts.chapter.name)) for parts in chapters]
    return found + [(f"{parts.id}sweep", words.SWEEP.format(name=parts.sweep.name)) for parts in sweeps]


def _sections(parts: ChapterParts) -> list[str]:
    shown = {name for name, figures in parts.figures.items() if figures} | {"answer", "table", "data", "terms"}
    shown |= {"differences"} if parts.chapter.differences.rows or parts.tagging or parts.hearing else set()
    shown |= {"tuning"} if parts.tuning else set()
    shown |= {"continued"} if parts.strips else set()
    shown |= {"forecasted"} if parts.forecasts else set()
    shown |= {"translated"} if parts.chapter.differences.translated else set()
    return [name for name in words.SECTIONS if name in shown]


def _chapter_parts(chapter: Chapter, prefix: str, several: bool) -> ChapterParts:
    comparison = chapter.comparison
    labels = [arm.label for arm in comparison.arms]
    colours, tagging, hearing = arm_colours(labels), chapter.differences.tagging, chapter.differences.hearing
    drawn = chapter_figures(chapter, prefix)
    return ChapterParts(
        id=prefix,
        heading=words.COMPARISON.format(name=chapter.name) if several else None,
        chapter=chapter,
        titles={name: title.format(metric=capitalised(metric_of(chapter))) for name, title in words.SECTIONS.items()},
        answer=_answer(chapter),
        figures={name: _untitled(name, drawn.get(name, [])) for name in CHAPTER},
        legend={label: colours[label] for label in labels[:MOST_CHIPS]} if len(labels) > 1 else {},
        scores=score_table(comparison, colours),
        evidence=evidence_table(comparison),
        tuning=tuning_table(comparison.tuning, colours) if comparison.tuning else None,
        leads=lead_lines(comparison.tuning) if comparison.tuning else [],
        troubles=_troubles(comparison),
        data_facts=facts(comparison.profile),
        data_findings=findings(comparison.profile),
        epochs=epochs_table(chapter, colours),
        classes=class_tables(chapter),
        tagging=tagging_table(chapter, colours),
        sentences=tagged_sentences(tagging) if tagging else [],
        types=type_colours(chapter.differences),
        hearing=hearing_table(chapter, colours),
        heard_worst=[aligned(row) for row in hearing.worst] if hearing else [],
        heard_others=[aligned(row) for row in hearing.others] if hearing else [],
        strips=strips(chapter),
        contested=contested_table(chapter),
        written=written_by_arm(chapter),
        by_epoch=written_by_epoch(chapter),
        units=units_table(chapter),
        unit_strips=unit_strips(chapter),
        neighbours=neighbours_table(chapter),
        beams=beam_table(chapter, colours),
        forecasts=forecast_parts(chapter, colours),
        terms=terms_table(chapter, colours),
        size=size_table(chapter, colours),
        settings=[(term.arm, term.settings) for term in chapter.terms],
    )


def _untitled(section: str, figures: list[Figure]) -> list[Figure]:
    """A section of one figure has said its title already; one that has more than figures has not."""
    if len(figures) > 1 or section in TITLED:
        return figures
    return [replace(figure, title=same("")) for figure in figures]


def _sweep_parts(sweep: SweepChapter, prefix: str, alone: bool) -> SweepParts:
    heading = None if alone else words.SWEEP.format(name=sweep.name)
    studies = [study_parts(study, f"{prefix}{at}") for at, study in enumerate(sweep.studies)]
    titles = [words.SECTIONS["answer"] if one.name == sweep.name else same(one.name) for one in studies]
    return SweepParts(prefix, heading, sweep, studies, titles)


def _answer(chapter: Chapter) -> Answer:
    comparison = chapter.comparison
    verdict = comparison.verdict
    standing = _standing(comparison)
    label = verdict.recommended or verdict.best
    chosen = words.RECOMMENDED if verdict.recommended else words.BEST
    arm = next((arm for arm in (*comparison.arms, *comparison.baselines) if arm.label == label), None)
    said = facts_of(verdict)
    return Answer(
        standing=words.STANDING[standing][0],
        means=words.STANDING[standing][1].format(margin=margin_text(verdict)),
        headline=said[0],
        evidence=said[1:],
        chosen=chosen.format(label=label) if label else None,
        costs=_costs(arm) if arm else [],
        command=comparison.use,
        tone="settled" if standing in ("settled", "baseline") else "nothing" if standing == "nothing" else "open",
    )


def _standing(comparison: Comparison) -> str:
    verdict = comparison.verdict
    if verdict.best_model is None:
        return "nothing"
    if verdict.too_short:
        return "too short"
    if verdict.recommended is None:
        return "cannot tell"
    if verdict.recommended in verdict.baselines:
        return "baseline" if verdict.firm else "for now"
    if len(verdict.estimates) == 1:
        return "alone"
    return "settled" if verdict.firm else "for now"


def _costs(arm: ArmSummary) -> list[Both]:
    """What the chosen model costs, as far as that is known."""
    known: dict[str, str | Both | None] = {
        "epoch": None if arm.epoch_seconds is None else duration(arm.epoch_seconds),
        "update": duration(arm.step_seconds) if arm.step_seconds is not None and not arm.epoch_seconds else None,
        "training": duration(arm.total_seconds) if arm.total_seconds else None,
        "row": None if arm.row_seconds is None else duration(arm.row_seconds),
        "parameters": None if arm.parameters is None else count(arm.parameters),
        "memory": None if arm.peak_memory_mb is None else f"{arm.peak_memory_mb:.0f}",
    }
    return [words.FACTS[name].format(value=value) for name, value in known.items() if value is not None]


def _troubles(comparison: Comparison) -> list[tuple[str, int, Both, str]]:
    return [
        (arm.label, run.seed, status_text(run.status), run.reason or "")
        for arm in (*comparison.arms, *comparison.baselines)
        for run in arm.runs
        if run.status != "finished"
    ]
