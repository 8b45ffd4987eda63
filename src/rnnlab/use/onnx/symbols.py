"""A tensor that isn't there yet: what is done to it becomes nodes of a graph. So a cell's own ``step`` is what is
exported, a plugin's too, and its formulas need no second form here."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.graph import Graph

UNARY = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "exp": "Exp", "abs": "Abs", "neg": "Neg"}


class Symbol:
    """A value of a graph with so many axes. It knows what steps do: arithmetic, products with weights, sigmoid, tanh,
    relu and their like, chunks, and layer norm over the last axis."""

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

    __radd__, __rmul__ = __add__, __mul__

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
