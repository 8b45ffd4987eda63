"""Terms: what an arm costs, how often it was tuned, why its runs ended; and where they come from."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch
from torch.utils.flop_counter import FlopCounterMode

from rnnlab.comparing.conditions import ending, environments, provenance, terms
from rnnlab.comparing.records import Record
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Diverged, Failed, Finished
from rnnlab.tasks.base import TASKS, Task
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training, parse_model


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Record]:
    """Two arms with two seeds and a baseline, really trained, for an epoch and a half."""
    folder = tmp_path_factory.mktemp("runs")
    task = Classify(rows=200).resolve()
    training = Training.model_validate({"epochs": "none", "steps": 4, "batch_size": 56})
    models = {"a": {"kind": "gru", "hidden": 6}, "two words": {"kind": "textcnn", "filters": 4}}
    embedded = {name: ARCHITECTURES.parse({**own, "embedding": {"width": 5}}) for name, own in models.items()}
    specs = [("majority", RunSpec(task, parse_model({"kind": "majority"}), None, 0))]
    specs += [(name, RunSpec(task, model, training, seed)) for seed in (7, 3) for name, model in embedded.items()]
    return [Record(name, s, execute(s, folder, lambda _: None, lambda: False), folder / s.digest) for name, s in specs]


def test_real_runs(runs):
    baseline, a, words = terms(runs, [run.spec.to_dict() for run in runs])
    assert [one.arm for one in (baseline, a, words)] == ["majority", "a", "two words"]
    assert [[seed for seed, _ in setting.runs] for one in (a, words) for setting in one.settings] == [[7, 3], [7, 3]]
    (setting,) = a.settings
    assert [digest for _, digest in setting.runs] == [run.spec.digest for run in runs if run.label == "a"]
    assert setting.spec == {key: value for key, value in runs[1].spec.to_dict().items() if key != "seed"}
    assert a.stopping == {"steps": 2}
    assert a.epochs == (2, 2)
    told = [json.loads(line) for run in runs[1::2] for line in (run.path / "events.jsonl").read_text().splitlines()]
    assert a.seconds == pytest.approx(sum(event["seconds"] for event in told))
    assert a.seconds > 0
    assert a.parameters["total"] == a.parameters["embedding"] + a.parameters["encoder"] + a.parameters["head"]
    assert (baseline.baseline, a.baseline, words.baseline) == (True, False, False)
    assert (baseline.stopping, baseline.epochs, baseline.seconds, baseline.flops) == ({}, None, 0.0, None)
    assert baseline.parameters == {"total": 0}


def test_a_spec_is_told_of_the_runs_that_have_it(runs):
    """With a split for each seed the spec of one run, with another seed, would be that of no run."""
    other = replace(runs[3].spec, task=Classify(rows=200, split_seed=3).resolve())
    _, a, words = terms([*runs[:3], replace(runs[3], spec=other), runs[4]], [])
    assert [setting.runs for setting in a.settings] == [((7, runs[1].spec.digest),), ((3, other.digest),)]
    assert [setting.spec["task"]["split_seed"] for setting in a.settings] == [0, 3]
    assert len(words.settings) == 1
    assert a.stopping == {"steps": 2}


def test_flops_are_those_of_a_row_of_median_length(runs):
    """Against torch's own counter, on the network that was trained."""
    _, _, words = terms(runs, [])
    run = runs[2]
    lengths = safetensors.numpy.load_file(run.path / "predictions.safetensors")["test.lengths"]
    assert words.flops_length == int(np.median(lengths))
    preprocessor = Preprocessor.from_json((run.path / "model.json").read_text(encoding="utf-8"))
    network = assemble(run.spec, preprocessor).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(torch.full((1, words.flops_length), 2), torch.tensor([words.flops_length]))
    assert words.flops == counter.get_total_flops()


