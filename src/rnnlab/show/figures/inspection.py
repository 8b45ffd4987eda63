"""Charts as Vega-Lite, by Altair: each function takes plain rows and words, and gives a chart."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

Row = dict[str, Any]
WIDTH, HEIGHT = 560, 260
STEP = 22  # pixels a token


def decay(rows: Sequence[Row], x: str, y: str, legend: str = "", styles: str = "") -> alt.Chart:
    """Curves on a logarithmic scale, rows {lag, norm, curve, when}: a colour a curve, a dash a moment. Zeros, which the
    scale can't show, are left out."""
    shown = [row for row in rows if row["norm"] is not None and row["norm"] > 0]
    curves, moments = _distinct(shown, "curve"), _distinct(shown, "when")
    return (
        _chart(shown)
        .mark_line(interpolate="linear")
        .encode(
            x=alt.X("lag:Q", title=x, axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("norm:Q", title=y, scale=alt.Scale(type="log"), axis=_powers_of_ten(shown)),
            color=alt.Color(
                "curve:N", title=legend or None, sort=curves, legend=alt.Legend() if len(curves) > 1 else None
            ),
            strokeDash=alt.StrokeDash(
                "when:N", title=styles or None, sort=moments, legend=alt.Legend() if len(moments) > 1 else None
            ),
            tooltip=["curve:N", "when:N", "lag:Q", alt.Tooltip("norm:Q", format=".3g")],
        )
    )


def by_epoch(rows: Sequence[Row], x: str, y: str, legend: str) -> alt.Chart:
    """Rows {epoch, norm, lag}: a line a lag."""
    shown = [row for row in rows if row["norm"] is not None and row["norm"] > 0]
    return (
        _chart(shown)
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:O", title=x, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("norm:Q", title=y, scale=alt.Scale(type="log"), axis=_powers_of_ten(shown)),
            color=alt.Color("lag:O", title=legend, scale=alt.Scale(scheme="viridis")),
            tooltip=["epoch:O", "lag:O", alt.Tooltip("norm:Q", format=".3g")],
        )
    )


def saturation(rows: Sequence[Row], x: str, y: str, legend: str) -> alt.Chart:
    """Rows {gate, unit, low, high}: a point a unit. On the diagonal's far side a unit is always at one limit."""
    share = alt.Scale(domain=[0, 1])
    return (
        _chart(rows, width=HEIGHT)
        .mark_point(filled=True, opacity=0.6)
        .encode(
            x=alt.X("low:Q", title=x, scale=share, axis=alt.Axis(format="%")),
            y=alt.Y("high:Q", title=y, scale=share, axis=alt.Axis(format="%")),
            color=alt.Color("gate:N", title=legend, sort=_distinct(rows, "gate")),
            tooltip=["gate:N", "unit:Q", alt.Tooltip("low:Q", format=".0%"), alt.Tooltip("high:Q", format=".0%")],
        )
    )


def histogram(rows: Sequence[Row], x: str, y: str, legend: str) -> alt.Chart:
    """Rows {gate, mean}, one a unit: how many units have which mean."""
    return (
        _chart(rows, width=HEIGHT)
        .mark_bar(opacity=0.6)
        .encode(
            x=alt.X("mean:Q", title=x, bin=alt.Bin(maxbins=30)),
            y=alt.Y("count():Q", title=y, stack=None),
            color=alt.Color("gate:N", title=legend, sort=_distinct(rows, "gate")),
        )
    )


