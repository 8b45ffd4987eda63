"""Mean curves of a sweep, with bands."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from rnnlab.comparing.studies import Repeat, Study
from rnnlab.core.terms import setting_name, status_text
from rnnlab.core.words import Both, Language, both, capitalised
from rnnlab.show.figures.figure import (
    STROKES,
    AnyChart,
    Figure,
    Row,
    as_wide_as_the_page,
    choose,
    data,
    headed,
    log_ticks,
    quoted,
    sentences,
    short,
    tooltip,
)
from rnnlab.show.figures.labels import text_width
from rnnlab.show.figures.palette import BASELINE, PALETTE
from rnnlab.show.sweep_summary import ranked, repeats_at, value_labels
from rnnlab.show.sweep_texts import is_share, point_text, pooled_text, quantity_name

MOST_COLOURS = 10  # that can be told apart
MOST_STEPS = 120  # of a curve: more can't be seen
LATE = 0.1  # of the last step: whoever is evaluated first after that leaves the axis empty before
NARROW = 3  # times the least loss: below that, the axis isn't logarithmic
WIDTH, HEIGHT = 560, 300
PANEL_WIDTH, PANEL_HEIGHT, PANELS_ABREAST = 230, 170, 3
PANEL_AXES = 92  # pixels beside a panel
LABEL_LIMIT = 320
CROSS = "M-1,-1L1,1M1,-1L-1,1"
ENDS = {"diverged": CROSS, "pruned": "circle"}  # how a run can end that has more to say, and its mark


@dataclass(frozen=True)
class Series:
    """A line: which runs it is the mean of, and in which panel it stands."""

    name: str
    repeats: Sequence[Repeat]
    panel: str = ""
    grey: bool = False


def curves_figure(kind: str, study: Study, quantity: str) -> Figure:
    series, said = _series(study, "en")
    _, ends = _curve_rows(series, quantity, quantity.endswith("loss"))
    caption = sentences(_about(series, said, bool(ends)))
    title = capitalised(quantity_name(quantity))
    return Figure(kind, title, caption, lambda language, page: curves(study, quantity, language, page))


def curves(study: Study, quantity: str, language: Language = "en", for_page: bool = False) -> AnyChart:
    """The mean over the runs at each evaluated step, with a band from the least to the most. ``quantity`` is a key of
    the evaluations: ``valid_exact``, ``train_loss``. With many settings there is a panel a value of the first axis. A
    page says the words beside it, has its legend below, and as wide panels as there is room for."""
    series, said = _series(study, language)
    logarithmic = quantity.endswith("loss")
    rows, ends = _curve_rows(series, quantity, logarithmic)
    panels = list(dict.fromkeys(one.panel for one in series))
    single = len(panels) == 1
    height = HEIGHT if single else PANEL_HEIGHT
    vertical = _vertical(rows, quantity, logarithmic, language)
    first, last = (pick((row["step"] for row in rows), default=0) for pick in (min, max))
    begin = (
        first if LATE * last < first < last else 0
    )  # evaluated once per epoch, of a few, there is nothing before the first
    begin = min([begin, *(row["step"] for row in ends)])
    layers = _line_layers(series, vertical, language, for_page, begin)
    if ends:
        edge = 0 if logarithmic else height
        layers += _end_marks(series, ends, vertical, language, edge, for_page, begin)
    whole: Row = {"data": data([*rows, *ends])}
    if for_page and single:
        return alt.layer(*layers, height=height, **whole, **as_wide_as_the_page())
    if for_page:
        whole["usermeta"] = {"panels": {"abreast": PANELS_ABREAST, "least": PANEL_WIDTH, "axes": PANEL_AXES}}
    else:
        wide = WIDTH + 200 if single else PANELS_ABREAST * (PANEL_WIDTH + 50) + 80
        named = f"{study.name} · {quantity_name(quantity)[language]}"
        whole |= headed(named, _about(series, said, bool(ends)), wide, language)
    if single:
        return alt.layer(*layers, width=WIDTH, height=height, **whole)
    panel = alt.Facet("panel:N", title=None, sort=panels, header=alt.Header(labelFontSize=12, labelLimit=PANEL_WIDTH))
    faceted = alt.layer(*layers, width=PANEL_WIDTH, height=height).facet(facet=panel, columns=PANELS_ABREAST, **whole)
    return faceted.resolve_axis(x="independent", y="independent")


def _about(series: Sequence[Series], said: list[Both], ends: bool) -> list[Both]:
    """What one must know to read the picture."""
    runs = max((len(one.repeats) for one in series), default=1)
    about = [
        both("Mean of {runs} runs per setting; the band goes from the least to the most", runs=runs)
        if runs > 1
        else both("One run per setting"),
        *said,
    ]
    if any(_held(one.repeats) for one in series):
        about.append(both("A run that ended early keeps its last value"))
    if ends:
        about.append(both("Marks show where a run diverged or was given up: the mean goes on without it"))
    return about


def _held(repeats: Sequence[Repeat]) -> bool:
    """Whether a finished run ended before another."""
    ended = [repeat.curve[-1]["step"] for repeat in repeats if repeat.curve]
    return any(
        repeat.curve[-1]["step"] < max(ended) for repeat in repeats if repeat.curve and repeat.status == "finished"
    )


def _series(study: Study, language: Language) -> tuple[list[Series], list[Both]]:
    """The lines of a chart that can be read, and what has to be said about them."""
    if len(study.points) <= MOST_COLOURS:
        return [Series(point_text(study, point)[language], point.repeats) for point in study.points], []
    varied = [axis for axis in study.axes if len(axis.values) > 1]
    if len(varied) >= 2 and max(len(axis.values) for axis in varied[:2]) <= MOST_COLOURS:
        first, second = varied[:2]
        found = [
            Series(f"{setting_name(second.name)[language]} {b}", repeats, f"{setting_name(first.name)[language]} {a}")
            for value, a in zip(first.values, value_labels(first), strict=True)
            for other, b in zip(second.values, value_labels(second), strict=True)
            if (repeats := repeats_at(study, {first.name: value, second.name: other}))
        ]
        return found, pooled_text(varied[2:])
    best = ranked(study)[:MOST_COLOURS]
    chosen = set(map(id, best))
    grey = [point for point in study.points if id(point) not in chosen]
    found = [Series(point_text(study, point)[language], point.repeats, grey=True) for point in grey]
    found += [Series(point_text(study, point)[language], point.repeats) for point in best]
    return found, [both("The best {shown} of {total} settings in colour", shown=len(best), total=len(study.points))]


def values(repeat: Repeat, quantity: str) -> list[tuple[int, float]]:
    """(step, value) of every evaluation that has it. A failed run says nothing."""
    if repeat.status == "failed":
        return []
    found = [(event["step"], event.get(quantity)) for event in repeat.curve]
    return [(step, value) for step, value in found if value is not None and math.isfinite(value)]


def mean_curve(repeats: Sequence[Repeat], quantity: str) -> list[Row]:
    """{step, mean, least, most, runs} at every step at which one of the runs was evaluated. A finished run keeps its
    last value; one that diverged or was given up doesn't go on."""
    known = [(repeat, found) for repeat in repeats if (found := values(repeat, quantity))]
    rows = []
    for step in _thinned(sorted({step for _, found in known for step, _ in found})):
        now = []
        for repeat, found in known:
            so_far = [value for at, value in found if at <= step]
            if so_far and (repeat.status == "finished" or step <= found[-1][0]):
                now.append(so_far[-1])
        if now:
            row = {"step": step, "mean": sum(now) / len(now), "least": min(now), "most": max(now), "runs": len(now)}
            rows.append(row)
    return rows


