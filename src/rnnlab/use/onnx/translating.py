"""From a stored model to an ONNX model: the inputs, the graph between, one output, and what explains them."""

import importlib.metadata
import json

import onnx

from rnnlab.answers.heads import StateHead, SummaryHead
from rnnlab.models.baselines import Baseline
from rnnlab.models.network import Network
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.baselines import baseline_logits
from rnnlab.use.onnx.encoders import encode
from rnnlab.use.onnx.graph import FLOAT, INT64, Graph
from rnnlab.use.onnx.pieces import Rows, embed, linear, standardise
from rnnlab.use.stored import StoredModel


def translate(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``ids`` (batch, length), or (batch, length, k) where a step has several; or ``features`` (batch, length,
    channels), as they stand in the data; and ``lengths`` (batch,). Rows are padded on the right, with zeros.
    Output: ``logits`` (batch, C), or (batch, length, C) where there is an answer at every step."""
    g, preprocessor, settings = Graph(), model.preprocessor, model.spec.model
    if preprocessor.features is not None:
        inputs = g.input("features", FLOAT, ["batch", "length", preprocessor.features])
    else:
        several = [preprocessor.tokens] if preprocessor.tokens > 1 else []
        inputs = g.input("ids", INT64, ["batch", "length", *several])
    rows = Rows(g, inputs, g.input("lengths", INT64, ["batch"]))
    x = inputs
    if preprocessor.scaler is not None:
        x = standardise(g, x, preprocessor.scaler.mean, preprocessor.scaler.std)
    if isinstance(settings, Baseline):
        logits, shape = baseline_logits(g, x, rows, settings, model.learnt), ["batch", len(preprocessor.labels)]
    else:
        logits, shape = _network_logits(g, x, rows, model.network, preprocessor.tokens)
    g.output(logits, "logits", shape)
    return g.model(settings.kind, importlib.metadata.version("rnnlab"), _metadata(model))


def _network_logits(g: Graph, x: str, rows: Rows, network: Network, tokens: int) -> tuple[str, list[int | str]]:
    if network.embedding is not None:
        x = embed(g, x, rows, network.embedding, tokens)
    states, summary = encode(g, x, rows, network.encoder)
    head = network.head
    if type(head) is SummaryHead:
        return linear(g, summary, head.linear, "head.linear"), ["batch", head.linear.out_features]
    if type(head) is StateHead:
        return linear(g, states, head.linear, "head.linear"), ["batch", "length", head.linear.out_features]
    raise ExportError(
        "export has no translation of '{kind}', the head of a task that isn't one of rnnlab's "
        "own tasks (rnnlab list tasks)",
        kind=type(head).__name__,
    )


def _metadata(model: StoredModel) -> dict[str, str]:
    """For whoever has the file alone: values that aren't texts are JSON."""
    preprocessor = model.preprocessor
    values = {
        "labels": preprocessor.labels,
        "vocabulary": preprocessor.vocabulary and preprocessor.vocabulary.words,
        "tokenizer": preprocessor.tokenizer and preprocessor.tokenizer.to_dict(),
        "max_length": preprocessor.max_length,
        "temperature": model.card.temperature,
        "model": model.spec.model.to_dict(),
    }
    plain = {"spec": model.spec.digest, "task": model.spec.task.kind, "rnnlab": importlib.metadata.version("rnnlab")}
    return plain | {name: json.dumps(value, ensure_ascii=False, allow_nan=False) for name, value in values.items()}
