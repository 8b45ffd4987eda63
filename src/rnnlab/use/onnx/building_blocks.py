"""What the translations share: which steps are real, linear layers, embeddings, pooling.

Shapes are those of the torch modules, batch first. B and T are whatever the caller of the ONNX model brings.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.models.embedding import PADDING, SEPARATED, TokenVectors
from rnnlab.models.fasttext import END, PRIME, NgramVectors
from rnnlab.models.linear import ACTIVATIONS
from rnnlab.models.pooling import Pool
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.graph import DOUBLE, FLOAT, INT32, INT64, Graph


class Rows:
    """The sequences of a batch: how long they are, and so where padding begins. Made in the graph when first used."""

    graph: Graph
    inputs: str
    lengths: str

    def __init__(self, graph: Graph, inputs: str, lengths: str):
        self.graph, self.inputs, self.lengths = graph, inputs, lengths

    @cached_property
    def batch(self) -> str:
        """(1,): B."""
        return self.graph.op("Shape", self.inputs, start=0, end=1)

    @cached_property
    def steps(self) -> str:
        """(1,): T."""
        return self.graph.op("Shape", self.inputs, start=1, end=2)

    @cached_property
    def step(self) -> str:
        """(T,) int64: 0, 1, 2 …"""
        g = self.graph
        zero, one = g.constant(np.array(0)), g.constant(np.array(1))
        return g.op("Range", zero, g.op("Squeeze", self.steps), one)

    @cached_property
    def lengths32(self) -> str:
        """(B,) int32, as the recurrent operators want it."""
        return self.graph.op("Cast", self.lengths, to=INT32)

    @cached_property
    def lengths_column(self) -> str:
        """(B, 1) int64."""
        return self.graph.op("Unsqueeze", self.lengths, self.graph.constant([1]))

    @cached_property
    def real(self) -> str:
        """(B, T) bool: False at padding."""
        return self.graph.op("Less", self.step, self.lengths_column)

    @cached_property
    def zero_at_padding(self) -> str:
        """(B, T, 1) float: 1 at real steps."""
        g = self.graph
        return g.op("Unsqueeze", g.op("Cast", self.real, to=FLOAT), g.constant([2]))

    @cached_property
    def minus_infinity_at_padding(self) -> str:
        """(B, T) float: 0 at real steps."""
        g = self.graph
        return g.op("Where", self.real, g.constant(0.0), g.constant(-np.inf))

    def zero_padding(self, x: str) -> str:
        return self.graph.op("Mul", x, self.zero_at_padding)


def linear(g: Graph, x: str, layer: nn.Linear, name: str) -> str:
    product = g.op("MatMul", x, g.constant(layer.weight.t(), f"{name}.weight"))
    return product if layer.bias is None else g.op("Add", product, g.constant(layer.bias, f"{name}.bias"))


def layer_norm(g: Graph, x: str, norm: nn.LayerNorm, name: str) -> str:
    scale, bias = g.constant(norm.weight, f"{name}.weight"), g.constant(norm.bias, f"{name}.bias")
    return g.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=norm.eps)


def activate(g: Graph, x: str, activation: Callable[..., Tensor]) -> str:
    if activation is ACTIVATIONS["none"]:
        return x
    if activation is F.gelu:  # x Φ(x), with the error function and not its approximation by tanh
        erf = g.op("Erf", g.op("Mul", x, g.constant(0.5**0.5)))
        return g.op("Mul", x, g.op("Add", g.op("Mul", erf, g.constant(0.5)), g.constant(0.5)))
    return g.op({F.relu: "Relu", torch.tanh: "Tanh"}[activation], x)


# --- from the inputs to vectors -----------------------------------------------------------------------------------


def standardise(g: Graph, x: str, mean: tuple[float, ...], std: tuple[float, ...]) -> str:
    """In float64, as `Scaler.apply` does it."""
    centred = g.op("Sub", g.op("Cast", x, to=DOUBLE), g.constant(np.array(mean, np.float64), "scaler.mean"))
    scaled = g.op("Div", centred, g.constant(np.array(std, np.float64), "scaler.std"))
    return g.op("Cast", scaled, to=FLOAT)


def embed(g: Graph, ids: str, rows: Rows, embedding: TokenVectors, tokens: int, own_name: str = "embedding") -> str:
    """Ids (B, T), or several per step (B, T, K) → (B, T, K · width). Where the embedding is narrow, the frozen channel
    is that of the first id of a step alone, behind the vectors of all."""
    if type(embedding) is NgramVectors:
        return _embed_ngrams(g, ids, rows, embedding)
    if type(embedding) is not TokenVectors:
        raise ExportError("export has no translation of the embedding '{kind}'", kind=type(embedding).__name__)
    own = ids if tokens == 1 else g.op("Gather", ids, g.constant(np.array(0)), axis=2)
    one_behind_the_other = g.constant([0, 0, -1])
    narrow = embedding.narrow and tokens > 1 and embedding.table is not None
    channels = [
        g.op("Gather", g.constant(table, f"{own_name}.{name}"), own if name == "frozen" and narrow else ids)
        for name, table in (("table", embedding.table), ("frozen", embedding.frozen))
        if table is not None
    ]
    if narrow:
        channels[0] = g.op("Reshape", channels[0], one_behind_the_other)
    x = channels[0] if len(channels) == 1 else g.op("Concat", *channels, axis=-1)
    x = x if tokens == 1 or narrow else g.op("Reshape", x, one_behind_the_other)
    if embedding.segments is None:
        return x
    column = columns_of(g, own, len(embedding.segments))
    return g.op("Add", x, g.op("Gather", g.constant(embedding.segments, "embedding.segments"), column))


def columns_of(g: Graph, ids: str, columns: int) -> str:
    """Ids (B, T) → (B, T): how many separators there are up to each token."""
    separated = g.op("Cast", g.op("Equal", ids, g.constant(np.array(SEPARATED))), to=INT64)
    seen = g.op("CumSum", separated, g.constant(np.array(1)))
    return g.op("Min", seen, g.constant(np.array(columns - 1)))


def _embed_ngrams(g: Graph, ids: str, rows: Rows, embedding: NgramVectors) -> str:
    """As `NgramVectors.forward`. What stands at padding is zeroed later."""
    if not embedding.hashed.ends:
        return _ngram_sums(g, ids, rows.step, rows.steps, embedding)
    one, two, padding = g.constant([1]), g.constant([2]), g.constant(np.array(PADDING))
    longer = g.op("Add", rows.steps, one)
    step = g.op("Range", g.constant(np.array(0)), g.op("Squeeze", longer), g.constant(np.array(1)))
    behind = g.op("Equal", step, rows.lengths_column)  # (B, T + 1)
    ended = g.op("Where", behind, g.constant(np.array(END)), g.op("Pad", ids, g.constant([0, 0, 0, 1]), padding))
    sums = _ngram_sums(g, ended, step, longer, embedding)  # (B, T + 1, D)
    own = g.op("Slice", sums, g.constant([0]), rows.steps, one)
    of_end = g.op("Unsqueeze", g.op("GatherND", sums, rows.lengths_column, batch_dims=1), one)  # (B, 1, D)
    last = g.op("Slice", g.op("Cast", behind, to=FLOAT), one, longer, one)  # (B, T)
    return g.op("Add", own, g.op("Mul", g.op("Unsqueeze", last, two), of_end))


def _ngram_sums(g: Graph, ids: str, step: str, steps: str, embedding: NgramVectors) -> str:
    """(B, T, D): of each token and the n-grams that end there."""
    assert embedding.table is not None
    hashed = embedding.hashed
    table = g.constant(embedding.table, "embedding.table")
    sizes = range(2, hashed.ngrams + 1)
    found = [g.op("Gather", table, _rows_of(g, ids, step, steps, embedding, n)) for n in sizes]
    words = ids
    if len(embedding.table) > embedding.words + hashed.buckets:  # extra words stand behind the buckets
        behind = g.op("Add", ids, g.constant(np.array(hashed.buckets)))
        words = g.op("Where", g.op("Less", ids, g.constant(np.array(embedding.words))), ids, behind)
    if hashed.ends:
        of_end = g.constant(np.array(embedding.words + hashed.bucket(END)))
        words = g.op("Where", g.op("Equal", ids, g.constant(np.array(END))), of_end, words)
    return g.op("Sum", g.op("Gather", table, words), *found)


def _rows_of(g: Graph, ids: str, step: str, steps: str, embedding: NgramVectors, n: int) -> str:
    """(B, T): the row of the n-gram that ends at each token; 0, that of padding, where there is none."""
    hashing = embedding.hashed
    zero, prime, factor = (g.constant(np.array(number)) for number in (0, PRIME, hashing.factor))
    hashed = g.constant(np.array(n))
    for back in range(n - 1, -1, -1):
        padded = g.op("Pad", ids, g.constant([0, back, 0, 0]), zero)
        earlier = g.op("Slice", padded, g.constant([0]), steps, g.constant([1]))
        hashed = g.op("Mod", g.op("Add", g.op("Mul", hashed, factor), earlier), prime)
        if hashing.squares:
            hashed = g.op("Mod", g.op("Mul", hashed, hashed), prime)
    bucket = g.op("Mod", hashed, g.constant(np.array(hashing.buckets)))
    row = g.op("Add", bucket, g.constant(np.array(embedding.words)))
    begun = g.op("GreaterOrEqual", step, g.constant(np.array(n - 2 if hashing.ends else n - 1)))
    return g.op("Where", begun, row, zero)


# --- from states to a summary -------------------------------------------------------------------------------------


def pooled(g: Graph, states: str, rows: Rows, pool: Pool, name: str) -> str:
    """(B, T, H), zero at padding → (B, width)."""
    if type(pool) is not Pool:
        raise ExportError("export has no translation of the pooling '{kind}'", kind=type(pool).__name__)
    if pool.kind == "last":
        return _last(g, states, rows, pool)
    if pool.kind == "first+last":
        return g.op("Concat", _first(g, states), _ends(g, states, rows), axis=1)
    time = g.constant([1])
    if pool.kind == "mean":
        count = g.op("Cast", rows.lengths_column, to=FLOAT)
        return g.op("Div", g.op("ReduceSum", states, time, keepdims=0), count)
    if pool.kind == "max":
        added = g.op("Unsqueeze", rows.minus_infinity_at_padding, g.constant([2]))
        return g.op("ReduceMax", g.op("Add", states, added), time, keepdims=0)
    scores = g.op("MatMul", states, g.constant(pool.query, f"{name}.query"))  # (B, T)
    weights = g.op("Softmax", g.op("Add", scores, rows.minus_infinity_at_padding), axis=1)
    return g.op("Squeeze", g.op("MatMul", g.op("Unsqueeze", weights, time), states), time)


def _last(g: Graph, states: str, rows: Rows, pool: Pool) -> str:
    ends = _ends(g, states, rows)
    width = pool.width  # of the states, too
    if pool.ahead_width == width:
        return ends
    first, edge, axis = g.constant([0]), g.constant([pool.ahead_width]), g.constant([1])
    ahead = g.op("Slice", ends, first, edge, axis)
    return g.op("Concat", ahead, g.op("Slice", _first(g, states), edge, g.constant([width]), axis), axis=1)


def _first(g: Graph, states: str) -> str:
    return g.op("Gather", states, g.constant(np.array(0)), axis=1)


def _ends(g: Graph, states: str, rows: Rows) -> str:
    """The states at length - 1, (B, H)."""
    return g.op("GatherND", states, g.op("Sub", rows.lengths_column, g.constant([1])), batch_dims=1)
