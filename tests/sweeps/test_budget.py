"""compare --budget: what is planned, what is cut, and that it ends in time."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnlab.api.compare import UntilSure, compare, prepare
from rnnlab.core.errors import ConfigError
from rnnlab.execute.executors import Serial
from rnnlab.runs.directory import Finished, Outcome, RunDirectory, Stopped
from rnnlab.show.telling import tell
from rnnlab.sweeps import budget
from rnnlab.sweeps.budget import ENOUGH_ROUNDS, FIRST_SHARE, Budget, limited, plan
from rnnlab.sweeps.execution import Silent
from rnnlab.sweeps.forecast import SIDE_BY_SIDE, Pace, makespan
from rnnlab.training.spec import Training

SMALL: dict[str, Any] = {"task": {"rows": 300}, "models": ["linear", "rnn"]}


def pace(round_seconds: float, most: int = 100) -> Pace:
    return Pace(round=round_seconds, fixed=0.5, most=most, updates=10, disk=0)


def taken(paces: dict[str, Pace], rounds: dict[str, int], seeds: int, jobs: int) -> float:
    return SIDE_BY_SIDE * makespan([paces[label].seconds(count) for label, count in rounds.items()] * seeds, jobs)


# --- plans -----------------------------------------------------------------------------------------------------------


def test_what_fits_is_left_as_it_was_asked_for():
    made = plan({"a": pace(0.1), "b": pace(0.2)}, seeds=3, seconds=600, jobs=2)
    assert made.first == 3
    assert made.rounds == {"a": 100, "b": 100}


def test_what_does_not_fit_begins_with_two_seeds_and_equal_time():
    paces = {"fast": pace(1.5), "slow": pace(5.0), "short": pace(0.1, most=10), "quick": pace(0.1)}
    made = plan(paces, seeds=5, seconds=200, jobs=2)
    assert made.first == 2
    assert made.rounds["short"] == 10  # its own limit: the others have what it leaves
    assert made.rounds["quick"] == ENOUGH_ROUNDS
    assert 3 <= made.rounds["fast"] / made.rounds["slow"] <= 4
    assert taken(paces, made.rounds, 2, 2) <= FIRST_SHARE * 200
    assert taken(paces, made.rounds | {"fast": made.rounds["fast"] + 2}, 2, 2) > 0.9 * FIRST_SHARE * 200


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("seconds", [5, 20, 60, 400, 3000])
def test_no_plan_takes_longer_than_its_time(jobs: int, seconds: int):
    random = np.random.default_rng([jobs, seconds])
    for _ in range(50):
        paces = {str(n): pace(float(random.lognormal(0, 1.5))) for n in range(int(random.integers(1, 9)))}
        made = plan(paces, int(random.integers(1, 6)), seconds, jobs)
        assert taken(paces, made.rounds, made.first, jobs) <= seconds if made.rounds else True
        absent = [paces[label].round for label in paces if label not in made.rounds]
        if absent and made.rounds:  # only the slowest are left out
            assert min(absent) >= max(paces[label].round for label in made.rounds)


def test_limits_become_tighter_never_wider():
    assert limited(Training(epochs=10), 4, 7).epochs == 4
    assert limited(Training(epochs=10), 40, 7).epochs == 10
    steps = Training.model_validate({"epochs": None, "steps": 100})
    assert limited(steps, 4, 20).steps == 80
    assert limited(steps, 40, 20).steps == 100


# --- spending, on an artificial clock -----------------------------------------------------------------------------


class Clock:
    """Stands still unless runs are done."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Engine:
    """Does runs in no time and lets the clock go on by what they would take; one that the sink wants to be stopped
    is."""

    def __init__(self, clock: Clock, seconds: dict[str, float]):
        self.clock, self.seconds, self.begun = clock, seconds, []

    def map(self, specs, folder: Path, sink):
        for number, spec in enumerate(specs):
            takes = self.seconds.get(spec.model.kind, 0.0)
            if spec.training is not None:
                self.begun.append((spec.model.kind, spec.seed, self.clock.now))
            outcome: Outcome = Stopped()
            for _ in range(10):
                self.clock.now += takes / 10
                if sink(number, {"event": "started"}):
                    break
            else:
                (outcome,) = [found for _, found in Serial().map([spec], folder, lambda n, event: None)]
            yield number, outcome


