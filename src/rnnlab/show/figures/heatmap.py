"""Tables as pictures: a colour and a number per cell, both readable on any page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Row
from rnnlab.show.figures.labels import GLYPH, text_width
from rnnlab.show.figures.palette import luminance, rgb

VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
CELL_HEIGHT = 30
NARROWEST, WIDE_ENOUGH = 32, 44  # pixels of a cell with a number in it, and with one that has a decimal
NARROW = 0.1  # a range of shares
EDGE: Row = {"stroke": "white", "strokeWidth": 1, "strokeOpacity": 0.5}


@dataclass(frozen=True)
class Scale:
    """From values to colours. Steps by their ratios, since twice as fast is the same difference everywhere."""

    low: float
    high: float
    logarithmic: bool
    darkest_high: bool
    percent: bool
    stops: tuple[float, ...] = ()  # the values that get the colours of `VIRIDIS`; without any, evenly spaced ones

    def place(self, value: float) -> float:
        """0 is the darkest, 1 the lightest."""
        if self.stops:
            share = float(np.interp(value, self.stops, np.linspace(0, 1, len(self.stops))))
        elif self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.darkest_high else share

    def altair(self) -> alt.Scale:
        even = [number / (len(VIRIDIS) - 1) for number in range(len(VIRIDIS))]
        if self.stops:
            domain = [fig.short(stop) for stop in self.stops]
        elif self.logarithmic:
            domain = [self.low * (self.high / self.low) ** stop for stop in even]
        else:
            domain = [self.low + (self.high - self.low) * stop for stop in even]
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


@dataclass(frozen=True)
class Look:
    """What the numbers of a table are."""

    percent: bool = True
    lower_is_better: bool = False

    @property
    def exact(self) -> str:
        """The format of a number."""
        return ".1%" if self.percent else ".3f"

    @property
    def short(self) -> str:
        return ".0%" if self.percent else ".1f"


def shades(values: Sequence[float], look: Look = Look()) -> Scale:
    """The best is the darkest. Half of the way the colours follow the values, half of it their ranks: a single low
    value doesn't leave one colour to all others. A narrow range isn't stretched over all colours: a point more or less
    looks small."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low < NARROW:
        low = max(0.0, high - NARROW)
        return Scale(low, low + NARROW, False, not look.lower_is_better, look.percent)
    even, ranked = np.linspace(low, high, len(VIRIDIS)), np.quantile(values, np.linspace(0, 1, len(VIRIDIS)))
    stops = tuple(((even + ranked) / 2).tolist())
    return Scale(low, high, False, not look.lower_is_better, look.percent, stops)


def white_is_read(colour: tuple[float, float, float]) -> bool:
    """On a cell of this colour; black otherwise."""
    return luminance(colour) < 0.179


def grid(
    rows: Sequence[Row], labels: Sequence[str], tooltip: list[alt.Tooltip], legend: str, for_page: bool, look: Look
) -> AnyChart:
    """Rows {arm, o: place, x: label of its column, v: share, b: a baseline?, …}, a line per arm. Colours go down as far
    as arms do: a baseline that is far worse would take most of them."""
    sign = -1 if look.lower_is_better else 1
    worst = min((sign * row["v"] for row in rows if not row.get("b")), default=-math.inf)
    scale = shades([row["v"] for row in rows if sign * row["v"] >= worst], look)
    low, high = fig.short(scale.low), fig.short(scale.high)
    inked = [
        row | {"c": min(max(row["v"], low), high), "i": int(white_is_read(scale.colour(row["v"])))} for row in rows
    ]
    key = None  # the numbers stand in the cells, so a page needs none
    if not for_page:
        key = alt.Legend(
            title=legend, format="%" if look.percent else "~g", values=scale.ticks(), gradientLength=110, titleLimit=120
        )
    base = alt.Chart().transform_filter(fig.SHOWN) if for_page else alt.Chart()
    x = alt.X("x:N", scale=alt.Scale(domain=labels), title=None, axis=slanted(labels))
    base = base.encode(x=x, y=fig.arms_down())
    cells = base.mark_rect(**EDGE).encode(color=alt.Color("c:Q", scale=scale.altair(), legend=key), tooltip=tooltip)
    return fig.layered([cells, *_numbers(base, len(labels), look)], inked)


def _numbers(base: alt.Chart, columns: int, look: Look) -> list[alt.Chart]:
    """In white or black, whichever can be read; with fewer digits, or left out, where cells are too narrow."""
    cell = f"width / {columns}"
    short = f"{cell} < {NARROWEST} ? '' : format(datum.v, '{look.short}')"
    text = base.transform_calculate(shown=f"{cell} < {WIDE_ENOUGH} ? ({short}) : format(datum.v, '{look.exact}')")
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
