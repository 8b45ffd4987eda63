"""What gates do: how much of the time they are closed, open, or in between."""

import re
from collections.abc import Sequence

import altair as alt

from rnnlab.comparing.chapters import Chapter, GateShare
from rnnlab.show.figures.chart_text import AnyChart
from rnnlab.show.figures.pieces import ARM, LABEL_LIMIT, SHOWN, Row, data, finished, quoted, short, switches
from rnnlab.show.pages.parts import Both, Figure, Language, same
from rnnlab.show.words.inspection_wording import CHINESE

MOST_BARS = 60
STEP, BAR = 24, 16
ROOM_FOR_LEGEND = 260  # pixels
TITLE = Both("Gates", "门的状态")
CAPTION = Both(
    "Share of its values at which a gate is closed (below 0.1), open (above 0.9), or in between{state}.{cut}",
    "门的取值中关闭（低于 0.1）、打开（高于 0.9）和介于其间的比例{state}。{cut}",
)
STATE = Both(
    "; of a plain rnn, which has none, at which its state is near a limit",
    "；普通 RNN 没有门，这里是状态接近上下限的比例",
)
CUT = Both(" The first {shown} of {total} gates are shown.", "仅显示 {total} 个门中的前 {shown} 个。")
STATES = {"closed": Both("closed", "关闭"), "between": Both("in between", "介于其间"), "open": Both("open", "打开")}
SHADES = {"closed": "#b5483a", "between": "#9aa0a6", "open": "#2a7f8e"}
SHARE, MEAN = Both("share of its values", "取值的比例"), Both("mean", "平均")
GATE = Both("gate", "门")
LAYER = Both("layer {number}{way}", "第 {number} 层{way}")
BACKWARD = Both(" backward", "（反向）")


def gates_figure(chapter: Chapter, prefix: str = "") -> Figure | None:
    """None when no arm has a gate."""
    found = [(one.arm, gate) for one in chapter.internals for gate in one.gates]
    if not found:
        return None
    shown = found[:MOST_BARS]
    cut = CUT.format(shown=len(shown), total=len(found)) if len(shown) < len(found) else Both("", "")
    state = STATE if any(gate.gate == "state" for _, gate in shown) else Both("", "")
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


def gate_name(gate: GateShare) -> Both:
    """``layer 1 · forget``"""
    return Both("{layer} · {gate}", "{layer} · {gate}").format(
        layer=layer_name(gate.layer), gate=Both(gate.gate, _chinese_gate(gate.gate))
    )


def layer_name(name: str) -> Both:
    """``gru layer 2 backward`` → ``gru 第 2 层（反向）``; what else a plug-in calls its layers stays."""
    match = re.fullmatch(r"(?:(.+) )?layer (\d+)( backward)?", name)
    if match is None:
        return same(name)
    own = LAYER.format(number=match[2], way=BACKWARD if match[3] else same(""))
    return Both(f"{match[1]} {own.en}", f"{match[1]} {own.zh}") if match[1] else own


def _chinese_gate(name: str) -> str:
    names = CHINESE["gates"]
    return f"{names[name]}{'' if name == 'state' else '门'}" if isinstance(names, dict) and name in names else name


def _chart(shown: Sequence[tuple[str, GateShare]], language: Language) -> AnyChart:
    rows = gate_rows(shown)
    names = iter(gate_name(gate)[language] for _, gate in shown)
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
