"""Small data, compared for real."""

from pathlib import Path

import numpy as np

import rnnlab
from rnnlab.show.notebook import Result

HOSTILE = ['<img src=x onerror="window.pwned=1">', "</script><script>window.pwned=2</script>"]
TAGS = ["{{ 7*7 }}", "'\"\\`${1}"]


def write_reviews(
    path: Path, labels: tuple[str, str] = ("bad", "good"), tags: tuple[str, str] = ("short", "long")
) -> Path:
    """120 rows that a model can learn in part: a word decides, but for every seventh row."""
    words = (["awful", "dull", "poor"], ["great", "fine", "lovely"])
    lines = ["text\tlabel\ttag"]
    for number in range(120):
        side = number % 2 if number % 7 else 1 - number % 2
        padding = "and so on " * (number % 5)
        text = f"the {words[number % 2][number % 3]} film {number} {labels[0]} {padding}"
        lines.append(f"{text}\t{labels[side]}\t{tags[number % 3 == 0]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def compare_small(folder: Path, data: Path, **options: object) -> Result:
    settings = {"models": ["gru", "textcnn"], "seeds": 2, "training": {"epochs": 2}, "task": {"tag": "tag"}}
    return rnnlab.compare(data, out=folder / "runs", jobs=0, **(settings | options))  # type: ignore[arg-type]  # by name


def compare_tagged(folder: Path, data: Path) -> Result:
    """Two seeds of two models, one with a chain over the tags; neither learns all."""
    return rnnlab.compare(
        data,
        models=["gru", "bilstm-crf"],
        seeds=2,
        training={"epochs": 2},
        settings=["model.hidden=8", "training.batch_size=16"],
        out=folder / "runs",
        jobs=0,
    )


def write_load(path: Path, steps: int = 520) -> Path:
    """Two channels of hours with a daily season; a value of one is missing."""
    rng = np.random.default_rng(0)
    hours = np.arange(steps)
    dates = np.datetime64("2024-01-01T00") + hours
    load = 50 + 9 * np.sin(2 * np.pi * hours / 24) + rng.normal(0, 2, steps)
    heat = 300 + 40 * np.cos(2 * np.pi * hours / 24) + 0.05 * hours + rng.normal(0, 12, steps)
    lines = [f"{date},{one:.3f},{other:.2f}" for date, one, other in zip(dates.tolist(), load, heat, strict=True)]
    day, _, _ = lines[-10].split(",")
    lines[-10] = f"{day},,{heat[-10]:.2f}"
    path.write_text("\n".join(["hour,load,heat", *lines]) + "\n", encoding="utf-8")
    return path


def compare_forecast(folder: Path, data: Path) -> Result:
    """Two seeds of two models that hardly learn, and all baselines."""
    return rnnlab.compare(
        data,
        models=["gru", "rnn"],
        seeds=2,
        task={"horizon": 6, "lookback": 24},
        training={"epochs": 1, "batch_size": 64},
        settings=["model.hidden=6"],
        out=folder / "runs",
        jobs=0,
    )


def compare_translated(folder: Path, data: Path) -> Result:
    return rnnlab.compare(
        data,
        models=["gru", "gru-plain"],
        seeds=2,
        training={"epochs": 12, "lr": 0.01, "batch_size": 16},
        settings=["model.hidden=32", "model.embedding.width=16", "task.longest=20", "task.test_fraction=0.2"],
        out=folder / "runs",
        jobs=0,
    )
