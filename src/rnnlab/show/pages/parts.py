"""What a page is made of: texts in both languages, and charts that are drawn in either."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True)
class Both:
    """A text in both languages: a page holds the two and shows one."""

    en: str
    zh: str

    def __getitem__(self, language: Language) -> str:
        return self.en if language == "en" else self.zh

    def format(self, **gaps: Any) -> "Both":
        """Gaps are filled with the same for both, or with a `Both`."""
        filled = ({k: v[to] if isinstance(v, Both) else v for k, v in gaps.items()} for to in LANGUAGES)
        return Both(*(self[to].format(**own) for to, own in zip(LANGUAGES, filled, strict=True)))


def same(text: str) -> Both:
    """A text that isn't translated: a label, a number, a name."""
    return Both(text, text)


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
