"""Short runs of every model, to notice any change of what a run computes.

python tests/golden/regenerate.py        # after an intended change; say in the commit why the numbers moved
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding
from rnnlab.runs.directory import RunDirectory
from rnnlab.tasks.classify import Classify
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Schedule, Training

# Native code and torch drop other numbers; but for those they agree.
SETTINGS: dict[str, dict[str, Any]] = {"transformer": {"dropout": 0.0}}
SETTINGS["fasttext"] = {"ngrams": 2, "buckets": 50_000}  # as they were when the numbers were made
SETTINGS |= {cls.kind: {"pooling": "last"} for cls in ARCHITECTURES if cls.reads_in_turn}
LOSSES = Path(__file__).with_name("losses.json")


def short_run(kind: str, folder: Path) -> dict[str, list[float]]:
    """Training and validation losses of two epochs on 300 embedded reviews."""
    task = Classify(rows=300).resolve()
    model = ARCHITECTURES.parse({"kind": kind, "embedding": Embedding(width=8), **SETTINGS.get(kind, {})})
    spec = RunSpec(
        task, model, Training(epochs=2, batch_size=16, device="cpu", schedule=Schedule(shape="constant")), seed=3
    )
    execute(spec, folder, lambda event: None, lambda: False)
    events = RunDirectory(folder / spec.digest).events()
    return {name: [event[name] for event in events] for name in ("train_loss", "valid_loss")}


def kinds() -> list[str]:
    """Every model that needs no file of vectors."""
    return [cls.kind for cls in ARCHITECTURES if not cls.needs_vectors]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        losses = {kind: short_run(kind, Path(folder)) for kind in kinds()}
    LOSSES.write_text(json.dumps(losses, indent=1) + "\n")
