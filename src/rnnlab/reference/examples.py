"""Two tasks that small networks learn in numpy alone: run them with ``python -m rnnlab.reference``."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from rnnlab.reference.gates import draw_gates
from rnnlab.reference.gru import draw_gru, gru
from rnnlab.reference.layer import Array, Layer, named
from rnnlab.reference.lstm import lstm
from rnnlab.reference.network import Network, network
from rnnlab.reference.pooling import last
from rnnlab.reference.rnn import rnn
from rnnlab.reference.training import Batch, accuracy, adam, fit

DrawLayer = Callable[[np.random.Generator, int, int], dict[str, Array]]
LAYERS: dict[str, tuple[Layer, DrawLayer]] = {
    "rnn": (rnn, lambda generator, d, h: draw_gates(generator, "h", d, h)),
    "relu": (partial(rnn, activation="relu"), lambda generator, d, h: draw_gates(generator, "h", d, h)),
    "lstm": (lstm, lambda generator, d, h: draw_gates(generator, "ifgo", d, h)),
    "gru": (gru, draw_gru),
    "gru-before": (partial(gru, reset="before"), lambda generator, d, h: draw_gru(generator, d, h, "before")),
}


def first_and_last(generator: np.random.Generator, rows: int, steps: int = 5, width: int = 3) -> Batch:
    """Is the first number of the first step plus that of the last step above zero? (B, T, D) normal → (B,) 0 or 1."""
    x = generator.normal(size=(rows, steps, width))
    return Batch(x, np.full(rows, steps), (x[:, 0, 0] + x[:, -1, 0] > 0).astype(int))


def addition(generator: np.random.Generator, rows: int, digits: int) -> Batch:
    """Two numbers, digit by digit, the least significant first: (B, digits + 1, 2) → the digits of the sum,
    (B, digits + 1). At the last step both digits are 0 and the answer is the last carry."""
    pairs = generator.integers(0, 10, (rows, digits + 1, 2))
    pairs[:, -1] = 0
    total = np.empty((rows, digits + 1), dtype=int)
    carry = np.zeros(rows, dtype=int)
    for t in range(digits + 1):
        carry, total[:, t] = np.divmod(pairs[:, t].sum(axis=1) + carry, 10)
    return Batch(pairs, np.full(rows, digits + 1), total)


@dataclass(frozen=True)
class Progress:
    updates: int
    loss: float  # mean since the last report
    answers: float  # share of right answers, on rows that were never trained on
    sequences: float  # share of sequences in which every answer is right


def train_first_and_last(layer: str = "rnn", *, seed: int = 0, updates: int = 1000) -> Iterator[Progress]:
    """A network with 8 units and one label a sequence, on fresh rows in every batch."""
    generator = np.random.default_rng(seed)
    run, draw = LAYERS[layer]
    parameters = named("encoder", draw(generator, 3, 8)) | named("head", _draw_head(generator, 8, 2))
    batches = (first_and_last(generator, 64) for _ in range(updates))
    return _train(network(run, last), parameters, batches, first_and_last(generator, 2000), rate=0.01, every=100)


def train_addition(
    layer: str = "rnn", *, digits: int = 10, seed: int = 0, updates: int = 2000, hidden: int = 32
) -> Iterator[Progress]:
    """Both digits of a step embedded, their vectors side by side, and a label at every step. Stops when every
    sum is right."""
    generator = np.random.default_rng(seed)
    run, draw = LAYERS[layer]
    width = 16
    parameters = {
        "embedding.E": generator.normal(size=(10, width)),
        **named("encoder", draw(generator, 2 * width, hidden)),
        **named("head", _draw_head(generator, hidden, 10)),
    }
    batches = (addition(generator, 128, digits) for _ in range(updates))
    fresh = addition(generator, 2000, digits)
    for progress in _train(network(run), parameters, batches, fresh, rate=0.02, every=100):
        yield progress
        if progress.sequences == 1.0:
            return


def _draw_head(generator: np.random.Generator, hidden: int, classes: int) -> dict[str, Array]:
    bound = hidden**-0.5
    return {"W_hy": generator.uniform(-bound, bound, (classes, hidden)), "b_y": np.zeros(classes)}


def _train(
    model: Network, parameters: dict[str, Array], batches: Iterator[Batch], fresh: Batch, rate: float, every: int
) -> Iterator[Progress]:
    losses = []
    for number, loss in enumerate(fit(model, parameters, batches, adam(rate), limit=1.0), 1):
        losses.append(loss)
        if number % every == 0:
            yield Progress(number, float(np.mean(losses)), *accuracy(model, parameters, fresh))
            losses = []
