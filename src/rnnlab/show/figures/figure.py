"""A figure is a chart with its words, drawn in either language, for a page or for a file; and what charts share.

A page sets the parameter ``hidden`` to the list of arms that are switched off, and one parameter for each `Control`.
Users' texts (labels of arms, tags, classes) stand in the data alone, never in an expression.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
from altair.utils.schemapi import debug_mode
from rich.cells import cell_len

from rnnlab.core.terms import metric_text
from rnnlab.core.words import STOPS, Both, Language, both, joined
from rnnlab.show.figures.palette import BASELINE, arm_colours

if TYPE_CHECKING:  # `rnnlab judge` need not wait for torch
    from rnnlab.comparing.chapters import Chapter
    from rnnlab.data.calendar import Spacing

Row = dict[str, Any]
AnyChart = alt.LayerChart | alt.FacetChart
Draw = Callable[[Language, bool], Any]  # (language, for a page?) → an Altair chart
WIDTH, HEIGHT = 640, 340
LABEL_LIMIT = 190  # pixels of a label
SHOWN = "indexof(hidden, datum.arm) < 0"
STROKES: Row = {"symbolType": "stroke", "symbolStrokeWidth": 3}  # in the legend of lines
ARM = both("model")
DESCRIBED = both("{name}. {caption}")
TITLE_SIZE, SUBTITLE_SIZE = 15, 12
GLYPH = 0.52  # the usual width of a Latin letter, as a share of the font size; a Chinese character counts twice


@dataclass(frozen=True)
class Control:
    """A choice beside a chart. It sets the chart's parameter ``param`` to the chosen value."""

    param: str
    name: Both
    choices: tuple[tuple[str, Both], ...]  # (value, what it is called), the first one chosen


@dataclass(frozen=True)
class Figure:
    """A chart with its words. Drawn for a page, it has no legend of arms and a parameter ``hidden`` instead, the list
    of arms that are switched off (``arms`` says so); drawn for a file, it stands by itself."""

    name: str  # its id on the page and its file's name
    title: Both  # empty where the section or the chart itself says it
    caption: Both  # how to read it
    draw: Draw
    controls: tuple[Control, ...] = ()
    arms: bool = False
    wide: bool = False  # among others: in a line of its own

    def __post_init__(self) -> None:
        """Altair would check every part of a chart against a schema: half of the time. The tests have it checked."""
        object.__setattr__(self, "draw", debug_mode(False)(self.draw))


def figure(
    name: str,
    title: Both,
    caption: Both,
    chart: Draw,
    controls: Sequence[Control] = (),
    params: Sequence[Any] = (),
    arms: bool = True,
    in_file: tuple[Both, Both] | None = None,  # another title and caption
    height: Any = HEIGHT,
    width: int = WIDTH,
) -> Figure:
    """``chart`` with its size, the parameters that a page sets (as they are before anybody chose), a description for
    those who don't see it, and, in a file, a title. A control without a choice isn't shown."""

    def draw(language: Language, for_page: bool) -> Any:
        named, explained = (title, caption) if for_page or in_file is None else in_file
        about = described(named, explained, language)
        if for_page:
            del about["title"]
            about |= as_wide_as_the_page()
        else:
            about["width"] = width
        switches = [alt.param(name="hidden", value=[])] if arms else []
        switches += [alt.param(name=control.param, value=control.choices[0][0]) for control in controls]
        return chart(language, for_page).properties(**about, height=height).add_params(*switches, *params)

    return Figure(name, title, caption, draw, tuple(one for one in controls if len(one.choices) > 1), arms)


def as_wide_as_the_page(least: int = 0) -> Row:
    """The size of a chart on a page. Where there are fewer pixels than ``least``, it is scrolled."""
    size: Row = {"width": "container", "autosize": alt.AutoSizeParams(type="fit-x", contains="padding")}
    return size | ({"usermeta": {"least": least}} if least else {})


# Words


