"""Tokens a second, forward and backward, against the length of the sequences: what steps in sequence cost here.

    python benchmarks/throughput.py [--models rnn,mingru] [--lengths 8,64,512] [--seconds 0.7] [--flush] [--json]

Every model has 128 hidden units (or as many states), reads 50 numbers a step and answers once a sequence; batch 32, one
thread, no dropout. A figure is the median of repeated passes, in CPU time, which other processes hardly lengthen. FLOPs
and serial steps are from `analysis.cost`.
A gradient that vanishes over time passes through numbers below 1e-38, with which a CPU computes many times slower;
``--flush`` shows the time without that.
"""

import argparse
import json
import statistics
import time
from typing import Any

import torch

from rnnlab.answers.heads import SummaryHead
from rnnlab.inspecting.cost import cost
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.network import Network, build_network

BATCH, FEATURES, CLASSES = 32, 50, 2
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"kind": "rnn", "hidden": 128},
    "lstm": {"kind": "lstm", "hidden": 128},
    "gru": {"kind": "gru", "hidden": 128},
    "mingru": {"kind": "mingru", "hidden": 128},
    "mingru-scan": {"kind": "mingru", "hidden": 128, "scan": "parallel"},
    "textcnn": {"kind": "textcnn", "filters": 32},
    "dilated": {"kind": "dilated", "hidden": 128},
    "transformer": {"kind": "transformer", "width": 128, "feedforward": 256, "dropout": 0.0},
}


def measure(model: Architecture, length: int, seconds: float) -> dict[str, Any]:
    """One cell of the table."""
    torch.manual_seed(0)
    network = build_network(
        model, words=None, features=FEATURES, pretrained=None, head=lambda width: SummaryHead(width, CLASSES)
    ).train()
    inputs, lengths = torch.randn(BATCH, length, FEATURES), torch.full((BATCH,), length)
    targets = torch.randint(0, CLASSES, (BATCH,))
    pass_once(network, inputs, lengths, targets)  # warms up
    taken: list[float] = []
    while len(taken) < 3 or sum(taken) < seconds:
        started = time.process_time()
        pass_once(network, inputs, lengths, targets)
        taken.append(time.process_time() - started)
    expected = cost(model, features=FEATURES, classes=CLASSES, length=length, batch=BATCH)
    per_second = BATCH * length / statistics.median(taken)
    return {
        "length": length,
        "tokens_per_second": per_second,
        "gflops_per_second": per_second * expected.training_flops_per_sequence / length / 1e9,
        "flops_per_token": expected.flops_per_token,
        "serial_steps": expected.serial_steps,
        "passes": len(taken),
    }


def pass_once(network: Network, inputs: torch.Tensor, lengths: torch.Tensor, targets: torch.Tensor) -> None:
    network.zero_grad()
    torch.nn.functional.cross_entropy(network(inputs, lengths), targets).backward()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--seconds", type=float, default=0.7, help="at least so long a figure")
    parser.add_argument("--flush", action="store_true", help="let the CPU take numbers below 1e-38 for zero")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(arguments.flush)
    lengths = [int(text) for text in arguments.lengths.split(",")]
    found: dict[str, list[dict[str, Any]]] = {}
    if not arguments.json:
        print("tokens a second, in thousands\n| length | " + " | ".join(map(str, lengths)) + " |")
        print("|---|" + "---:|" * len(lengths))
    for name in arguments.models.split(","):
        model = ARCHITECTURES.parse(MODELS[name])
        found[name] = [measure(model, length, arguments.seconds) for length in lengths]
        if not arguments.json:
            cells = [f"{cell['tokens_per_second'] / 1000:.0f}" for cell in found[name]]
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
    if arguments.json:
        print(
            json.dumps(
                {"batch": BATCH, "flush": arguments.flush, "torch": torch.__version__, "models": found}, indent=2
            )
        )


if __name__ == "__main__":
    main()
