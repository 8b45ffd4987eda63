"""What gates do: how much of the time they are closed, open, or in between."""

from collections.abc import Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter, GateShare
from rnnlab.core.words import Both, Language, both, same
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.pieces import ARM, LABEL_LIMIT, SHOWN, Row, data, finished, quoted, short, switches
from rnnlab.show.inspection_texts import gate_name, layer_name
from rnnlab.show.pages.parts import Figure

MOST_BARS = 60
STEP, BAR = 24, 16
ROOM_FOR_LEGEND = 260  # pixels
TITLE = both("Gates")
CAPTION = both(
    "Share of its values at which a gate is closed (below 0.1), open (above 0.9), or in between{state}.{cut}"
)
STATE = both("; of a plain rnn, which has none, at which its state is near a limit")
CUT = both(" The first {shown} of {total} gates are shown.")
STATES = {"closed": both("closed"), "between": both("in between"), "open": both("open")}
SHADES = {"closed": "#b5483a", "between": "#9aa0a6", "open": "#2a7f8e"}
SHARE, MEAN = both("share of its values"), both("mean")
GATE = both("gate")


def gates_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    """None when no arm has a gate."""
    found = [(one.arm, gate) for one in chapter.internals for gate in one.gates]
    if not found:
        return None
    shown = found[:MOST_BARS]
    cut = CUT.format(shown=len(shown), total=len(found)) if len(shown) < len(found) else same("")
    state = STATE if any(gate.gate == "state" for _, gate in shown) else same("")
    caption = CAPTION.format(state=state, cut=cut)

    def draw(language: Language, for_page: bool) -> AnyChart:
        chart = _chart(shown, language)
        return finished(chart, language, for_page, TITLE, caption, switches(), height=alt.Step(STEP))

    return Figure(f"{prefix}gates", TITLE, caption, draw, arms=True)


def gate_rows(shown: Sequence[tuple[str, GateShare]]) -> list[Row]:
    """A line for an arm's name, then one for each of its gates, numbered by ``o``: {arm, o, closed, between, open}."""
    rows: list[Row] = []
    for number, (arm, gate) in enumerate(shown):
        if not number or shown[number - 1][0] != arm:
            rows.append({"arm": arm, "o": len(rows), "head": True})
        shares = {"closed": gate.closed, "between": max(0.0, 1 - gate.closed - gate.open), "open": gate.open}
        rows.append({"arm": arm, "o": len(rows), "mean": short(gate.mean)} | {k: short(v) for k, v in shares.items()})
    return rows


def gate_text(gate: GateShare) -> Both:
    """``layer 1 · forget``"""
    return both("{layer} · {gate}", layer=layer_name(gate.layer), gate=gate_name(gate.gate))


def _chart(shown: Sequence[tuple[str, GateShare]], language: Language) -> AnyChart:
    rows = gate_rows(shown)
    names = iter(gate_text(gate)[language] for _, gate in shown)
    written = ["" if "head" in row else next(names) for row in rows]
    labels = f"[{', '.join(map(quoted, written))}][datum.value]"
    y = alt.Y(
        "o:O",
        title=None,
        axis=alt.Axis(labelExpr=labels, labelLimit=LABEL_LIMIT, labelOverlap=False, ticks=False, domain=False),
    )
    base = alt.Chart().transform_filter(SHOWN).encode(y=y)
    words = {key: STATES[key][language] for key in STATES}
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=alt.ExprRef(f"width < {ROOM_FOR_LEGEND} ? 1 : {len(STATES)}"),  # on a phone, one below the other
        labelExpr=" : ".join([*(f"datum.label == '{key}' ? {quoted(word)}" for key, word in words.items()), "''"]),
    )
    percents = alt.Axis(format="%", tickCount=5)
    bars = (
        base.transform_filter("!datum.head")
        .transform_calculate(gate=labels.replace("datum.value", "datum.o"))
        .transform_fold(list(STATES), as_=["state", "share"])
        .transform_calculate(place=f"indexof({list(STATES)}, datum.state)")
        .mark_bar(height=BAR)
        .encode(
            x=alt.X("share:Q", title=SHARE[language], scale=alt.Scale(domain=[0, 1]), axis=percents),
            order="place:Q",
            fill=alt.Fill("state:N", scale=alt.Scale(domain=list(STATES), range=list(SHADES.values())), legend=legend),
            tooltip=[
                alt.Tooltip("arm:N", title=ARM[language]),
                alt.Tooltip("gate:N", title=GATE[language]),
                *(alt.Tooltip(f"{key}:Q", title=word, format=".1%") for key, word in words.items()),
                alt.Tooltip("mean:Q", title=MEAN[language], format=".2f"),
            ],
        )
    )
    heads = base.transform_filter("datum.head").mark_text(
        align="left", baseline="middle", dy=3, fontSize=12, fontWeight="bold", limit=2 * LABEL_LIMIT
    )
    return alt.layer(bars, heads.encode(x=alt.value(0), text="arm:N"), data=data(rows))
