"""Recurrent layers as ONNX's own RNN, LSTM and GRU, which know each sequence's length. What these can't say (layer norm
inside the cell, a plugin's cell, the minimal recurrences) is a Scan, one step after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlab.core.words import note
from rnnlab.models.base import Encoder
from rnnlab.models.cells import Cell, GRUCell, LSTMCell, RNNCell
from rnnlab.models.parallel import MinGRU, MinimalEncoder, MinimalLayer, MinLSTM
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, pooled
from rnnlab.use.onnx.graph import FLOAT, Graph

TIME_FIRST = [1, 0, 2]  # the permutation between (B, T, ·) and (T, B, ·), either way
GATES: dict[type[Cell], list[int]] = {RNNCell: [0], LSTMCell: [0, 3, 1, 2], GRUCell: [1, 0, 2]}
"""ONNX's order of the gates, in torch's numbers."""
UNARY = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "exp": "Exp", "abs": "Abs", "neg": "Neg"}
Start = list[Tensor]  # h, or h and c, each (H,); empty: zeros


def recurrent(g: Graph, x: str, rows: Rows, encoder: RecurrentEncoder, name: str) -> tuple[str, str]:
    settings = encoder.settings
    for layer, ahead in enumerate(encoder.ahead):
        assert isinstance(ahead, Cell)
        cells = [ahead, *encoder.back[layer : layer + 1]]
        names = [f"{name}.{which}.{layer}" for which in ("ahead", "back")]
        starts = [list(encoder.starting(direction, layer)) for direction in range(len(cells))]
        states = _layer(g, x, rows, cells, starts, names)
        x = g.op("Add", x, states) if settings.residual and layer > 0 else states
    states = rows.zero_padding(x)
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


def _layer(g: Graph, x: str, rows: Rows, cells: list[Cell], starts: list[Start], names: list[str]) -> str:
    """(B, T, D) → (B, T, H), or 2 H in both directions."""
    x = g.op("Transpose", x, perm=TIME_FIRST)
    if type(cells[0]) in GATES and not cells[0].layer_norm:
        return _native(g, x, rows, cells, starts, names)
    states = _stepwise(g, x, rows, cells[0], starts[0], names[0])
    if len(cells) == 2:
        back = _stepwise(g, mirrored(g, x, rows), rows, cells[1], starts[1], names[1])
        states = g.op("Concat", states, mirrored(g, back, rows), axis=2)
    return g.op("Transpose", states, perm=TIME_FIRST)


def mirrored(g: Graph, x: str, rows: Rows) -> str:
    """(T, B, ·), each sequence from its own end."""
    return g.op("ReverseSequence", x, rows.lengths, time_axis=0, batch_axis=1)


# --- ONNX's own operators -----------------------------------------------------------------------------------------


def _native(g: Graph, x: str, rows: Rows, cells: list[Cell], starts: list[Start], names: list[str]) -> str:
    hidden, initial = cells[0].hidden, []
    for part in zip(*starts, strict=True):
        shape = g.op("Concat", g.constant([len(cells)]), rows.batch, g.constant([hidden]), axis=0)
        initial.append(g.op("Expand", g.constant(torch.stack(part)[:, None], f"{names[0]}.start"), shape))
    states = native_layer(g, x, rows.lengths32, cells, initial, names)[0]
    return g.op("Reshape", g.op("Transpose", states, perm=[2, 0, 1, 3]), g.constant([0, 0, len(cells) * hidden]))


def native_layer(g: Graph, x: str, lengths: str, cells: list[Cell], start: list[str], names: list[str]) -> list[str]:
    """(T, B, D) → states (T, directions, B, H), and the parts of the state after the last step (directions, B, H) each.
    ``start`` has them before the first (none: zeros); ``lengths`` (B,) int32 may be left out."""
    cell = cells[0]
    hidden, both = cell.hidden, len(cells) == 2
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if both else "forward"}
    if isinstance(cell, RNNCell):
        attributes["activations"] = [cell.activation.capitalize()] * len(cells)
    if isinstance(cell, GRUCell):
        attributes["linear_before_reset"] = int(not cell.resets_before)

    def stacked(values: list[Tensor], what: str) -> str:
        return g.constant(torch.stack(values), f"{names[0]}.{what}")

    weights = stacked([_in_order(c, c.weight_ih_l0) for c in cells], "W")
    recurrent = stacked([_in_order(c, c.weight_hh_l0) for c in cells], "R")
    biases = [torch.cat([_in_order(c, c.bias_ih_l0), _in_order(c, c.bias_hh_l0)]) for c in cells]
    inputs = [x, weights, recurrent, stacked(biases, "B"), lengths, *start]
    kind = {RNNCell: "RNN", LSTMCell: "LSTM", GRUCell: "GRU"}[type(cell)]
    return g.ops(kind, inputs, 1 + cell.parts, **attributes)


def recurrent_step(
    g: Graph, x: str, state: Sequence[str], encoder: RecurrentEncoder, name: str
) -> tuple[str, list[str]]:
    """One step of all layers: (B, 1, D) and the parts of the state, (B, H) each, as `state_names` orders them → the
    state of the last layer (B, H), and the parts after the step."""
    x = g.op("Transpose", x, perm=TIME_FIRST)  # (1, B, D)
    after: list[str] = []
    for layer, cell in enumerate(encoder.ahead):
        assert isinstance(cell, Cell)
        first = layer * encoder.parts
        start = [g.op("Unsqueeze", part, g.constant([0])) for part in state[first : first + encoder.parts]]
        _, *ends = native_layer(g, x, "", [cell], start, [f"{name}.ahead.{layer}"])  # (1, B, H) each
        after += [g.op("Squeeze", end, g.constant([0])) for end in ends]
        x = g.op("Add", x, ends[0]) if encoder.settings.residual and layer > 0 else ends[0]
    return g.op("Squeeze", x, g.constant([0])), after


def state_names(encoder: RecurrentEncoder) -> list[str]:
    """``h0``, of an LSTM ``c0``, ``h1`` … of further layers."""
    letters = ("h", "c")[: encoder.parts]
    return [f"{letter}{layer}" for layer in range(encoder.settings.layers) for letter in letters]


def why_no_step(encoder: Encoder, kind: str) -> str | None:
    """Why an encoder can't go on from a state in ONNX; None if it can."""
    if type(encoder) is not RecurrentEncoder:
        return note("one step of the model '{kind}' has no translation into ONNX", kind=kind)
    if any(not isinstance(cell, Cell) or type(cell) not in GATES or cell.layer_norm for cell in encoder.ahead):
        return note("layer norm, and cells of your own, have no step of ONNX's own")
    return None


