"""One run from spec to run directory: found again, resumed, trained or fitted; test is scored once, at the end."""

import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from rnnlab import kernels as native
from rnnlab.core.files import write_atomically
from rnnlab.data.encoded import EncodedData
from rnnlab.data.interface import Interface
from rnnlab.data.lookup import Lookup, seen_rows
from rnnlab.data.sequences import Sequences
from rnnlab.models.baselines import Baseline, Labelled
from rnnlab.models.network import parameter_counts
from rnnlab.runs.directory import Diverged, Finished, Outcome, RunDirectory, Stopped
from rnnlab.tasks.base import Task
from rnnlab.tasks.tally import ClassTally, Tally
from rnnlab.training.assemble import resolve_device
from rnnlab.training.evaluate import evaluate
from rnnlab.training.loop import Report, contiguous, environment, peak_memory_mb, train
from rnnlab.training.spec import RunSpec


def execute(spec: RunSpec, folder: Path, report: Report, should_stop: Callable[[], bool]) -> Outcome:
    """Do a run, unless it was done before. The outcome depends on the spec alone."""
    run = RunDirectory(folder / spec.digest)
    known = run.outcome()
    if known is not None:
        return known
    run.create(spec.to_dict())
    with run.lock(), own_process_state(spec.training.threads if spec.training else 1):
        known = run.outcome()  # another process may have finished it before the lock was ours
        if known is not None:
            return known
        data = spec.task.load()
        if isinstance(spec.model, Baseline):
            return Finished(_fit(spec.task, spec.model, data, run))
        native.library()  # compiled now, if it isn't there and can be
        return _train(spec, data, run, report, should_stop)


def _train(
    spec: RunSpec, data: EncodedData, run: RunDirectory, report: Report, should_stop: Callable[[], bool]
) -> Outcome:
    trained = train(spec, data, run, report, should_stop)
    if trained is None:
        return Stopped()
    assert spec.training is not None
    result: dict[str, Any] = {
        "status": "diverged" if trained.divergence else "finished",
        "parameters": parameter_counts(trained.network),
        "epochs": trained.progress.epoch,
        "best_epoch": trained.progress.best_epoch,
        "ended_by": trained.ended_by,
        **speed_of(trained.progress.history, None if spec.task.streamed else int(data.train.lengths.sum())),
        "peak_memory_mb": peak_memory_mb(),
        "environment": environment(spec.training.threads),
    }
    if trained.divergence:
        return Diverged(run.seal(result | {"divergence": trained.divergence}))
    device = torch.device(resolve_device(spec.training.device))
    valid_tally, valid_logits = trained.valid or evaluate(trained.network, spec.task, data.valid, device)
    started = time.perf_counter()
    test_tally, test_logits = evaluate(trained.network, spec.task, data.test, device)
    result["row_seconds"] = (time.perf_counter() - started) / len(data.test)
    weights = contiguous(trained.network.stored_state())
    if spec.model.lookup:
        lookup = Lookup.build(data.train, len(data.labels))
        valid_tally, valid_logits = _looked_up(lookup, valid_logits, data.valid)
        test_tally, test_logits = _looked_up(lookup, test_logits, data.test)
        weights |= {name: torch.from_numpy(array) for name, array in lookup.to_arrays().items()}
    write_atomically(run / "model.json", Interface.of(data).to_json())
    write_atomically(run / "weights.safetensors", safetensors.torch.save(weights))
    write_predictions(run, spec.task, data, valid_logits, test_logits)
    return Finished(run.seal(result | {"valid": valid_tally.score(), "test": all_scores(test_tally)}))


