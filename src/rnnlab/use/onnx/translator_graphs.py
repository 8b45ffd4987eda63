"""A model that writes a text for another one as two graphs: one reads the text, the other writes one token at a time.
Rows of a batch are beginnings of any texts, so that a beam is a batch."""

import importlib.metadata

import onnx
import torch
from torch import Tensor

from rnnlab.models.baselines import Baseline
from rnnlab.models.decoder import Decoder, TransformerDecoder, writing_architecture
from rnnlab.models.transformer import LearnedPositions
from rnnlab.use.onnx.building_blocks import Rows, embed
from rnnlab.use.onnx.decoders import Exportable, exportable
from rnnlab.use.onnx.graph import FLOAT, INT64, Graph
from rnnlab.use.onnx.model_graph import metadata, read, state_logits, untranslated
from rnnlab.use.onnx.stepping import BATCH, STEPS, differ_over_steps
from rnnlab.use.stored import StoredModel

LONGEST = 7  # tokens of the texts for which steps are compared with torch


def decoder_of(model: StoredModel) -> tuple[Decoder, Exportable]:
    """Raises where it has no translation."""
    settings = model.spec.model
    if isinstance(settings, Baseline):
        raise untranslated(settings)
    decoder = model.network.decoder
    assert decoder is not None
    return decoder, exportable(decoder, writing_architecture(settings).kind)


def names_of(model: StoredModel) -> dict[str, list[str]]:
    """What the encoder tells: at every step, and before the first one."""
    _, decoder = decoder_of(model)
    return {"memory": [one.name for one in decoder.memory], "states": [one.name for one in decoder.state]}


def encoder_graph(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``ids`` (batch, source) and ``lengths`` (batch,). Outputs: what every step reads of the text, such as
    ``memory`` (batch, source, M) and ``mask`` (batch, source), and the state before the first token."""
    _, decoder = decoder_of(model)
    g, preprocessor = Graph(), model.preprocessor
    several = [preprocessor.ids_per_step] if preprocessor.ids_per_step > 1 else []
    ids = g.input("ids", INT64, ["batch", "source", *several])
    rows = Rows(g, ids, g.input("lengths", INT64, ["batch"]))
    states, summary = read(g, ids, rows, model.network, preprocessor)
    told = decoder.told(g, states, summary, rows)
    for one, value in zip([*decoder.memory, *decoder.state], told, strict=True):
        g.output(value, one.name, ["batch", *one.shape])
    return g.model(f"{model.spec.model.kind} encoder", importlib.metadata.version("rnnlab"), metadata(model))


def decoder_graph(model: StoredModel) -> onnx.ModelProto:
    """Inputs: ``ids`` (batch, 1), what the encoder told of the text, and the state. Outputs: ``logits`` (batch, words)
    of the next token; ``attention`` (batch, source), if there is any; and the state, each part as ``…_next``."""
    network = model.network
    decoder, exported = decoder_of(model)
    g = Graph()
    ids = g.input("ids", INT64, ["batch", 1])
    memory, state = (
        [g.input(one.name, FLOAT, ["batch", *one.shape]) for one in named]
        for named in (exported.memory, exported.state)
    )
    x = embed(g, ids, Rows(g, ids, ""), decoder.embedding, 1, "decoder.embedding")
    after = exported.step(g, x, memory, state)
    logits, words = state_logits(g, after.top, network.head)
    g.output(logits, "logits", ["batch", words])
    if after.attention is not None:
        g.output(after.attention, "attention", ["batch", "source"])
    for one, value in zip(exported.state, after.state, strict=True):
        sizes = [f"{size} + 1" if isinstance(size, str) else size for size in one.shape]
        g.output(value, f"{one.name}_next", ["batch", *sizes])
    return g.model(f"{model.spec.model.kind} decoder step", importlib.metadata.version("rnnlab"), metadata(model))


def check_writing(model: StoredModel, exported: bytes) -> float:
    """How far the steps in ONNX Runtime are from torch's, from what torch tells of a few texts on."""
    network, (decoder, named) = model.network, decoder_of(model)
    assert model.preprocessor.vocabulary is not None
    drawn = torch.Generator().manual_seed(0)
    each = (model.preprocessor.ids_per_step,) if model.preprocessor.ids_per_step > 1 else ()
    ids = torch.randint(1, len(model.preprocessor.vocabulary.words), (BATCH, LONGEST, *each), generator=drawn)
    with torch.inference_mode():
        memory = network.remember(ids, torch.arange(LONGEST, LONGEST - BATCH, -1))
        state = decoder.begin(memory)
        told = [values.numpy() for values in named.told_by_torch(memory)]
    names = [one.name for one in (*named.memory, *named.state)]
    first = dict(zip(names, told, strict=True))
    always = {one.name: first.pop(one.name) for one in named.memory}

    def advance(ids: Tensor) -> Tensor:
        nonlocal state
        logits, state = network.go_on_writing(memory, ids, state)
        return logits

    return differ_over_steps(exported, always, first, decoder.words, advance, _steps(decoder))


def _steps(decoder: Decoder) -> int:
    """As many as can be written."""
    positions = decoder.layers.positions if isinstance(decoder, TransformerDecoder) else None
    return min(STEPS, positions.max_length) if isinstance(positions, LearnedPositions) else STEPS
