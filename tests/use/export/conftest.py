"""Models to export: untrained ones of every kind, without a run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from rnnlab.data.preprocessor import Preprocessor, Scaler
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, Vocabulary
from rnnlab.models.base import Architecture
from rnnlab.models.embedding import Embedding
from rnnlab.tasks.base import TASKS
from rnnlab.training.assemble import assemble
from rnnlab.training.spec import RunSpec, Training
from rnnlab.use.card import Calibration, Card
from rnnlab.use.stored import StoredModel

WORDS = (*SPECIAL, *(f"w{number}" for number in range(38)))
CARD = Card({}, {}, {}, None, Calibration(1.7, 100, 0.1, 0.05, 100), {}, "", ())
TEXT = Preprocessor(labels=("bad", "fair", "good"), tokenizer=Tokenizer("words"), vocabulary=Vocabulary(WORDS))
SERIES = Preprocessor(labels=("no", "yes"), scaler=Scaler((5.0, -2.0, 0.5), (3.0, 0.1, 1.0)))
PAIRS = Preprocessor(labels=tuple("0123456789"), vocabulary=Vocabulary((*SPECIAL, *"0123456789")), tokens=2)
ONE_NUMBER = Preprocessor(scaler=Scaler((0.0, 0.0), (1.0, 1.0)))
INTERFACES = {"classify": TEXT, "first-last": SERIES, "addition": PAIRS, "adding": ONE_NUMBER}

Maker = Callable[..., StoredModel]


@pytest.fixture(scope="session")
def made() -> Maker:
    """``made(architecture, task="classify")``: a model of random weights, none of which is zero or one."""
    return make


def make(architecture: Architecture, task: str = "classify", vectors: bool = False) -> StoredModel:
    preprocessor = INTERFACES[task]
    if preprocessor.vocabulary is not None and architecture.embedding is None:
        embedding = Embedding(width=6, vectors="some", channels="two") if vectors else Embedding(width=6)
        architecture = architecture.replace(embedding=embedding)
    spec = RunSpec(TASKS[task](), architecture, Training(), 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        pretrained = np.ones((len(preprocessor.vocabulary or ()), 4), np.float32) if vectors else None
        network = assemble(spec, preprocessor, pretrained)
        weights = {name: _shaken(name, tensor) for name, tensor in network.state_dict().items()}
    return StoredModel(spec.digest, spec, preprocessor, safetensors.torch.save(weights), CARD)


def _shaken(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Much, but not so much that a recurrence magnifies rounding: that would hide mistakes."""
    recurrent = tensor.ndim == 2 and name.startswith("encoder")
    return tensor + torch.randn(tensor.shape) * (0.5 * tensor.shape[-1] ** -0.5 if recurrent else 0.3)


def rows_of(model: StoredModel, lengths: list[int], seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs, as the exported model takes them; padding too is random."""
    rng = np.random.default_rng(seed)
    preprocessor: Any = model.preprocessor
    shape = (len(lengths), max(lengths) + 3)
    if preprocessor.vocabulary is None:
        inputs = {"features": rng.standard_normal((*shape, preprocessor.features)).astype(np.float32)}
    else:
        several = (preprocessor.tokens,) if preprocessor.tokens > 1 else ()
        inputs = {"ids": rng.integers(1, len(preprocessor.vocabulary), (*shape, *several))}
    return {**inputs, "lengths": np.array(lengths)}


@pytest.fixture(scope="session")
def random_rows() -> Callable[..., dict[str, np.ndarray]]:
    return rows_of