def _fit(task: Task, baseline: Baseline, data: EncodedData, run: RunDirectory) -> dict[str, Any]:
    """A baseline: fitted on the training rows, scored like every model."""
    native.library()  # compiled now, if it isn't there and can be
    train, valid = (Labelled(part.tokens, part.offsets, part.targets) for part in (data.train, data.valid))
    learnt = baseline.fit_chosen(train, valid, len(data.labels))
    valid_logits = baseline.logits(learnt, data.valid.tokens, data.valid.offsets)
    started = time.perf_counter()
    test_logits = baseline.logits(learnt, data.test.tokens, data.test.offsets)
    row_seconds = (time.perf_counter() - started) / len(data.test)
    if baseline.lookup:
        lookup = Lookup.build(data.train, len(data.labels))
        _, valid_logits = _looked_up(lookup, valid_logits, data.valid)
        _, test_logits = _looked_up(lookup, test_logits, data.test)
        learnt = {**learnt, **lookup.to_arrays()}
    write_atomically(run / "model.json", Interface.of(data).to_json())
    write_atomically(run / "weights.safetensors", safetensors.numpy.save(learnt))
    write_predictions(run, task, data, valid_logits, test_logits)
    return run.seal(
        {
            "status": "finished",
            "parameters": {"total": int(learnt["coef"].size + learnt["intercept"].size) if "coef" in learnt else 0},
            **({"chosen": chosen} if (chosen := baseline.chosen(learnt)) else {}),
            "row_seconds": row_seconds,
            "valid": _count(valid_logits, data.valid, len(data.labels)).score(),
            "test": all_scores(_count(test_logits, data.test, len(data.labels))),
            "environment": environment(1),
        }
    )


def _looked_up(lookup: Lookup, logits: np.ndarray, data: Sequences) -> tuple[ClassTally, np.ndarray]:
    answered = lookup.answer(logits, data)
    return _count(answered, data, answered.shape[1]), answered


def _count(logits: np.ndarray, data: Sequences, classes: int) -> ClassTally:
    confusion = np.bincount(data.targets * classes + logits.argmax(1), minlength=classes**2).reshape(classes, classes)
    shifted = logits - logits.max(1, keepdims=True)
    picked = shifted[np.arange(len(data)), data.targets]
    loss = np.log(np.exp(shifted).sum(1)) - picked
    return ClassTally(float(loss.sum()), confusion)


def all_scores(tally: Tally) -> dict[str, Any]:
    return tally.score() | tally.details()


def write_predictions(run: RunDirectory, task: Task, data: EncodedData, valid: np.ndarray, test: np.ndarray) -> None:
    """All that a comparison needs, so that it never opens the data again."""
    arrays = {
        "valid.logits": valid,
        "valid.targets": np.asarray(data.valid.targets),
        "test.logits": test,
        "test.targets": np.asarray(data.test.targets),
        "test.right": task.right(test, data.test),
        "test.groups": np.asarray(data.test.groups),
        "test.lengths": data.test.lengths,
    }
    if not task.streamed:
        arrays["test.seen"] = seen_rows(data.test, data.train)
    if data.test.tags is not None:
        arrays["test.tags"] = np.asarray(data.test.tags)
    arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    names = {"test.tag_names": json.dumps(data.tag_names, ensure_ascii=False)} if data.tag_names else None
    write_atomically(run / "predictions.safetensors", safetensors.numpy.save(arrays, names))


def speed_of(history: list[dict[str, float]], tokens: int | None) -> dict[str, float | None]:
    """Median over the epochs, of which the last may be a part; the first, which warms up, doesn't count when there are
    others. ``tokens`` make a whole epoch, where there are epochs."""
    counted = history[1:] or history
    if not counted:
        return {"epoch_seconds": None, "tokens_per_second": None, "step_seconds": None}
    rate = statistics.median(epoch["tokens"] / epoch["seconds"] for epoch in counted)
    return {
        "epoch_seconds": tokens / rate if tokens else None,
        "tokens_per_second": rate,
        "step_seconds": statistics.median(epoch["seconds"] / epoch["batches"] for epoch in counted),
    }


@contextmanager
def own_process_state(threads: int) -> Iterator[None]:
    """A run has its own random state and thread count, and leaves the caller's as they were.

    Numbers below 1e-38 count as zero: gradients that vanish pass through them, and a CPU takes up to ten times as long
    over a sum of such numbers (docs/cost.md). What is in memory already isn't searched for garbage meanwhile: that took
    5 % of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    gc.freeze()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        gc.unfreeze()
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
