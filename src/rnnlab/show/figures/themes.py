"""What charts take from the page they stand on: Vega-Lite configs for a light page and for a dark one. Charts name the
colours of data only; axes, titles, legends, and marks without a colour (texts, rules) get theirs here."""

from typing import Any

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
