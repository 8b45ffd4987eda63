"""The colours of charts: of arms, which are the same on every page, and of all else, by the theme of the page."""

from collections.abc import Sequence
from typing import Any

# Each has a contrast of at least 3 : 1 against a white page and against a dark one, so that both show an arm in the
# same colour; the first eight can be told apart by those who don't see green or red, too.
PALETTE = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#7e5bd6",  # violet
    "#c8334f",  # crimson
    "#3f97d9",  # sky
    "#b08a5a",  # sand
    "#c46fb0",  # orchid
    "#6f9a1c",  # olive
    "#9c5f3f",  # brown
    "#128a99",  # teal
    "#e0559b",  # pink
)
BASELINE = "#80868e"  # what isn't an arm: baselines, the Pareto front
FAILED = "#e0002b"  # seeds that failed to learn


def arm_colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour a label. As many as there are colours, they get theirs by name, so that the same arms look the same in
    every chapter; of more, the first ones get colours of their own."""
    own = list(dict.fromkeys(labels))
    if len(own) <= len(PALETTE):
        own.sort()
    return {label: PALETTE[number % len(PALETTE)] for number, label in enumerate(own)}


def rgb(colour: str) -> tuple[float, float, float]:
    """``#ff0000`` → (1.0, 0.0, 0.0)"""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def luminance(colour: tuple[float, float, float]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# Themes: charts name the colours of data only; axes, titles, legends, and marks without a colour (texts, rules) get
# theirs here, as Vega-Lite configs

Config = dict[str, Any]


def _theme(text: str, quiet: str, line: str, grid: str) -> Config:
    return {
        "background": "transparent",
        "view": {"stroke": "transparent"},
        "style": {"guide-label": {"fill": quiet}, "guide-title": {"fill": text}, "cell": {"stroke": "transparent"}},
        "axis": {"domainColor": line, "tickColor": line, "gridColor": grid, "labelColor": quiet, "titleColor": text},
        "legend": {"labelColor": quiet, "titleColor": text},
        "header": {"labelColor": text, "titleColor": text},
        "title": {"color": text, "subtitleColor": quiet},
        "text": {"color": text},
        "tick": {"color": text},
        "rule": {"color": line},
    }


LIGHT_CONFIG = _theme(text="#1b1f24", quiet="#57606a", line="#8b949e", grid="#e4e7eb")
DARK_CONFIG = _theme(text="#e6e8eb", quiet="#a8b0ba", line="#6e7681", grid="#2b3038")


def themed(spec: Config, theme: Config) -> Config:
    """The spec with the theme's config; what the spec itself sets goes first."""
    return {**spec, "config": _merged(theme, spec.get("config", {}))}


def _merged(under: Config, over: Config) -> Config:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged
