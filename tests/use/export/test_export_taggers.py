"""Taggers as ONNX: letters, marks and n-grams of every step go in, emissions come out, the chain stands beside."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from rnnlab.data.ngrams import Ngrams
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.spelling import Spelling
from rnnlab.data.tagged.schemes import SCHEMES
from rnnlab.data.vocabulary import Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES
from rnnlab.models.embedding import Embedding
from rnnlab.training.spec import RunSpec
from rnnlab.use.onnx import ExportError
from rnnlab.use.onnx.model_graph import model_graph
from rnnlab.use.onnx.parity import TOLERANCE, check_parity
from rnnlab.use.onnx.writing import export_model

HASHING = ("fasttext",)  # reads pairs of words by hashing, and so no other ids
TAGGERS = [kind for kind in ARCHITECTURES.names() if kind not in HASHING]
LENGTHS = [7, 1, 4]


def check_neighbours(model, content: bytes) -> None:
    """Whatever stands in the padding, and whoever the neighbours are: emissions are those of torch alone."""
    rng, pre = np.random.default_rng(5), model.preprocessor
    assert pre.vocabulary is not None
    assert pre.spelling is not None
    shape = (len(LENGTHS), max(LENGTHS) + 3)
    ids = rng.integers(1, len(pre.vocabulary), (*shape, pre.tokens))
    if pre.spelling.length:
        letters = rng.integers(1, len(pre.spelling.letters), (*shape, pre.spelling.length))
        spelled = np.arange(pre.spelling.length) < rng.integers(0, pre.spelling.length + 1, (*shape, 1))
        ids = np.concatenate([ids, np.where(spelled, letters, 0)], axis=2)
    ids = ids[:, :, 0] if ids.shape[2] == 1 else ids
    session = onnxruntime.InferenceSession(content)
    (together,) = session.run(["logits"], {"ids": ids, "lengths": np.array(LENGTHS)})
    for row, length in enumerate(LENGTHS):
        alone = torch.from_numpy(ids[row : row + 1, :length])
        with torch.inference_mode():
            wanted = model.network(alone, torch.tensor([length]))[0, :length].numpy()
        np.testing.assert_allclose(np.asarray(together)[row, :length], wanted, atol=2e-5)


@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("kind", TAGGERS)
def test_every_architecture_tags(made, kind, crf):
    model = made(ARCHITECTURES.parse({"kind": kind, "crf": crf}), "tag", vectors=kind == "cnn2")
    translated = model_graph(model)
    onnx.checker.check_model(translated, full_check=True)
    content = translated.SerializeToString()
    difference, _ = check_parity(model, content)
    assert 0 < difference <= TOLERANCE
    (logits,) = translated.graph.output
    assert [size.dim_param or size.dim_value for size in logits.type.tensor_type.shape.dim] == ["batch", "length", 5]
    check_neighbours(model, content)


@pytest.mark.parametrize("letters", ["cnn", "bilstm"])
@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("kind", ["lstm", "textcnn"])
def test_what_reads_letters_and_channels(made, kind, letters, vectors):
    channels: dict[str, Any] = {"vectors": "some", "channels": "two"} if vectors else {}
    embedding = Embedding(width=6, letters=letters, letter_width=5, letter_filters=4, **channels)
    model = made(ARCHITECTURES.parse({"kind": kind}).replace(embedding=embedding), "tag", vectors=vectors)
    names = {tensor.name for tensor in model_graph(model).graph.initializer}
    assert ("embedding.frozen" in names) is vectors
    content = model_graph(model).SerializeToString()
    check_parity(model, content)
    check_neighbours(model, content)


def without(made, **changes) -> Preprocessor:
    """The tagger's preprocessor, changed."""
    return replace(made(ARCHITECTURES["linear"](), "tag").preprocessor, **changes)


def of_few_inputs(made) -> dict[str, Preprocessor]:
    plain = Vocabulary(without(made).vocabulary.words)  # type: ignore[union-attr]
    grams = replace(plain, ngrams=Ngrams((2,), np.arange(5, 12, dtype="<u8").tobytes()))
    no_letters = Spelling(("", "?"), 0)
    return {
        "words": without(made, vocabulary=plain, marks=None, tokens=1, spelling=no_letters),
        "letters": without(made, vocabulary=plain, marks=None, tokens=1),
        "marks": without(made, spelling=no_letters),
        "n-grams": without(made, vocabulary=grams, marks=None, tokens=2, spelling=no_letters),
    }


@pytest.mark.parametrize("inputs", ["words", "letters", "marks", "n-grams"])
@pytest.mark.parametrize("vectors", [False, True])
def test_inputs_one_by_one(made, inputs, vectors):
    model = made(ARCHITECTURES["gru"](), "tag", vectors=vectors, preprocessor=of_few_inputs(made)[inputs])
    content = model_graph(model).SerializeToString()
    check_parity(model, content)
    check_neighbours(model, content)


def test_words_alone_by_hashing(made):
    model = made(ARCHITECTURES["fasttext"](), "tag", preprocessor=of_few_inputs(made)["words"])
    content = model_graph(model).SerializeToString()
    check_parity(model, content)


@pytest.mark.parametrize("spoilt", ["embedding.spelled.filters.bias", "embedding.spelled.table", "head.linear.bias"])
def test_a_graph_that_reads_otherwise_is_refused(made, spoilt):
    model = made(ARCHITECTURES.parse({"kind": "lstm", "crf": True}), "tag")
    translated = model_graph(model)
    (tensor,) = (tensor for tensor in translated.graph.initializer if tensor.name == spoilt)
    array = onnx.numpy_helper.to_array(tensor)
    tensor.CopyFrom(onnx.numpy_helper.from_array(array + np.float32(0.01), spoilt))
    with pytest.raises(ExportError, match="nothing was written"):
        check_parity(model, translated.SerializeToString())


def test_what_stands_beside_the_model(made, tmp_path):
    model = made(ARCHITECTURES.parse({"kind": "lstm", "crf": True}), "tag")
    chain = tuple(map(tuple, model.network.head.chain.tolist()))
    model = replace(model, preprocessor=replace(model.preprocessor, chain=chain))
    done = export_model(model, tmp_path / "model.onnx")
    assert done.inputs[0] == "ids (batch, length, 12)"
    said = json.loads(done.tokenizer.read_text(encoding="utf-8"))
    assert said["input"] == {"name": "ids", "each": 12}
    assert said["learnt"] == said["marks"]["first"] == len(said["vocabulary"])
    assert said["spelling"] == {"letters": ["", "?", *"etaoinshrdlu"], "length": 7, "lowercase": True}
    found = np.array(said["chain"])
    assert found.shape == (7, 5)
    after = [model.preprocessor.labels.index(label) for label in ("I-PER", "I-ORG")]
    assert (found[5, after] < -9000).all()  # nothing begins with I
    assert found[5, 2] > -100
    assert said["scheme"]["name"] == "BIO"
    assert said["scheme"]["inside"] == SCHEMES["BIO"].inside
    (stored,) = (entry.value for entry in onnx.load(done.path).metadata_props if entry.key == "chain")
    assert json.loads(stored) == said["chain"]


@pytest.mark.parametrize("kind", ["frequent-tag", "hmm", "crf"])
def test_baselines_of_taggers_are_refused_with_what_can_be_done(made, kind):
    model = made(ARCHITECTURES["linear"](), "tag")
    spec = RunSpec(model.spec.task, BASELINES[kind](), None, 0)
    with pytest.raises(ExportError, match=rf"no translation of the baseline '{kind}'; rnnlab predict and rnnlab serve"):
        model_graph(replace(model, spec=spec))
