"""The curves of tuning: the estimator against brute force, and what is said of them."""

import itertools
import json
import statistics
from dataclasses import replace

import numpy as np
import pytest

from rnnlab.comparing.tuning import BestOf, Lead, TrialResult, TunedArm, Tuning, choose, curve, expected_best, leads
from rnnlab.show.tuning_texts import lead_lines, tuning_lines

SCORES = [0.61, 0.55, 0.72, 0.72, 0.40, 0.68]


def brute_force(scores: list[float], trials: int) -> float:
    """The mean over every way to take the default and so many of the others."""
    taken = itertools.combinations(scores[1:], trials - 1)
    return statistics.fmean(max([scores[0], *others]) for others in taken)


@pytest.mark.parametrize("trials", range(1, len(SCORES) + 1))
def test_expected_best_is_the_mean_over_all_ways_to_take_trials(trials: int):
    assert expected_best(SCORES)[trials - 1] == pytest.approx(brute_force(SCORES, trials))


def test_the_curve_begins_at_the_default_and_ends_at_the_best():
    points = curve(SCORES, len(SCORES), False, None)
    assert [point.trials for point in points] == [1, 2, 3, 4, 5, 6]
    assert points[0].expected == points[0].low == points[0].high == 0.61
    assert points[-1].expected == 0.72
    assert all(a.expected <= b.expected for a, b in itertools.pairwise(points))
    assert all(point.low <= point.expected <= point.high for point in points)


def test_less_is_better_of_a_loss():
    upside_down = curve([-score for score in SCORES], len(SCORES), True, None)
    assert [-point.expected for point in upside_down] == pytest.approx(expected_best(SCORES))
    assert all(point.low <= point.expected <= point.high for point in upside_down)


def test_validation_rows_widen_the_interval():
    few, many = (curve(SCORES, len(SCORES), False, rows) for rows in (100, 10_000))
    for small, large in zip(few, many, strict=True):
        assert small.high - small.low > large.high - large.low
    assert few[0].high - few[0].low == pytest.approx(2 * 1.96 * (0.72 * 0.28 / 100) ** 0.5, rel=0.05)


def test_settings_that_run_out_add_nothing():
    points = curve([0.5, 0.6], 4, False, None)
    assert [point.expected for point in points] == [0.5, 0.6, 0.6, 0.6]
    assert [point.expected for point in curve([0.5], 3, False, None)] == [0.5, 0.5, 0.5]


def test_a_trial_without_a_score_counts_as_the_worst():
    assert curve([None, 0.6, 0.5], 3, False, None)[0].expected == 0.5
    assert curve([None, None], 2, False, None) == ()


@pytest.mark.parametrize("trials", [3, 6, 12])
def test_intervals_hold_the_expected_best_of_settings_in_general(trials: int):
    """11 settings are drawn from infinitely many, scores normal. A bootstrap of 11 numbers is not exact: 95 % are
    meant, 82 to 86 % were measured, and 47 % at 12 trials without looking beyond the best trial that was seen."""
    rng = np.random.default_rng(0)
    truth = np.maximum(0.7, rng.normal(0.7, 0.05, (100_000, trials - 1)).max(1)).mean()
    found = [curve([0.7, *rng.normal(0.7, 0.05, 11)], 12, False, None)[trials - 1] for _ in range(200)]
    assert np.mean([one.low <= truth <= one.high for one in found]) > 0.75


def test_the_first_of_equals_is_chosen():
    assert choose([0.5, 0.7, 0.7], False) == 1
    assert choose([0.7, 0.7, 0.5], False) == 0
    assert choose([0.5, 0.3, None], True) == 1
    assert choose([None, None], False) == 0


def tuned(label: str, *curve: tuple[float, float, float], baseline: bool = False) -> TunedArm:
    trials = tuple(
        TrialResult({"model.hidden": n} if n else {}, mean, "finished", 1, f"{label}{n}")
        for n, (_, mean, _) in enumerate(curve)
    )
    points = tuple(BestOf(n, mean, low, high) for n, (low, mean, high) in enumerate(curve, 1))
    axes = () if baseline else ("model.hidden",)
    setting = {} if baseline else {"model.hidden": len(curve) - 1}
    return TunedArm(label, label, baseline, axes, (), trials, len(trials) - 1, setting, points)


def tuning(*arms: TunedArm) -> Tuning:
    found = Tuning(len(arms[0].trials), "accuracy", False, 500, 10_000, arms)
    return replace(found, leads=leads(found))


SLOW = tuned("slow", (0.4, 0.5, 0.6), (0.6, 0.7, 0.75), (0.7, 0.8, 0.85))
QUICK = tuned("quick", (0.55, 0.6, 0.65), (0.58, 0.6, 0.65), (0.58, 0.62, 0.66))
NEAR = tuned("near", (0.4, 0.5, 0.6), (0.5, 0.6, 0.7), (0.6, 0.7, 0.72))
NOTHING = tuned("nothing", (0.1, 0.1, 0.1), (0.1, 0.1, 0.1), (0.1, 0.1, 0.1), baseline=True)


def test_who_wins_from_how_many_trials_on():
    found = tuning(SLOW, QUICK)
    assert found.leads == (Lead("slow", "quick", 3),)  # at 2 trials, 0.6 is below 0.65
    assert [line.en for line in lead_lines(found)] == ["On validation, slow wins from 3 trials on."]
    assert [line.zh for line in lead_lines(found)] == ["在验证集上，从 3 次试验起，slow 胜过其他所有模型。"]


def test_nothing_is_said_where_intervals_touch():
    found = tuning(SLOW, QUICK, NEAR)
    assert found.leads == (Lead("slow", "quick", 3),)
    assert [line.en for line in lead_lines(found)] == [
        "On validation, slow is ahead of quick from 3 trials on.",
        "With 3 trials, slow comes first on validation, but not clearly before near.",
    ]
    equal = tuning(SLOW, replace(SLOW, label="twin"))
    assert equal.leads == ()
    assert [line.en for line in lead_lines(equal)] == []


def test_a_baseline_without_settings_is_no_rival():
    assert [line.en for line in lead_lines(tuning(SLOW, QUICK, NOTHING))] == [
        "On validation, slow wins from 3 trials on."
    ]


def test_it_survives_json():
    found = tuning(SLOW, QUICK, NOTHING)
    assert Tuning.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_line_per_arm():
    assert (
        tuning_lines(tuning(SLOW, QUICK))[0].en
        == "slow: hidden 2 (best of 3 trials: validation 80.0 %, default 50.0 %)"
    )
