"""What is taken for what: the confusion matrix of an arm that is chosen beside it; in a file those of the best arms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter, Confusion
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
CAPTION = both(
    "Of the test rows of each class (a line), the share that got each answer (a column), mean "
    "of the runs. On the diagonal are the right ones.{cut}"
)
CUT = both(" The {shown} most confused of {total} classes are shown.")
TRUE, SAID = both("true class"), both("answer")
SHARE, COUNT = both("share of the class"), both("rows")


@dataclass(frozen=True)
class Matrices:
    labels: tuple[str, ...]  # those shown
    shown: tuple[int, ...]  # their numbers among all
    confusions: tuple[Confusion, ...]  # the best arm first


def matrices(chapter: Chapter) -> Matrices | None:
    found = {one.arm: one for one in chapter.differences.confusions}
    order = [arm.label for arm in (*chapter.comparison.arms, *chapter.comparison.baselines)]
    confusions = [found[label] for label in order if label in found]
    labels = chapter.differences.labels
    if not confusions or len(labels) < 2:
        return None
    shown = sorted(sorted(range(len(labels)), key=lambda n: -_wrong(confusions, n))[:MOST_LABELS])
    affordable = max(1, MOST_CELLS // len(shown) ** 2)
    return Matrices(tuple(labels[n] for n in shown), tuple(shown), tuple(confusions[:affordable]))


def _wrong(confusions: Sequence[Confusion], number: int) -> float:
    """Rows of that class that got another answer, or of others that got it."""
    total = 0.0
    for one in confusions:
        total += sum(one.counts[number]) + sum(line[number] for line in one.counts) - 2 * one.counts[number][number]
    return total


def confusion_rows(found: Matrices) -> list[Row]:
    """Rows {arm, o: its rank, t: true class, a: answer, v: share of the class, n: rows}; of many classes, those that
    aren't 0."""
    rows = []
    for place, one in enumerate(found.confusions):
        for number, true in zip(found.shown, found.labels, strict=True):
            total = sum(one.counts[number])
            for other, said in zip(found.shown, found.labels, strict=True):
                count = one.counts[number][other]
                if total and (count or len(found.labels) <= NUMBERED):
                    row = {"arm": one.arm, "o": place, "t": true, "a": said}
                    rows.append(row | {"v": fig.short(count / total), "n": fig.short(count)})
    return rows


def confusion_figure(chapter: Chapter) -> Figure | None:
    found = matrices(chapter)
    if found is None:
        return None
    total = len(chapter.differences.labels)
    cut = CUT.format(shown=len(found.labels), total=total) if len(found.labels) < total else same("")
    caption = CAPTION.format(cut=cut)
    control = Control("arm", fig.ARM, tuple((one.arm, same(one.arm)) for one in found.confusions))

    def chart(language: Language, for_page: bool) -> Any:
        chosen = alt.Chart().transform_filter("datum.arm == arm")
        return fig.layered(_layers(chosen, found, language), confusion_rows(found))

    def draw(language: Language, for_page: bool) -> Any:
        return on_page.draw(language, True) if for_page else _panels(chapter, found, language, caption)

    on_page = fig.figure("confusion", TITLE, caption, chart, [control], arms=False, height=alt.Step(_cell(found)))
    return replace(on_page, draw=draw)


def _panels(chapter: Chapter, found: Matrices, language: Language, caption: Both) -> alt.FacetChart:
    """Of the best arms; baselines only when there is nothing else."""
    arms = {arm.label for arm in chapter.comparison.arms}
    best = [one for one in found.confusions if one.arm in arms] or list(found.confusions)
    panels = Matrices(found.labels, found.shown, tuple(best[: PANELS if len(found.labels) <= NUMBERED else 1]))
    columns = min(2, len(panels.confusions))
    side = max(len(found.labels) * _cell(found), (fig.WIDTH - 60) // columns - 70)
    header = alt.Header(title=None, labelFontSize=13, labelFontWeight="bold", labelLimit=side)
    facet = alt.Facet("arm:N", sort=alt.EncodingSortField("o", op="min"), header=header)
    whole: Row = {"data": fig.data(confusion_rows(panels)), **fig.described(TITLE, caption, language)}
    layers = _layers(alt.Chart(), found, language, str(side))
    panel = alt.layer(*layers, width=side, height=alt.Step(_cell(found)))
    return panel.facet(facet=facet, columns=columns, **whole).resolve_axis(x="independent", y="independent")


def _cell(found: Matrices) -> int:
    return 32 if len(found.labels) <= NUMBERED else 16


def _layers(base: alt.Chart, found: Matrices, language: Language, room: str = "width") -> list[alt.Chart]:
    labels, limit = list(found.labels), fig.LABEL_LIMIT - 40
    ordered: Row = {"scale": alt.Scale(domain=labels)}
    base = base.encode(
        x=alt.X("a:N", title=SAID[language], axis=slanted(labels, limit, room), **ordered),
        y=alt.Y("t:N", title=TRUE[language], axis=fig.names(limit), **ordered),
    )
    shares = (("v:Q", SHARE, ".1%"), ("n:Q", COUNT, ",.4~r"))
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("t:N", TRUE), ("a:N", SAID), *shares)
    opacity = alt.FillOpacity("v:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None)
    cells = base.mark_rect(fill=FILL, stroke=BASELINE, strokeWidth=0.5, strokeOpacity=0.6)
    cells = cells.encode(fillOpacity=opacity, tooltip=about)
    if len(labels) > NUMBERED:
        return [cells]
    narrow = f"{room} / {len(labels)} < {NARROWEST}"
    text = base.transform_calculate(shown=f"{narrow} ? '' : format(datum.v, '.0%')").encode(text="shown:N")
    return [
        cells,
        text.transform_filter(f"datum.v >= {WHITE_FROM}").mark_text(fontSize=12, color="white"),
        text.transform_filter(f"datum.v < {WHITE_FROM} && datum.v > 0").mark_text(fontSize=12),
    ]
