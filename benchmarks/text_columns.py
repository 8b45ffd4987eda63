"""What decision 26 says of several text columns: what a vector per column is worth, how n-grams are best counted, and
what it costs. ``python benchmarks/text_columns.py [segments] [bags] [speed]``; the latter need IMDB and THUCNews."""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rnnlab
from rnnlab.api.compare import prepare
from rnnlab.data import catalogue
from rnnlab.data.encoded import encode
from rnnlab.data.examples import Examples
from rnnlab.data.joined import join, segments, with_column_words
from rnnlab.models.baselines import BASELINES, Labelled
from rnnlab.models.embedding import TokenVectors
from rnnlab.training.run import execute

Row = tuple[str, str, str]  # two columns and the label
TOPICS = {
    "billing": ["invoice", "refund", "charge", "card", "payment"],
    "login": ["password", "account", "locked", "reset", "email"],
    "shipping": ["parcel", "courier", "late", "address", "tracking"],
}
FILLER = """the a my it was please help again yesterday still not sure why customer thanks hello order number since
monday page"""


def by_column(rows: int) -> list[Row]:
    """The label is the topic of the first column; the second has a word of another topic."""
    draw, words, found = random.Random(1), FILLER.split(), []
    for _ in range(rows):
        topics = draw.sample(list(TOPICS), 2)
        texts = []
        for topic in topics:
            text = [draw.choice(words) for _ in range(draw.randint(12, 25))]
            text.insert(draw.randint(0, len(text) - 6), draw.choice(TOPICS[topic]))
            texts.append(" ".join(text))
        found.append((texts[0], texts[1], topics[0]))
    return found


def imdb(rows: int, words: int) -> list[Row]:
    part = catalogue.load("imdb")["train"]
    order = random.Random(0).sample(range(len(part)), rows)
    cut = [((part.texts or [])[row].split(" "), part.labels[row]) for row in order]
    return [(" ".join(text[:15]), " ".join(text[15:words]), label) for text, label in cut]


def thucnews(rows: int) -> list[Row]:
    part = catalogue.load("thucnews")["train"]
    order = random.Random(0).sample(range(len(part)), rows)
    titles = [((part.texts or [])[row], part.labels[row]) for row in order]
    return [(title[: len(title) // 2], title[len(title) // 2 :], label) for title, label in titles]


def table(rows: list[Row]) -> dict[str, list[str]]:
    return dict(zip(("first", "second", "label"), map(list, zip(*rows, strict=True)), strict=True))


def measure_segments() -> None:
    known: Any = TokenVectors.tell_columns
    ways: dict[str, Any] = {"a vector per column": known, "the separator alone": lambda *_: None}
    for name, tell in ways.items():
        TokenVectors.tell_columns = tell
        with tempfile.TemporaryDirectory() as folder:
            found = rnnlab.compare(
                table(by_column(3000)),
                models=["textcnn", "transformer", "lstm"],
                seeds=2,
                text=["first", "second"],
                label="label",
                training={"epochs": 8},
                out=folder,
                jobs=0,
            )
        print(name, {arm.label: f"{100 * arm.score.mean:.1f} %" for arm in found.arms if arm.score is not None})
    TokenVectors.tell_columns = known


def measure_bags() -> None:
    data = {"rows by column": by_column(3000), "imdb": imdb(6000, 150), "thucnews": thucnews(12_000)}
    for name, rows in data.items():
        texts = [join(row[:2]) for row in rows]
        encoded = encode({"train": Examples(name, [row[2] for row in rows], texts, text_columns=("a", "b"))})
        words = len(encoded.vocabulary or ())
        for kind in ("tfidf", "nbsvm"):
            baseline = BASELINES.parse({"kind": kind, **BASELINES[kind].model_defaults})
            for way in ("one bag", "a bag per column", "both"):
                train, valid, test = (
                    Labelled(*counted(way, part.tokens, part.offsets, words), part.targets)
                    for part in (encoded.train, encoded.valid, encoded.test)
                )
                learnt = baseline.fit_chosen(train, valid, len(encoded.labels))
                right = baseline.logits(learnt, test.values, test.offsets).argmax(1) == test.targets
                print(name, kind, way, f"{100 * right.mean():.1f} %")


def counted(way: str, values: np.ndarray, offsets: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    if way == "both":
        return with_column_words(values, offsets, 2, words)
    own = values + words * segments(values, offsets, 2) if way == "a bag per column" else values
    return own, offsets


def measure_speed() -> None:
    """CPU time of three epochs, against the same words as one text."""
    torch.set_num_threads(1)
    rows = imdb(4000, 80)
    one = {"text": [f"{a} sepsep {b}" for a, b, _ in rows], "label": [label for *_, label in rows]}
    for model in ("lstm", "bigru", "textcnn", "transformer", "mingru", "fasttext"):
        ratios = list(_ratios(model, one, table(rows)))
        print(model, f"{statistics.median(ratios):.2f}", [round(ratio, 2) for ratio in ratios])


def _ratios(model: str, one: dict[str, list[str]], two: dict[str, list[str]]) -> Iterator[float]:
    for seed in range(4):
        seconds = []
        for data, text in ((one, "text"), (two, ["first", "second"])):
            task = {"text": text, "label": "label"}
            settings = [f"seeds=[{seed}]"]
            experiment, _ = prepare(data, models=[model], task=task, training={"epochs": 3}, settings=settings)
            with tempfile.TemporaryDirectory() as folder:
                started = time.process_time()
                execute(experiment.specs()[0][1], Path(folder), lambda _: None, lambda: False)
                seconds.append(time.process_time() - started)
        yield seconds[1] / seconds[0]


if __name__ == "__main__":
    ways = {"segments": measure_segments, "bags": measure_bags, "speed": measure_speed}
    for chosen in sys.argv[1:] or ways:
        ways[chosen]()
