"""How long one more step takes, measured: what a model needs to answer while a sequence grows."""

import statistics
import time
from dataclasses import dataclass

import torch

from rnnlab.models.network import Network

AFTER = (1, 10, 100, 1000)  # steps read before
TIMES = 15  # of which the median counts


@dataclass(frozen=True)
class Pace:
    """Of one sequence: ``milliseconds`` for one more step and an answer, after so many."""

    after: int
    milliseconds: float

    def to_dict(self) -> dict[str, float]:
        return {"after": self.after, "milliseconds": self.milliseconds}


def measure_pace(
    network: Network, inputs: torch.Tensor, longest: int | None = None, prefixes: tuple[int, ...] = AFTER
) -> tuple[Pace, ...]:
    """With the steps of ``inputs`` (B, T, …), over and over; empty where the network can't go on from a state. Steps
    beyond ``longest``, which it can't read, are left out."""
    if not network.goes_on:
        return ()
    found: list[Pace] = []
    was_training = network.training
    network.eval()
    one = torch.ones(1, dtype=torch.int64)
    try:
        with torch.inference_mode():
            for after in prefixes:
                if longest is not None and after >= longest:
                    break
                rows = torch.arange(after) % inputs.shape[1]
                _, state = network.advance(inputs[:1, rows], one * after, network.begin(1))
                seconds = []
                for _ in range(TIMES):
                    started = time.perf_counter()
                    network.advance(inputs[:1, :1], one, state)
                    seconds.append(time.perf_counter() - started)
                found.append(Pace(after, 1000 * statistics.median(seconds)))
    finally:
        network.train(was_training)
    return tuple(found)
