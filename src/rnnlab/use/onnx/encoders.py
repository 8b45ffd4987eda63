"""A translation of each encoder of the catalogue: ``(graph, x (B, T, D), rows, encoder, name) → (states, summary)``."""

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from rnnlab.models.base import Encoder
from rnnlab.models.convolution import ConvolutionalEncoder
from rnnlab.models.dilated import Block, DilatedEncoder
from rnnlab.models.fasttext import MeanEncoder
from rnnlab.models.hybrid import GruCnnEncoder, RCNNEncoder
from rnnlab.models.linear import LinearEncoder
from rnnlab.models.parallel import MinimalEncoder
from rnnlab.models.pooling import Pool
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.models.transformer import Layer, LearnedPositions, TransformerEncoder
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, activate, layer_norm, linear, pooled
from rnnlab.use.onnx.graph import Graph
from rnnlab.use.onnx.recurrent_layers import minimal, recurrent
from rnnlab.use.onnx.transformer_layers import attend, feedforward, positions_at, query_key_value

CHANNELS_SECOND = [0, 2, 1]  # the permutation between (B, T, D) and (B, D, T), either way


def encode(g: Graph, x: str, rows: Rows, encoder: Encoder, name: str = "encoder") -> tuple[str, str]:
    """(B, T, D) → states (B, T, H), zero at padding, and their summary (B, S)."""
    translate = TRANSLATIONS.get(type(encoder))
    if translate is None:
        raise ExportError(
            "export has no translation of '{kind}', which isn't an encoder of rnnlab's own "
            "catalogue (rnnlab list models); rnnlab predict and rnnlab serve take the run as it is",
            kind=type(encoder).__name__,
        )
    return translate(g, x, rows, encoder, name)


def _linear(g: Graph, x: str, rows: Rows, encoder: LinearEncoder, name: str) -> tuple[str, str]:
    states = rows.zero_padding(activate(g, linear(g, x, encoder.layer, f"{name}.layer"), encoder.activation))
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


def _mean(g: Graph, x: str, rows: Rows, encoder: MeanEncoder, name: str) -> tuple[str, str]:
    states = rows.zero_padding(x)
    return states, pooled(g, states, rows, Pool("mean", encoder.width), name)


# --- convolutions -------------------------------------------------------------------------------------------------


def _convolutional(g: Graph, x: str, rows: Rows, encoder: ConvolutionalEncoder, name: str) -> tuple[str, str]:
    """Beyond either end windows see zeros."""
    windows = encoder.convolution
    depth = max(weight.shape[1] for weight in windows.weights) // windows.widest
    x = g.op("Transpose", rows.zero_padding(x), perm=CHANNELS_SECOND)
    biases = windows.bias.split(windows.weights[0].shape[0])
    found = [
        _convolve(g, x, weight, bias, depth, f"{name}.convolution.{number}", before)
        for number, (weight, bias, before) in enumerate(zip(windows.weights, biases, windows.before, strict=True))
    ]
    made = g.op("Transpose", g.op("Concat", *found, axis=1), perm=CHANNELS_SECOND)
    states = rows.zero_padding(activate(g, made, encoder.activation))
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


def _convolve(
    g: Graph, x: str, weight: Tensor, bias: Tensor, depth: int, name: str, behind: int, dilation: int = 1
) -> str:
    """(B, D, T) → (B, filters, T). ``weight`` (filters, width · D) has the steps of a window one after the other; so
    many of them lie ``behind`` the token."""
    kernel = weight.unflatten(1, (-1, depth)).transpose(1, 2)
    width = kernel.shape[2]
    pads = [behind * dilation, (width - 1 - behind) * dilation]
    weights = g.constant(kernel, f"{name}.weight"), g.constant(bias, f"{name}.bias")
    return g.op("Conv", x, *weights, kernel_shape=[width], pads=pads, dilations=[dilation])


