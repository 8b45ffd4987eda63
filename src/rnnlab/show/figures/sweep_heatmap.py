"""A heatmap over two axes of a sweep: a colour and a number a cell, and words for what has no number."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from rich.cells import cell_len

from rnnlab.comparing.studies import Repeat, Study
from rnnlab.core.terms import status_text
from rnnlab.core.words import COMMAS, STOPS, Language, both
from rnnlab.show.figures.chart_text import AnyChart, description, log_ticks, title
from rnnlab.show.figures.palette import luminance, rgb
from rnnlab.show.sweep_summary import find_axis, median_text, repeats_at, summarise, value_labels
from rnnlab.show.sweep_texts import aim_text, quantity_name, score_text

VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
DIVERGED, UNSCORED, CROSSED_OUT = "#c8332b", "#d0d0d0", "#9aa0a6"
CELL_HEIGHT, NARROWEST, WIDEST = 42, 54, 120


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


def heatmap(study: Study, across: str, down: str, language: Language = "en") -> AnyChart:
    """Darker is faster, or better. Cells pool the runs of the other axes."""
    columns, lines = find_axis(study, across), find_axis(study, down)
    x_labels, y_labels = value_labels(columns), value_labels(lines)
    cells = {
        (x, y): cell(study, repeats_at(study, {across: column, down: line}), language)
        for x, column in zip(x_labels, columns.values, strict=True)
        for y, line in zip(y_labels, lines.values, strict=True)
    }
    scale = Scale.of([one.value for one in cells.values()], study)
    cell_width = _cell_width(cells.values())
    width, height = cell_width * len(x_labels), CELL_HEIGHT * len(y_labels)
    what = (
        both("first update at the target")[language]
        if study.target
        else quantity_name(f"valid_{study.metric}")[language]
    )
    legend = alt.Legend(
        title=[what, (both("darker = faster") if study.target else both("darker = better"))[language]],
        gradientLength=max(80, min(height, 240)),
        format="%" if scale.percent else (",.0f" if study.target else ".3g"),
        values=scale.ticks(),
        titleLimit=200,
        titlePadding=8,
    )
    named = {"x": across, "y": down, "shown": what, "runs": both("runs")[language]}
    layers = _layers(
        place={
            "x": _axis("x:N", across, x_labels, slanted=7 * max(map(cell_len, x_labels)) > cell_width),
            "y": _axis("y:N", down, y_labels),
        },
        colour=alt.Color("value:Q", scale=scale.altair(), legend=legend),
        tooltip=[alt.Tooltip(f"{field}:N", title=name) for field, name in named.items()],
        corner=(cell_width / 2 - 7, 7 - CELL_HEIGHT / 2),
    )
    runs = max(one.runs for one in cells.values())
    said = _said(study, (across, down), list(cells.values()), runs, language)
    if study.target:
        said.insert(0, aim_text(study)[language])
    named_chart = both("{what}: {across} × {down}", what=what, across=across, down=down)[language]
    head = title(f"{study.name} · {named_chart}", STOPS[language].join(said), max(width, 300) + 260)
    return alt.layer(
        *layers,
        data=alt.Data(values=[_row(x, y, one, scale) for (x, y), one in cells.items()]),
        width=width,
        height=height,
        title=head,
        description=description(head),
    )


def _axis(field: str, name: str, labels: list[str], slanted: bool = False) -> Any:
    """The values in their given order."""
    axis = alt.Axis(labelLimit=240, labelOverlap=False, ticks=False, domain=False, labelAngle=-40 if slanted else 0)
    channel = alt.X if field.startswith("x") else alt.Y
    return channel(field, title=name, sort=labels, scale=alt.Scale(domain=labels), axis=axis)


def _layers(place: dict[str, Any], colour: alt.Color, tooltip: list[alt.Tooltip], corner: tuple[float, float]) -> list:
    """The cells by state, a mark in the corner where some runs diverged, and the texts."""
    base = alt.Chart().encode(**place)
    edge: dict[str, Any] = {"stroke": "white", "strokeWidth": 1}
    empty = base.transform_filter("datum.state == 'empty'")
    ink = alt.condition("datum.ink == 'white'", alt.value("white"), alt.value("black"))
    number, small = base.encode(text="main:N", color=ink), base.encode(text="small:N", color=ink)
    return [
        base.transform_filter("datum.state == 'value'").mark_rect(**edge).encode(color=colour, tooltip=tooltip),
        base.transform_filter("datum.state == 'diverged'").mark_rect(fill=DIVERGED, **edge).encode(tooltip=tooltip),
        base.transform_filter("datum.state == 'unscored'").mark_rect(fill=UNSCORED, **edge).encode(tooltip=tooltip),
        empty.mark_rule(stroke=CROSSED_OUT).encode(
            x=place["x"].copy().bandPosition(0.0),
            x2=alt.X2("x", bandPosition=1.0),
            y=place["y"].copy().bandPosition(1.0),
            y2=alt.Y2("y", bandPosition=0.0),
        ),
        base.transform_filter("datum.some_diverged").mark_square(
            fill=DIVERGED, stroke="white", size=70, opacity=1, xOffset=corner[0], yOffset=corner[1]
        ),
        number.transform_filter("datum.small == ''").mark_text(fontSize=14),
        number.transform_filter("datum.small != ''").mark_text(fontSize=14, dy=-7),
        small.transform_filter("datum.small != ''").mark_text(fontSize=10, dy=9),
    ]


def _said(study: Study, pair: tuple[str, str], cells: Sequence[Cell], runs: int, language: Language) -> list[str]:
    """What one must know to read the picture, and no more."""
    if runs > 1:
        said = [
            (
                both("Median of {runs} runs; darker is faster", runs=runs)
                if study.target
                else both("Mean of {runs} runs; darker is better", runs=runs)
            )[language]
        ]
    else:
        said = [
            (
                both("One run per cell; darker is faster")
                if study.target
                else both("One run per cell; darker is better")
            )[language]
        ]
    pooled = [axis.name for axis in study.axes if axis.name not in pair and len(axis.values) > 1]
    if pooled:
        said.append(both("Pooled over {axes}", axes=COMMAS[language].join(pooled))[language])
    marks = []
    if study.target and any(one.main.endswith("+") for one in cells):
        marks.append(both("+ is at least: half of the runs or more never arrived")[language])
    if any(one.diverged for one in cells):
        marks.append(both("red: runs diverged")[language])
    if any(one.state == "empty" for one in cells):
        marks.append(both("struck through: no run")[language])
    return said + ([COMMAS[language].join(marks)] if marks else [])


@dataclass(frozen=True)
class Scale:
    """From values to colours. Steps by their ratios, since twice as fast is the same difference everywhere."""

    low: float
    high: float
    logarithmic: bool
    darkest_high: bool
    percent: bool

    @classmethod
    def of(cls, values: Sequence[float | None], study: Study) -> "Scale":
        known = [value for value in values if value is not None] or [1.0, 2.0]
        low, high = min(known), max(known)
        if low == high:  # one colour: that of the middle
            low, high = (low / 2, high * 2) if study.target else (low - 0.5, high + 0.5)
        logarithmic = study.target is not None and low > 0
        higher_is_better = study.target is None and not study.lower_is_better
        return cls(
            low, high, logarithmic, higher_is_better, study.target is None and "%" in score_text(study.metric, 1)
        )

    def place(self, value: float) -> float:
        """0 is the darkest, 1 the lightest."""
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.darkest_high else share

    def altair(self) -> alt.Scale:
        stops = [number / (len(VIRIDIS) - 1) for number in range(len(VIRIDIS))]
        if self.logarithmic:
            domain = [self.low * (self.high / self.low) ** stop for stop in stops]
        else:
            domain = [self.low + (self.high - self.low) * stop for stop in stops]
        colours = list(reversed(VIRIDIS)) if self.darkest_high else list(VIRIDIS)
        return alt.Scale(type="log" if self.logarithmic else "linear", domain=domain, range=colours, interpolate="rgb")

    def ticks(self) -> list[float]:
        if self.logarithmic:
            return log_ticks(self.low, self.high)
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 2))
        step *= 2 if (self.high - self.low) / step > 6 else 1
        numbers = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return [round(number * step, 10) for number in numbers]

    def colour(self, value: float) -> tuple[float, float, float]:
        """As Vega draws it: red, green and blue from 0 to 1."""
        position = min(1.0, max(0.0, self.place(value))) * (len(VIRIDIS) - 1)
        number = min(int(position), len(VIRIDIS) - 2)
        before, after = rgb(VIRIDIS[number]), rgb(VIRIDIS[number + 1])
        red, green, blue = (b + (a - b) * (position - number) for b, a in zip(before, after, strict=True))
        return red, green, blue


def _row(x: str, y: str, shown: Cell, scale: Scale) -> dict[str, Any]:
    bright = {"diverged": luminance(rgb(DIVERGED)), "unscored": luminance(rgb(UNSCORED))}.get(shown.state, 1.0)
    if shown.value is not None:
        bright = luminance(scale.colour(shown.value))
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
        "ink": "white" if bright < 0.179 else "black",
    }


def _cell_width(cells: Iterable[Cell]) -> int:
    longest = max(max(9 * cell_len(one.main), 6 * cell_len(one.small)) for one in cells)
    return min(WIDEST, max(NARROWEST, longest + 10))
