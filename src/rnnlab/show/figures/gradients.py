"""How far back models look: how far gradients reach and how long memories are, of a report's arms and of one model."""

import math
from collections.abc import Iterator, Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter
from rnnlab.core.words import Both, Language, both, capitalised, same
from rnnlab.inspecting.inspection import Inspection
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.palette import BASELINE
from rnnlab.show.inspection_texts import layer_name

FLOOR = 1e-5  # of the largest: what is less isn't shown
LITTLE = 0.01  # from there on nothing is remembered
BAR, GAP_BETWEEN = 20, 30
MOST_BARS = 60
DISTANCE = both("steps before the end")
GRADIENT = both("Gradient by distance")
GRADIENT_CAPTION = both(
    "How much the answer still depends on inputs so many steps before the end, as a share of the strongest: the best "
    "run of each model, on {rows} validation rows. Below the dashed line (1 %) inputs hardly count.{tags}"
)
LAST_TAG = both(" The answer is the tag of the last token.")
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
NORM = both("norm")
CURVES = {
    "state": same("∂h_T/∂h_t"),
    "cell": same("∂c_T/∂c_t"),
    "forget": both("forget gates alone"),
    "factors": both("product of factor norms"),
    "bound": same("‖W_hh‖^(T−t)"),
}
INPUT = both("∂ output / ∂ x_t")


def gradient_figure(chapter: Chapter) -> Figure | None:
    rows = gradient_rows(chapter)
    if not rows:
        return None
    tags = LAST_TAG if chapter.differences.tagging else same("")
    caption = GRADIENT_CAPTION.format(rows=max(one.rows for one in chapter.internals), tags=tags)
    return fig.figure("gradient", GRADIENT, caption, lambda *to: _gradient_chart(chapter, rows, *to))


def gradient_rows(chapter: Chapter) -> list[Row]:
    """A row an arm {arm, x: distances, y: shares of its largest}, as lists. Zeros have no place on such an axis."""
    rows = []
    for one in chapter.internals:
        largest = max((norm for norm in one.norms if norm is not None), default=0.0)
        shares = [(lag, norm / largest) for lag, norm in enumerate(one.norms) if norm is not None and largest > 0]
        kept = [(lag, fig.short(share)) for lag, share in shares if share >= FLOOR]
        if kept:
            lags, values = zip(*kept, strict=True)
            rows.append({"arm": one.arm, "x": list(lags), "y": list(values)})
    return rows


def _gradient_chart(chapter: Chapter, rows: Sequence[Row], language: Language, for_page: bool) -> AnyChart:
    furthest, least = max(row["x"][-1] for row in rows), min(min(row["y"]) for row in rows)
    low = next(power for power in (1e-3, 1e-4, FLOOR) if power <= least or power == FLOOR)
    powers = [power for power in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0) if power >= low]
    across = alt.Scale(domain=[0, max(furthest, 1)], nice=False)
    up = alt.Scale(type="log", domain=[low, 1.15], nice=False)
    shares = alt.Axis(values=powers, format=".3~%")
    lines = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .transform_flatten(["x", "y"])
        .encode(
            x=alt.X(
                "x:Q",
                title=_in_time(DISTANCE, chapter, furthest)[language],
                scale=across,
                axis=alt.Axis(tickMinStep=1, grid=False),
            ),
            y=alt.Y("y:Q", title=GRADIENT_AXIS[language], scale=up, axis=shares),
            color=fig.colour(fig.colours(chapter), [row["arm"] for row in rows], for_page, **fig.STROKES),
        )
    )
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("x:Q", DISTANCE), ("y:Q", GRADIENT_AXIS, ".3~%"))
    rule = alt.Chart(fig.data([{"y": LITTLE}])).mark_rule(color=BASELINE, strokeDash=[5, 4])
    few = furthest <= 30
    points = lines.mark_point(size=30 if few else 60, filled=True, opacity=1 if few else 0).encode(tooltip=about)
    return fig.layered([rule.encode(y="y:Q"), lines.mark_line(strokeWidth=2.2), points], rows)


def _in_time(title: Both, chapter: Chapter, furthest: int) -> Both:
    """Steps of series with dates have a length."""
    found = chapter.differences.forecasted
    return title if found is None else fig.with_time(title, found.spacing, furthest)


def memory_figure(chapter: Chapter) -> Figure | None:
    rows = memory_rows(chapter)
    if not rows:
        return None
    endless = any(row["open"] or row["first_open"] for row in rows)
    caption = MEMORY_CAPTION.format(open=OPEN if endless else "")
    height = alt.Step(GAP_BETWEEN)
    return fig.figure(
        "memory", MEMORY, caption, lambda language, _: _memory_chart(chapter, rows, language), height=height
    )


