"""Answers a second: `rnnlab serve` under 64 connections against `rnnlab predict` on the same rows, one thread each.

    RNNLAB_DATA=… python benchmarks/serve.py [MODEL] [--connections 64] [--texts 1,8,32,64] [--seconds 6] [--turns 3]

MODEL is a run directory or a bundle that reads movie reviews; without one, an LSTM of 128 units is trained for one
step, because weights don't matter here. In every turn `predict` answers all test phrases in this process, then the
server, a process of its own, is asked for the same phrases for so many seconds with each number of texts a request. The
clients are a third process: connections that are kept, each asking again as soon as it has its answer, over raw
sockets, so that little of the machine goes to them. The figures:

- rows/s: by the clock, the median of the turns. With the clients on a core of their own, this is what users get.
- of predict: rows/s against those of `predict`, the median of the ratios of the turns.
- CPU: the same ratio by CPU seconds of the two processes, which other work on the machine hardly changes.
- p50, p99: of the time from a request's last byte to its answer's, in ms.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from trained import trained

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--texts", default="1,8,32,64", help="in a request")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.texts.split(",")]

    import torch

    import rnnlab

    torch.set_num_threads(1)
    path = arguments.model or trained()
    model = rnnlab.load(path)
    texts = model.task.texts(range(len(model.task.load().test)))
    assert texts is not None
    model.predict(texts[:4096])  # warms up
    measured: dict[str, list[dict[str, float]]] = {"predict": [], **{str(size): [] for size in sizes}}
    with served(path) as (port, process), get_context("spawn").Pool(1) as clients:
        for _ in range(arguments.turns):
            measured["predict"].append(predicted(model, texts))
            for size in sizes:
                before = cpu_seconds(process)
                asked = clients.apply(ask, (port, texts, size, arguments.connections, arguments.seconds))
                measured[str(size)].append({**asked, "cpu": cpu_seconds(process) - before})
    result = summary(measured)
    result["connections"] = arguments.connections
    print(json.dumps(result, indent=2) if arguments.json else described(result))


def predicted(model: Any, texts: Sequence[str]) -> dict[str, float]:
    started, cpu = time.perf_counter(), time.process_time()
    model.predict(texts)
    return {"rows": len(texts), "seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}


@contextmanager
def served(path: str | Path) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    command = [sys.executable, "-m", "rnnlab", "serve", f"model={path}", "--port", "0"]
    environment = os.environ | ONE_THREAD
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield (
                next(int(at[1]) for line in server.stdout if (at := re.search(r"http://\S+?:(\d+)", line))),
                server.pid,
            )
        finally:
            server.terminate()


def cpu_seconds(process: int) -> float:
    """That a process has taken so far, in the kernel, too."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


# The clients, in a process of their own.


def ask(port: int, texts: Sequence[str], size: int, connections: int, seconds: float) -> dict[str, float]:
    """How much was answered within the time."""
    bodies = [texts[at : at + size] for at in range(0, len(texts) - size + 1, size)]
    requests = cycle([request(body) for body in bodies])
    return asyncio.run(_ask(port, requests, size, connections, seconds))


def request(texts: Sequence[str]) -> bytes:
    body = json.dumps({"text": texts[0]} if len(texts) == 1 else {"texts": texts}, ensure_ascii=False).encode()
    head = (
        f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


async def _ask(port: int, requests: Iterator[bytes], size: int, connections: int, seconds: float) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    started = loop.time()
    clients = [Client(requests, started + seconds) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
    await asyncio.gather(*(client.done for client in clients))
    taken = sorted(one for client in clients for one in client.taken)
    return {
        "rows": size * len(taken),
        "seconds": loop.time() - started,
        "p50": 1000 * statistics.median(taken),
        "p99": 1000 * taken[int(0.99 * len(taken))],
    }


class Client(asyncio.Protocol):
    """Asks, waits for the answer, asks again."""

    def __init__(self, requests: Iterator[bytes], until: float):
        self.requests, self.until = requests, until
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self.loop.create_future()
        self.taken: list[float] = []
        self.received, self.missing = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.next()

    def next(self) -> None:
        if self.loop.time() > self.until:
            self.transport.close()
            self.done.set_result(None)
            return
        self.sent = self.loop.time()
        self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        if not self.missing:
            self.received += data
            head, gap, rest = self.received.partition(b"\r\n\r\n")
            if not gap:
                return
            if not head.startswith(b"HTTP/1.1 200 "):
                raise ConnectionError(f"refused: {self.received[:500]!r}")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length is not None
            self.received, self.missing = b"", int(length[1]) - len(rest)
        else:
            self.missing -= len(data)
        if self.missing == 0:
            self.taken.append(self.loop.time() - self.sent)
            self.next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))


# What is told.


def summary(measured: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    rate = {name: [turn["rows"] / turn["seconds"] for turn in turns] for name, turns in measured.items()}
    by_cpu = {name: [turn["rows"] / turn["cpu"] for turn in turns] for name, turns in measured.items()}
    predict = measured.pop("predict")
    return {
        "rows": predict[0]["rows"],
        "predict": {"rows_per_second": statistics.median(rate["predict"])},
        "serve": {
            size: {
                "rows_per_second": statistics.median(rate[size]),
                "requests_per_second": statistics.median(rate[size]) / int(size),
                "of_predict": _ratio(rate[size], rate["predict"]),
                "of_predict_cpu": _ratio(by_cpu[size], by_cpu["predict"]),
                "p50_ms": statistics.median(turn["p50"] for turn in turns),
                "p99_ms": statistics.median(turn["p99"] for turn in turns),
            }
            for size, turns in measured.items()
        },
    }


def _ratio(one: Sequence[float], other: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def described(result: dict[str, Any]) -> str:
    lines = [
        f"predict: {result['predict']['rows_per_second']:,.0f} rows/s over {result['rows']:,.0f} rows, one thread",
        f"serve, {result['connections']} connections:",
        "| texts a request | rows/s | requests/s | of predict | CPU | p50, ms | p99, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for size, found in result["serve"].items():
        lines.append(
            f"| {size} | {found['rows_per_second']:,.0f} | {found['requests_per_second']:,.0f} | "
            f"{100 * found['of_predict']:.0f} % | {100 * found['of_predict_cpu']:.0f} % | "
            f"{found['p50_ms']:.1f} | {found['p99_ms']:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