def _in_order(cell: Cell, weight: Tensor) -> Tensor:
    """Torch's rows (G · H, …) in ONNX's order of the gates."""
    gates = weight.detach().split(cell.hidden)
    return torch.cat([gates[gate] for gate in GATES[type(cell)]])


# --- any other cell, and layer norm inside one: its own steps -----------------------------------------------------


class Symbol:
    """A tensor that isn't there yet, with so many axes: what is done to it becomes nodes of a graph. So a cell's own
    ``step`` is what is exported, a plugin's too, and its formulas need no second form here. It knows what steps do:
    arithmetic, products with weights, sigmoid, tanh, relu and their like, chunks, and layer norm over the last axis."""

    graph: Graph
    value: str
    axes: int
    weights: dict[int, str]

    def __init__(self, graph: Graph, value: str, axes: int, weights: dict[int, str]):
        """``weights``: the names of parameters by where they lie."""
        self.graph, self.value, self.axes, self.weights = graph, value, axes, weights

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        name = getattr(function, "__name__", str(function))
        if function is F.layer_norm and isinstance(args[0], Symbol):
            return args[0]._layer_norm(args[1])
        if args and isinstance(args[0], Symbol):
            return getattr(args[0], name)(*args[1:], **(kwargs or {}))
        raise ExportError("export has no translation of '{name}' in the step of a recurrent cell", name=name)

    def __getattr__(self, name: str) -> "Callable[[], Symbol]":
        if name not in UNARY:
            raise ExportError("export has no translation of '{name}' in the step of a recurrent cell", name=name)
        return lambda: self._op(UNARY[name], self)

    def __add__(self, other: Any) -> "Symbol":
        return self._op("Add", self, other)

    def __mul__(self, other: Any) -> "Symbol":
        return self._op("Mul", self, other)

    def __sub__(self, other: Any) -> "Symbol":
        return self._op("Sub", self, other)

    def __rsub__(self, other: Any) -> "Symbol":
        return self._op("Sub", other, self)

    def __matmul__(self, other: Any) -> "Symbol":
        return self._op("MatMul", self, other)

    def __radd__(self, other: Any) -> "Symbol":
        return self + other

    def __rmul__(self, other: Any) -> "Symbol":
        return self * other

    def chunk(self, parts: int, dim: int) -> "list[Symbol]":
        found = self.graph.ops("Split", [self.value], parts, axis=dim, num_outputs=parts)
        return [self._like(value) for value in found]

    def unflatten(self, dim: int, sizes: Sequence[int]) -> "Symbol":
        assert dim == -1
        return self._reshape([0] * (self.axes - 1) + list(sizes))

    def flatten(self, start: int) -> "Symbol":
        assert start == -2
        return self._reshape([0] * (self.axes - 2) + [-1])

    def _layer_norm(self, shape: Sequence[int]) -> "Symbol":
        ones = self.graph.constant(torch.ones(*shape))
        return self._like(self.graph.op("LayerNormalization", self.value, ones, axis=-1, epsilon=1e-5))

    def _reshape(self, sizes: list[int]) -> "Symbol":
        made = self.graph.op("Reshape", self.value, self.graph.constant(sizes))
        return Symbol(self.graph, made, len(sizes), self.weights)

    def _op(self, kind: str, *given: Any) -> "Symbol":
        return self._like(self.graph.op(kind, *(self._value_of(one) for one in given)))

    def _value_of(self, given: Any) -> str:
        if isinstance(given, Symbol):
            return given.value
        if isinstance(given, Tensor):
            return self.graph.constant(given, self.weights.get(given.untyped_storage().data_ptr(), "constant"))
        return self.graph.constant(float(given))

    def _like(self, value: str) -> "Symbol":
        return Symbol(self.graph, value, self.axes, self.weights)


