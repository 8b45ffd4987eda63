"""Makes bundle-v1: a small bundle and what it answers. Run it by hand, and only to add a folder for a new format:

    python tests/formats/make_bundle.py tests/formats/bundle-v2

What is committed must never be made anew: it stands for the bundles that people have.
"""

import itertools
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import rnnlab
from rnnlab.use.stored import StoredModel, open_model, pack

TEMPLATES = ("the {} film", "a {} day , number {}", "这部电影{}", "{}的一天", "{} story {}", "我觉得{}")
WORDS = {
    "good": ("great", "lovely", "fine", "好看", "精彩"),
    "坏": ("awful", "dull", "poor", "难看", "无聊"),
}
TEXTS = (
    "the great film",
    "A DULL day, number 7",
    "这部电影好看",
    "这部电影难看，我觉得无聊",
    "我觉得精彩 but awful",
    "quite unheard-of wörds",
    "",
    " \t\n",
    "good坏good",
    "great " * 40,
)


def answers(model: StoredModel, text: str) -> list[float]:
    """Probabilities by the definition: one row, no padding, logits over temperature, softmax in float64."""
    rows, _ = model.preprocessor.encode([text])
    ids = torch.tensor(rows.values[None], dtype=torch.int64)
    with torch.inference_mode():
        logits = model.network(ids, torch.tensor([ids.shape[1]]))[0].double().numpy() / model.card.temperature
    exp = np.exp(logits - logits.max())
    return (exp / exp.sum()).tolist()


def make(folder: Path) -> None:
    torch.set_num_threads(1)
    pairs = itertools.product(TEMPLATES, WORDS.items())
    rows = [(template.format(word, n), label) for template, (label, words) in pairs for n, word in enumerate(words)]
    rows += [("the film", label) for label in WORDS]  # nobody can get both right: so there is something to calibrate
    with tempfile.TemporaryDirectory() as temporary:
        table = Path(temporary) / "words.jsonl"
        table.write_text("".join(json.dumps({"text": t, "label": label}) + "\n" for t, label in rows), encoding="utf-8")
        run = rnnlab.train(
            table,
            model="gru",
            training={"epochs": 12, "lr": 0.05, "patience": 12},
            settings=["model.hidden=4", "model.embedding.width=4", "task.valid_fraction=0.3"],
            out=Path(temporary) / "runs",
        )
        folder.mkdir(parents=True)
        path = pack(run.path, folder / "tiny.rnnlab")
    model = open_model(path)
    expected = {text: dict(zip(model.preprocessor.labels, answers(model, text), strict=True)) for text in TEXTS}
    text = json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    (folder / "answers.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
