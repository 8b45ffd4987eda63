"""The limits of a run, the choice of its epoch, and what it leaves behind."""

import json

import pytest
import safetensors.numpy
import torch

from rnnlab.data.store import find
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Finished, RunDirectory, Stopped
from rnnlab.tasks.classify import Classify
from rnnlab.training.checkpoint import read_checkpoint
from rnnlab.training.run import execute, own_process_state
from rnnlab.training.spec import RunSpec, Training


@pytest.fixture
def run(reviews_csv, tmp_path):
    def go(model=None, **training) -> tuple[dict, RunDirectory, RunSpec]:
        task = Classify(data=str(reviews_csv)).resolve()
        architecture = ARCHITECTURES.parse({"kind": "gru", "hidden": 8, "embedding": {"width": 8}, **(model or {})})
        spec = RunSpec(task, architecture, Training.model_validate({"batch_size": 8, **training}), 0)
        outcome = execute(spec, tmp_path, lambda event: None, lambda: False)
        assert isinstance(outcome, Finished)
        return outcome.result, RunDirectory(tmp_path / spec.digest), spec

    return go


def test_steps_end_a_run_within_an_epoch(run):
    result, directory, _ = run(epochs="none", steps=8)  # 42 training rows: 6 batches an epoch
    assert result["epochs"] == 2
    assert [event["step"] for event in directory.events()] == [6, 8]


def test_minutes_end_a_run(run):
    result, directory, _ = run(epochs="none", minutes=0.002, patience="none")
    assert result["epochs"] >= 1
    assert sum(event["seconds"] for event in directory.events()) < 5


def test_a_run_stopped_as_its_time_ran_out_still_has_a_model(reviews_csv, tmp_path):
    """It is taken up again within its first epoch, with no time left: it trains one batch, validates and ends."""
    task = Classify(data=str(reviews_csv)).resolve()
    model = ARCHITECTURES.parse({"kind": "linear", "hidden": 8, "embedding": {"width": 8}})
    limits = {"batch_size": 8, "epochs": "none", "patience": "none", "minutes": 1e-9}
    spec = RunSpec(task, model, Training.model_validate(limits), 0)
    stop = iter([True])
    assert isinstance(execute(spec, tmp_path, lambda event: None, lambda: next(stop)), Stopped)
    checkpoint = read_checkpoint(RunDirectory(tmp_path / spec.digest))
    assert checkpoint is not None
    assert checkpoint[0].seconds > 1e-9 * 60
    outcome = execute(spec, tmp_path, lambda event: None, lambda: False)
    assert isinstance(outcome, Finished)
    assert outcome.result["epochs"] == 1


def test_a_part_of_an_epoch_does_not_count_as_a_short_one(run):
    """Six batches an epoch: after one of them, the time of an epoch is that of six."""
    result, directory, _ = run(epochs="none", steps=1, patience="none")
    (event,) = directory.events()
    assert result["epoch_seconds"] > 3 * event["seconds"]


def test_vanishing_numbers_are_zero_within_a_run_only():
    tiny = torch.tensor([1e-30])
    with own_process_state(threads=1):
        assert (tiny * 1e-10).item() == 0
    assert (tiny * 1e-10).item() > 0


def test_patience_ends_a_run_and_the_best_epoch_is_kept(run):
    result, directory, _ = run(epochs=60, patience=2, lr=0.02, schedule="constant")
    scores = [(event["valid_accuracy"], -event["valid_loss"]) for event in directory.events()]
    assert result["best_epoch"] == scores.index(max(scores)) + 1  # of equal accuracies the lower loss
    assert result["epochs"] == min(60, result["best_epoch"] + 2)
    assert result["valid"]["accuracy"] == max(scores)[0]


def test_it_learns(run):
    result, _, _ = run(epochs=25, lr=0.02, patience="none")
    assert result["test"]["accuracy"] == 1.0


@pytest.mark.parametrize("optimizer", ["lazy-adam", "adam", "adamw", "sgd"])
def test_every_optimizer_lowers_the_loss(run, optimizer):
    rate = 1.0 if optimizer == "sgd" else 0.02
    _, directory, _ = run({"kind": "linear"}, epochs=8, optimizer=optimizer, lr=rate, patience="none")
    losses = [event["train_loss"] for event in directory.events()]
    assert losses[-1] < losses[0] - 0.05


def test_predictions_carry_all_that_a_comparison_needs(run):
    result, directory, spec = run(epochs=2)
    saved = safetensors.numpy.load_file(directory.verified("predictions.safetensors"))
    data = find(spec.task.fingerprint or "")
    assert data is not None
    assert saved["test.targets"].tolist() == data.test.targets.tolist()
    accuracy = (saved["test.logits"].argmax(1) == saved["test.targets"]).mean()
    assert accuracy == pytest.approx(result["test"]["accuracy"])
    assert sum(map(sum, result["test"]["confusion"])) == len(data.test)


def test_the_effective_configuration_is_saved(run):
    _, directory, _ = run(epochs=1)
    spec = json.loads((directory / "spec.json").read_text())
    assert spec["training"]["lr"] == 0.003
    assert spec["training"]["schedule"]["shape"] == "plateau"
    assert spec["training"]["schedule"]["decay"] == 0.5
    assert spec["model"]["pooling"] == "max"
    assert spec["model"]["embedding"]["channels"] == "random"
    assert spec["task"]["tokenizer"] == "words"
