"""What gates do: how much of the time they are closed, open, or in between; of a report's arms, and of one model."""

from collections.abc import Iterator, Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter, GateShare
from rnnlab.core.words import Both, Language, both, capitalised, same
from rnnlab.inspecting.gates import LayerGates
from rnnlab.inspecting.inspection import Inspection
from rnnlab.show.figures import figure as fig
from rnnlab.show.figures.figure import AnyChart, Figure, Row
from rnnlab.show.figures.tokens import token_bars, token_units
from rnnlab.show.inspection_texts import gate_name, layer_name

MOST_BARS = 60
STEP, BAR = 24, 16
SIDE = 260  # pixels of the charts of one model
ROOM_FOR_LEGEND = 260  # pixels
TITLE = both("Gates")
CAPTION = both("Share of its values at which a gate is closed (below 0.1), open (above 0.9), or in between.{cut}")
STATE = "state"  # what a model without gates is looked into by
CUT = both(" The first {shown} of {total} gates are shown.")
STATES = {"closed": both("closed"), "between": both("in between"), "open": both("open")}
SHADES = ("#b5483a", "#9aa0a6", "#2a7f8e")
SHARE, MEAN = both("share of its values"), both("mean")
GATE = both("gate")
CLOSED, OPEN = both("closed (lower limit), share of steps"), both("open (upper limit), share of steps")


def gates_figure(chapter: Chapter) -> Figure | None:
    """None when no arm has a gate: a plain rnn has a state alone."""
    found = [(one.arm, gate) for one in chapter.internals for gate in one.gates if gate.gate != STATE]
    if not found:
        return None
    shown = found[:MOST_BARS]
    cut = CUT.format(shown=len(shown), total=len(found)) if len(shown) < len(found) else same("")
    caption = CAPTION.format(cut=cut)
    return fig.figure("gates", TITLE, caption, lambda language, _: _chart(shown, language), height=alt.Step(STEP))


def gate_rows(shown: Sequence[tuple[str, GateShare]]) -> list[Row]:
    """A line for an arm's name, then one for each of its gates, numbered by ``o``: {arm, o, closed, between, open}."""
    rows: list[Row] = []
    for number, (arm, gate) in enumerate(shown):
        if not number or shown[number - 1][0] != arm:
            rows.append({"arm": arm, "o": len(rows), "head": True})
        shares = {"mean": gate.mean, "closed": gate.closed, "between": max(0.0, 1 - gate.closed - gate.open)}
        shares |= {"open": gate.open}
        rows.append({"arm": arm, "o": len(rows), **{key: fig.short(share) for key, share in shares.items()}})
    return rows


def gate_text(gate: GateShare) -> Both:
    """``layer 1 · forget``"""
    return both("{layer} · {gate}", layer=layer_name(gate.layer), gate=gate_name(gate.gate))


def _chart(shown: Sequence[tuple[str, GateShare]], language: Language) -> AnyChart:
    rows = gate_rows(shown)
    texts = iter(gate_text(gate)[language] for _, gate in shown)
    written = ["" if "head" in row else next(texts) for row in rows]
    labels = f"[{', '.join(map(fig.quoted, written))}][datum.value]"
    base = alt.Chart().transform_filter(fig.SHOWN).encode(y=alt.Y("o:O", title=None, axis=fig.names(labelExpr=labels)))
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=alt.ExprRef(f"width < {ROOM_FOR_LEGEND} ? 1 : {len(STATES)}"),  # on a phone, one below the other
        labelExpr=fig.choose("datum.label", {key: fig.quoted(word[language]) for key, word in STATES.items()}, "''"),
    )
    shares = alt.Scale(domain=[0, 1])
    shades = alt.Scale(domain=list(STATES), range=list(SHADES))
    of_states = ((f"{key}:Q", word, ".1%") for key, word in STATES.items())
    bars = (
        base.transform_filter("!datum.head")
        .transform_calculate(gate=labels.replace("datum.value", "datum.o"))
        .transform_fold(list(STATES), as_=["state", "share"])
        .transform_calculate(place=f"indexof({list(STATES)}, datum.state)")
        .mark_bar(height=BAR)
        .encode(
            x=alt.X("share:Q", title=SHARE[language], scale=shares, axis=alt.Axis(format="%", tickCount=5)),
            order="place:Q",
            fill=alt.Fill("state:N", scale=shades, legend=legend),
            tooltip=fig.tooltip(language, ("arm:N", fig.ARM), ("gate:N", GATE), *of_states, ("mean:Q", MEAN, ".2f")),
        )
    )
    heads = base.transform_filter("datum.head").mark_text(
        align="left", baseline="middle", dy=3, fontSize=12, fontWeight="bold", limit=2 * fig.LABEL_LIMIT
    )
    return fig.layered([bars, heads.encode(x=alt.value(0), text="arm:N")], rows)


