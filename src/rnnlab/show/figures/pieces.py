"""What the charts of a report share: sizes, words, colours of arms, and how a page switches arms and choices.

A page sets the parameter ``hidden`` to the list of arms that are switched off, and one parameter for each `Control`.
Users' texts (labels of arms, tags, classes) stand in the data alone, never in an expression.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
from altair.utils.schemapi import debug_mode

from rnnlab.core.terms import metric_text
from rnnlab.core.words import Both, Language, both
from rnnlab.show.figures.chart_text import title
from rnnlab.show.figures.palette import BASELINE, arm_colours
from rnnlab.show.pages.parts import Control

if TYPE_CHECKING:  # `rnnlab judge` need not wait for torch
    from rnnlab.comparing.chapters import Chapter

Row = dict[str, Any]
WIDTH, HEIGHT = 640, 340
LABEL_LIMIT = 190  # pixels of a label
SHOWN = "indexof(hidden, datum.arm) < 0"
HIDDEN = "hidden"
ARM = both("model")
DESCRIBED = both("{name}. {caption}")


def metric_of(chapter: "Chapter") -> Both:
    """What the test accuracy is called."""
    metric = chapter.comparison.verdict.metric
    return metric_text(metric)


def quantity_of(name: str) -> Both:
    """What a curve is called: ``macro_f1`` → ``macro-F1``; a plug-in's keeps its own name."""
    return metric_text(name)


def colours(chapter: "Chapter") -> dict[str, str]:
    """Of every arm; baselines are grey. The legend of a page shows these."""
    own = arm_colours([arm.label for arm in chapter.comparison.arms])
    return own | {arm.label: BASELINE for arm in chapter.comparison.baselines}


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


def data(rows: Sequence[Mapping[str, Any]]) -> alt.Data:
    with debug_mode(False):  # Altair would check each number by itself, which takes a second for some thousands
        return alt.Data(values=[dict(row) for row in rows])


def colour(shades: Mapping[str, str], arms: Sequence[str], for_page: bool, **legend: Any) -> alt.Color:
    """By arm; the domain is fixed, so that an arm keeps its colour when others are switched off."""
    shown = [label for label in shades if label in set(arms)]
    key = None if for_page else alt.Legend(title=None, labelLimit=LABEL_LIMIT, symbolOpacity=1, **legend)
    return alt.Color("arm:N", scale=alt.Scale(domain=shown, range=[shades[label] for label in shown]), legend=key)


def switches(controls: Sequence[Control] = (), arms: bool = True) -> list[alt.Parameter]:
    """The parameters that a page sets, as they are before anybody chose."""
    hidden = [alt.param(name=HIDDEN, value=[])] if arms else []
    return hidden + [alt.param(name=control.param, value=control.choices[0][0]) for control in controls]


def finished(
    chart: Any, language: Language, for_page: bool, name: Both, caption: Both, params: Sequence[Any] = (), **size: Any
) -> Any:
    """The chart with its size, its parameters, a description for those who don't see it, and, in a file, a title."""
    about: Row = {"description": DESCRIBED.format(name=name, caption=caption)[language]}
    if for_page:
        about["width"] = size.get("page_width", "container")
        about["autosize"] = alt.AutoSizeParams(type="fit-x", contains="padding")
    else:
        width = size.get("width", WIDTH)
        about |= {"width": width, "title": title(name[language], caption[language], size.get("title_width", WIDTH))}
    return chart.properties(**about, height=size.get("height", HEIGHT)).add_params(*params)


def choose(param: str, options: Sequence[tuple[str, str]], otherwise: str = "null") -> str:
    """An expression: the one of the options, (value of the parameter, expression), that is chosen. Ours alone."""
    tests = "".join(f"{param} == '{value}' ? {then} : " for value, then in options)
    return tests + otherwise


def quoted(text: str) -> str:
    """One of our own words inside an expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
