"""One run from spec to run directory: found again, resumed, trained or fitted; test is scored once, at the end."""

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from rnnlab import kernels as native
from rnnlab.answers.base import Kept
from rnnlab.answers.forecast import Forecast
from rnnlab.answers.translation import Translation
from rnnlab.core.errors import RunError
from rnnlab.core.files import write_atomically
from rnnlab.core.system import peak_memory_mb
from rnnlab.data.batches import collate
from rnnlab.data.encoded import EncodedData
from rnnlab.data.lookup import Lookup
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences, Targets
from rnnlab.models.baselines import Baseline, Labelled, share_right
from rnnlab.models.chain_head import ChainHead
from rnnlab.models.continuing import Continuing
from rnnlab.models.forecasting import Forecasting, residual_quantiles
from rnnlab.models.network import Network, measure_pace, parameter_counts
from rnnlab.models.translating import Translating
from rnnlab.runs.directory import Diverged, Finished, Outcome, RunDirectory, Stopped
from rnnlab.tasks.base import Task
from rnnlab.training.assemble import resolve_device
from rnnlab.training.environment import environment
from rnnlab.training.evaluate import evaluate
from rnnlab.training.loop import Report, train
from rnnlab.training.record import record_answers
from rnnlab.training.spec import RunSpec


def execute(spec: RunSpec, folder: Path, report: Report, should_stop: Callable[[], bool]) -> Outcome:
    """Do a run, unless it was done before. The outcome depends on the spec alone."""
    run = RunDirectory(folder / spec.digest)
    known = run.outcome()
    if known is not None:
        return known
    run.create(spec.to_dict())
    with ExitStack() as held:
        try:  # the same command may run twice at once: what the other finds is ours, too
            held.enter_context(run.lock(go_on_waiting=lambda: not should_stop()))
        except RunError:
            return Stopped()
        held.enter_context(own_process_state(spec.training.threads if spec.training else 1))
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
        **speed_of(trained.progress.history, None if spec.task.fresh_batches else spec.task.epoch_tokens(data.train)),
        "peak_memory_mb": peak_memory_mb(),
        "environment": environment(spec.training.threads),
    }
    if trained.divergence:
        return Diverged(run.seal(result | {"divergence": trained.divergence}))
    device = torch.device(resolve_device(spec.training.device))
    valid = trained.valid or evaluate(trained.network, spec.task.answer, data.valid, device, spec.longest)
    started = time.perf_counter()
    test = evaluate(trained.network, spec.task.answer, data.test, device, spec.longest)
    result["row_seconds"] = (time.perf_counter() - started) / len(data.test)
    valid, test = (
        spec.task.answer.completed(kept, trained.network, rows, Preprocessor.of(data), data.references.get(split, ()))
        for split, kept, rows in (("valid", valid, data.valid), ("test", test, data.test))
    )
    result["advance_seconds"] = _advance_seconds(trained.network, spec, data.test) if device.type == "cpu" else None
    weights = {name: value.cpu().contiguous() for name, value in trained.network.stored_state().items()}
    if spec.model.lookup:
        lookup = Lookup.build(data.train, len(data.labels))
        valid, test = (_looked_up(lookup, *part) for part in ((valid, data.valid), (test, data.test)))
        weights |= {name: torch.from_numpy(array) for name, array in lookup.to_arrays().items()}
    preprocessor, valid, test = _settled(spec.task, data, valid, test)
    if isinstance(trained.network.head, ChainHead):
        preprocessor = with_chain(preprocessor, trained.network.head.chain.detach().cpu().numpy())
    write_atomically(run / "model.json", preprocessor.to_json())
    write_atomically(run / "weights.safetensors", safetensors.torch.save(weights))
    return Finished(run.seal(result | record_answers(run, spec.task, data, valid, test)))


def _advance_seconds(network: Network, spec: RunSpec, data: Sequences) -> float | None:
    """To read one more step, after 100, and answer; None for what reads ahead, or knows no such long sequence."""
    inputs = collate(data, np.zeros(1, np.int64)).inputs
    found = measure_pace(network, inputs, getattr(spec.model, "max_length", None), prefixes=(100,))
    return found[0].milliseconds / 1000 if found else None


def _fit(task: Task, baseline: Baseline, data: EncodedData, run: RunDirectory) -> dict[str, Any]:
    """A baseline: fitted on the training rows, scored like every model."""
    native.library()  # compiled now, if it isn't there and can be
    answer = task.answer
    if isinstance(baseline, Continuing):
        return _fit_text(task, baseline, data, run)
    if isinstance(baseline, Translating):
        return _fit_pairs(task, baseline, data, run)
    if isinstance(baseline, Forecasting):
        return _fit_windows(task, baseline, data, run)
    train, held_out = (Labelled(*baseline.rows(part, data), answer.taught(part)) for part in (data.train, data.valid))
    by = answer.chosen

    def goodness(logits: np.ndarray, targets: np.ndarray) -> float:
        return by.sign * by.of(answer.totals({"logits": logits}, Targets(targets)))

    by_itself = held_out.targets.ndim == 2 or answer.reads == "states"  # thresholds, or paths, come later
    learnt = baseline.fit_chosen(train, held_out, len(data.labels), share_right if by_itself else goodness)
    chain = learnt["chain"] + answer.forbidden(len(data.labels)) if "chain" in learnt else None
    valid = answer.kept_of(baseline.logits(learnt, held_out.values, held_out.offsets), data.valid, chain)
    started = time.perf_counter()
    test = answer.kept_of(baseline.logits(learnt, *baseline.rows(data.test, data)), data.test, chain)
    row_seconds = (time.perf_counter() - started) / len(data.test)
    if baseline.lookup:
        lookup = Lookup.build(data.train, len(data.labels))
        valid, test = (_looked_up(lookup, *part) for part in ((valid, data.valid), (test, data.test)))
        learnt = {**learnt, **lookup.to_arrays()}
    preprocessor, valid, test = _settled(task, data, valid, test)
    if chain is not None:
        preprocessor = with_chain(preprocessor, chain)
    write_atomically(run / "model.json", preprocessor.to_json())
    write_atomically(run / "weights.safetensors", safetensors.numpy.save(learnt))
    return run.seal(
        {
            "status": "finished",
            "parameters": {"total": int(learnt["coef"].size + learnt["intercept"].size) if "coef" in learnt else 0},
            **({"chosen": chosen} if (chosen := baseline.chosen(learnt)) else {}),
            "row_seconds": row_seconds,
            **record_answers(run, task, data, valid, test),
            "environment": environment(1),
        }
    )


