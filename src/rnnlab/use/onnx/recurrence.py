"""Recurrent layers as ONNX's own RNN, LSTM and GRU, which know each sequence's length. What these can't say (layer norm
inside the cell, the minimal recurrences) is a Scan, one step after the other."""

import numpy as np
import torch
from torch import Tensor

from rnnlab.models.cells import Cell, GRUCell, LSTMCell, RNNCell
from rnnlab.models.parallel import MinGRU, MinimalEncoder, MinimalLayer, MinLSTM
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.graph import FLOAT, Graph
from rnnlab.use.onnx.pieces import Rows, pooled

TIME_FIRST = [1, 0, 2]  # the permutation between (B, T, ·) and (T, B, ·), either way
GATES = {RNNCell: [0], LSTMCell: [0, 3, 1, 2], GRUCell: [1, 0, 2]}  # ONNX's order of the gates in torch's numbers
Start = list[Tensor]  # h, or h and c, each (H,); empty: zeros


def recurrent(g: Graph, x: str, rows: Rows, encoder: RecurrentEncoder, name: str) -> tuple[str, str]:
    settings = encoder.settings
    for layer, ahead in enumerate(encoder.ahead):
        assert isinstance(ahead, Cell)
        cells = [ahead, *encoder.back[layer : layer + 1]]
        names = [f"{name}.{which}.{layer}" for which in ("ahead", "back")]
        starts = [_start(encoder, direction, layer) for direction in range(len(cells))]
        states = _layer(g, x, rows, cells, starts, names)
        x = g.op("Add", x, states) if settings.residual and layer > 0 else states
    states = rows.zero_padding(x)
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


def _start(encoder: RecurrentEncoder, direction: int, layer: int) -> Start:
    """Where evaluation begins."""
    if encoder.settings.initial_state == "learned":
        return list(encoder.start[direction, layer])
    return list(encoder.resting[layer]) if encoder.settings.state == "carried" else []


def _layer(g: Graph, x: str, rows: Rows, cells: list[Cell], starts: list[Start], names: list[str]) -> str:
    """(B, T, D) → (B, T, H), or 2 H in both directions."""
    for cell in cells:
        if type(cell) not in GATES:
            raise ExportError(f"export has no translation of the recurrent cell '{type(cell).__name__}'")
    x = g.op("Transpose", x, perm=TIME_FIRST)
    if not cells[0].options.layer_norm:
        return _native(g, x, rows, cells, starts, names)
    states = _normed(g, x, rows, cells[0], starts[0], names[0])
    if len(cells) == 2:
        back = _normed(g, mirrored(g, x, rows), rows, cells[1], starts[1], names[1])
        states = g.op("Concat", states, mirrored(g, back, rows), axis=2)
    return g.op("Transpose", states, perm=TIME_FIRST)


def mirrored(g: Graph, x: str, rows: Rows) -> str:
    """(T, B, ·), each sequence from its own end."""
    return g.op("ReverseSequence", x, rows.lengths, time_axis=0, batch_axis=1)


# --- ONNX's own operators -----------------------------------------------------------------------------------------


def _native(g: Graph, x: str, rows: Rows, cells: list[Cell], starts: list[Start], names: list[str]) -> str:
    cell = cells[0]
    hidden, both = cell.options.hidden, len(cells) == 2
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if both else "forward"}
    if isinstance(cell, RNNCell):
        attributes["activations"] = [cell.activation.capitalize()] * len(cells)
    if isinstance(cell, GRUCell):
        attributes["linear_before_reset"] = int(cell.reset == "after")

    def stacked(values: list[Tensor], what: str) -> str:
        return g.constant(torch.stack(values), f"{names[0]}.{what}")

    weights = stacked([_in_order(c, c.weight_ih_l0) for c in cells], "W")
    recurrent = stacked([_in_order(c, c.weight_hh_l0) for c in cells], "R")
    biases = [torch.cat([_in_order(c, c.bias_ih_l0), _in_order(c, c.bias_hh_l0)]) for c in cells]
    inputs = [x, weights, recurrent, stacked(biases, "B"), rows.lengths32]
    for part in zip(*starts, strict=True):
        shape = g.op("Concat", g.constant([len(cells)]), rows.batch, g.constant([hidden]), axis=0)
        inputs.append(g.op("Expand", g.constant(torch.stack(part)[:, None], f"{names[0]}.start"), shape))
    kind = {RNNCell: "RNN", LSTMCell: "LSTM", GRUCell: "GRU"}[type(cell)]
    states = g.op(kind, *inputs, **attributes)  # (T, directions, B, H)
    return g.op("Reshape", g.op("Transpose", states, perm=[2, 0, 1, 3]), g.constant([0, 0, len(cells) * hidden]))


def _in_order(cell: Cell, weight: Tensor) -> Tensor:
    """Torch's rows (G · H, …) in ONNX's order of the gates."""
    gates = weight.detach().split(cell.options.hidden)
    return torch.cat([gates[gate] for gate in GATES[type(cell)]])


# --- layer norm inside the cell: step by step ---------------------------------------------------------------------


