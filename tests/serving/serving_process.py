"""A real server in a process of its own, and small models for it to serve."""

import datetime
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from corpora import baseline_beside, write_pairs

import rnnlab
from rnnlab.data.nested_sentences import nested_sentences

WORDS = {"good": ["great", "fine", "lovely"], "bad": ["awful", "dull", "poor"]}
LIMITED = """\
import json, sys
from rnnlab.cli.serve import tell
from rnnlab.serving.limits import Limits
from rnnlab.serving.server import serve
serve(sys.argv[2:], port=0, limits=Limits(**json.loads(sys.argv[1])), ready=tell)
"""
CHINESE = {"好": ["好看", "精彩"], "差": ["难看", "无聊"]}


@dataclass
class Serving:
    process: subprocess.Popen[bytes]
    port: int
    log: Path  # standard error, all of it

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=30, trust_env=False, **options)

    def predict(self, **body) -> httpx.Response:
        """``predict(text="…")``: one request on a connection of its own."""
        return httpx.post(f"{self.address}/v1/predict", json=body, timeout=30, trust_env=False)

    def memory(self) -> int:
        """Resident bytes of the server."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index] # Linux always has it

    def stop(self, number: int = signal.SIGTERM, seconds: float = 20) -> int:
        """The exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextmanager
def serving(
    *models: str | Path,
    options: Sequence[str] = (),
    limits: Mapping[str, float] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path,
) -> Iterator[Serving]:
    """``rnnlab serve MODELS --port 0 OPTIONS``, ready to answer; ended on the way out. Its log goes to the folder.
    With `limits`, those of `rnnlab.serving.limits` instead of options."""
    log = folder / "serve.log"
    command = [sys.executable, "-m", "rnnlab", "serve", *map(str, models), "--port", "0", *options]
    if limits is not None:
        command = [sys.executable, "-c", LIMITED, json.dumps(limits), *map(str, models)]
    with open(log, "ab") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | (environment or {}),
        )
    try:
        yield Serving(process, _port(process, log), log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """The server prints its address once it listens."""
    assert process.stdout is not None
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (line := process.stdout.readline()):
        if found := re.search(rb"http://\S+?:(\d+)", line):
            return int(found[1])
    raise AssertionError(f"the server didn't start: {log.read_text(encoding='utf-8')}")


def small_models(folder: Path) -> dict[str, str]:
    """Paths of trained runs: rnn, textcnn, tfidf (a baseline), chinese."""
    rows = [
        {"text": f"the {WORDS[label][n % 3]} film number {n % 9}", "label": label} for n in range(40) for label in WORDS
    ]
    english = _compared(folder / "english", rows, ("rnn", "textcnn"))
    rows = [
        {"text": f"第{n % 9}部电影很{CHINESE[label][n % 2]}", "label": label} for n in range(40) for label in CHINESE
    ]
    return {**english, "chinese": _compared(folder / "chinese", rows, ("textcnn",))["textcnn"]}


def model_of_columns(folder: Path) -> str:
    """The path of a run that reads two text columns, title and body."""
    words = {"good": "great", "bad": "awful"}
    rows = [
        {"title": f"{words[label]} film {n}", "body": f"seen {n}", "label": label} for n in range(30) for label in words
    ]
    text = ["title", "body"]
    return str(rnnlab.train(rows, model="gru", text=text, label="label", training={"epochs": 1}, out=folder).path)


def _compared(folder: Path, rows: Sequence[Mapping[str, str]], models: Sequence[str]) -> dict[str, str]:
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = rnnlab.compare(
        folder / "rows.jsonl",
        models=models,
        seeds=1,
        training={"epochs": 40, "lr": 0.01, "patience": 40},
        settings=["model.embedding.width=8"],
        out=folder / "runs",
        jobs=0,
    )
    return {arm.label: arm.runs[0].path for arm in (*result.arms, *result.baselines)}


def writing_models(folder: Path) -> dict[str, str]:
    """Paths of runs that write: rnn, kneser-ney and unigram."""
    path = folder / "sentences.txt"
    path.write_text(nested_sentences(250, 1).text, encoding="utf-8")
    result = rnnlab.compare(
        str(path),
        models=["rnn"],
        seeds=1,
        training={"epochs": 1, "batch_size": 8},
        settings=["model.hidden=12"],
        out=folder / "runs",
        jobs=0,
    )
    return {arm.label: arm.runs[0].path for arm in (*result.arms, *result.baselines)}


def translating_model(folder: Path) -> str:
    """The path of a run that translates short sentences."""
    result = rnnlab.compare(
        str(write_pairs(folder / "pairs.tsv", 300)),
        models=["gru"],
        seeds=1,
        training={"epochs": 12, "batch_size": 16, "lr": 0.01},
        settings=["model.hidden=32", "model.embedding.width=16", "task.longest=12"],
        out=folder / "runs",
        jobs=0,
    )
    return result.arms[0].runs[0].path


def hourly(steps: int = 400, hole: int | None = None) -> list[str]:
    """Lines of a table of two channels, load and heat, from 2024-02-25 on; one value may be missing."""
    lines = ["date,load,heat"]
    for step in range(steps):
        day, hour = divmod(step, 24)
        wave = 10 * math.sin(step * 2 * math.pi / 24)
        date = (datetime.date(2024, 2, 25) + datetime.timedelta(day)).isoformat()
        load = "" if step == hole else f"{100 + wave + step * 7 % 11 / 5:.3f}"
        lines.append(f"{date} {hour:02}:00,{load},{5 - wave / 4 + step * 5 % 7 / 6:.3f}")
    return lines


def forecasting_models(folder: Path) -> dict[str, str]:
    """Paths of runs that forecast: gru (hours, two channels, which reads dates), ridge, rows (without dates, a series
    per row), and recursive, which is a gru that reads its own forecasts."""
    (folder / "hours.csv").write_text("\n".join(hourly(hole=50)) + "\n", encoding="utf-8")
    rows = [
        f"S{n}," + ",".join(f"{50 * n + 3 * (step % 4) + step % 7 / 3:.2f}" for step in range(60)) for n in range(6)
    ]
    header = "id," + ",".join(f"V{n}" for n in range(60))
    (folder / "rows.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    hours = {"horizon": 6, "lookback": 30}
    of_task = {"hours": hours, "rows": {"horizon": 4, "lookback": 12, "season": 4}}
    options = {"training": {"epochs": 1}, "settings": ["model.hidden=8"], "out": folder / "runs"}
    runs = {
        name: rnnlab.train(str(folder / f"{name}.csv"), model="gru", task=task, **options).path
        for name, task in of_task.items()
    }
    ridges = {name: baseline_beside(run, "ridge") for name, run in runs.items()}
    task = {**hours, "strategy": "recursive"}
    recursive = rnnlab.train(str(folder / "hours.csv"), model="gru", task=task, **options).path
    return {"gru": str(runs["hours"]), "ridge": ridges["hours"], "rows": ridges["rows"], "recursive": str(recursive)}