def token_bars(tokens: Sequence[str], series: Mapping[str, Sequence[float]], title: str) -> alt.Chart:
    """A bar a token and series, side by side."""
    labels = numbered(tokens)
    rows = [
        {"token": label, "series": name, "value": value}
        for name, values in series.items()
        for label, value in zip(labels, values, strict=True)
    ]
    many = len(series) > 1
    encoding: Row = {
        "x": alt.X("token:N", sort=labels, title=None, axis=_token_axis()),
        "y": alt.Y("value:Q", title=title),
        "color": alt.Color(
            "series:N", title=None, sort=list(series), legend=alt.Legend(orient="top") if many else None
        ),
        "tooltip": ["token:N", "series:N", alt.Tooltip("value:Q", format="+.3f")],
    }
    if many:
        encoding["xOffset"] = alt.XOffset("series:N", sort=list(series))
    return _chart(rows, width=_wide(tokens), height=HEIGHT // 2 + 40).mark_bar().encode(**encoding)


def token_units(
    tokens: Sequence[str], values: Sequence[Sequence[float]], y: str, legend: str, limits: tuple[float, float]
) -> alt.Chart:
    """A picture of (T, H) values: a column a token, a row a unit, the units in the order of their means. A token's
    units travel as one list, which the chart takes apart: a tenth of the size."""
    labels = numbered(tokens)
    order = sorted(range(len(values[0])), key=lambda unit: -sum(row[unit] for row in values))
    rows = [
        {"token": label, "value": [round(units[unit], 3) for unit in order]}
        for label, units in zip(labels, values, strict=True)
    ]
    low, high = limits
    scheme = "redblue" if low < 0 else "viridis"
    return (
        _chart(rows, width=_wide(tokens), height=HEIGHT)
        .transform_flatten(["value"])
        .transform_window(unit="row_number()", groupby=["token"])
        .mark_rect()
        .encode(
            x=alt.X("token:N", sort=labels, title=None, axis=_token_axis()),
            y=alt.Y("unit:O", title=y, axis=alt.Axis(values=list(range(10, len(values[0]) + 1, 10)), ticks=False)),
            color=alt.Color("value:Q", title=legend, scale=alt.Scale(domain=[low, high], scheme=scheme, clamp=True)),
            tooltip=["token:N", "unit:O", alt.Tooltip("value:Q", format=".3f")],
        )
    )


def attention_map(tokens: Sequence[str], weights: Sequence[Sequence[float]], x: str, y: str, legend: str) -> alt.Chart:
    """(T, T): how much each token, a row, looked at each, a column."""
    labels = numbered(tokens)
    rows = [
        {"from": label, "to": other, "weight": round(weight, 3)}
        for label, line in zip(labels, weights, strict=True)
        for other, weight in zip(labels, line, strict=True)
    ]
    size = min(_wide(tokens), 14 * len(tokens) + 40)
    return (
        _chart(rows, width=size, height=size)
        .mark_rect()
        .encode(
            x=alt.X("to:N", sort=labels, title=x, axis=_token_axis()),
            y=alt.Y("from:N", sort=labels, title=y, axis=alt.Axis(labelLimit=110)),
            color=alt.Color("weight:Q", title=legend, scale=alt.Scale(scheme="blues", domainMin=0)),
            tooltip=["from:N", "to:N", alt.Tooltip("weight:Q", format=".3f")],
        )
    )


def numbered(tokens: Sequence[str]) -> list[str]:
    """``["the", "the"]`` → ``["1 the", "2 the"]``: a token may come twice, a place on an axis may not."""
    return [f"{number} {token}" for number, token in enumerate(tokens, 1)]


def _powers_of_ten(rows: Sequence[Row]) -> alt.Axis:
    """At most some eight of them: the finer lines of a logarithmic axis would hide the curves."""
    norms = [row["norm"] for row in rows] or [1.0]
    low, high = math.floor(math.log10(min(norms))), math.ceil(math.log10(max(norms)))
    powers = range(low, high + 1, max(1, -(-(high - low) // 8)))
    return alt.Axis(format=".0e", values=[10.0**power for power in powers])


def _token_axis() -> alt.Axis:
    return alt.Axis(labelAngle=-50, labelLimit=110, labelOverlap=False, ticks=False)


def _wide(tokens: Sequence[str]) -> int:
    return max(120, STEP * len(tokens))


def _distinct(rows: Sequence[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))


def _chart(rows: Sequence[Row], width: int = WIDTH, height: int = HEIGHT) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)), width=width, height=height)