def _normed(g: Graph, x: str, rows: Rows, cell: Cell, start: Start, name: str) -> str:
    """(T, B, D) → (T, B, H). The formulas are those of the cell's ``step``."""
    hidden = cell.options.hidden
    product = g.op("MatMul", x, g.constant(cell.weight_ih_l0.t(), f"{name}.weight_ih_l0"))
    normed = _normalise(g, product, cell.input_gain, f"{name}.input_gain", [0, 0])
    from_input = g.op("Add", normed, g.constant(cell.bias_ih_l0, f"{name}.bias_ih_l0"))
    shape = g.op("Concat", rows.batch, g.constant([hidden]), axis=0)
    begin = start or [torch.zeros(hidden)] * cell.parts
    states = [g.op("Expand", g.constant(part, f"{name}.start"), shape) for part in begin]
    body = Graph(g)
    a = body.input(g.name("a"), FLOAT, [None, cell.gates * hidden])
    before = [body.input(g.name(part), FLOAT, [None, hidden]) for part in ("h", "c")[: cell.parts]]
    body.inputs = [*body.inputs[1:], body.inputs[0]]  # states come first
    after = {RNNCell: _rnn_step, LSTMCell: _lstm_step, GRUCell: _gru_step}[type(cell)](body, cell, a, before, name)
    for value in (*after, after[0]):
        body.output(value, g.name("after"), [None, hidden])
    scan = g.ops("Scan", [*states, from_input], cell.parts + 1, body=body.body(name), num_scan_inputs=1)
    return scan[-1]


def _normalise(g: Graph, x: str, gain: Tensor, name: str, front: list[int]) -> str:
    """Each group of H numbers in (…, k · H) to mean 0 and variance 1, times ``gain`` (k, H); ``front`` stands for the
    axes before."""
    groups = g.op("Reshape", x, g.constant([*front, *gain.shape]))
    normed = g.op("LayerNormalization", groups, g.constant(torch.ones(gain.shape[1])), axis=-1, epsilon=1e-5)
    return g.op("Reshape", g.op("Mul", normed, g.constant(gain, name)), g.constant([*front, gain.numel()]))


def _from_state(g: Graph, cell: Cell, h: str, name: str, gates: slice = slice(None)) -> str:
    weight = cell.weight_hh_l0.unflatten(0, (cell.gates, -1))[gates].flatten(0, 1)
    bias = cell.bias_hh_l0.unflatten(0, (cell.gates, -1))[gates].flatten()
    product = g.op("MatMul", h, g.constant(weight.t(), f"{name}.weight_hh_l0"))
    normed = _normalise(g, product, cell.state_gain[gates], f"{name}.state_gain", [0])
    return g.op("Add", normed, g.constant(bias, f"{name}.bias_hh_l0"))


def _split(g: Graph, x: str, parts: int) -> list[str]:
    return g.ops("Split", [x], parts, axis=1, num_outputs=parts)


def _rnn_step(g: Graph, cell: Cell, a: str, state: list[str], name: str) -> list[str]:
    assert isinstance(cell, RNNCell)
    return [g.op(cell.activation.capitalize(), g.op("Add", a, _from_state(g, cell, state[0], name)))]


def _lstm_step(g: Graph, cell: Cell, a: str, state: list[str], name: str) -> list[str]:
    assert isinstance(cell, LSTMCell)
    h, c = state
    i, f, candidate, o = _split(g, g.op("Add", a, _from_state(g, cell, h, name)), 4)
    taken = g.op("Mul", g.op("Sigmoid", i), g.op("Tanh", candidate))
    c = g.op("Add", g.op("Mul", g.op("Sigmoid", f), c), taken)
    seen = _normalise(g, c, cell.cell_gain, f"{name}.cell_gain", [0])
    seen = g.op("Add", seen, g.constant(cell.cell_bias, f"{name}.cell_bias"))
    return [g.op("Mul", g.op("Sigmoid", o), g.op("Tanh", seen)), c]


def _gru_step(g: Graph, cell: Cell, a: str, state: list[str], name: str) -> list[str]:
    assert isinstance(cell, GRUCell)
    h = state[0]
    a_r, a_z, a_n = _split(g, a, 3)
    if cell.reset == "after":
        u_r, u_z, u_n = _split(g, _from_state(g, cell, h, name), 3)
        r = g.op("Sigmoid", g.op("Add", a_r, u_r))
        u_n = g.op("Mul", r, u_n)
    else:
        u_r, u_z = _split(g, _from_state(g, cell, h, name, slice(0, 2)), 2)
        r = g.op("Sigmoid", g.op("Add", a_r, u_r))
        u_n = _from_state(g, cell, g.op("Mul", r, h), name, slice(2, 3))
    n = g.op("Tanh", g.op("Add", a_n, u_n))
    z = g.op("Sigmoid", g.op("Add", a_z, u_z))
    fresh = g.op("Mul", g.op("Sub", g.constant(1.0), z), n)
    return [g.op("Add", fresh, g.op("Mul", z, h))]


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
    """(T, B, D) → (T, B, H)."""
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
        raise ExportError(f"export has no translation of the minimal recurrence '{type(kind).__name__}'")
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
