"""Training and searching of a GRU with attention, against the one that tutorials teach, both on one thread.

Pairs of random tokens, as long as the sentences of Tatoeba's English and Chinese, a vocabulary of 4,000 and one of
3,000, of which the k-th is written as often as 1 / k, as in texts. The plain one has batches of random rows,
padded; an encoder that reads both ways, a decoder that goes step by step with additive attention, `nn.Linear` and a
loss at every step, padding too, `torch.optim.Adam` and clipping. Ours has the same sizes. What counts is the time of an
epoch, by the processor's clock.
"""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from table import Row
from torch import Tensor, nn
from turns import Effort, ratios

from rnnlab.answers.heads import StateHead
from rnnlab.answers.translation import Translation, tokens_before, written
from rnnlab.data.batches import Batch, buckets, collate
from rnnlab.data.sequences import IGNORE, Sequences, offsets_of
from rnnlab.data.vocabulary import END
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import Network, build_network
from rnnlab.models.search import Manner
from rnnlab.training.batch_loader import by_both_sides
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.sampled_softmax import SampledSoftmax, inclusion
from rnnlab.training.spec import Training
from rnnlab.training.update import backward

READ, WRITTEN, WIDTH, HIDDEN, BATCH = 4000, 3000, 256, 256, 64
MEANS = (7.8, 10.8)  # tokens that are read and written; of 64 texts the longest have 17 and 23, as in Tatoeba's
TARGET = 4.0
SAMPLES = 400  # words, with training.softmax_samples
SENTENCES, SECONDS, LONGEST = 2000, 10.0, 14  # to be translated with a beam of 5; no text ends before


def measure(effort: Effort) -> Iterator[Row]:
    """Plain over ours."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        data = pairs(3200)
        sides = (plain_updates(data), our_updates(data, SAMPLES), our_updates(data, None))
        seconds: tuple[list[float], ...] = ([], [], [])
        for turn in effort.turns(quick=3, full=9):
            for side, updates in zip(seconds, sides, strict=True):
                side.append(processor_seconds(lambda updates=updates, turn=turn: updates(turn)))
        plain, ours, whole = seconds
        for words, target, side in (("all words scored", TARGET, whole), (f"{SAMPLES} words sampled", TARGET, ours)):
            yield Row(
                "translation",
                f"training of a GRU of {HIDDEN} units with attention, {words}, vs plain torch",
                target,
                ratios(plain, side),
                details={"plain_s": min(plain), "ours_s": min(side)},
            )
        network, rows = network_of(), pairs(SENTENCES)
        taken = processor_seconds(lambda: written(network.eval(), rows, Manner(5, 1.0, LONGEST)))
        yield Row(
            "translation",
            f"{SENTENCES:,} texts of {LONGEST} tokens with a beam of 5: {SECONDS:g} s over the time that it takes",
            1.0,
            (SECONDS / taken,),
            details={"seconds": taken},
        )
    finally:
        torch.set_num_threads(threads)


def processor_seconds(job: Callable[[], object]) -> float:
    started = time.process_time()
    job()
    return time.process_time() - started


def pairs(rows: int) -> Sequences:
    random = np.random.default_rng(0)
    read, wrote = (np.clip(random.gamma(6, mean / 6, rows), 2, 60).round().astype(np.int64) for mean in MEANS)
    offsets, ends = offsets_of(read), offsets_of(wrote)
    shares = 1 / np.arange(1, WRITTEN - 3)
    targets = 4 + random.choice(WRITTEN - 4, ends[-1], p=shares / shares.sum())
    targets[ends[1:] - 1] = END
    values = random.integers(4, READ, offsets[-1]).astype(np.int32)
    return Sequences.end_to_end(values, offsets, targets, np.arange(rows), target_offsets=ends)


def network_of() -> Network:
    torch.manual_seed(0)
    settings = {
        "kind": "gru",
        "hidden": HIDDEN,
        "bidirectional": True,
        "pooling": "last",
        "embedding": {"width": WIDTH},
    }
    return build_network(
        ARCHITECTURES.parse(settings),
        words=READ,
        features=None,
        pretrained=None,
        head=lambda width: StateHead(width, WRITTEN),
        reads="states",
        written=WRITTEN,
    )


def our_updates(data: Sequences, samples: int | None) -> Callable[[int], None]:
    """``samples``: words that an update scores beside its own; None: all."""
    network, answer = network_of().train(), Translation()
    optimizer = Optimizer(network, Training(softmax_samples=samples))
    counts = np.bincount(data.targets, minlength=WRITTEN)
    sampled = None if samples is None else SampledSoftmax(inclusion(counts, samples), 0)

    def epoch(number: int) -> None:
        for rows in buckets(by_both_sides(data), BATCH, 0, number):
            batch = collate(data, rows)
            if sampled is None:
                backward(network, answer, batch)
            else:
                sampled.backward(network, answer, batch, optimizer.steps)
            optimizer.step(1e-3, 1.0)

    return epoch


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read, self.wrote = nn.Embedding(READ, WIDTH, padding_idx=0), nn.Embedding(WRITTEN, WIDTH, padding_idx=0)
        self.encoder = nn.GRU(WIDTH, HIDDEN, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * HIDDEN, HIDDEN)
        self.key, self.query = nn.Linear(2 * HIDDEN, HIDDEN, bias=False), nn.Linear(HIDDEN, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1, bias=False)
        self.cell = nn.GRUCell(WIDTH, HIDDEN)
        self.mix, self.out = nn.Linear(3 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, WRITTEN)

    def forward(self, batch: Batch) -> Tensor:
        memory, ends = self.encoder(self.read(batch.inputs))
        real, keys = batch.inputs != 0, self.key(memory)
        state = torch.tanh(self.bridge(torch.cat([ends[0], ends[1]], dim=1)))
        vectors = self.wrote(tokens_before(batch.targets))
        every = []
        for step in range(vectors.shape[1]):
            state = self.cell(vectors[:, step], state)
            scores = self.score(torch.tanh(self.query(state)[:, None] + keys))[:, :, 0]
            weights = torch.softmax(scores.masked_fill(~real, -math.inf), dim=1)
            found = (weights[:, None] @ memory)[:, 0]
            every.append(self.out(torch.tanh(self.mix(torch.cat([found, state], dim=1)))))
        return torch.stack(every, dim=1)


def plain_updates(data: Sequences) -> Callable[[int], None]:
    torch.manual_seed(0)
    model = Plain()
    adam = torch.optim.Adam(model.parameters())

    def epoch(number: int) -> None:
        order = np.random.default_rng(number).permutation(len(data))
        for first in range(0, len(order), BATCH):
            batch = collate(data, order[first : first + BATCH])
            adam.zero_grad()
            out = model(batch)
            F.cross_entropy(out.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()

    return epoch
