"""Accuracy against what it costs: every arm with its interval, the Pareto front, and baselines as lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.comparison import ArmSummary
from rnnlab.core.numbers import score_text
from rnnlab.core.words import COMMAS, Both, Language, both, capitalised, joined
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.cost_axes import MEASURES, Measure, Vertical, measures, outside, pareto_front, score_domain
from rnnlab.show.figures.figure import AnyChart, Control, Figure, Row
from rnnlab.show.figures.labels import LINE, Box, Labelled, Place, box_of, places, text_width
from rnnlab.show.figures.palette import BASELINE

MOST_LABELS = 12  # arms; with more, only those on the front and the recommended one are labelled
ARROW = 8  # pixels from the lower edge to the middle of an arrow
BASELINE_LIMIT = fig.LABEL_LIMIT + 50
ROOMS = (300, 420, 560, fig.WIDTH, 900, 1200)  # widths of the plot for which labels are placed
BASELINE_PLACES = (Place(-4, -8, "right"), Place(-4, 9, "right"), Place(4, -8, "left"), Place(4, 9, "left"))
TITLE = both("{metric} against cost")
CAPTION = both(
    "Up is better, left is cheaper; bars are {level} % intervals. The line joins what nothing else beats in both.{more}"
)
OUTSIDE = both(" Arrows at the lower edge: models far below the others, with their scores.")
BELOW = both(" Far below, and not shown: {baselines}.")
LINES = both(" Dashed: baselines.")
RING = both(" The ring marks the recommended model.")
THICK = both(" The thick dashed line is the recommended baseline.")


def cost_figure(chapter: Chapter) -> Figure | None:
    """None when no arm has both a score and a cost."""
    found = measures(chapter.comparison.arms)
    if not found:
        return None
    control = Control("cost", both("cost"), tuple((one.key, MEASURES[one.key][1]) for one in found))

    @cache
    def rows(measured: int) -> list[Row]:
        return cost_rows(chapter, found[:measured])

    def chart(language: Language, for_page: bool) -> AnyChart:
        shown = found if for_page else found[:1]
        return _chart(chapter, shown, rows(len(shown)), language)

    name = TITLE.format(metric=capitalised(fig.metric_of(chapter)))
    return fig.figure("cost", name, _caption(chapter), chart, [control], [alt.param(name="room", expr=_room())])


def _caption(chapter: Chapter) -> Both:
    comparison = chapter.comparison
    rows = _baseline_rows(chapter, score_domain(chapter))
    said = [LINES] if any(row["k"] == "line" for row in rows) else []
    said += [OUTSIDE] if outside(chapter) else []
    below = [row["label"] for row in rows if row["k"] == "below"]
    said += [BELOW.format(baselines=joined(below, COMMAS))] if below else []
    if comparison.verdict.recommended is not None:
        said.append(THICK if comparison.verdict.recommended in {arm.label for arm in comparison.baselines} else RING)
    return CAPTION.format(level=round(100 * (1 - comparison.verdict.alpha)), more=joined(said, ""))


def cost_rows(chapter: Chapter, shown: Sequence[Measure]) -> list[Row]:
    """Rows {k: "arm" | "front" | "line" | "below", m: measure, …}; ``u`` is the place across, ``y`` the score. An arm
    far below the others has ``out``, and its score in its ``label``."""
    vertical, far = score_domain(chapter), outside(chapter)
    recommended = chapter.comparison.verdict.recommended
    rows: list[Row] = []
    for measure in shown:
        scored = [arm for arm in chapter.comparison.arms if arm.label in measure.costs]
        points = _points(chapter, measure)
        front = pareto_front(points)
        named = [a.label for a in scored if len(scored) <= MOST_LABELS or a.label in (*front, recommended, *far)]
        texts = {a.label: _label(a, a.label in far, chapter) for a in scored if a.label in named}
        placed = _label_places(chapter, measure, vertical, texts)
        for arm in scored:
            assert arm.score is not None
            row: Row = {"k": "arm", "m": measure.key, "arm": arm.label, "r": arm.label == recommended}
            row |= {"u": fig.short(measure.place(measure.costs[arm.label])), "y": _number(chapter, arm.score.mean)}
            row |= {"lo": _number(chapter, arm.score.low), "hi": _number(chapter, arm.score.high)}
            row |= {"out": arm.label in far}
            costs = {one.key: one.costs[arm.label] for one in shown if arm.label in one.costs}
            row |= {key: cost if isinstance(cost, int) else fig.short(cost) for key, cost in costs.items()}
            rows.append(row | ({"at": placed[arm.label], "label": texts[arm.label]} if arm.label in placed else {}))
        for label in front:
            cost, goodness = points[label]
            score = -goodness if vertical.lower_is_better else goodness
            rows.append({"k": "front", "m": measure.key, "u": fig.short(measure.place(cost)), "y": fig.short(score)})
    return rows + _baseline_rows(chapter, vertical)


def _number(chapter: Chapter, score: float) -> float | None:
    return fig.share(score) if chapter.comparison.verdict.unit == "percent" else fig.short(score)


def _said(chapter: Chapter, score: float) -> str:
    unit = chapter.comparison.verdict.unit
    return f"{score:.1f}" if unit == "points" else score_text(score, unit)


def _label(arm: ArmSummary, far: bool, chapter: Chapter) -> str:
    if not far or arm.score is None:
        return arm.label
    return f"{arm.label}  {_said(chapter, arm.score.mean)}"


def _points(chapter: Chapter, measure: Measure) -> dict[str, tuple[float, float]]:
    """(cost, goodness) of every arm that has both."""
    sign = -1 if chapter.comparison.verdict.lower_is_better else 1
    scored = {arm.label: arm.score for arm in chapter.comparison.arms if arm.score}
    return {label: (cost, sign * scored[label].mean) for label, cost in measure.costs.items()}


def _baseline_rows(chapter: Chapter, vertical: Vertical) -> list[Row]:
    verdict = chapter.comparison.verdict
    scored = [(arm.label, arm.score.mean) for arm in chapter.comparison.baselines if arm.score]
    taken: list[Box] = []
    rows: list[Row] = []
    for label, score in sorted(scored, key=lambda pair: vertical.pixel(pair[1])):
        text = f"{label}  {_said(chapter, score)}"
        row: Row = {"arm": label, "y": _number(chapter, score), "r": label == verdict.recommended, "label": text}
        if vertical.below(score):
            rows.append(row | {"k": "below"})
            continue
        place = _baseline_place(vertical.pixel(score), text, taken)
        rows.append(row | {"k": "line", "right": place.align == "right", "dy": place.dy})
    return rows


def _baseline_place(y: float, text: str, taken: list[Box]) -> Place:
    """At one of the ends of its line, above or below; ``taken`` gets what it covers."""
    wide = text_width(text, BASELINE_LIMIT)
    boxes = [box_of(fig.WIDTH if place.align == "right" else 0, y, place, wide) for place in BASELINE_PLACES]
    costs = [sum(map(box.overlap, taken)) + 99 * max(0.0, box.bottom - fig.HEIGHT, -box.top) for box in boxes]
    best = costs.index(min(costs))
    taken.append(boxes[best])
    return BASELINE_PLACES[best]


def _label_places(
    chapter: Chapter, measure: Measure, vertical: Vertical, texts: Mapping[str, str]
) -> dict[str, list[list[Any]]]:
    """For each label [dx, dy, align, whether there is room for it], once for every width of the plot."""
    scored = {arm.label: arm.score for arm in chapter.comparison.arms if arm.label in measure.costs and arm.score}
    first = sorted(texts, key=lambda label: label != chapter.comparison.verdict.recommended)
    low, high = measure.domain
    far = outside(chapter)

    def y(label: str, score: float) -> float:
        return fig.HEIGHT - ARROW if label in far else min(max(vertical.pixel(score), 0.0), float(fig.HEIGHT))

    bars = {label: (y(label, score.low), y(label, score.high)) for label, score in scored.items()}
    heights = {label: y(label, score.mean) for label, score in scored.items()}
    found: dict[str, list[list[Any]]] = {label: [] for label in texts}
    for room in ROOMS:
        at = {label: room * (measure.place(measure.costs[label]) - low) / (high - low) for label in scored}
        obstacles = []
        for label, x in at.items():
            obstacles.append(Box(x - 7, heights[label] - 7, x + 7, heights[label] + 7))
            obstacles.append(Box(x - 5, min(bars[label]), x + 5, max(bars[label])))
        front = [(at[label], heights[label]) for label in pareto_front(_points(chapter, measure))]
        for (x, here), (next_x, there) in pairwise(front):
            obstacles += [Box(x, here - 4, next_x, here + 4), Box(next_x - 4, there, next_x + 4, here)]
        obstacles += _baseline_boxes(chapter, vertical, room)
        points = [
            Labelled(
                x=at[label],
                y=heights[label],
                top=min(bars[label]),
                bottom=max(bars[label]),
                width=1.05 * text_width(texts[label], fig.LABEL_LIMIT + 60),
            )
            for label in first
        ]
        for label, place in zip(first, places(points, obstacles, (room, fig.HEIGHT)), strict=True):
            found[label].append([fig.short(place.dx), fig.short(place.dy), place.align, place.shown])
    return found


def _baseline_boxes(chapter: Chapter, vertical: Vertical, room: float) -> Iterator[Box]:
    """What the lines of baselines and their names cover."""
    for row in _baseline_rows(chapter, vertical):
        wide = text_width(row["label"], BASELINE_LIMIT)
        if row["k"] == "line":
            y = vertical.pixel(row["y"])
            left = room - wide if row["right"] else 0
            yield Box(left, y + row["dy"] - LINE / 2, left + wide, y + row["dy"] + LINE / 2)
            yield Box(0, y - 1, room, y + 1)


def _room() -> str:
    """An expression: which of `ROOMS` is the nearest to the width of the plot."""
    tests = [f"width < {(one + other) / 2:g} ? {n} : " for n, (one, other) in enumerate(pairwise(ROOMS))]
    return "".join(tests) + str(len(ROOMS) - 1)


def _chart(chapter: Chapter, shown: Sequence[Measure], rows: Sequence[Row], language: Language) -> AnyChart:
    metric, vertical = fig.metric_of(chapter), score_domain(chapter)
    form = fig.ticks(chapter.comparison.verdict.unit, narrow=vertical.high - vertical.low <= 0.03)
    ends = [fig.short(vertical.low), fig.short(vertical.high)]
    scale = alt.Scale(domain=ends, nice=False, zero=False, reverse=vertical.lower_is_better)
    y = alt.Y("y:Q", title=metric[language], scale=scale, axis=alt.Axis(format=form, tickCount=6))
    x = _across(shown)
    base = alt.Chart()
    place = base.transform_filter(f"datum.k == 'arm' && datum.m == cost && {fig.SHOWN}").encode(x=x)
    shades = fig.colour(fig.colours(chapter), [arm.label for arm in chapter.comparison.arms])
    inside = place.transform_filter("!datum.out").encode(y=y, color=shades)
    arrows = place.transform_filter("datum.out").encode(y=alt.value(fig.HEIGHT - ARROW), color=shades)
    front = base.transform_filter("datum.k == 'front' && datum.m == cost")
    intervals = inside.mark_rule(strokeWidth=2, opacity=0.75, clip=True)
    about = _tooltip(chapter, shown, metric, language)
    titles = {one.key: fig.quoted(one.title[language]) for one in shown}
    line = front.mark_line(interpolate="step-after", color=BASELINE, strokeWidth=1.5, opacity=0.7, clip=True)
    layers = [
        line.encode(x=x, y=y),
        *_baseline_layers(base, y, chapter, language),
        intervals.encode(y=alt.Y("lo:Q", title=metric[language]), y2="hi:Q"),
        inside.transform_filter("datum.r").mark_point(size=300, filled=False, strokeWidth=2, opacity=1),
        inside.mark_point(size=95, filled=True, opacity=1).encode(tooltip=about),
        arrows.mark_point(size=110, filled=True, opacity=1, shape="triangle-down").encode(tooltip=about),
        *_labels(place.transform_filter("!datum.out").encode(y=y)),
        *_labels(place.transform_filter("datum.out").encode(y=alt.value(fig.HEIGHT - ARROW))),
        fig.chosen_title(fig.choose("cost", titles)),
    ]
    return fig.layered(layers, rows)


def _labels(place: alt.Chart) -> list[alt.Chart]:
    """Beside the points, where there is room for them at this width; bold for the recommended arm."""
    named = place.transform_filter("isValid(datum.at)")
    beside: Row = {"dx": "datum.at[room][0]", "dy": "datum.at[room][1]", "align": "datum.at[room][2]"}
    beside["text"] = "datum.at[room][3] ? datum.label : ''"
    look: Row = {key: alt.ExprRef(expression) for key, expression in beside.items()}
    look |= {"baseline": "middle", "fontSize": 12, "limit": fig.LABEL_LIMIT + 60}
    return [
        named.transform_filter("datum.r").mark_text(fontWeight="bold", **look),
        named.transform_filter("!datum.r").mark_text(fontWeight="normal", **look),
    ]


def _across(shown: Sequence[Measure]) -> alt.X:
    """The axis of whichever measure is chosen. A scale's kind can't be switched, so rows bring logarithms along."""

    def chosen(part: Callable[[Measure], str]) -> alt.ExprRef:
        return alt.ExprRef(fig.choose("cost", {one.key: part(one) for one in shown}))

    ends = [chosen(lambda one: f"{one.domain[0]:.6g}"), chosen(lambda one: f"{one.domain[1]:.6g}")]
    numbers = {
        one.key: f"format({'pow(10, datum.value)' if one.logarithmic else 'datum.value'}, '{MEASURES[one.key][2]}')"
        for one in shown
    }
    axis = alt.Axis(values=chosen(lambda one: str(one.ticks)), labelExpr=fig.choose("cost", numbers))
    return alt.X("u:Q", title=None, scale=alt.Scale(domain=ends, nice=False, zero=False), axis=axis)


def _baseline_layers(base: alt.Chart, y: alt.Y, chapter: Chapter, language: Language) -> list[alt.Chart]:
    lines = base.transform_filter(f"datum.k == 'line' && {fig.SHOWN}")
    text: Row = {"fontSize": 11, "limit": BASELINE_LIMIT, "baseline": "middle", "style": "guide-label"}
    score = ("y:Q", fig.metric_of(chapter), _form(chapter))
    found = [
        lines.mark_rule(color=BASELINE, strokeDash=[5, 4]).encode(
            y=y,
            size=alt.condition("datum.r", alt.value(2.6), alt.value(1.4)),
            tooltip=fig.tooltip(language, ("arm:N", fig.ARM), score),
        )
    ]
    for test, x, mark in (
        ("datum.right", "width", {"align": "right", "dx": -4}),
        ("!datum.right", 0, {"align": "left", "dx": 4}),
    ):
        side = lines.transform_filter(test).mark_text(**text, **mark, dy=alt.ExprRef("datum.dy"))
        found.append(side.encode(x=alt.value(x), y=y, text="label:N"))
    return found


def _form(chapter: Chapter) -> str:
    return fig.exact(chapter.comparison.verdict.unit)


def _tooltip(chapter: Chapter, shown: Sequence[Measure], metric: Both, language: Language) -> list[alt.Tooltip]:
    level = round(100 * (1 - chapter.comparison.verdict.alpha))
    return fig.tooltip(
        language,
        ("arm:N", fig.ARM),
        ("y:Q", metric, _form(chapter)),
        ("lo:Q", both("{level} % interval from", level=level), _form(chapter)),
        ("hi:Q", both("to"), _form(chapter)),
        *((f"{one.key}:Q", one.title, "," if one.key == "parameters" else ".3~g") for one in shown),
    )
