"""What is looked at is the run itself, and where it began."""

import json

import pytest
import torch

from rnnlab.api.compare import train
from rnnlab.api.inspect import inspect_model, inspect_run
from rnnlab.training.monitor import probe_batch


@pytest.fixture(scope="module")
def barely_trained(tmp_path_factory):
    """One step with next to no learning rate: what it was at first it is still."""
    return train(
        None,
        model="gru",
        task={"rows": 200},
        training={"steps": 1, "lr": 1e-12},
        settings=["model.hidden=5", "model.embedding.width=6"],
        out=str(tmp_path_factory.mktemp("runs")),
    )


def test_before_training_means_the_very_weights_that_training_began_with(barely_trained):
    found = inspect_run(barely_trained.path)
    assert found.subject.source == "rows"
    (now,), (first,) = found.through_time, found.through_time_at_first
    assert now.state == pytest.approx(first.state, rel=1e-5, abs=1e-9)
    assert found.by_input_at_first is not None
    assert found.by_input.norms == pytest.approx(found.by_input_at_first.norms, rel=1e-4)


def test_epochs_come_from_what_the_training_wrote(barely_trained):
    assert inspect_run(barely_trained.path).epochs == ()
    events = barely_trained.path / "events.jsonl"
    kept = events.read_text(encoding="utf-8")
    probe = {"lags": [0, 1], "norms": [1.0, 0.5], "rows": [2, 2], "memory": None}
    try:
        events.write_text(json.dumps({"event": "epoch", "epoch": 1, "step": 1, "gradients": probe}) + "\n")
        assert inspect_run(barely_trained.path).epochs == ({"epoch": 1, **probe},)
    finally:
        events.write_text(kept)


def test_inspecting_leaves_random_numbers_and_threads_alone(barely_trained):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    inspect_run(barely_trained.path, "a fine film")
    inspect_model("rnn", settings=["model.hidden=4"], length=5)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_the_rows_are_those_of_the_probe(barely_trained):
    from rnnlab.training.spec import RunSpec

    task = RunSpec.from_dict(barely_trained.spec()).task
    batch = probe_batch(task.load().valid, task.answer)
    found = inspect_run(barely_trained.path)
    assert (found.rows, found.longest) == (len(batch.lengths), int(batch.lengths.max()))


def test_to_dict_is_json(barely_trained):
    found = inspect_run(barely_trained.path, "a fine film")
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["tokens"] == ["a", "fine", "film"]
    assert len(again["gates"][0]["gates"][0]["values"]) == 3


def test_it_says_what_the_model_costs(barely_trained):
    found = inspect_run(barely_trained.path)
    assert found.cost is not None
    assert found.cost.length == found.longest
    assert found.cost.parameters["total"] == barely_trained.result()["parameters"]["total"]
    assert found.to_dict()["cost"]["serial_steps"] == found.cost.serial_steps
