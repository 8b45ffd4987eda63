"""Results that show themselves in a notebook: the answer, the table, and charts of the report as pictures."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from markupsafe import Markup

from rnnlab.comparing.chapters import Chapter, Differences, Provenance
from rnnlab.comparing.comparison import Comparison
from rnnlab.comparing.learning import learning
from rnnlab.comparing.records import Record
from rnnlab.comparing.studies import Study
from rnnlab.core import words
from rnnlab.core.words import Both, Language, both, spoken
from rnnlab.inspecting.inspection import Inspection
from rnnlab.inspecting.translating import WritingInspection
from rnnlab.judging.wording import sentence_of
from rnnlab.runs.directory import Failed, RunDirectory
from rnnlab.show.inspection_texts import lines
from rnnlab.show.writing_inspection import about_writing, writing_lines
from rnnlab.training.spec import RunSpec

MORE = both("All there is to see: rnnlab.write_report({folder!r})")


@dataclass(frozen=True)
class Result(Comparison):
    """A comparison that a notebook shows with its charts."""

    def html(self, language: Language | None = None) -> str:
        """What a notebook shows: pictures, which need neither scripts nor a network; in the current language (that of
        RNNLAB_LANG, or of the locale) unless told."""
        from rnnlab.show.figures.sections import chapter_figures  # only now: they load Altair
        from rnnlab.show.pages.report_tables import score_table

        language = language or words.language()
        sentence = sentence_of(self.verdict)[language]
        drawn = [figure for figures in chapter_figures(_chapter(self)).values() for figure in figures]
        pictures = (figure.draw(language, False) for figure in drawn)
        more = [MORE.format(folder=self.folder)[language]] if self.folder else []
        return _block([sentence], [_table(score_table(self, {}), language)], _images(pictures), more)

    def _repr_html_(self) -> str:
        return self.html()


class Studies(list[Study]):
    """The studies of a sweep, which a notebook shows with their charts."""

    def html(self, language: Language | None = None) -> str:
        from rnnlab.show.figures.sections import study_figures  # only now: they load Altair

        language = language or words.language()
        drawn = [figure for study in self for figure in study_figures(study)]
        return _block([], [], _images(figure.draw(language, False) for figure in drawn), [])

    def _repr_html_(self) -> str:
        return self.html()


@dataclass(frozen=True)
class Inside(Inspection):
    """An inspection that a notebook shows with its charts, and `print` in sentences."""

    def html(self, language: Language | None = None) -> str:
        from rnnlab.show.figures.sections import inspection_figures  # only now: they load Altair

        language = language or words.language()
        drawn = [figure for figures in inspection_figures(self).values() for figure in figures]
        pictures = _images(figure.draw(language, False) for figure in drawn)
        captioned = [
            Markup("<p>{}</p>{}").format(figure.caption[language], picture)
            for figure, picture in zip(drawn, pictures, strict=True)
        ]
        return _block(filter(None, lines(self, language)), [], captioned, [])

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        return "\n".join(lines(self, words.language()))


@dataclass(frozen=True)
class InsideTranslator(WritingInspection):
    """The same of a model that writes a text for another."""

    def html(self, language: Language | None = None) -> str:
        from rnnlab.show.figures.translated import inside_figures  # only now: they load Altair

        language = language or words.language()
        drawn = [figure for figures in inside_figures(self).values() for figure in figures]
        pictures = _images(figure.draw(language, False) for figure in drawn)
        return _block([one[language] for one in about_writing(self)], [], pictures, [])

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        return "\n".join(writing_lines(self, words.language()))


def inside_translator(found: WritingInspection) -> InsideTranslator:
    return InsideTranslator(**{field.name: getattr(found, field.name) for field in fields(WritingInspection)})


def result_of(comparison: Comparison) -> Result:
    return Result(**{field.name: getattr(comparison, field.name) for field in fields(Comparison)})


def inside_of(found: Inspection) -> Inside:
    return Inside(**{field.name: getattr(found, field.name) for field in fields(Inspection)})


def _chapter(result: Comparison) -> Chapter:
    """What can be told without the data and the models: scores and how they were learnt."""
    records = []
    for arm in (*result.arms, *result.baselines):
        for run in arm.runs:
            directory = RunDirectory(run.path)
            outcome = directory.outcome() or Failed(run.reason or "")
            records.append(Record(arm.label, RunSpec.from_dict(directory.spec()), outcome, directory.path))
    return Chapter(
        name="",
        comparison=result,
        learning=learning(records, records[0].spec.task),
        differences=Differences((), (), (), ()),
        internals=(),
        terms=(),
        provenance=Provenance(None, None, (), {}, 0.0),
    )


def _table(shown: Any, language: Language) -> Markup:
    def cells(tag: str, texts: Iterable[Both | str]) -> Markup:
        return Markup().join(Markup(f"<{tag}>{{}}</{tag}>").format(spoken(text, language)) for text in texts)

    head = cells("th", (column.name for column in shown.columns))
    rows = (cells("td", (cell.text for cell in row.cells)) for row in shown.rows)
    body = Markup().join(Markup("<tr>{}</tr>").format(row) for row in rows)
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)


def _images(charts: Iterable[Any]) -> list[Markup]:
    from rnnlab.show.figures.drawing import svg

    pictures = (base64.b64encode(svg(chart).encode()).decode() for chart in charts)
    return [Markup('<img style="max-width: 100%" src="data:image/svg+xml;base64,{}">').format(one) for one in pictures]


def _block(before: Iterable[str], tables: Iterable[Markup], images: Iterable[Markup], after: Iterable[str]) -> str:
    said = [[Markup("<p>{}</p>").format(text) for text in texts] for texts in (before, after)]
    return str(Markup("\n").join([*said[0], *tables, *images, *said[1]]))
