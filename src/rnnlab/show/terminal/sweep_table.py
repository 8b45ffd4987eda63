"""A sweep on the terminal: one row per setting, and over two axes the grid itself."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from rnnlab.comparing.studies import Point, Study
from rnnlab.core.terms import status_text
from rnnlab.core.words import COMMAS, STOPS, both, joined, language, retold, say
from rnnlab.show.figures.sweep_heatmap import Cell, cell
from rnnlab.show.sweep_summary import (
    best_point,
    find_axis,
    heatmap_pairs,
    median_text,
    ranked,
    repeats_at,
    seen_statuses,
    summarise,
    value_labels,
)
from rnnlab.show.sweep_texts import aim_text, score_text, step_text
from rnnlab.show.terminal.output import Row, print_table

MOST_ROWS = 60
KEYS = {
    "arrived": both("(2/5): two of five runs arrived"),
    "diverged": both("× 2/5: two of five diverged"),
}


def show(console: Console, study: Study) -> None:
    """What a person wants to see at the end: the settings, the best one marked, and the grids."""
    for text, style in ((study.name, "bold"), (study.about, ""), (str(aim_text(study)), "")):
        _say(console, text, style)
    console.print()
    _show_points(console, study)
    for across, down in heatmap_pairs(study):
        console.print()
        _show_grid(console, study, across, down)
    for note in study.notes:
        _say(console, say("Note: {note}", note=retold(note)))


def _say(console: Console, text: str, style: str = "") -> None:
    if text:
        console.print(Text(text, style), highlight=False, soft_wrap=True)


def _show_points(console: Console, study: Study) -> None:
    """All settings, or of very many the best."""
    chosen = set(map(id, ranked(study)[:MOST_ROWS] if len(study.points) > MOST_ROWS else study.points))
    shown = [point for point in study.points if id(point) in chosen]
    best = best_point(study)
    statuses = seen_statuses(study)
    columns = [say("setting"), *([say("arrived"), say("first update")] if study.target else [say("runs")])]
    columns += [str(status_text(status)) for status in statuses]
    columns += [say("validation"), say("test")]  # of the metric that was just named
    rows: list[Row] = [
        (_cells(study, point, statuses, point is best), "bold green" if point is best else None) for point in shown
    ]
    print_table(console, "", columns, rows)
    if len(shown) < len(study.points):
        told = say("The best {shown} of {total} settings", shown=len(shown), total=len(study.points))
        _say(console, told, "dim")


def _cells(study: Study, point: Point, statuses: Sequence[str], best: bool) -> list[str]:
    """``* lr 0.01 · length 5``, ``4/5``, ``150 (100–500)``, …"""
    found = summarise(study, point.repeats)
    cells = [f"* {point.label}" if best else point.label]
    if study.target and found.arrival:
        first, span = found.arrival, ""
        if first.arrived and first.least is not None and first.most is not None and first.least < first.most:
            span = f" ({step_text(first.least)}–{step_text(first.most)})"
        cells += [f"{first.arrived}/{found.runs}", median_text(found) + span]
    else:
        cells.append(f"{found.counted - found.diverged}/{found.runs}")
    cells += [f"{count}/{found.runs}" if (count := getattr(found, status)) else "" for status in statuses]
    return cells + [score_text(study.metric, scores.mean) if scores else "" for scores in (found.valid, found.test)]


def _show_grid(console: Console, study: Study, across: str, down: str) -> None:
    """The heatmap in figures."""
    columns, lines = find_axis(study, across), find_axis(study, down)
    grid = [
        [cell(study, repeats_at(study, {across: column, down: line}), language()) for column in columns.values]
        for line in lines.values
    ]
    known = [one.value for row in grid for one in row if one.value is not None]
    best = max(known, default=None) if study.target is None and not study.lower_is_better else min(known, default=None)
    heads = [f"{down} ╲ {across}", *value_labels(columns)]
    rows: list[Row] = [
        ([label, *(_text(one, best) for one in row)], None)
        for label, row in zip(value_labels(lines), grid, strict=True)
    ]
    print_table(console, "", heads, rows)
    key = [said for state, said in KEYS.items() if any(getattr(one, state) for row in grid for one in row)]
    pooled = [axis.name for axis in study.axes if axis.name not in (across, down) and len(axis.values) > 1]
    if pooled:
        key.append(both("Pooled over {axes}", axes=joined(pooled, COMMAS)))
    _say(console, str(joined(key, STOPS)), "dim")


def _text(one: Cell, best: float | None) -> str:
    """``150``, ``* 100``, ``500+ (2/5)``, ``300 × 1/5``, ``× 5/5``, ``·`` where there is no run."""
    text = one.main if one.state in ("value", "unscored") else "" if one.state == "diverged" else "·"
    if one.diverged:
        text += f" × {one.diverged}"
    elif one.arrived:
        text += f" ({one.arrived})"
    return f"* {text}" if one.value is not None and one.value == best and not one.main.endswith("+") else text.strip()
