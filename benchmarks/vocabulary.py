"""Large vocabularies: updates of a language model of words against plain torch with all words scored, one thread.

Batches of 32 × 64 words drawn by rank (Zipf), vectors as wide as the LSTM, the state carried. Plain torch is an
`nn.Embedding`, an `nn.LSTM`, an `nn.Linear`, `F.cross_entropy`, `clip_grad_norm_` and `torch.optim.Adam`. Ours score
the words of the batch and 1,000 others (`training.softmax_samples`); evaluation is always exact. Processor time.
"""

from collections.abc import Callable, Iterator
from time import process_time

import numpy as np
import torch
import torch.nn.functional as F
from table import Row
from torch import nn
from turns import Effort, ratios

from rnnlab.answers.heads import StateHead, TiedHead
from rnnlab.data.batches import Batch
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.tasks.language_model import LanguageModel
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.sampled_softmax import SampledSoftmax, inclusion
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Updater

ROWS, STEPS, SAMPLES, TARGET = 32, 64, 1000, 3.0
CASES = ((256, False, 10_000), (400, True, 10_000), (256, False, 30_000))  # units, tied, words
Update = Callable[[Batch], object]


def measure(effort: Effort) -> Iterator[Row]:
    """Seconds of plain torch over ours."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for hidden, tied, words in CASES:
            shares = 1 / np.arange(1, words + 1)
            shares /= shares.sum()
            batches = drawn(words, shares)
            sides = plain(hidden, tied, words), ours(hidden, tied, words, shares)
            for update in sides:
                update(batches[0])
            seconds: tuple[list[float], list[float]] = ([], [])
            for turn in effort.turns(quick=2, full=7, share=1 / len(CASES)):
                for side, update in enumerate(sides):
                    started = process_time()
                    update(batches[1 + turn % (len(batches) - 1)])
                    seconds[side].append(process_time() - started)
            yield Row(
                "vocabulary",
                f"lstm {hidden}{', tied' if tied else ''}, {words:,} words, vs plain torch",
                TARGET,
                ratios(*seconds),
                details={"words_per_second": ROWS * STEPS / min(seconds[1])},
            )
    finally:
        torch.set_num_threads(threads)


def drawn(words: int, shares: np.ndarray) -> list[Batch]:
    text = np.random.default_rng(0).choice(words, size=(8, ROWS, STEPS + 1), p=shares)
    lengths = torch.full((ROWS,), STEPS)
    return [Batch(torch.from_numpy(one[:, :-1].copy()), lengths, torch.from_numpy(one[:, 1:].copy())) for one in text]


def ours(hidden: int, tied: bool, words: int, shares: np.ndarray) -> Update:
    model = ARCHITECTURES.parse(
        {"kind": "lstm", "hidden": hidden, "state": "carried", "tied": tied, "embedding": {"width": hidden}}
    )
    training = Training.model_validate({"softmax_samples": SAMPLES})
    torch.manual_seed(0)
    network = build_network(
        model,
        words=words,
        features=None,
        pretrained=None,
        head=lambda width: StateHead(width, words),
        reads="states",
    )
    if tied and network.embedding is not None:
        network.head = TiedHead(network.encoder.state_width, network.embedding)
    sampled = SampledSoftmax(inclusion(shares * 1e6, SAMPLES), 0)
    spec = RunSpec(LanguageModel(data="words.txt"), model, training, 0)
    updater = Updater(spec, network.train(), Optimizer(network, training), 1, sampled=sampled)
    return lambda batch: list(updater.advance([batch], [0.003]))


class Plain(nn.Module):
    def __init__(self, hidden: int, tied: bool, words: int):
        super().__init__()
        self.vectors = nn.Embedding(words, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, words)
        if tied:
            self.out.weight = self.vectors.weight


def plain(hidden: int, tied: bool, words: int) -> Update:
    torch.manual_seed(0)
    model = Plain(hidden, tied, words)
    adam = torch.optim.Adam(model.parameters(), lr=0.003)
    carried: list[tuple[torch.Tensor, torch.Tensor] | None] = [None]

    def update(batch: Batch) -> None:
        adam.zero_grad()
        states, (h, c) = model.lstm(model.vectors(batch.inputs), carried[0])
        carried[0] = h.detach(), c.detach()
        F.cross_entropy(model.out(states).flatten(0, 1), batch.targets.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        adam.step()

    return update
