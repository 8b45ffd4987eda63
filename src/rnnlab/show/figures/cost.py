"""Accuracy against what it costs: every arm with its interval, the Pareto front, and baselines as lines."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.comparison import ArmSummary
from rnnlab.core.words import Both, Language, both, capitalised, joined
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Control, Figure, Row
from rnnlab.show.figures.labels import LINE, Box, Labelled, Place, box_of, places, text_width
from rnnlab.show.figures.palette import BASELINE

MOST_LABELS = 12  # arms; with more, only those on the front and the recommended one are labelled
FAR = 1.6  # times the height that arms need: a baseline that would take more is written at the lower edge
ROOMS = (300, 420, 560, fig.WIDTH, 900, 1200)  # widths of the plot for which labels are placed
BASELINE_PLACES = (Place(-4, -8, "right"), Place(-4, 9, "right"), Place(4, -8, "left"), Place(4, 9, "left"))
TITLE = both("{metric} against cost")
CAPTION = both(
    "Up is better, left is cheaper; bars are {level} % intervals. The line joins what nothing else beats in both.{more}"
)
LINES = both(" Dashed: baselines.")
RING = both(" The ring marks the recommended model.")
THICK = both(" The thick dashed line is the recommended baseline.")
LOG_FROM = 8.0  # times the least: from there on the axis is logarithmic
MEASURES: dict[str, tuple[Both, Both, str]] = {  # axis, choice, format
    "epoch": (both("seconds per epoch"), both("training time"), ".3~g"),
    "update": (both("milliseconds per update"), both("training time"), ".3~g"),
    "parameters": (both("parameters"), both("parameters"), ".3~s"),
    "row": (both("milliseconds per row, predicting"), both("predicting"), ".3~g"),
}


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
    said = [LINES] if comparison.baselines else []
    if comparison.verdict.recommended is not None:
        said.append(THICK if comparison.verdict.recommended in {arm.label for arm in comparison.baselines} else RING)
    return CAPTION.format(level=round(100 * (1 - comparison.verdict.alpha)), more=joined(said, ""))


@dataclass(frozen=True)
class Measure:
    """What a model costs, and where that stands on the axis: its logarithm where costs are far apart."""

    key: str
    costs: dict[str, float]

    @property
    def logarithmic(self) -> bool:
        return max(self.costs.values()) > LOG_FROM * min(self.costs.values())

    def place(self, cost: float) -> float:
        return math.log10(cost) if self.logarithmic else cost

    @property
    def domain(self) -> tuple[float, float]:
        low, high = (self.place(pick(self.costs.values())) for pick in (min, max))
        room = 0.14 * (high - low) or (0.2 if self.logarithmic else 0.5 * high)
        return (low - room if self.logarithmic else max(0.0, low - room)), high + room

    @property
    def ticks(self) -> list[float]:
        low, high = self.domain
        if self.logarithmic:
            return [fig.short(self.place(tick)) or 0.0 for tick in fig.log_ticks(10**low, 10**high)]
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= 7)
        return [fig.short(number * step) or 0.0 for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def measures(arms: Sequence[ArmSummary]) -> list[Measure]:
    """Those that some arm has; an arm without a score or a cost has no place."""
    kinds: dict[str, Callable[[ArmSummary], float | None]] = {
        "epoch": lambda arm: arm.epoch_seconds,
        "update": lambda arm: None if arm.step_seconds is None else 1000 * arm.step_seconds,
        "parameters": lambda arm: arm.parameters,
        "row": lambda arm: None if arm.row_seconds is None else 1000 * arm.row_seconds,
    }
    scored = [arm for arm in arms if arm.score is not None]
    if any(arm.epoch_seconds for arm in scored):
        del kinds["update"]
    found = []
    for key, cost in kinds.items():
        costs = {arm.label: value for arm in scored if (value := cost(arm))}
        if costs:
            found.append(Measure(key, costs))
    return found


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """Of labels with (cost, score) those that nothing beats in both: the cheapest first, each better than all before.
    Of equals one is enough: the first."""
    front: list[str] = []
    best = -math.inf
    for label, (_, score) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if score > best:
            front.append(label)
            best = score
    return front


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
    domain = score_domain(chapter)
    recommended = chapter.comparison.verdict.recommended
    rows: list[Row] = []
    for measure in shown:
        scored = [arm for arm in chapter.comparison.arms if arm.label in measure.costs]
        points = _points(chapter, measure)
        front = pareto_front(points)
        named = [a.label for a in scored if len(scored) <= MOST_LABELS or a.label in (*front, recommended)]
        placed = _label_places(chapter, measure, domain, named)
        for arm in scored:
            assert arm.score is not None
            row: Row = {"k": "arm", "m": measure.key, "arm": arm.label, "r": arm.label == recommended}
            row |= {"u": fig.short(measure.place(measure.costs[arm.label])), "y": fig.share(arm.score.mean)}
            row |= {"lo": fig.share(arm.score.low), "hi": fig.share(arm.score.high), "e": fig.short(arm.epoch_seconds)}
            row |= {"p": arm.parameters, "t": _thousandfold(arm.step_seconds)}
            row |= {"w": _thousandfold(arm.row_seconds)}
            rows.append(row | ({"at": placed[arm.label]} if arm.label in placed else {}))
        for label in front:
            cost, score = points[label]
            rows.append({"k": "front", "m": measure.key, "u": fig.short(measure.place(cost)), "y": fig.short(score)})
    return rows + _baseline_rows(chapter, domain)


def _points(chapter: Chapter, measure: Measure) -> dict[str, tuple[float, float]]:
    """(cost, score) of every arm that has both."""
    scored = {arm.label: arm.score for arm in chapter.comparison.arms if arm.score}
    return {label: (cost, scored[label].mean) for label, cost in measure.costs.items()}


def _thousandfold(seconds: float | None) -> float | int | None:
    return None if seconds is None else fig.short(1000 * seconds)


def _baseline_rows(chapter: Chapter, domain: tuple[float, float]) -> list[Row]:
    scored = [(arm.label, arm.score.mean) for arm in chapter.comparison.baselines if arm.score]
    taken: list[Box] = []
    rows, below = [], 0
    for label, score in sorted(scored, key=lambda pair: -pair[1]):
        row: Row = {"arm": label, "y": fig.share(score), "r": label == chapter.comparison.verdict.recommended}
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
    wide = text_width(label, fig.LABEL_LIMIT) + 50  # the score is beside it
    boxes = [box_of(fig.WIDTH if place.align == "right" else 0, y, place, wide) for place in BASELINE_PLACES]
    costs = [sum(map(box.overlap, taken)) + 99 * max(0.0, box.bottom - fig.HEIGHT, -box.top) for box in boxes]
    best = costs.index(min(costs))
    taken.append(boxes[best])
    return BASELINE_PLACES[best]


def _pixel(score: float, domain: tuple[float, float]) -> float:
    low, high = domain
    return fig.HEIGHT * (high - score) / (high - low)


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
                wide = text_width(row["arm"], fig.LABEL_LIMIT) + 50
                left = room - wide if row["right"] else 0
                obstacles.append(Box(left, y + row["dy"] - LINE / 2, left + wide, y + row["dy"] + LINE / 2))
                obstacles.append(Box(0, y - 1, room, y + 1))
        points = [
            Labelled(
                x=at[label],
                y=_pixel(scored[label].mean, domain),
                top=_pixel(scored[label].high, domain),
                bottom=_pixel(scored[label].low, domain),
                width=1.05 * text_width(label, fig.LABEL_LIMIT),
            )
            for label in first
        ]
        for label, place in zip(first, places(points, obstacles, (room, fig.HEIGHT)), strict=True):
            found[label].append([fig.short(place.dx), fig.short(place.dy), place.align])
    return found


def _room() -> str:
    """An expression: which of `ROOMS` is the nearest to the width of the plot."""
    tests = [f"width < {(one + other) / 2:g} ? {n} : " for n, (one, other) in enumerate(pairwise(ROOMS))]
    return "".join(tests) + str(len(ROOMS) - 1)


def _chart(chapter: Chapter, shown: Sequence[Measure], rows: Sequence[Row], language: Language) -> AnyChart:
    metric = fig.metric_of(chapter)
    low, high = score_domain(chapter)
    percents = alt.Axis(format="%" if high - low > 0.03 else ".1%", tickCount=6)
    scale = alt.Scale(domain=[fig.short(low), fig.short(high)], nice=False)
    y = alt.Y("y:Q", title=metric[language], scale=scale, axis=percents)
    x = _across(shown)
    base = alt.Chart()
    place = base.transform_filter(f"datum.k == 'arm' && datum.m == cost && {fig.SHOWN}").encode(x=x, y=y)
    arms = place.encode(color=fig.colour(fig.colours(chapter), [arm.label for arm in chapter.comparison.arms]))
    front = base.transform_filter("datum.k == 'front' && datum.m == cost")
    intervals = arms.mark_rule(strokeWidth=2, opacity=0.75, clip=True)
    about = _tooltip(chapter, rows, metric, language)
    titles = {one.key: fig.quoted(MEASURES[one.key][0][language]) for one in shown}
    layers = [
        front.mark_line(interpolate="step-after", color=BASELINE, strokeWidth=1.5, opacity=0.7).encode(x=x, y=y),
        *_baseline_layers(base, y, metric, language),
        intervals.encode(y=alt.Y("lo:Q", title=metric[language]), y2="hi:Q"),
        arms.transform_filter("datum.r").mark_point(size=300, filled=False, strokeWidth=2, opacity=1),
        arms.mark_point(size=95, filled=True, opacity=1).encode(tooltip=about),
        *_labels(place),
        fig.chosen_title(fig.choose("cost", titles)),
    ]
    return fig.layered(layers, rows)


def _labels(place: alt.Chart) -> list[alt.Chart]:
    """Beside the points, where there is room for them at this width; bold for the recommended arm."""
    named = place.transform_filter("isValid(datum.at)").encode(text="arm:N")
    beside: Row = {"dx": "datum.at[room][0]", "dy": "datum.at[room][1]", "align": "datum.at[room][2]"}
    look: Row = {key: alt.ExprRef(expression) for key, expression in beside.items()}
    look |= {"baseline": "middle", "fontSize": 12, "limit": fig.LABEL_LIMIT}
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


def _baseline_layers(base: alt.Chart, y: alt.Y, metric: Both, language: Language) -> list[alt.Chart]:
    lines = base.transform_filter(f"datum.k == 'line' && {fig.SHOWN}")
    text: Row = {"fontSize": 11, "limit": fig.LABEL_LIMIT + 50, "baseline": "middle"}
    named = "datum.arm + '  ' + format(datum.y, '.1%')"
    found = [
        lines.mark_rule(color=BASELINE, strokeDash=[5, 4]).encode(
            y=y,
            size=alt.condition("datum.r", alt.value(2.6), alt.value(1.4)),
            tooltip=fig.tooltip(language, ("arm:N", fig.ARM), ("y:Q", metric, ".1%")),
        )
    ]
    for test, x, mark in (
        ("datum.right", "width", {"align": "right", "dx": -4}),
        ("!datum.right", 0, {"align": "left", "dx": 4}),
    ):
        side = lines.transform_filter(test).transform_calculate(named=named)
        side = side.mark_text(**text, **mark, dy=alt.ExprRef("datum.dy"), style="guide-label")
        found.append(side.encode(x=alt.value(x), y=y, text="named:N"))
    below = base.transform_filter(f"datum.k == 'below' && {fig.SHOWN}").transform_calculate(named=f"'↓ ' + {named}")
    edge = below.mark_text(**text, align="right", dx=-4, dy=alt.ExprRef("-8 - 14 * datum.row"), style="guide-label")
    return [*found, edge.encode(x=alt.value("width"), y=alt.value("height"), text="named:N")]


def _tooltip(chapter: Chapter, rows: Sequence[Row], metric: Both, language: Language) -> list[alt.Tooltip]:
    level = round(100 * (1 - chapter.comparison.verdict.alpha))
    costs = {"e": "epoch", "t": "update", "p": "parameters", "w": "row"}
    has = {key for row in rows for key in costs if row.get(key)}
    if "e" in has:
        has.discard("t")
    return fig.tooltip(
        language,
        ("arm:N", fig.ARM),
        ("y:Q", metric, ".1%"),
        ("lo:Q", both("{level} % interval from", level=level), ".1%"),
        ("hi:Q", both("to"), ".1%"),
        *((f"{key}:Q", MEASURES[kind][0], "," if key == "p" else ".3~g") for key, kind in costs.items() if key in has),
    )
