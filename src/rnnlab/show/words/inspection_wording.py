"""What an inspection found, in sentences. Terminal and page say the same, in English or Chinese."""

import re
from collections.abc import Sequence
from typing import Literal

from rnnlab.inspecting.gates import Gate, LayerGates
from rnnlab.inspecting.gradients import StateGradients
from rnnlab.inspecting.inspection import Inspection
from rnnlab.inspecting.saliency import Fired, Saliency

Language = Literal["en", "zh"]
SHOWN_LAG = 20  # at which the textbook bound is compared with the truth
TOP = 3  # tokens named for and against

ENGLISH = {
    "separator": " ",
    "comma": ", ",
    "percent": "{:.1f} %",
    "on a text": "{name} ({kind}) on a text of {steps} tokens.",
    "unknown": "Unknown to the model: {tokens}.",
    "on rows": "{name} ({kind}) on {rows} validation rows of up to {steps} steps.",
    "on random": "{name} ({kind}) on {rows} random sequences of {steps} steps: its data can't be found any more.",
    "cost": "{total:,} parameters: {embedding:,} in the embedding, {encoder:,} in the encoder, {head:,} in the head. "
    "{flops:,} FLOPs a token; of {length:,} tokens, {serial:,} steps must wait for each other.",
    "pace": "One more step and its answer take {times}, one sequence on this machine.",
    "after": "{milliseconds:.2g} ms after {after:,}",
    "untrained": "{name} as it begins, untrained, on {rows} random sequences of {steps} steps.",
    "answer": "Its answer: {label} ({share}).",
    "number": "Its answer: {value:.4g}.",
    "layer": "{prefix}layer {number}{way}",
    "backward": ", backward",
    "memory": "{layer}: from {lag} steps back less than 1 % of the gradient arrives (‖∂h_T/∂h_t‖ below 0.01).",
    "no end": "{layer}: even from {lag} steps back, as far as was looked, {share} of the gradient arrives "
    "(‖∂h_T/∂h_t‖).",
    "grows": "{layer}: the gradient grows with distance: ‖∂h_T/∂h_t‖ is {value:.3g} at {lag} steps back.",
    "cell": "Through its cell: less than 1 % from {lag} steps back.",
    "cell no end": "Through its cell: still {share} from {lag} steps back.",
    "cell grows": "Through its cell it grows: {value:.3g} at {lag} steps back.",
    "at first": "Before training it was {lag} steps.",
    "at first no end": "Before training it was more than {lag} steps.",
    "bound": "W_hh has spectral radius {radius:.2f} and norm {norm:.2f}. The textbook bound ‖W_hh‖^{lag} is "
    "{bound:.2g}; the gradient at lag {lag} is {exact:.2g}. The bound is a ceiling, not an estimate.",
    "radius": "Spectral radius of its recurrent weights: {gates}.",
    "inputs": "The answer's gradient: inputs {lag} steps or more before the end get less than 1 % of what the "
    "strongest gets.",
    "inputs no end": "The answer's gradient: the input furthest from the end ({lag} steps) gets {share} of what the "
    "strongest gets.",
    "epochs": "That distance by epoch: {lags}.",
    "more than": "more than {lag}",
    "gate": "{layer}, {gate} gate: {mean:.2f} on average; closed {low} and open {high} of the time.",
    "states": "{layer}: {share} of the states are saturated (|h| above 0.9).",
    "relu states": "{layer}: {share} of the states are 0.",
    "kept": "{share} of a new state came from the step before.",
    "dead": "{dead} of {units} units are dead: whatever they read, they say the same.",
    "none dead": "None of the {units} units is dead.",
    "for": "For {label} speak {tokens}.",
    "against": "Against it: {tokens}.",
    "complete": "Integrated gradients; together they account for {share} of the output's distance ({distance:+.2f}) "
    "from that of a blank text.",
    "falls": "Without “{token}” the output for {label} would fall by {value:.2f}.",
    "rises": "Without “{token}” the output for {label} would rise by {value:.2f}.",
    "attention": "Attention pooling looked most at {tokens}.",
    "filters": "The filters that counted most fired at {windows}.",
    "gates": {},
}
CHINESE = {
    "separator": "",
    "comma": "、",
    "percent": "{:.1f}%",
    "on a text": "{name}（{kind}），文本共 {steps} 个词元。",
    "unknown": "模型不认识的词元：{tokens}。",
    "on rows": "{name}（{kind}），{rows} 条验证样本，最长 {steps} 步。",
    "on random": "{name}（{kind}），{rows} 条随机序列，每条 {steps} 步：找不到它的数据了。",
    "cost": "{total:,} 个参数：嵌入 {embedding:,}，编码器 {encoder:,}，输出层 {head:,}。"
    "每个词元 {flops:,} 次浮点运算；{length:,} 个词元中有 {serial:,} 步必须依次进行。",
    "pace": "再读一步并给出答案所需的时间：{times}（单个序列，本机实测）。",
    "after": "已读 {after:,} 步后 {milliseconds:.2g} 毫秒",
    "untrained": "未经训练的 {name}，{rows} 条随机序列，每条 {steps} 步。",
    "answer": "它的回答：{label}（{share}）。",
    "number": "它的回答：{value:.4g}。",
    "layer": "{prefix}第 {number} 层{way}",
    "backward": "（反向）",
    "memory": "{layer}：往回 {lag} 步起，到达的梯度不足 1%（‖∂h_T/∂h_t‖ 低于 0.01）。",
    "no end": "{layer}：在所看的范围内，往回 {lag} 步仍有 {share} 的梯度到达（‖∂h_T/∂h_t‖）。",
    "grows": "{layer}：梯度随距离增大：往回 {lag} 步时 ‖∂h_T/∂h_t‖ 为 {value:.3g}。",
    "cell": "经由细胞状态：往回 {lag} 步起不足 1%。",
    "cell no end": "经由细胞状态：往回 {lag} 步仍有 {share}。",
    "cell grows": "经由细胞状态则增大：往回 {lag} 步时为 {value:.3g}。",
    "at first": "训练前是 {lag} 步。",
    "at first no end": "训练前超过 {lag} 步。",
    "bound": "W_hh 的谱半径为 {radius:.2f}，谱范数为 {norm:.2f}。教科书上的界 ‖W_hh‖^{lag} 为 {bound:.2g}，"
    "而相隔 {lag} 步的梯度实为 {exact:.2g}。界只是上限，不是估计。",
    "radius": "循环权重的谱半径：{gates}。",
    "inputs": "回答的梯度：离末尾 {lag} 步及更远的输入，得到的不足最强者的 1%。",
    "inputs no end": "回答的梯度：离末尾最远的输入（{lag} 步）得到最强者的 {share}。",
    "epochs": "这一距离逐轮为：{lags}。",
    "more than": "超过 {lag}",
    "gate": "{layer}，{gate}门：平均 {mean:.2f}；{low} 的时间关闭，{high} 的时间打开。",
    "states": "{layer}：{share} 的状态饱和（|h| 大于 0.9）。",
    "relu states": "{layer}：{share} 的状态为 0。",
    "kept": "新状态中有 {share} 来自上一步。",
    "dead": "{units} 个单元中有 {dead} 个是死的：无论读到什么，输出都一样。",
    "none dead": "{units} 个单元中没有死单元。",
    "for": "支持 {label} 的有：{tokens}。",
    "against": "反对的有：{tokens}。",
    "complete": "积分梯度；各词元合计占输出与空白文本输出之差（{distance:+.2f}）的 {share}。",
    "falls": "去掉“{token}”，{label} 的输出会降低 {value:.2f}。",
    "rises": "去掉“{token}”，{label} 的输出会升高 {value:.2f}。",
    "attention": "注意力池化看得最多的是：{tokens}。",
    "filters": "最起作用的卷积核在此激活：{windows}。",
    "gates": {
        "input": "输入",
        "forget": "遗忘",
        "output": "输出",
        "reset": "重置",
        "update": "更新",
        "keep": "保留",
        "candidate": "候选",
        "state": "状态",
    },
}