# Of one model


def gate_figures(found: Inspection) -> Iterator[Figure]:
    """Of every layer that has gates: its units; of a text also its tokens."""
    for layer in gated(found):
        name = capitalised(layer_name(layer.name))
        units: list[tuple[Both, Row]] = [
            (gate_name(gate.name), {"unit": unit + 1, "low": low, "high": high, "mean": mean})
            for gate in layer.gates
            for unit, (low, high, mean) in enumerate(
                zip(gate.low_by_unit, gate.high_by_unit, gate.by_unit, strict=True)
            )
        ]
        about = both(
            "{layer}: one point per unit. Right: closed most of the time; up: open most of the time; at 0, 0: neither.",
            layer=name,
        )
        yield Figure(
            "saturation", same(""), about, lambda language, page, units=units: _saturation(units, language, page)
        )
        about = both("{layer}: how many units have which mean.", layer=name)
        yield Figure("means", same(""), about, lambda language, page, units=units: _means(units, language, page))
        tokens = found.subject.tokens
        if tokens is None:
            continue
        if layer.kept_by_token is not None:
            about = both("{layer}: how much of the state at a token came from the step before.", layer=name)
            yield token_bars(about, tokens, [(both("share"), layer.kept_by_token)], both("share"))
        for gate in layer.gates:
            assert gate.values is not None  # there is one text
            about = both(
                "{layer}, {gate}: one column per token, one row per unit, in the order of their means.",
                layer=name,
                gate=gate_name(gate.name),
            )
            yield token_units(about, tokens, gate.values, (0.0, 1.0))


def gated(found: Inspection) -> list[LayerGates]:
    """The layers that have gates."""
    return [layer for layer in found.gates if any(gate.name != STATE for gate in layer.gates)]


def _saturation(units: Sequence[tuple[Both, Row]], language: Language, for_page: bool) -> alt.Chart:
    """A point per unit. On the diagonal's far side a unit is always at one limit."""
    share = alt.Scale(domain=[0, 1])
    base, colour = _by_gate(units, language, for_page)
    return base.mark_point(filled=True, opacity=0.6).encode(
        x=alt.X("low:Q", title=CLOSED[language], scale=share, axis=alt.Axis(format="%", tickCount=4)),
        y=alt.Y("high:Q", title=OPEN[language], scale=share, axis=alt.Axis(format="%", tickCount=4)),
        color=colour,
        tooltip=["gate:N", "unit:Q", alt.Tooltip("low:Q", format=".0%"), alt.Tooltip("high:Q", format=".0%")],
    )


def _means(units: Sequence[tuple[Both, Row]], language: Language, for_page: bool) -> alt.Chart:
    """How many units have which mean."""
    base, colour = _by_gate(units, language, for_page)
    return base.mark_bar(opacity=0.6).encode(
        x=alt.X("mean:Q", title=both("mean over the steps")[language], bin=alt.Bin(maxbins=30)),
        y=alt.Y("count():Q", title=both("units")[language], stack=None),
        color=colour,
    )


def _by_gate(units: Sequence[tuple[Both, Row]], language: Language, for_page: bool) -> tuple[alt.Chart, alt.Color]:
    rows = [{"gate": gate[language], **unit} for gate, unit in units]
    order = list(dict.fromkeys(row["gate"] for row in rows))
    legend = alt.Legend(orient="bottom", title=None) if for_page else alt.Legend(title=GATE[language])
    colour = alt.Color("gate:N", sort=order, legend=legend)
    return alt.Chart(fig.data(rows), width=SIDE, height=SIDE), colour
