"""The parts of a Transformer's layers, whether they read or write."""

import torch.nn.functional as F
from torch import nn

from rnnlab.models.transformer import Layer, LearnedPositions, SinusoidalPositions
from rnnlab.use.onnx.building_blocks import activate, layer_norm, linear
from rnnlab.use.onnx.graph import FLOAT, Graph

HEADS_SECOND = [0, 2, 1, 3]  # the permutation between (B, T, heads, ·) and (B, heads, T, ·), either way


def positions_at(g: Graph, place: str, positions: nn.Module, name: str) -> str:
    """(T,) int64 numbers of steps → (T, W). Learned positions beyond the last one are an error when the model is run,
    as they are in torch."""
    if isinstance(positions, SinusoidalPositions):
        step = g.op("Unsqueeze", g.op("Cast", place, to=FLOAT), g.constant([1]))
        angle = g.op("Mul", step, g.constant(positions.frequency, f"{name}.positions.frequency"))
        return g.op("Sin", g.op("Add", angle, g.constant(positions.phase, f"{name}.positions.phase")))
    assert isinstance(positions, LearnedPositions)
    return g.op("Gather", g.constant(positions.table, f"{name}.positions.table"), place)


def query_key_value(g: Graph, x: str, layer: Layer, name: str) -> list[str]:
    """(B, T, W) → three of them, by which its steps look at each other."""
    normal = layer_norm(g, x, layer.attention_norm, f"{name}.attention_norm")
    split = linear(g, normal, layer.query_key_value, f"{name}.query_key_value")
    return g.ops("Split", [split], 3, axis=2, num_outputs=3)


def attend(g: Graph, query: str, key: str, value: str, layer: Layer, hidden: str | None = None) -> tuple[str, str]:
    """Queries (B, L, W) look at keys and values (B, S, W): what they find, (B, L, W), and the weights (B, heads, L, S).
    ``hidden`` (B, 1, 1 or L, S) is minus infinity where nothing may be seen."""
    width = layer.output.in_features
    each = width // layer.heads
    query, key, value = (
        g.op("Transpose", g.op("Reshape", part, g.constant([0, 0, layer.heads, each])), perm=HEADS_SECOND)
        for part in (query, key, value)
    )
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.op("Mul", scores, g.constant(each**-0.5))
    weights = g.op("Softmax", scores if hidden is None else g.op("Add", scores, hidden), axis=-1)
    seen = g.op("Transpose", g.op("MatMul", weights, value), perm=HEADS_SECOND)
    return g.op("Reshape", seen, g.constant([0, 0, width])), weights


def feedforward(g: Graph, x: str, layer: Layer, name: str) -> str:
    """x + feedforward(norm(x)), (B, T, W)."""
    norm, widen, _, narrow = layer.feedforward
    assert isinstance(norm, nn.LayerNorm)
    assert isinstance(widen, nn.Linear)
    assert isinstance(narrow, nn.Linear)
    inner = layer_norm(g, x, norm, f"{name}.feedforward.0")
    inner = activate(g, linear(g, inner, widen, f"{name}.feedforward.1"), F.gelu)
    return g.op("Add", x, linear(g, inner, narrow, f"{name}.feedforward.3"))
