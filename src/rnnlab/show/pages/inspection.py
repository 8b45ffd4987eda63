"""An inspection as one HTML page that needs no network: charts, data and Vega are in it."""

from dataclasses import dataclass

from rnnlab.comparing.chapters import Look, TokenWeight
from rnnlab.core.words import Both, Language, both
from rnnlab.inspecting.inspection import Inspection
from rnnlab.inspecting.translating import WritingInspection
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.gates import gated
from rnnlab.show.figures.sections import inspection_figures
from rnnlab.show.figures.translated import inside_figures
from rnnlab.show.inspection_texts import Wording
from rnnlab.show.pages import shell
from rnnlab.show.pages.table import Cell, Column, Row, Table, number
from rnnlab.show.writing_inspection import NOT_LOOKED, about_writing

SECTIONS = {
    "tokens": both("What the answer rests on"),
    "gradients": both("Gradients through time"),
    "gates": both("Gates"),
}
WRITING_SECTIONS = {"attention": both("Where it looked"), "gradients": both("What each written token rests on")}


@dataclass(frozen=True)
class Section:
    name: str  # its id
    title: Both
    said: list[Both]
    figures: list[Figure]


def page(found: Inspection, language: Language = "en") -> str:
    """The whole page, in both languages; ``language`` is the one it opens in."""
    wording = Wording(found)
    said = {"tokens": wording.tokens(), "gradients": wording.gradients()}
    said["gates"] = wording.gates() if gated(found) else []
    figures = inspection_figures(found)
    sections = [Section(name, title, said[name], figures[name]) for name, title in SECTIONS.items()]
    shown = [section for section in sections if section.said or section.figures]
    return shell.page(
        "inspection.html",
        title=both("Inside {name}", name=found.subject.name),
        language=language,
        maker="rnnlab inspect",
        sections=[(section.name, section.title) for section in shown],
        figures=[figure for section in shown for figure in section.figures],
        about=wording.about(),
        parts=shown,
        look=_look(found),
        strip=both("Red speaks for the answer, blue against it (integrated gradients). Dotted: unknown to the model."),
        filters=_filters(found, wording),
    )


def writing_page(found: WritingInspection, language: Language = "en") -> str:
    """The same of a model that writes a text for another."""
    figures = inside_figures(found)
    said = {"attention": [NOT_LOOKED] if found.attention is None else [], "gradients": list[Both]()}
    parts = [Section(name, title, said[name], figures.get(name, [])) for name, title in WRITING_SECTIONS.items()]
    return shell.page(
        "inspection.html",
        title=both("Inside {name}", name=found.name),
        language=language,
        maker="rnnlab inspect",
        sections=[(section.name, section.title) for section in parts],
        figures=[figure for section in parts for figure in section.figures],
        about=about_writing(found),
        parts=parts,
        look=None,
        strip=None,
        filters=None,
    )


def _look(found: Inspection) -> Look | None:
    """The text with its tokens weighed; nothing without a text."""
    if found.saliency is None or found.subject.tokens is None:
        return None
    weights = tuple(
        TokenWeight(token, weight, at not in found.subject.unknown)
        for at, (token, weight) in enumerate(zip(found.subject.tokens, found.saliency.integrated, strict=True))
    )
    answer = found.answer
    share = answer.probability if answer is not None and answer.probability is not None else 1.0
    return Look(found.label(found.saliency.target), share, weights, cut=0)


def _filters(found: Inspection, wording: Wording) -> Table | None:
    """The filters of a convolution that counted most; nothing without any."""
    if not found.filters:
        return None
    columns = [
        Column(both("window"), number=False),
        *(Column(name) for name in (both("width"), both("activation"), both("adds to the output"))),
    ]
    rows = [
        Row(
            [
                Cell(wording.window(one)),
                number(one.width),
                number(one.activation, "{:.3f}"),
                number(one.contribution, "{:+.3f}"),
            ]
        )
        for one in found.filters
    ]
    return Table(both("The filters that counted most"), columns, rows)
