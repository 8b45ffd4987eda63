"""Answers a second: `rnnlab predict` against ONNX Runtime on the same batches of the same rows, one thread each.

    RNNLAB_DATA=… python benchmarks/predict.py [MODEL] [--turns 7] [--rows N] [--batch 1024] [--json]

MODEL is a run directory or a bundle of an LSTM with one layer that reads movie reviews; without one, an LSTM of 128
units is trained for one step, because weights don't matter here. All take turns over all 66,291 test phrases. A figure
is the median of the turns in CPU time, which other processes hardly lengthen; a ratio is the median of the ratios of
the turns. What is timed:

- ours, onnxruntime: from token ids to logits, on the same batches: rows of nearly one length, at most ``--batch``.
  ONNX Runtime is given its padded batches ready made; ours are laid out while the clock runs. Its graph is what an
  exporter would write: Gather, LSTM with ``sequence_lens``, Gemm.
- torch alone: ours without native code, on the same batches.
- own batches: ours, given all rows at once, as `predict` does with every 4,096 of a stream.
- network: the network itself, as training evaluates it, in its own padded batches.
- tokens: from texts to ids, which all would need.
- whole: from texts to `Prediction` objects.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from table import Row
from trained import trained
from turns import Effort

import rnnlab
from rnnlab import kernels as native
from rnnlab.answers.heads import SummaryHead
from rnnlab.data.batches import evaluation_batches
from rnnlab.data.sequences import Sequences, gather_rows
from rnnlab.models.cells import LSTMCell
from rnnlab.models.network import Network
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.tasks.classify import Classify
from rnnlab.use import Predictor
from rnnlab.use.folded import fold
from rnnlab.use.predictor import network_outputs

BATCHES = (1024, 128, 32)
COMPARED = ("onnxruntime", "torch alone", "network")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--rows", type=int, help="so many of the test rows alone")
    parser.add_argument("--batch", type=int, default=1024, help="rows in a batch, for both")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"native code: {native.status().reason}", file=sys.stderr)  # built now if it isn't there yet
    model = rnnlab.load(arguments.model or trained())
    result = compared(model, arguments.rows, arguments.batch, arguments.turns)
    print(json.dumps(result, indent=2) if arguments.json else described(result))


def measure(effort: Effort) -> Iterator[Row]:
    """ONNX Runtime over ours, with ever smaller batches."""
    torch.set_num_threads(1)
    model = rnnlab.load(trained())
    for batch in BATCHES:
        rows, turns = (16_000, 3) if effort.quick else (None, 7)
        result = compared(model, rows, batch, turns, only=("ours", "onnxruntime"))
        yield Row(
            "predict",
            f"answers of an LSTM, batches of up to {batch:,} rows, vs ONNX Runtime",
            1.0,
            tuple(result["onnxruntime_over_ours"]["turns"]),
            details=result,
        )


def compared(
    model: Predictor, rows: int | None, batch: int, turns: int, only: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """What the jobs take, or ``only`` some of them."""
    texts, data = test_rows(model, rows)
    session = as_session(model.stored.network)
    batches = same_batches(data, batch)
    parts = [taken(data, rows) for rows, _ in batches]

    by_torch = fold(model.stored.network)
    assert by_torch is not None
    expected = network_outputs(model.stored.network, data)
    outputs = np.empty_like(expected)
    for chosen, feed in batches:
        outputs[chosen] = session.run(None, feed)[0]
    furthest = {
        "ours": float(np.abs(model.logits(data) - expected).max()),
        "onnxruntime": float(np.abs(outputs - expected).max()),
    }
    jobs: dict[str, Callable[[], Any]] = {
        "ours": lambda: [model.logits(part) for part in parts],
        "onnxruntime": lambda: [session.run(None, feed) for _, feed in batches],
        "torch alone": lambda: [by_torch.outputs(part) for part in parts],
        "own batches": lambda: model.logits(data),
        "network": lambda: network_outputs(model.stored.network, data),
        "tokens": lambda: model.task.encode(texts, model.preprocessor),
        "whole": lambda: model.predict(texts),
    }
    seconds = take_turns({name: job for name, job in jobs.items() if only is None or name in only}, turns)
    return {
        "rows": len(data),
        "tokens": int(data.offsets[-1]),
        "batch": batch,
        "seconds": {name: statistics.median(taken) for name, taken in seconds.items()},
        **{f"{name}_over_ours": ratio(seconds[name], seconds["ours"]) for name in COMPARED if name in seconds},
        "furthest_from_network": furthest,
        "versions": {"torch": torch.__version__, "onnxruntime": onnxruntime.__version__},
    }


def test_rows(model: Predictor, rows: int | None) -> tuple[list[str], Sequences]:
    """The test phrases and what the model makes of them."""
    assert isinstance(model.task, Classify)
    number = len(model.task.load().test)
    texts = model.task.texts(range(min(number, rows or number)))
    assert texts is not None
    return texts, model.task.encode(texts, model.preprocessor)[0]


def same_batches(data: Sequences, most: int) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
    found = []
    for rows, batch in evaluation_batches(data):
        for at in range(0, len(rows), most):
            part = slice(at, at + most)
            lengths = batch.lengths[part].numpy().astype(np.int32)
            ids = np.ascontiguousarray(batch.inputs[part, : lengths.max()].numpy())
            found.append((rows[part], {"ids": ids, "lengths": lengths}))
    return found


def taken(data: Sequences, rows: np.ndarray) -> Sequences:
    values, offsets = gather_rows(data.values, data.offsets, rows)
    return Sequences.end_to_end(values, offsets, data.targets[rows], data.groups[rows])


def as_session(network: Network) -> onnxruntime.InferenceSession:
    """The network as ONNX Runtime runs it, with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        as_onnx(network).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def as_onnx(network: Network) -> onnx.ModelProto:
    encoder, head, embedding = network.encoder, network.head, network.embedding
    assert isinstance(encoder, RecurrentEncoder)
    assert isinstance(head, SummaryHead)
    assert embedding is not None
    cell = encoder.ahead[0]
    assert isinstance(cell, LSTMCell)
    assert len(encoder.ahead) == 1
    assert not len(encoder.back)
    channels = [channel for channel in (embedding.table, embedding.frozen) if channel is not None]
    arrays = {
        "vectors": torch.cat(channels, dim=1),
        "W": gates(cell.weight_ih_l0)[None],
        "R": gates(cell.weight_hh_l0)[None],
        "B": torch.cat([gates(cell.bias_ih_l0), gates(cell.bias_hh_l0)])[None],
        "weight": head.linear.weight,
        "bias": head.linear.bias,
    }
    weights = [numpy_helper.from_array(np.ascontiguousarray(t.detach().numpy()), name) for name, t in arrays.items()]
    nodes = [
        helper.make_node("Transpose", ["ids"], ["by_step"], perm=[1, 0]),
        helper.make_node("Gather", ["vectors", "by_step"], ["x"]),
        helper.make_node("LSTM", ["x", "W", "R", "B", "lengths"], ["", "last", ""], hidden_size=cell.hidden),
        helper.make_node("Squeeze", ["last", "first"], ["summary"]),
        helper.make_node("Gemm", ["summary", "weight", "bias"], ["logits"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "lstm",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "T"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["B"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", "C"])],
        [*weights, numpy_helper.from_array(np.array([0], np.int64), "first")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def gates(weights: torch.Tensor) -> torch.Tensor:
    """torch's order, input, forget, cell, output, to that of ONNX: input, output, forget, cell."""
    i, f, g, o = weights.chunk(4)
    return torch.cat([i, o, f, g])


def take_turns(jobs: dict[str, Callable[[], Any]], turns: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()  # warms up
    for _ in range(turns):
        for name, job in jobs.items():
            started = time.process_time()
            job()
            seconds[name].append(time.process_time() - started)
    return seconds


def ratio(one: list[float], other: list[float]) -> dict[str, Any]:
    every = [a / b for a, b in zip(one, other, strict=True)]
    return {"median": statistics.median(every), "least": min(every), "most": max(every), "turns": every}


def described(result: dict[str, Any]) -> str:
    rows = result["rows"]
    lines = [f"{rows:,} rows, {result['tokens']:,} tokens, at most {result['batch']:,} rows a batch, one thread"]
    for name, seconds in result["seconds"].items():
        lines.append(f"{name:12} {seconds:7.3f} s {rows / seconds:11,.0f} rows/s")
    for name in COMPARED:
        found = result[f"{name}_over_ours"]
        lines.append(f"{name} takes {found['median']:.2f} times as long ({found['least']:.2f} to {found['most']:.2f})")
    furthest = ", ".join(f"{name} {value:.1e}" for name, value in result["furthest_from_network"].items())
    return "\n".join([*lines, f"furthest from the network's logits: {furthest}"])


if __name__ == "__main__":
    main()
