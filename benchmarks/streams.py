"""Streams of text: updates of a language model against plain torch of the same size, measured in turns.

    python benchmarks/streams.py [--models lstm:512,gru:256] [--threads 1,2] [--rows 32] [--quick]

Both sides read the same batches of 32 × 128 characters of 65 kinds, vectors of 64, and carry their state. Plain torch
is an `nn.Embedding`, an `nn.LSTM` (`nn.GRU`, `nn.RNN`), an `nn.Linear`, `F.cross_entropy`, `clip_grad_norm_` and
`torch.optim.Adam`. Ours are whole native training steps, as in an ordinary run. A side's time in a turn is that of its
fastest update: processor time with one thread, the clock with two. The share of the peak counts the multiplications
and additions that plain torch needs, over those per second of a 1024² matrix product in the same run: ours can be above
1, because what a character brings to the gates is computed once per batch.
"""

import argparse
from collections.abc import Callable, Iterator
from time import perf_counter, process_time

import torch
from table import Row, text
from torch import Tensor, nn
from torch.nn import functional as F
from turns import Effort, ratios, say

from rnnlab.answers.heads import StateHead
from rnnlab.answers.text import Text
from rnnlab.data.batches import Batch
from rnnlab.kernels import ops
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.models.recurrent import RecurrentEncoder
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import Training
from rnnlab.training.update import member_of, training_steps

ROWS, STEPS, KINDS, WIDTH, CLIP, RATE = 32, 128, 65, 64, 1.0, 0.001
MODULES: dict[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
Models = tuple[tuple[str, int], ...]  # kind and units
Threads = tuple[int, ...]
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
MODELS: Models = (("rnn", 256), ("gru", 128), ("gru", 256), ("gru", 512), ("lstm", 128), ("lstm", 256), ("lstm", 512))
TARGETS = {"lstm": 1.2, "gru": 1.7, "rnn": 1.7}
Job = Callable[[], object]


def measure(effort: Effort, models: Models = MODELS, threads: Threads = (1, 2), rows: int = ROWS) -> Iterator[Row]:
    """Seconds of plain torch over ours."""
    torch.set_flush_denormal(True)
    cases = [(kind, hidden, count) for kind, hidden in models for count in threads]
    for kind, hidden, count in cases:
        torch.set_num_threads(count)
        batch = drawn(rows)
        plain, ours = plain_update(kind, hidden, batch), our_update(kind, hidden, batch, count)
        clock = process_time if count == 1 else perf_counter
        square = torch.randn(1024, 1024)
        seconds: tuple[list[float], list[float], list[float]] = ([], [], [])
        for job in (plain, ours):
            job()
        for _ in effort.turns(quick=3, full=9, share=1 / len(cases)):
            for side, job in enumerate((plain, ours, lambda square=square: torch.mm(square, square))):
                seconds[side].append(min(timed(job, clock) for _ in range(2 if effort.quick else 4)))
        theirs, own = (rows * STEPS / min(side) for side in seconds[:2])
        needed = (
            6 * hidden * (GATES[kind] * (WIDTH + hidden) + KINDS)
        )  # per character: forward, and twice that backward
        peak = 2 * 1024**3 / min(seconds[2])
        yield Row(
            "streams",
            f"{kind} {hidden}, {rows} × {STEPS} characters, {count} thread{'s' if count > 1 else ''}, vs plain torch",
            TARGETS[kind],
            ratios(seconds[0], seconds[1]),
            note=f"{own:,.0f} characters per second; "
            f"of the peak: {own * needed / peak:.0%}, torch {theirs * needed / peak:.0%}",
            details={
                "characters_per_second": own,
                "plain_characters_per_second": theirs,
                "gflops": own * needed / 1e9,
                "plain_gflops": theirs * needed / 1e9,
                "peak_gflops": peak / 1e9,
            },
        )


def timed(job: Job, clock: Callable[[], float]) -> float:
    started = clock()
    job()
    return clock() - started


def drawn(rows: int) -> Batch:
    """Characters 1 … 65: 0 is padding."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(1, KINDS + 1, (rows, STEPS + 1), generator=draw)
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return Batch(inputs[:, :, None], torch.full((rows,), STEPS), targets)


def plain_update(kind: str, hidden: int, batch: Batch) -> Job:
    torch.manual_seed(0)
    embedding, recurrent = nn.Embedding(KINDS + 1, WIDTH), MODULES[kind](WIDTH, hidden, batch_first=True)
    head = nn.Linear(hidden, KINDS + 1)
    weights = [*embedding.parameters(), *recurrent.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(weights, RATE)
    state: list[Tensor | tuple[Tensor, ...] | None] = [None]

    def job() -> None:
        optimizer.zero_grad()
        states, end = recurrent(embedding(batch.inputs[:, :, 0]), state[0])
        F.cross_entropy(head(states).flatten(0, 1), batch.targets.flatten()).backward()
        nn.utils.clip_grad_norm_(weights, CLIP)
        optimizer.step()
        state[0] = tuple(part.detach() for part in end) if kind == "lstm" else end.detach()

    return job


def our_update(kind: str, hidden: int, batch: Batch, threads: int) -> Job:
    torch.manual_seed(0)
    network = build_network(
        ARCHITECTURES.parse({"kind": kind, "hidden": hidden, "embedding": {"width": WIDTH}, "state": "carried"}),
        words=KINDS + 1,
        features=None,
        pretrained=None,
        head=lambda width: StateHead(width, KINDS + 1),
        reads="states",
    ).train()
    optimizer = Optimizer(network, Training.model_validate({"optimizer": "adam", "lr": RATE, "clip": CLIP}))
    member = member_of(network, optimizer, Text(), CLIP, threads)
    encoder = network.encoder
    assert isinstance(encoder, RecurrentEncoder)
    carried = encoder.to_carry(len(batch.lengths))

    def job() -> None:
        member.carried, _ = ops.place(carried), network  # it holds addresses alone
        ops.do_steps(member, training_steps(optimizer, [batch], [RATE]), torch.float32)
        assert not member.stopped
        optimizer.steps += 1

    return job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(f"{kind}:{hidden}" for kind, hidden in MODELS))
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    models = tuple((kind, int(hidden)) for kind, hidden in (name.split(":") for name in options.models.split(",")))
    rows = []
    for row in measure(Effort(options.quick, 1e9), models, tuple(map(int, options.threads.split(","))), options.rows):
        say("  " + "  ".join(cell for cell in row.cells() if cell))
        rows.append(row)
    print(text(rows))


if __name__ == "__main__":
    main()
