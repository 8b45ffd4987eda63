"""Charts of forecasters: errors by step ahead, fans, windows that two arms forecast differently, and what is left in
the errors."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.forecasted import DifferingWindow, Fan, Forecasted, Line, Residuals, StepErrors
from rnnlab.core.words import Both, Language, both, same
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.palette import BASELINE, PALETTE

NAIVE = "seasonal-naive"
DAY = 86_400
BY_STEP = both("Error by step ahead")
BY_STEP_CAPTION = both(
    "MASE of each step of a forecast, the mean over all test windows: 1 is the seasonal naive forecast's error before "
    "the test part, and less is better. {intervals}Dashed: the seasonal naive forecast and the best baseline."
)
BANDS_SHOWN = both("Bands are 95 % intervals by the luck of the seeds and of blocks of windows. ")
MASE_AXIS, STEP = both("MASE, lower is better"), both("steps ahead")
INTERVAL = {"l": both("{level} % interval from", level=95), "h": both("to")}
FAN = both("{name}: MASE {mase}, skill {skill} %")
RANKS = {
    "best": both("{name}, best by skill: MASE {mase}, skill {skill} %"),
    "median": both("{name}, in the middle by skill: MASE {mase}, skill {skill} %"),
    "worst": both("{name}, worst by skill: MASE {mase}, skill {skill} %"),
    "all": FAN,
}
TRUTH, WHEN, TIME = both("what came"), both("date"), both("step")
VALUE, MEDIAN = both("value"), both("forecast")
WINDOW = both("{name}, from {when}: MASE {ours} against {theirs}")
WINDOW_UNNAMED = both("From {when}: MASE {ours} against {theirs}")
STEP_NUMBER = both("step {number}")
RESIDUALS = both("What is left in the errors of {arm}")
RESIDUALS_CAPTION = both(
    "How errors one step ahead resemble those some steps later (autocorrelation; {steps} errors per channel, up to two "
    "seasons). Within the dashed lines lie 95 % of the bars where nothing is left to be learnt; dotted: whole seasons."
)
LAG, CORRELATION = both("steps apart"), both("correlation")
TRUE_KEY = "·"  # in the data, for what came: names of arms are users' texts
FAN_HEIGHT, WINDOW_HEIGHT = 220, 170


# --- by step ----------------------------------------------------------------------------------------------------------


def by_step_figure(chapter: Chapter) -> Figure | None:
    found = chapter.differences.forecasted
    if found is None or found.horizon < 2:
        return None
    baselines = {arm.label for arm in chapter.comparison.baselines}
    drawn = {chapter.comparison.verdict.best_baseline, NAIVE}
    shown = [one for one in found.by_step if one.parts and (one.arm not in baselines or one.arm in drawn)]
    if not shown:
        return None
    caption = BY_STEP_CAPTION.format(intervals=BANDS_SHOWN if found.enough else same(""))
    return fig.figure(
        "by-step", BY_STEP, caption, lambda language, for_page: _steps(chapter, found, shown, language, for_page)
    )


def _steps(
    chapter: Chapter, found: Forecasted, shown: Sequence[StepErrors], language: Language, for_page: bool
) -> AnyChart:
    baselines = {arm.label for arm in chapter.comparison.baselines}
    grey = [one.arm for one in shown if one.arm in baselines]
    named_at = {arm: round((0.3 + 0.35 * number) * len(shown[0].parts)) for number, arm in enumerate(grey)}  # apart
    rows: list[Row] = [
        {"arm": one.arm, "s": step, "b": one.arm in baselines, "e": named_at.get(one.arm) == number}
        | {"y": fig.short(error.mean), "l": fig.short(error.low), "h": fig.short(error.high)}
        for one in shown
        for number, (step, error) in enumerate(one.parts)
    ]
    base = (
        alt.Chart()
        .transform_filter(fig.SHOWN)
        .encode(
            x=alt.X(
                "s:Q",
                title=fig.with_time(STEP, found.spacing, found.horizon)[language],
                scale=alt.Scale(domain=[1, found.horizon], nice=False),
                axis=alt.Axis(tickMinStep=1, grid=False),
            ),
            y=alt.Y(
                "y:Q", title=MASE_AXIS[language], scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=6)
            ),
            color=fig.colour(fig.colours(chapter), [one.arm for one in shown], for_page, **fig.STROKES),
        )
    )
    ends = [(f"{end}:Q", name, ".4~g") for end, name in INTERVAL.items()] if found.enough else []
    about = fig.tooltip(language, ("arm:N", fig.ARM), ("s:Q", STEP), ("y:Q", same("MASE"), ".4~g"), *ends)
    ours, theirs = base.transform_filter("!datum.b"), base.transform_filter("datum.b")
    band = base.mark_area(opacity=0.13).encode(y=alt.Y("l:Q", title=MASE_AXIS[language]), y2="h:Q")
    names = [
        theirs.transform_filter(f"datum.e && (datum.arm == '{NAIVE}') == {is_naive}")
        .mark_text(dy=-8 if is_naive == "true" else 12, fontSize=11, color=BASELINE)
        .encode(text="arm:N")
        for is_naive in ("true", "false")  # the seasonal naive one above its line, the best one, which is lower, below
    ]
    layers = [
        *([band] if found.enough else []),
        theirs.mark_line(strokeWidth=1.8, strokeDash=[5, 4]),
        ours.mark_line(strokeWidth=2.4),
        *names,
        base.mark_point(size=70, filled=True, opacity=0.01).encode(tooltip=about),
    ]
    return fig.layered(layers, rows)


# --- fans -------------------------------------------------------------------------------------------------------------


def fan_figures(chapter: Chapter) -> list[Figure]:
    found = chapter.differences.forecasted
    if found is None or found.ours is None:
        return []
    return [_fan_figure(chapter, found, found.ours, fan, number) for number, fan in enumerate(found.fans)]


def _fan_figure(chapter: Chapter, found: Forecasted, arm: str, fan: Fan, number: int) -> Figure:
    part = fan.part
    title = RANKS[fan.rank].format(
        name=part.name, mase=f"{part.mase:.3f}", skill=f"{100 * part.skill:.0f}".replace("-", "−")
    )
    middle = max(1, len(found.quantiles)) // 2
    rows: list[Row] = [
        {"t": _drawn_at(found, at), "f": at_fan, "k": arm}
        | {f"q{level}": fig.short(value) for level, value in enumerate(quantiles)}
        for at_fan, band in enumerate(fan.bands)
        for at, quantiles in zip(band.at, band.quantiles, strict=True)
    ]

    def draw(language: Language, for_page: bool) -> AnyChart:
        x = _time_axis(found, fan.truth.at, language)
        colour = _two_colours(chapter, [arm], language)
        bands = alt.Chart(fig.data(rows)).encode(x=x, detail="f:N")
        layers: list[Any] = [
            bands.mark_area(opacity=0.16 + 0.14 * level, color=_colour(chapter, arm)).encode(
                y=alt.Y(f"q{level}:Q", title=None), y2=f"q{max(1, len(found.quantiles)) - 1 - level}:Q"
            )
            for level in range(middle)
        ]
        layers.append(
            _line(fan.truth, found, TRUE_KEY).mark_line(strokeWidth=1.8).encode(x=x, y=_values(), color=colour)
        )
        point = bands.mark_line(strokeWidth=2.2).encode(y=_values(f"q{middle}"), color=colour)
        about = fig.tooltip(language, *_when(found), (f"q{middle}:Q", MEDIAN, ",.5~g"), *_ends(found))
        dots = bands.mark_point(size=60, filled=True, opacity=0.01, color=_colour(chapter, arm))
        return alt.layer(*layers, point, dots.encode(y=_values(f"q{middle}"), tooltip=about))

    return fig.figure(f"fan-{number}", title, same(""), draw, arms=False, height=FAN_HEIGHT)


def _ends(found: Forecasted) -> list[tuple[str, Both, str]]:
    return [
        (f"q{number}:Q", both("{level} % quantile", level=f"{100 * level:g}"), ",.5~g")
        for number, level in enumerate(found.quantiles)
        if level != 0.5
    ]


def _line(line: Line, found: Forecasted, key: str) -> alt.Chart:
    rows: list[Row] = [
        {"t": _drawn_at(found, at), "v": fig.short(value), "k": key}
        for at, value in zip(line.at, line.values, strict=True)
    ]
    return alt.Chart(fig.data(rows))


def _values(field: str = "v") -> alt.Y:
    return alt.Y(f"{field}:Q", title=None, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5))


def _drawn_at(found: Forecasted, at: int) -> int:
    """Vega counts milliseconds."""
    return at if found.spacing is None else 1000 * at


def _time_axis(found: Forecasted, at: Sequence[int], language: Language) -> alt.X:
    if found.spacing is None:
        axis = alt.Axis(grid=False, tickMinStep=1, format=",d")
        return alt.X("t:Q", title=TIME[language], scale=alt.Scale(nice=False, zero=False), axis=axis)
    axis = alt.Axis(grid=False, format=_date_format(found, at), tickCount=7, labelOverlap=True)
    return alt.X("t:T", title=None, scale=alt.Scale(type="utc", nice=False), axis=axis)


def _date_format(found: Forecasted, at: Sequence[int]) -> str:
    """As short as tells the ticks apart, and the same in every language."""
    assert found.spacing is not None
    if found.spacing.months:
        return "%Y-%m"
    if found.spacing.seconds % DAY and at[-1] - at[0] < 8 * DAY:
        return "%m-%d %H:%M"
    return "%Y-%m-%d"


def _when(found: Forecasted) -> list[tuple[str, Both] | tuple[str, Both, str]]:
    if found.spacing is None:
        return [("t:Q", TIME, ",d")]
    if found.spacing.months:
        return [("t:T", WHEN, "%Y-%m")]
    return [("t:T", WHEN, "%Y-%m-%d %H:%M" if found.spacing.seconds % DAY else "%Y-%m-%d")]


def _colour(chapter: Chapter, arm: str) -> str:
    """Its own; a baseline, which is grey elsewhere, has one that no arm has."""
    every = fig.colours(chapter)
    own = every.get(arm, BASELINE)
    return own if own != BASELINE else next((one for one in PALETTE if one not in every.values()), PALETTE[-1])


def _two_colours(chapter: Chapter, arms: Sequence[str], language: Language) -> alt.Color:
    """What came is grey."""
    domain = [TRUE_KEY, *arms]
    shades = [BASELINE, *(_colour(chapter, arm) for arm in arms)]
    named = f"datum.label == '{TRUE_KEY}' ? {fig.quoted(TRUTH[language])} : datum.label"
    key = alt.Legend(title=None, orient="top", labelExpr=named, labelLimit=fig.LABEL_LIMIT, **fig.STROKES)
    return alt.Color("k:N", scale=alt.Scale(domain=domain, range=shades), legend=key)


# --- windows that two arms forecast differently -----------------------------------------------------------------------


def window_figures(chapter: Chapter) -> list[Figure]:
    found = chapter.differences.forecasted
    if found is None or found.ours is None or found.theirs is None:
        return []
    arms = found.ours, found.theirs
    return [_window_figure(chapter, found, arms, one, number) for number, one in enumerate(found.differing)]


def _window_figure(
    chapter: Chapter, found: Forecasted, arms: tuple[str, str], one: DifferingWindow, number: int
) -> Figure:
    name = ", ".join(part for part in (one.series, one.channel) if part)
    gaps = {"ours": f"{one.ours_mase:.2f}", "theirs": f"{one.theirs_mase:.2f}"}
    title = (WINDOW if name else WINDOW_UNNAMED).format(name=name, when=_told(found, one.ours.at[0]), **gaps)

    def draw(language: Language, for_page: bool) -> AnyChart:
        x, colour = _time_axis(found, one.truth.at, language), _two_colours(chapter, arms, language)
        layers = [
            _line(line, found, key).mark_line(strokeWidth=width).encode(x=x, y=_values(), color=colour)
            for line, key, width in ((one.truth, TRUE_KEY, 1.8), (one.theirs, arms[1], 2), (one.ours, arms[0], 2.2))
        ]
        return alt.layer(*layers)

    return fig.figure(f"window-{number}", title, same(""), draw, arms=False, height=WINDOW_HEIGHT)


def _told(found: Forecasted, at: int) -> Both:
    if found.spacing is None:
        return STEP_NUMBER.format(number=f"{at:,}")
    text = str(np.array(at, "datetime64[s]"))
    if found.spacing.months:
        return same(text[:7])
    return same(text[:16].replace("T", " ") if found.spacing.seconds % DAY else text[:10])


# --- what is left in the errors ---------------------------------------------------------------------------------------


def residuals_figure(chapter: Chapter) -> Figure | None:
    found = chapter.differences.forecasted
    if found is None or found.residuals is None or found.ours is None:
        return None
    left = found.residuals
    return fig.figure(
        "residuals",
        RESIDUALS.format(arm=found.ours),
        RESIDUALS_CAPTION.format(steps=f"{left.steps:,}"),
        lambda language, _: _bars(chapter, found, left, language),
        arms=False,
        height=FAN_HEIGHT,
    )


def _bars(chapter: Chapter, found: Forecasted, left: Residuals, language: Language) -> AnyChart:
    rows = [{"x": lag, "y": fig.short(one)} for lag, one in enumerate(left.correlations, 1)]
    lags = len(rows)
    limit = max(0.2, 1.1 * max(abs(one) for one in left.correlations), 1.3 * left.band)
    x = alt.X(
        "x:Q",
        title=fig.with_time(LAG, found.spacing, min(left.season, lags) if left.season > 1 else lags)[language],
        scale=alt.Scale(domain=[0, lags + 1], nice=False),
        axis=alt.Axis(tickMinStep=1, grid=False),
    )
    y = alt.Y("y:Q", title=CORRELATION[language], scale=alt.Scale(domain=[-limit, limit], nice=False))
    about = fig.tooltip(language, ("x:Q", LAG, "d"), ("y:Q", CORRELATION, ".3f"))
    width = max(1.5, min(9.0, 420 / lags))
    bars = alt.Chart(fig.data(rows)).mark_bar(color=_colour(chapter, found.ours or ""), width=width)
    ends = alt.Chart(fig.data([{"y": fig.short(left.band)}, {"y": fig.short(-left.band)}]))
    seasons = [{"x": at} for at in range(left.season, lags + 1, left.season)] if left.season > 1 else []
    layers: list[Any] = [ends.mark_rule(strokeDash=[5, 4]).encode(y=y), bars.encode(x=x, y=y, tooltip=about)]
    if seasons:
        layers.insert(0, alt.Chart(fig.data(seasons)).mark_rule(strokeDash=[2, 3], opacity=0.8).encode(x=x))
    return alt.layer(*layers)
