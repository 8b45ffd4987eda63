"""Repeats of one small run: five seeds of the addition task as one stacked run, against one by one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from table import Row
from turns import Effort, ratios, seconds_of

from rnnlab.execute.executors import cores
from rnnlab.kernels import switched_off
from rnnlab.models.recurrent import RNN
from rnnlab.runs.directory import Finished, RunDirectory
from rnnlab.tasks.addition import Addition
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.stacked import execute_stacked

SEEDS = 5
WHAT = f"{SEEDS} seeds of addition (length 10, batch 200, hidden 64) stacked, vs one by one"
TARGET = 3.0
CLOSE = 1e-5  # losses and scores of each seed, stacked and alone


def measure(effort: Effort) -> Iterator[Row]:
    steps = 200 if effort.quick else 1000
    specs = repeated(steps)
    alone, together, on_torch = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        apart = differences(specs, Path(folder))  # warms up
    assert apart["losses and scores"] <= CLOSE, apart
    for _ in effort.turns(quick=3, full=7):
        with tempfile.TemporaryDirectory() as folder:
            alone.append(seconds_of(lambda to=Path(folder) / "alone": one_by_one(specs, to)))
            together.append(seconds_of(lambda to=Path(folder) / "stack": stacked(specs, to)))
            with switched_off():
                on_torch.append(seconds_of(lambda to=Path(folder) / "torch": one_by_one(specs, to)))
    details = {"alone_seconds": alone, "stacked_seconds": together, "steps": steps, "largest_differences": apart}
    yield Row("repeats", WHAT, TARGET, ratios(alone, together), details=details)
    yield Row("repeats", f"{WHAT} on torch", turns=ratios(on_torch, together), details={"torch_seconds": on_torch})


def repeated(steps: int) -> list[RunSpec]:
    """One run, seed by seed."""
    task = Addition(length=10).resolve()
    model = RNN.model_validate({"hidden": 64, "embedding": {"width": 32, "spread": 1.0}})
    values = {"epochs": None, "steps": steps, "batch_size": 200, "eval_every": steps, "device": "cpu"}
    return [RunSpec(task, model, Training.model_validate(values), seed) for seed in range(SEEDS)]


def one_by_one(specs: list[RunSpec], folder: Path) -> None:
    for spec in specs:
        outcome = execute(spec, folder, lambda event: None, lambda: False)
        assert isinstance(outcome, Finished)


def stacked(specs: list[RunSpec], folder: Path) -> None:
    outcomes = execute_stacked(specs, folder, lambda number, event: None, lambda: False, cores())
    assert all(isinstance(outcome, Finished) for outcome in outcomes)


def differences(specs: list[RunSpec], folder: Path) -> dict[str, float]:
    """How far each seed's numbers are from those of its own run, at most."""
    one_by_one(specs, folder / "alone")
    stacked(specs, folder / "stack")
    runs = [[RunDirectory(folder / side / spec.digest) for side in ("alone", "stack")] for spec in specs]
    weights = [[load_file(run.verified("weights.safetensors")) for run in pair] for pair in runs]
    return {
        "losses and scores": max(abs(a - b) for pair in runs for a, b in zip(*map(told, pair), strict=True)),
        "weights": max(float(np.abs(one[name] - other[name]).max()) for one, other in weights for name in one),
    }


def told(run: RunDirectory) -> list[float]:
    """Losses and scores of every evaluation, and the final ones."""
    result = run.result()
    assert result is not None
    groups: list[dict[str, Any]] = [*run.events(), result["valid"], result["test"]]
    return [
        float(value)
        for group in groups
        for name, value in group.items()
        if isinstance(value, int | float) and name != "seconds"
    ]