def _thinned(steps: list[int]) -> list[int]:
    stride = -(-len(steps) // MOST_STEPS)
    return sorted({*steps[::stride], steps[-1]}) if steps else []


def _curve_rows(series: Sequence[Series], quantity: str, logarithmic: bool) -> tuple[list[Row], list[Row]]:
    """The means, and where runs ended that weren't finished. Zeros have no place on a logarithmic axis."""
    rows, ends = [], []
    for line, one in enumerate(series):
        where = {"name": one.name, "panel": one.panel, "line": line, "grey": one.grey}
        shown = [row for row in mean_curve(one.repeats, quantity) if row["least"] > 0 or not logarithmic]
        rows += [
            {"kind": "mean", **where, **row, **{key: short(row[key]) for key in ("mean", "least", "most")}}
            for row in shown
        ]
        for repeat in one.repeats:
            if repeat.status in ENDS and not one.grey:
                found = values(repeat, quantity)
                step = repeat.result.get("divergence", {}).get("step") or (found[-1][0] if found else 0)
                value = found[-1][1] if found and (found[-1][1] > 0 or not logarithmic) else None
                kind = "end" if value is not None else "end at edge"
                ends.append({"kind": kind, **where, "step": step, "mean": value, "end": repeat.status})
    return rows, ends


def _vertical(rows: Sequence[Row], quantity: str, logarithmic: bool, language: Language) -> dict[str, Any]:
    """Title, scale and axis."""
    name = quantity_name(quantity)[language]
    if is_share(quantity):
        least = min((row["least"] for row in rows), default=0.0)
        most = max((row["most"] for row in rows), default=1.0)
        low = max(0.0, math.floor(10 * least - 0.5) / 10) if least > 0.4 else 0
        high = min(1.0, math.ceil(10 * most + 0.5) / 10) if most < 0.6 else 1
        return {"title": name, "scale": alt.Scale(domain=[low, high]), "axis": alt.Axis(format="%", tickCount=5)}
    low, high = min((row["least"] for row in rows), default=0.1), max((row["most"] for row in rows), default=1.0)
    if not logarithmic or high < NARROW * low:
        return {"title": name, "scale": alt.Scale(zero=False), "axis": alt.Axis()}
    axis = alt.Axis(values=log_ticks(low, high), format="~g" if low >= 1e-5 and high < 1e5 else "~e")
    return {"title": name, "scale": alt.Scale(type="log", domain=[0.93 * low, 1.07 * high], nice=False), "axis": axis}


def _line_layers(
    series: Sequence[Series], vertical: dict[str, Any], language: Language, for_page: bool, begin: int
) -> list[Any]:
    """Bands and lines, above those that stay grey."""
    colour = _colour(series, for_page)
    lines = _base(language, begin).transform_filter("datum.kind == 'mean'")
    spread = (("mean:Q", both("mean"), ".4g"), ("least:Q", both("least"), ".4g"), ("most:Q", both("most"), ".4g"))
    about = tooltip(language, ("name:N", both("setting")), ("step:Q", both("update")), *spread)
    mean = lines.encode(y=alt.Y("mean:Q", **vertical), detail="line:N", tooltip=about)
    band = lines.encode(y=alt.Y("least:Q", **vertical), y2="most:Q", detail="line:N", color=colour)
    layers = [
        band.transform_filter("!datum.grey").mark_area(opacity=0.13),
        mean.transform_filter("!datum.grey").mark_line(strokeWidth=2).encode(color=colour),
    ]
    if any(one.grey for one in series):
        layers.insert(0, mean.transform_filter("datum.grey").mark_line(color=BASELINE, strokeWidth=1, opacity=0.45))
    return layers


def _end_marks(
    series: Sequence[Series],
    ends: Sequence[Row],
    vertical: dict[str, Any],
    language: Language,
    edge: int,
    for_page: bool,
    begin: int,
) -> list[Any]:
    """A mark where a run ended; at the bad edge when it did before its first evaluation."""
    present = [status for status in ENDS if any(row["end"] == status for row in ends)]
    names = choose("datum.label", {status: quoted(status_text(status)[language]) for status in present}, "''")
    shape = alt.Shape(
        "end:N",
        scale=alt.Scale(domain=present, range=[ENDS[status] for status in present]),
        legend=alt.Legend(title=None, labelExpr=names, orient="top" if for_page else alt.Undefined),
    )
    mark = _base(language, begin).mark_point(size=60, filled=False, strokeWidth=2.5, opacity=1)
    mark = mark.encode(color=_colour(series, for_page), shape=shape)
    return [
        mark.transform_filter("datum.kind == 'end'").encode(y=alt.Y("mean:Q", **vertical)),
        mark.transform_filter("datum.kind == 'end at edge'").encode(y=alt.value(edge)),
    ]


def _base(language: Language, begin: int) -> alt.Chart:
    scale = alt.Scale(domainMin=begin, nice=False)
    return alt.Chart().encode(
        x=alt.X("step:Q", title=both("update")[language], scale=scale, axis=alt.Axis(tickCount=6))
    )


def _colour(series: Sequence[Series], for_page: bool) -> alt.Color:
    names = list(dict.fromkeys(one.name for one in series if not one.grey))
    below: Row = {"labelLimit": LABEL_LIMIT}
    if for_page:  # as many beside each other as there is room for
        wide = 40 + max((text_width(name, LABEL_LIMIT) for name in names), default=0.0)
        below = {
            "orient": "bottom",
            "labelLimit": alt.ExprRef(f"min({LABEL_LIMIT}, max(80, containerSize()[0] - 130))"),
            "columns": alt.ExprRef(f"max(1, floor((containerSize()[0] - {PANEL_AXES}) / {wide:.0f}))"),
        }
    legend = alt.Legend(title=None, symbolOpacity=1, **STROKES, **below)
    return alt.Color("name:N", scale=alt.Scale(domain=names, range=PALETTE[: len(names)]), legend=legend)