@pytest.fixture
def spend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs that take ``really`` seconds, planned with paces of ``round`` seconds an epoch."""

    def go(seconds: float, rounds: dict[str, float], really: dict[str, float], seeds: int = 3, most: int = 2):
        experiment, data = prepare(None, seeds=seeds, settings=["training.epochs=2"], **SMALL)
        monkeypatch.setattr(budget, "pace_of", lambda spec, data: replace(pace(rounds[spec.model.kind]), most=most))
        clock = Clock()
        engine = Engine(clock, really)
        began = clock.now
        said: list[str] = []
        found = Budget(experiment, data, seconds, seeds, tmp_path, engine, 1, Silent(), said.append, clock).spend()
        return found, clock.now - began, engine.begun, said

    return go


def seeds_of(found) -> dict[str, int]:
    return {arm.label: len(arm.runs) for arm in found.comparison.arms}


def test_all_of_it_where_it_fits(spend):
    found, spent, _, _ = spend(1000, {"linear": 1, "rnn": 2}, {"linear": 2.5, "rnn": 4.5})
    assert seeds_of(found) == {"linear": 3, "rnn": 3}
    assert found.alpha == 1.0  # one look
    assert found.comparison.notes[-1] == "budget: 21 of 1000 s used; all that was asked for fitted"
    assert spent == pytest.approx(21)


def test_a_run_that_would_not_end_in_time_is_not_begun(spend):
    found, spent, _, _ = spend(18, {"linear": 1, "rnn": 2}, {"linear": 2.5, "rnn": 4.5}, most=4)
    assert spent <= 18
    assert min(seeds_of(found).values()) >= 2
    assert "; cut to fit: " in found.comparison.notes[-1]
    assert "fewer seeds: " in found.comparison.notes[-1]


def test_runs_that_take_longer_than_planned_are_stopped_in_time(spend):
    """Five times as long as the timed updates said."""
    found, spent, _, _ = spend(40, {"linear": 1, "rnn": 2}, {"linear": 12, "rnn": 22})
    assert spent <= 1.1 * 40
    assert all(isinstance(record.outcome, Finished) for record in found.records)
    assert "; cut to fit: " in found.comparison.notes[-1]


def test_an_arm_of_which_no_epoch_fits_is_left_out_and_said(spend):
    found, _, begun, _ = spend(30, {"linear": 1, "rnn": 500}, {"linear": 2.5, "rnn": 4.5})
    assert {label for label, _, _ in begun} == {"linear"}
    assert "rnn not begun (one epoch would not fit)" in found.comparison.notes[-1]


def test_a_budget_that_is_too_small_for_anything_is_refused(spend):
    with pytest.raises(ConfigError, match=r"--budget: 3 s are too few for one epoch of any model .* give more time"):
        spend(3, {"linear": 100, "rnn": 500}, {})


def test_arms_that_are_behind_get_no_more_seeds(spend, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(budget, "not_behind", lambda verdict: ["rnn"])
    found, _, _, said = spend(30, {"linear": 1, "rnn": 1}, {"linear": 2.5, "rnn": 2.5}, seeds=4, most=5)
    assert seeds_of(found)["linear"] == 2
    assert seeds_of(found)["rnn"] > 2
    assert found.alpha < 1.0
    assert any("up to 3 for rnn" in line for line in said)


def test_the_same_command_finds_its_runs_again(spend, tmp_path: Path):
    """However the timed updates come out the second time."""
    first, _, _, _ = spend(24, {"linear": 1, "rnn": 2}, {"linear": 2.5, "rnn": 4.5}, most=4)
    again, spent, begun, _ = spend(24, {"linear": 1.3, "rnn": 1.7}, {"linear": 2.5, "rnn": 4.5}, most=4)
    assert {record.spec.digest for record in first.records} <= {record.spec.digest for record in again.records}
    kept = {(record.label, record.spec.seed) for record in first.records}
    assert not kept & {(label, seed) for label, seed, _ in begun}
    assert spent <= 24
    (plan_file,) = (tmp_path / "budgets").iterdir()
    assert set(json.loads(plan_file.read_text())) == {"format", "first", "rounds"}


# --- for real ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_real_budget_is_kept_and_its_report_agrees(tmp_path: Path):
    """Far too much is asked for: 8 seeds of models that never stop by themselves."""
    prepare(None, task={"rows": 1000})  # reading doesn't count
    began = time.monotonic()
    result = compare(
        task={"rows": 1000},
        models=["linear", "gru"],
        seeds=8,
        training={"epochs": 100_000, "patience": "none"},
        budget="12s",
        on="serial",
        out=tmp_path,
    )
    spent = time.monotonic() - began
    assert spent < 12 * 1.1 + 3  # what other processes take from this one isn't ours
    assert {arm.label for arm in result.arms} <= {"linear", "gru"}
    assert "cut to fit" in result.notes[-1]
    for arm in result.arms:
        for run in arm.runs:
            spec, outcome = RunDirectory(run.path).spec(), RunDirectory(run.path).outcome()
            assert spec["training"]["epochs"] < 100_000
            assert spec["training"]["minutes"] is None  # it depends on its spec, not on the clock
            assert isinstance(outcome, Finished)
    assert tell([str(result.folder)]).chapters[0].comparison.verdict == result.verdict


def test_until_sure_ends_with_its_budget(tmp_path: Path):
    result = compare(
        until_sure=UntilSure.of(max_seeds=20, budget="5s"),
        seeds=2,
        on="serial",
        out=tmp_path,
        training={"epochs": 1},
        **SMALL,
    )
    assert all(2 <= len(arm.runs) <= 20 for arm in result.arms)
    assert result.notes[-1].startswith("budget: ")


def test_minutes_and_a_budget_are_one_too_many(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"'linear' has training\.minutes = 1 .* leave one of them out"):
        compare(budget="1m", training={"minutes": 1}, out=tmp_path, **SMALL)
