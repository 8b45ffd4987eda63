"""Curves from events that are written by hand, so that every figure is known; and from one real run."""

from itertools import pairwise
from typing import Any

import pytest

from rnnlab.comparing.chapters import Curve, Ending, Learning
from rnnlab.comparing.learning import MARKS, MOST_POINTS, learning
from rnnlab.comparing.records import Record
from rnnlab.models.baselines import Majority
from rnnlab.models.recurrent import RNN
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, RunDirectory, Stopped
from rnnlab.tasks.addition import Addition
from rnnlab.tasks.base import Task
from rnnlab.tasks.classify import Classify
from rnnlab.tasks.synthetic import Adding
from rnnlab.training.spec import RunSpec, Training

CLASSIFY = Classify()


@pytest.fixture
def run(tmp_path):
    """``run("lstm", 0, [event, …], best=2)``: a finished run unless an outcome is given."""

    def make(
        arm: str,
        seed: int,
        events: list[dict[str, Any]],
        *,
        best: int | None = None,
        outcome: Outcome | None = None,
        task: Task = CLASSIFY,
    ) -> Record:
        folder = RunDirectory(tmp_path / f"{arm}-{seed}")
        folder.path.mkdir()
        for number, event in enumerate(events, 1):
            place = {"event": "epoch", "epoch": number, "step": 10 * number, "seconds": 0.5}
            folder.append_event(place | event)
        spec = RunSpec(task, RNN(), Training(), seed)
        return Record(arm, spec, outcome or Finished({"best_epoch": best}), folder.path)

    return make


def scores(accuracy: float, loss: float) -> dict[str, float]:
    return {
        "train_accuracy": accuracy + 0.1,
        "train_loss": loss - 0.1,
        "valid_accuracy": accuracy,
        "valid_macro_f1": accuracy / 2,
        "valid_loss": loss,
    }


def curve(found: Learning, arm: str, split: str, quantity: str) -> Curve:
    [chosen] = [c for c in found.curves if (c.arm, c.split, c.quantity) == (arm, split, quantity)]
    return chosen


def diverged(step: int) -> Diverged:
    return Diverged({"best_epoch": 1, "divergence": {"step": step, "reason": "the loss passed 10000"}})


def test_mean_and_band_of_the_runs_that_got_so_far(run):
    found = learning(
        [
            run("lstm", 0, [scores(0.5, 1.0), scores(0.75, 0.5)], best=2),
            run("lstm", 1, [scores(0.25, 2.0), scores(0.25, 1.5) | {"seconds": 1.5}, scores(1.0, 0.5)], best=3),
        ],
        CLASSIFY,
    )
    assert (found.quantities, found.lower_is_better, found.rounds) == (("accuracy", "loss"), False, "epoch")
    assert [(c.split, c.quantity) for c in found.curves] == [
        ("train", "accuracy"),
        ("valid", "accuracy"),
        ("train", "loss"),
        ("valid", "loss"),
    ]
    points = curve(found, "lstm", "valid", "accuracy").points
    assert [(p.epoch, p.runs, p.mean, p.least, p.most) for p in points] == [
        (1, 2, 0.375, 0.25, 0.5),
        (2, 2, 0.5, 0.25, 0.75),
        (3, 1, 1.0, 1.0, 1.0),
    ]
    assert [(p.step, p.seconds) for p in points] == [(10, 0.5), (20, 1.5), (30, 2.5)]
    assert [p.mean for p in curve(found, "lstm", "train", "loss").points] == pytest.approx([1.4, 0.9, 0.4])
    assert found.endings == (Ending("lstm", "best", 2, 20, 1.5),)  # the median of 2 and 3, rounded down


def test_a_run_that_diverged_counts_as_far_as_it_got_and_is_marked(run):
    found = learning(
        [
            run("rnn", 0, [scores(0.5, 1.0), scores(0.6, 0.9)], best=2),
            run("rnn", 1, [scores(0.3, 3.0)], outcome=diverged(17)),
            run("rnn", 2, [], outcome=diverged(3)),
        ],
        CLASSIFY,
    )
    assert [p.runs for p in curve(found, "rnn", "valid", "loss").points] == [2, 1]
    assert found.endings == (
        Ending("rnn", "best", 2, 20, 1.0),
        Ending("rnn", "diverged", 1, 10, 0.5, 1, "step 17: the loss passed 10000"),
        Ending("rnn", "diverged", 0, 0, 0.0, 2, "step 3: the loss passed 10000"),
    )


