"""The two halves of each decoder: what the graph of the encoder tells it once per text, and one step, which goes on
from a state."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rnnlab.core.words import note, retold
from rnnlab.models.attention import Attention
from rnnlab.models.decoder import AttendingDecoder, Decoder, Memory, TransformerDecoder
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, layer_norm, linear
from rnnlab.use.onnx.graph import Graph
from rnnlab.use.onnx.recurrent_layers import recurrent_step, state_names, why_no_step
from rnnlab.use.onnx.transformer_layers import attend, feedforward, positions_at, query_key_value

SOURCE, WRITTEN = "source", "written"  # axes: tokens of the text that is read, and those that are written so far


@dataclass(frozen=True)
class Named:
    """A tensor (batch, …) that goes into a step."""

    name: str
    shape: tuple[int | str, ...]  # behind the batch


@dataclass(frozen=True)
class Step:
    """Values of the graph after one more token."""

    top: str  # (B, width), which the head reads
    attention: str | None  # (B, S): where it looked
    state: list[str]


class Exportable(ABC):
    """A decoder as parts of graphs."""

    memory: list[Named]  # the same at every step
    state: list[Named]  # which comes out as it goes in

    @abstractmethod
    def told(self, g: Graph, states: str, summary: str, rows: Rows) -> list[str]:
        """From the states (B, S, M) and the summary of a text that was read to `memory` and the first `state`."""

    @abstractmethod
    def told_by_torch(self, memory: Memory) -> list[Tensor]:
        """The same as torch computes it."""

    @abstractmethod
    def step(self, g: Graph, x: str, memory: list[str], state: list[str]) -> Step:
        """``x`` (B, 1, D) is the vector of the token that was written last."""


def exportable(decoder: Decoder, kind: str = "") -> Exportable:
    """``kind`` is that of the model that writes. Raises with a reason where it has no translation."""
    if type(decoder) is TransformerDecoder:
        return _Transformer(decoder)
    reason = note("'{kind}' isn't a decoder of rnnlab's own", kind=type(decoder).__name__)
    if type(decoder) is AttendingDecoder:
        reason = why_no_step(decoder.encoder, kind)
        if reason is None:
            return _Attending(decoder)
    raise ExportError(
        "export writes a translator as two graphs, of which one writes a token at a time, and {reason}; train with an "
        "rnn, lstm, gru or transformer as the decoder (model.decoder.model), or use 'rnnlab predict' or 'rnnlab serve'",
        reason=retold(reason),
    )


class _Attending(Exportable):
    """A recurrence that begins in a state made of the summary, with any attention or none, fed with what it found or
    not."""

    def __init__(self, decoder: AttendingDecoder):
        assert isinstance(decoder.encoder, RecurrentEncoder)
        self.decoder, self.encoder = decoder, decoder.encoder
        self.state = [Named(name, (decoder.width,)) for name in state_names(decoder.encoder)]
        self.memory = []
        if decoder.attention is not None:
            found = decoder.mix.in_features - decoder.width
            self.memory = [Named("memory", (SOURCE, found)), Named("mask", (SOURCE,))]
            if isinstance(decoder.attention.key, nn.Linear):
                self.memory.append(Named("memory_key", (SOURCE, decoder.width)))
            if decoder.feeds:
                self.state.append(Named("found", (found,)))

    def told(self, g: Graph, states: str, summary: str, rows: Rows) -> list[str]:
        decoder, told = self.decoder, []
        if decoder.attention is not None:
            told = [states, rows.minus_infinity_at_padding]
            if isinstance(decoder.attention.key, nn.Linear):
                told.append(linear(g, states, decoder.attention.key, "decoder.attention.key"))
        assert decoder.starts is not None
        start = g.op("Tanh", linear(g, summary, decoder.starts, "decoder.starts"))
        parts = len(state_names(self.encoder))
        told += g.ops("Split", [start], parts, axis=1, num_outputs=parts) if parts > 1 else [start]
        return [*told, zeros(g, rows, *self.state[-1].shape)] if decoder.feeds else told

    def told_by_torch(self, memory: Memory) -> list[Tensor]:
        begin = list(self.decoder.begin(memory))
        if self.decoder.attention is None:
            return begin
        keys = memory.keys if isinstance(self.decoder.attention.key, nn.Linear) else ()
        return [memory.states, _mask(memory), *keys, *begin]

    def step(self, g: Graph, x: str, memory: list[str], state: list[str]) -> Step:
        decoder = self.decoder
        if decoder.feeds:
            x = g.op("Concat", x, g.op("Unsqueeze", state[-1], g.constant([1])), axis=2)
        top, after = recurrent_step(g, x, state, self.encoder, "decoder.encoder")
        if decoder.attention is None:
            return Step(top, None, after)
        states, mask, *keys = memory
        weights = _attention(g, top, keys[0] if keys else states, mask, decoder.attention, decoder.width)
        one = g.constant([1])
        found = g.op("Squeeze", g.op("MatMul", g.op("Unsqueeze", weights, one), states), one)  # (B, M)
        mixed = g.op("Tanh", linear(g, g.op("Concat", found, top, axis=1), decoder.mix, "decoder.mix"))
        return Step(mixed, weights, [*after, found] if decoder.feeds else after)


def _attention(g: Graph, query: str, keys: str, mask: str, attention: Attention, width: int) -> str:
    """A query (B, H) and keys (B, S, H) → weights (B, S)."""
    if attention.scoring == "additive":
        asked = g.op("Unsqueeze", linear(g, query, attention.query, "decoder.attention.query"), g.constant([1]))
        score = g.constant(attention.score, "decoder.attention.score")
        scores = g.op("MatMul", g.op("Tanh", g.op("Add", asked, keys)), score)
    else:
        last = g.constant([2])
        scores = g.op("Squeeze", g.op("MatMul", keys, g.op("Unsqueeze", query, last)), last)
    if attention.scoring == "scaled":
        scores = g.op("Mul", scores, g.constant(width**-0.5))
    return g.op("Softmax", g.op("Add", scores, mask), axis=1)


class _Transformer(Exportable):
    """Layers that look at what was written so far, whose keys and values are the state, and at what was read."""

    def __init__(self, decoder: TransformerDecoder):
        self.layers = decoder.layers
        each = [f"{part}{number}" for number in range(len(self.layers.every)) for part in ("key", "value")]
        self.memory = [
            Named("mask", (SOURCE,)),
            *(Named(f"memory_{name}", (SOURCE, decoder.width)) for name in each),
        ]
        self.state = [Named(name, (WRITTEN, decoder.width)) for name in each]

    def told(self, g: Graph, states: str, summary: str, rows: Rows) -> list[str]:
        told = [rows.minus_infinity_at_padding]
        for number, layer in enumerate(self.layers.every):
            both = linear(g, states, layer.cross_key_value, f"decoder.layers.layers.{number}.cross_key_value")
            told += g.ops("Split", [both], 2, axis=2, num_outputs=2)
        return [*told, *(zeros(g, rows, 0, one.shape[1]) for one in self.state)]

    def told_by_torch(self, memory: Memory) -> list[Tensor]:
        _, *empty = self.layers.begin(len(memory.states))
        return [_mask(memory), *memory.keys, *empty]

    def step(self, g: Graph, x: str, memory: list[str], state: list[str]) -> Step:
        mask, *told = memory
        hidden = g.op("Unsqueeze", mask, g.constant([1, 2]))  # (B, 1, 1, S)
        place = g.op("Shape", state[0], start=1, end=2)  # (1,): how many were written
        x = linear(g, x, self.layers.project, "decoder.layers.project")
        x = g.op("Add", x, positions_at(g, place, self.layers.positions, "decoder.layers"))
        after: list[str] = []
        weights = ""
        for number, layer in enumerate(self.layers.every):
            name, mine = f"decoder.layers.layers.{number}", slice(2 * number, 2 * number + 2)
            query, *new = query_key_value(g, x, layer, name)
            key, value = (g.op("Concat", *both, axis=1) for both in zip(state[mine], new, strict=True))
            after += [key, value]
            seen, _ = attend(g, query, key, value, layer)
            x = g.op("Add", x, linear(g, seen, layer.output, f"{name}.output"))
            asked = linear(g, layer_norm(g, x, layer.cross_norm, f"{name}.cross_norm"), layer.cross_query,
                           f"{name}.cross_query")  # fmt: skip
            key, value = told[mine]
            seen, weights = attend(g, asked, key, value, layer, hidden)
            x = g.op("Add", x, linear(g, seen, layer.cross_output, f"{name}.cross_output"))
            x = feedforward(g, x, layer, name)
        one = g.constant([1])
        top = g.op("Squeeze", layer_norm(g, x, self.layers.norm, "decoder.layers.norm"), one)
        looked = g.op("ReduceMean", weights, g.constant([1, 2]), keepdims=0)  # of the last layer, the mean of its heads
        return Step(top, looked, after)


def zeros(g: Graph, rows: Rows, *shape: int | str) -> str:
    """(B, …)."""
    sizes = g.constant([int(size) for size in shape])
    return g.op("ConstantOfShape", g.op("Concat", rows.batch, sizes, axis=0))


def _mask(memory: Memory) -> Tensor:
    """(B, S): minus infinity at padding."""
    return torch.zeros(memory.real.shape).masked_fill(~memory.real, -torch.inf)
