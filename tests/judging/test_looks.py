"""Adding seeds until it is sure: what is spent, who gets seeds, and how often it errs."""

import dataclasses

import numpy as np
import pytest
from truths import CASES, Truth

from rnnlab.judging.findings import ArmScores, Verdict
from rnnlab.judging.looks import in_play, not_behind, part_of_alpha, schedule
from rnnlab.judging.verdict import judge


def until_sure(truth: Truth, right: np.ndarray, first: int, honest: bool = True) -> tuple[Verdict, dict[str, int]]:
    """The verdict, and how many seeds each arm has got, of the runs in ``right (A, S, N)``. Dishonest: every look
    spends all of alpha."""
    looks = schedule(first, right.shape[1])
    have = {str(arm): first for arm in range(len(right))}
    for number, seeds in enumerate(looks):
        arms = [ArmScores(label, range(n), right[int(label), :n], truth.costs[int(label)]) for label, n in have.items()]
        spent = part_of_alpha(looks, number) if honest else 1.0
        verdict = judge(arms, truth.groups(), margin=truth.margin, spent=spent, look=number)
        labels = in_play(verdict, looks[-1] - seeds)
        if not labels or number + 1 == len(looks):
            break
        have |= dict.fromkeys(labels, looks[number + 1])
    return verdict, have  # type: ignore[possibly-undefined]


def test_looks_grow_by_half_and_end_at_the_most():
    assert schedule(3, 20) == [3, 5, 8, 12, 18, 20]
    assert schedule(5, 5) == [5]
    assert schedule(1, 3) == [1, 2, 3]


@pytest.mark.parametrize(("first", "most"), [(2, 20), (3, 20), (5, 8), (4, 4)])
def test_all_looks_together_spend_alpha(first: int, most: int):
    looks = schedule(first, most)
    parts = [part_of_alpha(looks, number) for number in range(len(looks))]
    assert sum(parts) == pytest.approx(1)
    assert min(parts) > 0


def test_seeds_go_where_they_can_change_the_decision():
    truth = Truth([0.90, 0.90, 0.60], [5, 1, 0.5])
    verdict = truth.judge(truth.draw(np.random.default_rng(0), 3))
    assert set(in_play(verdict, 17)) == {"0", "1"}
    assert in_play(dataclasses.replace(verdict, advice=None), 17) == []
    assert verdict.advice is not None
    assert verdict.advice.low is not None
    assert in_play(verdict, verdict.advice.low - 1) == []  # what is left would hardly do
    single = truth.judge(truth.draw(np.random.default_rng(0), 1))
    assert set(in_play(single, 17)) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("arms", "first"),
    [(8, 2), (6, 5), *(pytest.param(*case, marks=pytest.mark.long) for case in [(8, 3), (12, 3), (8, 5)])],
)
def test_equal_arms_are_rarely_told_apart_however_often_one_looks(arms: int, first: int):
    truth = Truth([0.9] * arms, list(range(arms, 0, -1)), rows=1_000)
    random = np.random.default_rng(3)
    alarms = [
        any(gap.call == "better" for gap in until_sure(truth, truth.draw(random, 12), first)[0].differences)
        for _ in range(25)
    ]
    assert np.mean(alarms) <= 0.05


def test_what_is_sure_is_rarely_wrong():
    """At the hardest gap; and it pays: fewer seeds than the most, less lost than with three."""
    random = np.random.default_rng(4)
    hard = Truth([0.9, 0.8899], [5, 1])
    wrong = [until_sure(hard, hard.draw(random, 20), 3)[0] for _ in range(60)]
    assert np.mean([verdict.firm and verdict.recommended == "1" for verdict in wrong]) <= 0.05
    easy = CASES["2 arms, the cheap one 2 points worse"]
    found = [until_sure(easy, easy.draw(random, 20), 3) for _ in range(40)]
    assert np.mean([verdict.firm for verdict, _ in found]) > 0.8
    assert np.mean([verdict.recommended == "0" for verdict, _ in found]) > 0.9
    assert np.mean([max(have.values()) for _, have in found]) < 12


def within_budget(
    truth: Truth, right: np.ndarray, random: np.random.Generator, honest: bool = True
) -> tuple[list[Verdict], set[str]]:
    """As `sweeps.budget` does it: two seeds of every arm, then more for those that aren't behind, until the time is up,
    which may be at any look. The verdicts of all looks, and the arms that were dropped on the way."""
    looks = schedule(2, right.shape[1])
    have = {str(arm): 2 for arm in range(len(right))}
    last = int(random.integers(len(looks)))
    verdicts: list[Verdict] = []
    for number in range(last + 1):
        arms = [ArmScores(label, range(n), right[int(label), :n], truth.costs[int(label)]) for label, n in have.items()]
        spent = part_of_alpha(looks, number) if honest else 1.0
        verdicts.append(judge(arms, truth.groups(), margin=truth.margin, spent=spent, look=number))
        labels = not_behind(verdicts[-1])
        if number < last:
            have |= dict.fromkeys(labels, looks[number + 1])
    return verdicts, set(have) - set(labels)  # type: ignore[possibly-undefined]


@pytest.mark.parametrize(
    ("arms", "most"),
    [(2, 8), (5, 5), *(pytest.param(arms, most, marks=pytest.mark.long) for arms, most in [(6, 5), (8, 3), (8, 12)])],
)
def test_a_budget_rarely_drops_an_arm_that_is_as_good(arms: int, most: int):
    """The family-wise error of all looks together, wherever the time ends them."""
    truth = Truth([0.9] * arms, list(range(arms, 0, -1)), rows=1_000)
    random = np.random.default_rng([5, arms, most])
    dropped = [bool(within_budget(truth, truth.draw(random, most), random)[1]) for _ in range(40)]
    assert np.mean(dropped) <= 0.05


def test_a_budget_hardly_ever_drops_the_best_and_drops_what_is_far_behind():
    truth = Truth([0.90, 0.89, 0.885, 0.80, 0.75], [5, 4, 3, 2, 1])
    random = np.random.default_rng(6)
    dropped = [within_budget(truth, truth.draw(random, 5), random)[1] for _ in range(60)]
    assert np.mean(["0" in labels for labels in dropped]) <= 0.05
    assert np.mean([{"3", "4"} <= labels for labels in dropped]) > 0.6


def test_looking_without_the_rule_would_drop_more():
    """The simulation can tell: if every look spends all of alpha, good arms are lost more often."""
    truth = Truth([0.9] * 3, [3, 2, 1], rows=1_000)
    alarms = {}
    for honest in (True, False):
        random = np.random.default_rng(7)
        found = [within_budget(truth, truth.draw(random, 12), random, honest)[1] for _ in range(30)]
        alarms[honest] = np.mean([bool(labels) for labels in found])
    assert alarms[False] > alarms[True]
    assert alarms[True] <= 0.05
