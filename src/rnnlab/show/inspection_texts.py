"""What an inspection found, in sentences. Terminal and page say the same."""

import re
from collections.abc import Sequence
from typing import Any

from rnnlab.core.numbers import duration, magnitude
from rnnlab.core.words import SENTENCES, Both, Language, both, capitalised, joined, listed, same
from rnnlab.inspecting.gates import Gate, LayerGates
from rnnlab.inspecting.gradients import StateGradients
from rnnlab.inspecting.inspection import Inspection
from rnnlab.inspecting.saliency import Fired, Saliency

SHOWN_LAG = 20  # at which the textbook bound is compared with the truth
TOP = 3  # tokens named for and against

GATES = {
    "input": both("input", _context="gate"),
    "forget": both("forget", _context="gate"),
    "output": both("output", _context="gate"),
    "reset": both("reset", _context="gate"),
    "update": both("update", _context="gate"),
    "keep": both("keep", _context="gate"),
    "candidate": both("candidate", _context="gate"),
    "state": both("state", _context="gate"),
}


def gate_name(name: str) -> Both:
    return GATES.get(name, same(name))


def layer_name(name: str) -> Both:
    """``gru layer 2 backward`` → ``gru 第 2 层（反向）``; what else a plug-in calls its layers stays."""
    match = re.fullmatch(r"(.* )?layer (\d+)( backward)?", name)
    if match is None:
        return same(name)
    prefix, number = match[1] or "", match[2]
    if match[3]:
        return both("{prefix}layer {number}, backward", prefix=prefix, number=number)
    return both("{prefix}layer {number}", prefix=prefix, number=number)


def lines(found: Inspection, language: Language = "en") -> list[str]:
    """For a terminal: the sections, an empty line between them."""
    wording = Wording(found)
    said: list[str] = []
    for section in (wording.about(), wording.tokens(), wording.gradients(), wording.gates()):
        said += ([""] if said and section else []) + [sentence[language] for sentence in section]
    return said


