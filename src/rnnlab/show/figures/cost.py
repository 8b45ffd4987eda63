"""Accuracy against what it costs: every arm with its interval, the Pareto front, and baselines as lines."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.core.words import Both, Language, both, capitalised, joined
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.labels import LINE, Box, Labelled, Place, box_of, places, text_width
from rnnlab.show.figures.measures import MEASURES, Measure, measures, pareto_front
from rnnlab.show.figures.palette import BASELINE
from rnnlab.show.figures.pieces import (
    ARM,
    HEIGHT,
    LABEL_LIMIT,
    SHOWN,
    WIDTH,
    Row,
    choose,
    colour,
    colours,
    data,
    finished,
    metric_of,
    quoted,
    share,
    short,
    switches,
)
from rnnlab.show.pages.parts import Control, Figure

MOST_LABELS = 12  # arms; with more, only those on the front and the recommended one are labelled
FAR = 1.6  # times the height that arms need: a baseline that would take more is written at the lower edge
ROOMS = (300, 420, 560, WIDTH, 900, 1200)  # widths of the plot for which labels are placed
BASELINE_PLACES = (Place(-4, -8, "right"), Place(-4, 9, "right"), Place(4, -8, "left"), Place(4, 9, "left"))
TITLE = both("{metric} against cost")
CAPTION = both(
    "Up is better, left is cheaper; bars are {level} % intervals. The line joins what nothing else beats in both.{more}"
)
LINES = both(" Dashed: baselines.")
RING = both(" The ring marks the recommended model.")
THICK = both(" The thick dashed line is the recommended baseline.")


def cost_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    """None when no arm has both a score and a cost."""
    found = measures(chapter.comparison.arms)
    if not found:
        return None
    control = Control("cost", both("cost"), tuple((one.key, MEASURES[one.key][1]) for one in found))
    controls = (control,) if len(found) > 1 else ()
    metric = metric_of(chapter)
    name = TITLE.format(metric=capitalised(metric))
    caption = _caption(chapter)

    @cache
    def rows(measured: int) -> list[Row]:
        return cost_rows(chapter, found[:measured])

    def draw(language: Language, for_page: bool) -> AnyChart:
        shown = found if for_page else found[:1]
        chart = _chart(chapter, shown, rows(len(shown)), language)
        params = [*switches([control]), alt.param(name="room", expr=_room())]
        return finished(chart, language, for_page, name, caption, params)

    return Figure(f"{prefix}cost", name, caption, draw, controls, arms=True)


def _caption(chapter: Chapter) -> Both:
    comparison = chapter.comparison
    said = [LINES] if comparison.baselines else []
    if comparison.verdict.recommended is not None:
        said.append(THICK if comparison.verdict.recommended in {arm.label for arm in comparison.baselines} else RING)
    more = joined(said, "")
    return CAPTION.format(level=round(100 * (1 - comparison.verdict.alpha)), more=more)


def score_domain(chapter: Chapter) -> tuple[float, float]:
    """All arms with their intervals, and the baselines that are near enough. The interval of an arm some of whose seeds
    failed may reach from 0 to 1 and press the others flat: it is cut off at the edge."""
    scored = [(arm.score, arm.failed_seeds) for arm in chapter.comparison.arms if arm.score]
    steady = [score for score, failed in scored if not failed] or [score for score, _ in scored]
    low = min([score.mean for score, _ in scored] + [score.low for score in steady])
    high = max([score.mean for score, _ in scored] + [score.high for score in steady])
    needed = max(high - low, 0.02)
    lines = sorted((arm.score.mean for arm in chapter.comparison.baselines if arm.score), reverse=True)
    for line in lines:
        if max(high, line) - min(low, line) <= FAR * needed:
            low, high = min(low, line), max(high, line)
    room = max(0.08 * (high - low), 0.005)
    return max(0.0, low - room), min(1.0 + room / 2, high + room)


def cost_rows(chapter: Chapter, shown: Sequence[Measure]) -> list[Row]:
    """Rows {k: "arm" | "front" | "line" | "below", m: measure, …}; accuracies from 0 to 1, ``u`` the place across."""
    comparison = chapter.comparison
    domain = score_domain(chapter)
    recommended = comparison.verdict.recommended
    rows: list[Row] = []
    for measure in shown:
        scored = [arm for arm in comparison.arms if arm.label in measure.costs]
        points = _points(chapter, measure)
        front = pareto_front(points)
        named = [a.label for a in scored if len(scored) <= MOST_LABELS or a.label in (*front, recommended)]
        placed = _label_places(chapter, measure, domain, named)
        for arm in scored:
            assert arm.score is not None
            row: Row = {"k": "arm", "m": measure.key, "arm": arm.label, "r": arm.label == recommended}
            row |= {"u": short(measure.place(measure.costs[arm.label])), "y": share(arm.score.mean)}
            row |= {"lo": share(arm.score.low), "hi": share(arm.score.high), "e": short(arm.epoch_seconds)}
            row |= {"p": arm.parameters, "t": _thousandfold(arm.step_seconds)}
            row |= {"w": _thousandfold(arm.row_seconds)}
            rows.append(row | ({"at": placed[arm.label]} if arm.label in placed else {}))
        for label in front:
            cost, score = points[label]
            rows.append({"k": "front", "m": measure.key, "u": short(measure.place(cost)), "y": short(score)})
    return rows + _baseline_rows(chapter, domain)


def _points(chapter: Chapter, measure: Measure) -> dict[str, tuple[float, float]]:
    """(cost, score) of every arm that has both."""
    scored = {arm.label: arm.score for arm in chapter.comparison.arms if arm.score}
    return {label: (cost, scored[label].mean) for label, cost in measure.costs.items()}


def _thousandfold(seconds: float | None) -> float | int | None:
    return None if seconds is None else short(1000 * seconds)


def _baseline_rows(chapter: Chapter, domain: tuple[float, float]) -> list[Row]:
    scored = [(arm.label, arm.score.mean) for arm in chapter.comparison.baselines if arm.score]
    taken: list[Box] = []
    rows, below = [], 0
    for label, score in sorted(scored, key=lambda pair: -pair[1]):
        row: Row = {"arm": label, "y": share(score), "r": label == chapter.comparison.verdict.recommended}
        if score < domain[0]:
            rows.append(row | {"k": "below", "row": below})
            below += 1
            continue
        place = _baseline_place(score, domain, label, taken)
        rows.append(row | {"k": "line", "right": place.align == "right", "dy": place.dy})
    return rows


def _baseline_place(score: float, domain: tuple[float, float], label: str, taken: list[Box]) -> Place:
    """At one of the ends of its line, above or below; ``taken`` gets what it covers."""
    y = _pixel(score, domain)
    wide = text_width(label, LABEL_LIMIT) + 50  # the score is beside it
    boxes = [box_of(WIDTH if place.align == "right" else 0, y, place, wide) for place in BASELINE_PLACES]
    costs = [sum(map(box.overlap, taken)) + 99 * max(0.0, box.bottom - HEIGHT, -box.top) for box in boxes]
    best = costs.index(min(costs))
    taken.append(boxes[best])
    return BASELINE_PLACES[best]


def _pixel(score: float, domain: tuple[float, float]) -> float:
    low, high = domain
    return HEIGHT * (high - score) / (high - low)


def _label_places(
    chapter: Chapter, measure: Measure, domain: tuple[float, float], named: Sequence[str]
) -> dict[str, list[list[Any]]]:
    """For each label [dx, dy, align], once for every room."""
    scored = {arm.label: arm.score for arm in chapter.comparison.arms if arm.label in measure.costs and arm.score}
    first = sorted(named, key=lambda label: label != chapter.comparison.verdict.recommended)
    low, high = measure.domain
    found: dict[str, list[list[Any]]] = {label: [] for label in named}
    for room in ROOMS:
        obstacles = []
        at = {label: room * (measure.place(measure.costs[label]) - low) / (high - low) for label in scored}
        for label, score in scored.items():
            x, y = at[label], _pixel(score.mean, domain)
            obstacles.append(Box(x - 7, y - 7, x + 7, y + 7))
            obstacles.append(Box(x - 5, _pixel(score.high, domain), x + 5, _pixel(score.low, domain)))
        front = [(at[label], _pixel(scored[label].mean, domain)) for label in pareto_front(_points(chapter, measure))]
        for (x, y), (next_x, next_y) in pairwise(front):
            obstacles += [Box(x, y - 4, next_x, y + 4), Box(next_x - 4, next_y, next_x + 4, y)]
        for row in _baseline_rows(chapter, domain):
            if row["k"] == "line":
                y = _pixel(row["y"], domain)
                wide = text_width(row["arm"], LABEL_LIMIT) + 50
                left = room - wide if row["right"] else 0
                obstacles.append(Box(left, y + row["dy"] - LINE / 2, left + wide, y + row["dy"] + LINE / 2))
                obstacles.append(Box(0, y - 1, room, y + 1))
        points = [
            Labelled(
                x=at[label],
                y=_pixel(scored[label].mean, domain),
                top=_pixel(scored[label].high, domain),
                bottom=_pixel(scored[label].low, domain),
                width=1.05 * text_width(label, LABEL_LIMIT),
            )
            for label in first
        ]
        for label, place in zip(first, places(points, obstacles, (room, HEIGHT)), strict=True):
            found[label].append([short(place.dx), short(place.dy), place.align])
    return found


def _room() -> str:
    """An expression: which of `ROOMS` is the nearest to the width of the plot."""
    tests = [f"width < {(one + other) / 2:g} ? {n} : " for n, (one, other) in enumerate(pairwise(ROOMS))]
    return "".join(tests) + str(len(ROOMS) - 1)


def _chart(chapter: Chapter, shown: Sequence[Measure], rows: Sequence[Row], language: Language) -> AnyChart:
    metric = metric_of(chapter)[language]
    low, high = score_domain(chapter)
    percents = alt.Axis(format="%" if high - low > 0.03 else ".1%", tickCount=6)
    y = alt.Y("y:Q", title=metric, scale=alt.Scale(domain=[short(low), short(high)], nice=False), axis=percents)
    x = _across(shown)
    base = alt.Chart()
    place = base.transform_filter(f"datum.k == 'arm' && datum.m == cost && {SHOWN}").encode(x=x, y=y)
    arms = place.encode(color=colour(colours(chapter), [arm.label for arm in chapter.comparison.arms], for_page=True))
    front = base.transform_filter("datum.k == 'front' && datum.m == cost")
    layers = [
        front.mark_line(interpolate="step-after", color=BASELINE, strokeWidth=1.5, opacity=0.7).encode(x=x, y=y),
        *_baseline_layers(base, y, metric, language),
        arms.mark_rule(strokeWidth=2, opacity=0.75, clip=True).encode(y=alt.Y("lo:Q", title=metric), y2="hi:Q"),
        arms.transform_filter("datum.r").mark_point(size=300, filled=False, strokeWidth=2, opacity=1),
        arms.mark_point(size=95, filled=True, opacity=1).encode(tooltip=_tooltip(chapter, rows, metric, language)),
        *_labels(place),
        _axis_title(shown, language),
    ]
    return alt.layer(*layers, data=data(rows))


def _labels(place: alt.Chart) -> list[alt.Chart]:
    """Beside the points, where there is room for them at this width; bold for the recommended arm."""
    named = place.transform_filter("isValid(datum.at)").encode(text="arm:N")
    beside: Row = {"dx": "datum.at[room][0]", "dy": "datum.at[room][1]", "align": "datum.at[room][2]"}
    look: Row = {key: alt.ExprRef(expression) for key, expression in beside.items()}
    look |= {"baseline": "middle", "fontSize": 12, "limit": LABEL_LIMIT}
    return [
        named.transform_filter("datum.r").mark_text(fontWeight="bold", **look),
        named.transform_filter("!datum.r").mark_text(fontWeight="normal", **look),
    ]


def _across(shown: Sequence[Measure]) -> alt.X:
    """The axis of whichever measure is chosen. A scale's kind can't be switched, so rows bring logarithms along."""

    def chosen(part: Callable[[Measure], str]) -> alt.ExprRef:
        return alt.ExprRef(choose("cost", [(one.key, part(one)) for one in shown]))

    scale = alt.Scale(
        domain=[chosen(lambda one: f"{one.domain[0]:.6g}"), chosen(lambda one: f"{one.domain[1]:.6g}")],
        nice=False,
        zero=False,
    )
    numbers = choose(
        "cost",
        [
            (
                one.key,
                f"format({'pow(10, datum.value)' if one.logarithmic else 'datum.value'}, '{MEASURES[one.key][2]}')",
            )
            for one in shown
        ],
    )
    axis = alt.Axis(values=chosen(lambda one: str(one.ticks)), labelExpr=numbers)
    return alt.X("u:Q", title=None, scale=scale, axis=axis)


def _axis_title(shown: Sequence[Measure], language: Language) -> alt.Chart:
    """A title that follows the choice, which that of an axis can't."""
    names = choose("cost", [(one.key, quoted(MEASURES[one.key][0][language])) for one in shown])
    mark = alt.Chart(alt.InlineData(values=[{}])).mark_text(
        style="guide-title", fontSize=11, fontWeight="bold", text=alt.ExprRef(names), dy=34, baseline="middle"
    )
    return mark.encode(x=alt.value(alt.ExprRef("width / 2")), y=alt.value("height"))