def test_one_number_of_answers_where_there_are_no_labels(tmp_path):
    """A task that asks for a number has no labels, but one output."""
    task = TASKS.parse({"kind": "adding", "rows": 100, "length": 5}).resolve()
    model = ARCHITECTURES.parse({"kind": "linear", "hidden": 3})
    spec = RunSpec(task, model, Training(epochs=1), 0)
    run = Record("linear", spec, execute(spec, tmp_path, lambda _: None, lambda: False), tmp_path / spec.digest)
    (found,) = terms([run], [])
    assert found.flops == 2 * (5 * 2 * 3 + 3 * 1)  # a layer 2 → 3 at every step, and the head 3 → 1


def test_a_model_without_a_formula_has_no_flops(runs):
    class Own(type(runs[1].spec.model)):
        """As a plugin would have it."""

    own = Own(**{name: getattr(runs[1].spec.model, name) for name in Own.model_fields})
    (found,) = terms([replace(runs[1], spec=replace(runs[1].spec, model=own))], [])
    assert found.flops is None
    assert found.flops_length > 0


def test_settings_are_counted_once_each(runs):
    """Neither seeds nor what can't change a score counts; other data, other kinds and baselines don't either."""
    gru = runs[1].spec.to_dict()

    def changed(part: str, **changes: Any) -> dict[str, Any]:
        return {**gru, part: {**gru[part], **changes}}

    same = [gru, {**gru, "seed": 11}, changed("training", threads=2, device="cuda", monitor={"gradients": True})]
    same += [changed("task", data="moved.csv")]
    elsewhere = [changed("task", fingerprint="other"), changed("task", kind="parity"), changed("model", kind="lstm")]
    tried = [changed("model", hidden=7), changed("training", lr=0.1), changed("training", lr=0.1, clip=None)]
    _, a, words = terms(runs, [*same, *elsewhere, *tried, *tried])
    assert a.settings_tried == 4
    assert words.settings_tried == 1  # its own, though not in the list


# Why runs end


@pytest.mark.parametrize(
    ("training", "expected"),
    [
        ({"epochs": 2}, "epochs"),
        ({"epochs": 2, "steps": 500, "minutes": 60.0, "until": 1.1, "patience": "none"}, "epochs"),
        ({"epochs": "none", "steps": 8}, "steps"),
        ({"epochs": 9, "steps": 7, "until": 1.1}, "steps"),
        ({"epochs": "none", "minutes": 0.001, "patience": "none"}, "minutes"),
        ({"epochs": 99, "until": 0.4}, "until"),
        ({"epochs": 99, "patience": 1, "lr": 0.05}, "patience"),
        ({"epochs": 9, "patience": 1, "lr": 1e-9, "clip": 1e-9}, "epochs"),  # never above chance: it was to go on
    ],
)
def test_real_runs_end_for_the_reason_that_is_told(reviews_csv, tmp_path, training, expected):
    task = Classify(data=str(reviews_csv)).resolve()
    model = ARCHITECTURES.parse({"kind": "linear", "hidden": 8, "embedding": {"width": 8}})
    settings = Training.model_validate({"batch_size": 8, **training})
    spec = RunSpec(task, model, settings, 0)
    run = Record("a", spec, execute(spec, tmp_path, lambda _: None, lambda: False), tmp_path / spec.digest)
    (found,) = terms([run], [])
    assert found.stopping == {expected: 1}


def finished(best: int, scores: Sequence[float], training: dict[str, Any], task: Task | None = None) -> str | None:
    """Why a run ended that has these validation scores, an epoch each of ten steps."""
    spec = RunSpec(task or Classify(), ARCHITECTURES.parse({"kind": "gru"}), Training.model_validate(training), 0)
    events = [
        {"epoch": n, "step": 10 * n, f"valid_{spec.task.answer.chosen.name}": score, "seconds": 1.0}
        for n, score in enumerate(scores, 1)
    ]
    outcome = Finished({"epochs": len(scores), "best_epoch": best})
    return ending(Record("a", spec, outcome, Path()), events)


