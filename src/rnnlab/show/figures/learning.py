"""Learning curves: mean and band over the runs of every arm, by epoch or by second."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from rnnlab.comparing.chapters import Chapter, Curve, CurvePoint, Ending, Learning, Split
from rnnlab.core.terms import metric_text
from rnnlab.core.words import Both, Language, both, joined, retold
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Control, Figure, Row
from rnnlab.show.figures.sweep_curves import CROSS
from rnnlab.show.sweep_texts import is_share

MOST_POINTS = 6_000  # of all curves together: a page stays small, and lines are no finer than pixels
TITLE = both("Learning curves")
CAPTION = both(
    "Mean of the runs, with a band from the least to the most. The dot marks the best {round} by validation{more}"
)
ONE = both("Mean of the runs, with a line from the least to the most: there was one evaluation only{more}")
CROSSES = both("; a cross, a run that diverged")
DASHED = both("; dashed: training")
ROUNDS = {"epoch": both("epoch"), "evaluation": both("evaluation")}
SECONDS = both("seconds of training")
SPLITS: dict[tuple[Split, ...], Both] = {
    ("valid",): both("validation {quantity}"),
    ("train",): both("training {quantity}"),
    ("valid", "train"): both("{quantity}, training and validation"),
}


@dataclass(frozen=True)
class View:
    """One of the choices: which curves it shows, and between which values."""

    value: str
    quantity: str
    splits: tuple[Split, ...]
    low: float
    high: float

    @property
    def name(self) -> Both:
        return SPLITS[self.splits].format(quantity=metric_text(self.quantity))

    def within(self, value: float) -> float:
        return min(max(value, self.low), self.high)

    @property
    def numbers(self) -> str:
        """The format of its axis."""
        if not is_share(self.quantity):
            return ".3~g"
        return ".0%" if self.high - self.low > 0.03 else ".1%"


def views(learning: Learning) -> list[View]:
    """Validation first, then training, then both, of every quantity."""
    found: list[View] = []
    for quantity in learning.quantities:
        for splits in SPLITS:
            curves = [one for one in learning.curves if one.quantity == quantity and one.split in splits]
            if {one.split for one in curves} == set(splits):
                found.append(View(str(len(found)), quantity, splits, *_range(curves, quantity)))
    return found


def _range(curves: Sequence[Curve], quantity: str) -> tuple[float, float]:
    points = [point for curve in curves for point in curve.points]
    low, high = min(point.least for point in points), max(point.most for point in points)
    if not is_share(quantity):
        high = min(high, _unexploded([point.most for point in points]))
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.01
    if is_share(quantity):
        return max(0.0, low - room), min(1.0, high + room)
    return (max(0.0, low - room) if low >= 0 else low - room), high + room


def _unexploded(values: Sequence[float]) -> float:
    """A loss that explodes would press all others flat: more than ten times what nine in ten keep within is cut."""
    return 10 * max(sorted(values)[round(0.9 * (len(values) - 1))], 1e-12)


def learning_figure(chapter: Chapter) -> Figure | None:
    learning = chapter.learning
    found = views(learning)
    if not found:
        return None
    rounds = ROUNDS.get(learning.rounds, ROUNDS["epoch"])
    single = _single(learning)
    curve = Control("curve", both("curve"), tuple((view.value, view.name) for view in found))
    by = Control("by", both("by"), (("e", rounds), ("t", both("second")))[: 1 if single else 2])
    crosses = [CROSSES] if any(ending.kind == "diverged" for ending in learning.endings) else []
    dashed = [DASHED] if any(len(view.splits) > 1 for view in found) else []
    caption = ONE if single else CAPTION

    def chart(language: Language, for_page: bool) -> AnyChart:
        return _chart(chapter, found if for_page else found[:1], rounds, language, for_page)

    return fig.figure(
        "learning",
        TITLE,
        caption.format(round=rounds, more=joined([*crosses, *dashed], "")),
        chart,
        [curve, by],
        in_file=(
            both("{title}: {name}", title=TITLE, name=found[0].name),
            caption.format(round=rounds, more=joined(crosses, "")),
        ),
    )


def _single(learning: Learning) -> bool:
    return all(len(curve.points) == 1 for curve in learning.curves)


def curve_rows(learning: Learning, shown: Sequence[View]) -> list[Row]:
    """A row a curve {arm, s: split, q: quantity}, its points as lists that the chart takes apart: e(poch), t (seconds),
    m(ean), lo, hi, n (runs)."""
    quantities = {view.quantity for view in shown}
    curves = [one for one in learning.curves if one.quantity in quantities]
    stride = max(1, -(-sum(len(one.points) for one in curves) // MOST_POINTS))
    rows = []
    for one in curves:
        points = thinned(one.points, stride)
        numbers = {"e": "epoch", "t": "seconds", "m": "mean", "lo": "least", "hi": "most", "n": "runs"}
        lists = {key: [fig.short(getattr(point, name)) for point in points] for key, name in numbers.items()}
        rows.append(
            {"k": "curve", "arm": one.arm, "s": one.split, "q": learning.quantities.index(one.quantity), **lists}
        )
    return rows


def thinned(points: Sequence[CurvePoint], stride: int) -> list[CurvePoint]:
    """Every so many, and the last."""
    kept = list(points[::stride])
    return kept if not points or kept[-1] is points[-1] else [*kept, points[-1]]


def ending_rows(learning: Learning, shown: Sequence[View]) -> list[Row]:
    """Rows {k: "best" | "diverged", arm, v: choice, e, t, me, mt: how high by epoch and by second}. A run that diverged
    before anything was measured stands at the bad edge."""
    rows = []
    for view in shown:
        split = view.splits[0]
        curves = {one.arm: one for one in learning.curves if (one.quantity, one.split) == (view.quantity, split)}
        better_high = not (learning.lower_is_better if view.quantity == learning.quantities[0] else True)
        for ending in learning.endings:
            curve = curves.get(ending.arm)
            if curve is None and ending.kind == "best":
                continue
            edge = view.low if better_high else view.high
            by_epoch, by_second = _heights(curve, ending) or (edge, edge)
            row: Row = {"k": ending.kind, "arm": ending.arm, "v": view.value}
            row |= {"e": ending.epoch, "t": fig.short(ending.seconds)}
            row |= {"me": fig.short(view.within(by_epoch)), "mt": fig.short(view.within(by_second))}
            rows.append(row if ending.kind == "best" else row | {"seed": ending.seed, "why": ending.reason})
    return rows


def _heights(curve: Curve | None, ending: Ending) -> tuple[float, float] | None:
    """Of the curve at that epoch (the last one before it that was evaluated) and at that second."""
    before = [point.mean for point in (curve.points if curve else ()) if point.epoch <= ending.epoch]
    if curve is None or not before:
        return None
    seconds, means = [point.seconds for point in curve.points], [point.mean for point in curve.points]
    return before[-1], float(np.interp(ending.seconds, seconds, means))


def _chart(chapter: Chapter, shown: Sequence[View], rounds: Both, language: Language, for_page: bool) -> AnyChart:
    learning = chapter.learning
    rows = [*curve_rows(learning, shown), *ending_rows(learning, shown)]
    arms = {row["arm"] for row in rows}
    paint = fig.colour(fig.colours(chapter), arms, for_page, **fig.STROKES)
    x, y = _axes(learning, shown)
    lines = (
        alt.Chart()
        .transform_filter(f"datum.k == 'curve' && {fig.SHOWN}")
        .transform_filter(fig.choose("curve", {view.value: _filter(view, learning) for view in shown}, "false"))
        .transform_flatten(["e", "t", "m", "lo", "hi", "n"])
        .transform_calculate(x="by == 'e' ? datum.e : datum.t")
        .encode(x=x, y=y, color=paint, detail=["s:N"])
    )
    marks = (
        alt.Chart()
        .transform_filter(f"datum.k != 'curve' && datum.v == curve && {fig.SHOWN}")
        .transform_calculate(x="by == 'e' ? datum.e : datum.t", m="by == 'e' ? datum.me : datum.mt")
        .encode(x=x, y=y, color=paint)
    )
    band = {"y": alt.Y("lo:Q", title=None, stack=None), "y2": "hi:Q"}
    if _single(learning):
        layers: list[Any] = [
            lines.mark_rule(strokeWidth=2, opacity=0.6).encode(**band),
            lines.mark_point(size=90, filled=True, opacity=1),
        ]
    else:
        layers = _line_layers(lines, band, shown, len(arms))
        layers.append(marks.transform_filter("datum.k == 'best'").mark_point(size=75, filled=True, opacity=1))
    spread = (("m:Q", both("mean")), ("lo:Q", both("least")), ("hi:Q", both("most")))
    numbers = ((field, name, ".4~g") for field, name in (("t:Q", SECONDS), *spread))
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("e:Q", rounds), *numbers, ("n:Q", both("runs")))
    layers.append(lines.mark_point(size=110, opacity=0, filled=True).encode(tooltip=about))
    reasons = {row["why"]: retold(row["why"])[language] for row in rows if row["k"] == "diverged"}
    if reasons:  # the languages share the rows
        told = f"{json.dumps(reasons, ensure_ascii=False)}[datum.why]"
        crosses = marks.transform_filter("datum.k == 'diverged'").transform_calculate(why=told)
        why = (("e:Q", both("after {round}", round=rounds)), ("why:N", both("reason")))
        about = fig.tooltip(language, ("arm:N", fig.ARM), ("seed:Q", both("diverged: seed")), *why)
        layers.append(crosses.mark_point(shape=CROSS, size=70, strokeWidth=3, opacity=1).encode(tooltip=about))
    across = f"by == 'e' ? {fig.quoted(rounds[language])} : {fig.quoted(SECONDS[language])}"
    up = fig.choose("curve", {view.value: fig.quoted(view.name[language]) for view in shown})
    above = fig.chosen_title(up, x=0, y=0, dy=-10, align="left", baseline="bottom")
    return fig.layered([*layers, fig.chosen_title(across), above], rows)


def _line_layers(lines: alt.Chart, band: dict[str, Any], shown: Sequence[View], arms: int) -> list[Any]:
    """Training is dashed where validation is shown too. Of very many arms the bands would cover everything."""
    mixed = [view.value for view in shown if len(view.splits) > 1]
    dash = f"datum.s == 'train' && indexof({mixed}, curve) >= 0"
    width = 2.2 if arms <= 12 else 1.2
    layers = [lines.mark_area(opacity=0.14 if arms <= 6 else 0.08).encode(**band)] if arms <= 24 else []
    if mixed:
        layers.append(lines.transform_filter(dash).mark_line(strokeWidth=width, strokeDash=[5, 3]))
    return [*layers, lines.transform_filter(f"!({dash})").mark_line(strokeWidth=width)]


def _filter(view: View, learning: Learning) -> str:
    quantity = f"datum.q == {learning.quantities.index(view.quantity)}"
    return f"({quantity} && indexof({list(view.splits)}, datum.s) >= 0)"


def _axes(learning: Learning, shown: Sequence[View]) -> tuple[alt.X, alt.Y]:
    """Their ends are fixed, so that nothing moves when arms are switched off."""
    points = [point for curve in learning.curves for point in curve.points]
    first = min((ending.epoch for ending in learning.endings), default=1)
    epochs = [min(first, *(point.epoch for point in points)), max(point.epoch for point in points)]
    if epochs[0] == epochs[1]:
        epochs = [epochs[0] - 1, epochs[1] + 1]
    seconds = max(max(point.seconds for point in points), 1e-9)
    ends = [f"by == 'e' ? {epochs[0]} : 0", f"by == 'e' ? {epochs[1]} : {1.02 * seconds:.5g}"]
    across = alt.Scale(domain=list(map(alt.ExprRef, ends)), nice=False, zero=False)
    limits = [{view.value: f"{view.low:.5g}" for view in shown}, {view.value: f"{view.high:.5g}" for view in shown}]
    up = alt.Scale(domain=[alt.ExprRef(fig.choose("curve", end)) for end in limits], nice=False, zero=False, clamp=True)
    numbers = fig.choose("curve", {view.value: f"format(datum.value, '{view.numbers}')" for view in shown})
    whole = "by == 'e' && datum.value != floor(datum.value) ? '' : format(datum.value, ',.10~g')"
    step = alt.ExprRef("by == 'e' ? 1 : 0")
    rounds = alt.Axis(labelExpr=whole, tickCount=8, tickMinStep=step, grid=False)
    return (
        alt.X("x:Q", title=None, scale=across, axis=rounds),
        alt.Y("m:Q", title=None, scale=up, axis=alt.Axis(labelExpr=numbers, tickCount=6)),
    )
