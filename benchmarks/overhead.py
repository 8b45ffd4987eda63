"""What it costs to give every run a process of its own: runs of one step, against starting Python with torch for each.

python benchmarks/overhead.py [--runs 200] [--jobs N] [--on processes]

Both are timed in one go, each start of Python with nothing beside it, so the ratio is of wall clock with the cores that
there are; `a core` divides it by the runs at a time.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rnnlab.execute.executors import cores, executor_for
from rnnlab.models.recurrent import GRU
from rnnlab.runs.directory import Finished
from rnnlab.tasks.synthetic import FirstLast
from rnnlab.training.spec import RunSpec, Training


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=cores(), help="runs at a time")
    parser.add_argument("--on", default="processes", help="the engine")
    arguments = parser.parse_args()
    task = FirstLast(rows=100, length=4).resolve()
    training = Training(epochs=None, steps=1, device="cpu")
    specs = [RunSpec(task, GRU(hidden=4), training, seed) for seed in range(arguments.runs)]

    imports = [_import_torch() for _ in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        found = dict(executor_for(arguments.on, arguments.jobs).map(specs, Path(folder), lambda number, event: None))
        seconds = time.perf_counter() - started
    imports += [_import_torch() for _ in range(5)]
    assert all(isinstance(outcome, Finished) for outcome in found.values())

    each, alone = seconds / arguments.runs, statistics.median(imports)
    ratio = alone / each
    print(f"{arguments.runs} runs of one step on {arguments.on}, {arguments.jobs} at a time: {seconds:.1f} s")
    print(f"a run {1000 * each:.0f} ms; `import torch` {1000 * alone:.0f} ms (median of {len(imports)})")
    print(f"{ratio:.1f} times faster; a core {ratio / arguments.jobs:.1f} times; at least 5 is wanted")


def _import_torch() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