def memory_rows(chapter: Chapter) -> list[Row]:
    """Rows {arm, v: steps, text: as written beside the bar, open: further than was looked, first: before training}."""
    rows = []
    for number, one in enumerate(chapter.internals[:MOST_BARS]):
        looked = len(one.norms) - 1
        if looked >= 1:
            steps, endless, text = _steps(one.memory, looked)
            first, first_open, was = _steps(one.memory_at_first, looked)
            row: Row = {"arm": one.arm, "o": number, "v": steps, "open": endless, "text": text}
            rows.append(row | {"first": first, "first_open": first_open, "was": was})
    return rows


def _steps(memory: int | None, looked: int) -> tuple[int, bool, str]:
    """How far, whether that is further than was looked, and as it is written."""
    return (looked, True, f"> {looked}") if memory is None else (memory, False, str(memory))


def _memory_chart(chapter: Chapter, rows: Sequence[Row], language: Language) -> AnyChart:
    furthest = max(max(row["v"], row["first"]) for row in rows)
    steps = _in_time(MEMORY_AXIS, chapter, furthest)[language]
    x = alt.X(
        "v:Q",
        title=steps,
        stack=None,
        scale=alt.Scale(domain=[0, max(1, fig.short(1.12 * furthest) or 1)], nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=8),
    )
    base = alt.Chart().transform_filter(fig.SHOWN).encode(x=x, y=fig.arms_down())
    painted = base.encode(color=fig.colour(fig.colours(chapter), [row["arm"] for row in rows]))
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("text:N", TRAINED), ("was:N", BEFORE))
    layers = [
        painted.mark_bar(height=BAR, opacity=0.85).encode(tooltip=about),
        painted.transform_filter("datum.open").mark_point(
            shape="triangle-right", filled=True, size=190, opacity=1, xOffset=5
        ),
        base.mark_tick(thickness=3, size=BAR + 6).encode(x=alt.X("first:Q", title=steps), tooltip=about),
        base.mark_text(align="left", baseline="middle", dx=14, fontSize=12)
        .encode(x=alt.X("far:Q", title=steps), text="text:N")
        .transform_calculate(far="max(datum.v, datum.first)"),
    ]
    return fig.layered(layers, rows)


def epochs_figure(chapter: Chapter) -> Figure | None:
    """None where the training recorded no gradients."""
    rows = epoch_rows(chapter)
    if not rows:
        return None
    caption = BY_EPOCH_CAPTION.format(open=TRIANGLES if any(row["open"] for row in rows) else "")
    return fig.figure("memory-by-epoch", BY_EPOCH, caption, lambda *to: _epochs_chart(chapter, rows, *to), height=260)


def epoch_rows(chapter: Chapter) -> list[Row]:
    """Rows {arm, e: epoch, v: steps, open: further than was looked, text}."""
    rows = []
    for one in chapter.internals:
        for moment in one.epochs:
            steps, endless, text = _steps(moment["memory"], moment["lags"][-1])
            rows.append({"arm": one.arm, "e": moment["epoch"], "v": steps, "text": text, "open": endless})
    return rows


def _epochs_chart(chapter: Chapter, rows: Sequence[Row], language: Language, for_page: bool) -> AnyChart:
    epochs, furthest = [row["e"] for row in rows], max(row["v"] for row in rows)
    ends = [min(epochs), max(epochs)] if len(set(epochs)) > 1 else [min(epochs) - 1, max(epochs) + 1]
    across = alt.Scale(domain=ends, nice=False)
    whole = alt.Axis(tickMinStep=1, tickCount=8, grid=False, format=",.0f")
    up = alt.Scale(domain=[0, max(1, fig.short(1.08 * furthest) or 1)], nice=False)
    base = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .encode(
            x=alt.X("e:Q", title=EPOCH[language], scale=across, axis=whole),
            y=alt.Y("v:Q", title=MEMORY_AXIS[language], scale=up, axis=alt.Axis(tickMinStep=1, tickCount=6)),
            color=fig.colour(fig.colours(chapter), [row["arm"] for row in rows], for_page, **fig.STROKES),
        )
    )
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("e:Q", EPOCH), ("text:N", MEMORY_AXIS))
    points = base.transform_filter("!datum.open").mark_point(size=90, filled=True, opacity=1)
    beyond = base.transform_filter("datum.open").mark_point(shape="triangle-up", size=120, filled=True, opacity=1)
    layers = [base.mark_line(strokeWidth=2.2), points.encode(tooltip=about), beyond.encode(tooltip=about)]
    return fig.layered(layers, rows)


# Of one model