def test_of_limits_reached_at_once_the_most_telling_one_counts():
    limits = {"epochs": 4, "steps": 40, "minutes": 4 / 60, "patience": 3}
    early, late = (0.9, 0.1, 0.1, 0.1), (0.8, 0.9, 0.1, 0.1)
    assert finished(1, early, limits | {"until": 0.9}) == "until"
    assert finished(1, early, limits | {"until": 0.91}) == "patience"
    assert finished(2, late, limits | {"until": 0.91}) == "minutes"
    assert finished(2, late, limits | {"minutes": 1}) == "steps"
    assert finished(2, late, limits | {"minutes": 1, "steps": 41}) == "epochs"


def test_a_loss_is_low_enough_where_another_score_is_high_enough():
    adding = TASKS.parse({"kind": "adding"})
    assert finished(2, (0.3, 0.1), {"epochs": 2, "until": 0.2}, adding) == "until"
    assert finished(2, (0.3, 0.25), {"epochs": 2, "until": 0.2}, adding) == "epochs"


def test_nothing_is_told_of_a_run_whose_events_are_lost():
    spec = RunSpec(Classify(), ARCHITECTURES.parse({"kind": "gru"}), Training(epochs=None, steps=5), 0)
    assert ending(Record("a", spec, Finished({"epochs": 2, "best_epoch": 2}), Path()), []) is None


def test_runs_without_a_score(runs, tmp_path):
    """Of an arm that never finished, parameters and epochs may be unknown; the other arms tell how long rows are."""
    spec = replace(runs[1].spec, seed=99)
    result = {"status": "diverged", "epochs": 1, "best_epoch": 1, "environment": {}, "parameters": {"total": 9}}
    records = [
        Record("gone", spec, Diverged(result), tmp_path / "a"),
        Record("gone", replace(spec, seed=98), Failed("out of memory"), tmp_path / "b"),
        runs[1],
    ]
    gone, a = terms(records, [])
    assert gone.stopping == {"diverged": 1, "failed": 1}
    assert (gone.parameters, gone.epochs, gone.seconds) == ({}, (1, 1), 0.0)
    assert [[seed for seed, _ in setting.runs] for setting in gone.settings] == [[99, 98]]
    assert gone.flops == a.flops is not None
    (alone,) = terms(records[1:2], [])
    assert (alone.flops, alone.flops_length, alone.epochs) == (None, 0, None)


# Where they come from


def test_environments_are_told_once_each_in_an_order_of_their_own(runs):
    def on(**changes: Any) -> Record:
        assert isinstance(runs[1].outcome, Finished)
        environment = runs[1].outcome.result["environment"] | changes
        return replace(runs[1], outcome=Finished({"environment": environment}))

    two = replace(on(threads=2), outcome=Diverged({"environment": {"threads": 2}}))
    old = on()
    assert isinstance(old.outcome, Finished)
    del old.outcome.result["environment"]["cpu"]  # as earlier versions recorded it
    records = [on(), two, on(torch="1.0"), old, replace(runs[1], outcome=Failed("it did")), on()]
    found = environments(records)
    assert len(found) == 4
    assert environments(records[::-1]) == found


def test_provenance(runs):
    found = provenance(runs, "rnnlab compare", "seeds = 2")
    assert (found.command, found.experiment) == ("rnnlab compare", "seeds = 2")
    assert found.task == runs[0].spec.task.to_dict()
    assert found.seconds == pytest.approx(math.fsum(one.seconds for one in terms(runs, [])))
    assert len(found.environments) == 1
    assert found.environments[0]["cpu"]
    assert provenance(runs, None).experiment is None


def test_kernels_that_are_mixed_are_said() -> None:
    """They are recorded with each run and are no part of its digest."""
    from rnnlab.comparing.comparison import _mixed_notes

    def computed_by(seed: int, kernels: str) -> Record:
        spec = RunSpec(TASKS.parse({"kind": "parity"}), parse_model({"kind": "gru"}), Training(), seed)
        return Record("gru", spec, Finished({"environment": {"kernels": kernels}}), Path())

    assert _mixed_notes([computed_by(0, "native avx512"), computed_by(1, "native avx512")]) == []
    (said,) = _mixed_notes([computed_by(0, "native avx512"), computed_by(1, "torch")])
    assert "different kernels (native avx512, torch)" in said
