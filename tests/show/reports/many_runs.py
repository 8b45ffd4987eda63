"""A folder of as many runs as one likes, made of one real run: other rates and seeds, other answers, longer curves."""

import shutil
from pathlib import Path

import numpy as np
import safetensors.numpy

from rnnlab.runs.directory import RunDirectory, pretty_json
from rnnlab.training.spec import RunSpec

KEPT = ("model.json", "weights.safetensors")


def multiply(run: RunDirectory, folder: Path, arms: int, seeds: int, epochs: int = 30) -> Path:
    """``arms`` learning rates × ``seeds``. The weights stay those of the run; every answer is drawn again, so that
    arms differ, and runs of an arm a little."""
    result, spec = run.result(), run.spec()
    assert result is not None
    saved = safetensors.numpy.load_file(run / "predictions.safetensors")
    events = [event for event in run.events() if event["event"] == "epoch"]
    for arm in range(arms):
        for seed in range(seeds):
            spec["training"]["lr"] = 0.0001 * (arm + 1)
            spec["seed"] = seed
            clone = RunDirectory(folder / RunSpec.from_dict(spec).digest)
            clone.path.mkdir(parents=True)
            (clone / "spec.json").write_text(pretty_json(spec))
            for name in KEPT:
                shutil.copy(run / name, clone / name)
            generator = np.random.default_rng([arm, seed])
            skill = 0.6 + 0.3 * arm / arms
            answers = _answers(saved["test.targets"], skill, saved["test.logits"].shape[1], generator)
            right = (answers == saved["test.targets"]).astype(np.float64)
            logits = np.eye(saved["test.logits"].shape[1], dtype=np.float32)[answers]
            changed = {**saved, "test.logits": logits, "test.right": right}
            safetensors.numpy.save_file(changed, clone / "predictions.safetensors")
            for epoch in range(1, epochs + 1):
                reached = float(skill * (1 - np.exp(-epoch / 5)) + 0.02 * generator.random())
                scores = {"train_loss": 1 - reached, "valid_loss": 1.1 - reached, "train_accuracy": reached}
                place = {"epoch": epoch, "step": 10 * epoch, "seconds": 1.0 + 0.1 * generator.random()}
                clone.append_event({**events[0], **scores, **place, "valid_accuracy": reached})
            accuracy = float(right.mean())
            test = {**result["test"], "accuracy": accuracy}
            kept = {key: value for key, value in result.items() if key not in ("format", "files")}
            clone.seal(kept | {"test": test, "epochs": epochs, "best_epoch": epochs - 2})
    return folder


def _answers(targets: np.ndarray, skill: float, classes: int, generator: np.random.Generator) -> np.ndarray:
    guessed = generator.integers(0, classes, len(targets))
    return np.where(generator.random(len(targets)) < skill, targets, guessed)
