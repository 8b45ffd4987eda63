"""A language model as ONNX that reads one token at a time: its state goes in and comes out, so that a program writes
with it, and token 10,000 costs what token 10 costs."""

import importlib.metadata
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from rnnlab.answers.text import Text
from rnnlab.core.words import note
from rnnlab.models.base import State
from rnnlab.models.cells import Cell
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, embed
from rnnlab.use.onnx.graph import FLOAT, INT64, Graph
from rnnlab.use.onnx.parity import TOLERANCE
from rnnlab.use.onnx.recurrent_layers import GATES, native_layer
from rnnlab.use.onnx.translating import metadata, state_logits
from rnnlab.use.stored import StoredModel

STEPS, BATCH = 50, 3  # that are compared with torch


@dataclass(frozen=True)
class StepState:
    """A tensor (batch, width) of the state: `name` goes in, `name` + ``_next`` comes out."""

    name: str
    start: list[float]  # before the first token


def writes(model: StoredModel) -> bool:
    return isinstance(model.spec.task.answer, Text)


def why_not(model: StoredModel) -> str | None:
    """Why a language model can't go on from a state in ONNX; None if it can."""
    if model.is_baseline:
        return note("a baseline has no state")
    encoder = model.network.encoder
    if type(encoder) is not RecurrentEncoder:
        return note("one step of the model '{kind}' has no translation into ONNX", kind=model.spec.model.kind)
    if any(not isinstance(cell, Cell) or type(cell) not in GATES or cell.layer_norm for cell in encoder.ahead):
        return note("layer norm, and cells of your own, have no step of ONNX's own")
    return None


def states_of(model: StoredModel) -> list[StepState]:
    encoder = model.network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    begin: State = encoder.begin(1)
    letters = ("h", "c")[: encoder.parts]
    names = [f"{letter}{layer}" for layer in range(encoder.settings.layers) for letter in letters]
    return [StepState(name, part[0].tolist()) for name, part in zip(names, begin, strict=True)]


def translate_step(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``ids`` (batch, 1) and the state, (batch, H) each: ``h0``, of an LSTM ``c0``, ``h1`` … of further layers.
    Outputs: ``logits`` (batch, V) of what comes next, and ``h0_next`` and so on."""
    network = model.network
    encoder, embedding = network.encoder, network.embedding
    assert isinstance(encoder, RecurrentEncoder)
    assert embedding is not None
    g, hidden = Graph(), encoder.settings.hidden
    ids = g.input("ids", INT64, ["batch", 1])
    names = [state.name for state in states_of(model)]
    given = [g.input(name, FLOAT, ["batch", hidden]) for name in names]
    rows = Rows(g, ids, "")
    x = g.op("Transpose", embed(g, ids, rows, embedding, 1), perm=[1, 0, 2])  # (1, B, D)
    after: list[str] = []
    for layer, cell in enumerate(encoder.ahead):
        assert isinstance(cell, Cell)
        first = layer * encoder.parts
        start = [g.op("Unsqueeze", part, g.constant([0])) for part in given[first : first + encoder.parts]]
        _, *ends = native_layer(g, x, "", [cell], start, [f"encoder.ahead.{layer}"])  # (1, B, H) each
        after += [g.op("Squeeze", end, g.constant([0])) for end in ends]
        x = g.op("Add", x, ends[0]) if encoder.settings.residual and layer > 0 else ends[0]
    logits, words = state_logits(g, g.op("Squeeze", x, g.constant([0])), network.head)
    g.output(logits, "logits", ["batch", words])
    for name, value in zip(names, after, strict=True):
        g.output(value, f"{name}_next", ["batch", hidden])
    return g.model(f"{model.spec.model.kind} step", importlib.metadata.version("rnnlab"), metadata(model))


def check_steps(model: StoredModel, exported: bytes) -> float:
    """How far ONNX Runtime is from torch over many steps, as `parity.check_parity` measures it. Raises where that is
    more than `TOLERANCE`."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
    states, network = states_of(model), model.network
    assert model.preprocessor.vocabulary is not None
    drawn = np.random.default_rng(0).integers(0, len(model.preprocessor.vocabulary), (STEPS, BATCH, 1))
    known: dict[str, Any] = {one.name: np.tile(np.array(one.start, np.float32), (BATCH, 1)) for one in states}
    state, one, worst = network.begin(BATCH), torch.ones(BATCH, dtype=torch.int64), 0.0
    for ids in drawn:
        found, *after = (np.asarray(value) for value in session.run(None, {"ids": ids, **known}))
        known = dict(zip(known, after, strict=True))
        with torch.inference_mode():
            out, state = network.advance(torch.from_numpy(ids), one, state)
        expected = out[:, 0].numpy()
        worst = max(worst, float((np.abs(found - expected) / max(1.0, np.abs(expected).max())).max()))
    if not worst <= TOLERANCE:
        raise ExportError(
            "step by step, ONNX Runtime and torch differ by {difference:.1e} of the largest logit after {steps} steps, "
            "and more than {tolerance:.0e} isn't accepted; nothing was written",
            difference=worst,
            steps=STEPS,
            tolerance=TOLERANCE,
        )
    return worst
