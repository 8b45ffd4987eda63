"""A forecaster as one ONNX graph: windows go in, standardised by their series, and quantiles come out, standardised
alike. What a window is measured by besides (its last value, its spread), the line beside the network and the order of
the quantiles are inside."""

import copy
import importlib.metadata
import json

import numpy as np
import onnx
import torch

from rnnlab.answers.forecast import LEAST_SPREAD, Forecast
from rnnlab.answers.heads import LinearBeside, SummaryHead
from rnnlab.data.batches import Batch
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.models.baselines import Learnt
from rnnlab.models.forecasting import Forecasting, LastValue, MovingAverage, Ridge, SeasonalNaive
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, linear
from rnnlab.use.onnx.graph import DOUBLE, FLOAT, INT64, Graph
from rnnlab.use.onnx.model_graph import metadata, read, untranslated
from rnnlab.use.onnx.tokenizer_file import of_forecaster
from rnnlab.use.stored import StoredModel

CHANNELS_SECOND = [0, 2, 1]  # the permutation between (B, T, C) and (B, C, T), either way


def forecaster_graph(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``features`` (batch, length, D), padded on the right, and ``lengths`` (batch,). Output: ``forecasts``
    (batch, H, C, Q); where there are no quantiles, Q is 1."""
    answer, g, settings = _answer(model), Graph(), model.spec.model
    features = g.input("features", FLOAT, ["batch", "length", model.preprocessor.features])
    rows = Rows(g, features, g.input("lengths", INT64, ["batch"]))
    if isinstance(settings, Forecasting):
        found = _baseline(g, features, rows, settings, model.learnt, answer)
    else:
        found = _network(g, features, rows, model, answer)
    g.output(found, "forecasts", ["batch", answer.horizon, answer.channels, answer.numbers])
    told = metadata(model) | {"forecasting": json.dumps(of_forecaster(model), ensure_ascii=False, allow_nan=False)}
    return g.model(settings.kind, importlib.metadata.version("rnnlab"), told)


def _answer(model: StoredModel) -> Forecast:
    answer = model.spec.task.answer
    assert isinstance(answer, Forecast)
    return answer


# --- a network --------------------------------------------------------------------------------------------------------


def _network(g: Graph, features: str, rows: Rows, model: StoredModel, answer: Forecast) -> str:
    own = _channels(g, features, answer.channels)
    level, spread = _measured_by(g, own, rows, answer)
    x = features
    if level is not None:
        own = g.op("Sub", own, level)
        own = rows.zero_padding(own if spread is None else g.op("Div", own, spread))
        rest = g.op("Slice", features, g.constant([answer.channels]), g.constant([2**31]), g.constant([2]))
        x = g.op("Concat", own, rest, axis=2)
    _, summary = read(g, x, rows, model.network, model.preprocessor)
    shape = g.constant([-1, answer.horizon, answer.channels, answer.numbers])
    head = model.network.head
    if type(head) not in (SummaryHead, LinearBeside):
        raise ExportError("export has no translation of '{kind}', the head of a forecaster", kind=type(head).__name__)
    assert isinstance(head, SummaryHead | LinearBeside)
    found = g.op("Reshape", linear(g, summary, head.linear, "head.linear"), shape)
    if isinstance(head, LinearBeside):
        found = g.op("Add", found, _line(g, own, rows, head))
    last = g.constant([3])
    if spread is not None:
        found = g.op("Mul", found, g.op("Unsqueeze", spread, last))
    if level is not None:
        found = g.op("Add", found, g.op("Unsqueeze", level, last))
    if answer.quantiles:
        found = g.ops("TopK", [found, g.constant([answer.numbers])], 2, axis=3, largest=0, sorted=1)[0]
    return found


def _channels(g: Graph, features: str, channels: int) -> str:
    """(B, T, D) → (B, T, C)."""
    return g.op("Slice", features, g.constant([0]), g.constant([channels]), g.constant([2]))


def _measured_by(g: Graph, own: str, rows: Rows, answer: Forecast) -> tuple[str | None, str | None]:
    """Level and spread, (B, 1, C) each, as `Forecast.measured_by` has them; None: 0 and 1."""
    if answer.scaling == "none":
        return None, None
    time = g.constant([1])
    ends = g.op("GatherND", own, g.op("Sub", rows.lengths_column, g.constant([1])), batch_dims=1)
    level = g.op("Unsqueeze", ends, time)
    if answer.scaling == "last":
        return level, None
    count = g.op("Unsqueeze", g.op("Cast", rows.lengths_column, to=FLOAT), g.constant([2]))
    mean = g.op("Div", g.op("ReduceSum", rows.zero_padding(own), time, keepdims=1), count)
    off = rows.zero_padding(g.op("Sub", own, mean))
    variance = g.op("Div", g.op("ReduceSum", g.op("Mul", off, off), time, keepdims=1), count)
    return level, g.op("Max", g.op("Sqrt", variance), g.constant(LEAST_SPREAD))


def _line(g: Graph, own: str, rows: Rows, head: LinearBeside) -> str:
    """(B, H, C, Q): what `LinearBeside` adds; nothing lies before a short window."""
    horizon, channels, numbers, lookback = head.shape
    at = _last_steps(g, rows, lookback)
    there = g.op("Cast", g.op("GreaterOrEqual", at, g.constant(np.array(0))), to=FLOAT)
    values = g.op("Mul", _at(g, own, at), g.op("Unsqueeze", there, g.constant([2])))
    lines = linear(g, g.op("Transpose", values, perm=CHANNELS_SECOND), head.line, "head.line")
    split = g.op("Reshape", lines, g.constant([-1, channels, horizon, numbers]))
    return g.op("Transpose", split, perm=[0, 2, 1, 3])


def _last_steps(g: Graph, rows: Rows, count: int) -> str:
    """(B, count) int64: numbers of the last steps; below 0 before a short window."""
    return g.op("Add", rows.lengths_column, g.constant(np.arange(-count, 0)))


def _at(g: Graph, values: str, steps: str) -> str:
    """(B, T, C) at steps (B, L) → (B, L, C); before a window stands its first step."""
    from_first = g.op("Max", steps, g.constant(np.array(0)))
    return g.op("GatherND", values, g.op("Unsqueeze", from_first, g.constant([2])), batch_dims=1)


# --- baselines --------------------------------------------------------------------------------------------------------


def _baseline(g: Graph, features: str, rows: Rows, settings: Forecasting, learnt: Learnt, answer: Forecast) -> str:
    if type(settings) not in (LastValue, SeasonalNaive, MovingAverage, Ridge):
        raise untranslated(settings)
    reach = settings.reach(learnt)
    own = _at(g, _channels(g, features, answer.channels), _last_steps(g, rows, reach))  # (B, reach, C)
    time = g.constant([1])
    if isinstance(settings, SeasonalNaive):
        points = g.op("Gather", own, g.constant(np.arange(answer.horizon) % reach), axis=1)
    elif isinstance(settings, Ridge):
        points = _ridge(g, own, learnt["weights"])
    else:  # the mean of one value is that value
        wide = g.op("Cast", own, to=DOUBLE)
        mean = g.op("Cast", g.op("ReduceMean", wide, time, keepdims=1), to=FLOAT)
        points = g.op("Expand", mean, g.constant([1, answer.horizon, 1]))
    found = g.op("Unsqueeze", points, g.constant([3]))
    return g.op("Add", found, g.constant(learnt["off"], "off")) if answer.quantiles else found


def _ridge(g: Graph, own: str, weights: np.ndarray) -> str:
    """(B, L, C) and (1 or C, L, H) → (B, H, C), in float64."""
    wide = g.op("Cast", own, to=DOUBLE)
    last = g.op("Slice", wide, g.constant([-1]), g.constant([2**31]), g.constant([1]))  # (B, 1, C)
    off = g.op("Transpose", g.op("Sub", wide, last), perm=CHANNELS_SECOND)  # (B, C, L)
    by_channel = g.op("Unsqueeze", off, g.constant([2]))  # (B, C, 1, L)
    product = g.op("MatMul", by_channel, g.constant(weights.astype(np.float64), "weights"))  # (B, C, 1, H)
    ahead = g.op("Transpose", g.op("Squeeze", product, g.constant([2])), perm=CHANNELS_SECOND)
    return g.op("Cast", g.op("Add", ahead, last), to=FLOAT)


# --- what torch says, for the check -----------------------------------------------------------------------------------


def forecaster_by_torch(
    model: StoredModel, features: np.ndarray, lengths: np.ndarray, exact: bool = False
) -> np.ndarray:
    """(B, H, C, Q) of windows as the graph takes them: of a network in float64, if ``exact``."""
    answer, settings = _answer(model), model.spec.model
    if isinstance(settings, Forecasting):
        ends = offsets_of(lengths)
        real = np.arange(features.shape[1]) < lengths[:, None]
        rows, ahead = np.arange(len(lengths)), np.zeros((len(lengths) * answer.horizon, answer.channels), np.float32)
        data = Sequences(features[real], ends[:-1], ends[1:], ahead, rows, horizon=answer.horizon, series=rows)
        points = settings.forecast(model.learnt, data)[..., None]
        return points + model.learnt["off"] if answer.quantiles else points
    network, x = model.network, torch.from_numpy(features)
    if exact:
        network, x = copy.deepcopy(network).double(), x.double()
    batch = Batch(x, torch.from_numpy(lengths), x.new_zeros(len(x), answer.horizon, answer.channels))
    with torch.inference_mode():
        return answer.forecasts(network(*answer.given(batch)), batch).numpy()
