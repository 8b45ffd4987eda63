"""What is taken for what: the confusion matrix of an arm that is chosen beside it; in a file those of the best arms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter, Confusion, Counted
from rnnlab.core.words import Both, Language, both, same
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import Control, Figure, Row
from rnnlab.show.figures.heatmap import NARROWEST, slanted
from rnnlab.show.figures.palette import BASELINE

MOST_LABELS = 40  # more can't be read: those with the most confusion are shown
NUMBERED = 12  # classes: with more, cells are too small for numbers
MOST_CELLS = 20_000  # of all arms together
PANELS = 4
FILL = "#005f99"  # as much of it as there are answers: 0 looks like the page, light or dark
WHITE_FROM = 0.77  # share from which on white is read better than the page's own colour of texts
TITLE = both("What is taken for what")


@dataclass(frozen=True)
class Words:
    """Of what has a class: test rows, tokens or entities."""

    caption: Both
    cut: Both
    true: Both
    share: Both
    count: Both


WORDS: dict[Counted, Words] = {
    "rows": Words(
        both(
            "Of the test rows of each class (a line), the share that got each answer (a column), mean "
            "of the runs. On the diagonal are the right ones.{cut}"
        ),
        both(" The {shown} most confused of {total} classes are shown."),
        both("true class"),
        both("share of the class"),
        both("rows"),
    ),
    "tokens": Words(
        both(
            "Of the test tokens of each tag (a line), the share that got each answer (a column), mean "
            "of the runs. On the diagonal are the right ones.{cut}"
        ),
        both(" The {shown} most confused of {total} tags are shown."),
        both("true tag"),
        both("share of the tag"),
        both("tokens"),
    ),
    "entities": Words(
        both(
            "Of the entities of each type in the test rows (a line), what the models took them for (a column), mean of "
            "the runs. On the diagonal are the right ones; the last columns have those that got the right type but "
            "other first or last tokens, and those that were missed; the last line has what was taken for an entity "
            "where there is none.{cut}"
        ),
        both(" The {shown} most confused of {total} types are shown."),
        both("true type"),
        both("share of the line"),
        both("entities"),
    ),
    "words": Words(
        both(
            "Of the words that were said in the test rows (a line each), what they were heard as (a column), mean of "
            "the runs. On the diagonal are the right ones; the last column has those that were missed, the last line "
            "what was heard where nothing was said, up to four words per place.{cut}"
        ),
        both(" The {shown} most confused of {total} words are shown."),
        both("word said"),
        both("share of the line"),
        both("words"),
    ),
}
SAID = both("answer")
NOTHING, BOUNDARIES, MISSED = both("(no entity)"), both("(boundaries)"), both("(missed)")
ADDED = both("(added)")
MORE_LINES: dict[Counted, tuple[Both, ...]] = {"entities": (NOTHING,), "words": (ADDED,)}  # behind the classes
MORE_COLUMNS: dict[Counted, tuple[Both, ...]] = {"entities": (BOUNDARIES, MISSED), "words": (MISSED,)}


@dataclass(frozen=True)
class Matrices:
    labels: tuple[str, ...]  # those shown
    shown: tuple[int, ...]  # their numbers among all
    confusions: tuple[Confusion, ...]  # the best arm first
    counted: Counted = "rows"

    @property
    def words(self) -> Words:
        return WORDS[self.counted]

    def lines(self, language: Language) -> dict[int, str]:
        """Their numbers and names; of entities and words, the last one is none."""
        return self._named(MORE_LINES.get(self.counted, ()), language)

    def columns(self, language: Language) -> dict[int, str]:
        return self._named(MORE_COLUMNS.get(self.counted, ()), language)

    def _named(self, more: Sequence[Both], language: Language) -> dict[int, str]:
        own = dict(zip(self.shown, self.labels, strict=True))
        types = len(self.confusions[0].counts) - 1  # whatever of them is shown
        return own | {types + at: text[language] for at, text in enumerate(more)}

    @property
    def size(self) -> int:
        return len(self.columns("en"))


def matrices(chapter: Chapter) -> Matrices | None:
    found = {one.arm: one for one in chapter.differences.confusions}
    order = [arm.label for arm in (*chapter.comparison.arms, *chapter.comparison.baselines)]
    confusions = [found[label] for label in order if label in found]
    labels, counted = chapter.differences.labels, chapter.differences.counted
    if not confusions or (len(labels) < 2 and counted != "entities"):
        return None
    shown = sorted(sorted(range(len(labels)), key=lambda n: -_wrong(confusions, n))[:MOST_LABELS])
    affordable = max(1, MOST_CELLS // len(shown) ** 2)
    return Matrices(tuple(labels[n] for n in shown), tuple(shown), tuple(confusions[:affordable]), counted)


def _wrong(confusions: Sequence[Confusion], number: int) -> float:
    """Rows of that class that got another answer, or of others that got it."""
    total = 0.0
    for one in confusions:
        total += sum(one.counts[number]) + sum(line[number] for line in one.counts) - 2 * one.counts[number][number]
    return total


def confusion_rows(found: Matrices, language: Language = "en") -> list[Row]:
    """Rows {arm, o: its rank, t: true class, a: answer, v: share of the class, n: rows}; of many classes, those that
    aren't 0."""
    rows = []
    for place, one in enumerate(found.confusions):
        for number, true in found.lines(language).items():
            total = sum(one.counts[number])
            for other, said in found.columns(language).items():
                count = one.counts[number][other]
                if total and (count or found.size <= NUMBERED):
                    row = {"arm": one.arm, "o": place, "t": true, "a": said}
                    rows.append(row | {"v": fig.short(count / total), "n": fig.short(count)})
    return rows


