"""Training of a GRU that forecasts, against the loop that tutorials teach, both on one thread.

    python benchmarks/forecasting.py

Series as large as ETTh1's training part: 8,640 hours of 7 channels, beside them what the dates tell (6 numbers); 336
steps are read, 24 are forecast, five quantiles of each. The plain one is a `Dataset` of windows, a `DataLoader` that
shuffles, `nn.GRU`, `nn.Linear` of the last state, the pinball loss, `torch.optim.Adam` and clipping. Ours has the same
network, and a straight line beside it. What counts is the time of some updates, by the processor's clock.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from table import Row, text
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from turns import Effort, ratios

from rnnlab.answers.forecast import Forecast
from rnnlab.data.batches import buckets, collate
from rnnlab.data.calendar import Spacing
from rnnlab.data.forecasting import encode_observations
from rnnlab.data.observations import Observations
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training
from rnnlab.training.update import backward

HOURS, CHANNELS, LOOKBACK, HORIZON, HIDDEN, BATCH = 8640, 7, 336, 24, 64, 64
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
UPDATES = 10  # in a turn
TARGET, EPOCH_SECONDS = 5.0, 10.0


def measure(effort: Effort) -> Iterator[Row]:
    """Plain over ours."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        data = windows()
        sides = (plain_updates(data), our_updates(data))
        seconds: tuple[list[float], list[float]] = ([], [])
        for updates in sides:
            updates(2)
        for _ in effort.turns(quick=2, full=9):
            for side, updates in zip(seconds, sides, strict=True):
                started = time.process_time()
                updates(UPDATES)
                side.append(time.process_time() - started)
        epoch = min(seconds[1]) / UPDATES * -(-len(data) // BATCH)
        name = f"GRU of {HIDDEN} units, {LOOKBACK} steps read, {HORIZON} forecast"
        yield Row("forecasting", f"training of a {name}, vs plain torch", TARGET, ratios(*seconds),
                  details={"plain_s": min(seconds[0]), "ours_s": min(seconds[1]), "updates": UPDATES})  # fmt: skip
        yield Row("forecasting", f"an epoch of ETTh1's size, {name}", EPOCH_SECONDS, (epoch,), better="lower",
                  unit="seconds")  # fmt: skip
    finally:
        torch.set_num_threads(threads)


def windows() -> Sequences:
    """Of random walks, those to train on."""
    random = np.random.default_rng(0)
    steps = round(HOURS / 0.7)
    dates = np.datetime64("2016-07-01T00:00:00") + np.arange(steps).astype("timedelta64[h]")
    values = np.cumsum(random.normal(size=(steps, CHANNELS)), axis=0)
    seen = Observations("walks", values, np.array([0, steps]), ("",), tuple("abcdefg"), dates, Spacing(3600), ())
    return encode_observations(seen, horizon=HORIZON, lookback=LOOKBACK).train


class Windows(Dataset[tuple[Tensor, Tensor]]):
    """As tutorials have it: one window per item."""

    def __init__(self, data: Sequences):
        self.values = torch.from_numpy(data.values)

    def __len__(self) -> int:
        return len(self.values) - LOOKBACK - HORIZON + 1

    def __getitem__(self, at: int) -> tuple[Tensor, Tensor]:
        end = at + LOOKBACK
        return self.values[at:end], self.values[end : end + HORIZON, :CHANNELS]


def plain_updates(data: Sequences) -> Callable[[int], None]:
    torch.manual_seed(0)
    recurrent = nn.GRU(data.values.shape[1], HIDDEN, batch_first=True)
    head = nn.Linear(HIDDEN, HORIZON * CHANNELS * len(QUANTILES))
    weights = [*recurrent.parameters(), *head.parameters()]
    optimizer, at = torch.optim.Adam(weights, 0.001), torch.tensor(QUANTILES)
    loader = DataLoader(Windows(data), batch_size=BATCH, shuffle=True)

    def updates(count: int) -> None:
        for number, (inputs, targets) in enumerate(loader):
            if number == count:
                return
            optimizer.zero_grad()
            states, _ = recurrent(inputs)
            off = targets[..., None] - head(states[:, -1]).view(*targets.shape, len(QUANTILES))
            torch.maximum(at * off, (at - 1) * off).mean().backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()

    return updates


def our_updates(data: Sequences) -> Callable[[int], None]:
    torch.manual_seed(0)
    answer = Forecast(HORIZON, CHANNELS, QUANTILES, line_of=LOOKBACK)
    network = build_network(
        ARCHITECTURES.parse({"kind": "gru", "hidden": HIDDEN, "pooling": "last"}),
        words=None,
        features=data.values.shape[1],
        pretrained=None,
        head=lambda width: answer.head(width, HORIZON * CHANNELS * len(QUANTILES)),
    )
    optimizer = Optimizer(network, Training(lr=0.001, clip=1.0))
    order = buckets(data.lengths, BATCH, 0, 0)

    def updates(count: int) -> None:
        for rows in order[:count]:
            backward(network, answer, collate(data, rows), None)
            optimizer.step(0.001, 1.0)

    return updates


if __name__ == "__main__":
    print(text(list(measure(Effort(quick=False, seconds=120)))))
