"""What a model makes of each token of one text: bars, and maps of attention and of units."""

from collections.abc import Iterator, Sequence

import altair as alt

from rnnlab.core.words import Both, Language, both, joined, same
from rnnlab.inspecting.inspection import Inspection
from rnnlab.show.figures.figure import Draw, Figure, Row, as_wide_as_the_page, data

MOST_TOKENS = 120  # that are shown
STEP = 22  # pixels per token
HEIGHT = 260
AXIS = 90  # pixels beside the plot
TOKENS = alt.Axis(labelAngle=-50, labelLimit=110, labelOverlap=False, ticks=False)
ADDS, WEIGHT = both("adds to the output"), both("weight")


def token_figures(found: Inspection) -> Iterator[Figure]:
    """What the answer to a text rests on; none without a text."""
    tokens = found.subject.tokens
    if found.saliency is None or tokens is None:
        return
    caption = both(
        "What each token adds to the output for {label}: integrated gradients, and by how much "
        "the output falls when the token is replaced by the unknown word (occlusion).",
        label=found.label(found.saliency.target),
    )
    methods = ((both("integrated gradients"), found.saliency.integrated), (both("occlusion"), found.saliency.occlusion))
    yield token_bars(caption, tokens, methods, ADDS)
    if found.attention is None:
        return
    if found.attention.pooling is not None:
        pooling = ((WEIGHT, found.attention.pooling),)
        yield token_bars(both("Where attention pooling looked."), tokens, pooling, WEIGHT)
    for number, heads in enumerate(found.attention.maps, 1):
        for head, weights in enumerate(heads, 1):
            caption = both(
                "Layer {number}, head {head}: how much each token (a row) looked at each (a column).",
                number=number,
                head=head,
            )
            yield _attention_map(caption, tokens, weights)


def token_bars(
    caption: Both, tokens: Sequence[str], series: Sequence[tuple[Both, Sequence[float]]], title: Both
) -> Figure:
    """A bar per token and series, side by side."""
    labels = numbered(tokens)
    many = len(series) > 1

    def draw(language: Language, for_page: bool) -> alt.Chart:
        rows = [
            {"token": label, "series": name[language], "value": value}
            for name, values in series
            for label, value in zip(labels, values, strict=False)
        ]
        order = [name[language] for name, _ in series]
        legend = alt.Legend(orient="top") if many else None
        bars = _chart(rows, _size(labels, for_page), HEIGHT // 2 + 40).mark_bar()
        bars = bars.encode(
            x=alt.X("token:N", sort=labels, title=None, axis=TOKENS),
            y=alt.Y("value:Q", title=title[language]),
            color=alt.Color("series:N", title=None, sort=order, legend=legend),
            tooltip=["token:N", "series:N", alt.Tooltip("value:Q", format="+.3f")],
        )
        return bars.encode(xOffset=alt.XOffset("series:N", sort=order)) if many else bars

    return _figure(caption, tokens, draw, wide=True)


def token_units(
    caption: Both, tokens: Sequence[str], values: Sequence[Sequence[float]], limits: tuple[float, float]
) -> Figure:
    """A picture of (T, H) values: a column per token, a row per unit, the units in the order of their means. A token's
    units travel as one list, which the chart takes apart: a tenth of the size."""
    labels = numbered(tokens)
    shown = values[:MOST_TOKENS]
    order = sorted(range(len(shown[0])), key=lambda unit: -sum(row[unit] for row in shown))
    rows = [
        {"token": label, "value": [round(units[unit], 3) for unit in order]}
        for label, units in zip(labels, shown, strict=True)
    ]
    colours = alt.Scale(domain=list(limits), scheme="redblue" if limits[0] < 0 else "viridis", clamp=True)
    every_tenth = alt.Axis(values=list(range(10, len(order) + 1, 10)), ticks=False)

    def draw(language: Language, for_page: bool) -> alt.Chart:
        return (
            _chart(rows, _size(labels, for_page), HEIGHT)
            .transform_flatten(["value"])
            .transform_window(unit="row_number()", groupby=["token"])
            .mark_rect()
            .encode(
                x=alt.X("token:N", sort=labels, title=None, axis=TOKENS),
                y=alt.Y("unit:O", title=both("unit")[language], axis=every_tenth),
                color=alt.Color("value:Q", title=both("value")[language], scale=colours),
                tooltip=["token:N", "unit:O", alt.Tooltip("value:Q", format=".3f")],
            )
        )

    return _figure(caption, tokens, draw, wide=True)


def _attention_map(caption: Both, tokens: Sequence[str], weights: Sequence[Sequence[float]]) -> Figure:
    """(T, T): how much each token, a row, looked at each, a column."""
    labels = numbered(tokens)
    rows = [
        {"from": label, "to": other, "weight": round(weight, 3)}
        for label, line in zip(labels, weights, strict=False)
        for other, weight in zip(labels, line, strict=False)
    ]
    size = min(_wide(labels), 14 * len(labels) + 40)
    shades = alt.Scale(scheme="blues", domainMin=0)

    def draw(language: Language, for_page: bool) -> alt.Chart:
        return (
            _chart(rows, {"width": size}, size)
            .mark_rect()
            .encode(
                x=alt.X("to:N", sort=labels, title=both("looked at")[language], axis=TOKENS),
                y=alt.Y("from:N", sort=labels, title=both("token")[language], axis=alt.Axis(labelLimit=110)),
                color=alt.Color("weight:Q", title=WEIGHT[language], scale=shades),
                tooltip=["from:N", "to:N", alt.Tooltip("weight:Q", format=".3f")],
            )
        )

    return _figure(caption, tokens, draw)


def numbered(tokens: Sequence[str]) -> list[str]:
    """``["the", "the"]`` → ``["1 the", "2 the"]``: a token may come twice, a place on an axis may not."""
    return [f"{number} {token}" for number, token in enumerate(tokens[:MOST_TOKENS], 1)]


def _figure(caption: Both, tokens: Sequence[str], draw: Draw, wide: bool = False) -> Figure:
    """Which says when it doesn't show all tokens."""
    cut = both(" The first {tokens} tokens.", tokens=MOST_TOKENS) if len(tokens) > MOST_TOKENS else ""
    return Figure("tokens", same(""), joined([caption, cut], ""), draw, wide=wide)


def _wide(labels: Sequence[str]) -> int:
    return max(120, STEP * len(labels))


def _size(labels: Sequence[str], for_page: bool) -> Row:
    """On a page as wide as there is room, if all tokens find a place there."""
    return as_wide_as_the_page(_wide(labels) + AXIS) if for_page else {"width": _wide(labels)}


def _chart(rows: list, size: Row, height: int) -> alt.Chart:
    return alt.Chart(data(rows), height=height, **size)
