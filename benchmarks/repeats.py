"""Repeats of one small run: five seeds of the addition task as one stacked run, against one by one."""

import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from table import Row
from turns import Effort, ratios, seconds_of

from rnnlab.experiment import RunSpec, Training
from rnnlab.models.recurrent import RNN
from rnnlab.runs import Finished
from rnnlab.tasks.addition import Addition
from rnnlab.training.run import execute

SEEDS = 5
WHAT = f"{SEEDS} seeds of addition (length 10, batch 200, hidden 64) stacked, vs one by one"
TARGET = 3.0


def measure(effort: Effort) -> Iterator[Row]:
    if find_spec("rnnlab.training.stacked") is None:
        yield Row("repeats", WHAT, TARGET, missing="not built")
        return
    steps = 200 if effort.quick else 1000
    specs = repeated(steps)
    alone, together = [], []
    one_by_one(specs[:1])  # warms up
    for _ in effort.turns(quick=3, full=7):
        alone.append(seconds_of(lambda: one_by_one(specs)))
        together.append(seconds_of(lambda: stacked(specs)))
    yield Row(
        "repeats",
        WHAT,
        TARGET,
        ratios(alone, together),
        details={"alone_seconds": alone, "stacked_seconds": together, "steps": steps},
    )


def repeated(steps: int) -> list[RunSpec]:
    """One run, seed by seed."""
    task = Addition(length=10).resolve()
    model = RNN.model_validate({"hidden": 64, "embedding": {"width": 32, "spread": 1.0}})
    values = {"epochs": None, "steps": steps, "batch_size": 200, "eval_every": steps, "device": "cpu"}
    return [RunSpec(task, model, Training.model_validate(values), seed) for seed in range(SEEDS)]


def one_by_one(specs: list[RunSpec]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for spec in specs:
            outcome = execute(spec, Path(folder), lambda event: None, lambda: False)
            assert isinstance(outcome, Finished)


def stacked(specs: list[RunSpec]) -> None:
    """The runs of `one_by_one` as one: `execute_stacked` takes many specs where `execute` takes one."""
    execute_stacked = import_module("rnnlab.training.stacked").execute_stacked
    with tempfile.TemporaryDirectory() as folder:
        outcomes = execute_stacked(specs, Path(folder), lambda event: None, lambda: False)
        assert all(isinstance(outcome, Finished) for outcome in outcomes)
