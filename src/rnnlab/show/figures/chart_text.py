"""Titles of charts, in lines that fit, and round numbers for their axes."""

import math

import altair as alt
from rich.cells import cell_len

AnyChart = alt.LayerChart | alt.FacetChart
TITLE_SIZE, SUBTITLE_SIZE = 15, 12
GLYPH = 0.52  # the usual width of a Latin letter, as a share of the font size; a Chinese character counts twice


def title(text: str, subtitle: str, width: float) -> alt.TitleParams:
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


def description(head: alt.TitleParams) -> str:
    """What those hear who don't see the chart: its title and what is said below."""
    return " ".join(part for part in (*head.text, *head.subtitle) if part)


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
