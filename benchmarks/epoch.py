"""One training epoch on movie reviews: rnnlab against the loop that every tutorial teaches, measured in turns.

    RNNLAB_DATA=… python benchmarks/epoch.py [--plain ../shared/bench/plain_loop.py] [--models rnn,gru,lstm,textcnn]

Both train the same model (width 50, hidden 128, batch 64, float32) on the same rows; an epoch is scaled to all rows of
train.tsv. The two take turns and the median ratio counts, because machines are noisy. Ours is an ordinary run, of which
the training counts: batches, forward, backward, update, signs of life. Loading and evaluation count on neither side.
The plain loop reads the last state; the same recurrent models are also measured with what is usual with us, the highest
state of each unit (`pooling = max`), and with dropout on tokens and summary, against the same plain loop.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from table import Row, text
from turns import Effort, ratios, say

from rnnlab.data import catalogue
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import RunDirectory
from rnnlab.tasks.classify import Classify
from rnnlab.training.loop import train
from rnnlab.training.run import own_process_state
from rnnlab.training.spec import RunSpec, Training

PLAIN = "as the plain loop has it"


class Way(NamedTuple):
    """How ours is trained."""

    optimizer: str
    threads: int
    settings: str = PLAIN

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return f"{'' if self.settings == PLAIN else f'{self.settings}, '}{self.optimizer}, {threads}"


ROWS = 156_060  # of train.tsv
TARGETS = {"rnn": 10.0, "gru": 10.0, "lstm": 8.0, "textcnn": 6.0}
SETTINGS: dict[str, dict[str, Any]] = {  # of recurrent models
    PLAIN: {"pooling": "last"},
    "pooling = max": {"pooling": "max"},
    "max, dropout 0.2": {"pooling": "max", "output_dropout": 0.2, "embedding": {"width": 50, "dropout": 0.2}},
}
USUAL = Way("lazy-adam", 2)
JUDGED = (USUAL, Way("lazy-adam", 2, "pooling = max"))
OURS = (USUAL, Way("adam", 2), JUDGED[1], Way("lazy-adam", 2, "max, dropout 0.2"))
WITH_ONE_THREAD = (Way("lazy-adam", 1), Way("lazy-adam", 1, "pooling = max"))
WARM_STEPS, QUICK_STEPS = 30, 300


def plain_script() -> Path:
    """The yardstick itself where it lies beside the project, else the same loop of this folder."""
    here = Path(__file__).resolve().parent
    yardstick = here.parents[1] / "shared" / "bench" / "plain_loop.py"
    return yardstick if yardstick.exists() else here / "plain_models.py"


def plain_epoch(script: Path, tsv: Path, model: str, threads: int, steps: int) -> float:
    command = [sys.executable, str(script), str(tsv), "--model", model]
    command += ["--threads", str(threads), "--steps", str(steps)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out)["epoch_s"]


def ways_of(model: str, quick: bool) -> list[Way]:
    """A convolution has no states to choose from."""
    ways = OURS if quick else (*OURS, *WITH_ONE_THREAD)
    return [way for way in ways if way.settings == PLAIN or model != "textcnn"]


def our_epoch(task: Classify, data: EncodedData, model: str, way: Way, steps: int | None = None) -> float:
    """The training seconds of an epoch of an ordinary run, or of so many steps of it, scaled to all rows."""
    threads = way.threads
    chosen = {} if model == "textcnn" else SETTINGS[way.settings]
    architecture = ARCHITECTURES.parse({"kind": model, "embedding": {"width": 50}, **chosen})
    settings = {"epochs": 1, "steps": steps, "optimizer": way.optimizer, "threads": threads, "device": "cpu"}
    spec = RunSpec(task, architecture, Training.model_validate(settings), 0)
    with tempfile.TemporaryDirectory() as folder, own_process_state(threads):
        run = RunDirectory(Path(folder) / spec.digest)
        run.create(spec.to_dict())
        trained = train(spec, data, run, lambda event: None, lambda: False)
    assert trained is not None
    (epoch,) = trained.progress.history
    return epoch["seconds"] * int(data.train.lengths.sum()) / epoch["tokens"] * ROWS / len(data.train)


def few(data: Sequences, rows: int = 200) -> Sequences:
    """The first rows alone: evaluation isn't what is measured."""
    return Sequences.end_to_end(
        data.values[: data.offsets[rows]], data.offsets[: rows + 1], data.targets[:rows], data.groups[:rows]
    )


def measure(effort: Effort, models: tuple[str, ...] = tuple(TARGETS), script: Path | None = None) -> Iterator[Row]:
    """Plain over ours: the default optimiser and dense Adam with two threads, in full also the default with one; of
    recurrences also by max pooling, and with dropout."""
    script = script or plain_script()
    tsv = catalogue.get("movie-reviews") / "train.tsv"
    task = Classify(data="movie-reviews", tokenizer="whitespace").resolve()
    whole = task.load()
    data = replace(whole, valid=few(whole.valid), test=few(whole.test))
    for model in models:
        ways = ways_of(model, effort.quick)
        for way in ways:
            our_epoch(task, data, model, way, WARM_STEPS)
        plain: list[float] = []
        ours: dict[Way, list[float]] = {way: [] for way in ways}
        for turn in effort.turns(quick=2, full=3, share=1 / len(models)):
            say(f"    {model}, turn {turn + 1}")
            plain.append(plain_epoch(script, tsv, model, 2, 100 if effort.quick else 300))
            for way in ways:
                ours[way].append(our_epoch(task, data, model, way, QUICK_STEPS if effort.quick else None))
        for way, seconds in ours.items():
            yield Row(
                "epoch",
                f"{model}: epoch with {way}, vs the plain loop's 2",
                TARGETS[model] if way in JUDGED else None,
                ratios(plain, seconds),
                note=f"{statistics.median(plain):.0f} s → {statistics.median(seconds):.1f} s",
                details={"plain_seconds": plain, "our_seconds": seconds, "yardstick": script.name},
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", type=Path, help="the tutorial loop")
    parser.add_argument("--models", default=",".join(TARGETS))
    parser.add_argument("--quick", action="store_true", help="some hundred steps of an epoch")
    arguments = parser.parse_args()
    effort = Effort(arguments.quick, float("inf"))
    print(text(list(measure(effort, tuple(arguments.models.split(",")), arguments.plain))))


if __name__ == "__main__":
    main()