def _fit_text(task: Task, baseline: Continuing, data: EncodedData, run: RunDirectory) -> dict[str, Any]:
    """A baseline that continues texts."""
    assert data.vocabulary is not None
    answer = task.answer
    learnt = baseline.fit_text(data.train, data.valid, len(data.vocabulary))
    valid = answer.kept_of(baseline.surprise(learnt, data.valid), data.valid)
    started = time.perf_counter()
    test = answer.kept_of(baseline.surprise(learnt, data.test), data.test)
    row_seconds = (time.perf_counter() - started) / len(data.test)
    write_atomically(run / "model.json", Preprocessor.of(data).to_json())
    write_atomically(run / "weights.safetensors", safetensors.numpy.save(learnt))
    return run.seal(
        {
            "status": "finished",
            "parameters": {"total": sum(array.size for array in learnt.values())},
            **({"chosen": chosen} if (chosen := baseline.chosen(learnt)) else {}),
            "row_seconds": row_seconds,
            **record_answers(run, task, data, valid, test),
            "environment": environment(1),
        }
    )


def _fit_windows(task: Task, baseline: Forecasting, data: EncodedData, run: RunDirectory) -> dict[str, Any]:
    """A baseline that forecasts."""
    answer = task.answer
    assert isinstance(answer, Forecast)
    learnt = baseline.fit_windows(data.train, data.valid, data.profile["settled"]["season"])
    found, started = {}, time.perf_counter()
    for split, rows in (("valid", data.valid), ("test", data.test)):
        points = baseline.forecast(learnt, rows)[..., None]
        if split == "valid" and answer.quantiles:
            learnt["off"] = residual_quantiles(points[..., 0], rows, answer.quantiles)
        every = np.arange(len(rows))
        points = points + learnt["off"] if answer.quantiles else points
        found[split] = answer.counted(points, rows.ahead(every), rows.scales_of(every))
    row_seconds = (time.perf_counter() - started) / (len(data.valid) + len(data.test))
    write_atomically(run / "model.json", Preprocessor.of(data).to_json())
    write_atomically(run / "weights.safetensors", safetensors.numpy.save(learnt))
    return run.seal(
        {
            "status": "finished",
            "parameters": {"total": int(learnt["weights"].size) if "weights" in learnt else 0},
            **({"chosen": chosen} if (chosen := baseline.chosen(learnt)) else {}),
            "row_seconds": row_seconds,
            **record_answers(run, task, data, found["valid"], found["test"]),
            "environment": environment(1),
        }
    )


def _fit_pairs(task: Task, baseline: Translating, data: EncodedData, run: RunDirectory) -> dict[str, Any]:
    """A baseline that writes texts for texts."""
    answer, preprocessor = task.answer, Preprocessor.of(data)
    assert isinstance(answer, Translation)
    learnt = baseline.fit_pairs(data.train, data.valid, preprocessor)
    started = time.perf_counter()
    valid, test = (
        answer.counted(baseline.texts(learnt, rows, preprocessor), data.references[split])
        for split, rows in (("valid", data.valid), ("test", data.test))
    )
    row_seconds = (time.perf_counter() - started) / (len(data.valid) + len(data.test))
    write_atomically(run / "model.json", preprocessor.to_json())
    write_atomically(run / "weights.safetensors", safetensors.numpy.save(learnt))
    return run.seal(
        {
            "status": "finished",
            "parameters": {"total": sum(array.size for array in learnt.values())},
            "row_seconds": row_seconds,
            **record_answers(run, task, data, valid, test),
            "environment": environment(1),
        }
    )


def _settled(task: Task, data: EncodedData, valid: Kept, test: Kept) -> tuple[Preprocessor, Kept, Kept]:
    """What the model needs beside its weights, and its answers, with what is decided by those to the validation rows:
    the test rows have no say."""
    answer, truth = task.answer, data.valid.truth
    decided = answer.decided(valid, truth)
    valid, test = {**valid, **decided}, {**test, **decided}
    return answer.prepared(Preprocessor.of(data), valid, truth), valid, test


def with_chain(preprocessor: Preprocessor, chain: np.ndarray) -> Preprocessor:
    """(C + 2, C): whoever has the outputs of the model for each step can find the best path."""
    return replace(preprocessor, chain=tuple(map(tuple, chain.astype(float).tolist())))


def _looked_up(lookup: Lookup, kept: Kept, data: Sequences) -> Kept:
    return {**kept, "logits": lookup.answer(kept["logits"], data)}


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
