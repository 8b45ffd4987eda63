"""Why arms differ: how far gradients reach, how long memories are, and what gates do."""

from collections.abc import Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.core.words import Language, both, same
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.palette import BASELINE
from rnnlab.show.figures.pieces import (
    ARM,
    LABEL_LIMIT,
    SHOWN,
    Row,
    colour,
    colours,
    data,
    finished,
    short,
    switches,
)
from rnnlab.show.pages.parts import Figure

FLOOR = 1e-5  # of the largest: what is less isn't shown
LITTLE = 0.01  # from there on nothing is remembered
BAR, GAP_BETWEEN = 20, 30
MOST_BARS = 60
DISTANCE = both("steps before the end")
GRADIENT = both("Gradient by distance")
GRADIENT_CAPTION = both(
    "How much the answer still depends on inputs so many steps before the end, as a share of "
    "the strongest: the best run of each model, on {rows} validation rows. Below the dashed "
    "line (1 %) inputs hardly count."
)
GRADIENT_AXIS = both("share of the strongest")
MEMORY = both("Memory length")
MEMORY_CAPTION = both(
    "Distance from which on less than 1 % of the strongest gradient arrives; the tick marks "
    "the same before training.{open}"
)
OPEN = both(" An arrow: further than was looked.")
MEMORY_AXIS = both("steps")
TRAINED, BEFORE = both("trained"), both("before training")
BY_EPOCH = both("Memory length by epoch")
BY_EPOCH_CAPTION = both("The same distance, measured while training.{open}")
TRIANGLES = both(" A triangle: further than was looked.")
EPOCH = both("epoch")


def gradient_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    rows = gradient_rows(chapter)
    if not rows:
        return None
    caption = GRADIENT_CAPTION.format(rows=max(one.rows for one in chapter.internals))

    def draw(language: Language, for_page: bool) -> AnyChart:
        chart = _gradient_chart(chapter, rows, language, for_page)
        return finished(chart, language, for_page, GRADIENT, caption, switches())

    return Figure(f"{prefix}gradient", GRADIENT, caption, draw, arms=True)


def gradient_rows(chapter: Chapter) -> list[Row]:
    """A row an arm {arm, x: distances, y: shares of its largest}, as lists. Zeros have no place on such an axis."""
    rows = []
    for one in chapter.internals:
        largest = max((norm for norm in one.norms if norm is not None), default=0.0)
        shares = [(lag, norm / largest) for lag, norm in enumerate(one.norms) if norm is not None and largest > 0]
        kept = [(lag, short(share)) for lag, share in shares if share >= FLOOR]
        if kept:
            lags, values = zip(*kept, strict=True)
            rows.append({"arm": one.arm, "x": list(lags), "y": list(values)})
    return rows