def _baseline_layers(base: alt.Chart, y: alt.Y, metric: str, language: Language) -> list[alt.Chart]:
    lines = base.transform_filter(f"datum.k == 'line' && {SHOWN}")
    text: Row = {"fontSize": 11, "limit": LABEL_LIMIT + 50, "baseline": "middle"}
    named = "datum.arm + '  ' + format(datum.y, '.1%')"
    tooltip = [alt.Tooltip("arm:N", title=ARM[language]), alt.Tooltip("y:Q", title=metric, format=".1%")]
    found = [
        lines.mark_rule(color=BASELINE, strokeDash=[5, 4]).encode(
            y=y, size=alt.condition("datum.r", alt.value(2.6), alt.value(1.4)), tooltip=tooltip
        )
    ]
    for test, x, mark in (
        ("datum.right", alt.value("width"), {"align": "right", "dx": -4}),
        ("!datum.right", alt.value(0), {"align": "left", "dx": 4}),
    ):
        side = lines.transform_filter(test).transform_calculate(named=named)
        found.append(
            side.mark_text(**text, **mark, dy=alt.ExprRef("datum.dy"), style="guide-label").encode(
                x=x, y=y, text="named:N"
            )
        )
    below = base.transform_filter(f"datum.k == 'below' && {SHOWN}").transform_calculate(named=f"'↓ ' + {named}")
    edge = below.mark_text(**text, align="right", dx=-4, dy=alt.ExprRef("-8 - 14 * datum.row"), style="guide-label")
    return [*found, edge.encode(x=alt.value("width"), y=alt.value("height"), text="named:N")]


def _tooltip(chapter: Chapter, rows: Sequence[Row], metric: str, language: Language) -> list[alt.Tooltip]:
    level = round(100 * (1 - chapter.comparison.verdict.alpha))
    ends = {"lo": both("{level} % interval from", level=level), "hi": both("to")}
    costs = {"e": "epoch", "t": "update", "p": "parameters", "w": "row"}
    has = {key for row in rows for key in costs if row.get(key)}
    if "e" in has:
        has.discard("t")
    return [
        alt.Tooltip("arm:N", title=ARM[language]),
        alt.Tooltip("y:Q", title=metric, format=".1%"),
        *(alt.Tooltip(f"{key}:Q", title=name[language], format=".1%") for key, name in ends.items()),
        *(
            alt.Tooltip(f"{key}:Q", title=MEASURES[kind][0][language], format="," if key == "p" else ".3~g")
            for key, kind in costs.items()
            if key in has
        ),
    ]
