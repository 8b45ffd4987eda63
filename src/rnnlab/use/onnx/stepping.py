"""A language model as ONNX that reads one token at a time: its state goes in and comes out, so that a program writes
with it, and token 10,000 costs what token 10 costs."""

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from torch import Tensor

from rnnlab.answers.text import Text
from rnnlab.core.words import note
from rnnlab.models.base import State
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, embed
from rnnlab.use.onnx.graph import FLOAT, INT64, Graph
from rnnlab.use.onnx.model_graph import metadata, state_logits
from rnnlab.use.onnx.parity import TOLERANCE, open_session
from rnnlab.use.onnx.recurrent_layers import recurrent_step, state_names, why_no_step
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
    return why_no_step(model.network.encoder, model.spec.model.kind)


def states_of(model: StoredModel) -> list[StepState]:
    encoder = model.network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    begin: State = encoder.begin(1)
    return [StepState(name, part[0].tolist()) for name, part in zip(state_names(encoder), begin, strict=True)]


def step_graph(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``ids`` (batch, 1) and the state, (batch, H) each: ``h0``, of an LSTM ``c0``, ``h1`` … of further layers.
    Outputs: ``logits`` (batch, V) of what comes next, and ``h0_next`` and so on."""
    network = model.network
    encoder, embedding = network.encoder, network.embedding
    assert isinstance(encoder, RecurrentEncoder)
    assert embedding is not None
    g, hidden = Graph(), encoder.settings.hidden
    ids = g.input("ids", INT64, ["batch", 1])
    names = state_names(encoder)
    given = [g.input(name, FLOAT, ["batch", hidden]) for name in names]
    x = embed(g, ids, Rows(g, ids, ""), embedding, 1)
    state, after = recurrent_step(g, x, given, encoder, "encoder")
    logits, words = state_logits(g, state, network.head)
    g.output(logits, "logits", ["batch", words])
    for name, value in zip(names, after, strict=True):
        g.output(value, f"{name}_next", ["batch", hidden])
    return g.model(f"{model.spec.model.kind} step", importlib.metadata.version("rnnlab"), metadata(model))


def check_steps(model: StoredModel, exported: bytes) -> float:
    """How far ONNX Runtime is from torch over many steps; see `differ_over_steps`."""
    network = model.network
    assert model.preprocessor.vocabulary is not None
    state, one = network.begin(BATCH), torch.ones(BATCH, dtype=torch.int64)

    def advance(ids: Tensor) -> Tensor:
        nonlocal state
        out, state = network.advance(ids[:, None], one, state)
        return out[:, 0]

    begin = {one.name: np.tile(np.array(one.start, np.float32), (BATCH, 1)) for one in states_of(model)}
    return differ_over_steps(exported, {}, begin, len(model.preprocessor.vocabulary), advance)


def differ_over_steps(
    exported: bytes,
    always: Mapping[str, np.ndarray],
    state: Mapping[str, np.ndarray],
    words: int,
    advance: Callable[[Tensor], Tensor],
    steps: int = STEPS,
) -> float:
    """How far ONNX Runtime is from torch over many steps, as `parity.check_parity` measures it: ``always`` goes in at
    every step, and ``state`` before the first one. ``advance`` is torch's step: ids (B,) → logits (B, words). Raises
    where they differ by more than `TOLERANCE`."""
    session = open_session(exported)
    rows = len(next(iter(state.values())))
    worst = 0.0
    for ids in np.random.default_rng(0).integers(0, words, (steps, rows)):
        wanted = ["logits", *(f"{name}_next" for name in state)]
        found, *after = map(np.asarray, session.run(wanted, {"ids": ids[:, None], **always, **state}))
        state = dict(zip(state, after, strict=True))
        with torch.inference_mode():
            expected = advance(torch.from_numpy(ids)).numpy()
        worst = max(worst, float((np.abs(found - expected) / max(1.0, np.abs(expected).max())).max()))
    if not worst <= TOLERANCE:
        raise ExportError(
            "step by step, ONNX Runtime and torch differ by {difference:.1e} of the largest logit after {steps} steps, "
            "and more than {tolerance:.0e} isn't accepted; nothing was written",
            difference=worst,
            steps=steps,
            tolerance=TOLERANCE,
        )
    return worst