class Wording:
    """The sentences of one inspection, by section."""

    def __init__(self, found: Inspection):
        self.found = found

    def about(self) -> list[Both]:
        found, subject = self.found, self.found.subject
        if subject.source == "text":
            text = both("{name} ({kind}) on a text of {steps} tokens.")
        elif subject.source == "rows":
            text = both("{name} ({kind}) on {rows} validation rows of up to {steps} steps.")
        elif subject.trained:
            text = both(
                "{name} ({kind}) on {rows} random sequences of {steps} steps: its data can't be found any more."
            )
        else:
            text = both("{name} as it begins, untrained, on {rows} random sequences of {steps} steps.")
        said = [text.format(name=subject.name, kind=subject.kind, rows=found.rows, steps=found.longest)]
        if subject.tokens and subject.unknown:
            unknown = [subject.tokens[at] for at in subject.unknown]
            said.append(both("Unknown to the model: {tokens}.", tokens=_list(unknown)))
        if found.answer is not None and found.answer.probability is not None:
            share = _percent(found.answer.probability)
            if subject.by_step and subject.tokens:
                text = both("Its answer at the last token, “{token}”: {label} ({share}). All that follows is about it.")
            else:
                text = both("Its answer: {label} ({share}).")
            token = subject.tokens[-1] if subject.tokens else ""
            said.append(text.format(token=token, label=found.answer.label, share=share))
        elif found.answer is not None:
            said.append(both("Its answer: {value:.4g}.", value=next(iter(found.answer.outputs.values()))))
        if found.cost is not None:
            cost = found.cost
            parts = {key: cost.parameters[key] for key in ("total", "embedding", "encoder", "head")}
            text = both(
                "{total:,} parameters: {embedding:,} in the embedding, {encoder:,} in the encoder, {head:,} in the "
                "head. {flops:,} FLOPs per token; of {length:,} tokens, {serial:,} steps must wait for each other."
            )
            flops = round(cost.flops_per_token)
            said.append(text.format(**parts, flops=flops, length=cost.length, serial=cost.serial_steps))
        if found.pace:
            times = [
                both("{time} after {after:,}", time=duration(one.milliseconds / 1000), after=one.after)
                for one in found.pace
            ]
            text = both("One more step and its answer take {times}, one sequence on this machine.")
            said.append(text.format(times=_list(times)))
        return said

    def gradients(self) -> list[Both]:
        said = []
        first = {layer.name: layer for layer in self.found.through_time_at_first}
        for layer in self.found.through_time:
            said.append(joined([*self._memory(layer), *self._before(first.get(layer.name))], SENTENCES))
            said += self._weights(layer)
        return said + self._by_input()

    def _memory(self, layer: StateGradients) -> list[Both]:
        last, cell = layer.state[-1], layer.cell
        gaps = {"layer": self.layer(layer.name), "value": magnitude(last), "share": _percent(last), "lag": layer.lags}
        if layer.memory is not None:
            text = both(
                "{layer}: from {lag} steps back less than 1 % of the gradient arrives (‖∂h_T/∂h_t‖ below 0.01)."
            )
            gaps["lag"] = layer.memory
        elif last > 1:
            text = both("{layer}: the gradient grows with distance: ‖∂h_T/∂h_t‖ is {value} at {lag} steps back.")
        else:
            text = both(
                "{layer}: even from {lag} steps back, as far as was looked, {share} of the gradient arrives "
                "(‖∂h_T/∂h_t‖)."
            )
        said = [text.format(**gaps), *self._time(gaps["lag"])]
        if cell is None:
            return said
        if layer.cell_memory is not None:
            return [*said, both("Through its cell: less than 1 % from {lag} steps back.", lag=layer.cell_memory)]
        gaps = {"value": magnitude(cell[-1]), "share": _percent(cell[-1]), "lag": layer.lags}
        if cell[-1] > 1:
            return [*said, both("Through its cell it grows: {value} at {lag} steps back.", **gaps)]
        return [*said, both("Through its cell: still {share} from {lag} steps back.", **gaps)]

    def _before(self, layer: StateGradients | None) -> list[Both]:
        if layer is None:
            return []
        if layer.memory is None:
            return [both("Before training it was more than {lag} steps.", lag=layer.lags)]
        return [both("Before training it was {lag} steps.", lag=layer.memory)]

    def _weights(self, layer: StateGradients) -> list[Both]:
        radius, norm = layer.spectral_radius, layer.spectral_norm
        if layer.bound is not None:
            lag = min(SHOWN_LAG, layer.lags)
            figures = {"radius": radius["state"], "norm": norm["state"], "bound": magnitude(layer.bound[lag])}
            text = both(
                "W_hh has spectral radius {radius:.2f} and norm {norm:.2f}. The textbook bound ‖W_hh‖^{lag} is "
                "{bound}; the gradient at lag {lag} is {exact}. The bound is a ceiling, not an estimate."
            )
            return [text.format(lag=lag, exact=magnitude(layer.state[lag]), **figures)]
        gates = [both("{gate} {value:.2f}", gate=gate_name(gate), value=value) for gate, value in radius.items()]
        return [both("Spectral radius of its recurrent weights: {gates}.", gates=_list(gates))] if gates else []

    def _time(self, steps: int) -> list[Both]:
        """How long so many steps are, where there are dates."""
        spacing = self.found.subject.spacing
        return (
            []
            if spacing is None or not steps
            else [both("{steps} steps are {time}.", steps=steps, time=spacing.over(steps))]
        )

    def _reach(self) -> list[Both]:
        """In which time most of the gradient lies, where there are dates."""
        spacing, curve = self.found.subject.spacing, self.found.by_input
        if spacing is None or not sum(curve.norms):
            return []
        text = both("Half of the gradient lies in the last {half}, 90 % in the last {most}; {read} are read.")
        half, most = (spacing.over(curve.within(share)) for share in (0.5, 0.9))
        return [text.format(half=half, most=most, read=spacing.over(self.found.longest))]

    def _by_input(self) -> list[Both]:
        curve = self.found.by_input
        if curve.memory is not None:
            text = both(
                "The answer's gradient: inputs {lag} steps or more before the end get less than 1 % of what the "
                "strongest gets."
            )
            said = [text.format(lag=curve.memory)]
        else:
            text = both(
                "The answer's gradient: the input furthest from the end ({lag} steps) gets {share} of what the "
                "strongest gets."
            )
            said = [text.format(lag=len(curve.norms) - 1, share=_percent(curve.norms[-1] / max(curve.norms)))]
        said += self._reach()
        if self.found.epochs:
            lags = [
                str(epoch["memory"]) if epoch["memory"] is not None else both("more than {lag}", lag=epoch["lags"][-1])
                for epoch in self.found.epochs
            ]
            said.append(both("That distance by epoch: {lags}.", lags=_list(lags)))
        return said

    def gates(self) -> list[Both]:
        return [sentence for layer in self.found.gates for sentence in self._layer_gates(layer)]

    def _layer_gates(self, layer: LayerGates) -> list[Both]:
        rest = []
        if layer.kept is not None:
            rest.append(both("{share} of a new state came from the step before.", share=_percent(layer.kept)))
        if layer.dead:
            text = both("{dead} of {units} units are dead: whatever they read, they say the same.")
        else:
            text = both("None of the {units} units is dead.")
        rest.append(text.format(dead=len(layer.dead), units=layer.units))
        return [*(self._gate(layer, gate) for gate in layer.gates), joined(rest, SENTENCES)]

    def _gate(self, layer: LayerGates, gate: Gate) -> Both:
        name = self.layer(layer.name)
        if gate.name == "state":
            share = _percent(gate.low + gate.high)
            if gate.high == 0 and self.found.subject.settings.get("activation") == "relu":
                return both("{layer}: {share} of the states are 0.", layer=name, share=share)
            return both("{layer}: {share} of the states are saturated (|h| above 0.9).", layer=name, share=share)
        text = both("{layer}, {gate} gate: {mean:.2f} on average; closed {low} and open {high} of the time.")
        shares = {"low": _percent(gate.low), "high": _percent(gate.high)}
        return text.format(layer=name, gate=gate_name(gate.name), mean=gate.mean, **shares)

    def tokens(self) -> list[Both]:
        """What the answer to a text rests on; nothing without a text."""
        found, tokens = self.found, self.found.subject.tokens
        if tokens is None or found.saliency is None:
            return []
        label = found.label(found.saliency.target)
        said = [
            joined(self._integrated(found.saliency, tokens, label), SENTENCES),
            self._occlusion(found.saliency, tokens, label),
        ]
        if found.attention is not None and found.attention.pooling is not None:
            weights = found.attention.pooling
            top = sorted(range(len(tokens)), key=lambda at: -weights[at])[:TOP]
            named = [both("{token} ({share})", token=tokens[at], share=_percent(weights[at])) for at in top]
            said.append(both("Attention pooling looked most at {tokens}.", tokens=_list(named)))
        if found.filters:
            windows = [f"“{self.window(one)}” ({one.contribution:+.2f})" for one in found.filters[:TOP]]
            said.append(both("The filters that counted most fired at {windows}.", windows=_list(windows)))
        return said

    def _integrated(self, saliency: Saliency, tokens: Sequence[str], label: str) -> list[Both]:
        shares = saliency.integrated
        order = sorted(range(len(tokens)), key=lambda at: -shares[at])
        for_it = [at for at in order if shares[at] > 0][:TOP]
        against = [at for at in reversed(order) if shares[at] < 0][:TOP]
        named = [_list([f"{tokens[at]} ({shares[at]:+.2f})" for at in part]) for part in (for_it, against)]
        said = []
        if for_it:
            said.append(both("Tokens that speak for {label}: {tokens}.", label=label, tokens=named[0]))
        if against:
            said.append(both("Against it: {tokens}.", tokens=named[1]))
        distance = saliency.output - saliency.baseline
        if distance:
            text = both(
                "Integrated gradients; together they account for {share} of the output's distance ({distance:+.2f}) "
                "from that of a blank text."
            )
            said.append(text.format(share=_percent(sum(shares) / distance), distance=distance))
        return said

    def _occlusion(self, saliency: Saliency, tokens: Sequence[str], label: str) -> Both:
        at = max(range(len(tokens)), key=lambda n: abs(saliency.occlusion[n]))
        change = saliency.occlusion[at]
        gaps = {"token": tokens[at], "label": label, "value": abs(change)}
        if change >= 0:
            return both("Without “{token}” the output for {label} would fall by {value:.2f}.", **gaps)
        return both("Without “{token}” the output for {label} would rise by {value:.2f}.", **gaps)

    def window(self, fired: Fired) -> str:
        """The tokens that a filter saw."""
        tokens = self.found.subject.tokens or ()
        return " ".join(tokens[max(0, fired.start) : fired.start + fired.width])

    def layer(self, name: str) -> Both:
        """To begin a sentence with."""
        return capitalised(layer_name(name))


def _percent(share: float) -> Both:
    return both("{value} %", value=f"{100 * share:.1f}")


def _list(items: Sequence[Any]) -> Both:
    return listed(items, "comma")