def _gradient_chart(chapter: Chapter, rows: Sequence[Row], language: Language, for_page: bool) -> AnyChart:
    furthest, least = max(row["x"][-1] for row in rows), min(min(row["y"]) for row in rows)
    low = next(power for power in (1e-3, 1e-4, FLOOR) if power <= least or power == FLOOR)
    powers = [power for power in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0) if power >= low]
    across = alt.Scale(domain=[0, max(furthest, 1)], nice=False)
    paint = _strokes(chapter, [row["arm"] for row in rows], for_page)
    lines = (
        alt.Chart()
        .transform_filter(SHOWN)
        .transform_flatten(["x", "y"])
        .encode(
            x=alt.X("x:Q", title=DISTANCE[language], scale=across, axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y(
                "y:Q",
                title=GRADIENT_AXIS[language],
                scale=alt.Scale(type="log", domain=[low, 1.15], nice=False),
                axis=alt.Axis(values=powers, format=".3~%"),
            ),
            color=paint,
        )
    )
    tooltip = [
        alt.Tooltip("arm:N", title=ARM[language]),
        alt.Tooltip("x:Q", title=DISTANCE[language]),
        alt.Tooltip("y:Q", title=GRADIENT_AXIS[language], format=".3~%"),
    ]
    rule = alt.Chart(alt.InlineData(values=[{"y": LITTLE}])).mark_rule(color=BASELINE, strokeDash=[5, 4])
    few = furthest <= 30
    return alt.layer(
        rule.encode(y="y:Q"),
        lines.mark_line(strokeWidth=2.2),
        lines.mark_point(size=30 if few else 60, filled=True, opacity=1 if few else 0).encode(tooltip=tooltip),
        data=data(rows),
    )


def memory_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    rows = memory_rows(chapter)
    if not rows:
        return None
    endless = any(row["open"] or row["first_open"] for row in rows)
    caption = MEMORY_CAPTION.format(open=OPEN if endless else same(""))

    def draw(language: Language, for_page: bool) -> AnyChart:
        chart = _memory_chart(chapter, rows, language)
        return finished(chart, language, for_page, MEMORY, caption, switches(), height=alt.Step(GAP_BETWEEN))

    return Figure(f"{prefix}memory", MEMORY, caption, draw, arms=True)


def memory_rows(chapter: Chapter) -> list[Row]:
    """Rows {arm, v: steps, text: as written beside the bar, open: further than was looked, first: before training}."""
    rows = []
    for number, one in enumerate(chapter.internals[:MOST_BARS]):
        looked = len(one.norms) - 1
        if looked < 1:
            continue
        row: Row = {"arm": one.arm, "o": number, "v": looked if one.memory is None else one.memory}
        row |= {"open": one.memory is None, "text": f"> {looked}" if one.memory is None else str(one.memory)}
        row |= {"first": looked if one.memory_at_first is None else one.memory_at_first}
        row |= {"first_open": one.memory_at_first is None}
        row |= {"was": f"> {looked}" if one.memory_at_first is None else str(one.memory_at_first)}
        rows.append(row)
    return rows


def _memory_chart(chapter: Chapter, rows: Sequence[Row], language: Language) -> AnyChart:
    furthest = max(max(row["v"], row["first"]) for row in rows)
    names = alt.Axis(labelLimit=LABEL_LIMIT, labelOverlap=False, ticks=False, domain=False)
    base = (
        alt.Chart()
        .transform_filter(SHOWN)
        .encode(
            x=alt.X(
                "v:Q",
                title=MEMORY_AXIS[language],
                stack=None,
                scale=alt.Scale(domain=[0, max(1, short(1.12 * furthest) or 1)], nice=False),
                axis=alt.Axis(tickMinStep=1, tickCount=8),
            ),
            y=alt.Y("arm:N", sort=alt.EncodingSortField("o", op="min"), title=None, axis=names),
        )
    )
    painted = base.encode(color=colour(colours(chapter), [row["arm"] for row in rows], for_page=True))
    tooltip = [
        alt.Tooltip("arm:N", title=ARM[language]),
        alt.Tooltip("text:N", title=TRAINED[language]),
        alt.Tooltip("was:N", title=BEFORE[language]),
    ]
    arrow = painted.transform_filter("datum.open").mark_point(
        shape="triangle-right", filled=True, size=190, opacity=1, xOffset=5
    )
    tick = base.mark_tick(thickness=3, size=BAR + 6).encode(x=alt.X("first:Q", title=MEMORY_AXIS[language]))
    tick = tick.encode(tooltip=tooltip)
    return alt.layer(
        painted.mark_bar(height=BAR, opacity=0.85).encode(tooltip=tooltip),
        arrow,
        tick,
        base.mark_text(align="left", baseline="middle", dx=14, fontSize=12)
        .encode(x=alt.X("far:Q", title=MEMORY_AXIS[language]), text="text:N")
        .transform_calculate(far="max(datum.v, datum.first)"),
        data=data(rows),
    )


def epochs_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    """None where the training recorded no gradients."""
    rows = epoch_rows(chapter)
    if not rows:
        return None
    caption = BY_EPOCH_CAPTION.format(open=TRIANGLES if any(row["open"] for row in rows) else same(""))

    def draw(language: Language, for_page: bool) -> AnyChart:
        chart = _epochs_chart(chapter, rows, language, for_page)
        return finished(chart, language, for_page, BY_EPOCH, caption, switches(), height=260)

    return Figure(f"{prefix}memory-by-epoch", BY_EPOCH, caption, draw, arms=True)


def epoch_rows(chapter: Chapter) -> list[Row]:
    """Rows {arm, e: epoch, v: steps, open: further than was looked, text}."""
    rows = []
    for one in chapter.internals:
        for moment in one.epochs:
            memory, looked = moment["memory"], moment["lags"][-1]
            text = f"> {looked}" if memory is None else str(memory)
            row: Row = {"arm": one.arm, "e": moment["epoch"], "v": looked if memory is None else memory, "text": text}
            rows.append(row | {"open": memory is None})
    return rows


def _epochs_chart(chapter: Chapter, rows: Sequence[Row], language: Language, for_page: bool) -> AnyChart:
    epochs, furthest = [row["e"] for row in rows], max(row["v"] for row in rows)
    ends = [min(epochs), max(epochs)] if len(set(epochs)) > 1 else [min(epochs) - 1, max(epochs) + 1]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    base = (
        alt.Chart()
        .transform_filter(SHOWN)
        .encode(
            x=alt.X("e:Q", title=EPOCH[language], scale=alt.Scale(domain=ends, nice=False), axis=_whole_numbers()),
            y=alt.Y(
                "v:Q",
                title=MEMORY_AXIS[language],
                scale=alt.Scale(domain=[0, max(1, short(1.08 * furthest) or 1)], nice=False),
                axis=alt.Axis(tickMinStep=1, tickCount=6),
            ),
            color=_strokes(chapter, arms, for_page),
        )
    )
    tooltip = [
        alt.Tooltip("arm:N", title=ARM[language]),
        alt.Tooltip("e:Q", title=EPOCH[language]),
        alt.Tooltip("text:N", title=MEMORY_AXIS[language]),
    ]
    return alt.layer(
        base.mark_line(strokeWidth=2.2),
        base.transform_filter("!datum.open").mark_point(size=90, filled=True, opacity=1).encode(tooltip=tooltip),
        base.transform_filter("datum.open")
        .mark_point(shape="triangle-up", size=120, filled=True, opacity=1)
        .encode(tooltip=tooltip),
        data=data(rows),
    )


def _strokes(chapter: Chapter, arms: Sequence[str], for_page: bool) -> alt.Color:
    return colour(colours(chapter), arms, for_page, symbolType="stroke", symbolStrokeWidth=3)


def _whole_numbers() -> alt.Axis:
    return alt.Axis(tickMinStep=1, tickCount=8, grid=False, format=",.0f")