def gradient_figures(found: Inspection) -> Iterator[Figure]:
    """Through the states of every layer, to the inputs, and how that was while training."""
    now = TRAINED if found.subject.trained else both("untrained")
    first = {layer.name: layer for layer in found.through_time_at_first}
    for layer in found.through_time:
        lines = [(CURVES[name], getattr(layer, name), now) for name in CURVES]
        if layer.name in first:
            lines += [(CURVES[name], getattr(first[layer.name], name), BEFORE) for name in ("state", "cell")]
        caption = both(
            "{layer}: the norm of ∂h_T/∂h_t, exactly, and what bounds it. Down the axis gradients vanish.",
            layer=capitalised(layer_name(layer.name)),
        )
        yield _decay(caption, lines, fig.with_time(both("steps back, T − t"), found.subject.spacing, layer.lags))
    lines = [(INPUT, found.by_input.norms, now)]
    if found.by_input_at_first is not None:
        lines.append((INPUT, found.by_input_at_first.norms, BEFORE))
    caption = both(
        "How much of the answer's gradient reaches an input, by its distance from the end: ‖∂ "
        "highest output / ∂ x_t‖, the mean over the sequences that reach so far."
    )
    yield _decay(caption, lines, fig.with_time(DISTANCE, found.subject.spacing, len(found.by_input.norms) - 1))
    rows = [
        {"epoch": epoch["epoch"], "lag": lag, "norm": norm}
        for epoch in found.epochs
        for lag, norm in zip(epoch["lags"], epoch["norms"], strict=True)
    ]
    if rows:
        caption = both("The same while training, at some distances.")
        yield Figure("epochs", same(""), caption, lambda language, page: _by_epoch(rows, language, page), wide=True)


def _decay(caption: Both, lines: Sequence[tuple[Both, Sequence[float] | None, Both]], distance: Both) -> Figure:
    """Curves on a logarithmic scale, (name, norms by distance, when): a colour per curve, a dash per moment."""

    def draw(language: Language, for_page: bool) -> alt.Chart:
        rows = [
            {"curve": name[language], "lag": lag, "norm": norm, "when": when[language]}
            for name, norms, when in lines
            for lag, norm in enumerate(norms or ())
            if norm < 1e300
        ]
        base, y = _logarithmic(rows, language, for_page)
        curves, moments = (
            list(dict.fromkeys(row[key] for row in rows if row["norm"] > 0)) for key in ("curve", "when")
        )
        key = alt.Legend()
        if for_page:  # on a phone, one below the other
            key = alt.Legend(orient="bottom", columns=alt.ExprRef("containerSize()[0] < 560 ? 1 : 4"))
        keys = [key if len(values) > 1 else None for values in (curves, moments)]
        return base.mark_line(interpolate="linear").encode(
            x=alt.X("lag:Q", title=distance[language], axis=alt.Axis(tickMinStep=1)),
            y=y,
            color=alt.Color("curve:N", title=None, sort=curves, legend=keys[0]),
            strokeDash=alt.StrokeDash("when:N", title=None, sort=moments, legend=keys[1]),
            tooltip=["curve:N", "when:N", "lag:Q", alt.Tooltip("norm:Q", format=".3g")],
        )

    return Figure("decay", same(""), caption, draw, wide=True)


def _by_epoch(rows: Sequence[Row], language: Language, for_page: bool) -> alt.Chart:
    """Rows {epoch, norm, lag}: a line per lag."""
    base, y = _logarithmic(rows, language, for_page)
    return base.mark_line(point=True).encode(
        x=alt.X("epoch:O", title=EPOCH[language], axis=alt.Axis(labelAngle=0)),
        y=y,
        color=alt.Color("lag:O", title=DISTANCE[language], scale=alt.Scale(scheme="viridis")),
        tooltip=["epoch:O", "lag:O", alt.Tooltip("norm:Q", format=".3g")],
    )


def _logarithmic(rows: Sequence[Row], language: Language, for_page: bool) -> tuple[alt.Chart, alt.Y]:
    """The chart and its axis of norms: at most some eight powers of ten, since finer lines would hide the curves. Zeros
    have no place on it and are left out."""
    shown = [row for row in rows if row["norm"] is not None and row["norm"] > 0]
    norms = [row["norm"] for row in shown] or [1.0]
    low, high = math.floor(math.log10(min(norms))), math.ceil(math.log10(max(norms)))
    powers = range(low, high + 1, max(1, -(-(high - low) // 8)))
    axis = alt.Axis(labelExpr=fig.powers_of_ten(), values=[10.0**power for power in powers])
    y = alt.Y("norm:Q", title=NORM[language], scale=alt.Scale(type="log"), axis=axis)
    size: Row = fig.as_wide_as_the_page() if for_page else {"width": 560}
    return alt.Chart(fig.data(shown), height=260, **size), y
