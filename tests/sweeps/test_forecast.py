"""What a comparison would take."""

from pathlib import Path
from typing import Any

import pytest

from rnnlab.api.compare import compare, prepare
from rnnlab.execute.executors import Serial
from rnnlab.runs.directory import Failed
from rnnlab.sweeps.execution import Silent, baseline_specs, run_all
from rnnlab.sweeps.forecast import USUAL_ROUNDS, Pace, forecast, likely_rounds, makespan, pace_of
from rnnlab.training.spec import RunSpec

SMALL: dict[str, Any] = {"task": {"rows": 1000}, "models": ["linear", "gru"], "seeds": 2}


def test_runs_side_by_side_take_as_long_as_the_fullest_place():
    assert makespan([3, 1, 2, 2], 2) == 4
    assert makespan([3, 1, 2, 2], 1) == 8
    assert makespan([5], 8) == 5
    assert makespan([], 2) == 0


def test_what_is_finished_takes_no_time_and_tells_how_many_epochs(tmp_path: Path):
    experiment, data = prepare(None, **SMALL)
    before = forecast(experiment, data, tmp_path, 2)
    baselines = len(baseline_specs(experiment, data))
    assert (before.runs, before.found) == (4 + baselines, 0)
    assert before.rounds == {"linear": USUAL_ROUNDS, "gru": USUAL_ROUNDS}
    assert 0 < before.low < before.high
    one_seed: dict[str, Any] = SMALL | {"seeds": 1}
    compare(**one_seed, out=tmp_path, on="serial")
    after = forecast(experiment, data, tmp_path, 2)
    assert (after.runs, after.found) == (4 + baselines, 2 + baselines)
    low, high = after.rounds["gru"]
    assert low == high  # that of the one run that is there
    compare(**SMALL, out=tmp_path, on="serial")
    done = forecast(experiment, data, tmp_path, 2)
    assert (done.found, done.low, done.high) == (4 + baselines, 0, 0)


def test_epochs_of_other_arms_count_where_an_arm_has_none(tmp_path: Path):
    experiment, _ = prepare(None, **SMALL)
    specs: dict[str, RunSpec] = dict(experiment.specs())
    paces = {label: Pace(1, 1, 100, 10, 0) for label in specs}
    assert likely_rounds(paces, {"gru": [7, 12]}, specs) == {"linear": (7, 12), "gru": (7, 12)}
    short = {label: Pace(1, 1, 9, 10, 0) for label in specs}
    assert likely_rounds(short, {"gru": [7, 12]}, specs)["gru"] == (7, 9)


def test_a_run_that_nothing_ends_early_takes_what_its_limits_allow():
    experiment, data = prepare(None, **SMALL, training={"epochs": 4, "patience": "none"})
    found = forecast(experiment, data, Path("nowhere"), 1, baselines=False)
    assert found.rounds == {"linear": (4, 4), "gru": (4, 4)}
    assert found.low == found.high
    assert found.jobs == 1


@pytest.mark.parametrize("task", [{"kind": "addition", "length": 3, "held_out": 50}, {"kind": "adding", "rows": 200}])
def test_every_kind_of_task_has_a_pace(task: dict[str, Any]):
    experiment, data = prepare(None, task=task, models=["gru"])
    _, spec = experiment.specs()[0]
    pace = pace_of(spec, data)
    assert pace.round > 0
    assert pace.most >= 1
    assert pace.seconds(10**9) == pace.fixed + pace.round * pace.most


class Noting(Serial):
    """Computes nothing, and keeps the order in which runs would begin."""

    def __init__(self):
        self.begun: list[tuple[str, int]] = []

    def map(self, specs, folder, sink):
        for number, spec in enumerate(specs):
            self.begun.append((spec.model.kind, spec.seed))
            yield number, Failed("not computed")


def test_of_each_seed_the_longest_run_begins_first(tmp_path: Path):
    experiment, data = prepare(None, **SMALL)
    runs = baseline_specs(experiment, data) + experiment.specs()
    assert [label for label, _ in runs[-4:]] == ["linear", "gru", "linear", "gru"]
    found = forecast(experiment, data, tmp_path, 2)
    assert found.seconds["gru"] > found.seconds["linear"]
    noting = Noting()
    records = run_all(runs, tmp_path, noting, Silent(), seconds=found.seconds)
    assert noting.begun[-4:] == [("gru", 0), ("linear", 0), ("gru", 1), ("linear", 1)]
    # baselines begin first, as they stand
    assert [kind for kind, _ in noting.begun[:-4]] == [label for label, _ in runs[:-4]]
    assert [(record.label, record.spec) for record in records] == runs