def test_an_arm_all_of_whose_runs_diverged_at_once(run):
    found = learning([run("rnn", 0, [], outcome=diverged(1))], CLASSIFY)
    assert (found.quantities, found.curves) == ((), ())
    assert [ending.kind for ending in found.endings] == ["diverged"]


def test_runs_that_are_not_part_of_the_comparison(run, tmp_path):
    baseline = Record("majority", RunSpec(CLASSIFY, Majority(), None, 0), Finished({}), tmp_path / "nowhere")
    others = [
        run("gru", 0, [scores(0.5, 1.0)], outcome=Failed("out of memory")),
        run("gru", 1, [scores(0.5, 1.0)], outcome=Stopped()),
        baseline,
    ]
    assert learning(others, CLASSIFY) == Learning((), False, "epoch", (), ())


def test_values_that_are_no_numbers_are_left_out(run):
    nan, infinite = float("nan"), float("inf")
    found = learning(
        [
            run("rnn", 0, [scores(0.5, nan), scores(0.5, infinite), scores(0.5, 1.0)], best=1),
            run("rnn", 1, [scores(0.5, 2.0), scores(0.5, nan)], best=1),
        ],
        CLASSIFY,
    )
    points = curve(found, "rnn", "valid", "loss").points
    assert [(p.epoch, p.runs, p.mean) for p in points] == [(1, 1, 2.0), (3, 1, 1.0)]
    assert [p.runs for p in curve(found, "rnn", "valid", "accuracy").points] == [2, 2, 1]


def test_a_band_holds_its_mean(run):
    """The mean of three times 0.1 is a little more than 0.1, in floats."""
    found = learning([run("rnn", seed, [scores(0.1, 0.7)], best=1) for seed in range(3)], CLASSIFY)
    for found_curve in found.curves:
        for point in found_curve.points:
            assert point.least <= point.mean <= point.most


def test_one_score_under_two_names_is_shown_once(run):
    task = Addition()
    events = [{"train_accuracy": 0.1 * n, "train_loss": 1 / n} for n in (1, 2)]
    events = [e | {"valid_accuracy": 0.2, "valid_exact": 0.2, "valid_digit_accuracy": 0.5} for e in events]
    found = learning([run("rnn", 0, events, best=1, task=task)], task)
    assert (found.quantities, found.rounds) == (("exact", "loss"), "evaluation")
    assert [p.mean for p in curve(found, "rnn", "train", "exact").points] == [0.1, 0.2]
    assert [p.mean for p in curve(found, "rnn", "valid", "exact").points] == [0.2, 0.2]


def test_two_scores_are_shown_apart(run):
    task = Addition()
    events = [{"train_accuracy": 0.1, "train_loss": 1.0, "valid_accuracy": 0.3, "valid_exact": 0.2}]
    found = learning([run("rnn", 0, events, best=1, task=task)], task)
    assert found.quantities == ("exact", "accuracy", "loss")
    assert [c.split for c in found.curves if c.quantity == "exact"] == ["valid"]


def test_a_task_that_goes_by_its_loss(run):
    task = Adding()
    found = learning([run("gru", 0, [scores(0.5, 1.0)], best=1, task=task)], task)
    assert (found.quantities, found.lower_is_better) == (("loss", "accuracy"), True)


@pytest.mark.parametrize("task", [CLASSIFY, Adding()], ids=["the highest", "the lowest"])
def test_many_evaluations_are_thinned_and_the_important_ones_kept(run, task):
    events = [scores(0.5, 0.5) for _ in range(1000)]
    events[776] = scores(0.9, 0.1)  # the best on validation
    found = learning(
        [
            run("rnn", 0, events, best=503, task=task),
            run("rnn", 1, events[:333], outcome=diverged(3333), task=task),
        ],
        task,
    )
    assert len(found.curves) == 4
    for thinned in found.curves:
        epochs = [point.epoch for point in thinned.points]
        assert MOST_POINTS <= len(epochs) <= MOST_POINTS + 3 + len(MARKS)
        assert set(MARKS) & set(range(1, max(epochs))) <= set(epochs)  # of the table
        assert {1, 333, 503, 777, 1000} <= set(epochs)
        assert epochs == sorted(epochs)
        assert max(b - a for a, b in pairwise(epochs)) <= 11
    assert [ending.epoch for ending in found.endings] == [503, 333]
    few = learning([run("gru", 0, events[:MOST_POINTS], best=1)], CLASSIFY)
    assert all(len(c.points) == MOST_POINTS for c in few.curves)
