"""A text that is read part by part is answered as when it is read whole, after every part."""

from typing import Any, ClassVar

import numpy as np
import pytest
import safetensors.torch
import torch

from rnnlab.answers.base import Answer
from rnnlab.answers.calibration import Calibration
from rnnlab.answers.tags import Tags, TagsPrediction
from rnnlab.core.errors import RunError
from rnnlab.data.ngrams import Ngrams
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.models.base import ARCHITECTURES
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec, Training
from rnnlab.use.card import Card
from rnnlab.use.predictor import Predictor, ReadingOn
from rnnlab.use.stored import StoredModel

CARD = Card({}, {}, {}, None, Calibration(1.7, 100, 0.1, 0.05, 100), {}, "", ())
WORDS = (*SPECIAL, *(f"w{number}" for number in range(20)))
PARTS = ["w1 w2", "w3 unheard", "w4", "w5 w1 w2 w19 w7", "w0"]
MODELS: list[dict[str, Any]] = [
    {"kind": "gru", "pooling": "max"},
    {"kind": "lstm", "layers": 2, "layer_norm": True, "pooling": "attention"},
    {"kind": "rnn", "initial_state": "learned", "pooling": "first+last"},
    {"kind": "mingru", "pooling": "mean"},
    {"kind": "dilated", "look_ahead": False},
    {"kind": "transformer", "look_ahead": False, "pooling": "last"},
    {"kind": "linear"},
]


class Tagger(Classify):
    shape: ClassVar[Answer] = Tags()


def model_of(
    settings: dict[str, Any], max_length: int | None = None, ngrams: bool = False, task: type[Classify] = Classify
) -> Predictor:
    grams = None
    if ngrams:
        ids = np.arange(2, 22, dtype=np.int32)
        grams = Ngrams.build(ids, np.array([0, len(ids)]), (2, 3), 100, len(WORDS))
    vocabulary = Vocabulary(WORDS, None, grams)
    tokens = 1 if grams is None else 1 + len(grams.sizes)
    preprocessor = Preprocessor(
        labels=("bad", "good"),
        tokenizer=Tokenizer("words"),
        vocabulary=vocabulary,
        max_length=max_length,
        tokens=tokens,
    )
    model = ARCHITECTURES.parse({"embedding": {"width": 6}, **settings})
    spec = RunSpec(task(), model, Training(), 0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        weights = assemble(spec, preprocessor).state_dict()
        weights = {name: value + 0.3 * torch.randn(value.shape) for name, value in weights.items()}
    return Predictor(StoredModel(spec.digest, spec, preprocessor, safetensors.torch.save(weights), CARD))


@pytest.mark.parametrize("max_length", [None, 7])
@pytest.mark.parametrize("settings", MODELS, ids=lambda values: values["kind"])
def test_every_answer_is_that_to_the_whole_text_so_far(settings: dict[str, Any], max_length: int | None) -> None:
    model = model_of(settings, max_length)
    reading = ReadingOn(model)
    for _ in range(2):  # the second text has forgotten the first
        for number, part in enumerate(PARTS, 1):
            found = reading.add(part)
            (whole,) = model.predict([" ".join(PARTS[:number])])
            assert found.label == whole.label
            assert found.probabilities == pytest.approx(whole.probabilities, abs=1e-5)
            assert found.known == pytest.approx(whole.known)
        reading.begin()


def test_an_ngram_across_parts_is_read() -> None:
    model = model_of({"kind": "gru"}, ngrams=True)
    reading = ReadingOn(model)
    parts = ["w3", "w4 w5", "w6", "w9 w10 w11", "w12"]  # w3 w4, w4 w5 w6 … were seen in training
    for number, part in enumerate(parts, 1):
        (whole,) = model.predict([" ".join(parts[:number])])
        assert reading.add(part).probabilities == pytest.approx(whole.probabilities, abs=1e-5)


def test_what_was_read_matters() -> None:
    model = model_of(MODELS[0])
    reading = ReadingOn(model)
    reading.add(PARTS[0])
    assert reading.add(PARTS[2]).probabilities != pytest.approx(model.predict([PARTS[2]])[0].probabilities, abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "gru", "bidirectional": True}, r"'gru' can't answer while a text grows.*bidirectional = false"),
        ({"kind": "textcnn"}, r"'textcnn' can't answer while a text grows.*without --stream every line"),
    ],
)
def test_what_reads_ahead_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(RunError, match=words):
        ReadingOn(model_of(settings))


@pytest.mark.parametrize("settings", [{"kind": "gru"}, {"kind": "transformer", "look_ahead": False}])
def test_tags_are_those_of_the_whole_text(settings: dict[str, Any]) -> None:
    model = model_of(settings, task=Tagger)
    reading = ReadingOn(model)
    found = [reading.add(part) for part in PARTS]
    (whole,) = model.predict([" ".join(PARTS)])
    assert isinstance(whole, TagsPrediction)
    steps = [step for part in found if isinstance(part, TagsPrediction) for step in part.steps]
    assert [label for label, _ in steps] == [label for label, _ in whole.steps]
    assert [p for _, p in steps] == pytest.approx([p for _, p in whole.steps], rel=1e-4)