def described(title: Both, caption: Both, language: Language) -> Row:
    """A title, and the same for those who don't see the chart."""
    said = DESCRIBED.format(name=title, caption=caption)[language]
    return {"description": said, "title": chart_title(title[language], caption[language], WIDTH)}


def chart_title(text: str, subtitle: str, width: float) -> alt.TitleParams:
    """A title above the whole chart; what is wider than ``width`` pixels goes on in another line."""
    return alt.TitleParams(
        text=lines(text, round(width / (GLYPH * TITLE_SIZE * 1.1))),
        subtitle=lines(subtitle, round(width / (GLYPH * SUBTITLE_SIZE))),
        anchor="start",
        frame="group",
        fontSize=TITLE_SIZE,
        subtitleFontSize=SUBTITLE_SIZE,
        offset=14,
    )


def sentences(said: Iterable[Both]) -> Both:
    """A caption, each of these with its full stop."""
    return both("{sentences}.", sentences=joined(list(said), STOPS))


def headed(text: str, said: Iterable[Both], width: float, language: Language) -> Row:
    """Title and description of a chart that brings its own words: its name, and what one must know to read it."""
    head = chart_title(text, STOPS[language].join(one[language] for one in said), width)
    return {"title": head, "description": " ".join(part for part in (*head.text, *head.subtitle) if part)}


def lines(text: str, columns: int) -> list[str]:
    """Broken at spaces, or after a Chinese character, which needs none."""
    found, line = [], ""
    for piece in _pieces(text):
        if line and cell_len((line + piece).rstrip()) > columns:
            found.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*found, line.rstrip()] if line.strip() or not found else found


def _pieces(text: str) -> list[str]:
    """Words with the space after them; Chinese characters one by one, each with the punctuation that follows it."""
    pieces: list[str] = []
    for character in text:
        wide, closing = cell_len(character) > 1, character in "，。；：！？、）》」”"
        if not pieces or (not closing and (wide or pieces[-1][-1].isspace() or cell_len(pieces[-1][-1]) > 1)):
            pieces.append(character)
        else:
            pieces[-1] += character
    return pieces


def metric_of(chapter: "Chapter") -> Both:
    """What the test accuracy is called."""
    return metric_text(chapter.comparison.verdict.metric)


def tooltip(language: Language, *fields: tuple[str, Both] | tuple[str, Both, str]) -> list[alt.Tooltip]:
    """Of (field, what it is called) or (field, what it is called, format of its numbers)."""
    return [
        alt.Tooltip(field, title=name[language], format=form[0] if form else alt.Undefined)
        for field, name, *form in fields
    ]


def with_time(title: Both, spacing: "Spacing | None", steps: int) -> Both:
    """The title of an axis of steps, with how long so many are, where there are dates."""
    if spacing is None or steps < 1:
        return title
    return both("{title} ({steps} are {time})", title=title, steps=steps, time=spacing.over(steps))


def chosen_title(text: str, x: Any = alt.ExprRef("width / 2"), y: Any = "height", **mark: Any) -> alt.Chart:
    """The title of an axis that follows a choice, as an expression: its own can't. By default it is below the plot."""
    look = {"style": "guide-title", "fontSize": 11, "fontWeight": "bold", "dy": 34, "baseline": "middle"} | mark
    base = alt.Chart(data([{}])).mark_text(text=alt.ExprRef(text), **look)
    return base.encode(x=alt.value(x), y=alt.value(y))


# Data, colours and axes


def short(value: float | None) -> float | int | None:
    """Five digits: more can't be seen, and a page holds thousands."""
    if value is None:
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def share(value: float | None) -> float | None:
    """A share that a chart says in percent exactly as the tables do. Of 66.25 % they make 66.2 %, as Python rounds, and
    a browser 66.3 %: such a one is moved by a hair."""
    if value is None:
        return None
    exact, said = float(f"{value:.7g}"), f"{100 * value:.1f}"
    moved = (exact, exact - 2e-7, exact + 2e-7)
    return next((one for one in moved if f"{math.floor(1000 * one + 0.5) / 10:.1f}" == said), exact)


