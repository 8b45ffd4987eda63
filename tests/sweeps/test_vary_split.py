"""The seed of a run draws the split, too: plans, runs and what is recorded of them."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import rnnlab
from rnnlab.api.compare import compare_prepared, prepare
from rnnlab.core.errors import ConfigError, Interrupted
from rnnlab.data import reviews, store
from rnnlab.execute.executors import Serial, executor_for
from rnnlab.runs.directory import Finished
from rnnlab.sweeps.execution import Silent, baseline_specs, run_all
from rnnlab.sweeps.experiment import Experiment
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.tasks import classify

ROWS = {"rows": 200}
SMALL = {"training": {"epochs": 1}, "settings": ["model.embedding.width=4"]}


def planned(**options) -> Experiment:
    settings = {"models": ["linear", "rnn"], "task": ROWS, "vary_split": True} | options
    return plan(experiment_tree(None, **settings))[0]


def digests(experiment: Experiment, seed: int) -> list[str]:
    return [spec.digest for _, spec in experiment.specs() if spec.seed == seed]


# Plans


def test_every_seed_has_a_split_and_all_arms_of_a_seed_share_it():
    experiment = planned()
    assert experiment.seeds == (0, 1, 2, 3, 4)
    by_seed = {seed: [s.task for _, s in experiment.specs() if s.seed == seed] for seed in experiment.seeds}
    assert all(one == other for one, other in by_seed.values())
    assert [tasks[0].to_dict()["split_seed"] for tasks in by_seed.values()] == [0, 1, 2, 3, 4]
    assert len({tasks[0].fingerprint for tasks in by_seed.values()}) == 5


def test_a_run_is_what_it_would_be_alone():
    """Its spec says all: the same split and seed, asked for in any other way, are the same run."""
    experiment = planned(seeds=3)
    alone, _ = plan(
        experiment_tree(None, models=["linear", "rnn"], task=ROWS | {"split_seed": 2}, settings=["seeds=[2]"])
    )
    assert digests(experiment, 2) == digests(alone, 2)
    usual, _ = plan(experiment_tree(None, models=["linear", "rnn"], task=ROWS))
    assert digests(experiment, 0) == digests(usual, 0)
    assert digests(experiment, 1) != digests(usual, 1)


def test_baselines_run_once_per_split():
    experiment = planned(seeds=2)
    _, data = plan(experiment_tree(None, models=["linear"], task=ROWS))
    runs = baseline_specs(experiment, data)
    assert [(label, spec.seed) for label, spec in runs] == [
        ("majority", 0),
        ("nbsvm", 0),
        ("tfidf", 0),
        ("majority", 1),
        ("nbsvm", 1),
        ("tfidf", 1),
    ]
    assert [spec.task for _, spec in runs] == [experiment.task_of(seed) for seed in (0, 0, 0, 1, 1, 1)]
    usual, _ = plan(experiment_tree(None, models=["linear"], task=ROWS, settings=["seeds=[7, 8]"]))
    assert [spec.seed for _, spec in baseline_specs(usual, data)] == [0, 0, 0]


def test_few_seeds_are_said():
    said, few = planned(seeds=4).notes
    assert said.startswith("vary_split: the seed of a run is its split_seed too")
    assert few == "seeds = 4 is few where the split varies: intervals can be trusted from 5 on"
    assert planned(seeds=5).notes == (said,)
    assert planned(vary_split=False).notes == ()


def test_the_source_is_read_once(monkeypatch, tmp_path):
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    generated = []
    generate = reviews.generate
    monkeypatch.setattr(reviews, "generate", lambda *settings: generated.append(settings) or generate(*settings))
    monkeypatch.setattr(classify, "_last_read", None)  # as in a process of its own
    first = planned()
    assert len(generated) == 1
    assert planned() == first  # all from the cache
    assert len(generated) == 1
    for _, spec in first.specs():
        assert store.find(spec.task.fingerprint or "") is not None  # nor does a run read it


def test_mistakes_show_before_the_other_splits_are_made(monkeypatch):
    made = []
    cached = store.cached
    monkeypatch.setattr(store, "cached", lambda *settings: made.append(settings) or cached(*settings))
    with pytest.raises(ConfigError, match="no model is left to train"):
        planned(models=["cnn2"])
    assert len(made) == 1


def test_generated_tasks_draw_other_sequences():
    experiment, _ = plan(
        experiment_tree(None, models=["rnn"], task={"kind": "parity", "rows": 100}, vary_split=True, seeds=2)
    )
    tasks = [spec.task for _, spec in experiment.specs()]
    assert [task.to_dict()["data_seed"] for task in tasks] == [0, 1]
    assert tasks[0].fingerprint != tasks[1].fingerprint
    assert "is its data_seed too" in experiment.notes[0]


def test_a_file_asks_for_it_and_an_option_has_the_last_word(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text('vary_split = true\n[task]\nrows = 60\n[arms.a.model]\nkind = "linear"\n')
    assert len(plan(experiment_tree(str(path)))[0].splits) == 5
    usual, _ = plan(experiment_tree(str(path), vary_split=False))
    assert (usual.vary_split, usual.seeds) == (False, (0, 1, 2))


# Runs


def targets(folder: Path, digest: str) -> np.ndarray:
    return safetensors.numpy.load_file(folder / digest / "predictions.safetensors")["test.targets"]


@pytest.mark.parametrize("on", ["serial", "processes"])
def test_runs_are_tested_on_their_own_split(tmp_path, on):
    experiment = planned(seeds=2, models=["rnn"], **SMALL)
    records = run_all(experiment.specs(), tmp_path, executor_for(on, 1 if on == "serial" else 2), Silent())
    assert all(isinstance(record.outcome, Finished) for record in records)
    for record in records:
        assert np.array_equal(targets(tmp_path, record.spec.digest), record.spec.task.load().test.targets)
    first, second = (record.spec.task.load().test for record in records)
    assert not np.array_equal(first.values[:200], second.values[:200])


class InterruptedAfter(Serial):
    """Ctrl-C, once so many runs are done."""

    def __init__(self, runs: int):
        self.runs = runs

    def map(self, specs, folder, sink):
        for number, outcome in super().map(specs, folder, sink):
            yield number, outcome
            if number + 1 == self.runs:
                raise KeyboardInterrupt


def test_an_interrupted_comparison_goes_on(tmp_path):
    experiment, data = prepare(None, models=["linear"], seeds=3, task=ROWS, vary_split=True, **SMALL)
    runs = baseline_specs(experiment, data) + experiment.specs()
    with pytest.raises(Interrupted, match="10 of 12 runs are finished"):
        run_all(runs, tmp_path, InterruptedAfter(10), Silent())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/result.json")}
    compare_prepared(experiment, data, out=tmp_path, jobs=0)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/result.json")}
    assert len(after) == 12
    assert before.items() <= after.items()


def test_what_is_recorded(tmp_path):
    result = rnnlab.compare(models=["linear"], seeds=2, task=ROWS, vary_split=True, out=tmp_path, jobs=0, **SMALL)
    origin = json.loads((Path(result.folder or "") / "origin.json").read_text())
    assert origin["vary_split"] is True
    assert [label for label, _ in origin["runs"]] == [*["majority", "nbsvm", "tfidf"] * 2, "linear", "linear"]
    for arm in (*result.arms, *result.baselines):
        assert [run.seed for run in arm.runs] == [0, 1]
        assert [run.status for run in arm.runs] == ["finished", "finished"]
    usual = rnnlab.compare(models=["linear"], seeds=1, task=ROWS, out=tmp_path, jobs=0, **SMALL)
    assert json.loads((Path(usual.folder or "") / "origin.json").read_text())["vary_split"] is False