def _dilated(g: Graph, x: str, rows: Rows, encoder: DilatedEncoder, name: str) -> tuple[str, str]:
    x = rows.zero_padding(x)
    for number, block in enumerate(encoder.blocks):
        assert isinstance(block, Block)
        x = rows.zero_padding(_block(g, x, block, f"{name}.blocks.{number}"))
    return x, pooled(g, x, rows, encoder.pool, f"{name}.pool")


def _block(g: Graph, x: str, block: Block, name: str) -> str:
    offsets, filters = block.convolution.offsets.tolist(), block.convolution.filters
    depth = filters.in_features // len(offsets)
    dilation = offsets[1] - offsets[0]
    turned = g.op("Transpose", x, perm=CHANNELS_SECOND)
    made = _convolve(
        g, turned, filters.weight, filters.bias, depth, f"{name}.convolution", -offsets[0] // dilation, dilation
    )
    added = activate(g, g.op("Transpose", made, perm=CHANNELS_SECOND), block.activation)
    if block.around is None:
        return added
    around = linear(g, x, block.around, f"{name}.around") if isinstance(block.around, nn.Linear) else x
    return g.op("Add", around, added)


# --- several encoders in one --------------------------------------------------------------------------------------


def _gru_cnn(g: Graph, x: str, rows: Rows, encoder: GruCnnEncoder, name: str) -> tuple[str, str]:
    gru = encode(g, x, rows, encoder.gru, f"{name}.gru")
    cnn = encode(g, x, rows, encoder.cnn, f"{name}.cnn")
    return g.op("Concat", gru[0], cnn[0], axis=2), g.op("Concat", gru[1], cnn[1], axis=1)


def _rcnn(g: Graph, x: str, rows: Rows, encoder: RCNNEncoder, name: str) -> tuple[str, str]:
    context, _ = encode(g, x, rows, encoder.context, f"{name}.context")
    made = g.op("Tanh", linear(g, g.op("Concat", context, x, axis=2), encoder.join, f"{name}.join"))
    states = rows.zero_padding(made)
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


# --- the transformer ----------------------------------------------------------------------------------------------


def _transformer(g: Graph, x: str, rows: Rows, encoder: TransformerEncoder, name: str) -> tuple[str, str]:
    hidden = g.op("Unsqueeze", rows.minus_infinity_at_padding, g.constant([1, 2]))  # (B, 1, 1, T): of the keys
    if not encoder.look_ahead:  # (B, 1, T, T)
        query = g.op("Unsqueeze", rows.step, g.constant([1]))
        later = g.op("Where", g.op("Less", query, rows.step), g.constant(-np.inf), g.constant(0.0))
        hidden = g.op("Add", hidden, later)
    place = rows.step
    if isinstance(encoder.positions, LearnedPositions):  # padding may go beyond the last one, where any place does
        longest = g.op("ReduceMax", rows.lengths, keepdims=0)
        place = g.op("Where", g.op("Less", rows.step, longest), rows.step, g.constant(np.array(0)))
    x = g.op("Add", linear(g, x, encoder.project, f"{name}.project"), positions_at(g, place, encoder.positions, name))
    for number, layer in enumerate(encoder.layers):
        assert isinstance(layer, Layer)
        own = f"{name}.layers.{number}"
        query, key, value = query_key_value(g, x, layer, own)
        seen, _ = attend(g, query, key, value, layer, hidden)
        x = feedforward(g, g.op("Add", x, linear(g, seen, layer.output, f"{own}.output")), layer, own)
    states = rows.zero_padding(layer_norm(g, x, encoder.norm, f"{name}.norm"))
    return states, pooled(g, states, rows, encoder.pool, f"{name}.pool")


Translation = Callable[[Graph, str, Rows, Any, str], tuple[str, str]]
TRANSLATIONS: dict[type[Encoder], Translation] = {
    RecurrentEncoder: recurrent,
    MinimalEncoder: minimal,
    ConvolutionalEncoder: _convolutional,
    DilatedEncoder: _dilated,
    GruCnnEncoder: _gru_cnn,
    RCNNEncoder: _rcnn,
    TransformerEncoder: _transformer,
    LinearEncoder: _linear,
    MeanEncoder: _mean,
}
