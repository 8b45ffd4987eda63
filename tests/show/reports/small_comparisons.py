"""Small data, compared for real."""

from pathlib import Path

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