def most(unit: str) -> float:
    """The highest score there can be, as charts draw it: those in points are a hundred times as large."""
    return {"percent": 1.0, "points": 100.0}.get(unit, math.inf)


def ticks(unit: str, narrow: bool = False) -> str:
    """The format of an axis of scores; of ``narrow`` ones, shares want a decimal."""
    if unit == "percent":
        return ".1%" if narrow else "%"
    return "f" if unit == "points" else "~g"


def exact(unit: str) -> str:
    """The format of a score."""
    return {"percent": ".1%", "points": ".1f"}.get(unit, ".4~g")


def layered(layers: Iterable[Any], rows: Sequence[Mapping[str, Any]]) -> AnyChart:
    """Layers that show the same rows."""
    return alt.layer(*layers, data=data(rows))


def data(rows: Sequence[Mapping[str, Any]]) -> alt.Data:
    with debug_mode(False):  # Altair would check each number by itself, which takes a second for some thousands
        return alt.Data(values=[dict(row) for row in rows])


def colours(chapter: "Chapter") -> dict[str, str]:
    """Of every arm; baselines are grey. The legend of a page shows these."""
    own = arm_colours([arm.label for arm in chapter.comparison.arms])
    return own | {arm.label: BASELINE for arm in chapter.comparison.baselines}


def colour(shades: Mapping[str, str], arms: Iterable[str], for_page: bool = True, **legend: Any) -> alt.Color:
    """By arm; the domain is fixed, so that an arm keeps its colour when others are switched off."""
    present = set(arms)
    shown = {label: shade for label, shade in shades.items() if label in present}
    key = None if for_page else alt.Legend(title=None, labelLimit=LABEL_LIMIT, symbolOpacity=1, **legend)
    return alt.Color("arm:N", scale=alt.Scale(domain=list(shown), range=list(shown.values())), legend=key)


def names(limit: Any = LABEL_LIMIT, **more: Any) -> alt.Axis:
    """An axis of labels alone."""
    return alt.Axis(labelLimit=limit, labelOverlap=False, ticks=False, domain=False, **more)


def arms_down(limit: Any = LABEL_LIMIT) -> alt.Y:
    """A line per arm, in the order of ``o``; those that are switched off leave no gap."""
    return alt.Y("arm:N", sort=alt.EncodingSortField("o", op="min"), title=None, axis=names(limit))


def log_ticks(low: float, high: float, fewest: int = 4) -> list[float]:
    """Round numbers for a logarithmic axis, at least so many where the space between allows."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [float(f"{factor}e{power}") for power in powers for factor in factors]
        found = [tick for tick in ticks if low <= tick <= high]
        if len(found) >= fewest:
            return found
    return found if len(found) > 1 else [low, high]


def powers_of_ten() -> str:
    """An expression for the labels of a logarithmic axis: 10⁻³, 1, 10⁶."""
    power, digits = "abs(round(log(datum.value) / LN10))", "'⁰¹²³⁴⁵⁶⁷⁸⁹'"
    sign, tens = "(datum.value < 1 ? '⁻' : '')", f"({power} > 9 ? {digits}[floor({power} / 10) % 10] : '')"
    hundreds = f"({power} > 99 ? {digits}[floor({power} / 100)] : '')"
    return f"{power} == 0 ? '1' : '10' + {sign} + {hundreds} + {tens} + {digits}[{power} % 10]"


def choose(value: str, options: Mapping[str, Any], otherwise: str = "null") -> str:
    """An expression: what stands in the options for the value of a parameter or a field. They are ours alone."""
    return "".join(f"{value} == '{one}' ? {then} : " for one, then in options.items()) + otherwise


def quoted(text: str) -> str:
    """One of our own words inside an expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
