"""An inspection as one HTML page that needs no network: charts, data and Vega are in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Look, TokenWeight
from rnnlab.core.words import LANGUAGES, Both, Language, both, joined, same
from rnnlab.inspecting.gates import LayerGates
from rnnlab.inspecting.gradients import StateGradients
from rnnlab.inspecting.inspection import Inspection
from rnnlab.show.figures import inspection as charts
from rnnlab.show.inspection_texts import Wording, gate_name
from rnnlab.show.pages import shell
from rnnlab.show.pages.parts import Figure
from rnnlab.show.pages.table import Cell, Column, Row

MOST_TOKENS = 120  # pictures by token show so many
CURVES = {
    "state": same("∂h_T/∂h_t"),
    "cell": same("∂c_T/∂c_t"),
    "forget": both("forget gates alone"),
    "factors": both("product of factor norms"),
    "bound": same("‖W_hh‖^(T−t)"),
}
SECTIONS = {
    "tokens": both("What the answer rests on"),
    "gradients": both("Gradients through time"),
    "gates": both("Gates"),
}


@dataclass(frozen=True)
class Section:
    name: str  # its id
    title: Both
    said: list[Both]
    figures: list[Figure]


def page(found: Inspection, language: Language = "en") -> str:
    """The whole page, in both languages; ``language`` is the one it opens in."""
    wording = Wording(found)
    said = {"tokens": wording.tokens(), "gradients": wording.gradients(), "gates": wording.gates()}
    drawn = [_charts(found, wording, one) for one in LANGUAGES]
    sections = [
        Section(
            name,
            title,
            said[name],
            [
                _figure(f"{name}-{at}", by_language)
                for at, by_language in enumerate(zip(*(charts[name] for charts in drawn), strict=True))
            ],
        )
        for name, title in SECTIONS.items()
    ]
    shown = [section for section in sections if section.said or section.figures]
    return shell.page(
        "inspection.html",
        title=both("Inside {name}", name=found.subject.name),
        language=language,
        maker="rnnlab inspect",
        sections=[(section.name, section.title) for section in shown],
        figures=[figure for section in shown for figure in section.figures],
        about=wording.about(),
        parts=shown,
        look=_look(found),
        strip=both("Red speaks for the answer, blue against it (integrated gradients). Dotted: unknown to the model."),
        filters=_filters(found, wording),
        filters_title=both("The filters that counted most"),
    )


Drawn = tuple[Both, alt.Chart]  # a caption and its chart


def _charts(found: Inspection, wording: Wording, language: Language) -> dict[str, list[Drawn]]:
    """By section."""
    return {
        "tokens": list(_token_charts(found, language)),
        "gradients": list(_gradient_charts(found, language, wording)),
        "gates": list(_gate_charts(found, language, wording)),
    }


def _figure(name: str, drawn: tuple[Drawn, ...]) -> Figure:
    """The same chart in every language."""
    chart = dict(zip(LANGUAGES, [one for _, one in drawn], strict=True))
    return Figure(name, same(""), drawn[0][0], lambda language, for_page: chart[language])


def _look(found: Inspection) -> Look | None:
    """The text with its tokens weighed; nothing without a text."""
    if found.saliency is None or found.subject.tokens is None:
        return None
    weights = tuple(
        TokenWeight(token, weight, at not in found.subject.unknown)
        for at, (token, weight) in enumerate(zip(found.subject.tokens, found.saliency.integrated, strict=True))
    )
    answer = found.answer
    share = answer.probability if answer is not None and answer.probability is not None else 1.0
    return Look(found.label(found.saliency.target), share, weights, cut=0)


def _filters(found: Inspection, wording: Wording) -> tuple[list[Column], list[Row]] | None:
    """The filters of a convolution that counted most; nothing without any."""
    if not found.filters:
        return None
    columns = [
        Column(both("window"), number=False),
        *(Column(name) for name in (both("width"), both("activation"), both("adds to the output"))),
    ]
    rows = [
        Row(
            [
                Cell(wording.window(one)),
                Cell(str(one.width), one.width),
                Cell(f"{one.activation:.3f}", one.activation),
                Cell(f"{one.contribution:+.3f}", one.contribution),
            ]
        )
        for one in found.filters
    ]
    return columns, rows


def _token_charts(found: Inspection, language: Language) -> Iterator[Drawn]:
    if found.saliency is None or found.subject.tokens is None:
        return
    tokens = found.subject.tokens[:MOST_TOKENS]
    cut = _cut(found.subject.tokens)
    series = {
        both("integrated gradients")[language]: found.saliency.integrated[:MOST_TOKENS],
        both("occlusion")[language]: found.saliency.occlusion[:MOST_TOKENS],
    }
    caption = both(
        "What each token adds to the output for {label}: integrated gradients, and by how much "
        "the output falls when the token is replaced by the unknown word (occlusion).",
        label=found.label(found.saliency.target),
    )
    yield joined([caption, cut], ""), charts.token_bars(tokens, series, both("adds to the output")[language])
    if found.attention is None:
        return
    if found.attention.pooling is not None:
        weights = {both("weight")[language]: found.attention.pooling[:MOST_TOKENS]}
        yield (
            joined([both("Where attention pooling looked."), cut], ""),
            charts.token_bars(tokens, weights, both("weight")[language]),
        )
    for number, heads in enumerate(found.attention.maps, 1):
        for head, weights in enumerate(heads, 1):
            shown = [row[:MOST_TOKENS] for row in weights[:MOST_TOKENS]]
            chart = charts.attention_map(
                tokens, shown, both("looked at")[language], both("token")[language], both("weight")[language]
            )
            about = both(
                "Layer {number}, head {head}: how much each token (a row) looked at each (a column).",
                number=number,
                head=head,
            )
            yield joined([about, cut], ""), chart


def _cut(tokens: Sequence[str]) -> Both:
    return both(" The first {tokens} tokens.", tokens=MOST_TOKENS) if len(tokens) > MOST_TOKENS else same("")


def _gradient_charts(found: Inspection, language: Language, wording: Wording) -> Iterator[Drawn]:
    now = (both("trained") if found.subject.trained else both("untrained"))[language]
    first = {layer.name: layer for layer in found.through_time_at_first}
    for layer in found.through_time:
        rows = _curves(layer, language, now)
        if layer.name in first:
            before = first[layer.name]
            rows += _points(CURVES["state"][language], before.state, both("before training")[language])
            if before.cell is not None:
                rows += _points(CURVES["cell"][language], before.cell, both("before training")[language])
        caption = both(
            "{layer}: the norm of ∂h_T/∂h_t, exactly, and what bounds it. Down the axis gradients vanish.",
            layer=wording.layer(layer.name),
        )
        yield caption, charts.decay(rows, both("steps back, T − t")[language], both("norm")[language])
    rows = _points(both("∂ output / ∂ x_t")[language], found.by_input.norms, now)
    if found.by_input_at_first is not None:
        rows += _points(
            both("∂ output / ∂ x_t")[language], found.by_input_at_first.norms, both("before training")[language]
        )
    yield (
        both(
            "How much of the answer's gradient reaches an input, by its distance from the end: ‖∂ "
            "highest output / ∂ x_t‖, the mean over the sequences that reach so far."
        ),
        charts.decay(rows, both("steps before the end")[language], both("norm")[language]),
    )
    rows = [
        {"epoch": epoch["epoch"], "lag": lag, "norm": norm}
        for epoch in found.epochs
        for lag, norm in zip(epoch["lags"], epoch["norms"], strict=True)
    ]
    if rows:
        yield (
            both("The same while training, at some distances."),
            charts.by_epoch(
                rows, both("epoch")[language], both("norm")[language], both("steps before the end")[language]
            ),
        )


def _curves(layer: StateGradients, language: Language, when: str) -> list[dict[str, Any]]:
    named = {name: getattr(layer, name) for name in ("state", "cell", "forget", "factors", "bound")}
    return [
        row
        for name, norms in named.items()
        if norms is not None
        for row in _points(CURVES[name][language], norms, when)
    ]


def _points(curve: str, norms: Sequence[float], when: str) -> list[dict[str, Any]]:
    return [{"curve": curve, "lag": lag, "norm": norm, "when": when} for lag, norm in enumerate(norms) if norm < 1e300]


def _gate_charts(found: Inspection, language: Language, wording: Wording) -> Iterator[Drawn]:
    for layer in found.gates:
        name = wording.layer(layer.name)
        rows = [
            {"gate": gate_name(gate.name)[language], "unit": unit + 1, "low": low, "high": high, "mean": mean}
            for gate in layer.gates
            for unit, (low, high, mean) in enumerate(
                zip(gate.low_by_unit, gate.high_by_unit, gate.by_unit, strict=True)
            )
        ]
        yield (
            both(
                "{layer}: one point per unit. Right: closed most of the time; up: open most of the time; at "
                "0, 0: neither.",
                layer=name,
            ),
            charts.saturation(
                rows,
                both("closed (lower limit), share of steps")[language],
                both("open (upper limit), share of steps")[language],
                both("gate")[language],
            ),
        )
        yield (
            both("{layer}: how many units have which mean.", layer=name),
            charts.histogram(
                rows, both("mean over the steps")[language], both("units")[language], both("gate")[language]
            ),
        )
        yield from _token_unit_charts(found, layer, language, wording)


def _token_unit_charts(found: Inspection, layer: LayerGates, language: Language, wording: Wording) -> Iterator[Drawn]:
    if found.subject.tokens is None:
        return
    tokens, name = found.subject.tokens[:MOST_TOKENS], wording.layer(layer.name)
    cut = _cut(found.subject.tokens)
    if layer.kept_by_token is not None:
        kept = {both("share")[language]: layer.kept_by_token[:MOST_TOKENS]}
        about = both("{layer}: how much of the state at a token came from the step before.", layer=name)
        yield joined([about, cut], ""), charts.token_bars(tokens, kept, both("share")[language])
    for gate in layer.gates:
        assert gate.values is not None  # there is one text
        limits = (-1.0, 1.0) if gate.name == "state" else (0.0, 1.0)
        about = both(
            "{layer}, {gate}: one column per token, one row per unit, in the order of their means.",
            layer=name,
            gate=gate_name(gate.name),
        )
        caption = joined([about, cut], "")
        values = gate.values[:MOST_TOKENS]
        yield caption, charts.token_units(tokens, values, both("unit")[language], both("value")[language], limits)
