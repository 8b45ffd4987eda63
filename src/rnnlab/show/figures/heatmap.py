"""Tables as pictures: a colour and a number a cell, both readable on any page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.labels import GLYPH, text_width
from rnnlab.show.figures.palette import luminance
from rnnlab.show.figures.pieces import LABEL_LIMIT, SHOWN, WIDTH, Row, data, short
from rnnlab.show.figures.sweep_heatmap import Scale

CELL_HEIGHT = 30
NARROWEST = 32  # pixels of a cell with a number in it
EDGE: Row = {"stroke": "white", "strokeWidth": 1, "strokeOpacity": 0.5}


@dataclass(frozen=True)
class Column:
    part: str
    label: str  # as it stands at the axis


@dataclass(frozen=True)
class Grid:
    chart: AnyChart
    size: dict[str, Any]


def shades(values: Sequence[float]) -> Scale:
    """The highest is the darkest. A narrow range isn't stretched over all colours: a point more or less looks small."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = max(0.0, min(low, high - 0.1))
    return Scale(low, max(high, low + 0.1), logarithmic=False, darkest_high=True, percent=True)


def ink(scale: Scale, value: float) -> int:
    """1 where white is readable on the cell, 0 where black is."""
    return int(luminance(scale.colour(value)) < 0.179)


def grid(
    rows: Sequence[Row], columns: Sequence[Column], tooltip: list[alt.Tooltip], legend: str, for_page: bool
) -> Grid:
    """Rows {arm, o: place, x: column, v: share, b: a baseline?, …}, a line an arm; those that are switched off leave no
    gap. Colours go as far as arms do: a baseline that is far worse would take most of them."""
    scale = shades([row["v"] for row in rows if not row.get("b")] or [row["v"] for row in rows])
    inked = [row | {"c": max(row["v"], short(scale.low)), "i": ink(scale, row["v"])} for row in rows]
    labels = [column.label for column in columns]
    base = alt.Chart()
    if for_page:
        base = base.transform_filter(SHOWN)
    y = alt.Y("arm:N", sort=alt.EncodingSortField("o", op="min"), title=None, axis=_names())
    base = base.encode(x=alt.X("x:N", scale=alt.Scale(domain=labels), title=None, axis=slanted(labels)), y=y)
    layers = [
        base.mark_rect(**EDGE).encode(
            color=alt.Color("c:Q", scale=scale.altair(), legend=_key(scale, legend, for_page)), tooltip=tooltip
        ),
        *numbers(base, len(labels)),
    ]
    return Grid(
        alt.layer(*layers, data=data(inked)), {"height": alt.Step(CELL_HEIGHT), "width": max(WIDTH, 48 * len(labels))}
    )


def _key(scale: Scale, name: str, for_page: bool) -> alt.Legend | None:
    """The numbers stand in the cells, so a page needs none."""
    if for_page:
        return None
    return alt.Legend(title=name, format="%", values=scale.ticks(), gradientLength=110, titleLimit=120)


def numbers(base: alt.Chart, columns: int) -> list[alt.Chart]:
    """In white or black, whichever can be read; left out where cells are too narrow for them."""
    text = base.transform_calculate(shown=f"width / {columns} < {NARROWEST} ? '' : format(datum.v, '.1%')")
    return [
        text.transform_filter(f"datum.i == {which}").mark_text(fontSize=11, color=colour).encode(text="shown:N")
        for which, colour in ((1, "white"), (0, "black"))
    ]


def slanted(labels: Sequence[str], limit: int = LABEL_LIMIT, room: str = "width") -> alt.Axis:
    """Level where there is room for all, else rising to the right. ``room`` is the width of the plot, an expression."""
    needed = len(labels) * (max((text_width(label, limit) for label in labels), default=0.0) + GLYPH)
    narrow = f"{room} < {needed:.0f}"
    return alt.Axis(
        labelAngle=alt.ExprRef(f"{narrow} ? -38 : 0"),
        labelAlign=alt.ExprRef(f"{narrow} ? 'right' : 'center'"),
        labelBaseline=alt.ExprRef(f"{narrow} ? 'middle' : 'top'"),
        labelLimit=limit,
        labelOverlap=False,
        ticks=False,
        domain=False,
        labelPadding=6,
    )


def _names() -> alt.Axis:
    return alt.Axis(labelLimit=LABEL_LIMIT, labelOverlap=False, ticks=False, domain=False)
