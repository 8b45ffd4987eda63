"""An ONNX graph as it grows, node by node. A value in it is a string: the name of a tensor."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from torch import Tensor

from rnnlab.use.onnx import ExportError

OPSET = 18  # with IR version 8: what ONNX Runtime reads since 1.14, native and in a browser
IR_VERSION = 8
LIMIT = 2**31 - 1  # bytes of a protobuf message; whatever is larger would need its weights in files beside it

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
INT32, DOUBLE = onnx.TensorProto.INT32, onnx.TensorProto.DOUBLE
Shape = Sequence[int | str | None]


class Graph:
    """Nodes in the order of their making, so that each comes after what it reads."""

    def __init__(self, outer: "Graph | None" = None):
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self._root = outer._root if outer else self
        self._constants: dict[str, onnx.TensorProto] = {}
        self._made: dict[str, int] = {}  # how many names begin with this

    def input(self, name: str, kind: int, shape: Shape) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, shape: Shape) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, shape))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output. An input that is left out is an empty string."""
        return self.ops(kind, inputs, 1, **attributes)[0]

    def ops(self, kind: str, inputs: Iterable[str], outputs: int, **attributes: Any) -> list[str]:
        names = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def name(self, stem: str) -> str:
        """A name that no other value has, in this graph and in those around it."""
        made = self._root._made
        made[stem] = made.get(stem, 0) + 1
        return stem if made[stem] == 1 else f"{stem}.{made[stem]}"

    def constant(self, value: Tensor | np.ndarray | Sequence[int] | float, name: str = "constant") -> str:
        """Weights under the name that they have in torch; a number becomes float32, a list of them int64."""
        if isinstance(value, Tensor):
            array = value.detach().cpu().numpy()
        elif isinstance(value, np.ndarray):
            array = value
        else:
            array = np.array(value, np.float32 if isinstance(value, float) else np.int64)
        made = self._root.name(name)
        self._root._constants[made] = numpy_helper.from_array(np.asarray(array, order="C"), made)
        return made

    def body(self, name: str) -> onnx.GraphProto:
        """This graph as the body of a loop; its constants are those of the graph around it."""
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs)

    def model(self, name: str, producer_version: str, metadata: dict[str, str]) -> onnx.ModelProto:
        """Whatever no output depends on is left out."""
        nodes, used = _needed(self.nodes, {output.name for output in self.outputs})
        weights = [tensor for key, tensor in self._constants.items() if key in used]
        size = sum(len(tensor.raw_data) for tensor in weights) + sum(len(text.encode()) for text in metadata.values())
        if size > LIMIT:
            raise ExportError(
                "the weights take {size:.1f} GB, and one ONNX file holds less than {limit:.1f} GB; more "
                "would need files beside it, which rnnlab doesn't write: train with a smaller vocabulary "
                "(task.max_size), fewer buckets or narrower vectors",
                size=size / 2**30,
                limit=LIMIT / 2**30,
            )
        graph = helper.make_graph(nodes, name, self.inputs, self.outputs, weights)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="rnnlab",
            producer_version=producer_version,
        )
        helper.set_model_props(model, metadata)
        return model


def _needed(nodes: Sequence[onnx.NodeProto], wanted: set[str]) -> tuple[list[onnx.NodeProto], set[str]]:
    """The nodes on which the ``wanted`` values depend, and all values that these read."""
    used, kept = set(wanted), []
    for node in reversed(nodes):
        if used.intersection(node.output):
            kept.append(node)
            used.update(_read_by(node))
    return kept[::-1], used


def _read_by(node: onnx.NodeProto) -> set[str]:
    read = set(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:  # a loop's body reads values from around it
            read |= _read_by(inner)
    return read
