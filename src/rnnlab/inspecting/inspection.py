"""All that `rnnlab inspect` finds out about a network, as data: page, terminal and JSON show these numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from rnnlab.data.calendar import Spacing
from rnnlab.inspecting.cost import Cost
from rnnlab.inspecting.gates import LayerGates, gate_statistics
from rnnlab.inspecting.gradients import InputGradients, StateGradients, gradients_by_input, gradients_through_time
from rnnlab.inspecting.saliency import Attention, Fired, Saliency, attention, fired_filters, saliency
from rnnlab.models.network import Network, Pace, measure_pace
from rnnlab.training.monitor import final_outputs, undisturbed


@dataclass(frozen=True)
class Subject:
    """What was looked at, and with which input."""

    name: str  # the run's, or the model's
    kind: str
    settings: dict[str, Any]  # of the model
    trained: bool
    source: Literal["text", "rows", "random"]
    labels: tuple[str, ...] = ()  # of the outputs; empty for numbers
    tokens: tuple[str, ...] | None = None  # of the text
    unknown: tuple[int, ...] = ()  # positions of tokens that the model doesn't know
    several: bool = False  # whether a row may have several of the labels
    spacing: Spacing | None = None  # of the steps of a forecaster, where there are dates
    by_step: bool = False  # whether every step has an answer: that at the last one is looked at


@dataclass(frozen=True)
class Answer:
    label: str | None
    probability: float | None
    outputs: dict[str, float]  # by label


@dataclass(frozen=True)
class Inspection:
    subject: Subject
    rows: int  # sequences looked at
    longest: int  # steps of the longest, on which gradients through time were taken
    answer: Answer | None  # to a text
    through_time: tuple[StateGradients, ...]
    through_time_at_first: tuple[StateGradients, ...]  # the same before training, on the same input
    by_input: InputGradients
    by_input_at_first: InputGradients | None
    epochs: tuple[dict[str, Any], ...]  # {epoch, lags, norms, rows, memory}, as the probe of the training saw them
    gates: tuple[LayerGates, ...]
    saliency: Saliency | None  # of a text, and so are the following
    attention: Attention | None
    filters: tuple[Fired, ...]
    pace: tuple[Pace, ...]  # one more step, measured; empty where a network reads what comes later
    cost: Cost | None  # of the longest sequence; None where there is no formula for the architecture

    def label(self, output: int) -> str:
        """What an output stands for."""
        labels = self.subject.labels
        return labels[output] if output < len(labels) else f"output {output + 1}"

    def to_dict(self) -> dict[str, Any]:
        subject, answer = self.subject, self.answer
        return {
            "name": subject.name,
            "model": {"kind": subject.kind, **subject.settings},
            "trained": subject.trained,
            "source": subject.source,
            "rows": self.rows,
            "longest": self.longest,
            "tokens": subject.tokens,
            "unknown": subject.unknown,
            "answer": answer and vars(answer),
            "cost": self.cost and self.cost.to_dict(),
            "pace": [one.to_dict() for one in self.pace],
            "gradients": {
                "through_time": [layer.to_dict() for layer in self.through_time],
                "through_time_at_first": [layer.to_dict() for layer in self.through_time_at_first],
                "by_input": self.by_input.to_dict(),
                "by_input_at_first": self.by_input_at_first and self.by_input_at_first.to_dict(),
                "epochs": self.epochs,
            },
            "gates": [layer.to_dict() for layer in self.gates],
            "saliency": self.saliency and vars(self.saliency),
            "attention": self.attention and self.attention.to_dict(),
            "filters": [vars(one) for one in self.filters],
        }


def examine(
    subject: Subject,
    network: Network,
    inputs: Tensor,
    lengths: Tensor,
    *,
    at_first: Network | None = None,
    epochs: Sequence[dict[str, Any]] = (),
    cost: Callable[[int], Cost] | None = None,
) -> Inspection:
    """Look at a network with some sequences, ``inputs`` (B, T) or (B, T, D); with a text, B is 1. ``at_first`` is the
    same network before training. Neither is changed. ``cost`` gives what a sequence of some length costs."""
    row = int(lengths.argmax())
    longest = inputs[row : row + 1, : int(lengths[row])]
    one_text = subject.source == "text"
    return Inspection(
        subject=subject,
        rows=len(inputs),
        longest=longest.shape[1],
        answer=_answer(subject, network, inputs, lengths) if one_text else None,
        through_time=tuple(gradients_through_time(network, longest)),
        through_time_at_first=tuple(gradients_through_time(at_first, longest)) if at_first else (),
        by_input=gradients_by_input(network, inputs, lengths),
        by_input_at_first=gradients_by_input(at_first, inputs, lengths) if at_first else None,
        epochs=tuple(epochs),
        gates=tuple(gate_statistics(network, inputs, lengths)),
        saliency=saliency(network, inputs) if one_text else None,
        attention=attention(network, inputs) if one_text else None,
        filters=tuple(fired_filters(network, inputs)) if one_text else (),
        pace=measure_pace(network, longest, subject.settings.get("max_length")),
        cost=cost(longest.shape[1]) if cost else None,
    )


@torch.no_grad()
def _answer(subject: Subject, network: Network, inputs: Tensor, lengths: Tensor) -> Answer:
    with undisturbed(network):
        outputs = final_outputs(network(inputs, lengths), lengths)[0]
    if not subject.labels:
        return Answer(None, None, {f"output {n}": value for n, value in enumerate(outputs.tolist(), 1)})
    shares = outputs.sigmoid() if subject.several else outputs.softmax(0)
    best = int(outputs.argmax())
    return Answer(subject.labels[best], float(shares[best]), dict(zip(subject.labels, outputs.tolist(), strict=True)))
