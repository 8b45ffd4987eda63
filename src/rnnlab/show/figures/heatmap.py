"""Tables as pictures: a colour and a number per cell, both readable on any page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Row
from rnnlab.show.figures.labels import GLYPH, text_width
from rnnlab.show.figures.palette import luminance, rgb

VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
CELL_HEIGHT = 30
NARROWEST = 32  # pixels of a cell with a number in it
EDGE: Row = {"stroke": "white", "strokeWidth": 1, "strokeOpacity": 0.5}


@dataclass(frozen=True)
class Scale:
    """From values to colours. Steps by their ratios, since twice as fast is the same difference everywhere."""

    low: float
    high: float
    logarithmic: bool
    darkest_high: bool
    percent: bool

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
            return fig.log_ticks(self.low, self.high)
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


def shades(values: Sequence[float]) -> Scale:
    """The highest is the darkest. A narrow range isn't stretched over all colours: a point more or less looks small."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = max(0.0, min(low, high - 0.1))
    return Scale(low, max(high, low + 0.1), logarithmic=False, darkest_high=True, percent=True)


def white_is_read(colour: tuple[float, float, float]) -> bool:
    """On a cell of this colour; black otherwise."""
    return luminance(colour) < 0.179


def grid(
    rows: Sequence[Row], labels: Sequence[str], tooltip: list[alt.Tooltip], legend: str, for_page: bool
) -> AnyChart:
    """Rows {arm, o: place, x: label of its column, v: share, b: a baseline?, …}, a line per arm. Colours go as far as
    arms do: a baseline that is far worse would take most of them."""
    scale = shades([row["v"] for row in rows if not row.get("b")] or [row["v"] for row in rows])
    lowest = fig.short(scale.low)
    inked = [row | {"c": max(row["v"], lowest), "i": int(white_is_read(scale.colour(row["v"])))} for row in rows]
    key = None  # the numbers stand in the cells, so a page needs none
    if not for_page:
        key = alt.Legend(title=legend, format="%", values=scale.ticks(), gradientLength=110, titleLimit=120)
    base = alt.Chart().transform_filter(fig.SHOWN) if for_page else alt.Chart()
    x = alt.X("x:N", scale=alt.Scale(domain=labels), title=None, axis=slanted(labels))
    base = base.encode(x=x, y=fig.arms_down())
    cells = base.mark_rect(**EDGE).encode(color=alt.Color("c:Q", scale=scale.altair(), legend=key), tooltip=tooltip)
    return fig.layered([cells, *_numbers(base, len(labels))], inked)


def _numbers(base: alt.Chart, columns: int) -> list[alt.Chart]:
    """In white or black, whichever can be read; left out where cells are too narrow for them."""
    text = base.transform_calculate(shown=f"width / {columns} < {NARROWEST} ? '' : format(datum.v, '.1%')")
    return [
        text.transform_filter(f"datum.i == {which}").mark_text(fontSize=11, color=colour).encode(text="shown:N")
        for which, colour in ((1, "white"), (0, "black"))
    ]


def slanted(labels: Sequence[str], limit: int = fig.LABEL_LIMIT, room: str = "width") -> alt.Axis:
    """Level where there is room for all, else rising to the right. ``room`` is the width of the plot, an expression."""
    needed = len(labels) * (max((text_width(label, limit) for label in labels), default=0.0) + GLYPH)
    narrow = f"{room} < {needed:.0f}"
    return fig.names(
        limit,
        labelAngle=alt.ExprRef(f"{narrow} ? -38 : 0"),
        labelAlign=alt.ExprRef(f"{narrow} ? 'right' : 'center'"),
        labelBaseline=alt.ExprRef(f"{narrow} ? 'middle' : 'top'"),
        labelPadding=6,
    )
