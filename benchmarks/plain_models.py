"""The loop that every tutorial teaches, for the eight arms of a comparison: random batches padded to their longest row,
a DataLoader, a dense embedding, modules of `torch.nn`, CrossEntropyLoss, dense Adam.

    python benchmarks/plain_models.py TSV [--models rnn,lstm,…] [--steps 300] [--seconds 60] [--threads 2]

Prints one JSON line a model: ms_per_step of training, score_ms_per_step of answering without gradients, and epoch_s,
the steps of an epoch. A model is timed over so many steps, or as many as the seconds allow; the first ten steps of each
warm up and don't count. Sizes are rnnlab's defaults: width 50, hidden 128, batch 64.
"""

import argparse
import collections
import csv
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

MODELS = ("rnn", "lstm", "gru", "bilstm", "bigru", "textcnn", "transformer", "linear")
WIDTH, HIDDEN, BATCH = 50, 128, 64
WARM = 10


class Recurrent(nn.Module):
    """The state at the last token; with two directions, also the backward state at the first."""

    def __init__(self, kind: str):
        super().__init__()
        module = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind.removeprefix("bi")]
        self.both = kind.startswith("bi")
        self.recurrent = module(WIDTH, HIDDEN, batch_first=True, bidirectional=self.both)
        self.width = 2 * HIDDEN if self.both else HIDDEN

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        states, _ = self.recurrent(x)
        last = states[torch.arange(len(lengths)), lengths - 1]
        return torch.cat([last[:, :HIDDEN], states[:, 0, HIDDEN:]], 1) if self.both else last


class TextCNN(nn.Module):
    width = 64

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(WIDTH, 16, k) for k in (2, 3, 4, 5))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        x = nn.functional.pad(x.transpose(1, 2), (0, 4))
        return torch.cat([convolution(x).relu().amax(2) for convolution in self.convolutions], 1)


class Transformer(nn.Module):
    width = 64

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, self.width)
        layer = nn.TransformerEncoderLayer(self.width, 4, 128, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(self.width), enable_nested_tensor=False)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        steps = torch.arange(x.shape[1])
        rates = torch.exp(-math.log(10_000) * torch.arange(0, self.width, 2) / self.width)
        positions = torch.stack([(steps[:, None] * rates).sin(), (steps[:, None] * rates).cos()], 2).flatten(1)
        padding = steps >= lengths[:, None]
        states = self.encoder(self.project(x) + positions, src_key_padding_mask=padding)
        return mean_of(states, lengths)


class Mean(nn.Module):
    """A layer on each token, then the mean."""

    width = HIDDEN

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, HIDDEN)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return mean_of(self.layer(x), lengths)


def mean_of(states: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(states.shape[1]) < lengths[:, None]
    return (states * real[:, :, None]).sum(1) / lengths[:, None]


class Classifier(nn.Module):
    def __init__(self, kind: str, words: int, classes: int):
        super().__init__()
        others: dict[str, Callable[[], Any]] = {"textcnn": TextCNN, "transformer": Transformer, "linear": Mean}
        self.embedding = nn.Embedding(words, WIDTH, padding_idx=0)
        self.encoder = others[kind]() if kind in others else Recurrent(kind)
        self.head = nn.Linear(self.encoder.width, classes)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.head(self.encoder(self.embedding(ids), lengths))


def read(path: str) -> tuple[list[tuple[Tensor, int]], int, int]:
    """Rows of ids and a class, the number of words and that of classes."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = [row["Phrase"].lower().split() or ["<unk>"] for row in rows]
    counts = collections.Counter(word for text in texts for word in text)
    vocabulary = {word: i + 2 for i, word in enumerate(counts)}
    labels = {value: i for i, value in enumerate(sorted({row["Sentiment"] for row in rows}))}
    data = [
        (torch.tensor([vocabulary[word] for word in text]), labels[row["Sentiment"]])
        for text, row in zip(texts, rows, strict=True)
    ]
    return data, len(vocabulary) + 2, len(labels)


def collate(batch: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor, Tensor]:
    ids = [x for x, _ in batch]
    lengths = torch.tensor([len(x) for x in ids])
    return pad_sequence(ids, batch_first=True), lengths, torch.tensor([y for _, y in batch])


def timed(batches: Iterator[Any], step: Callable[..., None], steps: int, seconds: float) -> float:
    """Seconds a step, the loading of its batch included."""
    for batch in itertools.islice(batches, WARM):
        step(*batch)
    started, done = time.perf_counter(), 0
    for batch in itertools.islice(batches, steps):
        step(*batch)
        done += 1
        if time.perf_counter() - started > seconds:
            break
    return (time.perf_counter() - started) / done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tsv")
    parser.add_argument("--models", "--model", default=",".join(MODELS))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60.0, help="at most so long a model")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    data, words, classes = read(arguments.tsv)
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True, collate_fn=collate)  # type: ignore[arg-type]  # a list is a data set
    loss_of = nn.CrossEntropyLoss()
    for kind in arguments.models.split(","):
        model = Classifier(kind, words, classes)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

        def train_step(ids: Tensor, lengths: Tensor, targets: Tensor, model=model, optimiser=optimiser) -> None:
            optimiser.zero_grad()
            loss_of(model(ids, lengths), targets).backward()
            optimiser.step()

        def score_step(ids: Tensor, lengths: Tensor, targets: Tensor, model=model) -> None:
            with torch.no_grad():
                (model(ids, lengths).argmax(1) == targets).sum().item()

        each = timed(iter(loader), train_step, arguments.steps, arguments.seconds)
        model.eval()
        score = timed(iter(loader), score_step, arguments.steps, arguments.seconds / 3)
        print(
            json.dumps(
                {
                    "model": kind,
                    "threads": arguments.threads,
                    "ms_per_step": round(1e3 * each, 3),
                    "score_ms_per_step": round(1e3 * score, 3),
                    "epoch_s": round(each * len(loader), 2),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
