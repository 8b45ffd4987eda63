"""What a page is made of: texts in both languages, and charts that are drawn in either."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rnnlab.core.words import Both, Language


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
    title: Both
    caption: Both  # how to read it
    draw: Callable[[Language, bool], Any]  # (language, for a page?) → an Altair chart
    controls: tuple[Control, ...] = ()
    arms: bool = False
