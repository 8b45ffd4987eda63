"""Whether an exported graph computes what torch does: both answer the same random batches."""

import copy
from collections.abc import Iterator, Sequence

import numpy as np
import onnxruntime
import torch

from rnnlab.answers.forecast import Forecast
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.spelling import Spelling
from rnnlab.models.baselines import Baseline
from rnnlab.models.transformer import LearnedPositions
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.decoders import exportable
from rnnlab.use.onnx.forecaster_graph import forecaster_by_torch
from rnnlab.use.stored import StoredModel

SHAPES = ((1, 1), (1, 2), (1, 7), (1, 120), (2, 3), (3, 17), (4, 1), (5, 33), (7, 64), (8, 25), (16, 120), (33, 12))
TOLERANCE = 1e-5


def check_parity(model: StoredModel, exported: bytes) -> tuple[float, float]:
    """Differences of outputs, as shares of the largest one of the same answer where that is above 1: between ONNX
    Runtime and torch, at most; and between torch and float64, where that had to decide, else 0. Raises where the first
    is more than `TOLERANCE`.

    Where they do, torch may be the one that is off: some trained recurrences magnify rounding a thousandfold over a
    hundred steps. Float64 decides then: an answer counts as right if it is torch's in either."""
    session = open_session(exported)
    name = session.get_inputs()[0].name
    difference, rounding, where = 0.0, 0.0, SHAPES[0]
    for number, (inputs, lengths) in enumerate(_batches(model)):
        expected = _answers(model, inputs, lengths)
        if number == 0 and not all(np.isfinite(values).all() for values in expected):
            raise ExportError("the model answers a single step with what is no number; nothing was written")
        found = [np.asarray(values) for values in session.run(None, {name: inputs, "lengths": lengths})]
        off = _differences(found, expected)
        if off.max() > TOLERANCE and not model.is_baseline:
            exact = _answers(model, inputs, lengths, exact=True)
            rounding = max(rounding, float(_differences(expected, exact).max()))
            off = np.minimum(off, _differences(found, exact))
        if off.max() > difference:
            difference, where = float(off.max()), inputs.shape[:2]
    if difference > TOLERANCE:
        raise ExportError(
            "ONNX Runtime and torch differ by {difference:.1e} of the largest output (in {where} "
            "sequences of {where_2} steps; torch's own rounding is {rounding:.1e}), and more than "
            "{tolerance:.0e} isn't accepted; nothing was written",
            difference=difference,
            where=where[0],
            where_2=where[1],
            rounding=rounding,
            tolerance=TOLERANCE,
        )
    return difference, rounding


def open_session(exported: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])


def _differences(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> np.ndarray:
    """Of all numbers of all outputs, one behind the other."""
    return np.concatenate([_difference(*both).ravel() for both in zip(found, expected, strict=True)])


def _difference(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Of every number. Both may overflow: a recurrence may explode beyond the lengths of its training."""
    if found.shape != expected.shape:
        return np.full(expected.shape, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.maximum(np.abs(expected).max(-1, keepdims=True), 1)
        off = np.abs(found - expected) / scale
    overflown = ~np.isfinite(found) & ~np.isfinite(expected)
    return np.where(overflown, 0, np.where(np.isfinite(found) & np.isfinite(off), off, np.inf))


def _batches(model: StoredModel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Random inputs of every shape with ragged lengths; in the wider ones no sequence reaches the last step."""
    rng = np.random.default_rng(0)
    preprocessor = model.preprocessor
    for number, (batch, steps) in enumerate(SHAPES):
        longest = min(steps, _longest(model))
        lengths = rng.integers(1, longest + 1, batch)
        lengths[0] = longest if number % 3 else max(1, longest - 1)
        real = np.arange(steps) < lengths[:, None]
        if preprocessor.vocabulary is not None:
            several = (preprocessor.tokens,) if preprocessor.ids_per_step > 1 else ()
            ids = rng.integers(1, len(preprocessor.vocabulary), (batch, steps, *several))
            if preprocessor.spelling is not None and preprocessor.spelling.length:
                ids = np.concatenate([ids, _letters(rng, (batch, steps), preprocessor.spelling)], axis=2)
            yield np.where(real.reshape(batch, steps, *(1 for _ in several)), ids, 0), lengths
        else:
            assert preprocessor.scaler is not None
            normal = rng.standard_normal((batch, steps, len(preprocessor.scaler.mean)))
            features = normal * preprocessor.scaler.std + preprocessor.scaler.mean
            yield np.where(real[:, :, None], features, 0).astype(np.float32), lengths


def _letters(rng: np.random.Generator, shape: tuple[int, int], spelling: Spelling) -> np.ndarray:
    """(B, T, L): of words of any length, also of none."""
    ids = rng.integers(1, len(spelling.letters), (*shape, spelling.length))
    return np.where(np.arange(spelling.length) < rng.integers(0, spelling.length + 1, (*shape, 1)), ids, 0)


def _longest(model: StoredModel) -> int:
    """The most steps that the model can take."""
    positions = None if model.is_baseline else getattr(model.network.encoder, "positions", None)
    return positions.max_length if isinstance(positions, LearnedPositions) else max(steps for _, steps in SHAPES)


def _answers(model: StoredModel, inputs: np.ndarray, lengths: np.ndarray, exact: bool = False) -> list[np.ndarray]:
    """All outputs of the graph, as torch computes them: of a network in float64, if ``exact``."""
    if isinstance(model.spec.task.answer, Forecast):
        return [forecaster_by_torch(model, inputs, lengths, exact)]
    scaler = model.preprocessor.scaler
    given = inputs if scaler is None else scaler.apply(inputs)
    if isinstance(model.spec.model, Baseline):
        real = np.arange(inputs.shape[1]) < lengths[:, None]
        nothing = np.zeros(len(lengths), np.int64)
        rows = Sequences.end_to_end(given[real], offsets_of(lengths), nothing, nothing)
        return [model.spec.model.logits(model.learnt, *model.spec.model.rows(rows, model.preprocessor))]
    network, x = model.network, torch.from_numpy(given)
    if exact:
        network, x = copy.deepcopy(network).double(), x.double() if x.is_floating_point() else x
    with torch.inference_mode():
        if network.decoder is not None:
            told = exportable(network.decoder).told_by_torch(network.remember(x, torch.from_numpy(lengths)))
            return [values.numpy() for values in told]
        found = network(x, torch.from_numpy(lengths)).numpy()
    return [found[:, : inputs.shape[1]] if network.reads == "states" else found]  # below them, a chain may follow