def confusion_figure(chapter: Chapter) -> Figure | None:
    found = matrices(chapter)
    if found is None:
        return None
    total = len(chapter.differences.labels)
    cut = found.words.cut.format(shown=len(found.labels), total=total) if len(found.labels) < total else same("")
    caption = found.words.caption.format(cut=cut)
    control = Control("arm", fig.ARM, tuple((one.arm, same(one.arm)) for one in found.confusions))

    def chart(language: Language, for_page: bool) -> Any:
        chosen = alt.Chart().transform_filter("datum.arm == arm")
        return fig.layered(_layers(chosen, found, language), confusion_rows(found, language))

    def draw(language: Language, for_page: bool) -> Any:
        return on_page.draw(language, True) if for_page else _panels(chapter, found, language, caption)

    on_page = fig.figure("confusion", TITLE, caption, chart, [control], arms=False, height=alt.Step(_cell(found)))
    return replace(on_page, draw=draw)


def _panels(chapter: Chapter, found: Matrices, language: Language, caption: Both) -> alt.FacetChart:
    """Of the best arms; baselines only when there is nothing else."""
    arms = {arm.label for arm in chapter.comparison.arms}
    best = [one for one in found.confusions if one.arm in arms] or list(found.confusions)
    panels = replace(found, confusions=tuple(best[: PANELS if found.size <= NUMBERED else 1]))
    columns = min(2, len(panels.confusions))
    side = max(found.size * _cell(found), (fig.WIDTH - 60) // columns - 70)
    header = alt.Header(title=None, labelFontSize=13, labelFontWeight="bold", labelLimit=side)
    facet = alt.Facet("arm:N", sort=alt.EncodingSortField("o", op="min"), header=header)
    whole: Row = {"data": fig.data(confusion_rows(panels, language)), **fig.described(TITLE, caption, language)}
    layers = _layers(alt.Chart(), found, language, str(side))
    panel = alt.layer(*layers, width=side, height=alt.Step(_cell(found)))
    return panel.facet(facet=facet, columns=columns, **whole).resolve_axis(x="independent", y="independent")


def _cell(found: Matrices) -> int:
    return 32 if found.size <= NUMBERED else 16


def _layers(base: alt.Chart, found: Matrices, language: Language, room: str = "width") -> list[alt.Chart]:
    lines, columns = list(found.lines(language).values()), list(found.columns(language).values())
    limit, words = fig.LABEL_LIMIT - 40, found.words
    across, down = alt.Scale(domain=columns), alt.Scale(domain=lines)
    base = base.encode(
        x=alt.X("a:N", title=SAID[language], axis=slanted(columns, limit, room), scale=across),
        y=alt.Y("t:N", title=words.true[language], axis=fig.names(limit), scale=down),
    )
    shares = (("v:Q", words.share, ".1%"), ("n:Q", words.count, ",.4~r"))
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("t:N", words.true), ("a:N", SAID), *shares)
    opacity = alt.FillOpacity("v:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None)
    cells = base.mark_rect(fill=FILL, stroke=BASELINE, strokeWidth=0.5, strokeOpacity=0.6)
    cells = cells.encode(fillOpacity=opacity, tooltip=about)
    if found.size > NUMBERED:
        return [cells]
    narrow = f"{room} / {found.size} < {NARROWEST}"
    text = base.transform_calculate(shown=f"{narrow} ? '' : format(datum.v, '.0%')").encode(text="shown:N")
    return [
        cells,
        text.transform_filter(f"datum.v >= {WHITE_FROM}").mark_text(fontSize=12, color="white"),
        text.transform_filter(f"datum.v < {WHITE_FROM} && datum.v > 0").mark_text(fontSize=12),
    ]
