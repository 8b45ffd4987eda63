"""An inspection as one HTML page that needs no network: charts, data and Vega are in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Look, TokenWeight
from rnnlab.inspecting.gates import LayerGates
from rnnlab.inspecting.gradients import StateGradients
from rnnlab.inspecting.inspection import Inspection
from rnnlab.show.figures import inspection as charts
from rnnlab.show.pages import shell
from rnnlab.show.pages.parts import LANGUAGES, Both, Figure, Language, same
from rnnlab.show.pages.table import Cell, Column, Row
from rnnlab.show.words.inspection_wording import Wording

MOST_TOKENS = 120  # pictures by token show so many
PAGE_WORDS = {
    "en": {
        "title": "Inside {name}",
        "gradients": "Gradients through time",
        "gates": "Gates",
        "tokens": "What the answer rests on",
        "strip": "Red speaks for the answer, blue against it (integrated gradients). Dotted: unknown to the model.",
        "filters": "The filters that counted most",
        "through time": "{layer}: the norm of ∂h_T/∂h_t, exactly, and what bounds it. Down the axis gradients vanish.",
        "lag": "steps back, T − t",
        "norm": "norm",
        "trained": "trained",
        "untrained": "untrained",
        "before training": "before training",
        "state": "∂h_T/∂h_t",
        "cell": "∂c_T/∂c_t",
        "input": "∂ output / ∂ x_t",
        "forget": "forget gates alone",
        "factors": "product of factor norms",
        "bound": "‖W_hh‖^(T−t)",
        "by input": "How much of the answer's gradient reaches an input, by its distance from the end: "
        "‖∂ highest output / ∂ x_t‖, the mean over the sequences that reach so far.",
        "distance": "steps before the end",
        "by epoch": "The same while training, at some distances.",
        "epoch": "epoch",
        "saturation": "{layer}: a point a unit. Right: closed most of the time; up: open most of the time; "
        "at 0, 0: neither.",
        "low": "closed (lower limit), share of steps",
        "high": "open (upper limit), share of steps",
        "gate": "gate",
        "means": "{layer}: how many units have which mean.",
        "mean": "mean over the steps",
        "units": "units",
        "token units": "{layer}, {gate}: a column a token, a row a unit, in the order of their means.",
        "unit": "unit",
        "value": "value",
        "kept": "{layer}: how much of the state at a token came from the step before.",
        "share": "share",
        "saliency": "What each token adds to the output for {label}: integrated gradients, and by how much the output "
        "falls when the token is replaced by the unknown word (occlusion).",
        "integrated": "integrated gradients",
        "occlusion": "occlusion",
        "output": "adds to the output",
        "pooling": "Where attention pooling looked.",
        "weight": "weight",
        "map": "Layer {number}, head {head}: how much each token (a row) looked at each (a column).",
        "looked at": "looked at",
        "token": "token",
        "window": "window",
        "width": "width",
        "activation": "activation",
        "contribution": "adds to the output",
        "first tokens": " The first {tokens} tokens.",
    },
    "zh": {
        "title": "{name} 的内部",
        "gradients": "随时间传播的梯度",
        "gates": "门",
        "tokens": "回答的依据",
        "strip": "红色支持该回答，蓝色反对（积分梯度）。虚线：模型不认识的词元。",
        "filters": "最起作用的卷积核",
        "through time": "{layer}：∂h_T/∂h_t 的精确范数及其上界。越往下，梯度越接近消失。",
        "lag": "往回的步数 T − t",
        "norm": "范数",
        "trained": "训练后",
        "untrained": "未训练",
        "before training": "训练前",
        "state": "∂h_T/∂h_t",
        "cell": "∂c_T/∂c_t",
        "input": "∂ 输出 / ∂ x_t",
        "forget": "仅遗忘门",
        "factors": "各步范数之积",
        "bound": "‖W_hh‖^(T−t)",
        "by input": "回答的梯度有多少到达某个输入，按离末尾的距离：‖∂ 最高输出 / ∂ x_t‖，对足够长的序列取平均。",
        "distance": "离末尾的步数",
        "by epoch": "训练过程中，在若干距离上的同一数值。",
        "epoch": "轮",
        "saturation": "{layer}：每个点是一个单元。靠右：多数时间关闭；靠上：多数时间打开；在原点：两者皆非。",
        "low": "关闭（下限）的时间占比",
        "high": "打开（上限）的时间占比",
        "gate": "门",
        "means": "{layer}：各平均值的单元数。",
        "mean": "各步的平均值",
        "units": "单元数",
        "token units": "{layer}，{gate}：每列一个词元，每行一个单元（按平均值排序）。",
        "unit": "单元",
        "value": "值",
        "kept": "{layer}：每个词元处的状态有多少来自上一步。",
        "share": "占比",
        "saliency": "每个词元对 {label} 输出的贡献：积分梯度；以及把该词元换成未知词时输出降低多少（遮挡）。",
        "integrated": "积分梯度",
        "occlusion": "遮挡",
        "output": "对输出的贡献",
        "pooling": "注意力池化看向何处。",
        "weight": "权重",
        "map": "第 {number} 层第 {head} 头：每个词元（行）看每个词元（列）的程度。",
        "looked at": "被看的词元",
        "token": "词元",
        "window": "窗口",
        "width": "宽度",
        "activation": "激活值",
        "contribution": "对输出的贡献",
        "first tokens": "只画前 {tokens} 个词元。",
    },
}


SECTIONS = ("tokens", "gradients", "gates")


@dataclass(frozen=True)
class Section:
    name: str  # its id
    title: Both
    said: list[Both]
    figures: list[Figure]


def page(found: Inspection, language: Language = "en") -> str:
    """The whole page, in both languages; ``language`` is the one it opens in."""
    by_language = [_sections(found, one) for one in LANGUAGES]
    sections = [
        Section(
            name,
            word(name),
            [Both(*texts) for texts in zip(*(said for said, _ in parts), strict=True)],
            [
                _figure(f"{name}-{at}", drawn)
                for at, drawn in enumerate(zip(*(drawn for _, drawn in parts), strict=True))
            ],
        )
        for name, *parts in zip(SECTIONS, *by_language, strict=True)
    ]
    shown = [section for section in sections if section.said or section.figures]
    wordings = [Wording(found, one) for one in LANGUAGES]
    return shell.page(
        "inspection.html",
        title=word("title", name=found.subject.name),
        language=language,
        maker="rnnlab inspect",
        sections=[(section.name, section.title) for section in shown],
        figures=[figure for section in shown for figure in section.figures],
        about=[Both(*texts) for texts in zip(*(wording.about() for wording in wordings), strict=True)],
        parts=shown,
        look=_look(found),
        strip=word("strip"),
        filters=_filters(found, wordings[0]),
        filters_title=word("filters"),
    )


def word(key: str, **gaps: Any) -> Both:
    return Both(*(PAGE_WORDS[language][key] for language in LANGUAGES)).format(**gaps)


Drawn = tuple[str, alt.Chart]  # a caption and its chart


def _sections(found: Inspection, language: Language) -> list[tuple[list[str], list[Drawn]]]:
    """Sentences and charts, in the order of `SECTIONS`."""
    words, wording = PAGE_WORDS[language], Wording(found, language)
    return [
        (wording.tokens(), list(_token_charts(found, words))),
        (wording.gradients(), list(_gradient_charts(found, words, wording))),
        (wording.gates(), list(_gate_charts(found, words, wording))),
    ]


def _figure(name: str, drawn: tuple[Drawn, ...]) -> Figure:
    captions, by_language = zip(*drawn, strict=True)
    chart = dict(zip(LANGUAGES, by_language, strict=True))
    return Figure(name, same(""), Both(*captions), lambda language, for_page: chart[language])


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
        Column(word("window"), number=False),
        *(Column(word(key)) for key in ("width", "activation", "contribution")),
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


def _token_charts(found: Inspection, words: dict[str, str]) -> Iterator[Drawn]:
    if found.saliency is None or found.subject.tokens is None:
        return
    tokens = found.subject.tokens[:MOST_TOKENS]
    cut = words["first tokens"].format(tokens=MOST_TOKENS) if len(found.subject.tokens) > MOST_TOKENS else ""
    series = {
        words["integrated"]: found.saliency.integrated[:MOST_TOKENS],
        words["occlusion"]: found.saliency.occlusion[:MOST_TOKENS],
    }
    caption = words["saliency"].format(label=found.label(found.saliency.target))
    yield caption + cut, charts.token_bars(tokens, series, words["output"])
    if found.attention is None:
        return
    if found.attention.pooling is not None:
        weights = {words["weight"]: found.attention.pooling[:MOST_TOKENS]}
        yield words["pooling"] + cut, charts.token_bars(tokens, weights, words["weight"])
    for number, heads in enumerate(found.attention.maps, 1):
        for head, weights in enumerate(heads, 1):
            shown = [row[:MOST_TOKENS] for row in weights[:MOST_TOKENS]]
            chart = charts.attention_map(tokens, shown, words["looked at"], words["token"], words["weight"])
            yield words["map"].format(number=number, head=head) + cut, chart


def _gradient_charts(found: Inspection, words: dict[str, str], wording: Wording) -> Iterator[Drawn]:
    now = words["trained" if found.subject.trained else "untrained"]
    first = {layer.name: layer for layer in found.through_time_at_first}
    for layer in found.through_time:
        rows = _curves(layer, words, now)
        if layer.name in first:
            before = first[layer.name]
            rows += _points(words["state"], before.state, words["before training"])
            if before.cell is not None:
                rows += _points(words["cell"], before.cell, words["before training"])
        caption = words["through time"].format(layer=wording.layer(layer.name))
        yield caption, charts.decay(rows, words["lag"], words["norm"])
    rows = _points(words["input"], found.by_input.norms, now)
    if found.by_input_at_first is not None:
        rows += _points(words["input"], found.by_input_at_first.norms, words["before training"])
    yield words["by input"], charts.decay(rows, words["distance"], words["norm"])
    rows = [
        {"epoch": epoch["epoch"], "lag": lag, "norm": norm}
        for epoch in found.epochs
        for lag, norm in zip(epoch["lags"], epoch["norms"], strict=True)
    ]
    if rows:
        yield words["by epoch"], charts.by_epoch(rows, words["epoch"], words["norm"], words["distance"])


def _curves(layer: StateGradients, words: dict[str, str], when: str) -> list[dict[str, Any]]:
    named = {name: getattr(layer, name) for name in ("state", "cell", "forget", "factors", "bound")}
    return [row for name, norms in named.items() if norms is not None for row in _points(words[name], norms, when)]


def _points(curve: str, norms: Sequence[float], when: str) -> list[dict[str, Any]]:
    return [{"curve": curve, "lag": lag, "norm": norm, "when": when} for lag, norm in enumerate(norms) if norm < 1e300]


def _gate_charts(found: Inspection, words: dict[str, str], wording: Wording) -> Iterator[Drawn]:
    for layer in found.gates:
        name = wording.layer(layer.name)
        rows = [
            {"gate": wording.gate(gate.name), "unit": unit + 1, "low": low, "high": high, "mean": mean}
            for gate in layer.gates
            for unit, (low, high, mean) in enumerate(
                zip(gate.low_by_unit, gate.high_by_unit, gate.by_unit, strict=True)
            )
        ]
        yield (
            words["saturation"].format(layer=name),
            charts.saturation(rows, words["low"], words["high"], words["gate"]),
        )
        yield words["means"].format(layer=name), charts.histogram(rows, words["mean"], words["units"], words["gate"])
        yield from _token_unit_charts(found, layer, words, wording)


def _token_unit_charts(
    found: Inspection, layer: LayerGates, words: dict[str, str], wording: Wording
) -> Iterator[Drawn]:
    if found.subject.tokens is None:
        return
    tokens, name = found.subject.tokens[:MOST_TOKENS], wording.layer(layer.name)
    cut = words["first tokens"].format(tokens=MOST_TOKENS) if len(found.subject.tokens) > MOST_TOKENS else ""
    if layer.kept_by_token is not None:
        kept = {words["share"]: layer.kept_by_token[:MOST_TOKENS]}
        yield words["kept"].format(layer=name) + cut, charts.token_bars(tokens, kept, words["share"])
    for gate in layer.gates:
        assert gate.values is not None  # there is one text
        limits = (-1.0, 1.0) if gate.name == "state" else (0.0, 1.0)
        caption = words["token units"].format(layer=name, gate=wording.gate(gate.name)) + cut
        values = gate.values[:MOST_TOKENS]
        yield caption, charts.token_units(tokens, values, words["unit"], words["value"], limits)