def _stepwise(g: Graph, x: str, rows: Rows, cell: Cell, start: Start, name: str) -> str:
    """(T, B, D) → (T, B, H)."""
    hidden = cell.hidden
    weights = {weight.untyped_storage().data_ptr(): f"{name}.{own}" for own, weight in cell.named_parameters()}
    from_input: Any = cell.from_input(Symbol(g, x, 3, weights))  # type: ignore[arg-type]  # it acts as a tensor
    shape = g.op("Concat", rows.batch, g.constant([hidden]), axis=0)
    begin = start or [torch.zeros(hidden)] * cell.parts
    states = [g.op("Expand", g.constant(part, f"{name}.start"), shape) for part in begin]
    body = Graph(g)
    before = [body.input(g.name("h"), FLOAT, [None, hidden]) for _ in range(cell.parts)]
    brought = body.input(g.name("a"), FLOAT, [None, len(cell.gates) * hidden])
    a, *state = (Symbol(body, value, 2, weights) for value in (brought, *before))
    after: Any = cell.step(a, tuple(state), state[0])[0]  # type: ignore[arg-type]
    for value in (*after, after[0]):
        body.output(value.value, g.name("after"), [None, hidden])
    scan = g.ops("Scan", [*states, from_input.value], cell.parts + 1, body=body.body(name), num_scan_inputs=1)
    return scan[-1]


# --- minimal recurrences: h_t = keep_t ⊙ h_{t-1} + value_t --------------------------------------------------------


def minimal(g: Graph, x: str, rows: Rows, encoder: MinimalEncoder, name: str) -> tuple[str, str]:
    x = g.op("Transpose", x, perm=TIME_FIRST)
    for number, ahead in enumerate(encoder.ahead):
        states = _minimal_layer(g, x, rows, ahead, f"{name}.ahead.{number}")
        if len(encoder.back):
            back = _minimal_layer(g, mirrored(g, x, rows), rows, encoder.back[number], f"{name}.back.{number}")
            states = g.op("Concat", states, mirrored(g, back, rows), axis=2)
        x = states
    states = rows.zero_padding(g.op("Transpose", x, perm=TIME_FIRST))
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


def _minimal_layer(g: Graph, x: str, rows: Rows, layer: torch.nn.Module, name: str) -> str:
    """(T, B, D) → (T, B, H). A form of its own: the layer runs all steps at once, which is no step to record."""
    assert isinstance(layer, MinimalLayer)
    kind = getattr(layer.update, "__self__", None)
    hidden = layer.split[1]
    product = g.op("MatMul", x, g.constant(layer.project.weight.t(), f"{name}.project.weight"))
    projected = g.op("Add", product, g.constant(layer.project.bias, f"{name}.project.bias"))
    gates, candidate = g.ops("Split", [projected, g.constant(layer.split)], 2, axis=2)
    if isinstance(kind, MinGRU):
        update = gates
    elif isinstance(kind, MinLSTM):
        forget, take = g.ops("Split", [gates], 2, axis=2, num_outputs=2)
        update = g.op("Sub", _log_sigmoid(g, take), _log_sigmoid(g, forget))
    else:
        raise ExportError("export has no translation of the minimal recurrence '{kind}'", kind=type(kind).__name__)
    keep = g.op("Sigmoid", g.op("Neg", update))
    above = g.op("Relu", candidate)
    positive = g.op("Add", above, g.op("Sigmoid", g.op("Sub", candidate, above)))
    values = g.op("Mul", g.op("Sigmoid", update), positive)
    body = Graph(g)
    h, kept, value = (body.input(g.name(stem), FLOAT, [None, hidden]) for stem in ("h", "keep", "value"))
    after = body.op("Add", body.op("Mul", kept, h), value)
    for _ in range(2):
        body.output(after, g.name("after"), [None, hidden])
    shape = g.op("Concat", rows.batch, g.constant([hidden]), axis=0)
    begin = g.op("Expand", g.constant(np.zeros(1, np.float32)), shape)
    return g.ops("Scan", [begin, keep, values], 2, body=body.body(name), num_scan_inputs=2)[1]


def _log_sigmoid(g: Graph, x: str) -> str:
    """min(x, 0) - log(1 + e^-|x|), which overflows nowhere."""
    small = g.op("Exp", g.op("Neg", g.op("Abs", x)))
    return g.op("Sub", g.op("Min", x, g.constant(0.0)), g.op("Log", g.op("Add", small, g.constant(1.0))))