def lines(found: Inspection, language: Language = "en") -> list[str]:
    """For a terminal: the sections, an empty line between them."""
    wording = Wording(found, language)
    said: list[str] = []
    for section in (wording.about(), wording.tokens(), wording.gradients(), wording.gates()):
        said += ([""] if said and section else []) + section
    return said


class Wording:
    """The sentences of one inspection, by section."""

    def __init__(self, found: Inspection, language: Language):
        self.found = found
        self.words = CHINESE if language == "zh" else ENGLISH

    def about(self) -> list[str]:
        found, subject = self.found, self.found.subject
        key = {"text": "on a text", "rows": "on rows", "random": "on random" if subject.trained else "untrained"}
        said = [
            self._say(key[subject.source], name=subject.name, kind=subject.kind, rows=found.rows, steps=found.longest)
        ]
        if subject.tokens and subject.unknown:
            said.append(self._say("unknown", tokens=self._list([subject.tokens[at] for at in subject.unknown])))
        if found.answer is not None and found.answer.probability is not None:
            share = self._percent(found.answer.probability)
            said.append(self._say("answer", label=found.answer.label, share=share))
        elif found.answer is not None:
            said.append(self._say("number", value=next(iter(found.answer.outputs.values()))))
        if found.cost is not None:
            parts = {key: found.cost.parameters[key] for key in ("total", "embedding", "encoder", "head")}
            flops, serial = round(found.cost.flops_per_token), found.cost.serial_steps
            said.append(self._say("cost", **parts, flops=flops, length=found.cost.length, serial=serial))
        if found.pace:
            times = self._list([self._say("after", **one.to_dict()) for one in found.pace])
            said.append(self._say("pace", times=times))
        return said

    def gradients(self) -> list[str]:
        said = []
        first = {layer.name: layer for layer in self.found.through_time_at_first}
        for layer in self.found.through_time:
            said.append(self._join([*self._memory(layer), *self._before(first.get(layer.name))]))
            said += self._weights(layer)
        return said + self._by_input()

    def _memory(self, layer: StateGradients) -> list[str]:
        name, last = self.layer(layer.name), layer.state[-1]
        if layer.memory is not None:
            said = [self._say("memory", layer=name, lag=layer.memory)]
        elif last > 1:
            said = [self._say("grows", layer=name, value=last, lag=layer.lags)]
        else:
            said = [self._say("no end", layer=name, share=self._percent(last), lag=layer.lags)]
        if layer.cell is not None and layer.cell_memory is not None:
            said.append(self._say("cell", lag=layer.cell_memory))
        elif layer.cell is not None and layer.cell[-1] > 1:
            said.append(self._say("cell grows", value=layer.cell[-1], lag=layer.lags))
        elif layer.cell is not None:
            said.append(self._say("cell no end", share=self._percent(layer.cell[-1]), lag=layer.lags))
        return said

    def _before(self, layer: StateGradients | None) -> list[str]:
        if layer is None:
            return []
        if layer.memory is None:
            return [self._say("at first no end", lag=layer.lags)]
        return [self._say("at first", lag=layer.memory)]

    def _weights(self, layer: StateGradients) -> list[str]:
        radius, norm = layer.spectral_radius, layer.spectral_norm
        if layer.bound is not None:
            lag = min(SHOWN_LAG, layer.lags)
            figures = {"radius": radius["state"], "norm": norm["state"], "bound": layer.bound[lag]}
            return [self._say("bound", lag=lag, exact=layer.state[lag], **figures)]
        if not radius:
            return []
        return [
            self._say("radius", gates=self._list([f"{self.gate(gate)} {value:.2f}" for gate, value in radius.items()]))
        ]

    def _by_input(self) -> list[str]:
        curve = self.found.by_input
        furthest = len(curve.norms) - 1
        if curve.memory is not None:
            said = [self._say("inputs", lag=curve.memory)]
        else:
            share = self._percent(curve.norms[-1] / max(curve.norms))
            said = [self._say("inputs no end", lag=furthest, share=share)]
        if self.found.epochs:
            lags = [
                str(epoch["memory"]) if epoch["memory"] is not None else self._say("more than", lag=epoch["lags"][-1])
                for epoch in self.found.epochs
            ]
            said.append(self._say("epochs", lags=self._list(lags)))
        return said

    def gates(self) -> list[str]:
        return [sentence for layer in self.found.gates for sentence in self._layer_gates(layer)]

    def _layer_gates(self, layer: LayerGates) -> list[str]:
        said = [self._gate(layer, gate) for gate in layer.gates]
        rest = [self._say("kept", share=self._percent(layer.kept))] if layer.kept is not None else []
        rest.append(self._say("dead" if layer.dead else "none dead", dead=len(layer.dead), units=layer.units))
        return [*said, self._join(rest)]

    def _gate(self, layer: LayerGates, gate: Gate) -> str:
        name = self.layer(layer.name)
        if gate.name == "state":
            relu = gate.high == 0 and self.found.subject.settings.get("activation") == "relu"
            share = self._percent(gate.low + gate.high)
            return self._say("relu states" if relu else "states", layer=name, share=share)
        low, high = self._percent(gate.low), self._percent(gate.high)
        return self._say("gate", layer=name, gate=self.gate(gate.name), mean=gate.mean, low=low, high=high)

    def tokens(self) -> list[str]:
        """What the answer to a text rests on; nothing without a text."""
        found, tokens = self.found, self.found.subject.tokens
        if tokens is None or found.saliency is None:
            return []
        label = found.label(found.saliency.target)
        said = [
            self._join(self._integrated(found.saliency, tokens, label)),
            self._occlusion(found.saliency, tokens, label),
        ]
        if found.attention is not None and found.attention.pooling is not None:
            weights = found.attention.pooling
            top = sorted(range(len(tokens)), key=lambda at: -weights[at])[:TOP]
            listed = self._list([f"{tokens[at]} ({self._percent(weights[at])})" for at in top])
            said.append(self._say("attention", tokens=listed))
        if found.filters:
            windows = [f"“{self.window(one)}” ({one.contribution:+.2f})" for one in found.filters[:TOP]]
            said.append(self._say("filters", windows=self._list(windows)))
        return said

    def _integrated(self, saliency: Saliency, tokens: Sequence[str], label: str) -> list[str]:
        shares = saliency.integrated
        order = sorted(range(len(tokens)), key=lambda at: -shares[at])
        parts = {
            "for": [at for at in order if shares[at] > 0][:TOP],
            "against": [at for at in reversed(order) if shares[at] < 0][:TOP],
        }
        said = [
            self._say(key, label=label, tokens=self._list([f"{tokens[at]} ({shares[at]:+.2f})" for at in positions]))
            for key, positions in parts.items()
            if positions
        ]
        distance = saliency.output - saliency.baseline
        if distance:
            said.append(self._say("complete", share=self._percent(sum(shares) / distance), distance=distance))
        return said

    def _occlusion(self, saliency: Saliency, tokens: Sequence[str], label: str) -> str:
        at = max(range(len(tokens)), key=lambda n: abs(saliency.occlusion[n]))
        change = saliency.occlusion[at]
        return self._say("falls" if change >= 0 else "rises", token=tokens[at], label=label, value=abs(change))

    def window(self, fired: Fired) -> str:
        """The tokens that a filter saw."""
        tokens = self.found.subject.tokens or ()
        return " ".join(tokens[fired.start : fired.start + fired.width])

    def layer(self, name: str) -> str:
        """``"gru layer 1 backward"`` in this language, to begin a sentence with."""
        match = re.fullmatch(r"(.* )?layer (\d+)( backward)?", name)
        if match is not None:
            way = str(self.words["backward"]) if match[3] else ""
            name = self._say("layer", prefix=match[1] or "", number=match[2], way=way)
        return name[:1].upper() + name[1:]

    def gate(self, name: str) -> str:
        names = self.words["gates"]
        assert isinstance(names, dict)
        return names.get(name, name)

    def _percent(self, share: float) -> str:
        return str(self.words["percent"]).format(100 * share)

    def _say(self, key: str, **values: object) -> str:
        return str(self.words[key]).format(**values)

    def _list(self, items: Sequence[str]) -> str:
        return str(self.words["comma"]).join(items)

    def _join(self, sentences: Sequence[str]) -> str:
        return str(self.words["separator"]).join(sentences)
