"""One training epoch on movie reviews: rnnlab against the loop that every tutorial teaches, measured in turns.

    RNNLAB_DATA=… python benchmarks/epoch.py --plain ../shared/bench/plain_loop.py [--models rnn,gru,lstm,textcnn]

Both train the same model (width 50, hidden 128, batch 64, float32) on the same rows; an epoch is scaled to all rows of
train.tsv. The two take turns and the median ratio counts, because machines are noisy.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rnnlab.data import catalogue
from rnnlab.experiment import RunSpec, Training
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding
from rnnlab.runs import Finished
from rnnlab.tasks.classify import Classify
from rnnlab.training.run import execute

ROWS = 156_060  # of train.tsv


def plain_epoch(script: str, tsv: Path, model: str, threads: int, steps: int) -> float:
    command = [sys.executable, script, str(tsv), "--model", model, "--threads", str(threads), "--steps", str(steps)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out)["epoch_s"]


def our_epoch(task: Classify, model: str, optimizer: str, threads: int) -> float:
    """The training seconds of the second of two epochs of an ordinary run, scaled to all rows."""
    architecture = ARCHITECTURES.parse({"kind": model, "embedding": Embedding()})
    training = Training.model_validate({"epochs": 2, "optimizer": optimizer, "threads": threads, "device": "cpu"})
    with tempfile.TemporaryDirectory() as folder:
        outcome = execute(RunSpec(task, architecture, training, 0), Path(folder), lambda event: None, lambda: False)
    assert isinstance(outcome, Finished)
    return outcome.result["epoch_seconds"] * ROWS / len(task.load().train)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", default="../shared/bench/plain_loop.py", help="the tutorial loop")
    parser.add_argument("--models", default="rnn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    tsv = catalogue.get("movie-reviews") / "train.tsv"
    task = Classify(data="movie-reviews", tokenizer="whitespace").resolve()
    print(f"{'model':10} {'optimizer':10} {'plain s':>9} {'rnnlab s':>9} {'ratio':>7}")
    for model in arguments.models.split(","):
        for optimizer in ("lazy-adam", "adam"):
            plain, ours = [], []
            for _ in range(arguments.turns):
                plain.append(plain_epoch(arguments.plain, tsv, model, arguments.threads, 300))
                ours.append(our_epoch(task, model, optimizer, arguments.threads))
            ratio = statistics.median(p / o for p, o in zip(plain, ours, strict=True))
            seconds = f"{statistics.median(plain):9.2f} {statistics.median(ours):9.2f}"
            print(f"{model:10} {optimizer:10} {seconds} {ratio:6.1f}×", flush=True)


if __name__ == "__main__":
    main()
