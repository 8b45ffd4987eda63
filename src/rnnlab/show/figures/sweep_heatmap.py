"""A heatmap over two axes of a sweep: a colour and a number per cell, and words for what has no number."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from rich.cells import cell_len

from rnnlab.comparing.studies import Repeat, Study
from rnnlab.core.terms import setting_name, status_text
from rnnlab.core.words import COMMAS, Both, Language, both, capitalised, joined
from rnnlab.show.figures.figure import (
    AnyChart,
    Figure,
    Row,
    as_wide_as_the_page,
    data,
    headed,
    names,
    sentences,
    tooltip,
)
from rnnlab.show.figures.heatmap import Scale, slanted, white_is_read
from rnnlab.show.figures.palette import rgb
from rnnlab.show.sweep_summary import find_axis, median_text, repeats_at, summarise, value_labels
from rnnlab.show.sweep_texts import aim_text, compared_text, is_share, pooled_text, score_text

DIVERGED, CROSSED_OUT = "#c8332b", "#9aa0a6"
FILLS = {"diverged": DIVERGED, "unscored": "#d0d0d0"}
CELL_HEIGHT, NARROWEST, WIDEST = 42, 54, 120
AXIS_WIDTH = 90  # beside the cells


@dataclass(frozen=True)
class Cell:
    """What one cell shows."""

    state: str  # value, diverged (all its runs), unscored (all failed or were given up) or empty
    runs: int = 0
    value: float | None = None  # gives the colour
    main: str = ""
    small: str = ""
    arrived: str = ""  # "4/5", when some didn't
    diverged: str = ""  # "1/5", when some did


def cell(study: Study, repeats: Sequence[Repeat], language: Language = "en") -> Cell:
    """The median first step at the target, or without one the mean score, of these runs."""
    found = summarise(study, repeats)
    if not repeats:
        return Cell("empty")
    if not found.counted:
        status = "failed" if found.failed else "pruned"
        return Cell(
            "unscored", found.runs, None, status_text(status)[language], f"{found.failed or found.pruned}/{found.runs}"
        )
    diverged = f"{found.diverged}/{found.counted}" if found.diverged else ""
    if found.diverged == found.counted:
        return Cell("diverged", found.runs, None, both("diverged")[language], diverged, diverged=diverged)
    small = f"{both('diverged')[language]} {diverged}" if diverged else ""
    if study.target is None:
        if found.valid is None:
            return Cell("unscored", found.runs, None, "?", small, diverged=diverged)
        mean = found.valid.mean
        return Cell("value", found.runs, mean, score_text(study.metric, mean), small, diverged=diverged)
    assert found.arrival is not None
    arrived = f"{found.arrival.arrived}/{found.counted}" if found.arrival.arrived < found.counted else ""
    if arrived and not small:
        small = f"{arrived} {both('arrived')[language]}"
    return Cell("value", found.runs, found.arrival.median, median_text(found), small, arrived, diverged)


def heatmap_figure(study: Study, across: str, down: str) -> Figure:
    cells = _cells(study, across, down, "en").values()
    return Figure(
        f"heatmap-{across}-{down}",
        _title(study, across, down),
        sentences(_said(study, (across, down), cells)),
        lambda language, page: heatmap(study, across, down, language, page),
    )


def heatmap(study: Study, across: str, down: str, language: Language = "en", for_page: bool = False) -> AnyChart:
    """Darker is faster, or better. Cells pool the runs of the other axes. A page says the words beside it, and has as
    wide cells as there is room for."""
    x_labels, y_labels = value_labels(find_axis(study, across)), value_labels(find_axis(study, down))
    cells = _cells(study, across, down, language)
    scale = scale_of(study, [one.value for one in cells.values() if one.value is not None])
    cell_width = _cell_width(cells.values())
    width, height = cell_width * len(x_labels), CELL_HEIGHT * len(y_labels)
    what = compared_text(study)
    legend = alt.Legend(
        title=[what[language], (both("darker = faster") if study.target else both("darker = better"))[language]],
        gradientLength=max(80, min(height, 240)),
        format="%" if scale.percent else (",.0f" if study.target else ".3g"),
        values=scale.ticks(),
        titleLimit=200,
        titlePadding=8,
    )
    slanting = slanted(x_labels) if for_page else names(240, labelAngle=-40 if _wide(x_labels, cell_width) else 0)
    layers = _layers(
        place={
            "x": _axis(alt.X, "x:N", across, x_labels, slanting, language),
            "y": _axis(alt.Y, "y:N", down, y_labels, names(240), language),
        },
        colour=alt.Color("value:Q", scale=scale.altair(), legend=None if for_page else legend),
        tooltip=tooltip(
            language,
            ("x:N", setting_name(across)),
            ("y:N", setting_name(down)),
            ("shown:N", what),
            ("runs:N", both("runs")),
        ),
    )
    rows = [_row(x, y, one, scale) for (x, y), one in cells.items()]
    if for_page:
        size = as_wide_as_the_page(width + AXIS_WIDTH)
        return alt.layer(*layers, data=data(rows), height=height, **size)
    said = [*([aim_text(study)] if study.target else []), *_said(study, (across, down), cells.values())]
    named = f"{study.name} · {_title(study, across, down)[language]}"
    about = headed(named, said, max(width, 300) + 260, language)
    return alt.layer(*layers, data=data(rows), width=width, height=height, **about)


def _cells(study: Study, across: str, down: str, language: Language) -> dict[tuple[str, str], Cell]:
    columns, lines = find_axis(study, across), find_axis(study, down)
    return {
        (x, y): cell(study, repeats_at(study, {across: column, down: line}), language)
        for x, column in zip(value_labels(columns), columns.values, strict=True)
        for y, line in zip(value_labels(lines), lines.values, strict=True)
    }


def _title(study: Study, across: str, down: str) -> Both:
    pair = {"across": setting_name(across), "down": setting_name(down)}
    return capitalised(both("{what}: {across} × {down}", what=compared_text(study), **pair))


def _wide(labels: Sequence[str], cell_width: int) -> bool:
    return 7 * max(map(cell_len, labels)) > cell_width


def _axis(channel: Any, field: str, name: str, labels: list[str], axis: alt.Axis, language: Language) -> Any:
    """The values in their given order."""
    title = setting_name(name)[language]
    return channel(field, title=title, sort=labels, scale=alt.Scale(domain=labels), axis=axis)


def _layers(place: Row, colour: alt.Color, tooltip: list[alt.Tooltip]) -> list:
    """The cells by state, a mark in the corner where some runs diverged, and the texts."""
    base = alt.Chart().encode(**place)
    edge: Row = {"stroke": "white", "strokeWidth": 1}
    empty = base.transform_filter("datum.state == 'empty'")
    ink = alt.condition("datum.ink == 'white'", alt.value("white"), alt.value("black"))
    number, small = base.encode(text="main:N", color=ink), base.encode(text="small:N", color=ink)
    return [
        base.transform_filter("datum.state == 'value'").mark_rect(**edge).encode(color=colour, tooltip=tooltip),
        *(
            base.transform_filter(f"datum.state == '{state}'").mark_rect(fill=fill, **edge).encode(tooltip=tooltip)
            for state, fill in FILLS.items()
        ),
        empty.mark_rule(stroke=CROSSED_OUT).encode(
            x=place["x"].copy().bandPosition(0.0),
            x2=alt.X2("x", bandPosition=1.0),
            y=place["y"].copy().bandPosition(1.0),
            y2=alt.Y2("y", bandPosition=0.0),
        ),
        base.transform_filter("datum.some_diverged")
        .mark_square(fill=FILLS["diverged"], stroke="white", size=70, opacity=1, xOffset=-7, yOffset=7)
        .encode(x=place["x"].copy().bandPosition(1.0), y=place["y"].copy().bandPosition(0.0)),
        number.transform_filter("datum.small == ''").mark_text(fontSize=14),
        number.transform_filter("datum.small != ''").mark_text(fontSize=14, dy=-7),
        small.transform_filter("datum.small != ''").mark_text(fontSize=10, dy=9),
    ]


def _said(study: Study, pair: tuple[str, str], cells: Collection[Cell]) -> list[Both]:
    """What one must know to read the picture, and no more."""
    runs = max(one.runs for one in cells)
    if study.target:
        many = both("Median of {runs} runs; darker is faster", runs=runs)
        said = [many if runs > 1 else both("One run per cell; darker is faster")]
    else:
        many = both("Mean of {runs} runs; darker is better", runs=runs)
        said = [many if runs > 1 else both("One run per cell; darker is better")]
    said += pooled_text([axis for axis in study.axes if axis.name not in pair])
    marks = []
    if study.target and any(one.main.endswith("+") for one in cells):
        marks.append(both("+ is at least: half of the runs or more never arrived"))
    if any(one.diverged for one in cells):
        marks.append(both("red: runs diverged"))
    if any(one.state == "empty" for one in cells):
        marks.append(both("struck through: no run"))
    return [*said, joined(marks, COMMAS)] if marks else said


def scale_of(study: Study, values: Sequence[float]) -> Scale:
    """The darkest is the soonest, or the best."""
    known = values or [1.0, 2.0]
    low, high = min(known), max(known)
    if low == high:  # one colour: that of the middle
        low, high = (low / 2, high * 2) if study.target else (low - 0.5, high + 0.5)
    scored = study.target is None
    return Scale(
        low,
        high,
        logarithmic=not scored and low > 0,
        darkest_high=scored and not study.lower_is_better,
        percent=scored and is_share(study.metric),
    )


def _row(x: str, y: str, shown: Cell, scale: Scale) -> Row:
    fill = rgb(FILLS.get(shown.state, "#ffffff")) if shown.value is None else scale.colour(shown.value)
    return {
        "x": x,
        "y": y,
        "runs": shown.runs,
        "state": shown.state,
        "value": shown.value,
        "main": shown.main,
        "small": shown.small,
        "shown": f"{shown.main} ({shown.small})" if shown.small else shown.main,
        "some_diverged": shown.state == "value" and shown.diverged != "",
        "ink": "white" if white_is_read(fill) else "black",
    }


def _cell_width(cells: Iterable[Cell]) -> int:
    longest = max(max(9 * cell_len(one.main), 6 * cell_len(one.small)) for one in cells)
    return min(WIDEST, max(NARROWEST, longest + 10))
