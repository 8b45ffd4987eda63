"""Every architecture of the catalogue trains on text, on Chinese text and on numbers, without a warning (pytest makes
any warning an error), and learns something."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rnnlab.data.encoded import EncodedData
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.embedding import Embedding
from rnnlab.runs.directory import Finished
from rnnlab.sweeps.plan import complete
from rnnlab.tasks.classify import Classify
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training

STEPS = 100
SETS = ("reviews", "japanese-vowels", "thucnews")
CHINESE_TOO = ("gru", "textcnn", "fasttext")
WORDS_ONLY = ("cnn2", "fasttext")  # they say so of numbers


@cache
def prepared(name: str) -> tuple[Classify, EncodedData]:
    task = Classify(data=name, rows=2000) if name == "reviews" else Classify(data=name)
    return task.resolve(), task.load()


def vectors_for(data: EncodedData, folder: Path) -> str:
    """A file with a random vector for every second word of a vocabulary."""
    assert data.vocabulary is not None
    numbers = np.random.default_rng(0).normal(size=(len(data.vocabulary), 20))
    rows = zip(data.vocabulary.words[2::2], numbers[2::2], strict=True)
    path = folder / "vectors.txt"
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in row)}\n" for word, row in rows if word.strip()]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def each_on_each_set():
    """With every change, Chinese text is learnt by one architecture of each sort: to the others it is text."""
    absent = pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="RNNLAB_DATA isn't set")
    for kind in ARCHITECTURES.names():
        for name in SETS:
            marks = [] if name == "reviews" else [pytest.mark.data, absent]
            if name == "thucnews" and kind not in CHINESE_TOO:
                marks.append(pytest.mark.long)
            yield pytest.param(kind, name, marks=marks)


@pytest.mark.parametrize(("kind", "name"), list(each_on_each_set()))
def test_it_trains(kind: str, name: str, tmp_path: Path) -> None:
    task, data = prepared(name)
    architecture: Architecture = ARCHITECTURES.parse({"kind": kind})
    if data.vocabulary is None and kind in WORDS_ONLY:
        assert f"'{kind}'" in architecture.check("features")[0]
        return
    if architecture.needs_vectors:
        architecture = architecture.replace(embedding=Embedding(vectors=vectors_for(data, tmp_path), channels=None))
    spec = RunSpec(
        task,
        complete(architecture, data),
        Training(epochs=None, steps=STEPS, patience=None, device="cpu"),
        seed=0,
    )
    outcome = execute(spec, tmp_path / "runs", lambda event: None, lambda: False)
    assert isinstance(outcome, Finished)
    shares = np.bincount(data.test.targets) / len(data.test)
    assert outcome.result["test"]["accuracy"] > shares.max(), "no better than the most frequent class"
