"""From a stored model to an ONNX model: the inputs, the graph between, one output, and what explains them."""

import importlib.metadata
import json

import numpy as np
import onnx
from torch import nn

from rnnlab.answers.heads import StateHead, SummaryHead, TiedHead
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.baselines import Baseline, Learnt, Majority, Statistics, TfIdf
from rnnlab.models.chain_head import ChainHead
from rnnlab.models.embedding import TokenVectors
from rnnlab.models.gram_rows import spelled_out
from rnnlab.models.nbsvm import NbSvm, levels_of
from rnnlab.models.network import Network
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.building_blocks import Rows, columns_of, embed, linear, standardise
from rnnlab.use.onnx.encoders import encode
from rnnlab.use.onnx.graph import DOUBLE, FLOAT, INT64, Graph
from rnnlab.use.onnx.letters import read_letters
from rnnlab.use.stored import StoredModel


def model_graph(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``ids`` (batch, length), or (batch, length, k) where a step has several, those of letters last; or
    ``features`` (batch, length, channels), as they stand in the data; and ``lengths`` (batch,). Rows are padded on the
    right, with zeros.
    Output: ``logits`` (batch, C), or (batch, length, C) where there is an answer at every step. Where tags are scored
    by those beside them, too, the chain isn't in the graph: it stands in the file beside the model."""
    g, preprocessor, settings = Graph(), model.preprocessor, model.spec.model
    if preprocessor.features is not None:
        inputs = g.input("features", FLOAT, ["batch", "length", preprocessor.features])
    else:
        several = [preprocessor.ids_per_step] if preprocessor.ids_per_step > 1 else []
        inputs = g.input("ids", INT64, ["batch", "length", *several])
    rows = Rows(g, inputs, g.input("lengths", INT64, ["batch"]))
    x = inputs
    if preprocessor.scaler is not None:
        x = standardise(g, x, preprocessor.scaler.mean, preprocessor.scaler.std)
    if isinstance(settings, Baseline):
        if settings.inputs == "tokens":
            x = _counted(g, x, rows, preprocessor)
        logits, shape = _baseline_logits(g, x, settings, rows, model.learnt), ["batch", len(preprocessor.labels)]
    else:
        logits, shape = _network_logits(g, x, rows, model.network, preprocessor)
    g.output(logits, "logits", shape)
    return g.model(settings.kind, importlib.metadata.version("rnnlab"), metadata(model))


def _network_logits(
    g: Graph, x: str, rows: Rows, network: Network, preprocessor: Preprocessor
) -> tuple[str, list[int | str]]:
    states, summary = read(g, x, rows, network, preprocessor)
    head = network.head.head if type(network.head) is ChainHead else network.head
    if type(head) is SummaryHead:
        return linear(g, summary, head.linear, "head.linear"), ["batch", head.linear.out_features]
    logits, outputs = state_logits(g, states, head)
    return logits, ["batch", "length", outputs]


def read(g: Graph, x: str, rows: Rows, network: Network, preprocessor: Preprocessor) -> tuple[str, str]:
    """Ids, or features → states (B, T, H), zero at padding, and their summary (B, S)."""
    if network.embedding is not None:
        x = _embedded(g, x, rows, network.embedding, preprocessor)
    return encode(g, x, rows, network.encoder)


def state_logits(g: Graph, states: str, head: nn.Module) -> tuple[str, int]:
    """States (…, H) → logits (…, C), and C."""
    if type(head) is StateHead:
        return linear(g, states, head.linear, "head.linear"), head.outputs
    if type(head) is TiedHead:
        if isinstance(head.project, nn.Linear):
            states = linear(g, states, head.project, "head.project")
        product = g.op("MatMul", states, g.constant(head.vectors.t(), "head.vectors"))
        return g.op("Add", product, g.constant(head.bias, "head.bias")), head.outputs
    raise ExportError(
        "export has no translation of '{kind}', the head of a task that isn't one of rnnlab's "
        "own tasks (rnnlab list tasks)",
        kind=type(head).__name__,
    )


def _embedded(g: Graph, ids: str, rows: Rows, embedding: TokenVectors, preprocessor: Preprocessor) -> str:
    tokens, each = preprocessor.tokens, preprocessor.ids_per_step
    if embedding.spelled is None:
        return embed(g, ids, rows, embedding, tokens)
    looked_up = (
        g.op("Gather", ids, g.constant(np.array(0)), axis=2)
        if tokens == 1
        else g.op("Slice", ids, g.constant([0]), g.constant([tokens]), g.constant([2]))
    )
    letters = read_letters(g, ids, rows, tokens, each - tokens, embedding.spelled)
    return g.op("Concat", embed(g, looked_up, rows, embedding, tokens), letters, axis=2)


def metadata(model: StoredModel) -> dict[str, str]:
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
    if preprocessor.text_columns:
        values["text_columns"] = preprocessor.text_columns
    if preprocessor.thresholds:
        values["thresholds"] = preprocessor.thresholds
    if preprocessor.chain:
        values["chain"] = preprocessor.chain
    if preprocessor.writes is not None:
        values["writes"] = preprocessor.writes.to_dict()
    plain = {"spec": model.spec.digest, "task": model.spec.task.kind, "rnnlab": importlib.metadata.version("rnnlab")}
    return plain | {name: json.dumps(value, ensure_ascii=False, allow_nan=False) for name, value in values.items()}


# --- baselines: what `rnnlab.models.baselines` computes, from what they learnt ---------------------------------------


def _counted(g: Graph, ids: str, rows: Rows, preprocessor: Preprocessor) -> str:
    """Ids (B, T), those of padding zero, which no gram that is known has in it; where texts are several columns,
    (B, 2 T + 1), as `with_column_words` makes them."""
    zero = g.constant(np.array(0))
    if preprocessor.tokens > 1:
        ids = g.op("Gather", ids, zero, axis=2)
    real = g.op("Where", rows.real, ids, zero)
    if not preprocessor.text_columns:
        return real
    assert preprocessor.vocabulary is not None
    column = columns_of(g, ids, len(preprocessor.text_columns))
    words = g.constant(np.array(len(preprocessor.vocabulary)))
    shifted = g.op("Add", ids, g.op("Mul", words, g.op("Add", column, g.constant(np.array(1)))))
    gap = g.op("Expand", g.constant(np.zeros((1, 1), np.int64)), g.op("Concat", rows.batch, g.constant([1]), axis=0))
    return g.op("Concat", real, gap, g.op("Where", rows.real, shifted, zero), axis=1)


def _baseline_logits(g: Graph, inputs: str, baseline: Baseline, rows: Rows, learnt: Learnt) -> str:
    """Ids (B, T) as they are counted, or features (B, T, D) as they were scaled → (B, C)."""
    if type(baseline) is Majority:
        share = learnt["log_share"].astype(np.float32)
        shape = g.op("Concat", rows.batch, g.constant([len(share)]), axis=0)
        return g.op("Expand", g.constant(share, "log_share"), shape)
    if type(baseline) is TfIdf:
        return _tfidf(g, inputs, learnt)
    if type(baseline) is NbSvm:
        return _nbsvm(g, inputs, learnt)
    if type(baseline) is Statistics:
        return _statistics(g, inputs, rows, learnt)
    raise untranslated(baseline)


def untranslated(baseline: Baseline) -> ExportError:
    return ExportError(
        "export has no translation of the baseline '{kind}'; rnnlab predict and rnnlab serve take the run as it is",
        kind=baseline.kind,
    )


def _counts(g: Graph, ids: str, grams: list[np.ndarray]) -> str:
    """(B, grams): how often each stands in a row; ``grams`` are those of each length n from 1 on, (grams, n)."""
    sizes = [len(of_length) for of_length in grams]
    return g.op(
        "TfIdfVectorizer",
        ids,
        mode="TF",
        min_gram_length=1,
        max_gram_length=len(grams),
        max_skip_count=0,
        ngram_counts=[0, *np.cumsum([n * size for n, size in enumerate(sizes[:-1], 1)]).tolist()],
        ngram_indexes=list(range(sum(sizes))),
        pool_int64s=[number for of_length in grams for number in of_length.ravel().tolist()],
    )


def _nbsvm(g: Graph, ids: str, learnt: Learnt) -> str:
    counts = _counts(g, ids, spelled_out(levels_of(learnt)))
    seen = g.op("Cast", g.op("Greater", counts, g.constant(0.0)), to=FLOAT)
    distinct = g.op("Max", g.op("ReduceSum", seen, g.constant([1]), keepdims=1), g.constant(1.0))
    coef = np.zeros((len(learnt["coef"]), len(learnt["intercept"])), np.float32)  # (grams, C)
    coef[:, learnt["fitted"]] = learnt["coef"]  # the other classes have no weights of their own
    product = g.op("MatMul", g.op("Div", seen, g.op("Sqrt", distinct)), g.constant(coef, "coef"))
    return g.op("Add", product, g.constant(learnt["intercept"], "intercept"))


def _tfidf(g: Graph, ids: str, learnt: Learnt) -> str:
    grams = learnt["grams"]  # ascending: the 1-grams, then the 2-grams, both ids in one number
    single, pairs = grams[grams < 1 << 32], grams[grams >= 1 << 32]
    both = np.stack([(pairs >> 32) - 1, pairs & 0xFFFFFFFF], axis=1)
    counts = _counts(g, ids, [single[:, None], both])
    seen = g.op("Cast", g.op("Greater", counts, g.constant(0.0)), to=FLOAT)
    damped = g.op("Add", g.op("Log", g.op("Max", counts, g.constant(1.0))), seen)  # 1 + log count, or 0
    weighed = g.op("Mul", damped, g.constant(learnt["idf"], "idf"))
    squares = g.op("ReduceSumSquare", weighed, g.constant([1]), keepdims=1)
    norms = g.op("Where", g.op("Greater", squares, g.constant(0.0)), g.op("Sqrt", squares), g.constant(1.0))
    product = g.op("MatMul", g.op("Div", weighed, norms), g.constant(learnt["coef"].T, "coef"))
    return g.op("Add", product, g.constant(learnt["intercept"], "intercept"))


def _statistics(g: Graph, x: str, rows: Rows, learnt: Learnt) -> str:
    """Mean, deviation, extremes, first and last value of every channel, and the length; in float64."""
    time, lengths = g.constant([1]), g.op("Cast", rows.lengths_column, to=DOUBLE)
    real = g.op("Cast", rows.zero_at_padding, to=DOUBLE)
    wide = g.op("Mul", g.op("Cast", x, to=DOUBLE), real)
    mean = g.op("Div", g.op("ReduceSum", wide, time, keepdims=0), lengths)
    square = g.op("Div", g.op("ReduceSum", g.op("Mul", wide, wide), time, keepdims=0), lengths)
    variance = g.op("Sub", square, g.op("Mul", mean, mean))
    deviation = g.op("Sqrt", g.op("Max", variance, g.constant(np.array(0.0))))
    added = g.op("Unsqueeze", rows.minus_infinity_at_padding, g.constant([2]))
    high = g.op("ReduceMax", g.op("Add", x, added), time, keepdims=0)
    low = g.op("Neg", g.op("ReduceMax", g.op("Add", g.op("Neg", x), added), time, keepdims=0))
    first = g.op("Gather", x, g.constant(np.array(0)), axis=1)
    last = g.op("GatherND", x, g.op("Sub", rows.lengths_column, g.constant([1])), batch_dims=1)
    plain = [g.op("Cast", value, to=DOUBLE) for value in (low, high, first, last)]
    features = g.op("Concat", mean, deviation, *plain, lengths, axis=1)
    centred = g.op("Sub", features, g.constant(learnt["mean"], "mean"))
    scaled = g.op("Div", centred, g.constant(learnt["scale"], "scale"))
    product = g.op("MatMul", scaled, g.constant(learnt["coef"].T.astype(np.float64), "coef"))
    logits = g.op("Add", product, g.constant(learnt["intercept"].astype(np.float64), "intercept"))
    return g.op("Cast", logits, to=FLOAT)
