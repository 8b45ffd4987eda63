"""The charts of a page as one piece of JSON: both languages, every set of rows once, safe inside a script element."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnlab.core.words import LANGUAGES

if TYPE_CHECKING:
    from rnnlab.show.figures.figure import Figure

DIGITS = 8  # significant ones: more than any chart can show
AXES_HEIGHT, LINE_HEIGHT = 55, 20  # what axes, and a line of a title, add to the height of a chart


def embedded(figures: "Sequence[Figure]") -> tuple[str, dict[str, int]]:
    """``{"datasets": {key: table}, "figures": {name: {"en": spec, "zh": spec, "arms": bool}}}``, and by the names of
    figures about how many pixels are kept free until they are drawn.

    A spec says ``{"name": key}`` where it had rows. A table is ``{"fields": […], "rows": [[…], …]}`` when its rows have
    the same fields, and ``{"values": […]}`` otherwise."""
    names = [figure.name for figure in figures]
    if len(set(names)) < len(names):
        raise ValueError(f"two figures have one name: {sorted(names)}")
    datasets: dict[str, Any] = {}
    heights: dict[str, int] = {}
    drawn: dict[str, dict[str, Any]] = {}
    for figure in figures:
        drawn[figure.name] = {"arms": figure.arms}
        for language in LANGUAGES:
            spec = figure.draw(language, True).to_dict(validate=False)
            spec.setdefault("description", figure.title[language] or figure.caption[language] or " ".join(_title(spec)))
            heights.setdefault(figure.name, _height(spec))
            drawn[figure.name][language] = _pulled_out(spec, datasets)
    return script_json({"datasets": datasets, "figures": drawn}), heights


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element, whatever the user's text holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, code in (("<", "\\u003c"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        text = text.replace(character, code)
    return text


def _pulled_out(part: Any, datasets: dict[str, Any]) -> Any:
    """A part of a spec without its rows, which are put into ``datasets`` under a name made of their content."""
    if isinstance(part, list):
        return [_pulled_out(one, datasets) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        key: {"name": _store(value["values"], datasets)} if key == "data" else _pulled_out(value, datasets)
        for key, value in part.items()
    }


def _store(rows: list[Any], datasets: dict[str, Any]) -> str:
    table = _table(_short(rows))
    key = hashlib.sha256(json.dumps(table, ensure_ascii=False).encode()).hexdigest()[:12]
    datasets[key] = table
    return key


def _table(rows: list[Any]) -> dict[str, Any]:
    fields = list(rows[0]) if rows and isinstance(rows[0], dict) else []
    if fields and all(isinstance(row, dict) and list(row) == fields for row in rows):
        return {"fields": fields, "rows": [list(row.values()) for row in rows]}
    return {"values": rows}


def _short(value: Any) -> Any:
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value


def _title(spec: dict[str, Any]) -> list[str]:
    """The lines of a chart's title and subtitle."""
    title = spec.get("title") or {}
    return [*title.get("text", ()), *(line for line in title.get("subtitle", ()) if line)]


def _height(spec: dict[str, Any]) -> int:
    """About so many pixels: what a chart says of its height, and room for its axes and its title."""
    inner = spec.get("spec", spec)
    own = inner.get("height", spec.get("height"))
    body = own if isinstance(own, int | float) else 300
    return round(body) + AXES_HEIGHT + len(_title(spec)) * LINE_HEIGHT
